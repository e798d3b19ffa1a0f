package ollama_test

import (
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/ollama"
	"github.com/awaken-go/awaken/llm/provider"
)

func TestWire(t *testing.T) {
	t.Setenv("OLLAMA_HOST", "")
	all := providertest.WireCases(t, adapter)
	full := func(c provider.Config) (llm.Model, error) {
		c.BaseURL = "https://x.test/proxy/api/"
		return ollama.New(ollama.Config{Config: c, KeepAlive: "30m", ContextTokens: 8192, Options: map[string]any{"top_k": 5}})
	}
	providertest.Wire(t, "chat", append(all, providertest.WirePicked(all, "configured", full, "hello", "knobs/all", "models")...))
}
