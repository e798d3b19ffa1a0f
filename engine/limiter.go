package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// callLimit is the time limit of a call of the tool; 0 or less means no limit.
func (w *crew) callLimit(e *registry.Tool) time.Duration {
	return cmp.Or(e.Spec.Timeout, w.rt.cfg.Limits.ToolTimeout)
}

// limiter cancels a call that exceeds its time limit, and abandons it if it does not return within
// the grace period. A run with one call after another needs one limiter.
type limiter struct {
	crew  *crew
	timer *time.Timer
	limit time.Duration

	// The call, as it was when it began.
	c      *call
	tc     *awaken.ToolCall
	cancel context.CancelCauseFunc
}

// limit begins the time limit of a call.
func (w *crew) limit(c *call) {
	limit := w.callLimit(c.entry)
	if limit <= 0 {
		return
	}
	l := w.idle
	w.idle = nil
	if l == nil {
		l = &limiter{crew: w}
	}
	l.limit, l.c, l.tc, l.cancel = limit, c, c.tc, c.cancel
	c.limiter = l
	if l.timer == nil {
		l.timer = time.AfterFunc(limit, l.expire)
	} else {
		l.timer.Reset(limit)
	}
}

// stop ends the time limit of a call that is over. Unless it has expired meanwhile, the limiter is
// used again.
func (l *limiter) stop() {
	if l.timer.Stop() {
		l.c, l.tc, l.cancel = nil, nil, nil
		l.crew.idle = l
	}
}

// expire runs in a goroutine of its own.
func (l *limiter) expire() {
	err := fmt.Errorf("%w after %s", errToolTimeout, l.limit)
	l.cancel(err)
	grace := l.crew.rt.cfg.Limits.ToolGrace
	if grace < 0 {
		return
	}
	select {
	case <-time.After(grace):
		l.crew.report(outcome{c: l.c, tc: l.tc, err: err})
	case <-l.crew.over:
	}
}
