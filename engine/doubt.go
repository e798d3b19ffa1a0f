package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// doubtMargin returns how long after its time limit a call may still take effect: the lost owner may
// begin it until it knows that it is lost, and tools end a little after they are told to.
func doubtMargin(rt *Runtime) time.Duration {
	margin := 10 * time.Second
	if q, ok := rt.queue.(interface{ Silence() time.Duration }); ok {
		margin = max(margin, q.Silence()+6*time.Second)
	}
	return margin
}

// resolveDoubts handles the effectful calls that had begun when their owner was lost. They may
// have taken effect, so none is simply repeated: the tool is asked for the outcome, and if it does
// not know, a person or the model decides.
func (w *crew) resolveDoubts(ctx context.Context) *end {
	for _, c := range w.ledger.calls {
		if !c.doubtful {
			continue
		}
		c.doubtful = false
		if c.state.Effect != awaken.Effectful || c.state.Status != awaken.CallRunning {
			continue // only a step is in doubt: it is settled when the tool comes to it
		}
		atDoubt.Hit()
		p := w.probe(ctx, c)
		w.ledger.edit(c).Probed = p.Outcome
		switch {
		case p.Outcome == awaken.ProbeDone:
			c.tc = w.toolCall(c)
			res, err := resultOf(c.state.ToolName, p.Result, nil)
			if err != nil {
				return w.fail(err)
			}
			if e := w.outcomes.complete(ctx, c, res, nil); e != nil {
				return e
			}
		case p.Outcome == awaken.ProbeNotDone:
			s := w.ledger.edit(c)
			s.Status, s.StartedAt, s.Attempts = awaken.CallNew, 0, max(s.Attempts, 1)
		case c.state.AskInDoubt || c.entry != nil && c.entry.Spec.InDoubt == awaken.DoubtSuspend:
			if e := w.outcomes.suspend(c, &awaken.ToolResult{Suspension: &awaken.Ticket{Suspension: awaken.Suspension{ID: "in_doubt_" + c.state.CallID, Action: doubtAction,
				Message: fmt.Sprintf("Tool '%s' was cut off after it had begun. It may have taken effect. Make the call again?", c.state.ToolName), Parameters: c.state.Arguments}}}, nil); e != nil {
				return e
			}
		default:
			w.outcomes.doubt(c)
		}
	}
	return nil
}

// doubtAction is the action of a question about a call in doubt.
const doubtAction = "tool:in_doubt"

// settlesDoubt reports whether a person has answered the question about a call in doubt with the
// result that the call had. An answer that only approves makes the call again.
func settlesDoubt(s *awaken.CallState) bool {
	return s.Ticket != nil && s.Ticket.Suspension.Action == doubtAction && s.Decision != nil && s.Decision.Answer() != nil
}

// probe asks the tool for the outcome of a call.
func (w *crew) probe(ctx context.Context, c *call) awaken.Probe {
	if c.entry == nil {
		return awaken.Probe{}
	}
	return w.ask(ctx, c.entry, w.toolCall(c), c.state.StartedAt)
}

// ask asks the tool for the outcome of a call or a step, by the key of tc. It may run in the goroutine of a tool.
func (w *crew) ask(ctx context.Context, entry *registry.Tool, tc *awaken.ToolCall, startedAt int64) (p awaken.Probe) {
	prober, ok := entry.Tool.(awaken.Prober)
	if !ok {
		return awaken.Probe{}
	}
	defer func() {
		if v := recover(); v != nil {
			w.log().Error("the probe of a tool call panicked", "call", tc.ID, "tool", tc.Tool, "panic", v)
			p = awaken.Probe{}
		}
	}()
	p, err := prober.Probe(ctx, tc)
	if err != nil {
		w.log().Warn("cannot probe a tool call", "call", tc.ID, "tool", tc.Tool, "error", err)
		return awaken.Probe{}
	}
	limit := w.callLimit(entry)
	if p.Outcome == awaken.ProbeNotDone && (limit <= 0 || w.rt.cfg.Now().UnixMilli() < startedAt+(limit+doubtMargin(w.rt)).Milliseconds()) {
		return awaken.Probe{} // the lost owner may still make the call
	}
	return p
}

// doubt tells the model that a call may have taken effect.
func (oc *outcomes) doubt(c *call) {
	text := fmt.Sprintf("the call of tool %q was cut off after it had begun; whether it took effect is not known, and it was not repeated", c.state.ToolName)
	if step := c.steps.openEffect(); step != nil {
		text += fmt.Sprintf("; it was at its step %q", step.Name)
	}
	res := awaken.ErrorResult("in_doubt", text)
	res.Metadata = map[string]any{"in_doubt": true}
	oc.answer(c, awaken.CallFailed, res)
	oc.deferOutcome(c, awaken.CallFailed)
}
