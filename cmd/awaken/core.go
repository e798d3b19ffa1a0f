package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/figures"
	"github.com/awaken-go/awaken/trace/body"
)

// core runs agents on a database, for clients of HTTP and of standard input alike.
type core struct {
	control  *control
	box      *mailbox.Mailbox
	metrics  *server.Metrics
	observer *observe.Plugin // nil if runs are not observed
	limiter  *limit.Limiter
	stats    *figures.Stats
	closing  []func()
}

// openCore opens the documents of a database and a queue that runs them. Keys, if not nil, learn from other
// processes what was revoked. It prints nothing to the standard output.
func openCore(ctx context.Context, b *backend, con *console, s *settings.Settings, c *code, keys *access.Keys, log *slog.Logger) (k *core, err error) {
	k = &core{metrics: server.NewMetrics(), stats: figures.NewStats(nil)}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	k.limiter = limit.New(limit.Config{Store: b.limits, Waited: k.metrics.Waited, Logger: log})
	k.closing = append(k.closing, k.limiter.Close)
	k.metrics.Limits(k.limiter)
	var end func()
	if k.observer, end, err = openObserver(ctx, k.metrics, log); err != nil {
		return k, err
	}
	k.closing = append(k.closing, end)
	if k.observer != nil {
		c.plugins = append(slices.Clone(c.plugins), k.observer)
	}
	b.config = k.metrics.Audited(b.config)
	if k.control, err = openControl(ctx, con, s, b, c, k.limiter, log); err != nil {
		return k, err
	}
	k.closing = append(k.closing, k.control.close)
	cfg := budgets(s)
	cfg.Versions, cfg.Logger, cfg.Limits, cfg.Restoration = k.control.manager, log, engineLimits(s), b.restoration
	w := openBodies(s, b, log)
	if k.metrics.Bodies(w.Lost); w != nil {
		cfg.Tap = w
		k.closing = append(k.closing, inBackground(context.WithoutCancel(ctx), w.Serve))
	}
	rt, err := engine.New(cfg)
	if err != nil {
		return k, configError("%w", err)
	}
	k.metrics.Depths(b.queue)
	mc := s.Mailbox
	mc.Queue, mc.Profile, mc.Drain, mc.Logger, mc.Restoration = b.queue, b.profile, s.Limits.ShutdownTime, log, b.restoration
	mc.Sink = func(tenant string) awaken.Sink { return k.stats.Sink(k.metrics.Sink(tenant)) }
	mc.Observer = &observer{k.metrics, k.control.manager, b.queue}
	between, closeBus, err := openBus(ctx, s, b, log)
	if err != nil {
		return k, err
	}
	k.closing = append(k.closing, closeBus)
	if between != nil { // until the last stream has ended
		x := bus.NewExchange(between)
		mc.Bus, mc.Log.Relay = x, eventlog.NewRelay(x, nil)
		k.control.manager.Share(x)
		if keys != nil {
			keys.Share(x)
		}
		k.closing = append(k.closing, inBackground(context.WithoutCancel(ctx), func(ctx context.Context) { x.Run(ctx, mc.Log.Relay.Run) }))
	}
	if k.box, err = mailbox.New(mc, rt.With); err != nil {
		return k, configError("%w", err)
	}
	return k, nil
}

// budgets returns a configuration of the engine with what runs may spend.
func budgets(s *settings.Settings) engine.Config {
	cfg := engine.Config{Budgets: s.Budget.Enabled, AllowUnpriced: s.Budget.Unpriced == "allow"}
	if s.Budget.TenantUSD > 0 {
		cfg.TenantBudget = &s.Budget.TenantUSD
	}
	return cfg
}

// engineLimits returns the limits of runs.
func engineLimits(s *settings.Settings) engine.Limits {
	r := &s.Limits.Reply
	return engine.Limits{ToolTimeout: s.Limits.ToolTime, Reply: llm.ReplyLimits{Bytes: r.Bytes, ArgumentsBytes: r.Arguments, Calls: r.Calls}}
}

// openBodies returns what keeps requests to models, or nil if none are kept.
func openBodies(s *settings.Settings, b *backend, log *slog.Logger) *body.Writer {
	return body.NewWriter(body.Config{Policy: body.Policy(s.Traces.Bodies), Share: s.Traces.Share, MaxBytes: s.Traces.BodyBytes, Logger: log,
		Store: func(tenant string) body.Store { return body.Of(b.queue.Handle(tenant)) }})
}

// close closes what was opened, the latest first.
func (k *core) close() {
	for i := len(k.closing) - 1; i >= 0; i-- {
		k.closing[i]()
	}
	k.closing = nil
}
