package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

const (
	// discoveryTime is how long a provider may take to say which models it has.
	discoveryTime = 3 * time.Second
	// askAgain is how long a provider that did not answer is left alone: writes wait for it.
	askAgain = time.Minute
)

// discover completes what the configuration says about models, all at the same time.
func discover(ctx context.Context, cfg *engine.Config, log *slog.Logger) {
	d := &discovery{log: log}
	cfg.Models = slices.Clone(cfg.Models)
	var wg sync.WaitGroup
	for i := range cfg.Models {
		m := &cfg.Models[i]
		wg.Go(func() { d.complete(ctx, m, cfg.Providers[m.ProviderID]) })
	}
	wg.Wait()
}

// discovery completes what documents say about models: with what is known by their names, or
// else with what their providers say. What is configured stays. That a provider does not answer
// is not an error.
type discovery struct {
	log *slog.Logger

	mu    sync.Mutex
	asked map[string]*listing // by provider
}

// listing is what a provider said.
type listing struct {
	mu     sync.Mutex
	of     llm.Model // with which document and secrets
	all    []llm.ModelInfo
	failed time.Time // when it said nothing
}

func (d *discovery) complete(ctx context.Context, spec *awaken.ModelSpec, m llm.Model) {
	if info, ok := provider.Known(spec.UpstreamModel); ok {
		spec.Fill(info)
	}
	lister, lists := m.(llm.Lister)
	if !lists || spec.ContextWindow != 0 {
		return
	}
	l := d.listing(spec.ProviderID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of != m || !l.failed.IsZero() && time.Since(l.failed) > askAgain {
		// It is for everybody, whether or not who asks first is still there.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discoveryTime)
		defer cancel()
		var err error
		l.of, l.failed = m, time.Time{}
		if l.all, err = lister.ListModels(ctx); err != nil {
			l.failed = time.Now()
			d.log.Debug("a provider does not say which models it has", "provider", spec.ProviderID, "error", err)
		}
	}
	if info, ok := llm.FindModel(l.all, spec.UpstreamModel); ok {
		spec.Fill(info)
	}
}

// listing returns what is remembered of a provider.
func (d *discovery) listing(id string) *listing {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked == nil {
		d.asked = map[string]*listing{}
	}
	if d.asked[id] == nil {
		d.asked[id] = &listing{}
	}
	return d.asked[id]
}
