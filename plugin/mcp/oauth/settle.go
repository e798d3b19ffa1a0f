package oauth

import (
	"context"
	"errors"
	"time"
)

// ending is an authorization that ends: its response has come, and its waiters are not known to be resumed. It is written
// before anything else is done, and removed by [Broker.Settle], so that the waiters of a process that is lost in between
// are resumed by another.
type ending struct {
	Ref    stateRef `json:"ref"`
	At     int64    `json:"at"` // Unix ms
	Waiter *Waiter  `json:"waiter,omitempty"`
}

const (
	endsKind = "mcp.ends"
	// settleTime is how long a process may take to end an authorization. Another one continues after that.
	settleTime = 2 * time.Minute
)

// ends returns the place of an ending.
func (b *Broker) ends(id string) place {
	return place{values: b.cfg.Shared, namespace: endsKind, key: id, name: endsKind + "\x00" + id}
}

// take lets one process end a flow: it removes the flow from those of its owner, and returns it. It returns [ErrState] to all
// others.
func (b *Broker) take(ctx context.Context, p place, ref stateRef) (*flow, error) {
	f, err := b.flow(ctx, p, ref.ID)
	if err != nil {
		return nil, err
	}
	_, ok, err := b.write(ctx, b.ends(ref.ID), nil, &ending{Ref: ref, At: b.cfg.Now().UnixMilli(), Waiter: f.Waiter})
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrState
	}
	if f, err = b.consume(ctx, p, ref.ID); errors.Is(err, ErrState) { // another process has ended it since it was read
		return nil, errors.Join(err, b.Settle(ctx, ref.ID))
	}
	return f, err
}

// Settle records that the waiters of an authorization, [Completed.ID], were resumed. Until then, [Broker.Sweep] retries.
func (b *Broker) Settle(ctx context.Context, id string) error {
	return b.cfg.Shared.Delete(ctx, endsKind, id)
}

// Sweep calls resume with the authorizations that were completed some minutes ago and not settled, because their process died or could not
// resume the waiters, and settles those for which resume returns nil. A resumed waiter checks whether there is an authorization, and asks
// again if there is none. Programs call Sweep when they start, and every few minutes.
func (b *Broker) Sweep(ctx context.Context, resume func(ctx context.Context, c *Completed) error) error {
	list, err := b.cfg.Shared.List(ctx, endsKind)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range list {
		if err := b.finish(ctx, e.Key, resume); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// finish ends an authorization that another process has begun to end.
func (b *Broker) finish(ctx context.Context, id string, resume func(ctx context.Context, c *Completed) error) error {
	var e ending
	raw, found, err := b.read(ctx, b.ends(id), &e)
	switch {
	case err != nil, raw == nil:
		return err
	case !found: // whose it was cannot be known any more
		return b.Settle(ctx, id)
	case b.cfg.Now().Sub(time.UnixMilli(e.At)) < settleTime:
		return nil
	}
	s, o := e.Ref.of()
	c := &Completed{ID: id, Server: e.Ref.Server, Grant: e.Ref.Grant, Owner: o}
	if e.Waiter != nil {
		c.Waiters = []Waiter{*e.Waiter}
	}
	p := b.place(flowsKind, s, o)
	if _, err := b.consume(ctx, p, id); err != nil && !errors.Is(err, ErrState) {
		return err
	}
	var g grant
	if _, found, err := b.read(ctx, b.place(grantsKind, s, o), &g); err != nil {
		return err
	} else if found && g.Access != "" {
		if c.Waiters, err = b.others(ctx, p, c.Waiters); err != nil {
			return err
		}
	}
	if err := resume(ctx, c); err != nil {
		return err
	}
	return b.Settle(ctx, id)
}
