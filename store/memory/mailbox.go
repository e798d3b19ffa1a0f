package memory

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config/configstate"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
)

// DB holds the stores of all tenants, and is the queue that workers share. It
// implements [mailbox.Queue] and [mailbox.Listener].
type DB struct {
	// Now is the clock of leases and delays: time.Now, unless it is replaced before
	// anything else is done.
	Now func() time.Time

	mu        sync.Mutex // guards everything, of every tenant
	tenants   map[string]*Store
	ready     line // threads that can be claimed
	later     line // threads whose next claim time alone will change
	claimed   map[*mailbox.Dispatch]*thread
	listeners map[chan struct{}]bool
	config    *configStore
}

// NewDB returns an empty DB.
func NewDB() *DB {
	db := &DB{Now: time.Now, tenants: map[string]*Store{}, claimed: map[*mailbox.Dispatch]*thread{}, listeners: map[chan struct{}]bool{}}
	db.ready = line{place: func(t *thread) *int { return &t.ready }, less: func(a, b *thread) bool {
		return cmp.Or(cmp.Compare(a.head.Priority, b.head.Priority), cmp.Compare(a.since(), b.since()), cmp.Compare(a.head.ID, b.head.ID)) < 0
	}}
	db.later = line{place: func(t *thread) *int { return &t.later }, less: func(a, b *thread) bool { return a.changes < b.changes }}
	db.config = &configStore{db: db, state: configstate.New()}
	return db
}

// Store returns the store of a tenant; "" is the default one.
func (db *DB) Store(tenant string) *Store {
	db.mu.Lock()
	defer db.mu.Unlock()
	s := db.tenants[tenant]
	if s == nil {
		s = &Store{db: db, tenant: tenant, mu: &db.mu, threads: map[string]*thread{}, runs: map[string]*runRecord{},
			dispatches: map[string]*mailbox.Dispatch{}, keys: map[string]*mailbox.Dispatch{},
			balances: map[awaken.Account]*awaken.Balance{}, reserved: map[string]*awaken.Reservation{}}
		db.tenants[tenant] = s
	}
	return s
}

// Handle returns the store of a tenant.
func (db *DB) Handle(tenant string) mailbox.Handle { return db.Store(tenant) }

// queue is what a thread has of the queue.
type queue struct {
	epoch uint64
	live  []*mailbox.Dispatch // queued and claimed, in order
	over  []*mailbox.Dispatch
	freed int64 // when its last claim ended

	// Its places in the lines of the DB.
	head         *mailbox.Dispatch // what a claim takes
	changes      int64             // when that changes by time alone
	ready, later int               // counted from 1
}

// since is when the thread became ready.
func (q *queue) since() int64 { return max(q.freed, q.head.AvailableAt) }

// line is a heap of threads that know their places in it.
type line struct {
	threads []*thread
	less    func(a, b *thread) bool
	place   func(t *thread) *int
}

func (l *line) Len() int           { return len(l.threads) }
func (l *line) Less(i, j int) bool { return l.less(l.threads[i], l.threads[j]) }
func (l *line) Swap(i, j int) {
	l.threads[i], l.threads[j] = l.threads[j], l.threads[i]
	*l.place(l.threads[i]), *l.place(l.threads[j]) = i+1, j+1
}
func (l *line) Push(x any) {
	l.threads = append(l.threads, x.(*thread))
	*l.place(x.(*thread)) = len(l.threads)
}
func (l *line) Pop() any {
	last := len(l.threads) - 1
	t := l.threads[last]
	l.threads[last], l.threads = nil, l.threads[:last]
	*l.place(t) = 0
	return t
}

func (l *line) remove(t *thread) {
	if at := *l.place(t); at > 0 {
		heap.Remove(l, at-1)
	}
}

// line puts a thread into the lines where it belongs at now.
func (db *DB) line(t *thread, now int64) {
	db.ready.remove(t)
	db.later.remove(t)
	t.head, t.changes = mailbox.Ready(t.live, now), 0
	if t.head == nil {
		return
	}
	if t.head.AvailableAt <= now {
		heap.Push(&db.ready, t)
	}
	for _, d := range t.live {
		if d.AvailableAt > now && (t.changes == 0 || d.AvailableAt < t.changes) {
			t.changes = d.AvailableAt
		}
	}
	if t.changes > 0 {
		heap.Push(&db.later, t)
	}
}

