package openai_test

import (
	"os"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
)

func open(api, preset string) func(testing.TB, provider.Config) llm.Model {
	return func(t testing.TB, c provider.Config) llm.Model {
		m, err := openai.New(openai.Config{Config: c, Preset: preset, API: api})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

var (
	responsesAdapter = providertest.Adapter{Open: open(openai.Responses, "openai"), Speaker: responsesSpeaker{}, Provider: "openai", Model: "gpt-5.5",
		Cannot: []providertest.Power{providertest.Seed, providertest.Stop, providertest.Audio, providertest.CacheMarks}}
	chatAdapter = providertest.Adapter{Open: open(openai.Chat, "openai"), Speaker: chatSpeaker{"reasoning_content"}, Provider: "openai", Model: "gpt-5.5",
		Cannot: []providertest.Power{providertest.Opaque, providertest.CacheMarks}}
)

func TestResponses_Conformance(t *testing.T) {
	t.Parallel()
	providertest.Test(t, responsesAdapter)
}

func TestChat_Conformance(t *testing.T) {
	t.Parallel()
	providertest.Test(t, chatAdapter)
}

func TestResponses_Capabilities(t *testing.T) {
	providertest.Capabilities(t, responsesAdapter, "gpt-4o", "unheard")
}

func TestChat_Capabilities(t *testing.T) {
	for _, model := range []string{"gpt-4.1-mini", "gpt-3.5-turbo", "gpt-4-turbo"} {
		providertest.Capabilities(t, chatAdapter, model, "unheard")
	}
}

func TestResponses_Faults(t *testing.T) { providertest.Faults(t, responsesAdapter) }

func TestChat_Faults(t *testing.T) { providertest.Faults(t, chatAdapter) }

// TestLive uses the API in LLM_API and the preset in LLM_PRESET.
func TestLive(t *testing.T) {
	providertest.Live(t, open(os.Getenv("LLM_API"), os.Getenv("LLM_PRESET")))
}

func FuzzResponses(f *testing.F) { providertest.Fuzz(f, responsesAdapter) }

func FuzzChat(f *testing.F) { providertest.Fuzz(f, chatAdapter) }
