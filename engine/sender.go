package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// sender sends the outbox of a run, after the commit that contains it.
type sender struct {
	*activation

	unsent int // items in the outbox
}

// stamp assigns ids to outgoing items.
func (sd *sender) stamp(out []awaken.Outgoing) []awaken.Outgoing {
	out = slices.Clone(out)
	for i := range out {
		o := &out[i]
		o.ID = sd.rt.cfg.NewID()
		if o.Item != nil {
			it := *o.Item
			it.ID = cmp.Or(it.ID, o.ID)
			if len(it.Messages) > 0 {
				it.Taint = cmp.Or(it.Taint, sd.rec.Taint)
			}
			o.Item = &it
		}
		if o.Start != nil && sd.rec.Taint != nil && o.Start.Taint == nil {
			start := *o.Start
			start.Taint = sd.rec.Taint
			o.Start = &start
		}
		if at := tracecontext.Of(sd.ctx); o.Start != nil && o.Start.Trace == "" && at.Parent != "" {
			start := *o.Start
			start.Trace = at.String()
			o.Start = &start
		}
	}
	return out
}

// send adds an item of the engine itself to the outbox.
func (sd *sender) send(o awaken.Outgoing) {
	var b state.Batch
	builtin.Outbox.Update(&b, builtin.OutboxUpdate{Push: sd.stamp([]awaken.Outgoing{o})})
	sd.set(&b)
	sd.unsent++
}

// sendAll sends the outbox. Items that cannot be sent now stay for the next commit.
func (sd *sender) sendAll(ctx context.Context) {
	var b state.Batch
	for _, o := range builtin.Outbox.Get(sd.st) {
		atSend.Hit()
		err := sd.checkRecipient(ctx, &o)
		if err == nil {
			err = sd.rt.deliver(ctx, &o)
		}
		atSent.Hit()
		if err != nil {
			sd.log().Warn("cannot deliver a message", "delivery", o.ID, "error", err)
			if !isAny(err, awaken.ErrNotFound, awaken.ErrInvalid, awaken.ErrConflict) {
				continue
			}
			builtin.FailedDeliveries.Update(&b, builtin.FailedDelivery{Outgoing: o, Error: err.Error(), Foreign: errors.Is(err, errForeign)})
		}
		builtin.Outbox.Update(&b, builtin.OutboxUpdate{Sent: []string{o.ID}})
		sd.unsent--
	}
	sd.set(&b)
}

// errForeign is the error of a delivery to a thread of another user.
var errForeign = fmt.Errorf("%w: it belongs to another user", awaken.ErrNotFound)

// checkRecipient refuses messages to a thread of another user: a model chooses the recipient, perhaps
// because its user asked it to. A thread without a user takes messages of all.
func (sd *sender) checkRecipient(ctx context.Context, o *awaken.Outgoing) error {
	if o.Item == nil || len(o.Item.Messages) == 0 {
		return nil
	}
	t, err := sd.rt.cfg.Store.Thread(ctx, o.ThreadID)
	if err == nil && t.UserID != "" && t.UserID != sd.info.UserID {
		return fmt.Errorf("deliver to thread %s: %w", o.ThreadID, errForeign)
	}
	if errors.Is(err, awaken.ErrNotFound) {
		return nil // the queue says what becomes of it
	}
	return err
}

// deliver passes o to the queue or, without one, does it in this process.
func (rt *Runtime) deliver(ctx context.Context, o *awaken.Outgoing) error {
	switch q := cmp.Or[awaken.Queue](rt.queue, inProcess{rt}); {
	case o.Item != nil:
		if err := q.Deliver(ctx, o.ThreadID, *o.Item, o.AgentID); err != nil {
			return fmt.Errorf("deliver to thread %s: %w", o.ThreadID, err)
		}
	case o.Start != nil:
		if err := q.Start(ctx, *o.Start); err != nil {
			return fmt.Errorf("start run %s: %w", o.Start.RunID, err)
		}
	case o.Cancel != "":
		if err := q.Cancel(ctx, o.Cancel); err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return fmt.Errorf("cancel run %s: %w", o.Cancel, err)
		}
	}
	return nil
}
