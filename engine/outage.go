package engine

import (
	"context"
	"errors"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/ownership"
)

// waitOut calls f, and calls it again during an outage of the store: as long as the run has an owner,
// such as a claim of a queue, that certainly owns it. Without an owner, f is called once. After the
// outage the run continues as if nothing had happened; if the ownership ends first, it is the
// next owner who continues it.
func (a *activation) waitOut(ctx context.Context, f func() error) error {
	err := f()
	_, owned := ownership.Of[committer](a.ctx)
	if !owned || a.endAtOnce != nil { // the queue tries again to end a run
		return err
	}
	for pause := 50 * time.Millisecond; fault.OutageOf(err) != nil; pause = min(2*pause, time.Second) {
		if cause := context.Cause(a.ctx); errors.Is(cause, awaken.ErrFenced) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		if ownership.Check(a.ctx) != nil {
			return err
		}
		err = f()
	}
	return err
}
