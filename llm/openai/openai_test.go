package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
)

// wire is a server without a network: it records requests and responds.
type wire struct {
	url    string
	header http.Header
	body   map[string]any
	reply  string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.url, w.header, w.body = r.URL.String(), r.Header, nil
	if err := json.Unmarshal(data, &w.body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(w.reply)), Request: r}, nil
}

const done = `data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func (w *wire) open(t testing.TB, c openai.Config) *openai.Model {
	t.Helper()
	if w.reply == "" {
		w.reply = done
	}
	c.HTTPClient = &http.Client{Transport: w}
	if c.APIKey == "" {
		c.APIKey = "k"
	}
	m, err := openai.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func generate(t testing.TB, m llm.Model, req *llm.Request) *llm.Reply {
	t.Helper()
	r, err := llm.Generate(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func request(msgs ...*llm.Message) *llm.Request {
	if msgs == nil {
		msgs = []*llm.Message{llm.UserText("Hi")}
	}
	return &llm.Request{Model: "m", Messages: llm.NewMessages(msgs...)}
}

// laterPresets are the presets that no SDK was used with, and what they send of a request for
// everything: with high effort, with a budget, and with reasoning turned off.
var laterPresets = map[string][3]string{
	"cohere":   {`{"max_tokens":9,"reasoning_effort":"high","response_format":"json_schema","seed":7,"stream_options":{"include_usage":true},"tool_choice":"required"}`, `"reasoning_effort":"high"`, `"reasoning_effort":"none"`},
	"zai":      {`{"max_tokens":9,"response_format":"json_object","seed":7,"thinking":{"type":"enabled"},"tool_choice":"auto"}`, `"thinking":{"type":"enabled"}`, `"thinking":{"type":"disabled"}`},
	"bigmodel": {`{"max_tokens":9,"response_format":"json_object","seed":7,"thinking":{"type":"enabled"},"tool_choice":"auto"}`, `"thinking":{"type":"enabled"}`, `"thinking":{"type":"disabled"}`},
	"aliyun":   {`{"enable_thinking":true,"max_tokens":9,"parallel_tool_calls":true,"response_format":"json_object","seed":7,"stream_options":{"include_usage":true},"tool_choice":"auto"}`, `"enable_thinking":true,"max_tokens":9,"parallel_tool_calls":true,"response_format":"json_object","seed":7,"stream_options":{"include_usage":true},"thinking_budget":5000`, `"enable_thinking":false`},
	"mimo":     {`{"max_completion_tokens":9,"response_format":"json_object","seed":7,"stream_options":{"include_usage":true},"thinking":{"type":"enabled"},"tool_choice":"auto"}`, `"thinking":{"type":"enabled"}`, `"thinking":{"type":"disabled"}`},
	"nebius":   {`{"max_tokens":9,"reasoning_effort":"high","response_format":"json_schema","seed":7,"stream_options":{"include_usage":true},"tool_choice":"required"}`, `"reasoning_effort":"medium"`, `"reasoning_effort":"none"`},
}

func TestPresets_SayWhatTheyOmit(t *testing.T) {
	for preset, want := range map[string]string{"mistral": "reasoning_effort", "together": "parallel_tools", "groq": ""} {
		w := &wire{}
		if got := strings.Join(w.open(t, openai.Config{Preset: preset}).Knowledge("m").Capabilities().Refused(), " "); got != want {
			t.Errorf("%s omits %q, want %q", preset, got, want)
		}
	}
}

func TestPresets_SendWhatTheirServersTake(t *testing.T) {
	for preset, want := range laterPresets {
		for i, e := range []llm.Effort{{Level: "high"}, {Budget: 5000}, {Level: "none"}} {
			w := &wire{reply: done}
			req := request()
			req.Tools = []llm.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}}
			req.Params = llm.Params{MaxTokens: new(9), Seed: new(int64(7)), ParallelTools: new(true), ToolChoice: &llm.ToolChoice{Mode: "required"}, ReasoningEffort: &e,
				Output: &llm.OutputSchema{Name: "out", Schema: json.RawMessage(`{"type":"object"}`)}}
			generate(t, w.open(t, openai.Config{Preset: preset}), req)
			got := w.body
			for _, name := range []string{"model", "messages", "tools", "stream"} {
				delete(got, name)
			}
			got["response_format"] = got["response_format"].(map[string]any)["type"]
			text, _ := json.Marshal(got)
			if i == 0 && string(text) != want[0] || !strings.Contains(string(text), want[i]) {
				t.Errorf("%s with effort %+v sends %s, want %s", preset, e, text, want[i])
			}
		}
	}
}

func TestPresets_HaveTheirBaseURLAndKey(t *testing.T) {
	for _, name := range []string{"OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"} {
		t.Setenv(name, "")
	}
	for preset, want := range map[string]string{
		"openai": "https://api.openai.com/v1/responses", "deepseek": "https://api.deepseek.com/v1/chat/completions", "groq": "https://api.groq.com/openai/v1/chat/completions",
		"mistral": "https://api.mistral.ai/v1/chat/completions", "xai": "https://api.x.ai/v1/chat/completions", "openrouter": "https://openrouter.ai/api/v1/chat/completions",
		"together": "https://api.together.xyz/v1/chat/completions", "fireworks": "https://api.fireworks.ai/inference/v1/chat/completions",
		"cohere": "https://api.cohere.ai/compatibility/v1/chat/completions", "zai": "https://api.z.ai/api/paas/v4/chat/completions", "bigmodel": "https://open.bigmodel.cn/api/paas/v4/chat/completions",
		"aliyun": "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions", "mimo": "https://api.xiaomimimo.com/v1/chat/completions", "nebius": "https://api.tokenfactory.nebius.com/v1/chat/completions",
	} {
		w := &wire{}
		for range w.open(t, openai.Config{Preset: preset}).Stream(t.Context(), request()) {
		}
		if w.url != want || w.header.Get("Authorization") != "Bearer k" {
			t.Errorf("%s: %s, %s", preset, w.url, w.header.Get("Authorization"))
		}
	}
	w := &wire{}
	for range w.open(t, openai.Config{Preset: "azure", Config: provider.Config{BaseURL: "https://me.openai.azure.com"}}).Stream(t.Context(), request()) {
	}
	if w.url != "https://me.openai.azure.com/openai/v1/responses" || w.header.Get("Api-Key") != "k" || w.header.Get("Authorization") != "" {
		t.Errorf("azure: %s %v", w.url, w.header)
	}
	generate(t, w.open(t, openai.Config{Config: provider.Config{BaseURL: "http://localhost:8000"}}), request())
	if w.reply = done; w.url != "http://localhost:8000/v1/chat/completions" {
		t.Errorf("compatible: %s", w.url)
	}
	t.Setenv("OPENAI_ORG_ID", "org-of-the-environment")
	generate(t, w.open(t, openai.Config{Preset: "groq"}), request())
	if strings.Contains(strings.Join(w.header.Values("Openai-Organization"), ""), "org") {
		t.Error("the organization was sent to another provider")
	}
}

// A configured header replaces the key, and takes precedence over it.
func TestNew_AcceptsCredentialsInHeaders(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("AZURE_OPENAI_API_KEY", "")
	for _, c := range []struct {
		preset, header, want string
		headers              map[string]string
	}{
		{"openai", "Authorization", "Bearer own", map[string]string{"authorization": "Bearer own"}},
		{"azure", "Authorization", "Bearer entra", map[string]string{"Authorization": "Bearer entra"}},
		{"azure", "Api-Key", "own", map[string]string{"api-key": "own"}},
	} {
		w := &wire{reply: done}
		m, err := openai.New(openai.Config{Preset: c.preset, Config: provider.Config{BaseURL: "http://x.test", Headers: c.headers, HTTPClient: &http.Client{Transport: w}}})
		if err != nil {
			t.Fatal(err)
		}
		for range m.Stream(t.Context(), request()) {
		}
		if got := w.header.Get(c.header); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.preset, c.header, got, c.want)
		}
	}
}

func TestNew_ErrorsNameWhatIsMissing(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"} {
		t.Setenv(name, "")
	}
	key := provider.Config{APIKey: "k"}
	for want, c := range map[string]openai.Config{
		"openai: no API key: configure a key or a key file, or set OPENAI_API_KEY": {},
		"azure: no base URL: configure one, or set AZURE_OPENAI_ENDPOINT":          {Config: key, Preset: "azure"},
		`preset "oracle" not found; available: openai, `:                           {Config: key, Preset: "oracle"},
		`api is "soap", want responses or chat`:                                    {Config: key, API: "soap"},
		`base URL is "x y", want an http or https URL`:                             {Config: provider.Config{APIKey: "k", BaseURL: "x y"}},
		"no base URL": {Config: key, Preset: "compatible"},
		"key file: open /nowhere: no such file or dir": {Config: provider.Config{KeyFile: "/nowhere", BaseURL: "http://x"}},
	} {
		if _, err := openai.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAPI_IsChosenByWhatTheRequestNeeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*llm.Request)
		chat   bool
	}{
		"plain": {func(*llm.Request) {}, false},
		"stop":  {func(r *llm.Request) { r.StopSequences = []string{"END"} }, true},
		"seed":  {func(r *llm.Request) { r.Seed = new(int64(1)) }, true},
		"audio": {func(r *llm.Request) {
			r.Messages = llm.NewMessages(&llm.Message{Role: llm.User, Content: []llm.Block{{Type: llm.AudioBlock, Source: llm.Base64("audio/wav", "UklG")}}})
		}, true},
	} {
		w := &wire{}
		req := request()
		c.change(req)
		for range w.open(t, openai.Config{Config: provider.Config{BaseURL: "https://api.openai.com/v1"}}).Stream(t.Context(), req) {
		}
		if strings.HasSuffix(w.url, "/chat/completions") != c.chat {
			t.Errorf("%s: %s", name, w.url)
		}
	}
	req := request()
	req.Seed = new(int64(1))
	_, err := llm.Generate(t.Context(), (&wire{}).open(t, openai.Config{API: openai.Responses, Config: provider.Config{BaseURL: "http://x"}}), req)
	if llm.KindOf(err) != llm.InvalidRequest {
		t.Errorf("a seed for Responses: %v", err)
	}
}

func chunk(delta string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
}

const toolDone = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"

// lastAssistant returns the assistant's last message as sent.
func (w *wire) lastAssistant() map[string]any {
	var last map[string]any
	for _, m := range w.body["messages"].([]any) {
		if m := m.(map[string]any); m["role"] == "assistant" {
			last = m
		}
	}
	return last
}

func TestDeepSeek_ReasoningIsSentBackWithItsCalls(t *testing.T) {
	t.Parallel()
	w := &wire{reply: chunk(`{"reasoning_content":"Let me "}`) + chunk(`{"reasoning_content":"look."}`) +
		chunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}`) + toolDone}
	m := w.open(t, openai.Config{Preset: "deepseek"})
	r := generate(t, m, request())
	w.reply = done
	answer := &llm.Message{Role: llm.ToolRole, ToolCallID: "c1", Content: []llm.Block{llm.Text("seen")}}
	generate(t, m, request(llm.UserText("Hi"), r.Message, answer))
	if got := w.lastAssistant()["reasoning_content"]; got != "Let me look." {
		t.Errorf("sent back: %v", got)
	}
	generate(t, w.open(t, openai.Config{Preset: "groq"}), request(llm.UserText("Hi"), r.Message, answer))
	if got := w.lastAssistant()["reasoning_content"]; got != nil {
		t.Errorf("sent to another: %v", got)
	}
	generate(t, m, request(llm.UserText("Hi"), &llm.Message{Role: llm.Assistant, Content: append(r.Message.Content[:1:1], llm.Text("42"))}, llm.UserText("And?")))
	if got := w.lastAssistant()["reasoning_content"]; got != nil {
		t.Errorf("sent back without calls: %v", got)
	}
}

