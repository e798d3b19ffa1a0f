package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
)

// catalogue is a provider that lists its models.
type catalogue struct {
	llm.Model
	list  []llm.ModelInfo
	err   error
	asked *int
}

func (c *catalogue) ListModels(context.Context) ([]llm.ModelInfo, error) {
	*c.asked++
	return c.list, c.err
}

func TestDiscover_PrefersConfigurationThenKnownNamesThenProviders(t *testing.T) {
	said := []llm.ModelInfo{{ID: "gpt-5.5", ContextWindow: 999}, {ID: "local:latest", ContextWindow: 4096, KnowledgeCutoff: "2026-01", Input: []string{"text"}}}
	for name, c := range map[string]struct {
		spec  awaken.ModelSpec
		err   error
		asked int
		want  awaken.ModelSpec // window, output, cutoff
	}{
		"said":              {spec: awaken.ModelSpec{UpstreamModel: "local"}, asked: 1, want: awaken.ModelSpec{ContextWindow: 4096, KnowledgeCutoff: "2026-01", Modalities: &awaken.Modalities{Input: []string{"text"}}}},
		"configured":        {spec: awaken.ModelSpec{UpstreamModel: "gpt-5.5", ContextWindow: 50, MaxOutputTokens: 5, KnowledgeCutoff: "2020-02"}, want: awaken.ModelSpec{ContextWindow: 50, MaxOutputTokens: 5, KnowledgeCutoff: "2020-02"}},
		"one is configured": {spec: awaken.ModelSpec{UpstreamModel: "local", MaxOutputTokens: 5000}, asked: 1, want: awaken.ModelSpec{MaxOutputTokens: 5000, KnowledgeCutoff: "2026-01", Modalities: &awaken.Modalities{Input: []string{"text"}}}},
		"small window":      {spec: awaken.ModelSpec{UpstreamModel: "gpt-5.5", ContextWindow: 50}, want: awaken.ModelSpec{ContextWindow: 50}},
		"known":             {spec: awaken.ModelSpec{UpstreamModel: "gpt-5.5"}, want: awaken.ModelSpec{ContextWindow: 1_050_000, MaxOutputTokens: 128_000}},
		"no answer":         {spec: awaken.ModelSpec{UpstreamModel: "local"}, err: errors.New("no"), asked: 1},
		"unheard of":        {spec: awaken.ModelSpec{UpstreamModel: "x"}, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			c.spec.ID, c.spec.ProviderID = "m", "p"
			list := said
			if c.err != nil {
				list = nil
			}
			given := []awaken.ModelSpec{c.spec}
			cfg := engine.Config{Models: given, Providers: map[string]llm.Model{"p": &catalogue{list: list, err: c.err, asked: &asked}}}
			discover(t.Context(), &cfg, slog.New(slog.DiscardHandler))
			got := cfg.Models[0]
			c.want.ID, c.want.ProviderID, c.want.UpstreamModel = "m", "p", c.spec.UpstreamModel
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if err := got.Validate(); err != nil {
				t.Error(err)
			}
			if asked != c.asked {
				t.Errorf("it was asked %d times, want %d", asked, c.asked)
			}
			if d := cmp.Diff(c.spec, given[0]); d != "" {
				t.Error("the configuration was changed in place")
			}
		})
	}
}
