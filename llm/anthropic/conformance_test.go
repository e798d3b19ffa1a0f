package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/provider"
)

var adapter = providertest.Adapter{
	Open: func(t testing.TB, c provider.Config) llm.Model {
		m, err := New(Config{Config: c})
		if err != nil {
			t.Fatal(err)
		}
		return m
	},
	Speaker:  speaker{},
	Provider: Name,
	Model:    "claude-sonnet-4-5",
	Cannot: []providertest.Power{
		providertest.Seed, providertest.CacheKey, providertest.Audio,
		providertest.Stop, // the cases have one that is blank, which the API refuses
	},
}

func TestConformance(t *testing.T) { providertest.Test(t, adapter) }

func TestCapabilities(t *testing.T) {
	for _, model := range []string{"claude-3-5-haiku-latest", "anthropic.claude-3-opus-20240229-v1:0"} {
		providertest.Capabilities(t, adapter, model, "glm-4.6")
	}
}

func TestFaults(t *testing.T) { providertest.Faults(t, adapter) }

func TestLive(t *testing.T) { providertest.Live(t, adapter.Open) }

func FuzzStream(f *testing.F) { providertest.Fuzz(f, adapter) }

// speaker is the server side of the Messages API.
type speaker struct{}

// Models lists models.
func (speaker) Models(key string) (http.Handler, []llm.ModelInfo) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.URL.RawQuery != "limit=1000" || r.Header.Get("X-Api-Key") != key || r.Header.Get("Anthropic-Version") == "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[{"type":"model","id":"claude-opus-4-7","display_name":"Opus","created_at":"2026-01-01T00:00:00Z","max_input_tokens":1000000,"max_tokens":128000,`+
			`"capabilities":{"image_input":{"supported":true},"pdf_input":{"supported":true}}}],"has_more":false,"first_id":"claude-opus-4-7","last_id":"claude-opus-4-7"}`)
	}), []llm.ModelInfo{{ID: "claude-opus-4-7", ContextWindow: 1000000, MaxOutputTokens: 128000, Input: []string{"text", "image", "pdf"}}}
}

func frame(event string) []byte {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal([]byte(event), &head); err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", head.Type, event)
}

