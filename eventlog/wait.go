package eventlog

import (
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
)

// waiter is how a reader waits. Waiting sets no timer if one that is set rings early enough: most waits
// end with an entry, long before any time is up.
type waiter struct {
	wake   chan struct{} // has a value when the reader should look again, or its context is done
	listed bool          // in live.waiting; guarded by live.mu
	polls  bool          // polls the store for all readers; guarded by live.mu
	seen   uint64        // seq of the cursor when the reader last found nothing in memory; guarded by live.mu
	late   bool          // another reader is ahead: read the store; guarded by live.mu
	since  time.Time     // begin of the wait, however often it pauses; zero after an entry or a read

	collect    bool // the reader has just had entries, and Follow.Collect is set
	collecting bool // deltas do not wake the reader; guarded by live.mu
	collected  *time.Timer

	poll, pause time.Time // when it is time to read the store, and to yield; zero if never

	alarm *time.Timer // signals the reader, and sets rang
	rings time.Time   // when, or zero
	rang  atomic.Bool
}

// signal makes the reader look again.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// enlist makes the reader wait for the next entry. Requires t.live.mu.
func (t *tail) enlist() {
	t.collecting, t.seen = t.collect, t.at.Seq
	if t.listed {
		return
	}
	select {
	case <-t.wake: // for what it has seen by now
	default:
	}
	t.listed = true
	t.live.waiting = append(t.live.waiting, t)
}

// stopWaiting ends the waiting of a reader that leaves. Another one polls the store from now on.
func (t *tail) stopWaiting() {
	v := t.live
	v.mu.Lock()
	defer v.mu.Unlock()
	if t.alarm != nil {
		t.alarm.Stop()
	}
	for i := 0; t.listed; i++ {
		if v.waiting[i] == t {
			last := len(v.waiting) - 1
			v.waiting[i], v.waiting[last] = v.waiting[last], nil
			v.waiting, t.listed = v.waiting[:last], false
		}
	}
	if t.polls {
		v.polling = len(v.waiting) > 0
	}
	if t.polls && v.polling {
		v.waiting[0].polls = true
		v.waiting[0].signal() // to set its alarm
	}
}

// wakeLate makes readers that have read less than this one, which found nothing more, read the store.
// Requires t.live.mu.
func (t *tail) wakeLate() {
	for _, other := range t.live.waiting {
		if other.seen < t.at.Seq {
			other.late = true
			other.signal()
		}
	}
}

// passPolling leaves polling to another reader: this one may be slow to consume what it has. Readers that
// collect take it over when they have. Requires t.live.mu.
func (t *tail) passPolling() {
	v := t.live
	if !t.polls {
		return
	}
	t.polls, v.polling = false, false
	for _, other := range v.waiting {
		if other != t && !other.collecting {
			other.polls, v.polling = true, true
			other.signal() // to set its alarm
			return
		}
	}
}

// waitForMore returns when there may be something new. One of the readers polls the store for all, to
// find what other processes have committed.
func (t *tail) waitForMore() error {
	t.emptyBatch() // not needed while waiting
	if t.collect {
		return t.waitCollecting()
	}
	t.plan()
	for {
		t.setAlarm(t.poll)
		t.setAlarm(t.pause)
		if !t.rang.Load() {
			if err := t.sleep(); err != nil {
				return err
			}
		}
		if !t.rang.Swap(false) {
			return nil
		}
		t.rings = time.Time{}
		if past(t.poll) {
			t.ask = true
			return nil
		}
		if past(t.pause) || t.woken() {
			return nil
		}
	}
}

// past reports whether it is later than at, unless at is zero.
func past(at time.Time) bool { return !at.IsZero() && !time.Now().Before(at) }

// plan sets until when a wait takes that begins now.
func (t *tail) plan() {
	v, now := t.live, time.Now()
	t.poll, t.pause = time.Time{}, time.Time{}
	v.mu.Lock()
	if !t.polls && !v.polling {
		t.polls, v.polling = true, true
	}
	if t.since.IsZero() {
		t.since = now
	}
	switch {
	case t.behind: // the next commit brings it; not every change is a commit
		t.poll = t.since.Add(t.log.opts.Poll / 20)
	case t.polls && v.running > 0:
		t.poll = t.since.Add(5 * t.log.opts.Poll) // this process runs the thread, but another one may have taken over
	case t.polls:
		t.poll = t.since.Add(t.log.opts.Poll)
	}
	v.mu.Unlock()
	switch {
	case t.follow.First > 0 && t.follow.Pause > 0 && !t.gave:
		t.pause = now.Add(t.follow.First)
	case t.follow.Pause > 0:
		t.pause = now.Add(t.follow.Pause)
	}
}

// outagePause is how long a reader waits before it asks a store again that could not be read.
const outagePause = 250 * time.Millisecond

// waitForStore waits before the next attempt to read a store that cannot be read now.
func (t *tail) waitForStore() error {
	t.ask = true
	if t.follow.Pause > 0 && !t.yield(awaken.Entry{}, nil) {
		return errOver
	}
	select {
	case <-t.ctx.Done():
		return errOver
	case <-time.After(outagePause):
		return nil
	}
}

// sleep returns when the reader should look again. The context signals too, but enlist may have taken that
// signal.
func (t *tail) sleep() error {
	if t.ctx.Err() == nil {
		<-t.wake
	}
	return t.over()
}

// over returns errOver if the context is done.
func (t *tail) over() error {
	if t.ctx.Err() != nil {
		return errOver
	}
	return nil
}

// waitCollecting returns when the time to collect entries is over, or something urgent came. Its timer is no
// alarm, which would start a goroutine each time.
func (t *tail) waitCollecting() error {
	t.collect = false
	if t.ctx.Err() != nil {
		return errOver
	}
	if t.collected == nil {
		t.collected = time.NewTimer(t.follow.Collect)
	} else {
		t.collected.Reset(t.follow.Collect)
	}
	defer t.collected.Stop()
	select {
	case <-t.wake:
	case <-t.collected.C:
	}
	return t.over()
}

// setAlarm makes sure that the alarm rings at a time, or earlier. The zero time needs none.
func (t *tail) setAlarm(at time.Time) {
	switch {
	case at.IsZero() || !t.rings.IsZero() && !t.rings.After(at):
		return
	case t.alarm == nil:
		t.alarm = time.AfterFunc(time.Until(at), func() {
			t.rang.Store(true)
			t.signal()
		})
	default:
		t.alarm.Reset(time.Until(at))
	}
	t.rings = at
}

// woken reports whether something other than the alarm woke the reader.
func (t *tail) woken() bool {
	t.live.mu.Lock()
	defer t.live.mu.Unlock()
	return !t.listed
}
