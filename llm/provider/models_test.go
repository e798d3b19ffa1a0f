package provider

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

func TestReadModels_ReadsTheFormatsOfAllProviders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want []llm.ModelInfo
	}{
		"openai":   {`{"object":"list","data":[{"id":"gpt-5.5","object":"model","created":1,"owned_by":"openai"}]}`, []llm.ModelInfo{{ID: "gpt-5.5"}}},
		"groq":     {`{"data":[{"id":"llama","context_window":131072,"max_completion_tokens":32768}]}`, []llm.ModelInfo{{ID: "llama", ContextWindow: 131072, MaxOutputTokens: 32768}}},
		"mistral":  {`{"data":[{"id":"large","max_context_length":128000,"capabilities":{"vision":true}}]}`, []llm.ModelInfo{{ID: "large", ContextWindow: 128000}}},
		"vllm":     {`{"data":[{"id":"qwen","max_model_len":40960}]}`, []llm.ModelInfo{{ID: "qwen", ContextWindow: 40960}}},
		"together": {`[{"id":"a","context_length":4096},{"id":"b","context_length":8192.0}]`, []llm.ModelInfo{{ID: "a", ContextWindow: 4096}, {ID: "b", ContextWindow: 8192}}},
		"openrouter": {`{"data":[{"id":"v/m","context_length":200000,"architecture":{"input_modalities":["text","image","file","smell"],"output_modalities":["text"]},"top_provider":{"context_length":1,"max_completion_tokens":64000},"supported_parameters":["reasoning","temperature","max_tokens"]},{"id":"v/n","supported_parameters":["top_p"]}]}`, []llm.ModelInfo{
			{ID: "v/m", ContextWindow: 200000, MaxOutputTokens: 64000, Input: []string{"text", "image", "pdf"}, Output: []string{"text"}, Capabilities: llm.ModelCapabilities{Reasoning: llm.ReasoningLevels, Temperature: new(true), TopP: new(false), Seed: new(false)}},
			{ID: "v/n", Capabilities: llm.ModelCapabilities{Reasoning: llm.NoReasoning, Temperature: new(false), TopP: new(true), Seed: new(false)}}}},
		"anthropic": {`{"data":[{"type":"model","id":"claude-x","max_input_tokens":200000,"max_tokens":64000,"capabilities":{"image_input":{"supported":true},"pdf_input":{"supported":false},"thinking":{"supported":true,"types":{"adaptive":{"supported":true},"enabled":{"supported":true}}}}},` +
			`{"id":"claude-y","capabilities":{"thinking":{"supported":true,"types":{"adaptive":{"supported":false},"enabled":{"supported":true}}}}},{"id":"claude-z","capabilities":{"thinking":{"supported":false}}}],"has_more":false}`, []llm.ModelInfo{
			{ID: "claude-x", ContextWindow: 200000, MaxOutputTokens: 64000, Input: []string{"text", "image"}, Capabilities: leveled}, {ID: "claude-y", Capabilities: budgeted}, {ID: "claude-z", Capabilities: unreasoning}}},
		"gemini":     {`{"models":[{"name":"models/gemini-x","inputTokenLimit":1048576,"outputTokenLimit":65536}]}`, []llm.ModelInfo{{ID: "gemini-x", ContextWindow: 1048576, MaxOutputTokens: 65536}}},
		"documented": {`{"data":[{"id":"m","context_size":1000,"max_output_tokens":100,"modalities":{"input":["text","audio"],"output":["text"]},"knowledge_cutoff":"2026-01"}]}`, []llm.ModelInfo{{ID: "m", ContextWindow: 1000, MaxOutputTokens: 100, Input: []string{"text", "audio"}, Output: []string{"text"}, KnowledgeCutoff: "2026-01"}}},
		"nonsense":   {`{"data":[{"id":"m","context_window":"many","max_output_tokens":-5,"modalities":["text"],"knowledge_cutoff":"lately","top_provider":7},{"id":7},{}]}`, []llm.ModelInfo{{ID: "m"}}},
		"too much":   {`{"data":[{"id":"m","context_window":10,"max_output_tokens":11}]}`, []llm.ModelInfo{{ID: "m", ContextWindow: 10}}},
		"nothing":    {`{}`, nil},
	} {
		got, err := readModels([]byte(c.body))
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, d)
		}
	}
	for _, body := range []string{"", "<html>", `{"data":7}`, `"models"`} {
		if list, err := readModels([]byte(body)); err == nil {
			t.Errorf("%q is read as %v", body, list)
		}
	}
}

