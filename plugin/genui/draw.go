package genui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/internal/childrun"
	"github.com/awaken-go/awaken/state/builtin"
)

// The ids of the tools that draw with JSON Render and OpenUI.
const (
	RenderJSON   = "render_json_ui"
	RenderOpenUI = "render_openui_ui"
)

// The types of the activities that show what is being drawn.
const (
	// JSONRenderActivity has the spec, {"root", "elements", "state"?}, and grows with the lines of a sub-agent.
	JSONRenderActivity = "generative-ui.json-render"
	// OpenUIActivity has the lines of the program, {"lines": […]}.
	OpenUIActivity = "generative-ui.openui-lang"
)

// drawn is the result of a tool that draws with JSON Render or OpenUI. Its surface id is that of the actions.
type drawn struct {
	Rendered  bool            `json:"rendered"`
	Count     int             `json:"count"` // of elements or statements
	SurfaceID string          `json:"surface_id"`
	Spec      json.RawMessage `json:"spec,omitempty"` // of JSON Render
	Code      string          `json:"code,omitempty"` // of OpenUI
}

// format says how a tool draws with one format.
type format struct {
	name, tool, about string
	own               string // the parameter with the user interface itself
	alias             string // another name of it
	ownSchema         string
	// stream returns a function that takes lines of a sub-agent as they arrive.
	stream func(call *awaken.ToolCall, l Limits) func(line string)
	// make checks a user interface, shows it, and returns the result and the actions that it offers.
	make func(call *awaken.ToolCall, own string, l Limits) (drawn, map[string][]string, error)
}

var jsonRenderFormat = format{name: FormatJSONRender, tool: RenderJSON, own: "spec", alias: "ui",
	about:     "Shows the user an interface that is described with JSON Render.",
	ownSchema: `{"description":"the interface: {\"root\", \"elements\": {key: {\"type\", \"props\", \"children\", \"on\"?}}, \"state\"?}, a tree of elements, or lines of JSON Patch as a text"}`,
	stream: func(call *awaken.ToolCall, l Limits) func(string) {
		if call.Activity(JSONRenderActivity, json.RawMessage(`{"root":"","elements":{}}`)) != nil {
			return func(string) {}
		}
		c := NewCompiler(l)
		return func(line string) {
			if ops := c.Line(line); len(ops) > 0 {
				call.ActivityDelta(JSONRenderActivity, ops...)
			}
		}
	},
	make: func(call *awaken.ToolCall, own string, l Limits) (out drawn, actions map[string][]string, err error) {
		made, err := CompileJSONRender(own, l)
		if err != nil {
			return out, nil, err
		}
		out.Count, out.Spec = made.Count, made.Spec
		return out, made.actions, call.Activity(JSONRenderActivity, made.Spec)
	}}

var openUIFormat = format{name: FormatOpenUI, tool: RenderOpenUI, own: "code", alias: "source",
	about:     "Shows the user an interface that is described with OpenUI.",
	ownSchema: `{"type":"string","description":"the interface: statements id = Type(arguments), one per line; root is drawn"}`,
	stream: func(call *awaken.ToolCall, _ Limits) func(string) {
		if call.Activity(OpenUIActivity, json.RawMessage(`{"lines":[]}`)) != nil {
			return func(string) {}
		}
		return func(line string) {
			if value, err := json.Marshal(line); err == nil {
				call.ActivityDelta(OpenUIActivity, awaken.PatchOp{Op: "add", Path: "/lines/-", Value: value})
			}
		}
	},
	make: func(call *awaken.ToolCall, own string, l Limits) (out drawn, actions map[string][]string, err error) {
		made, err := ParseOpenUI(own, l)
		if err != nil {
			return out, nil, err
		}
		out.Count, out.Code = made.Count, made.Code
		return out, made.actions, call.Activity(OpenUIActivity, map[string]any{"lines": strings.Split(made.Code, "\n")})
	}}

// JSONTool returns the tool render_json_ui. It takes the interface itself, or a prompt for the agent of that
// id, which answers with lines of JSON Patch; "" means none. The agents that use it register
// [builtin.Surfaces], as those with the plugin do.
func JSONTool(agentID string, l Limits) awaken.Tool { return &drawTool{jsonRenderFormat, agentID, l} }

// OpenUITool returns the tool render_openui_ui. It takes the interface itself, or a prompt for the agent of
// that id, which answers in OpenUI Lang; "" means none. It is like [JSONTool] otherwise.
func OpenUITool(agentID string, l Limits) awaken.Tool { return &drawTool{openUIFormat, agentID, l} }

// drawTool draws with JSON Render or OpenUI. A sub-agent's run belongs to the call, so that a call that was
// interrupted continues with it.
type drawTool struct {
	format
	agentID string
	limits  Limits
}

var _ awaken.Delegator = (*drawTool)(nil)

// Spec implements [awaken.Tool].
func (t *drawTool) Spec() awaken.ToolSpec {
	own := `"` + t.own + `":` + t.ownSchema
	if t.agentID != "" {
		own += `,"prompt":{"type":"string","description":"or what the interface is to show, with all data, for an agent that draws it"}`
	}
	s := awaken.ToolSpec{ID: t.tool, Name: t.tool, Description: t.about, Category: "ui", Effect: awaken.ReadOnly,
		Parameters: json.RawMessage(`{"type":"object","properties":{` + own + `,"surface_id":{"type":"string","description":"id of the surface; one that exists is replaced"}},"additionalProperties":true}`)}
	if t.agentID != "" {
		s.Effect, s.Timeout = awaken.Idempotent, -1 // a repeated call resumes the same run
	}
	return s
}

