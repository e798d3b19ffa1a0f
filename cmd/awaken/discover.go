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
	// discoveryTime is how long a provider may take to list its models.
	discoveryTime = 3 * time.Second
	// askAgain is how long a provider that did not answer is not asked again: writes wait for it.
	askAgain = time.Minute
)

// discover completes the model specs of a configuration, concurrently.
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

// discovery completes model specs from the built-in catalogue, or else from what their
// providers report. It changes no field that is configured. A provider that does not answer is
// not an error.
type discovery struct {
	log *slog.Logger

	mu    sync.Mutex
	asked map[string]*listing // by provider
}

// listing is a provider's list of models.
type listing struct {
	mu     sync.Mutex
	of     llm.Model // the provider as it was asked; a changed document makes a new one
	all    []llm.ModelInfo
	failed time.Time // when it did not answer
}

func (d *discovery) complete(ctx context.Context, spec *awaken.ModelSpec, m llm.Model) {
	if info, ok := provider.Known(spec.UpstreamModel); ok {
		spec.Fill(info)
	}
	if m != nil {
		if info := llm.KnowledgeOf(m, spec.UpstreamModel).Listed; info != nil {
			spec.Fill(*info)
		}
	}
	lister, lists := m.(llm.Lister)
	if !lists || spec.ContextWindow != 0 {
		return
	}
	l := d.listing(spec.ProviderID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of != m || !l.failed.IsZero() && time.Since(l.failed) > askAgain {
		// The result is shared, so the first caller must not cancel it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discoveryTime)
		defer cancel()
		var err error
		l.of, l.failed = m, time.Time{}
		if l.all, err = lister.ListModels(ctx); err != nil {
			l.failed = time.Now()
			d.log.Debug("cannot list the models of a provider", "provider", spec.ProviderID, "error", err)
		}
	}
	if info, ok := llm.FindModel(l.all, spec.UpstreamModel); ok {
		spec.Fill(info)
	}
}

// listing returns the listing of a provider.
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
