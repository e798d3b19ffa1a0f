// Package memory keeps threads, runs, their queue and profiles in memory. It is
// complete and fast, and forgets everything when the process ends: right for tests,
// for tools that run once, and as the shortest implementation of the ports to read.
package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/state"
)

// Store is a tenant's part of a DB. It implements [awaken.Store] and
// [mailbox.Handle]. The zero value is not ready; use New or [DB.Store].
type Store struct {
	db         *DB
	tenant     string
	mu         *sync.Mutex // the DB's
	threads    map[string]*thread
	runs       map[string]*runRecord
	dispatches map[string]*mailbox.Dispatch
	keys       map[string]*mailbox.Dispatch // by idempotency key
	balances   map[awaken.Account]*awaken.Balance
	reserved   map[string]*awaken.Reservation // by run
	clock      int64                          // grows with every commit, to order threads and runs
	floor      uint64                         // the highest fence of a thread that was removed: no new one gets it again
}

type thread struct {
	awaken.Thread
	fence, generation uint64
	committed         uint64 // number of the owner's last commit
	touched           int64
	view              awaken.View
	created           []int64 // of each record, unix ms
	state             map[string]json.RawMessage
	inbox             []awaken.InboxItem
	posted            map[string]bool
	entries           []awaken.Entry
	seq               uint64     // the highest in entries
	run               *runRecord // the latest that has started
	begun             bool       // something was committed
	queue
}

type runRecord struct {
	awaken.Run
	born  int64
	calls []*awaken.CallState
	state map[string]json.RawMessage
}

// New returns an empty store: the only one of its DB.
func New() *Store { return NewDB().Store("") }

func (s *Store) thread(id string) (*thread, error) {
	t := s.threads[id]
	if t == nil {
		return nil, fmt.Errorf("thread %s: %w", id, awaken.ErrNotFound)
	}
	return t, nil
}

// Thread returns a thread.
func (s *Store) Thread(_ context.Context, id string) (*awaken.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(id)
	if err != nil {
		return nil, err
	}
	return t.export(), nil
}

func (t *thread) export() *awaken.Thread {
	out := t.Thread
	out.Metadata.Custom = maps.Clone(t.Metadata.Custom)
	out.End = awaken.Cursor{Epoch: t.fence, Seq: t.seq}
	return &out
}

// ListThreads returns threads, the most recently updated first.
func (s *Store) ListThreads(_ context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.findThreads(q)
	slices.SortFunc(all, func(a, b *thread) int { return newest(a.touched, b.touched, a.ID, b.ID) })
	var out []*awaken.Thread
	for _, t := range page(all, q.Offset, q.Limit) {
		out = append(out, t.export())
	}
	return out, nil
}

// findThreads returns what q selects, in any order.
func (s *Store) findThreads(q awaken.ThreadQuery) (all []*thread) {
	for _, t := range s.threads {
		if (q.ParentThreadID == "" || t.ParentThreadID == q.ParentThreadID) && (q.ResourceID == "" || t.ResourceID == q.ResourceID) &&
			(!q.Root || t.ParentThreadID == "") {
			all = append(all, t)
		}
	}
	return all
}

// CountThreads returns how many threads q selects, on all pages.
func (s *Store) CountThreads(_ context.Context, q awaken.ThreadQuery) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.findThreads(q)), nil
}

func newest(a, b int64, idA, idB string) int {
	if a != b {
		return int(b - a)
	}
	return strings.Compare(idA, idB)
}

func page[T any](all []T, offset, limit int) []T {
	if limit <= 0 {
		limit = 50
	}
	all = all[min(max(offset, 0), len(all)):]
	return all[:min(limit, len(all))]
}

// Messages returns records of a thread's log.
func (s *Store) Messages(_ context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return nil, err
	}
	log := t.view.Log()
	from, to := max(q.After, 0), len(log)
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
	out := make([]awaken.MessageRecord, 0, to-from)
	for i := from; i < to; i++ {
		r := awaken.MessageRecord{ThreadID: threadID, Seq: i + 1, Message: log[i], Created: t.created[i]}
		if md := log[i].Metadata; md != nil {
			r.RunID = md.RunID
		}
		out = append(out, r)
	}
	return out, nil
}

