package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/threads"
	"github.com/awaken-go/awaken/trace/body"
)

// DB holds the stores of all tenants, and is the queue that workers share. It
// implements [mailbox.Queue] and [mailbox.Listener].
type DB struct {
	// Now is the clock of leases and delays. NewDB sets it to time.Now; replace it before
	// the DB is used.
	Now func() time.Time

	mu      sync.Mutex // guards the data of all tenants
	tenants map[string]*Store
	lines   *lines
	config  config.Store
	changes *changelog.Memory
	// processes holds until when each process may be silent, Unix ms.
	processes map[string]int64
	rollups   *rollups // nil until it is used
}

// NewDB returns an empty DB.
func NewDB() *DB {
	db := &DB{Now: time.Now, tenants: map[string]*Store{}, processes: map[string]int64{}}
	db.changes = &changelog.Memory{Now: func() time.Time { return db.Now() }}
	db.lines = newLines(db.changes)
	db.config = newConfig(db)
	return db
}

// Store returns the store of a tenant; "" is the default one.
func (db *DB) Store(tenant string) *Store {
	db.mu.Lock()
	defer db.mu.Unlock()
	s := db.tenants[tenant]
	if s == nil {
		s = db.newStore(tenant)
		db.tenants[tenant] = s
	}
	return s
}

func (db *DB) newStore(tenant string) *Store {
	rs := &records{tenant: tenant, changes: db.changes, mu: &db.mu, threads: map[string]*thread{}, runs: map[string]*runRecord{}, decided: threads.Decided{}}
	if db.rollups != nil {
		db.rollups.follow(tenant, rs)
	}
	now := func() time.Time { return db.Now() }
	ds := &dispatches{
		records:   rs,
		lines:     db.lines,
		processes: db.processes,
		now:       now,
		byID:      map[string]*mailbox.Dispatch{},
		byKey:     map[string]*mailbox.Dispatch{},
		accepted:  map[messageKey]*mailbox.Dispatch{},
	}
	bs := &blobs{records: rs, now: now, byID: map[string]*file{}, held: map[string][]*file{}}
	words := &bodies{records: rs, byThread: map[string][]body.Stored{}}
	return &Store{
		reader: reader{rs}, committer: committer{rs}, editor: editor{records: rs, dispatches: ds, blobs: bs, bodies: words, now: now}, dispatches: ds, blobs: bs, bodies: words,
		budget: &budget{mu: &db.mu, balances: map[money.Account]*money.Balance{}, reserved: map[string]*money.Reservation{}},
	}
}

// Handle returns the store of a tenant.
func (db *DB) Handle(tenant string) mailbox.Handle { return db.Store(tenant) }

// Changes returns the log of changes, which begins when it is first read.
func (db *DB) Changes() changelog.Store { return db.changes }

// Claim claims available dispatches.
func (db *DB) Claim(_ context.Context, c mailbox.ClaimRequest) (ds []*mailbox.Dispatch, next time.Duration, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.Now().UnixMilli()
	if db.processes[c.Consumer] <= now {
		return nil, 0, fmt.Errorf("claim: process %s: %w: it is dead or not known", c.Consumer, awaken.ErrFenced)
	}
	for db.lines.later.Len() > 0 && db.lines.later.threads[0].changes <= now {
		db.lines.place(db.lines.later.threads[0], now)
	}
	for len(ds) < c.Limit {
		var t *thread
		if len(ds) < c.Suspects {
			t = db.lines.suspects.first(c.Except)
		}
		if t == nil {
			t = db.lines.ready.first(c.Except)
		}
		if t == nil {
			break
		}
		d := t.head
		d.Status, d.UpdatedAt = mailbox.Claimed, now
		d.ClaimToken, d.ClaimedBy, d.LeaseUntil = ids.New(), c.Consumer, now+c.Lease.Milliseconds()
		db.lines.claimed[d] = t
		db.lines.place(t, now)
		claimed := export(d)
		claimed.Checkpoint = t.own(d)
		ds = append(ds, claimed)
	}
	if db.lines.later.Len() > 0 {
		next = time.Duration(db.lines.later.threads[0].changes-now) * time.Millisecond
	}
	return ds, next, nil
}

// Suspects reports whether a suspect can be claimed.
func (db *DB) Suspects(context.Context) (bool, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.lines.suspects.Len() > 0, nil
}

