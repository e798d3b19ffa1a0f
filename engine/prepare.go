package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
)

// prepare gets a call ready: it checks the arguments, asks the gates and runs before_tool_execute.
// It reports whether the call may run; if not, the call has been answered or suspended.
func (w *crew) prepare(ctx context.Context, c *call) (bool, *end) {
	if err := ctx.Err(); err != nil {
		return false, w.fail(context.Cause(ctx))
	}
	s := w.ledger.edit(c)
	s.Key = callKey(w.info.RunID, s.Step, s.Index)
	if c.resume == nil && s.Decision != nil {
		c.resume = &awaken.Resumption{Decision: *s.Decision, SuspensionID: s.SuspensionID()}
		if s.Ticket != nil {
			c.resume.Asked = s.Ticket.Suspension.Message
		}
	}
	if d := s.Decision; d != nil && s.Status == awaken.CallResuming {
		if len(d.Arguments) > 0 {
			s.Arguments = d.Arguments
		}
		if s.ResumeMode == awaken.PassDecisionToTool && len(d.Result) > 0 {
			s.Arguments = laidOver(s.Arguments, d.Result)
		}
	}
	if s.Status == awaken.CallResuming && settlesAsMade(s) {
		c.tc = w.toolCall(c)
		w.ledger.settle(c, asMade(s.Decision))
		return false, w.outcomes.complete(ctx, c, s.MadeResult(s.Decision.Result), nil)
	}
	if s.Status == awaken.CallResuming && s.ResumeMode == awaken.UseDecisionAsToolResult {
		c.tc = w.toolCall(c)
		res := &awaken.ToolResult{ToolName: s.ToolName, Status: awaken.ToolSuccess, Data: s.Decision.Result}
		return false, w.outcomes.complete(ctx, c, res, nil)
	}
	if s.Status == awaken.CallResuming && s.HeldResult != nil {
		c.tc = w.toolCall(c)
		return false, w.outcomes.complete(ctx, c, s.HeldResult, nil)
	}
	if c.entry == nil {
		return false, w.outcomes.complete(ctx, c, awaken.ErrorResult("not_found", fmt.Sprintf("tool %q not found", s.ToolName)), nil)
	}
	if w.output.finishes(c) {
		res, e := w.output.takeAnswer(c)
		return false, cmp.Or(w.outcomes.complete(ctx, c, res, nil), e)
	}
	if err := w.checkArguments(c); err != nil {
		return false, w.outcomes.complete(ctx, c, awaken.ErrorResult("invalid_arguments", err.Error()), nil)
	}
	c.tc = w.toolCall(c)
	if err := w.phases.run(ctx, awaken.PhaseToolGate, about{tool: c.tc}); err != nil {
		return false, w.fail(err)
	}
	if len(w.agent.Gates) > 0 {
		if ok, e := w.passGates(ctx, c); !ok {
			return false, e
		}
	}
	if err := w.phases.run(ctx, awaken.PhaseBeforeToolExecute, about{tool: c.tc}); err != nil {
		return false, w.fail(err)
	}
	return true, nil
}

// passGates asks the gates about a call, and reports whether they let it run; if not, the call has
// been answered or suspended.
func (w *crew) passGates(ctx context.Context, c *call) (bool, *end) {
	v, err := w.judge(ctx, c)
	if err != nil {
		return false, w.fail(err)
	}
	s := c.state // which may be a copy now
	switch {
	case v.Blocked():
		res := awaken.ErrorResult("", fmt.Sprintf("tool %q was blocked: %s", s.ToolName, v.Reason()))
		res.Metadata = map[string]any{"rejected": true}
		if e := w.outcomes.complete(ctx, c, res, nil); e != nil {
			return false, e
		}
		return false, &end{Termination: awaken.Termination{Type: awaken.Blocked, Message: v.Reason()}}
	case v.Suspended():
		t := v.Ticket()
		return false, w.outcomes.suspend(c, &awaken.ToolResult{Suspension: &t}, nil)
	case v.Answered():
		res, err := resultOf(s.ToolName, v.Result(), nil)
		if err != nil {
			return false, w.fail(err)
		}
		if res.Status == awaken.ToolPending {
			return false, w.outcomes.suspend(c, res, nil)
		}
		return false, w.outcomes.complete(ctx, c, res, nil)
	}
	return true, nil
}

// maxRewrites bounds how often gates may replace the arguments of one call.
const maxRewrites = 8

// judge returns the verdict of the gates. If one replaces the arguments, all are asked again.
func (w *crew) judge(ctx context.Context, c *call) (awaken.Verdict, error) {
	for range maxRewrites {
		v, hosts, err := w.phases.askGates(ctx, c)
		w.bounds.set(c, hosts)
		if err != nil || v.Arguments() == nil {
			return v, err
		}
		w.ledger.edit(c).Arguments = v.Arguments()
		if err := w.checkArguments(c); err != nil {
			return v, fmt.Errorf("a gate replaced the arguments of call %q: %w", c.state.CallID, err)
		}
		c.rewritten, c.tc = true, w.toolCall(c)
	}
	return awaken.Verdict{}, fmt.Errorf("gates keep replacing the arguments of call %q, most recently by %s", c.state.CallID, c.state.Arguments)
}

// sameJSON reports whether two documents differ at most in white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// toolCall returns the view of a call that its tool and the hooks get.
func (w *crew) toolCall(c *call) *awaken.ToolCall {
	s := c.state
	if w.exchange == nil {
		w.exchange = &exchange{host: toolHost{rt: w.rt, reg: w.reg, marks: w.marked()}}
	}
	tc := &awaken.ToolCall{ID: s.CallID, Tool: s.ToolName, Args: s.Arguments, Key: s.Key, Run: w.info, Agent: w.agent.Spec,
		Resume: c.resume, Profile: w.profile(s.CallID), Tools: w.tools.offered, Host: &w.host, Snapshot: w.st.Snapshot()}
	if c.entry != nil {
		if tc.Egress = c.entry.Egress(s.Arguments); w.tools.ofClient(s.ToolName) == nil {
			tc.Effect = c.entry.Spec.Effect // what a client does is not known
		}
	}
	tc.TaintBy(w.marks)
	return tc
}

// checkArguments checks the arguments of a call against its schema and its tool.
func (w *crew) checkArguments(c *call) error {
	args := c.state.Arguments
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
		w.ledger.edit(c).Arguments = args
	}
	if err := c.entry.Schema.Check(args); err != nil {
		return fmt.Errorf("arguments of tool %q do not fit: %s", c.state.ToolName, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if v, ok := c.entry.Tool.(validator); ok {
		return validate(v, args)
	}
	return nil
}

// validator is a tool that checks its arguments beyond its schema.
type validator interface {
	Validate(args json.RawMessage) error
}

func validate(v validator, args json.RawMessage) (err error) {
	defer caught(&err, "validation")
	return v.Validate(args)
}
