package replay

import (
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

// request returns the request that began an activation.
func (p *part) request(s *stage, i int) awaken.RunRequest {
	run, a := p.rec.Run, &p.acts[i]
	mode := ""
	if a.begin.Identity != nil {
		mode = a.begin.Identity.Mode
	}
	if i == 0 {
		input, _ := p.input()
		if p.block.act == 0 {
			input = append(slices.Clip(input), p.unseen())
		}
		req := awaken.RunRequest{AgentID: p.agent(), ThreadID: run.ThreadID, RunID: run.RunID, Messages: input, Rewind: p.rewind, Call: run.Call, Overrides: run.Overrides,
			FrontendTools: run.FrontendTools, Untrusted: run.Untrusted, OutputSchema: run.OutputSchema, Budget: p.budget(0), Mode: mode,
			ParentThreadID: run.ParentThreadID, ParentRunID: run.ParentRunID, ParentToolCallID: run.ParentToolCallID, DispatchID: run.DispatchID, SessionID: run.SessionID,
			UserID: run.UserID, TransportRequestID: run.TransportRequestID, Origin: run.Origin, Adapter: run.Adapter, Depth: run.Depth, Taint: broughtTaint(run)}
		a.give(&req)
		if p.endsAtOnce(0) {
			req.End = a.end
		}
		return req
	}
	req := awaken.RunRequest{Continue: run.RunID, Mode: mode}
	if p.endsAtOnce(i) {
		req.End = a.end
		return req
	}
	a.give(&req)
	req.Budget = p.budget(i)
	req.Decisions = p.decided(s, i)
	req.Messages, req.Rewind = p.said(i)
	if p.block.act == i {
		req.Messages = append(req.Messages, p.unseen())
	}
	if len(req.Messages) > 0 {
		req.Continue, req.ThreadID = "", run.ThreadID
	}
	return req
}

// give adds what the activation was given beside messages to a request.
func (a *activation) give(req *awaken.RunRequest) {
	if given := a.begin.Request; given != nil {
		req.Seed, req.Context = given.Seed, given.Context
	}
}

// budget returns the budget that the run had in an activation. The record of the run has that of the last request; a run that waited for money says
// which limit it had come to.
func (p *past) budget(i int) *awaken.RunBudget {
	run := p.rec.Run
	if run.Budget == nil {
		return nil
	}
	for _, a := range p.acts[i:] {
		out := a.finish.Result
		if out == nil || out.Waiting == nil || out.Waiting.Budget == nil {
			continue
		}
		b := *run.Budget
		switch e := out.Waiting.Budget; e.Account {
		case money.Account{Scope: money.RunScope, ID: run.RunID}:
			b.Run = &e.LimitUSD
		case money.Account{Scope: money.ThreadScope, ID: run.ThreadID}:
			b.Thread = &e.LimitUSD
		}
		return &b
	}
	return run.Budget
}

// broughtTaint returns the taint of a run that it had from its beginning, or nil: what a trigger sends, for example, is untrusted.
func broughtTaint(run *awaken.Run) *awaken.Taint {
	if t := run.Taint; t != nil && (t.At < run.StartedAt || t.At == run.StartedAt && t.CallID == "") {
		return t
	}
	return nil
}

// decided returns the decisions on the questions that were open before an activation and are not behind it.
func (p *part) decided(s *stage, i int) []awaken.Decision {
	var open []string
	if out := p.acts[i].finish.Result; out != nil && out.Waiting != nil {
		open = out.Waiting.TicketIDs
	}
	var before []awaken.WaitingTicket
	if out := p.acts[i-1].finish.Result; out != nil && out.Waiting != nil {
		before = out.Waiting.Tickets
	}
	var out []awaken.Decision
	for _, t := range before {
		if slices.Contains(open, t.TicketID) {
			continue
		}
		if d := s.decision(p, t.TicketID); d != nil {
			out = append(out, *d)
		}
	}
	slices.SortStableFunc(out, func(a, b awaken.Decision) int { return int(a.UpdatedAt - b.UpdatedAt) })
	for i := range out {
		out[i].UpdatedAt, out[i].Unapplied = 0, ""
	}
	return out
}

// decision returns the decision on a question of a run, or of one below it.
func (s *stage) decision(p *part, ticket string) *awaken.Decision {
	for _, c := range p.rec.Calls {
		for _, d := range append(slices.Clone(c.Earlier), decisionOf(c)...) {
			if d.Target == ticket || d.Target == c.CallID && c.SuspensionID() == ticket {
				return &d
			}
		}
	}
	child, rest, _ := strings.Cut(ticket, ":")
	if below := s.of(child); below != nil {
		if d := s.decision(below, rest); d != nil {
			d.Target = ticket
			return d
		}
	}
	return nil
}

func decisionOf(c *awaken.CallState) []awaken.Decision {
	if c.Decision == nil {
		return nil
	}
	return []awaken.Decision{*c.Decision}
}

// said returns the messages that continued the run at the beginning of an activation: those in the log between the last answer before it
// and the first one in it. Rewind is the message that they hide, if any.
func (p *part) said(i int) (out []*llm.Message, rewind string) {
	if p.acts[i].lost() {
		return nil, ""
	}
	before := i - 1 // the activation that waited for it
	for before > 0 && p.acts[before].lost() {
		before--
	}
	if before == 0 {
		_, out = p.input()
	}
	out = append(out, p.heldInput(i)...)
	last := ""
	for _, r := range p.rec.Messages {
		m := r.Message
		if m.Role == llm.Assistant {
			last = m.ID
			continue
		}
		md := m.Metadata
		mark := md != nil && md.Rewind != nil
		if a := arrival(m); a != nil && a.Point != llm.AtOpening {
			continue // it came while the run was active
		}
		if !mark && (!fromOutside(&r) || m.IsInternal() && len(p.rec.Children) > 0) { // the runtime tells the model so of its children
			continue
		}
		at := p.answerAt(last)
		if at < 0 || !p.startsActivation(at, m) {
			continue
		}
		switch {
		case p.actAt(at) != before:
		case !mark:
			out = append(out, m)
		case p.seq(md.Rewind.FromSeq) != nil:
			rewind = p.seq(md.Rewind.FromSeq).ID
		}
	}
	return out, rewind
}