// claimed returns the dispatch of a claim and its thread, or nil if the claim is void.
func (db *DB) claimed(h mailbox.Claim) (*mailbox.Dispatch, *thread) {
	s := db.tenants[h.Tenant]
	if s == nil {
		return nil, nil
	}
	d := s.dispatches.byID[h.ID]
	if d == nil || d.Status != mailbox.Claimed || d.ClaimToken != h.Token {
		return nil, nil
	}
	if h.Steps > d.Steps {
		d.Steps, d.Attempts, d.Crashes = h.Steps, 0, 0
	}
	return d, db.lines.claimed[d]
}

// Renew extends leases.
func (db *DB) Renew(_ context.Context, lease time.Duration, held ...mailbox.Claim) ([]mailbox.Renewal, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.Now().UnixMilli()
	out := make([]mailbox.Renewal, len(held))
	for i, h := range held {
		d, _ := db.claimed(h)
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
			out[i] = fmt.Errorf("settle dispatch %s: %w: status is %q, want %q or a terminal one", s.ID, awaken.ErrInvalid, s.Status, mailbox.Queued)
			continue
		}
		d, t := db.claimed(s.Claim)
		if d == nil {
			out[i] = fmt.Errorf("settle dispatch %s: %w", s.ID, awaken.ErrFenced)
			continue
		}
		if s.Failed {
			d.Attempts++
		}
		d.LostAt = 0
		settleError(d, &s, now)
		db.lines.release(t, d, s.Status, now+s.Delay.Milliseconds(), now)
	}
	db.lines.notify(mailbox.Signal{Ready: true})
	return out, nil
}

// Reclaim requeues dispatches whose process is dead or whose lease has expired.
func (db *DB) Reclaim(_ context.Context, limit int) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now, n := db.Now().UnixMilli(), 0
	for process, until := range db.processes {
		if until <= now {
			n += db.lines.bury(process, now, true)
			delete(db.processes, process)
		}
	}
	limit += n
	claims := db.lines.claims()
	for d, t := range db.lines.claimed {
		if n == limit {
			break
		}
		if d.LeaseUntil <= now {
			d.Lose(claims[d.ClaimedBy] == 1)
			d.LostAt = now
			d.Fail(now, "", true)
			db.lines.release(t, d, mailbox.Queued, now, now)
			n++
		}
	}
	if n > 0 {
		db.lines.notify(mailbox.Signal{Ready: true})
	}
	return n, nil
}

// Purge removes dispatches that were completed at least olderThan ago.
func (db *DB) Purge(_ context.Context, olderThan time.Duration) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	before, n := db.Now().Add(-olderThan).UnixMilli(), 0
	for _, s := range db.tenants {
		n += s.dispatches.purge(func(d *mailbox.Dispatch) bool { return d.CompletedAt <= before })
	}
	return n, nil
}

// Join makes a process known.
func (db *DB) Join(_ context.Context, process string, limit time.Duration) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.processes[process] = db.Now().Add(limit).UnixMilli()
	return nil
}

// Beat is a sign of life of a process.
func (db *DB) Beat(_ context.Context, process string, limit time.Duration) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.Now()
	if db.processes[process] <= now.UnixMilli() {
		return fmt.Errorf("process %s: %w: it was silent for too long", process, awaken.ErrFenced)
	}
	db.processes[process] = now.Add(limit).UnixMilli()
	return nil
}

// Leave releases what a process has claimed and forgets the process.
func (db *DB) Leave(_ context.Context, process string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.processes, process)
	if db.lines.bury(process, db.Now().UnixMilli(), false) > 0 {
		db.lines.notify(mailbox.Signal{Ready: true})
	}
	return nil
}

// Counts returns the number of dispatches by status.
func (db *DB) Counts(context.Context) (map[mailbox.Status]int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	out := map[mailbox.Status]int{}
	for _, s := range db.tenants {
		for _, d := range s.dispatches.byID {
			out[d.Status]++
		}
	}
	return out, nil
}

// DeadLettered returns how many dispatches have ever become dead letters.
func (db *DB) DeadLettered(context.Context) (int64, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.lines.dead, nil
}

// Listen calls fn when the queue changes, until ctx is done. Fn must not use the DB.
func (db *DB) Listen(ctx context.Context, fn func(s mailbox.Signal)) error {
	db.mu.Lock()
	db.lines.listened++
	id := db.lines.listened
	db.lines.listeners[id] = fn
	db.mu.Unlock()
	fn(mailbox.Signal{Ready: true, Cancelled: true})
	<-ctx.Done()
	db.mu.Lock()
	delete(db.lines.listeners, id)
	db.mu.Unlock()
	return context.Cause(ctx)
}

var (
	_ mailbox.Queue    = (*DB)(nil)
	_ mailbox.Listener = (*DB)(nil)
)
