package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// chatRequest is the body of POST chat/completions. Unknown fields are ignored, because clients add
// their own.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream,omitempty"`
	Options  *struct {
		IncludeUsage bool `json:"include_usage,omitempty"`
	} `json:"stream_options,omitempty"`
	Tools      []tool          `json:"tools,omitempty"`
	ToolChoice json.RawMessage `json:"tool_choice,omitempty"` // auto, none, required, or an object
	Format     *format         `json:"response_format,omitempty"`
	Stop       json.RawMessage `json:"stop,omitempty"` // a text, or up to four
	sampling
	MaxTokens           *int   `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int   `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string `json:"reasoning_effort,omitempty"`

	// What the server does not have, and refuses.
	N            *int            `json:"n,omitempty"` // 1
	Logprobs     bool            `json:"logprobs,omitempty"`
	TopLogprobs  *int            `json:"top_logprobs,omitempty"`
	LogitBias    json.RawMessage `json:"logit_bias,omitempty"`
	Audio        json.RawMessage `json:"audio,omitempty"`
	Modalities   []string        `json:"modalities,omitempty"`
	Functions    json.RawMessage `json:"functions,omitempty"`
	FunctionCall json.RawMessage `json:"function_call,omitempty"`
	WebSearch    json.RawMessage `json:"web_search_options,omitempty"`
}

// chatMessage is a message of Chat Completions.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"` // a string, or a list of parts
	Refusal    string          `json:"refusal,omitempty"`
	ToolCalls  []chatCall      `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

// chatCall is a call of a tool in a message.
type chatCall struct {
	Index    *int         `json:"index,omitempty"` // in chunks
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// UnmarshalJSON ignores unknown fields.
func (r *chatRequest) UnmarshalJSON(data []byte) error {
	type plain chatRequest
	return strict.UnmarshalKnown(data, (*plain)(r))
}

// check refuses what the server does not have.
func (r *chatRequest) check() error {
	switch {
	case r.N != nil && *r.N != 1:
		return unsupported("n", "it is %d, want 1; send the request again for another answer", *r.N)
	case r.Logprobs:
		return unsupported("logprobs", "agents have no log probabilities")
	case r.TopLogprobs != nil && *r.TopLogprobs != 0:
		return unsupported("top_logprobs", "agents have no log probabilities")
	case !absent(r.LogitBias) && !isEmpty(r.LogitBias):
		return unsupported("logit_bias", "the agent chooses its model and tokens")
	case !absent(r.Audio):
		return unsupported("audio", "agents answer with text")
	case slices.ContainsFunc(r.Modalities, func(m string) bool { return m != "text" }):
		return unsupported("modalities", "agents answer with text; want [\"text\"]")
	case !absent(r.Functions):
		return unsupported("functions", "use tools")
	case !absent(r.FunctionCall):
		return unsupported("function_call", "use tools")
	case !absent(r.WebSearch):
		return unsupported("web_search_options", "the agent has its own tools")
	case len(r.Messages) == 0:
		f := refused("messages", "messages is empty, want at least one message")
		f.Code = "missing_required_parameter"
		return f
	case r.MaxTokens != nil && r.MaxCompletionTokens != nil && *r.MaxTokens != *r.MaxCompletionTokens:
		return refused("max_tokens", "max_tokens is %d and max_completion_tokens is %d, want one of them", *r.MaxTokens, *r.MaxCompletionTokens)
	}
	return nil
}

// stopsOf returns the texts at which an answer ends.
func stopsOf(data json.RawMessage) (stops []string, err error) {
	if absent(data) {
		return nil, nil
	}
	var one string
	if json.Unmarshal(data, &one) == nil {
		stops = []string{one}
	} else if json.Unmarshal(data, &stops) != nil || len(stops) > 4 {
		return nil, refused("stop", "stop is %.80s, want a text or a list of up to 4", data)
	}
	return slices.DeleteFunc(stops, func(s string) bool { return s == "" }), nil
}

// isEmpty reports whether a value is an empty string, list or object.
func isEmpty(data json.RawMessage) bool {
	data = bytes.Join(bytes.Fields(data), nil)
	return string(data) == `""` || string(data) == "[]" || string(data) == "{}"
}

// prompt converts the messages.
func (r *chatRequest) prompt() (*prompt, error) {
	p := &prompt{}
	var media protocol.Media
	for i := range r.Messages {
		m, field := &r.Messages[i], fmt.Sprintf("messages[%d]", i)
		if err := m.add(p, field, &media); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// add adds the message to a prompt. Field names it in errors.
func (m *chatMessage) add(p *prompt, field string, media *protocol.Media) error {
	role := llm.Role(m.Role)
	switch m.Role {
	case "developer":
		role = llm.System
	case "user", "system":
	case "tool":
		text, err := textOf(field+".content", m.Content)
		if err != nil {
			return err
		}
		if m.ToolCallID == "" {
			return misfit(field+".tool_call_id", fmt.Errorf("it is missing"))
		}
		p.answer(answer{field: field + ".content", id: m.ToolCallID, text: text})
		return nil
	case "assistant":
		content, err := blocksOf(field+".content", m.Content, role, media)
		if err != nil {
			return err
		}
		if len(content) == 0 && m.Refusal != "" {
			content = []llm.Block{llm.Text(m.Refusal)}
		}
		said := &llm.Message{Role: role, Content: content}
		for j, c := range m.ToolCalls {
			if c.ID == "" || c.Function.Name == "" {
				return misfit(fmt.Sprintf("%s.tool_calls[%d]", field, j), fmt.Errorf("want an id and a function with a name"))
			}
			said.ToolCalls = append(said.ToolCalls, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: jsonOf(c.Function.Arguments)})
		}
		p.said(said)
		return nil
	case "function":
		return unsupported(field+".role", "it is function; use tools and role tool")
	default:
		return refused(field+".role", "%s.role is %s, want system, developer, user, assistant or tool", field, quoted(m.Role))
	}
	content, err := blocksOf(field+".content", m.Content, role, media)
	if err != nil {
		return err
	}
	if len(content) == 0 {
		return refused(field+".content", "%s.content is empty", field)
	}
	p.asked(&llm.Message{Role: role, Content: content})
	return nil
}
