// Package due runs the workers of stored rows that become due: schedules, webhook endpoints and deliveries, judgements,
// evaluations.
//
// Such a row has a revision and a time. A worker reads rows whose time has come, and takes one by storing it, with the revision that
// it read, for the time when its lease ends. Another worker that has read the same row finds another revision, and leaves it. If the
// worker dies, the row is due again when the lease ends; if serving it fails, the worker stores it for a later time.
package due

import (
	"context"
	"math/rand/v2"
	"time"
)

// Loop looks for rows that are due.
type Loop struct {
	poll time.Duration
	wake chan struct{} // cap 1
}

// NewLoop returns a loop that looks at least every poll.
func NewLoop(poll time.Duration) *Loop { return &Loop{poll, make(chan struct{}, 1)} }

// Wake makes the loop look at once: a row may be due, or there is room for more.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Work calls look until ctx is done: at once, after every Wake, at once again if look reports that more rows may be due, and
// otherwise after a pause.
func (l *Loop) Work(ctx context.Context, look func(ctx context.Context) (more bool)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-l.wake:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
		pause := l.poll
		if look(ctx) {
			pause = 0
		}
		timer.Reset(pause)
	}
}

// Clock is the clock of a store, as far as this process knows it: rows are due by that clock, which all processes share.
type Clock struct{ then, began time.Time }

// ClockAt returns the clock of a store that has just said what time it is.
func ClockAt(now time.Time) Clock { return Clock{now, time.Now()} }

// Now returns the time in whole milliseconds, as stores keep it.
func (c Clock) Now() time.Time {
	return c.then.Add(time.Since(c.began)).UTC().Truncate(time.Millisecond)
}

// Chore is work that a loop does now and then. The zero Chore is due at once.
type Chore struct{ last time.Time }

// Due reports whether the last time that it reported true was at least that long ago.
func (c *Chore) Due(every time.Duration) bool {
	if now := time.Now(); now.Sub(c.last) >= every {
		c.last = now
		return true
	}
	return false
}

// Backoff returns how long to wait after failures in a row: first after one, twice as long after each further one, and never longer
// than longest.
func Backoff(first, longest time.Duration, failures int) time.Duration {
	for n := 1; n < failures && first < longest; n++ {
		first *= 2
	}
	return min(first, longest)
}

// Spread shortens a wait by up to a fifth, so that what failed at the same time is not tried again at the same time.
func Spread(wait time.Duration) time.Duration { return wait - rand.N(wait/5+1) }
