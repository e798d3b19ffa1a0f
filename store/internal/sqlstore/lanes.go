package sqlstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Lanes let calls that come at the same time travel together: those that arrive while
// all lanes are taken wait, and the first in line takes the others along.
type Lanes[T Call[T]] struct {
	// Max is how many groups may be on their way at the same time.
	Max int
	// Make makes the calls of a group. Each remembers how it went.
	Make func(ctx context.Context, calls []T)
	// Gather waits, after a group of several, for those who came along to come back.
	Gather bool

	mu    sync.Mutex
	taken int // lanes
	queue []T
	crowd bool // the last group had several members
}

// Call is a call that travels; it embeds a [Turn].
type Call[T any] interface{ turn() *Turn[T] }

// Turn is how a call that waits learns that it is its turn.
type Turn[T any] struct {
	// group gets the group that this call is to make, being its first member; or nothing,
	// once another has made it.
	group chan []T
}

func (t *Turn[T]) turn() *Turn[T] { return t }

// maxGroup is how many calls travel together at most.
const maxGroup = 64

// Do has a call made. If it is the first of its group, the group is made with ctx.
func (l *Lanes[T]) Do(ctx context.Context, call T) {
	var members []T
	l.mu.Lock()
	if l.taken < l.Max {
		l.taken++
		if l.Gather && l.crowd {
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
		}
		members = l.next(call)
		l.mu.Unlock()
	} else {
		t := call.turn()
		t.group = make(chan []T, 1)
		l.queue = append(l.queue, call)
		l.mu.Unlock()
		if members = <-t.group; members == nil {
			return
		}
	}
	l.Make(ctx, members)
	l.leave()
	for _, other := range members[1:] {
		other.turn().group <- nil
	}
}

// next returns first, and those who are next in line. Requires l.mu.
func (l *Lanes[T]) next(first ...T) []T {
	n := min(len(l.queue), maxGroup)
	members := append(first, l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	l.crowd = len(members) > 1
	return members
}

// leave leaves a lane to those who wait, if any.
func (l *Lanes[T]) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.taken--
		return
	}
	members := l.next()
	members[0].turn().group <- members
}

// Waiting is how many calls wait for their turn.
func (l *Lanes[T]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}
