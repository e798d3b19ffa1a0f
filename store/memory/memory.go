// Package memory stores threads, runs, their queue, profiles and configuration in memory.
// It implements every port, and its data is lost when the process ends. It suits tests and
// one-shot programs, and is the shortest implementation of the ports to read.
package memory

import (
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/threads"
	"github.com/awaken-go/awaken/trace/body"
	"github.com/awaken-go/awaken/trace/timeline"
)

// Store is the store of one tenant of a DB. It implements [awaken.Store], [awaken.EventLog],
// [awaken.ThreadEditor], [money.Budget], [awaken.UsageReader], [timeline.Log] and [mailbox.Handle];
// each of its parts implements some of them. The zero value is not usable; call New or
// [DB.Store].
type Store struct {
	reader
	committer
	editor
	*dispatches
	*budget
	blobs  *blobs
	bodies *bodies
}

// New returns the default store of a new DB.
func New() *Store { return NewDB().Store("") }

var (
	_ mailbox.Handle      = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ money.Budget        = (*Store)(nil)
	_ awaken.UsageReader  = (*Store)(nil)
	_ timeline.Log        = (*Store)(nil)
	_ blob.Keeper         = (*Store)(nil)
	_ blob.Sweeper        = (*DB)(nil)
	_ body.Keeper         = (*Store)(nil)
)

// records holds the threads and runs of a tenant.
type records struct {
	tenant  string
	changes *changelog.Memory // of the DB

	mu      *sync.Mutex // of the DB; guards everything below
	threads map[string]*thread
	runs    map[string]*runRecord
	decided threads.Decided
	clock   int64              // grows with every commit, to order threads and runs
	floor   uint64             // above the fences of deleted threads; new threads begin with it
	ended   func(runID string) // is called when a run ends; nil if nothing counts them
}

type thread struct {
	threads.Head
	threads.Body
	entries entryLog
	run     *runRecord // the latest started run
	newest  *runRecord // the latest run, started or not
	begun   bool       // has a commit, or was created by an editor
	queue
	first runRecord // of its first run; most threads have few
}

type runRecord struct {
	threads.Run
	born  int64
	older *runRecord // of the same thread, or nil
}

func (r *records) thread(id string) (*thread, error) {
	t := r.threads[id]
	if t == nil {
		return nil, threads.NotFound(id)
	}
	return t, nil
}

// ofThread returns what get returns for a thread, under the lock.
func ofThread[T any](r *records, id string, get func(t *thread) T) (out T, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.thread(id)
	if err == nil {
		out = get(t)
	}
	return out, err
}

// make returns a thread, which it adds if it does not exist.
func (r *records) make(id string) *thread {
	t := r.threads[id]
	if t == nil {
		t = &thread{Head: threads.Head{Thread: awaken.Thread{ID: id}, Fence: r.floor}}
		r.threads[id] = t
	}
	return t
}

// open is make for a thread that lists show at once. A new one belongs to user.
func (r *records) open(id, user string, now int64) *thread {
	t := r.make(id)
	if t.Metadata.CreatedAt == 0 {
		r.clock++
		t.Touched = r.clock
		t.Metadata.CreatedAt, t.Metadata.UpdatedAt, t.UserID = now, now, user
	}
	return t
}

// record stores the record of a run that has not started.
func (r *records) record(run *awaken.Run) {
	old := r.runs[run.RunID]
	if r.ended != nil && run.Status == awaken.RunDone && (old == nil || old.Status == awaken.RunCreated) {
		r.ended(run.RunID)
	}
	switch {
	case old == nil:
		r.clock++
		r.add(run)
		r.runChanged("", run)
	case old.Status == awaken.RunCreated:
		old.Run.Run = *run
		r.runChanged(awaken.RunCreated, run)
	}
}

// add stores the record of a new run.
func (r *records) add(run *awaken.Run) *runRecord {
	t := r.make(run.ThreadID)
	rec := &t.first
	if t.newest != nil {
		rec = new(runRecord)
	}
	rec.Run.Run, rec.born, rec.older = *run, r.clock, t.newest
	t.newest, r.runs[run.RunID] = rec, rec
	return rec
}

// all yields the runs of the thread, the newest first. The thread may be nil.
func (t *thread) all(yield func(*runRecord) bool) {
	if t == nil {
		return
	}
	for r := t.newest; r != nil && yield(r); r = r.older {
	}
}
