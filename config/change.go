package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	MaxText = 2048 // of a secret's reference, and of what events are looked up by
)

// Validate returns what is wrong with a change whatever the store holds: awaken.ErrInvalid,
// with every mistake.
func (c *Change) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	text := func(what, s string, most int, needed bool) {
		switch {
		case s == "" && needed:
			bad("%s is empty", what)
		case len(s) > most:
			bad("%s has %d bytes, want at most %d", what, len(s), most)
		case !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0:
			bad("%s is %q, want UTF-8 without NUL", what, s)
		}
	}
	document := func(what string, raw json.RawMessage) {
		if !json.Valid(raw) || !utf8.Valid(raw) {
			bad("%s is not JSON in UTF-8", what)
		}
	}
	keys := map[Key]bool{}
	for i := range c.Records {
		r := &c.Records[i]
		text("namespace", string(r.Key.Namespace), MaxID, true)
		text(fmt.Sprintf("id in %.40q", r.Key.Namespace), r.Key.ID, MaxID, true)
		if keys[r.Key] {
			bad("record %s is changed twice", r.Key)
		}
		keys[r.Key] = true
		if r.Expect < -1 {
			bad("record %s: expected revision is %d, want -1 or more", r.Key, r.Expect)
		}
		if r.Record == nil {
			continue
		}
		if r.Record.Meta.Revision < 1 {
			bad("record %s: revision is %d, want 1 or more", r.Key, r.Record.Meta.Revision)
		}
		document("spec of "+r.Key.String(), r.Record.Spec)
		if len(r.Record.Meta.UserOverrides) > 0 {
			document("user_overrides of "+r.Key.String(), r.Record.Meta.UserOverrides)
		}
	}
	refs := map[string]bool{}
	for _, s := range c.Secrets {
		text("reference of a secret", s.Ref, MaxText, true)
		if refs[s.Ref] {
			bad("secret %s is changed twice", s.Ref)
		}
		refs[s.Ref] = true
	}
	if p := c.Publish; p != nil {
		for _, e := range slices.Concat(p.Entries, p.Manifest) {
			text("namespace", string(e.Namespace), MaxID, true)
			text("id of an entry", e.ID, MaxID, true)
		}
		if p.Base < 0 || p.Base >= p.Number {
			bad("publication %d: base is %d, want a number before it", p.Number, p.Base)
		}
	} else if len(c.Documents) > 0 {
		bad("there are %d documents and no publication", len(c.Documents))
	}
	for hash, doc := range c.Documents {
		document("document "+hash, doc)
		if sum := sha256.Sum256(doc); hash != hex.EncodeToString(sum[:]) {
			bad("document %q: hash is %x", hash, sum)
		}
	}
	if h := c.SetHead; h != nil && (h.Live < 0 || h.Canary != nil && h.Canary.Version < 1) {
		bad("what is to be live is %+v, want publications", *h)
	}
	ids := map[string]bool{}
	for _, e := range c.Audit {
		text("id of an event", e.ID, MaxText, true)
		if ids[e.ID] {
			bad("event %s is there twice", e.ID)
		}
		ids[e.ID] = true
		text("actor", e.Actor, MaxText, false)
		text("action", e.Action, MaxText, false)
		text("resource", e.Resource, MaxText, false)
		if e.Time.IsZero() {
			bad("event %s has no time", e.ID)
		}
		if len(e.Before) > 0 {
			document("before of event "+e.ID, e.Before)
		}
		if len(e.After) > 0 {
			document("after of event "+e.ID, e.After)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, errors.Join(errs...))
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
