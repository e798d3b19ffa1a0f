package ollama

import (
	"encoding/json"
	"maps"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// request is the body of POST /api/chat.
type request struct {
	Model     string          `json:"model"`
	Messages  []message       `json:"messages"`
	Tools     []tool          `json:"tools,omitempty"`
	Stream    bool            `json:"stream"`
	Think     any             `json:"think,omitempty"` // false, or a level
	Format    json.RawMessage `json:"format,omitempty"`
	KeepAlive string          `json:"keep_alive,omitempty"`
	Options   map[string]any  `json:"options,omitempty"`

	// Both are false: a conversation that is too long is an error. Otherwise the server would
	// silently drop its beginning.
	Truncate bool `json:"truncate"`
	Shift    bool `json:"shift"`
}

type message struct {
	Role       llm.Role `json:"role"`
	Content    string   `json:"content"`
	Thinking   string   `json:"thinking,omitempty"`
	Images     []string `json:"images,omitempty"` // base64
	ToolCalls  []call   `json:"tool_calls,omitempty"`
	ToolName   string   `json:"tool_name,omitempty"`
	ToolCallID string   `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

var safeName = provider.SafeName(64)

// rules are the rules of Ollama. Thinking is plain text here and needs no opaque data.
var rules = provider.Rules{Provider: Name, LateSystem: true, BareThinking: true, CallID: provider.SafeID(64), Media: func(b *llm.Block, role llm.Role) bool {
	return role == llm.User && b.Type == llm.ImageBlock && b.Source.Type == "base64"
}}

func (m *Model) request(req *llm.Request, names provider.Names) (*request, error) {
	q := &request{Model: req.Model, Stream: true, KeepAlive: m.config.KeepAlive, Options: m.options(req), Think: think(req.ReasoningEffort)}
	system, msgs := provider.History(req, rules)
	words, err := q.offer(req, names)
	if err != nil {
		return nil, err
	}
	if words != "" {
		system = append(system, llm.Text(words))
	}
	if len(system) > 0 {
		q.Messages = append(q.Messages, message{Role: llm.System, Content: provider.Paragraphs(system, llm.TextBlock)})
	}
	called := map[string]string{} // call id -> name of the tool
	for _, msg := range msgs {
		one := message{Role: msg.Role, Content: provider.Paragraphs(msg.Content, llm.TextBlock), ToolCallID: msg.ToolCallID, ToolName: called[msg.ToolCallID]}
		for i := range msg.Content {
			if b := &msg.Content[i]; b.Type == llm.ImageBlock {
				one.Images = append(one.Images, b.Source.Data)
			}
		}
		for i, c := range msg.ToolCalls {
			own := call{ID: c.ID}
			own.Function.Index, own.Function.Name, own.Function.Arguments = i, names.Out(c.Name), c.Arguments
			one.ToolCalls = append(one.ToolCalls, own)
			called[c.ID] = own.Function.Name
		}
		if len(one.ToolCalls) > 0 { // only thinking that led to calls is sent back
			one.Thinking = provider.Paragraphs(msg.Content, llm.ThinkingBlock)
		}
		q.Messages = append(q.Messages, one)
	}
	if o := req.Output; o != nil {
		if _, err := provider.Schema("the output", o.Schema); err != nil {
			return nil, err
		}
		q.Format = o.Schema
	}
	return q, nil
}

// offer sets the tools. Ollama has no tool choice: "none" omits all tools, a forced tool is the only
// one, and the words to return tell the model that it must call one.
func (q *request) offer(req *llm.Request, names provider.Names) (words string, err error) {
	choice := llm.ToolChoice{}
	if req.ToolChoice != nil {
		choice = *req.ToolChoice
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		if choice.Mode == "none" || choice.Mode == "tool" && choice.Name != t.Name {
			continue
		}
		if string(t.Parameters) == "null" {
			return "", &llm.Error{Kind: llm.InvalidRequest, Message: "the schema of tool " + t.Name + " is not a JSON object"}
		}
		schema, err := provider.ToolSchema(t)
		if err != nil {
			return "", err
		}
		q.Tools = append(q.Tools, tool{Type: "function", Function: function{Name: names.Out(t.Name), Description: t.Description, Parameters: schema}})
	}
	if (choice.Mode == "required" || choice.Mode == "tool") && len(q.Tools) > 0 {
		words = "You have to call one of the tools now. Do not answer without."
	}
	return words, nil
}

// options returns the model parameters.
func (m *Model) options(req *llm.Request) map[string]any {
	o := map[string]any{}
	if req.Temperature != nil {
		o["temperature"] = *req.Temperature
	}
	if req.TopP != nil {
		o["top_p"] = *req.TopP
	}
	if req.MaxTokens != nil {
		o["num_predict"] = *req.MaxTokens
	}
	if len(req.StopSequences) > 0 {
		o["stop"] = req.StopSequences
	}
	if req.Seed != nil {
		o["seed"] = *req.Seed
	}
	if m.config.ContextTokens > 0 {
		o["num_ctx"] = m.config.ContextTokens
	}
	maps.Copy(o, m.config.Options)
	return o
}

// think converts an effort: nil, false or a level. A model without levels only turns thinking on or
// off.
func think(e *llm.Effort) any {
	switch {
	case e == nil:
		return nil
	case e.Level == "none":
		return false
	}
	return provider.EffortLevel(*e)
}
