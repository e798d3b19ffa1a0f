package awaken

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/awaken-go/awaken/llm"
)

// PlannedCall is a tool call that a run consists of: no model is asked. The call passes
// everything that a model's call passes (schema, gates, ledger, people), and its result is
// the run's response. If it fails, so does the run.
type PlannedCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// askFor is infer, or what was planned, or held until now, instead.
func (r *run) askFor(ctx context.Context) (*llm.Reply, *end) {
	if r.guards.passed != nil {
		return r.sayHeld(ctx), nil
	}
	if r.rec.Call == nil {
		return r.infer(ctx)
	}
	call := llm.ToolCall{ID: "call_" + r.info.RunID, Name: r.rec.Call.Tool, Arguments: r.rec.Call.Arguments}
	args := arguments(call)
	r.out.emit(ctx, &ToolCallStart{ID: call.ID, Name: call.Name})
	r.out.emit(ctx, &ToolCallDelta{ID: call.ID, ArgsDelta: string(args)})
	r.out.emit(ctx, &ToolCallReady{ID: call.ID, Name: call.Name, Arguments: args})
	r.inference.reply = llm.Reply{Message: &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call}}, Finish: llm.ToolUse}
	return &r.inference.reply, nil
}

// planned is the end of a run that consists of one call, once that is over.
func (r *run) planned() *end {
	if r.rec.Call == nil || r.rec.Steps == 0 {
		return nil
	}
	calls := make([]*CallState, 0, 1)
	for _, c := range r.ledger.calls {
		calls = append(calls, c.state)
	}
	if len(calls) == 0 { // it was over before the run was taken up
		var err error
		if calls, err = r.rt.cfg.Store.Calls(r.ctx, r.info.RunID); err != nil {
			return r.fail(err)
		}
	}
	for _, s := range calls {
		if s.Result == nil {
			continue
		}
		r.step.response = s.Result.text()
		if s.Status != CallSucceeded {
			return r.fail(errors.New(r.step.response))
		}
	}
	return &end{Termination: Termination{Type: NaturalEnd}}
}
