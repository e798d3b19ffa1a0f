package server

import (
	"context"
	"slices"
	"sync"
)

// turns lets requests do something a few at a time. Tenants, and keys without one,
// take turns: however many requests one of them sends, another's is next. It is safe for
// concurrent use.
type turns struct {
	serving context.Context // until the server stops

	mu      sync.Mutex
	free    int
	waiting map[string][]chan struct{} // those of a tenant in the order in which they came
	order   []string                   // tenants that wait, the next one first
}

func newTurns(serving context.Context, n int) *turns {
	return &turns{serving: serving, free: n, waiting: map[string][]chan struct{}{}}
}

// take waits for the caller's turn, which the caller gives back.
func (t *turns) take(ctx context.Context, by Caller) error {
	who := "tenant " + by.TenantName()
	if by.TenantName() == "" {
		who = "key " + by.KeyID()
	}
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	if len(t.waiting[who]) == 0 {
		t.order = append(t.order, who)
	}
	t.waiting[who] = append(t.waiting[who], mine)
	t.mu.Unlock()
	err := error(ErrStopping)
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-t.serving.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting[who], mine)
	if i >= 0 {
		t.drop(who, i)
	}
	t.mu.Unlock()
	if i < 0 { // it came at the same moment
		t.give()
	}
	return err
}

// give passes a turn on.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	who := t.order[0]
	close(t.waiting[who][0])
	t.order = append(t.order[1:], who)
	t.drop(who, 0)
}

// heavy does work for a request in a turn of its own. Meanwhile the request keeps no turn from others.
func (req *Request) heavy(t *turns, work func() error) error {
	from := req.turn
	if from != nil {
		from.give()
		req.turn = nil
	}
	if err := t.take(req.ctx, req.Caller); err != nil {
		return err
	}
	err := func() error {
		defer t.give()
		return work()
	}()
	if err != nil || from == nil {
		return err
	}
	if err := from.take(req.ctx, req.Caller); err != nil {
		return err
	}
	req.turn = from
	return nil
}

// drop removes one that waits. Requires t.mu.
func (t *turns) drop(who string, i int) {
	if t.waiting[who] = slices.Delete(t.waiting[who], i, i+1); len(t.waiting[who]) == 0 {
		delete(t.waiting, who)
		t.order = slices.DeleteFunc(t.order, func(s string) bool { return s == who })
	}
}
