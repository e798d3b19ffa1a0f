package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// choice is the field tool_choice: which of the client's tools the model may or must call. The agent's own tools are not the client's to
// choose; a choice that forces a call holds until the model has called one of the client's.
type choice struct {
	mode  string   // "" or auto, none, required, or function
	names []string // of the function, or of the tools that are allowed; nil allows all
}

// choiceObject is a choice that is no text. Chat Completions has what it names in an object of the name of its type, Responses beside
// the type.
type choiceObject struct {
	Type     string `json:"type"` // function or allowed_tools
	Name     string `json:"name"`
	Function *struct {
		Name string `json:"name"`
	} `json:"function"`
	allowed
	Allowed *allowed `json:"allowed_tools"`
}

// allowed restricts the tools.
type allowed struct {
	Mode  string `json:"mode"` // auto or required
	Tools []tool `json:"tools"`
}

// parse reads the field.
func (c *choice) parse(data json.RawMessage) error {
	if json.Unmarshal(data, &c.mode) == nil {
		if !slices.Contains([]string{"auto", "none", "required"}, c.mode) {
			return refused("tool_choice", "tool_choice is %s, want auto, none, required, or an object that names a function or allowed tools", quoted(c.mode))
		}
		return nil
	}
	var o choiceObject
	if err := json.Unmarshal(data, &o); err != nil {
		return refused("tool_choice", "tool_choice is %.80s, want auto, none, required, or an object that names a function or allowed tools", data)
	}
	switch o.Type {
	case "function":
		if c.mode = "function"; o.Function != nil {
			o.Name = o.Function.Name
		}
		if c.names = []string{o.Name}; o.Name == "" {
			return refused("tool_choice", "tool_choice has no name, want the name of a function")
		}
		return nil
	case "allowed_tools":
		a := o.allowed
		if o.Allowed != nil {
			a = *o.Allowed
		}
		if c.mode = a.Mode; c.mode != "auto" && c.mode != "required" {
			return refused("tool_choice", "mode of tool_choice is %s, want auto or required", quoted(a.Mode))
		}
		c.names = []string{}
		for _, t := range a.Tools {
			name := t.Name
			if t.Function != nil {
				name = t.Function.Name
			}
			c.names = append(c.names, name)
		}
		return nil
	}
	return unsupported("tool_choice", "its type is %s, want function or allowed_tools; the agent has its own tools", quoted(o.Type))
}

// among returns the tools that the choice leaves, and what it asks of the model.
func (c *choice) among(tools []awaken.ToolSpec) ([]awaken.ToolSpec, *llm.ToolChoice, error) {
	for _, name := range c.names {
		if !slices.ContainsFunc(tools, func(t awaken.ToolSpec) bool { return t.ID == name }) {
			return nil, nil, refused("tool_choice", "tool_choice names function %s, which tools does not have%s", quoted(name), names(tools))
		}
	}
	switch c.mode {
	case "none":
		return nil, nil, nil
	case "function":
		return tools, &llm.ToolChoice{Mode: "tool", Name: c.names[0]}, nil
	}
	if c.names != nil {
		tools = slices.DeleteFunc(tools, func(t awaken.ToolSpec) bool { return !slices.Contains(c.names, t.ID) })
	}
	switch {
	case c.mode == "required" && len(tools) == 0:
		return nil, nil, refused("tool_choice", "tool_choice is required, but the request has no tools that it allows")
	case c.mode == "required" && len(tools) == 1: // it cannot be satisfied by a tool of the agent
		return tools, &llm.ToolChoice{Mode: "tool", Name: tools[0].ID}, nil
	case c.mode == "required":
		return tools, &llm.ToolChoice{Mode: "required"}, nil
	}
	return tools, nil, nil
}

// names lists the client's tools for an error message.
func names(tools []awaken.ToolSpec) string {
	if len(tools) == 0 {
		return ""
	}
	ids := make([]string, len(tools))
	for i := range tools {
		ids[i] = tools[i].ID
	}
	return "; it has: " + strings.Join(ids, ", ")
}
