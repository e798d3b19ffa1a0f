package provider_test

import (
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm/provider"
)

func TestCatalogued_HasFactsOfExactNamesAtTheProvidersOwnEndpoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		base, model    string
		in, out        float64
		window, output int
	}{
		{"https://api.openai.com/v1/", "gpt-4-turbo", 10, 30, 128_000, 4096},
		{"https://api.openai.com/v1/", "gpt-3.5-turbo", 0.5, 1.5, 16_385, 4096},
		{"https://api.anthropic.com/", "claude-sonnet-4-5", 3, 15, 200_000, 64_000},
		{"https://generativelanguage.googleapis.com/v1beta/", "models/gemini-2.5-pro", 2.5, 15, 1_048_576, 65_536}, // the price of long requests
	} {
		info, ok := provider.Catalogued(tt.base, tt.model)
		if !ok || info.Price == nil || info.Price.Input != tt.in || info.Price.Output != tt.out || info.ContextWindow != tt.window || info.MaxOutputTokens != tt.output {
			t.Errorf("%s at %s is %+v, %t", tt.model, tt.base, info, ok)
		}
	}
	for base, model := range map[string]string{"http://127.0.0.1:8000/v1/": "gpt-4-turbo", "https://api.openai.com/": "gpt-4-turbo-next", "https://api.openai.com/v1": "claude-sonnet-4-5"} {
		if info, ok := provider.Catalogued(base, model); ok {
			t.Errorf("%s at %s is guessed: %+v", model, base, info)
		}
	}
	if c := provider.CatalogueSource(); c.Source != "litellm" || c.Version == "" {
		t.Errorf("the source is %+v", c)
	} else if _, err := time.Parse(time.DateOnly, c.Date); err != nil {
		t.Error(err)
	}
}

func TestModelSpec_FillLeavesPricesThatAreConfigured(t *testing.T) {
	t.Parallel()
	info, _ := provider.Catalogued("https://api.openai.com", "gpt-4o")
	var m awaken.ModelSpec
	m.Fill(info)
	if !m.Priced() || *m.InputPrice != 2.5 || *m.CacheReadPrice != 1.25 || m.CacheWritePrice != nil {
		t.Errorf("an empty spec is filled with %+v", m.Prices)
	}
	free := 0.0
	m = awaken.ModelSpec{Prices: awaken.Prices{InputPrice: &free, OutputPrice: &free}}
	m.Fill(info)
	if *m.InputPrice != 0 || m.CacheReadPrice != nil {
		t.Errorf("configured prices became %+v", m.Prices)
	}
}

// Requests to these models must not ask for more tokens than they can answer with.
func TestKnown_LimitsOfOlderModels(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gpt-4-turbo", "gpt-4-turbo-2024-04-09", "gpt-4-1106-preview", "gpt-3.5-turbo", "gpt-3.5-turbo-0125"} {
		if info, ok := provider.Known(model); !ok || info.MaxOutputTokens != 4096 {
			t.Errorf("%s is known as %+v", model, info)
		}
	}
}
