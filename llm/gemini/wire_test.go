package gemini

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/provider"
)

// quiet unsets the environment variables that adapters read.
func quiet(t *testing.T) {
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION",
		"GOOGLE_APPLICATION_CREDENTIALS"} {
		t.Setenv(name, "")
	}
}

func TestWire(t *testing.T) {
	quiet(t)
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-pro-preview"} {
		providertest.Wire(t, model, providertest.WireCases(t, adapter(model)))
	}
	var cases []providertest.WireCase
	for _, model := range []string{"gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-flash-preview", "gemini-flash-latest"} {
		all := providertest.WireCases(t, adapter(model))
		cases = append(cases, providertest.WirePicked(all, model, all[0].Open, "hello", "effort/none", "effort/max", "effort/budget-12000", "output/with-tools", "thinking/with-calls", "media/of-a-tool", "everything")...)
	}
	providertest.Wire(t, "models", cases)
}

// TestWire_Config sends requests to every address, and with every kind of credential.
func TestWire_Config(t *testing.T) {
	quiet(t)
	account := string(newTokens(t, http.StatusOK).account(t))
	all := providertest.WireCases(t, adapter("gemini-2.5-flash"))
	vertex := func(c Config) Config {
		c.Vertex, c.APIKey = true, account
		return c
	}
	var cases []providertest.WireCase
	for _, c := range []struct {
		name, model string
		config      Config
		names       []string
	}{
		{name: "default"},
		{name: "model-path", model: "models/gemini-2.5-flash"},
		{name: "model-tuned", model: "tunedModels/mine-1"},
		{name: "model-odd", model: "gemini 2.5#é"},
		{name: "headers", config: Config{Config: provider.Config{Headers: map[string]string{"X-Goog-User-Project": "mine"}}}},
		{name: "authorization", config: Config{Config: provider.Config{Headers: map[string]string{"authorization": "Bearer own"}}}},
		{name: "x-goog-api-key", config: Config{Config: provider.Config{Headers: map[string]string{"X-Goog-Api-Key": "own"}}}},
		{name: "base", config: Config{Config: provider.Config{BaseURL: "http://localhost:8000"}}},
		{name: "base-version", config: Config{Config: provider.Config{BaseURL: "http://localhost:8000/v1beta/"}}},
		{name: "base-path", config: Config{Config: provider.Config{BaseURL: "https://x.test/proxy/v9"}}},
		{name: "base-user", config: Config{Config: provider.Config{BaseURL: "https://me:pw@x.test/a%2Fb"}}},
		{name: "vertex", config: vertex(Config{}), names: []string{"everything", "tools", "output", "effort/high", "knobs/all", "media/of-a-tool", "thinking/with-calls", "system/several"}},
		{name: "vertex-region", config: vertex(Config{Project: "other", Location: "europe-west4"})},
		{name: "vertex-multi-region", config: vertex(Config{Location: "eu"})},
		{name: "vertex-base", config: vertex(Config{Config: provider.Config{BaseURL: "https://x.test/proxy/v1beta1"}})},
		{name: "vertex-model-publisher", model: "anthropic/claude-x", config: vertex(Config{})},
		{name: "vertex-model-publishers", model: "publishers/google/models/gemini-2.5-flash", config: vertex(Config{})},
		{name: "vertex-model-models", model: "models/mine", config: vertex(Config{})},
		{name: "vertex-model-project", model: "projects/p/locations/l/endpoints/7", config: vertex(Config{})},
		{name: "vertex-authorization", config: Config{Vertex: true, Project: "p", Config: provider.Config{Headers: map[string]string{"Authorization": "Bearer own"}}}},
		{name: "express", config: Config{Vertex: true, Config: provider.Config{APIKey: "express"}}},
		{name: "express-project", config: Config{Vertex: true, Project: "p", Location: "l", Config: provider.Config{APIKey: "express"}}},
	} {
		open := func(p provider.Config) (llm.Model, error) {
			own := c.config
			p.BaseURL, p.Headers = own.BaseURL, own.Headers
			if own.APIKey != "" || p.Authorized("Authorization", "X-Goog-Api-Key") {
				p.APIKey = own.APIKey
			}
			own.Config = p
			return New(own)
		}
		names := []string{"hello"}
		if !c.config.Vertex {
			names = append(names, "models")
		}
		picked := providertest.WirePicked(all, c.name, open, append(names, c.names...)...)
		for i := range picked {
			if c.model != "" && picked[i].Request != nil {
				own := *picked[i].Request
				own.Model = c.model
				picked[i].Request = &own
			}
		}
		cases = append(cases, picked...)
	}
	// The server is told how long the caller waits.
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	late := providertest.WirePicked(all, "deadline", all[0].Open, "hello", "models")
	for i := range late {
		late[i].Context = ctx
	}
	providertest.Wire(t, "config", append(cases, late...))
}
