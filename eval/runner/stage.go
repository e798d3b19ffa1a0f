package runner

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/registry"
)

// stage answers the tool calls of a cell.
type stage struct {
	// local reports whether an agent runs in the runtime of the cell, so that a call may start it: its own calls are answered by the stage, too.
	local func(agentID string) bool

	mu      sync.Mutex
	results []eval.ToolResult
	used    []bool
	below   []eval.Call // those of runs that the run has started
}

// newStage returns a stage with results of tools, which the case may name by any of their names.
func newStage(results []eval.ToolResult, names *toolname.Names) *stage {
	results = slices.Clone(results)
	for i := range results {
		results[i].Name = names.Resolve(results[i].Name)
	}
	return &stage{results: results, used: make([]bool, len(results))}
}

// Execute answers a call, and notes it if it is one of a run that the run has started.
func (s *stage) Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	res, err := s.answer(ctx, tool, call)
	if call.Run != nil && call.Run.ParentRunID != "" && (res == nil || res.Status != awaken.ToolPending) {
		made := eval.Call{Agent: call.Run.AgentID, Name: call.Tool, Arguments: call.Args, Result: resultOf(res), Failed: err != nil || res != nil && res.Status == awaken.ToolError}
		s.mu.Lock()
		s.below = append(s.below, made)
		s.mu.Unlock()
	}
	return res, err
}

// takeBelow returns the calls of runs that the run has started, since it was last called.
func (s *stage) takeBelow() []eval.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.below
	s.below = nil
	return out
}

// answer returns the result that the case has for a call. Without one it calls a tool that only reads or starts an agent in the runtime of the cell, and no
// other: a case must not have effects.
func (s *stage) answer(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	if r := s.next(call.Tool, call.Args); r != nil {
		if r.Error != "" {
			return awaken.ErrorResult("", r.Error), nil
		}
		var text string
		if json.Unmarshal(r.Result, &text) == nil && text != "" {
			return awaken.TextResult(text), nil
		}
		return &awaken.ToolResult{Data: r.Result}, nil
	}
	if spec := tool.Spec(); spec.Effect != awaken.ReadOnly && spec.ID != awaken.FinalOutputTool && !s.delegates(tool, &spec) {
		return awaken.ErrorResult("eval_no_result", "an evaluation does not call tools that have effects, and the case has no result for this call in tool_results"), nil
	}
	return tool.Call(ctx, call)
}

// delegates reports whether a tool starts an agent in the runtime of the cell.
func (s *stage) delegates(tool awaken.Tool, spec *awaken.ToolSpec) bool {
	_, ok := tool.(awaken.Delegator)
	id, _ := spec.Metadata["agent_id"].(string)
	return ok && id != "" && s.local != nil && s.local(id)
}

// next returns the result for a call, or nil.
func (s *stage) next(name string, args json.RawMessage) *eval.ToolResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last *eval.ToolResult
	for i := range s.results {
		if r := &s.results[i]; r.Fits(name, args) {
			if last = r; !s.used[i] {
				s.used[i] = true
				return r
			}
		}
	}
	return last
}

// missing returns tools for results of which the agent has no tool.
func (s *stage) missing(reg *registry.Registry, agentID string) (out []awaken.Tool) {
	var known []string
	for _, t := range slices.Concat(reg.Tools(), reg.Offered(agentID)) {
		known = append(known, t.ID)
	}
	for _, r := range s.results {
		if !slices.Contains(known, r.Name) {
			known = append(known, r.Name)
			out = append(out, recorded{r.Name})
		}
	}
	return out
}

// recorded is a tool that has only results that are recorded.
type recorded struct{ name string }

func (r recorded) Spec() awaken.ToolSpec {
	return awaken.ToolSpec{
		ID:          r.name,
		Egress:      awaken.Egress{None: true},
		Name:        r.name,
		Description: "Returns what the case has recorded.",
		Parameters:  json.RawMessage(`{"type":"object"}`),
	}
}

// Call is not reached: the stage has its results.
func (r recorded) Call(context.Context, *awaken.ToolCall) (*awaken.ToolResult, error) {
	return awaken.ErrorResult("eval_no_result", "the case has no result for this call in tool_results"), nil
}
