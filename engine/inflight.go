package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/awaken-go/awaken"
)

// On a store whose commits take time a run does not stand still at the end of a step that
// did nothing but read. Its commit travels beside the run, in flight, while the next step
// begins:
//
//   - One commit of a run is in flight at a time. What further such steps bring is handed
//     over too, and travels together as soon as the one before has been made, whether the
//     run waits for its model or not.
//   - Every other commit (the start, an intent, results, one with effects, the end) waits for
//     the one in flight and takes along what is not on its way yet. So nothing effectful
//     begins, and no run parks or ends, before everything earlier is durable.
//   - What claims something durable is published after its commit, in order, by whoever made
//     the commit.
//   - A commit that fails in flight cancels the run. What it held is the run's again, for the
//     commit with which the run ends; a fenced owner makes none.

// flight makes commits beside the run, one at a time, in a goroutine that is there only
// while there is something to commit.
type inFlightCommits struct {
	used bool // by the run, whose this is
	wg   sync.WaitGroup

	mu     sync.Mutex   // guards what follows
	busy   bool         // a commit is being made
	next   *commitBatch // what waits for that, or nil
	unread bool         // after a commit, the inbox holds something
	err    error        // of the commit that failed; none is made after it
	back   *commitBatch // what that held, until the run has it again
	crash  func()       // does what a sink or the store did to the goroutine: it panicked, or ended it
}

// commitStep commits a step that is over. The run waits for that only if it has to.
func (j *journal) commitStep(ctx context.Context) error {
	if !j.mayPipeline() {
		return j.commit(ctx, commitOptions{})
	}
	p, err := j.collect(commitOptions{})
	if err != nil {
		return err
	}
	j.startInFlight(p)
	atHandedOver.Hit()
	return nil
}

// mayGoOn reports whether the next step may begin before the last one is durable: it did
// nothing but read, so that a later owner can make it again, and nobody waits for it.
func (j *journal) mayPipeline() bool {
	if !j.pipelined || len(j.hooks.effects) > 0 || j.sender.unsent > 0 || j.ctx.Err() != nil || j.active.posted.Load() || j.active.yield.Load() {
		return false
	}
	for _, c := range j.ledger.calls {
		if s := c.state; s.Effect != awaken.ReadOnly && (s.StartedAt != 0 || s.Ticket != nil) {
			return false
		}
	}
	f := &j.inFlight
	f.mu.Lock()
	defer f.mu.Unlock()
	return !j.out.full() && (f.next == nil || !f.next.full())
}

// handOver lets a parcel travel: at once, or with the next commit when one is in flight.
func (j *journal) startInFlight(p *commitBatch) {
	f := &j.inFlight
	f.used = true
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.busy && f.err == nil:
		f.busy = true
		f.wg.Go(func() { j.commitInFlight(p) })
	case f.next == nil: // after an error too: the run is about to end, and takes it back
		f.next = p
	default:
		f.next.add(p)
	}
}

// fly commits p, and what is handed over meanwhile, until there is no more.
func (j *journal) commitInFlight(p *commitBatch) {
	f := &j.inFlight
	returned := false
	defer func() {
		if returned {
			return
		}
		v, stack := recover(), debug.Stack()
		f.mu.Lock()
		f.busy, f.crash = false, runtime.Goexit
		if v != nil {
			f.crash = func() { panic(v) }
		}
		f.mu.Unlock()
		j.rt.cfg.Logger.Error("commit or sink panicked", "run", j.out.runID, "panic", v, "stack", string(stack))
		j.active.cancel(fmt.Errorf("%w: a commit or the sink panicked", awaken.ErrCancelled))
	}()
	for ; p != nil; p = f.take() {
		if err := j.writeInFlight(&p.Commit); err != nil {
			f.mu.Lock()
			err = commitError{err, &j.core.activation}
			f.busy, f.back, f.err = false, p, err
			f.mu.Unlock()
			j.active.cancel(err)
			break
		}
		f.mu.Lock()
		f.unread = p.Unread
		f.mu.Unlock()
		j.publish(detached(j.ctx), p)
		j.cancelIfSinkFailed()
	}
	returned = true
}

// writeBeside makes a commit in flight.
func (j *journal) writeInFlight(c *awaken.Commit) error {
	ctx, cancel := j.graceContext(j.ctx)
	defer cancel()
	if cause := context.Cause(j.ctx); errors.Is(cause, awaken.ErrFenced) {
		return cause
	}
	if err := j.write(ctx, c); err != nil {
		return fmt.Errorf("commit thread %s: %w", j.thread, storeError{err})
	}
	return nil
}

// commitError is the error of a commit that failed beside its run, and cancelled it. Runs that
// the run's tools have started see it too, as the cause of their contexts.
type commitError struct {
	error
	of *activation // the run whose commit it was
}

func (e commitError) Unwrap() error { return e.error }

// lostCommit reports whether the run was cancelled because a commit of its own failed beside
// it.
func (a *activation) lostCommit(cause error) bool {
	e, ok := cause.(commitError)
	return ok && e.of == a
}

// take returns what is to be committed next, or nil, and then nothing is in flight.
func (f *inFlightCommits) take() *commitBatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.next
	f.next, f.busy = nil, p != nil
	return p
}

// wait returns when nothing is in flight.
func (f *inFlightCommits) wait() { f.wg.Wait() }

// takeBack takes back what waits for the commit that is in flight: the next commit of the
// run, which must follow at once, has it.
func (j *journal) takeBack() {
	f := &j.inFlight
	if !f.used {
		return
	}
	f.mu.Lock()
	p := f.next
	f.next = nil
	f.mu.Unlock()
	if p != nil {
		j.putBack(p)
	}
}

// waitInFlight waits until everything that was handed over is committed. If that failed, what
// could not be committed is the run's again, and waitInFlight tells why, once. What a sink did to
// the goroutine that called it, it does to the run's.
func (j *journal) waitInFlight() error {
	f := &j.inFlight
	if !f.used {
		return nil
	}
	f.wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crash != nil {
		f.crash()
	}
	j.unread, f.unread = j.unread || f.unread, false
	if f.back == nil {
		return nil
	}
	if f.next != nil {
		j.putBack(f.next)
	}
	j.putBack(f.back)
	f.next, f.back = nil, nil
	return f.err
}