// Claim takes dispatches that are available.
func (db *DB) Claim(_ context.Context, c mailbox.ClaimRequest) (ds []*mailbox.Dispatch, next time.Duration, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.Now().UnixMilli()
	for db.later.Len() > 0 && db.later.threads[0].changes <= now {
		db.line(db.later.threads[0], now)
	}
	for len(ds) < c.Limit && db.ready.Len() > 0 {
		t := db.ready.threads[0]
		d := t.head
		d.Status, d.UpdatedAt = mailbox.Claimed, now
		d.ClaimToken, d.ClaimedBy, d.LeaseUntil = ids.New(), c.Consumer, now+c.Lease.Milliseconds()
		db.claimed[d] = t
		db.line(t, now)
		ds = append(ds, export(d))
	}
	if db.later.Len() > 0 {
		next = time.Duration(db.later.threads[0].changes-now) * time.Millisecond
	}
	return ds, next, nil
}

// held returns the dispatch of a claim, or nil if it is not a claim any more.
func (db *DB) held(h mailbox.Held) (*mailbox.Dispatch, *thread) {
	s := db.tenants[h.Tenant]
	if s == nil {
		return nil, nil
	}
	d := s.dispatches[h.ID]
	if d == nil || d.Status != mailbox.Claimed || d.ClaimToken != h.Token {
		return nil, nil
	}
	if h.Steps > d.Steps {
		d.Steps, d.Attempts = h.Steps, 0
	}
	return d, db.claimed[d]
}

// Renew extends leases.
func (db *DB) Renew(_ context.Context, lease time.Duration, held ...mailbox.Held) ([]mailbox.Renewal, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.Now().UnixMilli()
	out := make([]mailbox.Renewal, len(held))
	for i, h := range held {
		d, _ := db.held(h)
		if d == nil {
			out[i].Lost = true
			continue
		}
		d.LeaseUntil, d.UpdatedAt, out[i].Cancel = now+lease.Milliseconds(), now, d.Cancel
	}
	return out, nil
}

// Settle ends claims.
func (db *DB) Settle(_ context.Context, settlements ...mailbox.Settlement) ([]error, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.Now().UnixMilli()
	out := make([]error, len(settlements))
	for i, s := range settlements {
		if s.Status != mailbox.Queued && !s.Status.Terminal() {
			out[i] = fmt.Errorf("settle dispatch %s: %w: status is %q", s.ID, awaken.ErrInvalid, s.Status)
			continue
		}
		d, t := db.held(s.Held)
		if d == nil {
			out[i] = fmt.Errorf("settle dispatch %s: %w", s.ID, awaken.ErrFenced)
			continue
		}
		if s.Failed {
			d.Attempts++
		}
		if s.Error != "" {
			d.LastError = s.Error
		}
		db.release(t, d, s.Status, now+s.Delay.Milliseconds(), now)
	}
	db.tell()
	return out, nil
}

// release ends the claim on d, which is tried again from available on if it is Queued.
func (db *DB) release(t *thread, d *mailbox.Dispatch, as mailbox.Status, available, now int64) {
	d.Status, d.UpdatedAt = as, now
	d.ClaimToken, d.ClaimedBy, d.LeaseUntil = "", "", 0
	delete(db.claimed, d)
	t.freed = now
	if as == mailbox.Queued {
		d.AvailableAt = available
	} else {
		d.CompletedAt = now
		t.live = slices.DeleteFunc(t.live, func(o *mailbox.Dispatch) bool { return o == d })
		t.over = append(t.over, d)
	}
	db.line(t, now)
}

// Reclaim puts dispatches whose lease is over back into the queue.
func (db *DB) Reclaim(_ context.Context, limit int) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now, n := db.Now().UnixMilli(), 0
	for d, t := range db.claimed {
		if n == limit {
			break
		}
		if d.LeaseUntil <= now {
			d.Attempts++
			db.release(t, d, mailbox.Queued, now, now)
			n++
		}
	}
	if n > 0 {
		db.tell()
	}
	return n, nil
}

// Purge removes dispatches that have been over for so long.
func (db *DB) Purge(_ context.Context, olderThan time.Duration) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	before, n := db.Now().Add(-olderThan).UnixMilli(), 0
	for _, s := range db.tenants {
		n += s.purge(func(d *mailbox.Dispatch) bool { return d.CompletedAt <= before })
	}
	return n, nil
}

// Counts returns how many dispatches there are of each status.
func (db *DB) Counts(context.Context) (map[mailbox.Status]int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	out := map[mailbox.Status]int{}
	for _, s := range db.tenants {
		for _, d := range s.dispatches {
			out[d.Status]++
		}
	}
	return out, nil
}

