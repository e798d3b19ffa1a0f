package changelog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"time"
)

// FeedConfig configures a [Feed]. Only Store is required.
type FeedConfig struct {
	Store Store
	// Poll is how often the feed reads the log while it has readers; default 100 ms.
	Poll time.Duration
	// Keep is the number of changes cached per tenant with readers; default 4,096.
	Keep int
	// Encode, if set, is called once for each cached change. Its result is [Item.Data].
	Encode func(c *Change) []byte
	Logger *slog.Logger // nil discards
}

// Feed reads a log once for all readers of its process. It is safe for concurrent use, and runs a goroutine while it has readers.
type Feed struct {
	cfg FeedConfig

	mu    sync.Mutex
	tails map[string]*tail // by tenant; those that have readers
	// stop tells the goroutine to end, and returns what is closed when it has; nil if there is none.
	stop func() <-chan struct{}
}

// NewFeed returns a feed without readers.
func NewFeed(cfg FeedConfig) *Feed {
	cfg.Poll, cfg.Keep = cmp.Or(cfg.Poll, 100*time.Millisecond), cmp.Or(cfg.Keep, 4096)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Encode == nil {
		cfg.Encode = func(*Change) []byte { return nil }
	}
	return &Feed{cfg: cfg, tails: map[string]*tail{}}
}

// Item is a change with its encoding. Readers share items and must not modify them.
type Item struct {
	Change
	Data []byte
}

// position returns the position behind the change.
func (it *Item) position() Position { return Position{it.Pos, it.At} }

// tail is the end of a tenant's log, in memory.
type tail struct {
	tenant  string
	readers int           // guarded by Feed.mu
	filling chan struct{} // holds a token for the reader that reads the store: one at a time

	mu      sync.Mutex
	items   []*Item // all changes behind from, up to upto; what is in the slice is never overwritten
	from    int64
	upto    Position
	changed chan struct{} // closed when upto grows, or err is set
	err     error         // the log does not continue behind upto; readers that are there get it
}

// Now makes [Feed.Follow] begin at the end of the log.
var Now = Position{Pos: -1}

