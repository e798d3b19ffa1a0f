// Package threads is what the stores in memory and in files keep of a thread in memory,
// and what a commit does to it. It knows no locks and no files.
package threads

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Head is what lists show of a thread, and what a commit is judged by. Its JSON is that of
// an index of a file store.
type Head struct {
	awaken.Thread
	Fence      uint64 `json:"fence"`
	Generation uint64 `json:"generation,omitempty"`
	Committed  uint64 `json:"committed,omitempty"` // number of the owner's last commit
	Touched    int64  `json:"touched,omitempty"`   // orders threads by their last change
	Seq        uint64 `json:"seq,omitempty"`       // the highest in the log of events
}

// Export returns a copy of the thread.
func (h *Head) Export() *awaken.Thread {
	out := h.thread()
	return &out
}

func (h *Head) thread() awaken.Thread {
	out := h.Thread
	out.Metadata.Custom = maps.Clone(h.Metadata.Custom)
	out.End = awaken.Cursor{Epoch: h.Fence, Seq: h.Seq}
	return out
}

// Checkpoint returns what the owner of a thread begins with. Run is the latest, or nil.
func (h *Head) Checkpoint(b *Body, run *Run) *awaken.Checkpoint {
	cp := &awaken.Checkpoint{Fence: h.Fence, Generation: h.Generation, Thread: h.thread(), View: b.View.Messages(),
		Seq: h.Seq, ThreadState: maps.Clone(b.State), Inbox: slices.Clone(b.Inbox)}
	if run != nil {
		record := run.Run
		cp.Run, cp.RunState, cp.Calls = &record, maps.Clone(run.State), slices.Clone(LastStep(run.Calls))
	}
	return cp
}

// ErrRepeated is returned by [Head.Check] for a commit that was made before: its owner
// repeats it because the answer was lost.
var ErrRepeated = errors.New("the commit was made before")

// Check returns why c cannot be made. Done says that its run is over. What c says about
// the inbox is not checked.
func (h *Head) Check(c *awaken.Commit, done bool) error {
	switch {
	case c.Fence != h.Fence:
		return awaken.ErrFenced
	case c.Number == h.Committed && c.Number != 0:
		return ErrRepeated
	case c.Run.Status != awaken.RunDone && done:
		return awaken.ErrFenced
	case c.Begins && c.Generation != h.Generation:
		return awaken.ErrGeneration
	case c.Expect != h.MessageCount:
		return &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: h.MessageCount}
	case len(c.Entries) > 0 && c.Entries[0].Seq <= h.Seq:
		return fmt.Errorf("%w: event %d of thread %s is stored already", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID)
	}
	if err := c.Run.Validate(); err != nil {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	return nil
}

// SetRun makes a run the latest, and the open one unless it is done.
func (h *Head) SetRun(id string, status awaken.RunStatus) {
	h.LatestRunID, h.OpenRunID = id, ""
	if status != awaken.RunDone {
		h.OpenRunID = id
	}
}

// Body is what a thread is made of.
type Body struct {
	View    awaken.View
	Created []int64 // of each record, unix ms
	State   map[string]json.RawMessage
	Inbox   []awaken.InboxItem
	Posted  map[string]bool // ids of all items that ever were in the inbox
}

// Append adds messages to the log.
func (b *Body) Append(msgs []*llm.Message, created int64) {
	b.View.Append(msgs...)
	for range msgs {
		b.Created = append(b.Created, created)
	}
}

// Post adds the items to the inbox that were not posted before.
func (b *Body) Post(items []awaken.InboxItem) {
	if b.Posted == nil {
		b.Posted = map[string]bool{}
	}
	for _, it := range items {
		if !b.Posted[it.ID] {
			b.Posted[it.ID] = true
			b.Inbox = append(b.Inbox, it)
		}
	}
}

// Read removes items from the inbox.
func (b *Body) Read(ids []string) {
	if len(ids) > 0 {
		b.Inbox = slices.DeleteFunc(b.Inbox, func(it awaken.InboxItem) bool { return slices.Contains(ids, it.ID) })
	}
}

// Records returns a function that makes records of the log as it is now. The function
// may be called while the body changes.
func (b *Body) Records(threadID string) func(from, to int) []awaken.MessageRecord {
	log, created := b.View.Log(), b.Created[:len(b.Created):len(b.Created)]
	return func(from, to int) []awaken.MessageRecord {
		out := make([]awaken.MessageRecord, 0, to-from)
		for i := from; i < to; i++ {
			out = append(out, Record(threadID, i+1, created[i], log[i]))
		}
		return out
	}
}

// Record returns the record of a message.
func Record(threadID string, seq int, created int64, m *llm.Message) awaken.MessageRecord {
	r := awaken.MessageRecord{ThreadID: threadID, Seq: seq, Message: m, Created: created}
	if m.Metadata != nil {
		r.RunID = m.Metadata.RunID
	}
	return r
}

