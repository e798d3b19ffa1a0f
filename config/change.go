package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
)

// What is here is the part of a [Store] that does not depend on where it keeps things.

// Lengths in bytes that every store can keep and index.
const (
	MaxID   = 1024 // of a record
	maxText = 2048 // of a secret's reference, and of what events are looked up by
)

// Validate returns what is wrong with a change whatever the store holds: awaken.ErrInvalid,
// with every mistake.
func (c *Change) Validate() error {
	var m mistakes
	text := func(what, s string, most int, needed bool) {
		switch {
		case s == "" && needed:
			m.add("%s is empty", what)
		case len(s) > most:
			m.add("%s has %d bytes, want at most %d", what, len(s), most)
		case !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0:
			m.add("%s is %q, want UTF-8 without NUL", what, s)
		}
	}
	document := func(what string, raw json.RawMessage, needed bool) {
		m.when((needed || len(raw) > 0) && (!json.Valid(raw) || !utf8.Valid(raw)), "%s is not JSON in UTF-8", what)
	}
	seen := map[string]bool{}
	once := func(what, name, done string) {
		m.when(seen[what+name], "%s %s is %s twice", what, name, done)
		seen[what+name] = true
	}
	for i := range c.Records {
		r := &c.Records[i]
		text("namespace", string(r.Key.Namespace), MaxID, true)
		text(fmt.Sprintf("id in %.40q", r.Key.Namespace), r.Key.ID, MaxID, true)
		once("record", r.Key.String(), "changed")
		m.when(r.Expect < -1, "record %s: expected revision is %d, want -1 or more", r.Key, r.Expect)
		if r.Record == nil {
			continue
		}
		m.when(r.Record.Meta.Revision < 1, "record %s: revision is %d, want 1 or more", r.Key, r.Record.Meta.Revision)
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
		m.when(p.Base < 0 || p.Base >= p.Number, "publication %d: base is %d, want a number before it", p.Number, p.Base)
	}
	m.when(c.Publish == nil && len(c.Documents) > 0, "there are %d documents and no publication", len(c.Documents))
	for hash, doc := range c.Documents {
		document("document "+hash, doc, true)
		sum := hashOf(doc)
		m.when(hash != sum, "document %q: hash is %s", hash, sum)
	}
	if h := c.SetHead; h != nil && (h.Live < 0 || h.Canary != nil && h.Canary.Version < 1) {
		m.add("what is to be live is %+v, want publications", *h)
	}
	for _, e := range c.Audit {
		text("id of an event", e.ID, maxText, true)
		once("event", e.ID, "there")
		text("actor", e.Actor, maxText, false)
		text("action", e.Action, maxText, false)
		text("resource", e.Resource, maxText, false)
		m.when(e.Time.IsZero(), "event %s has no time", e.ID)
		document("before of event "+e.ID, e.Before, false)
		document("after of event "+e.ID, e.After, false)
	}
	if len(m) > 0 {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, m.join())
	}
	return nil
}

// Next returns the head that a change leaves in a store whose head it is given;
// ErrConflict if the change was made for another one.
func (c *Change) Next(head Head) (Head, error) {
	if h := c.Head; h != nil && (h.Revision != head.Revision || h.Last != head.Last) {
		return head, fmt.Errorf("%w: expected revision %d and last publication %d, found %d and %d", ErrConflict, h.Revision, h.Last, head.Revision, head.Last)
	}
	if p := c.Publish; p != nil {
		if p.Number != head.Last+1 {
			return head, fmt.Errorf("%w: publication %d, want the one after %d", ErrConflict, p.Number, head.Last)
		}
		head.Last = p.Number
	}
	if c.SetHead != nil {
		head.Revision++
		head.Live, head.Canary = c.SetHead.Live, c.SetHead.Canary
	}
	return head, nil
}

// Fits returns ErrConflict if the record does not have the revision that a change expects;
// 0 means that there is none.
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

// Refers returns the publications that a change needs beside its own.
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

// Hashes returns the documents of a publication's Entries and Manifest.
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

// JSON returns stored text as JSON; nil if there is none.
func JSON(text string) json.RawMessage { return append(json.RawMessage(nil), text...) }

// Missing is the error of a change that refers to something that is not there.
func Missing(what string, name any) error {
	return fmt.Errorf("%w: %s %v is not there", ErrConflict, what, name)
}

// Window returns Since and Until in microseconds.
func (q *AuditQuery) Window() (since, until int64) {
	since, until = math.MinInt64, math.MaxInt64
	up := func(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() } // events have whole ones
	if !q.Since.IsZero() {
		since = up(q.Since)
	}
	if !q.Until.IsZero() {
		until = up(q.Until)
	}
	return since, until
}

// Page returns how many events to list.
func (q *AuditQuery) Page() int {
	if q.Limit <= 0 {
		return 100
	}
	return min(q.Limit, 1000)
}

// Selects reports whether an event is one that q asks for, Before aside.
func (q *AuditQuery) Selects(e *AuditEvent) bool {
	since, until := q.Window()
	at := e.Time.UnixMicro()
	return (q.ID == "" || e.ID == q.ID) && at >= since && at < until && (q.Action == "" || e.Action == q.Action) && strings.HasPrefix(e.Actor, q.Actor) &&
		(q.Resource == "" || e.Resource == q.Resource || strings.HasPrefix(e.Resource, q.Resource+"/"))
}

// Unneeded returns which publications [Store.Purge] removes of all there are: those older
// than a time in unix ms that neither the head nor a pinned run nor one that is kept
// needs. One that was live after that time is not old, whenever it was published. What they
// have to tell is Number, Base, At, and whether there is a Manifest: any entry will do.
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
				return // it says everything
			}
		}
	}
	need(head.Live)
	if head.Canary != nil {
		need(head.Canary.Version)
		need(head.Canary.Control) // what it is compared with
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

// After returns the first text that comes after all that begin with prefix, in the order
// of bytes; "" if there is none.
func After(prefix string) string {
	runes := []rune(prefix)
	for i := len(runes) - 1; i >= 0; i-- {
		next := runes[i] + 1
		if next == 0xd800 { // surrogates are no characters
			next = 0xe000
		}
		if next <= utf8.MaxRune {
			return string(runes[:i]) + string(next)
		}
	}
	return ""
}
