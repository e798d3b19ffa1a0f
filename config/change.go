package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
)

// This file has the part of a [Store] that is the same for every backend.

// MaxID is the maximum length, in bytes, of a record's id. Every store can keep and index ids of
// that length.
const MaxID = 1024

// maxText is the same for the reference of a secret, and for the id, actor, action and resource
// of an event.
const maxText = 2048

// Validate returns the mistakes of a change that do not depend on the store's content, all
// of them, as awaken.ErrInvalid.
func (c *Change) Validate() error {
	var m check.Problems
	text := func(what, s string, most int, needed bool) {
		switch {
		case s == "" && needed:
			m.Add("%s is empty", what)
		case len(s) > most:
			m.Add("%s has %d bytes, want at most %d", what, len(s), most)
		case !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0:
			m.Add("%s is %q, want UTF-8 without NUL", what, s)
		}
	}
	document := func(what string, raw json.RawMessage, needed bool) {
		m.When((needed || len(raw) > 0) && (!json.Valid(raw) || !utf8.Valid(raw)), "%s is not JSON in UTF-8", what)
	}
	seen := map[string]bool{}
	once := func(what, name, done string) {
		m.When(seen[what+name], "%s %s is %s twice", what, name, done)
		seen[what+name] = true
	}
	for i := range c.Records {
		r := &c.Records[i]
		text("namespace", string(r.Key.Namespace), MaxID, true)
		text(fmt.Sprintf("id in %.40q", r.Key.Namespace), r.Key.ID, MaxID, true)
		once("record", r.Key.String(), "changed")
		m.When(r.Expect < -1, "record %s: expected revision is %d, want -1 or more", r.Key, r.Expect)
		if r.Record == nil {
			continue
		}
		m.When(r.Record.Meta.Revision < 1, "record %s: revision is %d, want 1 or more", r.Key, r.Record.Meta.Revision)
		document("spec of "+r.Key.String(), r.Record.Spec, true)
		document("user_overrides of "+r.Key.String(), r.Record.Meta.UserOverrides, false)
	}
	for _, s := range c.Secrets {
		text("reference of a secret", s.Ref, maxText, true)
		once("secret", s.Ref, "changed")
	}
	if p := c.Publish; p != nil {
		for _, e := range slices.Concat(p.Entries, p.Manifest) {
			text("namespace", string(e.Namespace), MaxID, true)
			text("id of an entry", e.ID, MaxID, true)
		}
		m.When(p.Base < 0 || p.Base >= p.Number, "publication %d: base is %d, want an earlier publication", p.Number, p.Base)
	}
	m.When(c.Publish == nil && len(c.Documents) > 0, "%d documents without a publication", len(c.Documents))
	for hash, doc := range c.Documents {
		document("document "+hash, doc, true)
		sum := hashOf(doc)
		m.When(hash != sum, "document %q has hash %s", hash, sum)
	}
	if h := c.SetHead; h != nil && (h.Live < 0 || h.Canary != nil && h.Canary.Version < 1) {
		m.Add("new head is %+v, want published versions", *h)
	}
	for _, e := range c.Audit {
		text("id of an event", e.ID, maxText, true)
		once("event", e.ID, "listed")
		text("actor", e.Actor, maxText, false)
		text("action", e.Action, maxText, false)
		text("resource", e.Resource, maxText, false)
		m.When(e.Time.IsZero(), "event %s has no time", e.ID)
		document("before of event "+e.ID, e.Before, false)
		document("after of event "+e.ID, e.After, false)
	}
	if err := m.Err(); err != nil {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	return nil
}

// Next returns the head that the change leaves behind if the store has the given head, or
// ErrConflict if the change is based on another one.
func (c *Change) Next(head Head) (Head, error) {
	if h := c.Head; h != nil && (h.Revision != head.Revision || h.Last != head.Last) {
		return head, fmt.Errorf("%w: the head has revision %d and last publication %d, want %d and %d", ErrConflict, head.Revision, head.Last, h.Revision, h.Last)
	}
	if p := c.Publish; p != nil {
		switch {
		case p.Number >= FirstPreview:
		case p.Number != head.Last+1:
			return head, fmt.Errorf("%w: the number of the publication is %d, want %d", ErrConflict, p.Number, head.Last+1)
		default:
			head.Last = p.Number
		}
	}
	if c.SetHead != nil {
		head.Revision++
		head.Live, head.Canary = c.SetHead.Live, c.SetHead.Canary
	}
	return head, nil
}

// Fits returns nil if a stored record of that revision is as r.Expect requires, and ErrConflict
// otherwise. A revision of 0 means that there is no record.
func (r *RecordChange) Fits(revision int64) error {
	if r.Expect == -1 || r.Expect == revision {
		return nil
	}
	name := func(revision int64) string {
		if revision == 0 {
			return "none"
		}
		return fmt.Sprintf("revision %d", revision)
	}
	return fmt.Errorf("%w: record %s: expected %s, found %s", ErrConflict, r.Key, name(r.Expect), name(revision))
}

// Refers returns the publications that must exist for the change, its own aside.
func (c *Change) Refers() []int64 {
	var out []int64
	own := int64(0)
	if c.Publish != nil {
		own = c.Publish.Number
		out = append(out, c.Publish.Base)
	}
	if c.SetHead != nil {
		out = append(out, c.SetHead.Live)
		if c.SetHead.Canary != nil {
			out = append(out, c.SetHead.Canary.Version)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n int64) bool { return n == 0 || n == own })
}

// Hashes returns the distinct hashes in a publication's Entries and Manifest.
func (p *Publication) Hashes() []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, e := range slices.Concat(p.Entries, p.Manifest) {
		if !seen[e.Hash] {
			seen[e.Hash] = true
			out = append(out, e.Hash)
		}
	}
	return out
}