func TestOpenRouter_ReasoningDetailsAreSentBack(t *testing.T) {
	t.Parallel()
	w := &wire{reply: chunk(`{"reasoning":"Let ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"Let "}]}`) +
		chunk(`{"reasoning":"me.","reasoning_details":[{"type":"reasoning.text","index":0,"text":"me.","signature":"sig"}]}`) +
		chunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}`) +
		chunk(`{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"xyz"}]}`) + toolDone}
	m := w.open(t, openai.Config{Preset: "openrouter"})
	r := generate(t, m, request())
	w.reply = done
	req := request(llm.UserText("Hi"), r.Message)
	req.ReasoningEffort = &llm.Effort{Budget: 1000}
	generate(t, m, req)
	want := []any{map[string]any{"type": "reasoning.text", "index": 0.0, "text": "Let me.", "signature": "sig"}, map[string]any{"type": "reasoning.encrypted", "index": 1.0, "data": "xyz"}}
	if d := cmp.Diff(any(want), w.lastAssistant()["reasoning_details"]); d != "" {
		t.Errorf("sent back (-want +got):\n%s", d)
	}
	if d := cmp.Diff(any(map[string]any{"max_tokens": 1000.0}), w.body["reasoning"]); d != "" {
		t.Error(d)
	}
}

func TestMistral_GetsItsOwnFieldsAndIDs(t *testing.T) {
	t.Parallel()
	w := &wire{reply: chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]}`) + chunk(`{"content":"42"}`) + toolDone}
	req := request(llm.UserText("Hi"), &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "call_from_elsewhere", Name: "look"}}},
		&llm.Message{Role: llm.ToolRole, ToolCallID: "call_from_elsewhere"}, llm.NewText(llm.Assistant, "Half an ans"))
	req.Seed, req.MaxTokens, req.Tools, req.ToolChoice = new(int64(7)), new(100), []llm.Tool{{Name: "look"}}, &llm.ToolChoice{Mode: "required"}
	r := generate(t, w.open(t, openai.Config{Preset: "mistral"}), req)
	if r.Message.Content[0].Text != "Hm." || r.Message.Text() != "42" {
		t.Errorf("%+v", r.Message)
	}
	if w.body["random_seed"] != 7.0 || w.body["seed"] != nil || w.body["max_tokens"] != 100.0 || w.body["tool_choice"] != "any" || w.body["stream_options"] != nil {
		t.Errorf("%v", w.body)
	}
	msgs := w.body["messages"].([]any)
	id := msgs[1].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)["id"].(string)
	if len(id) != 9 || msgs[2].(map[string]any)["tool_call_id"] != id || msgs[len(msgs)-1].(map[string]any)["role"] != "user" {
		t.Errorf("%v", msgs)
	}
}

