package config

import (
	"context"
	"time"
)

const (
	// retryAfter is the wait after the store could not be read.
	retryAfter = time.Second
	// tallyEvery is how often tallies are stored and the canary is evaluated.
	tallyEvery = 5 * time.Second
)

// Work follows other processes, updates the tools of MCP servers, evaluates the canary and
// removes old data, until ctx is done.
func (m *Manager) Work(ctx context.Context) error {
	look := make(chan struct{}, 1)
	poke := func() {
		select {
		case look <- struct{}{}:
		default:
		}
	}
	poll := m.o.Poll
	if n, ok := m.o.Store.(Notifier); ok {
		listening := make(chan struct{})
		defer func() { <-listening }()
		go func() {
			defer close(listening)
			for ctx.Err() == nil {
				if err := n.Listen(ctx, poke); err != nil && ctx.Err() == nil {
					m.o.Logger.Warn("cannot listen for configuration changes", "error", err)
				}
				_ = sleep(ctx, retryAfter)
			}
		}()
		poll *= 15 // the store notifies; polling covers lost notifications
	}
	polls, tallies, sweeps := time.NewTicker(poll), time.NewTicker(tallyEvery), time.NewTicker(m.o.Sweep)
	defer polls.Stop()
	defer tallies.Stop()
	defer sweeps.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), retryAfter)
			m.peers.leave(last)
			m.canary.flush(last)
			cancel()
			return context.Cause(ctx)
		case <-polls.C:
			poke()
			m.servers.remind()
		case <-m.peers.ahead:
			poke()
		case <-look:
			if err := m.follower.look(ctx); err != nil {
				m.o.Logger.Warn("cannot follow configuration changes", "error", err)
				_ = sleep(ctx, retryAfter)
				poke()
			} else if m.o.MinApply > 0 {
				_ = sleep(ctx, m.o.MinApply)
			}
		case <-m.servers.wake:
			if err := m.follower.retool(ctx); err != nil {
				m.o.Logger.Error("cannot update the tools of MCP servers", "error", err)
			}
		case <-tallies.C:
			m.canary.flush(ctx)
			if err := m.canary.evaluate(ctx); err != nil && ctx.Err() == nil {
				m.o.Logger.Error("cannot evaluate the canary", "error", err)
			}
		case <-sweeps.C:
			if m.o.AuditAge == 0 && m.o.VersionAge == 0 {
				continue
			}
			if gone, err := m.o.Store.Purge(ctx, m.o.AuditAge, m.o.VersionAge); err != nil {
				m.o.Logger.Warn("cannot remove old versions and audit events", "error", err)
			} else {
				m.o.Logger.Info("removed old versions and audit events", "events", gone.Events, "versions", gone.Publications, "documents", gone.Documents)
			}
		}
	}
}
