package awaken

import (
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// toolkit is what the model is offered: the agent's tools and those that the client runs.
type toolkit struct {
	*activation
	output *finalOutput

	frontend map[string]*toolEntry
	offered  []llm.Tool
}

// offer puts the agent's tools and the client's together.
func (tb *toolkit) offer() {
	tb.offered = tb.agent.offered
	if len(tb.frontend) == 0 {
		return
	}
	tb.offered = nil
	for _, t := range tb.agent.offered {
		if tb.frontend[t.Name] == nil {
			tb.offered = append(tb.offered, t)
		}
	}
	for id, e := range tb.frontend {
		if !tb.agent.hides(id) {
			tb.offered = append(tb.offered, e.desc)
		}
	}
	sortTools(tb.offered)
}

func (tb *toolkit) find(id string) *toolEntry {
	if e := tb.frontend[id]; e != nil {
		return e
	}
	if tb.output.plan != nil && tb.output.plan.finish != nil && id == FinalOutputTool {
		return tb.output.plan.finish
	}
	return tb.agent.tools[id]
}

func (tb *toolkit) addFrontend(spec ToolSpec) error {
	e, err := newToolEntry(FrontendTool(spec))
	if err != nil {
		return fmt.Errorf("%w: frontend tool %q: %w", ErrInvalid, spec.ID, err)
	}
	if tb.frontend == nil {
		tb.frontend = map[string]*toolEntry{}
	}
	tb.frontend[spec.ID] = e
	return nil
}

// planOutput finds out how the answer is held to the schema of the request or, if that has
// none, of the agent.
func (tb *toolkit) planOutput() error {
	tb.output.plan = tb.agent.output
	if len(tb.rec.OutputSchema) > 0 {
		var err error
		if tb.output.plan, err = newOutputPlan(tb.rec.OutputSchema, tb.agent.native); err != nil {
			return fmt.Errorf("%w: output_schema: %w", ErrInvalid, err)
		}
	}
	if tb.output.plan != nil && tb.output.plan.finish != nil && (tb.agent.tools[FinalOutputTool] != nil || tb.frontend[FinalOutputTool] != nil) {
		return fmt.Errorf("%w: there is a tool %q, which is how model %q gives an answer that is held to a schema", ErrInvalid, FinalOutputTool, tb.agent.modelSpec.ID)
	}
	return nil
}

func sortTools(tools []llm.Tool) {
	slices.SortFunc(tools, func(a, b llm.Tool) int { return strings.Compare(a.Name, b.Name) })
}

// apply filters tools: the union of the include lists first, then exclusions.
func (f *filterState) apply(tools []llm.Tool) []llm.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t llm.Tool) bool {
		included := len(f.IncludeOnly) == 0 ||
			slices.ContainsFunc(f.IncludeOnly, func(ids []string) bool { return slices.Contains(ids, t.Name) })
		return !included || slices.Contains(f.Excluded, t.Name)
	})
}
