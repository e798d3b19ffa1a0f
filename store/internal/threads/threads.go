// Package threads is the in-memory model of a thread that store/memory and store/file
// share: the state of a thread, how a commit is checked and applied, and what queries
// select. It does no locking and no I/O.
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

// Head is the part of a thread that lists return and that commits are checked against. The
// index of store/file stores its JSON.
type Head struct {
	awaken.Thread
	Fence      uint64 `json:"fence"`
	Generation uint64 `json:"generation,omitempty"`
	Committed  uint64 `json:"committed,omitempty"` // number of the owner's last commit
	Touched    int64  `json:"touched,omitempty"`   // orders threads, see [awaken.ThreadStore]
	Seq        uint64 `json:"seq,omitempty"`       // the highest in the event log
}

// Export returns a copy of the thread.
func (h *Head) Export() *awaken.Thread {
	out := h.thread()
	return &out
}

func (h *Head) thread() awaken.Thread {
	out := h.Thread
	out.Metadata.Custom = maps.Clone(h.Metadata.Custom)
	out.Notes = maps.Clone(h.Notes)
	out.End = awaken.Cursor{Epoch: h.Fence, Seq: h.Seq}
	return out
}

// Checkpoint returns the checkpoint of a new owner. Run is the latest run, or nil.
func (h *Head) Checkpoint(b *Body, run *Run) *awaken.Checkpoint {
	cp := &awaken.Checkpoint{Fence: h.Fence, Generation: h.Generation, Thread: h.thread(), View: b.View.Messages(), Index: b.View.Index(),
		HasBlobs: b.View.HasBlobs(), ThreadState: maps.Clone(b.State), Inbox: slices.Clone(b.Inbox)}
	if run != nil {
		record := run.Run
		cp.Run, cp.RunState, cp.Calls = &record, maps.Clone(run.State), slices.Clone(LastStep(run.Calls))
	}
	return cp
}

// ErrRepeated is returned by [Head.Check] for a commit that was already applied: its owner
// repeats it because the response was lost.
var ErrRepeated = errors.New("the commit was already applied")

// Check returns why c must be refused, or nil. Done reports whether its run is stored as
// done. Check does not look at the inbox.
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
		return fmt.Errorf("%w: event %d of thread %s is already stored", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID)
	}
	if err := c.Run.Validate(); err != nil {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	return nil
}

// Stays reports whether a commit leaves the thread where it is in lists: its run had one status
// before and has another now, or the same.
func (h *Head) Stays(runID string, before, now awaken.RunStatus) bool {
	return h.OpenRunID == runID && before == awaken.RunRunning && now == awaken.RunRunning
}

// SetRun sets the latest run, and the open run unless it is done.
func (h *Head) SetRun(id string, status awaken.RunStatus) {
	h.LatestRunID, h.OpenRunID = id, ""
	if status != awaken.RunDone {
		h.OpenRunID = id
	}
}

// Body is the content of a thread.
type Body struct {
	View    awaken.View
	Created []int64 // of each message, Unix ms
	State   map[string]json.RawMessage
	Inbox   []awaken.InboxItem
	Posted  map[string]bool // ids of all items ever posted
}

// Append appends messages to the log, all created at the same time.
func (b *Body) Append(msgs []*llm.Message, created int64) {
	b.View.Append(msgs...)
	for range msgs {
		b.Created = append(b.Created, created)
	}
}

// Post adds items to the inbox, except those that were posted before.
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

// Records returns a function that returns records from the log as it is now: those after
// from, up to and including to. The function needs no lock.
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

// Run is a run with its call ledger, ordered by step and index, and its state.
type Run struct {
	awaken.Run
	Calls []*awaken.CallState
	State map[string]json.RawMessage
}

// Enter adds calls to the ledger, or replaces their earlier records.
func (r *Run) Enter(calls []*awaken.CallState) {
	for _, call := range calls {
		at, found := slices.BinarySearchFunc(r.Calls, call, ComparePlaces)
		if found {
			r.Calls[at] = call.Follow(r.Calls[at])
		} else {
			r.Calls = slices.Insert(r.Calls, at, call)
		}
	}
}

// ComparePlaces compares calls by step and index.
func ComparePlaces(a, b *awaken.CallState) int {
	return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
}

// LastStep returns the calls of the last step that has any.
func LastStep(calls []*awaken.CallState) []*awaken.CallState {
	i := len(calls)
	for i > 0 && calls[i-1].Step == calls[len(calls)-1].Step {
		i--
	}
	return calls[i:]
}

// Unfinished returns the calls that are still running.
func Unfinished(calls []*awaken.CallState) (out []*awaken.CallState) {
	for _, c := range calls {
		if c.Status == awaken.CallRunning {
			out = append(out, c)
		}
	}
	return out
}

// Set sets a key of m, or removes it if the value is nil.
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

// SelectsEntry reports whether q selects e.
func SelectsEntry(q *awaken.EntryQuery, e *awaken.Entry) bool {
	return e.Last() > q.After && e.Epoch > q.Epoch && (q.RunID == "" || e.RunID == q.RunID)
}

// Bounds returns the records that q selects from a log of n: those after from, up to and
// including to.
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

// Page applies the defaults of a page: a limit of 0 means 50.
func Page(offset, limit int) (int, int) {
	if limit <= 0 {
		limit = 50
	}
	return max(offset, 0), limit
}

// Newest compares by time, the newest first, and then by id.
func Newest(a, b int64, idA, idB string) int {
	return cmp.Or(cmp.Compare(b, a), strings.Compare(idA, idB))
}

// CheckParent checks that parent exists, and that the thread is not one of its ancestors.
// Above returns the parent of a thread, and whether that thread exists.
func CheckParent(id, parent string, above func(id string) (parent string, found bool, err error)) error {
	for at := parent; at != ""; {
		if at == id {
			return fmt.Errorf("thread %s: %w: a thread cannot be its own ancestor", id, awaken.ErrInvalid)
		}
		next, found, err := above(at)
		if err != nil {
			return err
		}
		if !found && at == parent {
			return fmt.Errorf("thread %s: %w: parent %s not found", id, awaken.ErrInvalid, parent)
		}
		at = next
	}
	return nil
}

// CheckFork checks that t can be forked after record seq. Taken reports whether a thread
// newID exists.
func CheckFork(t *awaken.Thread, seq int, newID string, taken bool) error {
	switch {
	case taken || newID == "":
		return fmt.Errorf("fork thread %s: %w: thread %q already exists", t.ID, awaken.ErrConflict, newID)
	case seq < 0 || seq > t.MessageCount:
		return fmt.Errorf("fork thread %s: %w: record %d is out of range, the log has %d", t.ID, awaken.ErrInvalid, seq, t.MessageCount)
	}
	return nil
}

// CheckDelete checks that a thread with n children can be deleted with a strategy for them.
func CheckDelete(children awaken.ChildStrategy, n int) error {
	switch children {
	case awaken.RejectChildren:
		if n > 0 {
			return fmt.Errorf("%w: it has %d children", awaken.ErrConflict, n)
		}
	case awaken.DetachChildren, awaken.CascadeChildren:
	default:
		return fmt.Errorf("%w: child strategy is %q, want \"reject\", \"cascade\" or \"\" to detach", awaken.ErrInvalid, children)
	}
	return nil
}

// NotFound returns the error for a thread that does not exist.
func NotFound(id string) error { return fmt.Errorf("thread %s: %w", id, awaken.ErrNotFound) }

// RunNotFound returns the error for a run that does not exist.
func RunNotFound(id string) error { return fmt.Errorf("run %s: %w", id, awaken.ErrNotFound) }
