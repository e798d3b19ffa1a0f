package sqlstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Lanes groups concurrent calls: calls that arrive while all lanes are in use wait, and the
// first in line makes the whole group. If more wait than fit in a group, owners take turns, so that
// a call waits only for one group in each lane, however many calls another owner makes.
type Lanes[T Call[T]] struct {
	// Max is the number of groups that may be in flight at the same time.
	Max int
	// Make makes the calls of a group and stores the outcome in each.
	Make func(ctx context.Context, calls []T)
	// Gather yields the processor after a group of several calls, so that their callers
	// can join the next one.
	Gather bool

	mu    sync.Mutex
	taken int // lanes in use
	queue []T
	crowd bool // the last group had several calls
}

// Call is a call that can be grouped. It embeds a [Turn].
type Call[T any] interface{ turn() *Turn[T] }

// Turn lets a waiting call continue.
type Turn[T any] struct {
	// Owner is the tenant that the call is for; "" means the store itself.
	Owner string

	// group receives the group that this call must make as its first member, or nil once
	// another call has made it.
	group chan []T
	alone [1]T // the group of a call that does not wait, without an allocation
}

func (t *Turn[T]) turn() *Turn[T] { return t }

// maxGroup is the maximum number of calls in a group.
const maxGroup = 64

// Do makes a call, alone or in a group, and returns when it is made. If the call is the
// first of its group, ctx is the context of the group.
func (l *Lanes[T]) Do(ctx context.Context, call T) {
	var members []T
	t := call.turn()
	l.mu.Lock()
	if l.taken < l.Max {
		l.taken++
		if l.Gather && l.crowd {
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
		}
		t.alone[0] = call
		members = l.next(t.alone[:])
		l.mu.Unlock()
	} else {
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

// next returns a group: first, and the calls that are next in line. Requires l.mu.
func (l *Lanes[T]) next(first []T) []T {
	n := min(len(l.queue), maxGroup)
	if n < len(l.queue) {
		l.takeTurns()
	}
	members := append(first, l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	l.crowd = len(members) > 1
	return members
}

// takeTurns moves the calls of the next group to the front of the queue: the first call of each owner,
// the second of each, and so on. Apart from that, the order stays. Requires l.mu.
func (l *Lanes[T]) takeTurns() {
	owned := map[string]int{}
	var sizes []int // number of owners with a first call, a second, and so on
	rounds := make([]int, len(l.queue))
	for i, call := range l.queue {
		owner := call.turn().Owner
		if rounds[i] = owned[owner]; rounds[i] == len(sizes) {
			sizes = append(sizes, 0)
		}
		sizes[rounds[i]]++
		owned[owner]++
	}
	if len(owned) == 1 {
		return
	}
	last, left := 0, maxGroup // the round in which the group is full, and what fits of it
	for left >= sizes[last] {
		left -= sizes[last]
		last++
	}
	front, back := make([]T, 0, len(l.queue)), make([]T, 0, len(l.queue)-maxGroup)
	for i, call := range l.queue {
		switch {
		case rounds[i] < last:
			front = append(front, call)
		case rounds[i] == last && left > 0:
			front = append(front, call)
			left--
		default:
			back = append(back, call)
		}
	}
	l.queue = append(front, back...)
}

// leave passes the lane on to the next group, or frees it.
func (l *Lanes[T]) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.taken--
		return
	}
	members := l.next(nil)
	members[0].turn().group <- members
}

// Waiting returns the number of waiting calls.
func (l *Lanes[T]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}
