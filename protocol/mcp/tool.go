package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/glob"
	"github.com/awaken-go/awaken/internal/strict"
)

// tool is a tool as clients see it.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  annotations     `json:"annotations"`

	agent   string            // that runs it
	planned string            // id of the tool that is called without a model, or ""
	spec    *awaken.AgentSpec // nil if it is planned
}

// annotations are hints for clients.
type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// tool returns the tool that has a name, without its output schema, or nil.
func (x *exchange) tool(name string) *tool {
	for _, a := range x.Agents() {
		if a.ID == name && x.exposes(a) && renamed(name) == 0 { // no other has its name
			t := agentTool(a)
			t.Name = name
			return t
		}
	}
	list := x.tools()
	if i := slices.IndexFunc(list, func(t *tool) bool { return t.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// exposes reports whether an agent is a tool.
func (x *exchange) exposes(a *awaken.AgentSpec) bool {
	return len(x.cfg.Agents) == 0 || slices.Contains(x.cfg.Agents, a.ID)
}

// tools returns the tools that clients may call, sorted by name, without their output schemas.
func (x *exchange) tools() []*tool {
	var out []*tool
	taken := map[string]bool{}
	add := func(t *tool, id string) {
		base := toolName(id)
		t.Name = base
		for n := 2; taken[t.Name]; n++ {
			t.Name = fmt.Sprintf("%s_%d", base, n)
		}
		taken[t.Name] = true
		out = append(out, t)
	}
	agents := slices.DeleteFunc(slices.Clone(x.Agents()), func(a *awaken.AgentSpec) bool { return !x.exposes(a) })
	// Ids that are names keep them, whatever else becomes the same name.
	slices.SortStableFunc(agents, func(a, b *awaken.AgentSpec) int { return cmp.Compare(renamed(a.ID), renamed(b.ID)) })
	for _, a := range agents {
		add(agentTool(a), a.ID)
	}
	if len(x.cfg.patterns) > 0 {
		specs := x.Tools(x.cfg.ToolAgent)
		for i := range specs {
			s := &specs[i]
			if slices.ContainsFunc(x.cfg.patterns, func(p *glob.Pattern) bool { return p.Match(s.ID) }) {
				add(plannedTool(s, x.cfg.ToolAgent), s.ID)
			}
		}
	}
	slices.SortFunc(out, func(a, b *tool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// maxName is the maximum length of a tool's name.
const maxName = 128

// toolName returns an id as the name of a tool, which has fewer characters.
func toolName(id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, id)
	if len(name) > maxName {
		name = name[:maxName]
	}
	return name
}

func renamed(id string) int {
	if toolName(id) == id {
		return 0
	}
	return 1
}

var agentInput = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"What to tell the agent"},"thread_id":{"type":"string","description":"The thread_id of an earlier result, to continue its conversation; a new one begins without it"}},"required":["message"],"additionalProperties":false}`)

// agentTool returns an agent as a tool, without its output schema.
func agentTool(a *awaken.AgentSpec) *tool {
	t := &tool{Title: a.ID, Description: a.Description, InputSchema: agentInput, Annotations: annotations{Destructive: true, OpenWorld: true}, agent: a.ID, spec: a}
	if t.Description == "" {
		t.Description = "Send a message to the agent " + a.ID + " and get its answer."
	}
	return t
}

// outputSchema returns the schema of an agent's results.
func outputSchema(a *awaken.AgentSpec) (json.RawMessage, error) {
	props := map[string]json.RawMessage{
		"thread_id": json.RawMessage(`{"type":"string"}`),
		"run_id":    json.RawMessage(`{"type":"string"}`),
		"status":    json.RawMessage(`{"type":"string","enum":["completed","waiting"],"description":"waiting means that a person must decide first"}`),
		"response":  json.RawMessage(`{"type":"string"}`),
		"tickets":   json.RawMessage(`{"type":"array","items":{"type":"object"},"description":"What a person must decide"}`),
	}
	if len(a.OutputSchema) > 0 && !strings.Contains(string(a.OutputSchema), `"$ref"`) { // a reference would point elsewhere
		props["output"] = a.OutputSchema
	} else if len(a.OutputSchema) > 0 {
		props["output"] = json.RawMessage(`{}`)
	}
	return json.Marshal(map[string]any{"type": "object", "properties": props, "required": []string{"thread_id", "run_id", "status", "response"}})
}

// plannedTool returns a tool of an agent as a tool that clients call directly.
func plannedTool(s *awaken.ToolSpec, agent string) *tool {
	t := &tool{Title: cmp.Or(s.Name, s.ID), Description: s.Description, InputSchema: s.Parameters, agent: agent, planned: s.ID, Annotations: annotations{OpenWorld: true, Destructive: true}}
	if len(t.InputSchema) == 0 {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	switch s.Effect {
	case awaken.ReadOnly:
		t.Annotations.ReadOnly, t.Annotations.Destructive, t.Annotations.Idempotent = true, false, true
	case awaken.Idempotent:
		t.Annotations.Idempotent = true
	}
	return t
}

// toolList is the result of tools/list.
type toolList struct {
	result
	Tools []*tool `json:"tools"`
}

// cursorParams name the page of a list.
type cursorParams struct {
	Cursor string `json:"cursor,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (p *cursorParams) UnmarshalJSON(data []byte) error {
	type plain cursorParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// listTools lists all tools on one page.
func (x *exchange) listTools(m *message) error {
	var in cursorParams
	if err := m.params(&in); err != nil {
		return err
	}
	if in.Cursor != "" {
		return invalid("params.cursor is %.80q, but the list has one page", in.Cursor)
	}
	out := &toolList{Tools: x.tools()}
	if out.Tools == nil {
		out.Tools = []*tool{}
	}
	for _, t := range out.Tools {
		if t.spec == nil {
			continue
		}
		var err error
		if t.OutputSchema, err = outputSchema(t.spec); err != nil {
			return err
		}
	}
	x.cacheable(&out.result)
	return x.reply(out)
}
