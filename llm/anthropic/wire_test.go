package anthropic

import (
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/provider"
)

func TestWire(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "")
	for _, model := range []string{"claude-3-5-haiku-latest", "claude-sonnet-4-5", "claude-opus-4-7"} {
		a := adapter
		a.Model = model
		providertest.Wire(t, model, providertest.WireCases(t, a))
	}
	var cases []providertest.WireCase
	for _, model := range []string{"claude-opus-4-1", "claude-sonnet-4-6", "claude-sonnet-5", "claude-fable-5", "glm-4.6"} {
		a := adapter
		a.Model = model
		all := providertest.WireCases(t, a)
		cases = append(cases, providertest.WirePicked(all, model, all[0].Open, "hello", "knobs/all", "effort/none", "effort/high", "effort/budget-12000", "tools/one-is-required", "output", "output/open", "thinking/with-calls", "everything")...)
	}
	providertest.Wire(t, "models", cases)
}

// TestWire_Config sends requests with everything that can be configured.
func TestWire_Config(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "")
	}
	all := providertest.WireCases(t, adapter)
	var cases []providertest.WireCase
	for _, c := range []struct {
		name   string
		config Config
	}{
		{"default", Config{}},
		{"bearer", Config{Bearer: true}},
		{"oauth", Config{Config: provider.Config{APIKey: "sk-ant-oat-1"}}},
		{"oauth-beta", Config{Config: provider.Config{APIKey: "sk-ant-oat-1", Headers: map[string]string{"anthropic-beta": "files-api-2025-04-14"}}}},
		{"beta", Config{Config: provider.Config{Headers: map[string]string{"anthropic-beta": "context-1m-2025-08-07"}}}},
		{"version", Config{Config: provider.Config{Headers: map[string]string{"Anthropic-Version": "2099-01-01", "accept": "text/event-stream"}}}},
		{"authorization", Config{Config: provider.Config{Headers: map[string]string{"Authorization": "Bearer own"}}}},
		{"x-api-key", Config{Config: provider.Config{Headers: map[string]string{"x-api-key": "own"}}}},
		{"base", Config{Config: provider.Config{BaseURL: "http://localhost:8000"}}},
		{"base-slash", Config{Config: provider.Config{BaseURL: "http://localhost:8000/"}}},
		{"base-v1", Config{Config: provider.Config{BaseURL: "http://localhost:8000/v1"}}},
		{"base-path", Config{Config: provider.Config{BaseURL: "https://x.test/proxy/v9"}}},
		{"base-path-v1", Config{Config: provider.Config{BaseURL: "https://x.test/a%2Fb/v1//"}}},
		{"base-user", Config{Config: provider.Config{BaseURL: "https://me:pw@x.test"}}},
	} {
		open := func(p provider.Config) (llm.Model, error) {
			own := c.config
			p.BaseURL, p.Headers = own.BaseURL, own.Headers
			if own.APIKey != "" || p.Authorized("Authorization", "X-Api-Key") {
				p.APIKey = own.APIKey
			}
			own.Config = p
			return New(own)
		}
		cases = append(cases, providertest.WirePicked(all, c.name, open, "hello", "models")...)
	}
	providertest.Wire(t, "config", cases)
}
