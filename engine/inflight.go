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

// On a store whose commits take time, a run does not wait for the commit of a step whose calls are
// over. The commit is in flight, in a goroutine of its own, while the next step begins:
//
//   - A run has at most one commit in flight. Batches of further such steps are merged, and
//     committed together when the one in flight has been made, even if the run waits for its
//     model.
//   - Every other commit (the start, an intent, results in the middle of a step, one with effects,
//     the end) waits for the one in flight and includes the batch that waits. So nothing effectful
//     begins, and no run parks or ends, before everything earlier is durable.
//   - The result of a call that is not read-only never waits behind another commit: its intent has
//     waited for all of them. It becomes durable as early as if the run waited.
//   - The goroutine that makes a commit publishes the events deferred for it, in order.
//   - A commit that fails in flight cancels the run and returns its batch to the run, for the
//     commit that ends it. A fenced owner makes no further commit.

// inFlightCommits makes commits concurrently with the run, one at a time, in a goroutine that
// exists only while there is something to commit.
type inFlightCommits struct {
	wg sync.WaitGroup

	mu     sync.Mutex   // guards the fields below
	busy   bool         // a commit is being made
	next   *commitBatch // the batch that waits for the current one, or nil
	unread bool         // after the last commit, the inbox was not empty
	err    error        // of the commit that failed; no further commit is made
	back   *commitBatch // the failed batch, until the run has taken it back
	crash  func()       // repeats in the run's goroutine what a sink or the store did here: panic, or Goexit
}

// commitStep commits a finished step. The run waits for the commit only if it must.
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

// mayPipeline reports whether the next step may begin before the last one is durable: nothing waits
// for its commit, and its calls are over. If the commit is lost, the next owner repeats what only
// read, and finds the intents of other calls, as it would if the process had died before the commit.
func (j *journal) mayPipeline() bool {
	if !j.pipelined || len(j.hooks.effects) > 0 || j.sender.unsent > 0 || j.ctx.Err() != nil || j.active.posted.Load() || j.active.yield.Load() {
		return false
	}
	for _, c := range j.ledger.calls {
		if s := c.state; s.Effect != awaken.ReadOnly && (s.Ticket != nil || s.StartedAt != 0 && !s.Status.Terminal()) {
			return false
		}
	}
	f := j.inFlight
	if f == nil {
		return !j.out.full()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !j.out.full() && (f.next == nil || !f.next.full())
}

// startInFlight commits a batch in flight: at once, or after the commit that is in flight now.
func (j *journal) startInFlight(p *commitBatch) {
	if j.inFlight == nil {
		j.inFlight, j.out.shared = new(inFlightCommits), true
	}
	f := j.inFlight
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.busy && f.err == nil:
		f.busy = true
		f.wg.Go(func() { j.commitInFlight(p) })
	case f.next == nil: // after an error too: the run is about to end, and takes the batch back
		f.next = p
	default:
		f.next.add(p)
	}
}

// commitInFlight commits p, and the batches that arrive meanwhile, until there is none left.
func (j *journal) commitInFlight(p *commitBatch) {
	f := j.inFlight
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
		j.log().Error("commit or sink panicked", "panic", v, "stack", string(stack))
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

// writeInFlight writes one commit in flight.
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

// commitError is the error of a commit that failed in flight and cancelled its run. Runs that the
// run's tools have started see it too, as the cause of their contexts.
type commitError struct {
	error
	of *activation // the run whose commit failed
}

func (e commitError) Unwrap() error { return e.error }

// lostCommit reports whether the run was cancelled because its own commit failed in flight.
func (a *activation) lostCommit(cause error) bool {
	e, ok := cause.(commitError)
	return ok && e.of == a
}

// take returns the next batch. If there is none it returns nil, and nothing is in flight any more.
func (f *inFlightCommits) take() *commitBatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.next
	f.next, f.busy = nil, p != nil
	return p
}

// wait returns when nothing is in flight.
func (f *inFlightCommits) wait() {
	if f != nil {
		f.wg.Wait()
	}
}

// takeBack returns the waiting batch to the run. A commit must follow at once, which takes it
// along.
func (j *journal) takeBack() {
	f := j.inFlight
	if f == nil {
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

// waitInFlight waits until nothing is in flight. If a commit failed, it returns the uncommitted
// batches to the run and, once, the error. If a sink panicked or ended its goroutine, so does
// waitInFlight.
func (j *journal) waitInFlight() error {
	f := j.inFlight
	if f == nil {
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