// LoadRun returns a run.
func (s *Store) LoadRun(_ context.Context, id string) (*awaken.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		return nil, fmt.Errorf("run %s: %w", id, awaken.ErrNotFound)
	}
	out := r.Run
	return &out, nil
}

// ListRuns returns runs, the newest first.
func (s *Store) ListRuns(_ context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.findRuns(q)
	slices.SortFunc(all, func(a, b *runRecord) int { return newest(a.born, b.born, a.RunID, b.RunID) })
	var out []*awaken.Run
	for _, r := range page(all, q.Offset, q.Limit) {
		run := r.Run
		out = append(out, &run)
	}
	return out, nil
}

// findRuns returns what q selects, in any order.
func (s *Store) findRuns(q awaken.RunQuery) (all []*runRecord) {
	for _, r := range s.runs {
		if (q.ThreadID == "" || r.ThreadID == q.ThreadID) && (q.Status == "" || r.Status == q.Status) {
			all = append(all, r)
		}
	}
	return all
}

// CountRuns returns how many runs q selects, on all pages.
func (s *Store) CountRuns(_ context.Context, q awaken.RunQuery) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.findRuns(q)), nil
}

// Calls returns the ledger of a run.
func (s *Store) Calls(_ context.Context, runID string) ([]*awaken.CallState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[runID]
	if r == nil {
		return nil, fmt.Errorf("run %s: %w", runID, awaken.ErrNotFound)
	}
	return slices.Clone(r.calls), nil
}

// Acquire makes the caller the owner of a thread.
func (s *Store) Acquire(_ context.Context, threadID string) (*awaken.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.make(threadID)
	t.fence++
	t.committed = 0
	cp := &awaken.Checkpoint{Fence: t.fence, Generation: t.generation, Thread: t.Thread, View: t.view.Messages(),
		Seq: t.seq, ThreadState: maps.Clone(t.state), Inbox: slices.Clone(t.inbox)}
	cp.Thread.Metadata.Custom = maps.Clone(t.Metadata.Custom)
	cp.Thread.End = awaken.Cursor{Epoch: t.fence, Seq: t.seq}
	if r := t.run; r != nil {
		run := r.Run
		cp.Run = &run
		cp.RunState = maps.Clone(r.state)
		cp.Calls = lastStep(r.calls)
	}
	return cp, nil
}

// make returns a thread, which is new if it was not there.
func (s *Store) make(id string) *thread {
	t := s.threads[id]
	if t == nil {
		t = &thread{Thread: awaken.Thread{ID: id}, fence: s.floor}
		s.threads[id] = t
	}
	return t
}

// lastStep returns the calls of the last step that had any.
func lastStep(calls []*awaken.CallState) []*awaken.CallState {
	i := len(calls)
	for i > 0 && calls[i-1].Step == calls[len(calls)-1].Step {
		i--
	}
	return slices.Clone(calls[i:])
}