func TestResponses_ItemsAreSentBackInTheirOrder(t *testing.T) {
	t.Parallel()
	parts, end := responsesSpeaker{}.Speak(providertest.Reply{Finish: llm.ToolUse, Parts: []providertest.Part{{Opaque: "one"}, {Call: &providertest.Call{ID: "c1", Name: "look", Args: []string{"{}"}}},
		{Opaque: "two"}, {Text: []string{"And"}}, {Call: &providertest.Call{ID: "c2", Name: "look", Args: []string{"{}"}}}}})
	w := &wire{reply: string(bytes.Join(append(parts, end...), nil))}
	m := w.open(t, openai.Config{API: openai.Responses})
	r := generate(t, m, request())
	generate(t, m, request(llm.UserText("Hi"), r.Message))
	var got []string
	for _, it := range w.body["input"].([]any)[1:] {
		it := it.(map[string]any)
		switch {
		case it["type"] == "reasoning":
			got = append(got, it["encrypted_content"].(string))
		case it["role"] != nil:
			got = append(got, it["content"].(string))
		default:
			got = append(got, it["type"].(string)+" "+it["call_id"].(string))
		}
	}
	if want := "one, function_call c1, two, And, function_call c2, function_call_output c1, function_call_output c2"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestOutput_IsStrictIfTheMeaningStays(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                 true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}}},"required":["a"]}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                                                                                                  false,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                                                                                              false,
		`{"type":"object","properties":{"a":{"allOf":[{"type":"string"}]}},"required":["a"]}`:                                                                     false,
		`{"type":"array","items":{"type":"string"}}`:                                                                                                              false,
		`{"type":"object","properties":{"a":{"type":"string","format":"uri"}},"required":["a"]}`:                                                                  false,
		`{"type":"object","properties":{"a":{}},"required":["a"]}`:                                                                                                false,
	} {
		w := &wire{}
		req := request()
		req.Output = &llm.OutputSchema{Name: "o", Schema: json.RawMessage(schema)}
		generate(t, w.open(t, openai.Config{API: openai.Chat}), req)
		js := w.body["response_format"].(map[string]any)["json_schema"].(map[string]any)
		closed := js["schema"].(map[string]any)["additionalProperties"] == false
		if js["strict"] != want || want != closed {
			t.Errorf("%s: %v", schema, js)
		}
	}
}

// BenchmarkStream reads a stream of 1000 chunks through all layers except the network.
func BenchmarkStream(b *testing.B) {
	for name, api := range map[string]string{"chat": openai.Chat, "responses": openai.Responses} {
		b.Run(name, func(b *testing.B) {
			pieces := make([]string, 1000)
			for i := range pieces {
				pieces[i] = " word"
			}
			reply := providertest.Reply{Parts: []providertest.Part{{Text: pieces}}, Finish: llm.EndTurn}
			parts, end := chatSpeaker{"reasoning_content"}.Speak(reply)
			if api == openai.Responses {
				parts, end = responsesSpeaker{}.Speak(reply)
			}
			w := &wire{reply: string(bytes.Join(append(parts, end...), nil))}
			m := w.open(b, openai.Config{API: api})
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), request()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/chunk")
		})
	}
}