func (speaker) Speak(r providertest.Reply) (parts, end [][]byte) {
	u := llm.Usage{}
	if r.Usage != nil {
		u = *r.Usage
	}
	add := func(format string, args ...any) { parts = append(parts, frame(fmt.Sprintf(format, args...))) }
	add(`{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":0}}}`,
		u.PromptTokens-u.CacheReadTokens-u.CacheCreationTokens, u.CacheCreationTokens, u.CacheReadTokens)
	index := -1
	start := func(block string) {
		index++
		add(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
		if index == 0 {
			add(`{"type":"ping"}`)
		}
	}
	grow := func(i int, kind, field, value string) {
		add(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, i, kind, field, providertest.Show(value))
	}
	stop := func(i int) { add(`{"type":"content_block_stop","index":%d}`, i) }
	call := func(c *providertest.Call) {
		start(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, providertest.Show(c.ID), providertest.Show(c.Name)))
	}
	thinking := false // a block of it is open
	closeThinking := func() {
		if thinking {
			stop(index)
		}
		thinking = false
	}
	for _, p := range r.Parts {
		if p.Opaque == "" {
			closeThinking()
		}
		switch {
		case len(p.Reasoning) > 0:
			start(`{"type":"thinking","thinking":"","signature":""}`)
			thinking = true
			for _, s := range p.Reasoning {
				grow(index, "thinking_delta", "thinking", s)
			}
		case p.Opaque != "" && thinking:
			grow(index, "signature_delta", "signature", p.Opaque)
			closeThinking()
		case p.Opaque != "":
			start(fmt.Sprintf(`{"type":"redacted_thinking","data":%s}`, providertest.Show(p.Opaque)))
			stop(index)
		case p.Call != nil:
			call(p.Call)
			for _, s := range p.Call.Args {
				grow(index, "input_json_delta", "partial_json", s)
			}
			stop(index)
		case len(p.Mixed) > 0:
			first := index + 1
			most := 0
			for i := range p.Mixed {
				call(&p.Mixed[i])
				most = max(most, len(p.Mixed[i].Args))
			}
			for n := range most {
				for i, c := range p.Mixed {
					if n < len(c.Args) {
						grow(first+i, "input_json_delta", "partial_json", c.Args[n])
					}
				}
			}
			for i := range p.Mixed {
				stop(first + i)
			}
		default:
			start(`{"type":"text","text":""}`)
			for _, s := range p.Text {
				grow(index, "text_delta", "text", s)
			}
			stop(index)
		}
	}
	closeThinking()
	reason := map[llm.FinishReason]string{llm.EndTurn: "end_turn", llm.MaxTokens: "max_tokens", llm.ToolUse: "tool_use", llm.StopSequence: "stop_sequence", "": "refusal"}[r.Finish]
	end = append(end, frame(fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}}`, reason, u.CompletionTokens, u.ThinkingTokens)),
		frame(`{"type":"message_stop"}`))
	return parts, end
}

var errorTypes = map[llm.Kind]string{
	llm.Overloaded: "overloaded_error", llm.RateLimited: "rate_limit_error", llm.Provider: "api_error", llm.Timeout: "timeout_error",
	llm.InvalidRequest: "invalid_request_error", llm.ContextOverflow: "invalid_request_error", llm.Unauthorized: "authentication_error", llm.ModelNotFound: "not_found_error",
}

func (speaker) ErrorBody(f providertest.Failure) []byte {
	return fmt.Appendf(nil, `{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_01"}`, errorTypes[f.Kind], providertest.Show(f.Message))
}

func (s speaker) ErrorFrame(f providertest.Failure) []byte { return frame(string(s.ErrorBody(f))) }

func (speaker) Read(r *http.Request, body []byte) (*providertest.Asked, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.Header.Get("Anthropic-Version") != "2023-06-01" {
		return nil, fmt.Errorf("%s %s with version %q", r.Method, r.URL.Path, r.Header.Get("Anthropic-Version"))
	}
	if err := strictly(body); err != nil {
		return nil, err
	}
	var w wireRequest
	if err := exactly(body, &w); err != nil {
		return nil, err
	}
	a := &providertest.Asked{Model: w.Model, Stream: w.Stream, Key: r.Header.Get("X-Api-Key"), Temperature: w.Temperature, TopP: w.TopP, MaxTokens: &w.MaxTokens,
		Stop: w.StopSequences, Cached: strings.Count(string(body), `"cache_control"`)}
	var system []string
	for _, b := range w.System {
		system = append(system, b.Text)
	}
	a.System = strings.Join(system, "\n\n")
	for _, t := range w.Tools {
		a.Tools = append(a.Tools, providertest.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	if c := w.ToolChoice; c != nil {
		a.Choice = map[string]string{"auto": "auto", "none": "none", "any": "required", "tool": c.Name}[c.Type]
		if c.Disable != nil {
			a.Parallel = new(!*c.Disable)
		}
	}
	if t := w.Thinking; t != nil {
		a.Effort = fmt.Sprint(t.Type, t.Budget)
	}
	if w.OutputConfig != nil && w.OutputConfig.Format != nil {
		a.Output = json.RawMessage(providertest.Show(w.OutputConfig.Format.Schema))
	}
	for _, m := range w.Messages {
		a.Turns = append(a.Turns, readTurns(m)...)
	}
	return a, nil
}

func readTurns(m wireMessage) (turns []providertest.Turn) {
	whole := providertest.Turn{Role: llm.Role(m.Role)}
	some := false
	for _, b := range m.Content {
		if b.Type == "tool_result" {
			one := providertest.Turn{Role: llm.ToolRole, CallID: b.ToolUseID}
			for _, c := range b.Content {
				readBlock(&one, c)
			}
			turns = append(turns, one)
			continue
		}
		some = true
		readBlock(&whole, b)
	}
	if some {
		turns = append(turns, whole)
	}
	return turns
}

func readBlock(t *providertest.Turn, b wireBlock) {
	switch b.Type {
	case "text":
		if t.Text != "" {
			t.Text += "\n"
		}
		t.Text += b.Text
	case "image", "document":
		t.Media = append(t.Media, b.Source.URL+b.Source.Data)
	case "tool_use":
		t.Calls = append(t.Calls, providertest.Call{ID: b.ID, Name: b.Name, Args: []string{string(b.Input)}})
	case "thinking":
		t.Opaque = append(t.Opaque, b.Signature)
	case "redacted_thinking":
		t.Opaque = append(t.Opaque, b.Data)
	}
}