// ChildRun returns the id of the sub-agent's run.
func (t *drawTool) ChildRun(call *awaken.ToolCall) string {
	if _, prompt, err := t.arguments(call.Args); err != nil || prompt == "" || t.agentID == "" || call.Host == nil {
		return ""
	}
	return awaken.ChildID(call.Key)
}

// arguments returns the interface itself, or the prompt.
func (t *drawTool) arguments(args json.RawMessage) (own, prompt string, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(args, &fields); err != nil {
		return "", "", fmt.Errorf("arguments: %w", err)
	}
	raw := fields[t.own]
	if raw == nil {
		raw = fields[t.alias]
	}
	if raw != nil {
		if json.Unmarshal(raw, &own) != nil { // not a text
			own = string(raw)
		}
		return own, "", nil
	}
	if p := fields["prompt"]; p != nil {
		if err := json.Unmarshal(p, &prompt); err != nil || strings.TrimSpace(prompt) == "" {
			return "", "", fmt.Errorf("prompt is %.80s, want a text that is not empty", p)
		}
		if t.agentID == "" {
			return "", "", fmt.Errorf("prompt is given, want %s: no agent draws", t.own)
		}
		return "", prompt, nil
	}
	if t.agentID == "" {
		return "", "", fmt.Errorf("%s is missing, want the interface", t.own)
	}
	return "", "", fmt.Errorf("%s and prompt are missing, want one of them", t.own)
}

// Validate checks arguments beyond the schema.
func (t *drawTool) Validate(args json.RawMessage) error {
	_, _, err := t.arguments(args)
	return err
}

// Call implements [awaken.Tool].
func (t *drawTool) Call(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	own, prompt, err := t.arguments(call.Args)
	if err != nil {
		return nil, err
	}
	var meta map[string]any
	if prompt != "" {
		child, err := t.ask(ctx, call, prompt)
		if err != nil {
			return nil, err
		}
		own, meta = child.FinalOutput, map[string]any{"child_run_id": child.RunID, "child_thread_id": child.ThreadID}
	}
	out, actions, err := t.make(call, own, t.limits)
	if err != nil {
		return nil, err
	}
	var in struct {
		SurfaceID string `json:"surface_id"`
	}
	_ = json.Unmarshal(call.Args, &in) // an id that is no text is none
	out.Rendered, out.SurfaceID = true, cmp.Or(in.SurfaceID, call.ID)
	builtin.Surfaces.Update(call, []builtin.SurfaceChange{{ID: out.SurfaceID, Delete: true}, {ID: out.SurfaceID, Format: t.name, Actions: actions}})
	data, err := json.Marshal(out)
	return &awaken.ToolResult{Data: data, Metadata: meta}, err
}

// ask runs the sub-agent, and streams its text: as output of the call, and as an activity that grows by
// lines.
func (t *drawTool) ask(ctx context.Context, call *awaken.ToolCall, prompt string) (*awaken.Run, error) {
	if call.Host == nil {
		return nil, errors.New("a sub-agent needs a runtime: the call has no host")
	}
	child := childrun.Child{Call: call, Name: fmt.Sprintf("Agent '%s'", t.agentID),
		Start: func(context.Context) (awaken.RunRequest, error) {
			req := childrun.Below(call)
			req.AgentID, req.Messages = t.agentID, []*llm.Message{llm.UserText(prompt)}
			return req, nil
		},
		Sink: func() awaken.Sink {
			show, rest, steps := t.stream(call, t.limits), "", 0
			return awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
				switch ev := e.Event.(type) {
				case *awaken.TextDelta:
					call.Output(ev.Delta)
					rest += ev.Delta
					for line, after, ok := strings.Cut(rest, "\n"); ok; line, after, ok = strings.Cut(rest, "\n") {
						show(line)
						rest = after
					}
				case *awaken.StreamReset:
					show, rest = t.stream(call, t.limits), ""
				case *awaken.StepStart:
					if steps++; steps > 1 { // it answers again
						show, rest = t.stream(call, t.limits), ""
					}
				}
				return nil
			})
		}}
	run, err := child.Run(ctx)
	if err != nil {
		return nil, err
	}
	call.Spend(run.Total())
	switch run.Termination.Type {
	case awaken.Failed, awaken.Blocked, awaken.Cancelled:
		return nil, fmt.Errorf("agent %q did not draw: %s", t.agentID, run.Termination)
	}
	return run, nil
}

// slim leaves what was drawn out of the results of tools, as the model reads them. Pages read it there, also after a reload; the model has written it itself, or cannot change it but by drawing anew.
func slim(_ context.Context, _ *awaken.HookCall, req *llm.Request) error {
	var out []*llm.Message // nil as long as nothing has changed
	draws := map[string]bool{}
	for i, m := range req.Messages.All() {
		for _, c := range m.ToolCalls {
			if c.Name == RenderJSON || c.Name == RenderOpenUI {
				draws[c.ID] = true
			}
		}
		if !draws[m.ToolCallID] {
			continue
		}
		var d drawn
		if json.Unmarshal([]byte(m.Text()), &d) != nil || d.Spec == nil && d.Code == "" {
			continue
		}
		d.Spec, d.Code = nil, ""
		data, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if out == nil {
			out = req.Messages.Slice()
		}
		short := *m
		short.Content = []llm.Block{llm.Text(string(data))}
		out[i] = &short
	}
	if out != nil {
		req.Messages = llm.NewMessages(out...)
	}
	return nil
}