// Whatever a provider sends, the result is plausible.
func FuzzReadModels(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"m","context_window":10,"max_output_tokens":5,"modalities":{"input":["text"]},"knowledge_cutoff":"2026-01"}]}`))
	f.Add([]byte(`[{"name":"models/m","inputTokenLimit":1e300}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := readModels(body)
		if err != nil && list != nil {
			t.Error("a list and an error")
		}
		for _, m := range list {
			bad := m.ID == "" || m.ContextWindow < 0 || m.MaxOutputTokens < 0 || m.ContextWindow > 0 && m.MaxOutputTokens > m.ContextWindow
			for _, s := range slices.Concat(m.Input, m.Output) {
				bad = bad || !slices.Contains([]string{"text", "image", "audio", "video", "pdf"}, s)
			}
			if bad {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestKnown(t *testing.T) {
	t.Parallel()
	for model, want := range map[string][2]int{
		"gpt-5.5": {1_050_000, 128_000}, "gpt-5.5-pro": {1_050_000, 128_000}, "gpt-5-mini": {400_000, 128_000}, "gpt-4o-mini-2024-07-18": {128_000, 16_384}, "gpt-4.1-nano": {1_047_576, 32_768},
		"o1-pro": {200_000, 100_000}, "o3": {200_000, 100_000}, "o10": {}, "gpt-55": {}, "": {}, "qwen3": {},
		"claude-opus-4-7": {1_000_000, 128_000}, "anthropic/claude-opus-4.7": {1_000_000, 128_000}, "claude-opus-4-1-20250805": {200_000, 32_000}, "claude-3-5-haiku-latest": {200_000, 8_192},
		"models/gemini-2.5-pro": {1_048_576, 65_536}, "publishers/google/models/gemini-2.0-flash-001": {1_048_576, 8_192},
	} {
		info, ok := Known(model)
		if got := [2]int{info.ContextWindow, info.MaxOutputTokens}; got != want || ok != (want[0] > 0) {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
}

func TestKnown_WhichModelsReason(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"gpt-4o": "none", "gpt-4o-mini": "none", "gpt-4.1": "none", "gpt-4-turbo": "none", "gpt-3.5-turbo": "none", "gpt-5-chat-latest": "none", "o1-mini": "none",
		"gpt-5": "levels", "gpt-5-mini": "levels", "gpt-5.5": "levels", "o3": "levels", "o4-mini": "levels", "openai/gpt-oss-120b": "levels",
		"claude-3-5-sonnet-20241022": "none", "claude-3-haiku-20240307": "none", "claude-2.1": "none", "us.anthropic.claude-3-5-haiku-20241022-v1:0": "none",
		"claude-3-7-sonnet-latest": "budget", "claude-sonnet-4-5": "budget", "claude-opus-4-7": "levels", "claude-opus-4-8": "", "claude-sonnet-5": "",
		"gemini-1.5-pro": "none", "gemini-2.0-flash": "none", "gemini-2.5-pro": "budget", "gemini-3-pro-preview": "levels",
		"llama3.2": "none", "llama3.2:1b": "none", "meta-llama/Llama-3.3-70B-Instruct": "none", "qwen3": "", "deepseek-r1:8b": "", "unheard": "",
	} {
		if info, _ := Known(model); info.Capabilities.Reasoning != want {
			t.Errorf("%s: %q, want %q", model, info.Capabilities.Reasoning, want)
		}
	}
}
