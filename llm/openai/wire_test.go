package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
)

// quiet unsets the environment variables that adapters read.
func quiet(t *testing.T) {
	for _, name := range []string{"OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "")
	}
}

// configured opens a model with more than a provider.Config.
func configured(own openai.Config) func(c provider.Config) (llm.Model, error) {
	return func(c provider.Config) (llm.Model, error) {
		c.BaseURL, c.Headers = own.BaseURL, own.Headers
		if own.APIKey != "" || c.Authorized("Authorization", "Api-Key") {
			c.APIKey = own.APIKey
		}
		own := own
		own.Config = c
		return openai.New(own)
	}
}

func TestWire_Responses(t *testing.T) {
	quiet(t)
	cases := providertest.WireCases(t, responsesAdapter)
	old := responsesAdapter
	old.Model = "gpt-4o"
	providertest.Wire(t, "responses", append(cases, providertest.WirePicked(providertest.WireCases(t, old), "gpt-4o", cases[0].Open, "hello", "effort/none", "effort/high", "tools", "everything")...))
}

func TestWire_Chat(t *testing.T) {
	quiet(t)
	providertest.Wire(t, "chat", providertest.WireCases(t, chatAdapter))
}

// TestWire_Presets sends requests with every preset that an SDK was used with, to each API that it
// has.
func TestWire_Presets(t *testing.T) {
	quiet(t)
	base := map[string]string{"azure": "https://me.openai.azure.com", "compatible": "http://localhost:8000"}
	var cases []providertest.WireCase
	for _, p := range openai.Presets {
		if _, ok := laterPresets[p.Name]; ok {
			continue
		}
		a := chatAdapter
		a.Open, a.Speaker, a.Provider = open(openai.Chat, p.Name), chatSpeaker{"reasoning_content"}, p.Name
		if p.Thoughts == "reasoning_details" {
			a.Speaker = chatSpeaker{"reasoning"}
		}
		apis := []string{""}
		if p.Responses {
			apis = []string{"", openai.Chat, openai.Responses}
		}
		all := providertest.WireCases(t, a)
		for _, api := range apis {
			name := p.Name
			if api != "" {
				name += "-" + api
			}
			cases = append(cases, providertest.WirePicked(all, name, configured(openai.Config{Preset: p.Name, API: api, Config: provider.Config{BaseURL: base[p.Name]}}),
				"hello", "knobs/all", "knobs/max_tokens", "effort/none", "effort/max", "effort/budget-12000", "tools/choice-tool", "tools/one-is-required", "output", "output/with-tools",
				"talk/ends-with-the-assistant", "calls/odd-ids", "media/image", "media/pdf", "media/audio", "thinking/with-calls", "thinking/later", "cache/long", "models")...)
		}
	}
	details := &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look", Arguments: json.RawMessage(`{}`)}},
		Content: []llm.Block{llm.Thinking("Hm.", &llm.Opaque{Provider: "openrouter", Data: json.RawMessage(`[{"type":"reasoning.text","index":0,"text":"Hm.","signature":"sig"},{"type":"reasoning.encrypted","data":"xyz"}]`)})}}
	cases = append(cases, providertest.WireCase{Name: "openrouter/thinking/details", Open: configured(openai.Config{Preset: "openrouter"}), Request: request(llm.UserText("Look"), details)})
	providertest.Wire(t, "presets", cases)
}

// TestWire_Config sends requests with everything that can be configured.
func TestWire_Config(t *testing.T) {
	quiet(t)
	all := providertest.WireCases(t, chatAdapter)
	var cases []providertest.WireCase
	for _, c := range []struct {
		name   string
		config openai.Config
	}{
		{"default", openai.Config{}},
		{"organization", openai.Config{Organization: "org-1", Project: "proj-1"}},
		{"summary-detailed", openai.Config{Summary: "detailed"}},
		{"summary-none", openai.Config{Summary: "none"}},
		{"strict-tools", openai.Config{StrictTools: true}},
		{"strict-tools-chat", openai.Config{StrictTools: true, API: openai.Chat}},
		{"extra", openai.Config{Extra: map[string]any{"service_tier": "flex", "store": true, "metadata": map[string]string{"team": "blue"}, "user": nil}}},
		{"extra-chat", openai.Config{API: openai.Chat, Extra: map[string]any{"temperature": 0.1, "top_k": 5, "stream_options": map[string]any{"include_usage": false}}}},
		{"headers", openai.Config{Config: provider.Config{Headers: map[string]string{"x-team": "blue", "Accept": "text/plain", "Host": "other.example"}}}},
		{"authorization", openai.Config{Config: provider.Config{Headers: map[string]string{"authorization": "Bearer own"}}}},
		{"base-slash", openai.Config{Config: provider.Config{BaseURL: "https://x.test/"}}},
		{"base-path", openai.Config{Config: provider.Config{BaseURL: "https://x.test/proxy/v9"}}},
		{"base-path-slash", openai.Config{Config: provider.Config{BaseURL: "https://x.test/proxy/v9//"}}},
		{"base-query", openai.Config{Config: provider.Config{BaseURL: "https://x.test/proxy?api-version=1"}}},
		{"base-user", openai.Config{Config: provider.Config{BaseURL: "https://me:pw@x.test/a%2Fb/v1"}}},
		{"azure-path", openai.Config{Preset: "azure", Config: provider.Config{BaseURL: "https://me.openai.azure.com/openai/v1/"}}},
		{"azure-token", openai.Config{Preset: "azure", Config: provider.Config{BaseURL: "https://me.openai.azure.com", Headers: map[string]string{"Authorization": "Bearer entra"}}}},
		{"azure-own-key", openai.Config{Preset: "azure", Config: provider.Config{BaseURL: "https://me.openai.azure.com", Headers: map[string]string{"api-key": "own"}}}},
		{"compatible", openai.Config{Config: provider.Config{BaseURL: "http://localhost:8000/v1"}}},
	} {
		cases = append(cases, providertest.WirePicked(all, c.name, configured(c.config), "hello", "effort/low", "effort/none", "tools", "output/open", "models")...)
	}
	providertest.Wire(t, "config", cases)
}