// JSON returns text that a store keeps as JSON, or nil for "". It is for stores.
func JSON(text string) json.RawMessage { return append(json.RawMessage(nil), text...) }

// Missing returns the ErrConflict with which [Store.Apply] refuses a change that refers to
// something that does not exist: what says its kind, name which one. It is for stores.
func Missing(what string, name any) error {
	return fmt.Errorf("%w: %s %v not found", ErrConflict, what, name)
}

// Window returns Since and Until in Unix microseconds, rounded up; a zero time becomes the
// lowest or the highest number.
func (q *AuditQuery) Window() (since, until int64) {
	since, until = math.MinInt64, math.MaxInt64
	up := func(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() } // events have whole microseconds
	if !q.Since.IsZero() {
		since = up(q.Since)
	}
	if !q.Until.IsZero() {
		until = up(q.Until)
	}
	return since, until
}

// Page returns how many events to list: Limit, with its default and its maximum applied.
func (q *AuditQuery) Page() int {
	return min(cmp.Or(max(q.Limit, 0), 100), 1000)
}

// Selects reports whether the query matches an event. It does not look at Before.
func (q *AuditQuery) Selects(e *AuditEvent) bool {
	since, until := q.Window()
	at := e.Time.UnixMicro()
	return (q.ID == "" || e.ID == q.ID) && at >= since && at < until && (q.Action == "" || e.Action == q.Action) && strings.HasPrefix(e.Actor, q.Actor) &&
		(q.Resource == "" || e.Resource == q.Resource || strings.HasPrefix(e.Resource, q.Resource+"/"))
}

// Unneeded returns the publications that [Store.Purge] removes: those older than before
// (Unix ms) that neither the head nor a pinned run nor a publication that is kept needs. A
// publication that was live after that time is not old, whenever it was made. Of each
// publication, only Number, Base, At and the presence of a Manifest matter; the Manifest
// may be any one entry. It is for stores.
func Unneeded(all []*Publication, head Head, pinned []int64, before int64) []int64 {
	byNumber := make(map[int64]*Publication, len(all))
	for _, p := range all {
		byNumber[p.Number] = p
	}
	needed := map[int64]bool{}
	need := func(number int64) {
		for p := byNumber[number]; p != nil && !needed[p.Number]; p = byNumber[p.Base] {
			needed[p.Number] = true
			if len(p.Manifest) > 0 {
				return // the manifest lists everything
			}
		}
	}
	need(head.Live)
	if head.Canary != nil {
		need(head.Canary.Version)
		need(head.Canary.Control) // the canary is compared with it
	}
	for _, number := range pinned {
		need(number)
	}
	for _, p := range all {
		if p.At >= before {
			need(p.Number)
			need(p.Base) // it was live when p was made
		}
	}
	var out []int64
	for _, p := range all {
		if !needed[p.Number] {
			out = append(out, p.Number)
		}
	}
	return out
}

// After returns the first string, in byte order, after all strings that begin with prefix;
// "" if there is none. It is for stores, which search by prefix in an index.
func After(prefix string) string {
	runes := []rune(prefix)
	for i := len(runes) - 1; i >= 0; i-- {
		next := runes[i] + 1
		if next == 0xd800 { // skip the surrogates
			next = 0xe000
		}
		if next <= utf8.MaxRune {
			return string(runes[:i]) + string(next)
		}
	}
	return ""
}