// Commit makes c visible, all or nothing.
func (s *Store) Commit(_ context.Context, c *awaken.Commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(c.ThreadID)
	if err != nil {
		return err
	}
	switch {
	case c.Fence != t.fence:
		return awaken.ErrFenced
	case c.Number == t.committed && c.Number != 0:
		c.Unread = len(t.inbox) > 0
		return nil // said again because the answer was lost
	case c.Run.Status != awaken.RunDone && s.isDone(c.Run.RunID):
		return awaken.ErrFenced
	case c.Begins && c.Generation != t.generation:
		return awaken.ErrGeneration
	case c.Expect != t.MessageCount:
		return &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: t.MessageCount}
	case len(c.Entries) > 0 && c.Entries[0].Seq <= t.seq:
		return fmt.Errorf("%w: event %d of thread %s is stored already", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID)
	case c.Rest && slices.ContainsFunc(t.inbox, func(it awaken.InboxItem) bool { return !slices.Contains(c.Read, it.ID) }):
		return awaken.ErrUnread
	}
	if err := c.Run.Validate(); err != nil {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	s.clock++
	t.committed, t.touched = c.Number, s.clock
	if !t.begun {
		t.begun, t.ParentThreadID = true, c.ParentThreadID
	}
	if t.Metadata.CreatedAt == 0 {
		t.Metadata.CreatedAt = c.Time
	}
	t.Metadata.UpdatedAt = c.Time
	t.view.Append(c.Messages...)
	if t.entries == nil {
		t.entries = make([]awaken.Entry, 0, 8)
	}
	if t.created == nil {
		t.created = make([]int64, 0, 4)
	}
	t.entries = append(t.entries, c.Entries...)
	for i := range c.Entries { // the deltas of one may reach further than the last
		t.seq = max(t.seq, c.Entries[i].Last())
	}
	for range c.Messages {
		t.created = append(t.created, c.Time)
	}
	t.MessageCount += len(c.Messages)
	if len(c.Read) > 0 {
		t.inbox = slices.DeleteFunc(t.inbox, func(it awaken.InboxItem) bool { return slices.Contains(c.Read, it.ID) })
	}
	s.saveRun(t, c)
	c.Unread = len(t.inbox) > 0
	return nil
}

// isDone reports whether a run is over.
func (s *Store) isDone(runID string) bool {
	r := s.runs[runID]
	return r != nil && r.Status == awaken.RunDone
}

func (s *Store) saveRun(t *thread, c *awaken.Commit) {
	r := s.runs[c.Run.RunID]
	if r == nil {
		r = &runRecord{born: s.clock}
		s.runs[c.Run.RunID] = r
	}
	r.Run = c.Run
	t.run, t.LatestRunID, t.OpenRunID = r, r.RunID, ""
	if r.Status != awaken.RunDone {
		t.OpenRunID = r.RunID
	}
	for _, call := range c.Calls {
		i := slices.IndexFunc(r.calls, func(old *awaken.CallState) bool { return old.Step == call.Step && old.Index == call.Index })
		if i >= 0 {
			r.calls[i] = call
			continue
		}
		at, _ := slices.BinarySearchFunc(r.calls, call, func(a, b *awaken.CallState) int {
			return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
		})
		r.calls = slices.Insert(r.calls, at, call)
	}
	for _, ch := range c.State {
		m := &r.state
		if ch.Scope == state.Thread {
			m = &t.state
		}
		if ch.Value == nil {
			delete(*m, ch.Key)
			continue
		}
		if *m == nil {
			*m = map[string]json.RawMessage{}
		}
		(*m)[ch.Key] = ch.Value
	}
}

// Interrupt raises the thread's generation.
func (s *Store) Interrupt(_ context.Context, threadID string) ([]*awaken.CallState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return nil, err
	}
	t.generation++
	var open []*awaken.CallState
	if t.run != nil {
		for _, c := range t.run.calls {
			if c.Status == awaken.CallRunning {
				open = append(open, c)
			}
		}
	}
	return open, nil
}

// Post adds items to a thread's inbox.
func (s *Store) Post(_ context.Context, threadID string, items ...awaken.InboxItem) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return err
	}
	t.post(items)
	return nil
}

func (t *thread) post(items []awaken.InboxItem) {
	if t.posted == nil {
		t.posted = map[string]bool{}
	}
	for _, it := range items {
		if !t.posted[it.ID] {
			t.posted[it.ID] = true
			t.inbox = append(t.inbox, it)
		}
	}
}

// Unread returns the items that no commit has read.
func (s *Store) Unread(_ context.Context, threadID string) ([]awaken.InboxItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.inbox), nil
}

