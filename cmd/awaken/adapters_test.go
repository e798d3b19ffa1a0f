package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
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

// A provider without the key that it needs is not a mistake: the server says what is missing.
func TestProvider_AKeyCanBeClearedAndIsThenMissing(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "")
	h := host(t, func(*settings.Settings) {})
	provider := func(key string) (has bool) {
		t.Helper()
		h.call("PUT", "/v1/config/providers/claude", json.RawMessage(`{"id":"claude","adapter":"anthropic"`+key+`}`), nil)
		var view struct {
			Has bool `json:"has_api_key"`
		}
		h.call("GET", "/v1/config/providers/claude", nil, &view)
		return view.Has
	}
	missing := func() bool {
		t.Helper()
		var out struct {
			Diagnostics []struct{ Code, Severity string }
		}
		h.call("GET", "/v1/config/diagnostics", nil, &out)
		return slices.Contains(out.Diagnostics, struct{ Code, Severity string }{"provider_key_missing", "warning"})
	}
	if provider("") || !missing() {
		t.Error("a provider that never had a key is not reported")
	}
	h.call("PUT", "/v1/config/models/m", json.RawMessage(`{"id":"m","provider_id":"claude","upstream_model":"claude-sonnet-4-6"}`), nil)
	h.call("PUT", "/v1/config/agents/a", json.RawMessage(`{"id":"a","model_id":"m"}`), nil)
	for _, clear := range []string{`,"api_key":null`, `,"api_key":""`} {
		if !provider(`,"api_key":"sk-ant-1"`) || missing() {
			t.Error("the key is not stored")
		}
		if !provider("") {
			t.Error("a document without api_key clears it")
		}
		if provider(clear) || !missing() {
			t.Errorf("%s does not clear the key, or the missing key is not reported", clear)
		}
	}
	var tried struct {
		OK     bool `json:"ok"`
		Tested bool `json:"network_tested"`
		Error  string
	}
	h.call("POST", "/v1/providers/claude/test", nil, &tried)
	if tried.OK || tried.Tested || !strings.Contains(tried.Error, "no API key") {
		t.Errorf("its test: %+v", tried)
	}
	if _, end, _ := h.run("a", "hi"); !strings.Contains(end.Message, "no API key") {
		t.Errorf("a run ends with %+v", end)
	}
}
