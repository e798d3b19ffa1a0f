package llm

import "testing"

func TestFindModel(t *testing.T) {
	t.Parallel()
	list := []ModelInfo{{ID: "gpt-5.5", ContextWindow: 1}, {ID: "qwen3:latest", ContextWindow: 2}, {ID: "Gemini-X", ContextWindow: 3}}
	for name, want := range map[string]int{"gpt-5.5": 1, "GPT-5.5": 1, "qwen3": 2, "qwen3:latest": 2, "models/gemini-x": 3, "qwen3:8b": 0, "": 0} {
		if got, ok := FindModel(list, name); got.ContextWindow != want || ok != (want > 0) {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
