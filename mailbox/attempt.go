package mailbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/tracecontext"
)

// process runs one claimed dispatch and settles it.
func (b *Mailbox) process(c *claim, settler *settler) {
	start := time.Now()
	c.waitForPrevious()
	atBegun.Hit()
	s := b.attempt(c.ctx, c)
	if o := c.opening; o != nil {
		o.fail(c)
		return
	}
	c.settle(settler, &s, start)
}

// settle settles the dispatch after an attempt that began at start, and forgets the claim.
func (c *claim) settle(settler *settler, s *Settlement, start time.Time) {
	b := c.tenant.box
	b.cfg.Observer.Settled(c.d, s.Status, time.Since(start))
	if !c.lost.Load() && s.Status != "" && c.settled == "" {
		s.Claim = c.d.Claim()
		s.Steps = int(c.steps.Load())
		settler.settle(*s)
		b.changed() // the thread's next dispatch may be available, or this one again
	}
	atOver.Hit()
	b.forget(c)
}

// logTo returns the logger for what happens to the dispatch: it adds the run, the thread and the trace.
func (d *Dispatch) logTo(l *slog.Logger) *slog.Logger {
	l = l.With("dispatch", d.ID, "run", d.RunID, "thread", d.ThreadID)
	if d.Request == nil || d.Request.Trace == "" {
		return l
	}
	return l.With("trace", tracecontext.ParseText(d.Request.Trace).TraceID())
}

// attempt runs a dispatch and returns how to settle it. A zero Settlement leaves it alone.
func (b *Mailbox) attempt(ctx context.Context, c *claim) (s Settlement) {
	defer func() {
		if v := recover(); v != nil {
			c.d.logTo(b.cfg.Logger).Error("run panicked", "panic", v, "stack", string(debug.Stack()))
			s = b.retry(c, fmt.Errorf("run panicked: %v", v))
		}
		if c.settled != "" { // whatever failed afterwards
			s = Settlement{Status: c.settled}
		}
	}()
	s, err := c.run(ctx)
	if err != nil && c.opening == nil {
		return b.settleError(ctx, c, err)
	}
	return s
}

// settleError returns how to settle a dispatch whose run could not start or continue.
func (b *Mailbox) settleError(ctx context.Context, c *claim, err error) Settlement {
	cause := context.Cause(ctx)
	switch {
	case c.lost.Load():
		return Settlement{}
	case errors.Is(err, awaken.ErrYielded), errors.Is(cause, errDrained):
		return Settlement{Status: Queued}
	case errors.Is(err, awaken.ErrBusy):
		return Settlement{Status: Queued, Delay: 250 * time.Millisecond, Error: err.Error()}
	case errors.Is(err, awaken.ErrPinUnavailable) && !errors.Is(err, awaken.ErrNotFound):
		return Settlement{Status: Queued, Delay: pinRetry, Error: err.Error()}
	case fault.OutageOf(err) != nil:
		return b.retry(c, err)
	case (errors.Is(cause, awaken.ErrCancelled) || errors.Is(err, awaken.ErrGeneration)) && !permanent(err):
		if s, endErr := c.endCancelled(ctx); s.Status != "" || endErr != nil {
			if endErr != nil {
				return b.retry(c, errors.Join(err, endErr))
			}
			return s
		}
	case permanent(err):
		c.final = Settlement{Status: DeadLetter, Error: err.Error()}
		s, giveUpErr := c.giveUp(ctx, err.Error())
		if giveUpErr != nil {
			return b.retry(c, errors.Join(err, giveUpErr))
		}
		s.Error = err.Error()
		return s
	}
	return b.retry(c, err)
}

// permanent reports whether a retry would fail with the same error.
func permanent(err error) bool {
	if _, ok := errors.AsType[*awaken.ConfigError](err); ok {
		return true
	}
	return errors.Is(err, awaken.ErrInvalid) || errors.Is(err, awaken.ErrNotFound)
}

// retry puts the dispatch back into the queue after a failure, with a growing delay. An outage of
// the store is no failure of the dispatch, and a dispatch that is being given up has no attempts left
// to lose.
func (b *Mailbox) retry(c *claim, err error) Settlement {
	if fault.OutageOf(err) != nil {
		return Settlement{Status: Queued, Delay: b.cfg.RetryDelay, Error: err.Error()}
	}
	attempts := c.d.Attempts
	if int(c.steps.Load()) > c.d.Steps {
		attempts = 0
	}
	return Settlement{Status: Queued, Delay: b.retryDelay(attempts), Failed: attempts < c.d.MaxAttempts, Error: err.Error()}
}

// retryDelay returns the delay before the retry that follows n earlier failures.
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

// pinRetry is the delay before a run whose pinned version is unavailable is tried again. It
// does not count as an attempt.
const pinRetry = time.Minute
