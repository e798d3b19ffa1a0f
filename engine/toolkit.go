package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// toolkit is the tools the model is offered: the agent's, and those that the client runs.
type toolkit struct {
	*activation
	output *finalOutput

	frontend map[string]*registry.Tool
	offered  []llm.Tool
}

// offer merges the agent's tools and the client's.
func (tb *toolkit) offer() error {
	tb.offered = tb.agent.Offered
	if len(tb.frontend) == 0 {
		return nil
	}
	return tb.merge()
}

// merge is offer for a run whose client has tools.
func (tb *toolkit) merge() error {
	tb.offered = nil
	for _, t := range tb.agent.Offered {
		if tb.ofClient(t.Name) == nil {
			tb.offered = append(tb.offered, t)
		}
	}
	for id := range tb.frontend {
		e := tb.ofClient(id)
		if e == nil {
			tb.note(awaken.Diagnostic{Code: "client_tool_ignored", Severity: awaken.Warning, Namespace: "tools", ID: id,
				Message: fmt.Sprintf("the client's tool is left out: agent %q has a tool of that name", tb.info.AgentID)})
			continue
		}
		hidden, err := tb.agent.Hides(id)
		if err != nil {
			return err
		}
		if !hidden {
			tb.offered = append(tb.offered, e.Desc)
		}
	}
	slices.SortFunc(tb.offered, func(a, b llm.Tool) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// checkChoice refuses a choice of the request that names a tool that the run does not offer.
func (tb *toolkit) checkChoice() error {
	o := tb.rec.Overrides
	if o == nil || o.ToolChoice == nil || o.ToolChoice.Mode != "tool" {
		return nil
	}
	if name := o.ToolChoice.Name; tb.frontend[name] != nil && tb.ofClient(name) == nil {
		return fmt.Errorf("%w: tool_choice names the client's tool %q, which is left out: agent %q has a tool of that name", awaken.ErrInvalid, name, tb.info.AgentID)
	} else if offers(tb.offered, name) {
		return nil
	}
	names := make([]string, len(tb.offered))
	for i := range tb.offered {
		names[i] = tb.offered[i].Name
	}
	return fmt.Errorf("%w: tool_choice names tool %q, which agent %q does not offer; available: %q", awaken.ErrInvalid, o.ToolChoice.Name, tb.info.AgentID, names)
}

// offersClients reports whether the model is offered a tool of the client.
func (tb *toolkit) offersClients() bool {
	return len(tb.frontend) > 0 && slices.ContainsFunc(tb.offered, func(t llm.Tool) bool { return tb.ofClient(t.Name) != nil })
}

// offers reports whether a tool of that name is among the given ones.
func offers(tools []llm.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == name })
}

// ofClient returns the client's tool with that id, or nil. The tools of a client that the agent
// does not trust cannot replace the agent's.
func (tb *toolkit) ofClient(id string) *registry.Tool {
	if tb.agent.Tools[id] != nil && !tb.trusts(tb.rec.Untrusted) {
		return nil
	}
	return tb.frontend[id]
}

// find returns the tool with that id, or nil. Tools of the client come first.
func (tb *toolkit) find(id string) *registry.Tool {
	if e := tb.ofClient(id); e != nil {
		return e
	}
	if tb.output.plan != nil && tb.output.plan.Finish != nil && id == awaken.FinalOutputTool {
		return tb.output.plan.Finish
	}
	return tb.agent.Tools[id]
}

// addFrontend adds a tool that the client runs. A client that the agent does not trust does not say where its calls go.
func (tb *toolkit) addFrontend(given *awaken.ToolSpec) error {
	spec := *given
	if !tb.trusts(tb.rec.Untrusted) {
		spec.Egress = awaken.Egress{}
	}
	e, err := registry.NewTool(awaken.FrontendTool(spec))
	if err != nil {
		return fmt.Errorf("%w: frontend tool %q: %w", awaken.ErrInvalid, spec.ID, err)
	}
	if tb.frontend == nil {
		tb.frontend = map[string]*registry.Tool{}
	}
	tb.frontend[spec.ID] = e
	return nil
}

// planOutput determines how the answer is made to match the schema of the request or, if that has
// none, of the agent.
func (tb *toolkit) planOutput() error {
	tb.output.plan = tb.agent.Output
	if len(tb.rec.OutputSchema) > 0 {
		var err error
		if tb.output.plan, err = registry.NewOutputPlan(tb.rec.OutputSchema, tb.agent.Native); err != nil {
			return fmt.Errorf("%w: output_schema: %w", awaken.ErrInvalid, err)
		}
	}
	if tb.output.plan != nil && tb.output.plan.Finish != nil && (tb.agent.Tools[awaken.FinalOutputTool] != nil || tb.frontend[awaken.FinalOutputTool] != nil) {
		return fmt.Errorf("%w: tool name %q is reserved: model %q uses it to give an answer that matches the output schema", awaken.ErrInvalid, awaken.FinalOutputTool, tb.agent.ModelSpec.ID)
	}
	return nil
}
