package sqlstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Lanes groups concurrent calls: calls that arrive while all lanes are in use wait, and the
// first in line makes a group of all that wait when its turn comes. If more wait than fit in a group, owners take turns, so that
// a call waits only for one group in each lane, however many calls another owner makes.
type Lanes[T Call[T]] struct {
	// Max is the number of groups that may be in flight at the same time.
	Max int
	// Make makes the calls of a group and stores the outcome in each.
	Make func(ctx context.Context, calls []T)
	// Gather lets callers that are about to call join a group that follows one of several calls.
	Gather bool
	// Patience is how long calls wait for a group in flight before another lane is opened: the cost of a group hardly depends on its size, so
	// more lanes make smaller groups, but calls must not wait for a group that is held up. 0 opens a lane for every call while there is one.
	Patience time.Duration

	mu      sync.Mutex
	taken   int // lanes in use
	queue   []T
	crowd   bool   // the last group had several calls
	groups  uint64 // that were begun
	watched bool   // a timer looks whether groups are held up
}

// Call is a call that can be grouped. It embeds a [Turn].
type Call[T any] interface{ turn() *Turn[T] }

// Turn lets a waiting call continue.
type Turn[T any] struct {
	// Owner is the tenant that the call is for; "" means the store itself.
	Owner string

	told  chan turn
	alone [1]T // the group of a call that does not wait, without an allocation
}

func (t *Turn[T]) turn() *Turn[T] { return t }

// turn is what a waiting call has to do.
type turn int8

const (
	made  turn = iota // return, since another call has made the group
	lead              // make a group as its first member
	broke             // panic, since the call that made the group has
)

// maxGroup is the maximum number of calls in a group.
const maxGroup = 64

// gatherings bounds how often a group that is about to be made lets callers join.
const gatherings = 8

// Do makes a call, alone or in a group, and returns when it is made. If the call is the
// first of its group, ctx is the context of the group.
func (l *Lanes[T]) Do(ctx context.Context, call T) {
	t := call.turn()
	l.mu.Lock()
	if l.taken == 0 || l.taken < l.Max && l.Patience == 0 {
		l.taken++
	} else if !l.wait(call) {
		return
	}
	l.gather()
	t.alone[0] = call
	members := l.next(t.alone[:])
	l.mu.Unlock()
	outcome := broke
	defer func() {
		l.leave()
		for _, other := range members[1:] {
			other.turn().told <- outcome
		}
	}()
	l.Make(ctx, members)
	outcome = made
}

// wait queues a call and reports whether it has to make a group; otherwise it was made. Requires l.mu, and holds it if the call leads.
func (l *Lanes[T]) wait(call T) bool {
	t := call.turn()
	t.told = make(chan turn, 1)
	if l.queue = append(l.queue, call); len(l.queue) == 1 {
		l.watch()
	}
	l.mu.Unlock()
	switch <-t.told {
	case made:
		return false
	case broke:
		panic("sqlstore: the call that made the group panicked")
	}
	l.mu.Lock()
	return true
}

// watch opens another lane if calls still wait for the same groups after a while. Requires l.mu.
func (l *Lanes[T]) watch() {
	if l.taken == l.Max || l.watched {
		return
	}
	l.watched = true
	seen := l.groups
	time.AfterFunc(l.Patience, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.watched = false
		switch {
		case len(l.queue) == 0:
		case l.groups != seen:
			l.watch() // no group is held up, so far
		case l.taken < l.Max:
			l.taken++
			l.pass()
		}
	})
}

// gather lets callers join the next group, for as long as some do. Requires l.mu.
func (l *Lanes[T]) gather() {
	if !l.Gather || !l.crowd {
		return
	}
	for range gatherings {
		n := len(l.queue)
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
		if n == len(l.queue) || n >= maxGroup {
			return
		}
	}
}

// next returns a group: first, and the calls that are next in line. Requires l.mu.
func (l *Lanes[T]) next(first []T) []T {
	l.groups++
	n := min(len(l.queue), maxGroup-1)
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
	last, left := 0, maxGroup-1 // the round in which the group is full, and what fits of it
	for left >= sizes[last] {
		left -= sizes[last]
		last++
	}
	front, back := make([]T, 0, len(l.queue)), make([]T, 0, len(l.queue)-maxGroup+1)
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
	l.pass()
}

// pass lets the first call in line make a group. Requires l.mu.
func (l *Lanes[T]) pass() {
	first := l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	first.turn().told <- lead
}

// Waiting returns the number of waiting calls.
func (l *Lanes[T]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}