// Entries returns entries of a thread's log of events.
func (s *Store) Entries(_ context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return nil, err
	}
	var out []awaken.Entry
	for _, e := range t.entries {
		if e.Last() > q.After && e.Epoch > q.Epoch && (q.RunID == "" || e.RunID == q.RunID) {
			if out = append(out, e); q.Limit > 0 && len(out) == q.Limit {
				break
			}
		}
	}
	return out, nil
}

// Fork makes a thread that begins as another was after record seq of its log.
func (s *Store) Fork(_ context.Context, threadID string, seq int, newID string) (*awaken.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(threadID)
	if err != nil {
		return nil, err
	}
	if s.threads[newID] != nil || newID == "" {
		return nil, fmt.Errorf("fork thread %s: %w: thread %q exists already", threadID, awaken.ErrConflict, newID)
	}
	if seq < 0 || seq > t.MessageCount {
		return nil, fmt.Errorf("fork thread %s: %w: record %d, have %d", threadID, awaken.ErrInvalid, seq, t.MessageCount)
	}
	s.clock++
	f := &thread{Thread: awaken.Thread{ID: newID, ParentThreadID: threadID, MessageCount: seq, Metadata: t.Metadata}, touched: s.clock, fence: s.floor, begun: true}
	f.Metadata.Custom = maps.Clone(t.Metadata.Custom)
	f.created = slices.Clone(t.created[:seq])
	f.view.Append(t.view.Log()[:seq]...)
	s.threads[newID] = f
	return f.export(), nil
}

// DeleteThread removes a thread. One that has dispatches that are queued or claimed is
// an ErrConflict.
func (s *Store) DeleteThread(_ context.Context, id string, children awaken.ChildStrategy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.thread(id); err != nil {
		return err
	}
	if busy := s.busy(id, children == awaken.CascadeChildren); busy != "" {
		return fmt.Errorf("delete thread %s: %w: thread %s has dispatches that are queued or claimed", id, awaken.ErrConflict, busy)
	}
	var kids []*thread
	for _, t := range s.threads {
		if t.ParentThreadID == id {
			kids = append(kids, t)
		}
	}
	switch children {
	case awaken.RejectChildren:
		if len(kids) > 0 {
			return fmt.Errorf("delete thread %s: %w: it has %d children", id, awaken.ErrConflict, len(kids))
		}
	case awaken.DetachChildren:
		for _, k := range kids {
			k.ParentThreadID = ""
		}
	case awaken.CascadeChildren:
	default:
		return fmt.Errorf("delete thread %s: %w: child strategy is %q, want reject, cascade or nothing", id, awaken.ErrInvalid, children)
	}
	s.remove(id, children == awaken.CascadeChildren)
	return nil
}

// busy returns the thread, or the descendant of it, that has live dispatches, or "".
func (s *Store) busy(id string, descendants bool) string {
	if len(s.threads[id].live) > 0 {
		return id
	}
	if descendants {
		for kid, t := range s.threads {
			if t.ParentThreadID == id {
				if busy := s.busy(kid, true); busy != "" {
					return busy
				}
			}
		}
	}
	return ""
}

// remove removes a thread, and all that descend from it.
func (s *Store) remove(id string, descendants bool) {
	t := s.threads[id]
	s.floor = max(s.floor, t.fence)
	for _, d := range t.over {
		s.forget(d)
	}
	delete(s.threads, id)
	maps.DeleteFunc(s.runs, func(_ string, r *runRecord) bool { return r.ThreadID == id })
	if !descendants {
		return
	}
	for kid, t := range s.threads {
		if t.ParentThreadID == id {
			s.remove(kid, true)
		}
	}
}

// CreateThread makes a thread.
func (s *Store) CreateThread(_ context.Context, t *awaken.Thread) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.ID == "" || s.threads[t.ID] != nil {
		return fmt.Errorf("create thread %q: %w: it exists already", t.ID, awaken.ErrConflict)
	}
	if err := s.checkParent(t.ID, t.ParentThreadID); err != nil {
		return err
	}
	s.clock++
	now := s.db.Now().UnixMilli()
	n := &thread{Thread: awaken.Thread{ID: t.ID, ResourceID: t.ResourceID, ParentThreadID: t.ParentThreadID}, touched: s.clock, fence: s.floor, begun: true}
	n.Metadata = awaken.ThreadMetadata{CreatedAt: now, UpdatedAt: now, Title: t.Metadata.Title, Custom: maps.Clone(t.Metadata.Custom)}
	s.threads[t.ID] = n
	return nil
}

