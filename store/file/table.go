package file

import (
	"fmt"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// table holds the threads and runs of a store, without the bodies. It can be rebuilt from
// the journals.
type table struct {
	mu      sync.Mutex // guards everything below, and fields of thread, journal, copies and body
	threads map[string]*thread
	runs    map[string]*runRef
	decided threads.Decided
	floor   uint64 // above the fences of deleted threads; new threads begin with it
	clock   int64  // grows with every commit, to order threads and runs
	grown   int64  // bytes written to journals since the index was saved
}

func newTable() *table {
	return &table{threads: map[string]*thread{}, runs: map[string]*runRef{}, decided: threads.Decided{}}
}

// find returns a live thread. Requires tb.mu.
func (tb *table) find(id string) (*thread, error) {
	if t := tb.threads[id]; t != nil && t.life == alive {
		return t, nil
	}
	return nil, threads.NotFound(id)
}

// take returns a live thread with writing held.
func (tb *table) take(id string) (*thread, error) {
	tb.mu.Lock()
	t, err := tb.find(id)
	tb.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t.writing.Lock()
	if t.life != alive { // deleted in the meantime
		t.writing.Unlock()
		return nil, threads.NotFound(id)
	}
	return t, nil
}

// findRun returns a committed run of a live thread. Requires tb.mu.
func (tb *table) findRun(id string) (*runRef, error) {
	if r := tb.runs[id]; r != nil && r.at.Len > 0 && r.thread.life == alive {
		return r, nil
	}
	return nil, threads.RunNotFound(id)
}

// apply applies a record to the table. Requires tb.mu, except while the store is opened.
func (tb *table) apply(t *thread, r *summary, at span) {
	if at.Off == 0 {
		t.journal.first = at
	}
	t.journal.size = at.end()
	tb.clock = max(tb.clock, r.Clock)
	switch r.Op {
	case opCreate, opAcquire:
		t.Fence, t.Committed = r.Fence, 0
	case opFork:
		t.base, t.ParentThreadID, t.MessageCount, t.Touched, t.Fence = r.Base, r.Parent, r.Count, r.Clock, r.Fence
		t.UserID, t.ResourceID, t.Notes = r.User, r.Resource, r.Notes
		if r.Metadata != nil {
			t.Metadata = *r.Metadata
		}
		if r.Base != nil {
			t.copies.seq = r.Base.Seq
		}
	case opCommit:
		tb.applyCommit(t, r, at)
	case opInterrupt:
		t.Generation = r.Generation
	case opPost:
		t.unread = append(t.unread, r.Posted...)
		tb.remember(t, r.Decided)
	case opMetadata:
		t.Metadata.Title, t.Metadata.Custom = r.Metadata.Title, r.Metadata.Custom
		t.Metadata.UpdatedAt = max(t.Metadata.UpdatedAt, r.Time)
		t.UserID, t.ResourceID, t.ParentThreadID, t.Touched = r.User, r.Resource, r.Parent, r.Clock
		t.Notes = r.Notes
	case opNotes:
		t.Notes = r.Notes
	case opDetach:
		t.ParentThreadID = ""
	case opBase:
		t.base, t.copied, t.copies.seq = nil, at, 0
	case opDelete:
		t.doomed = r.Children
	}
}

func (tb *table) applyCommit(t *thread, r *summary, at span) {
	t.Committed = r.Number
	if t.Metadata.CreatedAt == 0 {
		t.Metadata.CreatedAt, t.ParentThreadID, t.UserID = r.Time, r.Parent, r.User
	}
	t.Metadata.UpdatedAt = r.Time
	t.MessageCount = r.Count
	if r.Log != nil {
		t.Seq = max(t.Seq, r.Log.Last)
	}
	if len(r.Read) > 0 {
		t.unread = slices.DeleteFunc(t.unread, func(id string) bool { return slices.Contains(r.Read, id) })
	}
	run := tb.runs[r.RunID]
	if run == nil {
		run = &runRef{id: r.RunID, thread: t}
		tb.runs[r.RunID] = run
	}
	if run.at.Len == 0 {
		run.born = r.Clock
		t.runs = append(t.runs, run)
	}
	if !t.Stays(r.RunID, run.status, r.Status) {
		t.Touched = r.Clock
	}
	run.status, run.at = r.Status, at
	t.copies.mark(run)
	t.SetRun(r.RunID, r.Status)
}

// claim gives a commit its clock and reserves its run for this thread until the commit is
// written. Undo releases a new reservation.
func (tb *table) claim(t *thread, r *record) (undo func(), err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.clock++
	r.Clock = tb.clock
	switch ref := tb.runs[r.RunID]; {
	case ref == nil:
		tb.runs[r.RunID] = &runRef{id: r.RunID, thread: t}
		return func() {
			tb.mu.Lock()
			defer tb.mu.Unlock()
			delete(tb.runs, r.RunID)
		}, nil
	case ref.thread != t:
		return nil, fmt.Errorf("%w: run %s belongs to thread %s", awaken.ErrConflict, r.RunID, ref.thread.ID)
	case ref.status == awaken.RunDone && r.Status != awaken.RunDone:
		return nil, awaken.ErrFenced
	}
	return func() {}, nil
}

// latestIs reports whether the latest run of a thread has a status. Requires tb.mu.
func (tb *table) latestIs(t *thread, status awaken.RunStatus) bool {
	r := tb.runs[t.LatestRunID]
	return r != nil && r.status == status
}

// statusOf returns the status of a run, or "" if it has no commit.
func (tb *table) statusOf(runID string) awaken.RunStatus {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if r := tb.runs[runID]; r != nil {
		return r.status
	}
	return ""
}

// remember adds records of decisions that were posted to a thread.
func (tb *table) remember(t *thread, ds []*awaken.Decided) {
	t.decided = append(t.decided, ds...)
	for _, d := range ds {
		q := threads.Question{RunID: d.RunID, TicketID: d.TicketID}
		if old := tb.decided[q]; old == nil || d.At < old.At { // a child's may have been posted to its parent, too
			tb.decided[q] = d
		}
	}
}

// decide reserves the records of decisions, which the next record of a thread brings, and returns those that are new. Undo
// releases them. The error is the record of a question that is decided differently.
func (tb *table) decide(items []awaken.InboxItem) (added []*awaken.Decided, undo func(), err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if err := tb.decided.Check(items); err != nil {
		return nil, nil, err
	}
	added = tb.decided.Add(items)
	return added, func() {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, d := range added {
			delete(tb.decided, threads.Question{RunID: d.RunID, TicketID: d.TicketID})
		}
	}, nil
}

// checkParent checks that parent exists and is not below the thread. Requires tb.mu.
func (tb *table) checkParent(id, parent string) error {
	return threads.CheckParent(id, parent, func(id string) (string, bool, error) {
		t, err := tb.find(id)
		if err != nil {
			return "", false, nil
		}
		return t.ParentThreadID, true, nil
	})
}

// related returns the live children of a thread, and the forks that share its messages.
// Requires tb.mu.
func (tb *table) related(t *thread) (kids, forks []*thread) {
	for _, o := range tb.threads {
		if o.ParentThreadID == t.ID && o != t && o.life == alive {
			kids = append(kids, o)
		}
		if o.base != nil && o.base.Thread == t.ID && o.base.Nonce == t.journal.nonce {
			forks = append(forks, o)
		}
	}
	return kids, forks
}

// descendants returns all descendants of a thread, parents before children.
func (tb *table) descendants(t *thread) []*thread {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	kids := map[string][]*thread{}
	for _, o := range tb.threads {
		kids[o.ParentThreadID] = append(kids[o.ParentThreadID], o)
	}
	seen := map[*thread]bool{t: true}
	var out []*thread
	for next := []*thread{t}; len(next) > 0; next = next[1:] {
		for _, k := range kids[next[0].ID] {
			if !seen[k] {
				seen[k] = true
				out, next = append(out, k), append(next, k)
			}
		}
	}
	return out
}

// restore sets a thread to its state in the index.
func (tb *table) restore(t *thread, ix *indexThread) {
	t.Head, t.unread, t.doomed = ix.Head, ix.Unread, ix.Doomed
	t.Notes = ix.Kept
	t.journal.first, t.journal.size = ix.First, ix.Size
	t.base, t.copied, t.copies.to, t.copies.seq = ix.Base, ix.Copied, ix.CopiedTo, ix.CopiedSeq
	tb.remember(t, ix.Decided)
	for _, r := range ix.Runs {
		ref := &runRef{id: r.ID, thread: t, status: r.Status, born: r.Born, at: r.At}
		t.runs = append(t.runs, ref)
		if r.At.Off >= t.copies.to {
			t.copies.mark(ref)
		}
		tb.runs[r.ID] = ref
	}
}
