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
// runs do not yield in time opens again, and tries later with more patience. Mailbox.mu guards it.
type isolation struct {
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

// isolate advances the phase. It reports whether the worker is to claim a suspect now and nothing
// else, and how soon to advance again: 0 if no time is known.
func (b *Mailbox) isolate(ctx context.Context) (suspect bool, again time.Duration) {
	now := time.Now()
	b.mu.Lock()
	is, busy := &b.isolation, b.busy()
	switch is.phase {
	case alone:
		c := is.suspect
		if over := b.inFlight[c.d.ID] != c; !over && !c.clear.Load() && now.Before(is.until) {
			b.mu.Unlock()
			return false, is.until.Sub(now)
		}
		if is.more && now.Sub(is.began) < turnTime {
			is.phase, is.closed, is.suspect = closed, now, nil
			is.patience = max(is.patience, b.cfg.Liveness)
			b.mu.Unlock()
			return b.isolate(ctx)
		}
		b.reopen(now)
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
			waits := b.suspectsWait(ctx)
			b.mu.Lock()
			if is.next = now.Add(b.cfg.Liveness); !waits {
				break
			}
		}
		is.phase, is.began, is.closed = closed, now, now
		is.patience = max(is.patience, b.cfg.Liveness)
		b.mu.Unlock()
		return b.isolate(ctx)
	}
	b.mu.Unlock()
	return false, 0
}

// reopen ends a turn. Requires b.mu.
func (b *Mailbox) reopen(now time.Time) {
	is := &b.isolation
	is.phase, is.suspect, is.patience = open, nil, 0
	is.next = now.Add(max(b.cfg.Liveness, now.Sub(is.began)))
}

// isolated notes what the claim of a suspect has claimed: the claim of d, which has begun, or nil
// if no suspect was waiting.
func (b *Mailbox) isolated(ctx context.Context, d *Dispatch) {
	more := d != nil && b.suspectsWait(ctx)
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	is := &b.isolation
	if is.more = more; d == nil {
		b.reopen(now)
		return
	}
	c := b.inFlight[d.ID]
	if c == nil { // it is over
		c = &claim{d: d}
	}
	is.phase, is.suspect, is.until = alone, c, now.Add(d.timeAlone())
}

// yieldsSoon reports whether a suspect that has completed a step is to make room for the next one.
func (b *Mailbox) yieldsSoon() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	is := &b.isolation
	return is.phase == alone && is.more && time.Since(is.began) < turnTime
}

// expectSuspects lets the worker look for suspects at once.
func (b *Mailbox) expectSuspects() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isolation.phase == open && b.isolation.patience == 0 && !b.isolation.next.After(time.Now().Add(b.cfg.Liveness)) {
		b.isolation.next = time.Time{}
	}
}

// idle reports whether a worker that has claimed n dispatches may look for suspects at once: nothing
// else waits for it, so that it need not stay open.
func (b *Mailbox) idle(n int) (more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	is := &b.isolation
	if more = n == 0 && is.phase == open && is.more && !b.busy(); more {
		is.next, is.more = time.Time{}, false
	}
	return more
}

// busy reports whether anything is in flight, or about to be. Requires b.mu.
func (b *Mailbox) busy() bool {
	return len(b.inFlight) > 0 || b.crew != nil && len(b.crew.reserved) > 0
}

// suspectsWait reports whether a suspect can be claimed.
func (b *Mailbox) suspectsWait(ctx context.Context) bool {
	start := time.Now()
	waits, err := b.cfg.Queue.Suspects(ctx)
	b.cfg.Observer.Operated("suspects", time.Since(start), err)
	if err != nil && ctx.Err() == nil {
		b.cfg.Logger.Warn("cannot look for suspects", "error", err)
	}
	return waits && err == nil
}
