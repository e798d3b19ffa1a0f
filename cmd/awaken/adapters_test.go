package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// The original's adapters, except github_copilot, which needs a person who signs in.
func TestAdapters_ThoseOfTheOriginalOpen(t *testing.T) {
	for adapter, path := range map[string]string{"anthropic": "/v1/messages", "openai": "/v1/chat/completions", "openai_resp": "/v1/responses", "openai-resp": "/v1/responses", "responses": "/v1/responses",
		"deepseek": "/chat/completions", "ollama": "/api/chat", "ollama_cloud": "/api/chat", "cohere": "/chat/completions", "together": "/chat/completions", "fireworks": "/chat/completions",
		"groq": "/chat/completions", "xai": "/chat/completions", "zai": "/chat/completions", "bigmodel": "/chat/completions", "aliyun": "/chat/completions", "mimo": "/chat/completions",
		"nebius": "/chat/completions", "gemini": "/v1beta/models/x:streamGenerateContent"} {
		t.Run(adapter, func(t *testing.T) {
			asked := ""
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.Path
				w.WriteHeader(http.StatusTeapot)
			}))
			defer web.Close()
			m, err := outbound{}.openProvider(&awaken.ProviderSpec{ID: "p", Adapter: adapter, APIKey: awaken.NewSecret("k"), BaseURL: web.URL}, "")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = llm.Generate(t.Context(), m, &llm.Request{Model: "x", Messages: llm.NewMessages(llm.UserText("hi"))})
			if !strings.HasSuffix(asked, path) {
				t.Errorf("the request goes to %s, want %s", asked, path)
			}
		})
	}
}

func TestAdapters_OllamaCloudNeedsAKey(t *testing.T) {
	t.Setenv("OLLAMA_API_KEY", "")
	if _, err := (outbound{}).openProvider(&awaken.ProviderSpec{ID: "p", Adapter: "ollama_cloud"}, ""); err == nil || !strings.Contains(err.Error(), "OLLAMA_API_KEY") {
		t.Errorf("%v", err)
	}
}
