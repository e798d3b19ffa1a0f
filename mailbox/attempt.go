package mailbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/awaken-go/awaken"
)

// do works on one dispatch, and settles it.
func (b *Mailbox) do(w *work, settler *settler) {
	start := time.Now()
	s := b.attempt(w.ctx, w)
	b.cfg.Observer.Settled(w.d, s.Status, time.Since(start))
	if !w.lost.Load() && s.Status != "" {
		s.Held = w.d.Held()
		s.Steps = int(w.steps.Load())
		settler.settle(s)
	}
	b.drop(w)
}

// attempt runs a dispatch, and says what becomes of it.
func (b *Mailbox) attempt(ctx context.Context, w *work) (s Settlement) {
	defer func() {
		if v := recover(); v != nil {
			b.cfg.Logger.Error("a run panicked", "dispatch", w.d.ID, "run", w.d.RunID, "panic", v, "stack", string(debug.Stack()))
			s = b.again(w, fmt.Errorf("panic: %v", v))
		}
	}()
	s, err := w.run(ctx)
	if err != nil {
		return b.judge(ctx, w, err)
	}
	return s
}

// judge decides what becomes of a dispatch whose run could not start or go on.
func (b *Mailbox) judge(ctx context.Context, w *work, err error) Settlement {
	cause := context.Cause(ctx)
	switch {
	case w.lost.Load():
		return Settlement{}
	case errors.Is(err, awaken.ErrYielded), errors.Is(cause, errDrained):
		return Settlement{Status: Queued}
	case errors.Is(err, awaken.ErrBusy):
		return Settlement{Status: Queued, Delay: 250 * time.Millisecond, Error: err.Error()}
	case errors.Is(err, awaken.ErrPinUnavailable) && !errors.Is(err, awaken.ErrNotFound):
		return Settlement{Status: Queued, Delay: pinRetry, Error: err.Error()}
	case hopeless(err):
		s, giveUpErr := w.giveUp(ctx, err.Error())
		if giveUpErr != nil {
			return b.again(w, errors.Join(err, giveUpErr))
		}
		s.Error = err.Error()
		return s
	}
	return b.again(w, err)
}

// hopeless reports whether trying again would bring the same error.
func hopeless(err error) bool {
	if _, ok := errors.AsType[*awaken.ConfigError](err); ok {
		return true
	}
	return errors.Is(err, awaken.ErrInvalid) || errors.Is(err, awaken.ErrNotFound)
}

// again puts the dispatch back into the queue after a failure: later each time.
func (b *Mailbox) again(w *work, err error) Settlement {
	attempts := w.d.Attempts
	if int(w.steps.Load()) > w.d.Steps {
		attempts = 0
	}
	return Settlement{Status: Queued, Delay: b.retryDelay(attempts), Failed: true, Error: err.Error()}
}

// retryDelay is how long after its n-th failure a dispatch is tried again, counted from 0.
func (b *Mailbox) retryDelay(n int) time.Duration {
	d, most := b.cfg.RetryDelay, b.cfg.MaxRetryDelay
	for range n {
		if d > most/2 {
			return most
		}
		d *= 2
	}
	return min(d, most)
}

// pinRetry is how long a run whose version a worker cannot have is left alone before one
// tries again. That does not count as an attempt.
const pinRetry = time.Minute
