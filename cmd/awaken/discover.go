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

// discoveryTime is how long a provider may take to say which models it has.
const discoveryTime = 3 * time.Second

// discover completes what the configuration says about models: with what their providers
// say, or else with what is known by their names. What is configured stays. If hurried, no
// provider is asked about models that are known by their names. That a provider does not
// answer is not an error.
func discover(ctx context.Context, cfg *engine.Config, hurried bool, log *slog.Logger) {
	ask := map[string][]*awaken.ModelSpec{} // by provider
	cfg.Models = slices.Clone(cfg.Models)
	for i := range cfg.Models {
		m := &cfg.Models[i]
		_, known := provider.Known(m.UpstreamModel)
		if _, lists := cfg.Providers[m.ProviderID].(llm.Lister); lists && m.ContextWindow == 0 && !(hurried && known) {
			ask[m.ProviderID] = append(ask[m.ProviderID], m)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTime)
	defer cancel()
	var wg sync.WaitGroup
	for id, models := range ask {
		wg.Go(func() {
			list, err := cfg.Providers[id].(llm.Lister).ListModels(ctx)
			if err != nil {
				log.Debug("a provider does not say which models it has", "provider", id, "error", err)
			}
			for _, m := range models {
				if info, ok := llm.FindModel(list, m.UpstreamModel); ok {
					m.Fill(info)
				}
			}
		})
	}
	wg.Wait()
	for i := range cfg.Models {
		m := &cfg.Models[i]
		if info, ok := provider.Known(m.UpstreamModel); ok {
			m.Fill(info)
		}
	}
}
