package postgres

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// lanes let calls that come at the same time travel together: those that arrive while
// all lanes are taken wait, and whoever is first in line takes them all along. If they
// fail together, each is made by itself.
type lanes[T any] struct {
	max  int // lanes
	make func(ctx context.Context, calls []T) error

	mu    sync.Mutex
	taken int
	queue []*call[T]
	crowd bool // the last group had several members
}

// call is one call that waits.
type call[T any] struct {
	arg T
	err error
	// told gets the group that this one is to make, being its first member; or
	// nothing, once another has made it.
	told chan []*call[T]
}

// do makes a call. Once others may travel with it, it does not heed ctx.
func (l *lanes[T]) do(ctx context.Context, arg T) error {
	c := &call[T]{arg: arg, told: make(chan []*call[T], 1)}
	l.mu.Lock()
	free, crowd := l.taken < l.max, l.crowd
	if free {
		l.taken++
	} else {
		l.queue = append(l.queue, c)
	}
	l.mu.Unlock()
	var members []*call[T]
	if free {
		if crowd {
			runtime.Gosched() // those who came along the last time are about to come back
		}
		l.mu.Lock()
		members = l.group(c)
		l.mu.Unlock()
	} else if members = <-c.told; members == nil {
		return c.err
	}
	if len(members) > 1 {
		ctx = context.WithoutCancel(ctx)
	}
	args := make([]T, len(members))
	for i, m := range members {
		args[i] = m.arg
	}
	if err := l.make(ctx, args); err != nil {
		for i, m := range members {
			if m.err = err; len(members) > 1 {
				m.err = l.make(ctx, args[i:i+1])
			}
		}
	}
	l.next()
	for _, other := range members[1:] {
		other.told <- nil
	}
	return c.err
}

// group returns first, and those who are next in line. Requires l.mu.
func (l *lanes[T]) group(first ...*call[T]) []*call[T] {
	n := min(len(l.queue), maxGroup)
	members := append(first, l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	l.crowd = len(members) > 1
	return members
}

// next leaves a lane to those who wait, if any.
func (l *lanes[T]) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.taken--
		return
	}
	members := l.group()
	members[0].told <- members
}