// checkParent checks that a thread can have that parent.
func (s *Store) checkParent(id, parent string) error {
	if parent != "" && s.threads[parent] == nil {
		return fmt.Errorf("thread %s: %w: there is no parent %s", id, awaken.ErrInvalid, parent)
	}
	for above := parent; above != ""; {
		if above == id {
			return fmt.Errorf("thread %s: %w: it cannot be above itself", id, awaken.ErrInvalid)
		}
		t := s.threads[above]
		if t == nil {
			break
		}
		above = t.ParentThreadID
	}
	return nil
}

// UpdateThread changes what people attached to a thread.
func (s *Store) UpdateThread(_ context.Context, id string, fn func(t *awaken.Thread) error) (*awaken.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.thread(id)
	if err != nil {
		return nil, err
	}
	c := t.export()
	if err := fn(c); err != nil {
		return nil, err
	}
	if c.ParentThreadID != t.ParentThreadID {
		if err := s.checkParent(id, c.ParentThreadID); err != nil {
			return nil, err
		}
	}
	s.clock++
	t.touched = s.clock
	t.ResourceID, t.ParentThreadID = c.ResourceID, c.ParentThreadID
	t.Metadata.Title, t.Metadata.Custom = c.Metadata.Title, maps.Clone(c.Metadata.Custom)
	t.Metadata.UpdatedAt = max(t.Metadata.UpdatedAt, s.db.Now().UnixMilli())
	return t.export(), nil
}

// Prune removes threads that nothing happened on for a while.
func (s *Store) Prune(_ context.Context, before time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for id, t := range s.threads {
		idle := t.OpenRunID == "" && len(t.inbox) == 0 && len(t.live) == 0 && t.Metadata.UpdatedAt > 0 // a new thread's owner may yet commit
		if idle && t.Metadata.UpdatedAt < before.UnixMilli() {
			s.remove(id, false)
			n++
		}
	}
	return n, nil
}

var (
	_ awaken.EventLog     = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
)

var _ awaken.Store = (*Store)(nil)

// Profile implements [profile.Store].
type Profile struct {
	mu      sync.Mutex
	entries map[[2]string]profile.Entry // namespace, key
	now     func() time.Time
}

// NewProfile returns an empty profile store.
func NewProfile() *Profile {
	return &Profile{entries: map[[2]string]profile.Entry{}, now: time.Now}
}

// Get returns an entry, or nil.
func (p *Profile) Get(_ context.Context, namespace, key string) (*profile.Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.entries[[2]string{namespace, key}]
	if !ok {
		return nil, nil
	}
	e.Value = slices.Clone(e.Value)
	return &e, nil
}

// Set creates or replaces an entry.
func (p *Profile) Set(_ context.Context, namespace, key string, value json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries[[2]string{namespace, key}] = profile.Entry{Namespace: namespace, Key: key, Value: slices.Clone(value), UpdatedAt: p.now()}
	return nil
}

// Delete removes an entry.
func (p *Profile) Delete(_ context.Context, namespace, key string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.entries, [2]string{namespace, key})
	return nil
}

// List returns the entries of a namespace, sorted by key.
func (p *Profile) List(_ context.Context, namespace string) ([]profile.Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []profile.Entry
	for k, e := range p.entries {
		if k[0] == namespace {
			e.Value = slices.Clone(e.Value)
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b profile.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// Clear removes what an entity left behind, in all namespaces.
func (p *Profile) Clear(_ context.Context, key string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.entries, func(k [2]string, _ profile.Entry) bool { return k[1] == key })
	return nil
}

var _ profile.Store = (*Profile)(nil)
