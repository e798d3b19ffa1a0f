package runner

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/registry"
)

// stage answers the tool calls of a cell.
type stage struct {
	mu      sync.Mutex
	results []eval.ToolResult
	used    []bool
}

func newStage(results []eval.ToolResult) *stage {
	return &stage{results: results, used: make([]bool, len(results))}
}

// Execute returns the result that the case has for a call. Without one it calls a tool that only reads, and no other: a case must not
// have effects.
func (s *stage) Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error) {
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
	if spec := tool.Spec(); spec.Effect != awaken.ReadOnly && spec.ID != awaken.FinalOutputTool {
		return awaken.ErrorResult("eval_no_result", "an evaluation does not call tools that have effects, and the case has no result for this call in tool_results"), nil
	}
	return tool.Call(ctx, call)
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
	return awaken.ToolSpec{ID: r.name, Name: r.name, Description: "Returns what the case has recorded.", Parameters: json.RawMessage(`{"type":"object"}`)}
}

// Call is not reached: the stage has its results.
func (r recorded) Call(context.Context, *awaken.ToolCall) (*awaken.ToolResult, error) {
	return awaken.ErrorResult("eval_no_result", "the case has no result for this call in tool_results"), nil
}
