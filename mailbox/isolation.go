package mailbox

import (
	"context"
	"time"
)

// isolation is how a worker runs suspects: alone, so that the death of its process tells which run
// was the cause. A worker is in one of three phases:
//
//   - open: it begins anything but suspects;
//   - closed: suspects wait. It begins nothing else, its runs yield after their step, and once
//     nothing is in flight it claims a suspect;
//   - alone: a suspect is the only run in flight, until it has completed a step, is settled, or
//     was alone for as long as [Dispatch.timeAlone] allows.
//
// Others must not wait for long: a turn, from closing to opening, begins no new suspect after
// turnTime, and the worker then stays open for at least as long as the turn took. A worker whose
// runs do not yield in time opens again, and tries later with more patience. Mailbox.mu guards all but box.
type isolation struct {
	box      *Mailbox // the worker
	phase    phase
	began    time.Time     // the turn
	closed   time.Time     // when the phase closed began
	suspect  *claim        // the run in flight, in the phase alone
	until    time.Time     // when it need not be alone any more
	more     bool          // other suspects waited when the last one was claimed
	next     time.Time     // when the next turn may begin
	patience time.Duration // how long to wait for the runs in flight
}

type phase int

const (
	open phase = iota
	closed
	alone
)

const (
	turnTime   = 20 * time.Second
	shortAlone = 30 * time.Second
	longAlone  = time.Hour
	yieldEvery = 50 * time.Millisecond
)

// timeAlone is how long a suspect runs alone: longer after each death, so that a run that kills its
// process late is found as well.
func (d *Dispatch) timeAlone() time.Duration {
	t := shortAlone
	for n := SuspectCrashes; n < d.Crashes && t < longAlone; n++ {
		t *= 2
	}
	return min(t, longAlone)
}

// advance advances the phase. It reports whether the worker is to claim a suspect now and nothing
// else, and how soon to advance again: 0 if no time is known.
func (is *isolation) advance(ctx context.Context) (suspect bool, again time.Duration) {
	b, now := is.box, time.Now()
	b.mu.Lock()
	busy := b.busy()
	switch is.phase {
	case alone:
		c := is.suspect
		if over := b.inFlight[c.d.ID] != c; !over && !c.clear.Load() && now.Before(is.until) {
			b.mu.Unlock()
			return false, is.until.Sub(now)
		}
		if is.more && now.Sub(is.began) < turnTime {
			is.close(now)
			b.mu.Unlock()
			return is.advance(ctx)
		}
		is.reopen(now)
	case closed:
		if !busy {
			b.mu.Unlock()
			return true, 0
		}
		if now.Sub(is.closed) >= is.patience {
			is.next = now.Add(4 * is.patience)
			is.phase, is.patience = open, 2*is.patience
			break
		}
		b.mu.Unlock()
		for _, c := range b.claims() {
			c.tenant.Runtime.Yield(c.d.ThreadID) // repeated, because the run may be just starting
		}
		return false, yieldEvery
	case open:
		if now.Before(is.next) {
			break
		}
		if busy {
			b.mu.Unlock()
			waits := is.suspectsWait(ctx)
			b.mu.Lock()
			if is.next = now.Add(b.cfg.Liveness); !waits {
				break
			}
		}
		is.began = now
		is.close(now)
		b.mu.Unlock()
		return is.advance(ctx)
	}
	b.mu.Unlock()
	return false, 0
}

// close begins the phase closed. Requires box.mu.
func (is *isolation) close(now time.Time) {
	is.phase, is.closed, is.suspect = closed, now, nil
	is.patience = max(is.patience, is.box.cfg.Liveness)
}

// reopen ends a turn. Requires box.mu.
func (is *isolation) reopen(now time.Time) {
	is.phase, is.suspect, is.patience = open, nil, 0
	is.next = now.Add(max(is.box.cfg.Liveness, now.Sub(is.began)))
}

// claimed notes what the claim of a suspect has claimed: d, which has begun, or nil if no suspect was
// waiting. Lasts is how long it runs alone.
func (is *isolation) claimed(ctx context.Context, d *Dispatch, lasts time.Duration) {
	more := d != nil && is.suspectsWait(ctx)
	now := time.Now()
	is.box.mu.Lock()
	defer is.box.mu.Unlock()
	if is.more = more; d == nil {
		is.reopen(now)
		return
	}
	c := is.box.inFlight[d.ID]
	if c == nil { // it is over
		c = &claim{d: d}
	}
	is.phase, is.suspect, is.until = alone, c, now.Add(lasts)
}

// yieldsSoon reports whether a suspect that has completed a step is to make room for the next one.
func (is *isolation) yieldsSoon() bool {
	is.box.mu.Lock()
	defer is.box.mu.Unlock()
	return is.phase == alone && is.more && time.Since(is.began) < turnTime
}

// expect lets the worker look for suspects at once.
func (is *isolation) expect() {
	is.box.mu.Lock()
	defer is.box.mu.Unlock()
	if is.phase == open && is.patience == 0 && !is.next.After(time.Now().Add(is.box.cfg.Liveness)) {
		is.next = time.Time{}
	}
}

// idle reports whether a worker that has claimed n dispatches may look for suspects at once: nothing
// else waits for it, so that it need not stay open.
func (is *isolation) idle(n int) (more bool) {
	is.box.mu.Lock()
	defer is.box.mu.Unlock()
	if more = n == 0 && is.phase == open && is.more && !is.box.busy(); more {
		is.next, is.more = time.Time{}, false
	}
	return more
}

// suspectsWait reports whether a suspect can be claimed.
func (is *isolation) suspectsWait(ctx context.Context) bool {
	cfg, start := &is.box.cfg, time.Now()
	waits, err := cfg.Queue.Suspects(ctx)
	cfg.Observer.Operated("suspects", time.Since(start), err)
	if err != nil && ctx.Err() == nil {
		cfg.Logger.Warn("cannot look for suspects", "error", err)
	}
	return waits && err == nil
}
