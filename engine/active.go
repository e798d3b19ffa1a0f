package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/awaken-go/awaken"
)

// activeRuns are the runs of a runtime that are active in this process.
type activeRuns struct {
	mu       sync.Mutex
	byThread map[string]*activeRun // guarded by mu, and so is what they hold but for atomics
}

// activeRun is what others need to reach a run that is active.
type activeRun struct {
	runID     string
	parent    string // thread of the run that looks after it, or ""
	cancel    context.CancelCauseFunc
	cancelled bool          // by Cancel
	yield     atomic.Bool   // let go of the thread after the step
	posted    atomic.Bool   // the inbox may have got something since the last commit
	wake      chan struct{} // cap 1, made when the run first listens: the inbox has something
	done      chan struct{} // made by the first that waits
}

// claim claims a thread for a run in this process.
func (ar *activeRuns) claim(threadID string, a *activeRun) error {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if other := ar.byThread[threadID]; other != nil {
		return fmt.Errorf("thread %s: %w: %s", threadID, awaken.ErrBusy, other.runID)
	}
	if ar.byThread == nil {
		ar.byThread = map[string]*activeRun{}
	}
	ar.byThread[threadID] = a
	return nil
}

// rename gives a run its final id.
func (ar *activeRuns) rename(a *activeRun, runID string) {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	a.runID = runID
}

// release gives the thread up.
func (ar *activeRuns) release(threadID string, a *activeRun) {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	delete(ar.byThread, threadID)
	if a.done != nil {
		close(a.done)
	}
}

// notify tells the thread's run that its inbox has something.
func (ar *activeRuns) notify(threadID string) {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if a := ar.byThread[threadID]; a != nil {
		a.posted.Store(true)
		select {
		case a.wake <- struct{}{}:
		default: // it does not listen, or has been told: its next commit will say so
		}
	}
}

// listen returns what is sent to when the inbox of the run's thread has something.
// If look is set, something may be there already.
func (ar *activeRuns) listen(a *activeRun, look bool) <-chan struct{} {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if a.wake == nil {
		a.wake = make(chan struct{}, 1)
	}
	if look && len(a.wake) == 0 {
		a.wake <- struct{}{}
	}
	return a.wake
}

// yield makes the thread's run, and those that it looks after, let go of their threads.
func (ar *activeRuns) yield(threadID string) {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	ar.yieldTree(threadID)
}

func (ar *activeRuns) yieldTree(threadID string) {
	a := ar.byThread[threadID]
	if a == nil {
		return
	}
	a.yield.Store(true)
	for id, child := range ar.byThread {
		if child.parent == threadID {
			ar.yieldTree(id)
		}
	}
}

// cancel cancels the thread's run, and reports whether it has one. It holds the lock, so
// that a run that is released knows whether it was cancelled.
func (ar *activeRuns) cancel(threadID string) bool {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	a := ar.byThread[threadID]
	if a == nil {
		return false
	}
	a.cancelled = true
	a.cancel(awaken.ErrCancelled)
	return true
}

// find returns the thread of the run of that id, or "", and reports whether it is the id of
// a thread that has a run.
func (ar *activeRuns) find(id string) (thread string, isThread bool) {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	for threadID, a := range ar.byThread {
		if a.runID == id {
			thread = threadID
		}
	}
	_, isThread = ar.byThread[id]
	return thread, isThread
}

// wait returns when the thread has no run.
func (ar *activeRuns) wait(ctx context.Context, threadID string) error {
	ar.mu.Lock()
	a := ar.byThread[threadID]
	if a == nil {
		ar.mu.Unlock()
		return nil
	}
	if a.done == nil {
		a.done = make(chan struct{})
	}
	done := a.done
	ar.mu.Unlock()
	return waitFor(ctx, done)
}

// waitFor returns when done is closed, or ctx is done.
func waitFor(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
