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
		atDoubt.Hit()
		p := w.probe(ctx, c)
		w.ledger.edit(c).Probed = p.Outcome
		switch {
		case p.Outcome == awaken.ProbeDone:
			w.ledger.settle(c, awaken.Settlement{Outcome: awaken.OutcomeMade, By: "probe"})
			c.tc = w.toolCall(c)
			res, err := resultOf(c.state.ToolName, p.Result, nil)
			if err != nil {
				return w.fail(err)
			}
			if e := w.outcomes.complete(ctx, c, res, nil); e != nil {
				return e
			}
		case p.Outcome == awaken.ProbeNotDone:
			w.ledger.settle(c, awaken.Settlement{Outcome: awaken.OutcomeNotMade, By: "probe"})
			s := w.ledger.edit(c)
			s.Status, s.StartedAt, s.Attempts = awaken.CallNew, 0, max(s.Attempts, 1)
		case c.state.AskInDoubt || c.entry != nil && c.entry.Spec.InDoubt == awaken.DoubtSuspend:
			ask := &awaken.Ticket{Suspension: doubtSuspension(c.state)}
			if e := w.outcomes.suspend(c, &awaken.ToolResult{Suspension: ask}, nil); e != nil {
				return e
			}
		default:
			w.outcomes.doubt(c)
		}
	}
	return nil
}

// doubtSuspension asks whether a call that was cut off is to be made again.
func doubtSuspension(s *awaken.CallState) awaken.Suspension {
	happened := fmt.Sprintf("Tool '%s' was cut off after it had begun.", s.ToolName)
	return awaken.Suspension{
		ID:         "in_doubt_" + s.CallID,
		Action:     awaken.ActionInDoubt,
		Message:    awaken.DoubtQuestion(happened, "Make the call again?"),
		Parameters: s.Arguments,
	}
}

// settlesAsMade reports whether a person has decided that a call in doubt took effect: by the outcome, or
// by answering the question about it with the result that the call had. An answer that only approves
// makes the call again.
func settlesAsMade(s *awaken.CallState) bool {
	switch d := s.Decision; {
	case d == nil || !s.Doubt.Open() || s.Doubt.Step != "": // a step is settled when the tool comes to it
		return false
	case d.Outcome != "":
		return d.Outcome == awaken.OutcomeMade
	default:
		return s.Ticket != nil && s.Ticket.Suspension.Action == awaken.ActionInDoubt && d.Answer() != nil
	}
}

// asMade returns what a decision that settles a call as made says about its doubt.
func asMade(d *awaken.Decision) awaken.Settlement {
	as := d.Settlement()
	as.Outcome = awaken.OutcomeMade
	return as
}

// weigh settles the doubt of a call by its result, or enters one. The answer of the tool to a later attempt ends
// the doubt about an earlier one, unless it is an error: that says nothing about the earlier one.
func (oc *outcomes) weigh(c *call, res *awaken.ToolResult) *awaken.ToolResult {
	s := c.state
	switch {
	case res.InDoubt() && s.Child != "":
		oc.ledger.doubt(c, awaken.Doubt{Origin: awaken.DoubtChild, RunID: s.Child})
	case res.InDoubt():
		oc.ledger.doubt(c, awaken.Doubt{Origin: awaken.DoubtTool})
	case !s.Doubt.Open():
	case res.Status == awaken.ToolError:
		return s.WithDoubt(res)
	default:
		oc.ledger.settle(c, awaken.Settlement{Outcome: awaken.OutcomeMade, By: "tool"})
	}
	return res
}

// doubtAsked enters the doubt that a question of a tool is about, or the doubts of a child that waits.
func (oc *outcomes) doubtAsked(c *call, t *awaken.Ticket) {
	if t.InDoubt {
		oc.ledger.doubt(c, awaken.Doubt{Origin: awaken.DoubtTool})
		return
	}
	if t.Child == "" {
		return
	}
	for i := range t.Tickets {
		if d := t.Tickets[i].InDoubt; d.Open() {
			oc.ledger.doubt(c, awaken.Doubt{Since: d.Since, Origin: awaken.DoubtChild, RunID: t.Child})
			return
		}
	}
	if d := c.state.Doubt; d.Open() && d.Origin == awaken.DoubtChild { // the child's doubt is settled
		oc.ledger.edit(c).Doubt = nil
		oc.rec.InDoubt--
	}
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
	oc.answer(c, awaken.CallFailed, c.state.DoubtResult())
	oc.deferOutcome(c, awaken.CallFailed, nil)
}