// Run is a run with its ledger, by step and index, and its state.
type Run struct {
	awaken.Run
	Calls []*awaken.CallState
	State map[string]json.RawMessage
}

// Enter puts calls into the ledger.
func (r *Run) Enter(calls []*awaken.CallState) {
	for _, call := range calls {
		at, found := slices.BinarySearchFunc(r.Calls, call, ComparePlaces)
		if found {
			r.Calls[at] = call
		} else {
			r.Calls = slices.Insert(r.Calls, at, call)
		}
	}
}

// ComparePlaces compares the places of calls in a ledger.
func ComparePlaces(a, b *awaken.CallState) int {
	return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
}

// LastStep returns the calls of the last step that had any.
func LastStep(calls []*awaken.CallState) []*awaken.CallState {
	i := len(calls)
	for i > 0 && calls[i-1].Step == calls[len(calls)-1].Step {
		i--
	}
	return calls[i:]
}

// Unfinished returns the calls that have begun and are not over.
func Unfinished(calls []*awaken.CallState) (out []*awaken.CallState) {
	for _, c := range calls {
		if c.Status == awaken.CallRunning {
			out = append(out, c)
		}
	}
	return out
}

// Set gives a key of m a value; nil clears it.
func Set(m *map[string]json.RawMessage, key string, value json.RawMessage) {
	if value == nil {
		delete(*m, key)
		return
	}
	if *m == nil {
		*m = map[string]json.RawMessage{}
	}
	(*m)[key] = value
}

// Selects reports whether q selects t.
func Selects(q awaken.ThreadQuery, t *awaken.Thread) bool {
	return (q.ParentThreadID == "" || t.ParentThreadID == q.ParentThreadID) && (q.ResourceID == "" || t.ResourceID == q.ResourceID) &&
		(!q.Root || t.ParentThreadID == "")
}

// SelectsEntry reports whether q selects e.
func SelectsEntry(q *awaken.EntryQuery, e *awaken.Entry) bool {
	return e.Last() > q.After && e.Epoch > q.Epoch && (q.RunID == "" || e.RunID == q.RunID)
}

// Bounds returns the part of a log of n records that q selects: those behind from, up to
// and including to.
func Bounds(q awaken.MessageQuery, n int) (from, to int) {
	from, to = max(q.After, 0), n
	if q.Before > 0 {
		to = min(to, q.Before-1)
	}
	from = min(from, to)
	if q.Limit > 0 && to-from > q.Limit {
		if q.Last {
			from = to - q.Limit
		} else {
			to = from + q.Limit
		}
	}
	return from, to
}

// Page applies the defaults of a paged listing.
func Page(offset, limit int) (int, int) {
	if limit <= 0 {
		limit = 50
	}
	return max(offset, 0), limit
}

// Newest compares things by when they were made or changed, the newest first.
func Newest(a, b int64, idA, idB string) int {
	return cmp.Or(cmp.Compare(b, a), strings.Compare(idA, idB))
}

// CheckParent checks that a thread can have that parent: it is there, and the thread is
// not above it. Above returns the parent of a thread, and false if it is not there.
func CheckParent(id, parent string, above func(id string) (parent string, found bool, err error)) error {
	for at := parent; at != ""; {
		if at == id {
			return fmt.Errorf("thread %s: %w: it cannot be above itself", id, awaken.ErrInvalid)
		}
		next, found, err := above(at)
		if err != nil {
			return err
		}
		if !found && at == parent {
			return fmt.Errorf("thread %s: %w: there is no parent %s", id, awaken.ErrInvalid, parent)
		}
		at = next
	}
	return nil
}

// CheckFork checks that a thread can be forked after record seq. Taken says that there is
// a thread of that id.
func CheckFork(t *awaken.Thread, seq int, newID string, taken bool) error {
	switch {
	case taken || newID == "":
		return fmt.Errorf("fork thread %s: %w: thread %q exists already", t.ID, awaken.ErrConflict, newID)
	case seq < 0 || seq > t.MessageCount:
		return fmt.Errorf("fork thread %s: %w: record %d, have %d", t.ID, awaken.ErrInvalid, seq, t.MessageCount)
	}
	return nil
}

// CheckDelete checks that a thread with so many children can be deleted.
func CheckDelete(children awaken.ChildStrategy, n int) error {
	switch children {
	case awaken.RejectChildren:
		if n > 0 {
			return fmt.Errorf("%w: it has %d children", awaken.ErrConflict, n)
		}
	case awaken.DetachChildren, awaken.CascadeChildren:
	default:
		return fmt.Errorf("%w: child strategy is %q, want reject, cascade or nothing", awaken.ErrInvalid, children)
	}
	return nil
}

// NotFound is the error for a thread that is not there.
func NotFound(id string) error { return fmt.Errorf("thread %s: %w", id, awaken.ErrNotFound) }

// RunNotFound is the error for a run that is not there.
func RunNotFound(id string) error { return fmt.Errorf("run %s: %w", id, awaken.ErrNotFound) }