// Follow returns a reader of a tenant's changes after a position. The caller closes it. The error is [ErrGone] if the log does not have the
// position. A reader that falls behind the trimming of the log gets ErrGone from Next.
func (f *Feed) Follow(ctx context.Context, tenant string, after Position) (*Reader, error) {
	t := f.join(tenant, nil)
	if t == nil { // the first reader of the tenant; the others need no position from the store
		end, err := f.end(ctx, tenant)
		if err != nil {
			return nil, err
		}
		t = f.join(tenant, &end)
	}
	r := &Reader{feed: f, tail: t, at: after, begun: after}
	t.mu.Lock()
	from, upto, known := t.from, t.upto, t.has(after)
	t.mu.Unlock()
	var err error
	switch {
	case after == Now:
		r.at = upto
	case after.Pos < from:
		r.early, err = r.catchUp(ctx)
	case !known: // another process has read further, or the position belongs to another log
		_, err = f.cfg.Store.Changes(ctx, Query{Tenant: tenant, After: after.Pos, Check: after.Check, Upto: after.Pos, Limit: 1})
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// end returns the end of the log.
func (f *Feed) end(ctx context.Context, tenant string) (Position, error) {
	pos, err := f.cfg.Store.Horizon(ctx)
	if err != nil || pos == 0 { // a page up to 0 would end at a horizon of its own, which may be another one by now
		return Position{}, err
	}
	page, err := f.cfg.Store.Changes(ctx, Query{Tenant: tenant, After: pos, Upto: pos, Limit: 1})
	if err != nil {
		return Position{}, err
	}
	return Position{pos, page.Check}, nil
}

// has reports whether a position, which is not before t.from, is known to be one of this log. It requires t.mu.
func (t *tail) has(p Position) bool {
	i := sort.Search(len(t.items), func(i int) bool { return t.items[i].Pos >= p.Pos })
	return p == t.upto || p.Check == 0 && p.Pos <= t.upto.Pos || i < len(t.items) && p == t.items[i].position()
}

// join counts a reader of a tenant. A tail that is new begins at end; if that is nil, join returns nil in place of a new one.
func (f *Feed) join(tenant string, end *Position) *tail {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tails[tenant]
	if t == nil && end == nil {
		return nil
	}
	if t == nil {
		t = &tail{tenant: tenant, filling: make(chan struct{}, 1), from: end.Pos, upto: *end, changed: make(chan struct{})}
		f.tails[tenant] = t
	}
	t.readers++
	if f.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		f.stop = func() <-chan struct{} { cancel(); return done }
		go func() { defer close(done); f.run(ctx) }()
	}
	return t
}

// leave ends what join began.
func (f *Feed) leave(t *tail) {
	f.mu.Lock()
	if t.readers--; t.readers == 0 && f.tails[t.tenant] == t {
		delete(f.tails, t.tenant)
	}
	var ended <-chan struct{}
	if len(f.tails) == 0 && f.stop != nil {
		ended, f.stop = f.stop(), nil
	}
	f.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// abandon ends the readers of a tail with an error. Later readers of the tenant get another tail.
func (f *Feed) abandon(t *tail, err error) {
	f.mu.Lock()
	if f.tails[t.tenant] == t {
		delete(f.tails, t.tenant)
	}
	f.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	close(t.changed)
}

// run reads the log until ctx is done.
func (f *Feed) run(ctx context.Context) {
	timer := time.NewTimer(f.cfg.Poll)
	defer timer.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := f.advance(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			f.cfg.Logger.Warn("cannot read the log of changes; retrying", "error", err)
		}
		failed = err != nil
		timer.Reset(f.cfg.Poll)
	}
}

// advance reads what is new.
func (f *Feed) advance(ctx context.Context) error {
	tails := f.followed(ctx) // before the horizon, which is therefore behind none of them
	end, err := f.cfg.Store.Horizon(ctx)
	if err != nil {
		return err
	}
	for _, t := range tails {
		switch err := f.extend(ctx, t, end); {
		case errors.Is(err, ErrGone):
			f.cfg.Logger.Warn("the log of changes no longer has the position of its readers; they must start over", "tenant", t.tenant, "error", err)
			f.abandon(t, err)
		case err != nil:
			return err
		}
	}
	return nil
}

// followed returns the tails, or none if ctx is done: then they are those of the goroutine that has taken over.
func (f *Feed) followed(ctx context.Context) (out []*tail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	for _, t := range f.tails {
		out = append(out, t)
	}
	return out
}

// extend reads the changes of a tenant up to end. Only run calls it, so it alone changes t.upto.
func (f *Feed) extend(ctx context.Context, t *tail, end int64) error {
	if end < t.upto.Pos {
		return fmt.Errorf("position %d: %w, which ends at %d", t.upto.Pos, ErrGone, end)
	}
	for t.upto.Pos < end {
		page, err := f.cfg.Store.Changes(ctx, Query{Tenant: t.tenant, After: t.upto.Pos, Check: t.upto.Check, Upto: end})
		if err != nil {
			return err
		}
		items := f.items(page.Changes)
		t.mu.Lock()
		t.items = append(t.items, items...)
		if n := len(t.items) - f.cfg.Keep; n > 0 {
			t.from = t.items[n-1].Pos
			t.items = slices.Clone(t.items[n:])
		}
		t.upto = Position{page.Upto, page.Check}
		close(t.changed)
		t.changed = make(chan struct{})
		t.mu.Unlock()
	}
	return nil
}

func (f *Feed) items(cs []Change) []*Item {
	out := make([]*Item, len(cs))
	for i := range cs {
		out[i] = &Item{cs[i], f.cfg.Encode(&cs[i])}
	}
	return out
}

// batchSize is how many changes a reader gets at a time.
const batchSize = 256

// look returns what follows a position, if it is in memory, and where it ends. Behind is set if it is not in memory any more. Otherwise
// wait is closed when there is more. The error is that of a log that does not continue.
func (t *tail) look(pos Position) (items []*Item, upto Position, behind bool, wait <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if pos.Pos < t.from {
		return nil, pos, true, nil, nil
	}
	if pos.Pos >= t.upto.Pos {
		return nil, pos, false, t.changed, t.err
	}
	at := sort.Search(len(t.items), func(i int) bool { return t.items[i].Pos > pos.Pos })
	items, upto = t.items[at:], t.upto
	if len(items) > batchSize {
		items = items[:batchSize]
		upto = items[batchSize-1].position()
	}
	return items, upto, false, nil, nil
}

// Reader reads the changes of a tenant. It is not safe for concurrent use.
type Reader struct {
	feed   *Feed
	tail   *tail
	at     Position
	early  []*Item  // that Follow has read
	begun  Position // where the reader is as long as there are such
	closed bool
}

// Position returns the position up to which the reader has read.
func (r *Reader) Position() Position {
	if len(r.early) > 0 {
		return r.begun
	}
	return r.at
}

// Next waits for changes, advances Position and returns them. It may return no changes if only other tenants had some.
func (r *Reader) Next(ctx context.Context) ([]*Item, error) {
	if items := r.early; len(items) > 0 {
		r.early = nil
		return items, nil
	}
	for {
		items, upto, behind, wait, err := r.tail.look(r.at)
		switch {
		case err != nil:
			return nil, err
		case behind:
			items, err := r.catchUp(ctx)
			if err != nil || len(items) > 0 {
				return items, err
			}
		case wait == nil:
			r.at = upto
			return items, nil
		default:
			select {
			case <-wait:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
}

// catchUp reads what is not in memory from the store. If it fits into memory it stays there, for the other readers that come back at the same
// time, and the caller looks again; otherwise catchUp returns the next part.
func (r *Reader) catchUp(ctx context.Context) ([]*Item, error) {
	t, f := r.tail, r.feed
	select {
	case t.filling <- struct{}{}:
		defer func() { <-t.filling }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	from, room := t.from, f.cfg.Keep-len(t.items)
	t.mu.Unlock()
	if r.at.Pos >= from { // another reader has read it meanwhile
		return nil, nil
	}
	limit := batchSize
	if from-r.at.Pos <= int64(room) { // it fits, whatever part of it is of this tenant
		limit = room
	}
	page, err := f.cfg.Store.Changes(ctx, Query{Tenant: t.tenant, After: r.at.Pos, Check: r.at.Check, Upto: from, Limit: limit})
	if err != nil {
		return nil, err
	}
	items := f.items(page.Changes)
	t.mu.Lock()
	defer t.mu.Unlock()
	if page.Upto == t.from && len(items)+len(t.items) <= f.cfg.Keep {
		t.items, t.from = slices.Concat(items, t.items), r.at.Pos
		return nil, nil
	}
	r.at = Position{page.Upto, page.Check}
	if len(items) > batchSize {
		items = items[:batchSize]
		r.at = items[batchSize-1].position()
	}
	return items, nil
}

// Close ends the reader.
func (r *Reader) Close() {
	if !r.closed {
		r.closed = true
		r.feed.leave(r.tail)
	}
}
