package genui

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state/builtin"
)

// a2uiTool draws with A2UI. Nothing happens outside the run: the page draws what it sees of the call.
type a2uiTool struct{ cfg Config }

// a2uiParameters accepts everything that ParseA2UI may rewrap; that reports mistakes with their positions.
var a2uiParameters = json.RawMessage(`{"type":"object","properties":{` +
	`"messages":{"type":"array","description":"A2UI messages, in order","items":{"type":"object"}}},"additionalProperties":true}`)

// Spec implements [awaken.Tool].
func (a2uiTool) Spec() awaken.ToolSpec {
	return awaken.ToolSpec{ID: RenderA2UI, Name: RenderA2UI, Effect: awaken.ReadOnly, Category: "ui", Parameters: a2uiParameters,
		Description: "Shows the user an interface that is described by A2UI messages, or changes one."}
}

// Validate checks arguments beyond the schema.
func (t a2uiTool) Validate(args json.RawMessage) error {
	_, err := ParseA2UI(args, nil, t.cfg.catalog(), t.cfg.limits())
	return err
}

// rendered is the result of a tool that draws.
type rendered struct {
	Rendered bool     `json:"rendered"`
	Count    int      `json:"count"`             // of messages, elements or statements
	Missing  []string `json:"missing,omitempty"` // components that are referred to and do not exist
}

// Call checks the messages against the thread's surfaces, and shows them.
func (t a2uiTool) Call(_ context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	known := builtin.Surfaces.Get(call)
	if known == nil {
		known = map[string]builtin.Surface{}
	}
	made, err := ParseA2UI(call.Args, known, t.cfg.catalog(), t.cfg.limits())
	if err != nil {
		return nil, err
	}
	if err := call.Activity(A2UIActivity, map[string]any{"messages": made.Messages}); err != nil {
		return nil, err
	}
	builtin.Surfaces.Update(call, made.changes)
	data, err := json.Marshal(rendered{true, len(made.Messages), made.Missing})
	return &awaken.ToolResult{Data: data}, err
}
