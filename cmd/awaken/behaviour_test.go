package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// rejects replies with an error if the model is limited, or if the Messages API would reject the
// request, in the words of the API.
func (o *oracle) rejects(w http.ResponseWriter, model string, body []byte) bool {
	o.mu.Lock()
	limit, refusal := o.limited[model], refusalOf(model, body)
	if limit == "" && refusal != "" {
		o.refused = append(o.refused, model+": "+refusal)
	}
	o.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.Contains(limit, "overloaded_error"):
		w.WriteHeader(529)
	case limit != "":
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	case refusal != "":
		w.WriteHeader(http.StatusBadRequest)
		limit = fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%q},"request_id":"req_1"}`, refusal)
	default:
		return false
	}
	_, _ = w.Write([]byte(limit))
	return true
}

// refusalOf returns why the Messages API rejects a request, or "".
func refusalOf(model string, body []byte) string {
	var q struct {
		Model         string          `json:"model"`
		MaxTokens     int             `json:"max_tokens"`
		Stream        bool            `json:"stream"`
		System        json.RawMessage `json:"system"`
		Messages      json.RawMessage `json:"messages"`
		Tools         json.RawMessage `json:"tools"`
		ToolChoice    json.RawMessage `json:"tool_choice"`
		StopSequences []string        `json:"stop_sequences"`
		Temperature   *float64        `json:"temperature"`
		TopP          *float64        `json:"top_p"`
		Thinking      *struct {
			Type    string `json:"type"`
			Budget  int    `json:"budget_tokens"`
			Display string `json:"display"`
		} `json:"thinking"`
		OutputConfig json.RawMessage `json:"output_config"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		if m := regexp.MustCompile(`unknown field "(\w+)"`).FindStringSubmatch(err.Error()); m != nil {
			return m[1] + ": Extra inputs are not permitted"
		}
		return err.Error()
	}
	limits := map[string]int{"claude-sonnet-4-20250514": 64000, "claude-3-5-haiku-20241022": 8192, "claude-sonnet-4-6": 64000}
	old, adaptive := strings.HasPrefix(model, "claude-3-5"), strings.HasSuffix(model, "-4-6")
	t := q.Thinking
	on := t != nil && t.Type != "disabled"
	switch limit := limits[model]; {
	case limit == 0:
		return "model: " + model
	case q.MaxTokens < 1:
		return "max_tokens: Field required"
	case q.MaxTokens > limit:
		return fmt.Sprintf("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", q.MaxTokens, limit, model)
	case q.OutputConfig != nil && !adaptive:
		return "This model does not support the effort parameter."
	case t == nil:
	case old:
		return fmt.Sprintf("'%s' does not support thinking.", model)
	case t.Type == "adaptive" && !adaptive:
		return "adaptive thinking is not supported on this model"
	case t.Type == "enabled" && t.Budget < 1024:
		return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
	case t.Type == "enabled" && t.Budget >= q.MaxTokens:
		return "`max_tokens` must be greater than `thinking.budget_tokens`."
	case on && q.Temperature != nil && *q.Temperature != 1:
		return "`temperature` may only be set to 1 when thinking is enabled."
	}
	return ""
}

const guide = "cmd/awaken/testdata/configure-agent-behavior.md"

// apply runs a command of the guide as an admin. Answers are JSON, which this server gives to clients
// that ask for it.
func (h *hosted) apply(line string) string {
	h.t.Helper()
	headers := fmt.Sprintf(`curl -H "Authorization: Bearer %s" -H "Accept: application/json"`, h.key)
	return runCurl(h.t, h, strings.Replace(strings.ReplaceAll(line, "http://localhost:3000", h.url), "curl", headers, 1), map[string]string{})
}

