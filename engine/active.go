package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/awaken-go/awaken"
)

// activeRuns holds the runs that are active in this process.
type activeRuns struct {
	mu       sync.Mutex
	byThread map[string]*activeRun // guarded by mu, as are its values except their atomics
}

// activeRun lets other goroutines reach an active run.
type activeRun struct {
	runID     string
	parent    string // thread of the parent that attends the run, or ""
	cancel    context.CancelCauseFunc
	cancelled bool          // set by Cancel
	yield     atomic.Bool   // give the thread up after the step
	posted    atomic.Bool   // the inbox may have received something since the last commit
	wake      chan struct{} // cap 1, made when the run first listens; signals a new inbox item
	done      chan struct{} // made by the first waiter, closed by release
}

// claim claims a thread for a run in this process. It fails with ErrBusy if the thread has one.
func (ar *activeRuns) claim(threadID string, a *activeRun) error {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if other := ar.byThread[threadID]; other != nil {
		return fmt.Errorf("thread %s: %w: run %s", threadID, awaken.ErrBusy, other.runID)
	}
	if ar.byThread == nil {
		ar.byThread = map[string]*activeRun{}
	}
	ar.byThread[threadID] = a
	return nil
}

// rename sets the final id of a run.
func (ar *activeRuns) rename(a *activeRun, runID string) {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	a.runID = runID
}

// release ends the claim.
func (ar *activeRuns) release(threadID string, a *activeRun) {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	delete(ar.byThread, threadID)
	if a.done != nil {
		close(a.done)
	}
}

// notify signals the thread's run that its inbox has a new item.
func (ar *activeRuns) notify(threadID string) {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if a := ar.byThread[threadID]; a != nil {
		a.posted.Store(true)
		select {
		case a.wake <- struct{}{}:
		default: // it does not listen, or has a signal already; its next commit reports the item anyway
		}
	}
}

// listen returns the channel that signals new inbox items. If look is set it signals at once,
// because an item may have arrived before.
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

// yield asks the thread's run, and the runs it attends, to give their threads up.
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

// cancel cancels the thread's run and reports whether there is one. It holds the lock, so a run
// that has been released knows whether it was cancelled.
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

// find returns the thread of the run with that id, or "", and reports whether id is a thread with
// an active run.
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

// wait returns when the thread has no active run.
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

// waitFor returns when done is closed or ctx is done.
func waitFor(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