// Listen calls fn when something may have become available or a claim may have been
// cancelled.
func (db *DB) Listen(ctx context.Context, fn func()) error {
	ch := make(chan struct{}, 1)
	db.mu.Lock()
	db.listeners[ch] = true
	db.mu.Unlock()
	defer func() {
		db.mu.Lock()
		delete(db.listeners, ch)
		db.mu.Unlock()
	}()
	for {
		fn()
		select {
		case <-ch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tell wakes the listeners.
func (db *DB) tell() {
	for ch := range db.listeners {
		select {
		case ch <- struct{}{}:
		default: // it has yet to look
		}
	}
}

// Change calls fn with a thread's queue and keeps what it recorded. Fn must not use the
// DB.
func (s *Store) Change(_ context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &mailbox.Thread{ID: threadID, Now: s.db.Now().UnixMilli()}
	t := s.threads[threadID]
	if t != nil {
		c.Made, c.Epoch, c.End = true, t.epoch, awaken.Cursor{Epoch: t.fence, Seq: t.seq}
		if t.OpenRunID != "" {
			open := t.run.Run
			c.Open = &open
		}
		for _, d := range t.live {
			c.Live = append(c.Live, export(d))
		}
	}
	if err := fn(c); err != nil {
		return err
	}
	if err := s.check(t, c); err != nil {
		return fmt.Errorf("change thread %s: %w", threadID, err)
	}
	if c.Make {
		t = s.open(threadID, c.Now)
	}
	if t == nil {
		return nil // fn wanted nothing
	}
	if c.Raise {
		t.epoch++
	}
	if c.Interrupt {
		t.generation++
	}
	t.post(c.Post)
	for _, r := range c.Runs {
		s.record(r)
	}
	for _, d := range c.Put {
		s.put(t, d)
	}
	s.db.line(t, c.Now)
	s.db.tell()
	return nil
}

// check says what is wrong with the changes of a thread, which is nil if it is not
// there.
func (s *Store) check(t *thread, c *mailbox.Thread) error {
	if t == nil && !c.Make && (len(c.Put) > 0 || len(c.Runs) > 0 || len(c.Post) > 0 || c.Interrupt || c.Raise) {
		return awaken.ErrNotFound
	}
	keys := map[string]string{}
	for _, d := range c.Put {
		if old := s.dispatches[d.ID]; old != nil && old.ThreadID != c.ID {
			return fmt.Errorf("dispatch %s: %w of one of thread %s", d.ID, mailbox.ErrDuplicate, old.ThreadID)
		}
		key := d.IdempotencyKey
		if key == "" {
			continue
		}
		if old := s.keys[key]; old != nil && old.ID != d.ID {
			return fmt.Errorf("idempotency key %q: %w of dispatch %s", key, mailbox.ErrDuplicate, old.ID)
		}
		if other := keys[key]; other != "" && other != d.ID {
			return fmt.Errorf("idempotency key %q: %w of dispatch %s", key, mailbox.ErrDuplicate, other)
		}
		keys[key] = d.ID
	}
	var errs []error
	for _, r := range c.Runs {
		if err := r.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%w: %w", awaken.ErrInvalid, err))
		}
	}
	return errors.Join(errs...)
}

// open returns a thread, which is made if it was not there.
func (s *Store) open(id string, now int64) *thread {
	t := s.make(id)
	if t.Metadata.CreatedAt == 0 {
		s.clock++
		t.touched = s.clock
		t.Metadata.CreatedAt, t.Metadata.UpdatedAt = now, now
	}
	return t
}

// record keeps the record of a run that has not started.
func (s *Store) record(r *awaken.Run) {
	old := s.runs[r.RunID]
	switch {
	case old == nil:
		s.clock++
		s.runs[r.RunID] = &runRecord{Run: *r, born: s.clock}
	case old.Status == awaken.RunCreated:
		old.Run = *r
	}
}

// put keeps a dispatch that is new or changed.
func (s *Store) put(t *thread, changed *mailbox.Dispatch) {
	d := s.dispatches[changed.ID]
	if d == nil {
		d = new(mailbox.Dispatch)
		s.dispatches[changed.ID] = d
	} else {
		same := func(o *mailbox.Dispatch) bool { return o == d }
		t.live, t.over = slices.DeleteFunc(t.live, same), slices.DeleteFunc(t.over, same)
		delete(s.db.claimed, d)
		delete(s.keys, d.IdempotencyKey)
	}
	*d = *export(changed)
	d.Tenant, d.ThreadID = s.tenant, t.ID
	if d.IdempotencyKey != "" {
		s.keys[d.IdempotencyKey] = d
	}
	if d.Status.Terminal() {
		t.over = append(t.over, d)
		return
	}
	t.live = append(t.live, d)
	mailbox.Sort(t.live)
	if d.Status == mailbox.Claimed {
		s.db.claimed[d] = t
	}
}

// Enqueue queues dispatches that start runs.
func (s *Store) Enqueue(_ context.Context, ds ...*mailbox.Dispatch) (left []int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.db.Now().UnixMilli()
	for i, d := range ds {
		if s.taken(d) {
			left = append(left, i)
			continue
		}
		t := s.open(d.ThreadID, now)
		d = export(d)
		d.Status, d.Epoch, d.CreatedAt, d.UpdatedAt = mailbox.Queued, t.epoch, now, now
		d.AvailableAt += now
		s.record(d.NewRun())
		s.put(t, d)
		s.db.line(t, now)
	}
	if len(left) < len(ds) {
		s.db.tell()
	}
	return left, nil
}

// taken reports whether a dispatch cannot be queued as it is.
func (s *Store) taken(d *mailbox.Dispatch) bool {
	if s.dispatches[d.ID] != nil || d.IdempotencyKey != "" && s.keys[d.IdempotencyKey] != nil {
		return true
	}
	t := s.threads[d.ThreadID]
	if t == nil {
		return false
	}
	waits := t.OpenRunID != "" && t.run.Status == awaken.RunWaiting
	return waits || d.DedupeKey != "" && slices.ContainsFunc(t.live, func(o *mailbox.Dispatch) bool { return o.DedupeKey == d.DedupeKey })
}

// export returns a copy of a dispatch. Messages are shared, they do not change.
func export(d *mailbox.Dispatch) *mailbox.Dispatch {
	out := *d
	if d.Request != nil {
		q := *d.Request
		q.Messages, q.Decisions, q.FrontendTools, q.Seed = slices.Clone(q.Messages), slices.Clone(q.Decisions), slices.Clone(q.FrontendTools), maps.Clone(q.Seed)
		out.Request = &q
	}
	return &out
}

// Dispatch returns a dispatch.
func (s *Store) Dispatch(_ context.Context, id string) (*mailbox.Dispatch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.dispatches[id]
	if d == nil {
		return nil, fmt.Errorf("dispatch %s: %w", id, awaken.ErrNotFound)
	}
	return export(d), nil
}

// Submitted returns the dispatch of an idempotency key.
func (s *Store) Submitted(_ context.Context, key string) (*mailbox.Dispatch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.keys[key]
	if d == nil {
		return nil, fmt.Errorf("idempotency key %q: %w", key, awaken.ErrNotFound)
	}
	return export(d), nil
}

// Dispatches lists dispatches: those of a thread or run in order, others newest first.
func (s *Store) Dispatches(_ context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*mailbox.Dispatch
	if t := s.threads[q.ThreadID]; t != nil {
		all = slices.Concat(t.live, t.over)
	} else {
		all = slices.Collect(maps.Values(s.dispatches))
	}
	all = slices.DeleteFunc(all, func(d *mailbox.Dispatch) bool { return !selects(q, d) })
	mailbox.Sort(all)
	if q.ThreadID == "" && q.RunID == "" {
		slices.SortFunc(all, func(a, b *mailbox.Dispatch) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
		})
	}
	var out []*mailbox.Dispatch
	for _, d := range page(all, q.Offset, q.Limit) {
		out = append(out, export(d))
	}
	return out, nil
}

func selects(q mailbox.Query, d *mailbox.Dispatch) bool {
	return (q.ThreadID == "" || q.ThreadID == d.ThreadID) && (q.RunID == "" || q.RunID == d.RunID) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, d.Status))
}

// PurgeDispatches removes the dispatches of q that are over, on whatever page.
func (s *Store) PurgeDispatches(_ context.Context, q mailbox.Query) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.purge(func(d *mailbox.Dispatch) bool { return selects(q, d) }), nil
}

// purge removes dispatches that are over and that which picks.
func (s *Store) purge(which func(d *mailbox.Dispatch) bool) int {
	before := len(s.dispatches)
	for _, t := range s.threads {
		t.over = slices.DeleteFunc(t.over, func(d *mailbox.Dispatch) bool {
			gone := which(d)
			if gone {
				s.forget(d)
			}
			return gone
		})
	}
	return before - len(s.dispatches)
}

func (s *Store) forget(d *mailbox.Dispatch) {
	delete(s.dispatches, d.ID)
	if s.keys[d.IdempotencyKey] == d {
		delete(s.keys, d.IdempotencyKey)
	}
}

var (
	_ mailbox.Queue    = (*DB)(nil)
	_ mailbox.Listener = (*DB)(nil)
	_ mailbox.Handle   = (*Store)(nil)
)