// The guide works as written with a provider that rejects what the real one rejects.
func TestGuide_Works(t *testing.T) {
	o := startOracle(t)
	h := hostResearch(t)
	lines := curlLines(t, guide)
	if len(lines) != 8 {
		t.Fatalf("the guide has %d commands, want 8", len(lines))
	}
	var answers []string
	for _, line := range lines {
		if out := h.apply(line); strings.Contains(line, "/v1/runs") {
			answers = append(answers, out)
			heard := o.heard("Find one peer-reviewed source on coral bleaching.")
			if thinks := strings.Contains(heard.Effort, `"type":"enabled"`); heard.Model != "claude-sonnet-4-20250514" || thinks != (len(answers) == 1) {
				t.Errorf("run %d asked %+v", len(answers), heard)
			}
		}
	}
	if want := []string{"One source: Hughes et al., 2017.", "I have one source only, and do not answer without a second one."}; !slices.Equal(answers, want) {
		t.Errorf("answers are %q, want %q", answers, want)
	}
	if len(o.refused) > 0 {
		t.Errorf("rejected: %q", o.refused)
	}
}

// The failover of the guide: an agent with a reasoning effort moves to a model without reasoning.
func TestGuide_FailsOver(t *testing.T) {
	for name, body := range map[string]string{
		"rate limit": `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 50 requests per minute."},"request_id":"req_1"}`,
		"overloaded": `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := startOracle(t)
			o.limited = map[string]string{"claude-sonnet-4-20250514": body}
			h := hostResearch(t)
			for _, line := range curlLines(t, guide)[:6] {
				if out := h.apply(line); strings.Contains(line, "/v1/runs") && out != "One source: Hughes et al., 2017." {
					t.Errorf("the answer is %q", out)
				}
			}
			if heard := o.heard("Find one peer-reviewed source on coral bleaching."); heard.Model != "claude-3-5-haiku-20241022" || heard.Effort != "" {
				t.Errorf("the request was %+v", heard)
			}
			if len(o.refused) > 0 {
				t.Errorf("rejected: %q", o.refused)
			}
			var diagnosed struct{ Diagnostics []struct{ Code string } }
			h.call("GET", "/v1/config/diagnostics", nil, &diagnosed)
			if !slices.ContainsFunc(diagnosed.Diagnostics, func(d struct{ Code string }) bool { return d.Code == "reasoning_unsupported" }) {
				t.Errorf("diagnostics: %+v", diagnosed)
			}
			if got := h.omitted("verify-thread"); got != `in requests to model "claude-3-5-haiku-20241022", reasoning_effort is omitted: the model does not accept it` {
				t.Errorf("the run says %q", got)
			}
		})
	}
}

// omitted returns what the diagnostics of a thread's last run say about omitted parameters.
func (h *hosted) omitted(thread string) string {
	h.t.Helper()
	var run awaken.Run
	h.call("GET", "/v1/threads/"+thread+"/runs/latest", nil, &run)
	var out []string
	for _, d := range run.Diagnostics {
		if d.Code == "parameter_omitted" {
			out = append(out, d.Message)
		}
	}
	return strings.Join(out, "; ")
}

func TestParameters_OmittedOnesAreInCapabilitiesAndOnceInTheRun(t *testing.T) {
	o := startOracle(t)
	h := hostResearch(t)
	h.call("PUT", "/v1/config/providers/anthropic-prod", map[string]any{"id": "anthropic-prod", "adapter": "anthropic"}, nil)
	h.call("PUT", "/v1/config/models/m", map[string]any{"id": "m", "provider_id": "anthropic-prod", "upstream_model": "claude-sonnet-4-6"}, nil)
	put(h, "a", map[string]any{"model_id": "m", "reasoning_effort": "low"})
	h.call("POST", "/v1/runs", map[string]any{"agent_id": "a", "thread_id": "t", "stream": false, "overrides": map[string]any{"temperature": 0.5},
		"messages": []any{map[string]string{"role": "user", "content": "SEARCH"}}}, nil)
	if got := h.omitted("t"); got != `in requests to model "claude-sonnet-4-6", temperature is omitted while the model thinks` || o.calls != 2 {
		t.Errorf("after %d requests the run says %q", o.calls, got)
	}
	if len(o.refused) > 0 {
		t.Errorf("rejected: %q", o.refused)
	}
	var out struct {
		Models []struct {
			ID      string
			Omitted []llm.Omission `json:"omitted_parameters"`
		}
	}
	h.call("GET", "/v1/capabilities", nil, &out)
	if !slices.ContainsFunc(out.Models, func(m struct {
		ID      string
		Omitted []llm.Omission `json:"omitted_parameters"`
	}) bool {
		return m.ID == "m" && slices.Contains(m.Omitted, llm.Omission{Parameter: "temperature", Reason: "omitted while the model thinks"})
	}) {
		t.Errorf("capabilities: %+v", out)
	}
}

// The sections of the guide are valid, with and without their plugins, and an agent with all of them
// runs.
func TestGuide_Sections(t *testing.T) {
	o := startOracle(t)
	h := hostResearch(t)
	for _, line := range curlLines(t, guide)[:5] {
		h.apply(line)
	}
	data, err := os.ReadFile("testdata/configure-agent-behavior.md")
	if err != nil {
		t.Fatal(err)
	}
	var agent map[string]any
	if err := json.Unmarshal(regexp.MustCompile("(?s)```json\n(.*?)\n```").FindSubmatch(data)[1], &agent); err != nil {
		t.Fatal(err)
	}
	agent["model_id"], agent["context_policy"] = "research-default", map[string]any{"max_context_tokens": 120000, "max_output_tokens": 8192}
	put(h, "sections-only", agent)
	agent["plugin_ids"] = []string{"permission", "reminder", "generative-ui", "ext-deferred-tools"}
	put(h, "with-plugins", agent)
	for _, id := range []string{"sections-only", "with-plugins"} {
		if out, end, _ := h.run(id, "Hello to "+id); out != "One source: Hughes et al., 2017." {
			t.Errorf("%s answers %q, %v", id, out, end)
		}
	}
	if len(o.refused) > 0 {
		t.Errorf("rejected: %q", o.refused)
	}
	agent["sections"].(map[string]any)["permission"].(map[string]any)["default_behavior"] = "perhaps"
	agent["id"] = "with-plugins"
	h.refused(400, "PUT", "/v1/config/agents/with-plugins", agent, "default_behavior")
}

// What the guide says is rejected, is.
func TestGuide_Rejects(t *testing.T) {
	startOracle(t)
	h := hostResearch(t)
	for _, line := range curlLines(t, guide)[:5] {
		h.apply(line)
	}
	h.refused(400, "PUT", "/v1/config/agents/a", map[string]any{"id": "a", "model": "research-default"}, "model")
	h.refused(400, "PUT", "/v1/config/models/m", map[string]any{"id": "m", "provider": "anthropic-prod", "upstream_model": "x"}, "provider")
	h.refused(400, "POST", "/v1/runs", map[string]any{"agent_id": "research-assistant", "messages": []any{map[string]string{"role": "user", "content": "hi"}},
		"overrides": map[string]string{"upstream_model": "claude-sonnet-4-6"}}, "upstream_model")
	var out struct {
		Adapters []string `json:"supported_adapters"`
		Plugins  []struct {
			ID      string
			Schemas []any `json:"config_schemas"`
		}
	}
	h.call("GET", "/v1/capabilities", nil, &out)
	if !slices.Contains(out.Adapters, "anthropic") || len(out.Plugins) == 0 {
		t.Errorf("capabilities: %+v", out)
	}
	for _, ns := range []string{"providers", "models", "model-pools", "agents", "tools", "mcp-servers", "skills"} {
		h.call("GET", "/v1/config/"+ns+"/$schema", nil, &map[string]any{})
	}
}

// refused makes a request as an admin that must be answered with a status and a text that says why.
func (h *hosted) refused(want int, method, path string, body any, says string) {
	h.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	var out strings.Builder
	status, err := curl(h.t.Context(), []string{"-X", method, "-H", "Authorization: Bearer " + h.key, "-H", "Content-Type: application/json", "-d", string(data), h.url + path}, &out)
	if err != nil || status != want || !strings.Contains(out.String(), says) {
		h.t.Errorf("%s %s %s: %d %v %s, want %d and %q", method, path, data, status, err, out.String(), want, says)
	}
}
