package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// guards asks the agent's guards about input, answers and results, and keeps the messages that
// wait for a decision.
type guards struct {
	*core

	lastStep, lastCount int                 // the last step with held messages, and how many it had
	approved            *awaken.HeldMessage // an answer that may be shown now
}

// pass asks the guards of a point about a passage, one after the other, until one does not allow
// it.
func (gd *guards) pass(ctx context.Context, phase awaken.Phase, in about, p *awaken.Passage, approved []string) (awaken.Verdict, error) {
	id := ""
	if p.Point == awaken.ResultPoint {
		id = in.tool.ID
	} else {
		id = awaken.HeldCallPrefix + p.Message.ID
	}
	for i := range gd.agent.Guards[p.Point] {
		g := &gd.agent.Guards[p.Point][i]
		h := gd.hooks.call(phase, in)
		v, err := bounded(ctx, &gd.activation, func(ctx context.Context) (awaken.Verdict, error) { return g.Ask(ctx, h, p) }, "guard of plugin %q", g.Plugin)
		switch {
		case err != nil:
			return awaken.Verdict{}, err
		case v.Suspended() && slices.Contains(approved, v.SuspensionID(id)):
			continue // a decision has approved this
		case v.Answered() || v.Arguments() != nil:
			return awaken.Verdict{}, fmt.Errorf("guard of plugin %q: %s can be allowed, blocked or suspended, not answered or given arguments", g.Plugin, p.Point)
		}
		if !v.Allowed() {
			return v, nil
		}
	}
	return awaken.Verdict{}, nil
}

// addInput adds a message from outside to the conversation, if the guards allow it. Otherwise the
// run ends, or the message and all later ones wait for a decision.
func (gd *guards) addInput(m *llm.Message) {
	m = gd.conv.adopt(m)
	if c := gd.holdsInput(); c != nil {
		s := gd.ledger.edit(c)
		held := *s.Message
		held.Messages = append(slices.Clip(held.Messages), m)
		s.Message = &held
		return
	}
	if len(gd.agent.Guards[awaken.InputPoint]) > 0 {
		if m = gd.passInput(m); m == nil {
			return
		}
	}
	gd.conv.add(m)
}

// passInput asks the guards about a message from outside. It returns the message to add, or nil.
func (gd *guards) passInput(m *llm.Message) *llm.Message {
	p := &awaken.Passage{Point: awaken.InputPoint, Message: m}
	v, err := gd.pass(gd.ctx, awaken.PhaseRunStart, about{}, p, nil)
	switch {
	case err != nil:
		gd.ending = &awaken.Termination{Type: awaken.Failed, Message: err.Error()}
		return nil
	case v.Blocked():
		gd.ending = &awaken.Termination{Type: awaken.Blocked, Message: v.Reason(), Details: &awaken.TerminationDetails{Point: awaken.InputPoint}}
		return nil
	case v.Suspended():
		gd.hold(&awaken.HeldMessage{Point: awaken.InputPoint, Messages: []*llm.Message{p.Message}}, v.Ticket())
		return nil
	}
	return p.Message
}

// showAnswer emits the deltas of an answer that has not been streamed.
func (gd *guards) showAnswer(ctx context.Context, m *llm.Message) {
	for _, b := range m.Content {
		switch b.Type {
		case llm.TextBlock:
			gd.out.textDelta(ctx, b.Text)
		case llm.ThinkingBlock:
			gd.out.reasoningDelta(ctx, b.Text)
		}
	}
	for _, c := range m.ToolCalls {
		gd.out.emit(ctx, &awaken.ToolCallStart{ID: c.ID, Name: c.Name})
		gd.out.argsDelta(ctx, c.ID, string(arguments(c)))
	}
}

// hold keeps a message back until a decision.
func (gd *guards) hold(held *awaken.HeldMessage, t awaken.Ticket) *call {
	m := held.Messages[0]
	args, err := json.Marshal(heldText{new(textOf(m))})
	if err != nil {
		panic(err) // strings always marshal
	}
	if gd.step.index > gd.lastStep { // a held answer belongs to a step that is yet to come
		gd.lastStep, gd.lastCount = gd.step.index, 0
	}
	gd.lastCount++
	s := &awaken.CallState{CallID: awaken.HeldCallPrefix + m.ID, ToolName: heldTool(held.Point), Arguments: args, Message: held,
		RunID: gd.info.RunID, Step: gd.lastStep, Index: -gd.lastCount, Effect: awaken.ReadOnly}
	s.Key = callKey(s.RunID, s.Step, s.Index)
	c := &call{state: s}
	gd.ledger.heldMessages = append(gd.ledger.heldMessages, c)
	gd.ledger.ticket(c, t)
	return c
}

// holdsInput returns the call that holds back a message of the user, or nil.
func (gd *guards) holdsInput() *call {
	for _, c := range gd.ledger.heldMessages {
		if s := c.state; s.Message != nil && s.Message.Point == awaken.InputPoint && !s.Status.Terminal() {
			return c
		}
	}
	return nil
}

// restore restores a message that was held when the previous activation ended.
func (gd *guards) restore(s *awaken.CallState) {
	if s.Step != gd.lastStep {
		gd.lastStep, gd.lastCount = s.Step, 0
	}
	gd.lastCount = max(gd.lastCount, -s.Index)
	if !s.Status.Terminal() {
		gd.ledger.heldMessages = append(gd.ledger.heldMessages, &call{state: s, shared: true})
	} else if d := s.Decision; s.Status == awaken.CallCancelled && d != nil && d.Action == awaken.ActionCancel {
		gd.refuse(s)
	}
}

// refuse ends the run because a decision rejected a message.
func (gd *guards) refuse(s *awaken.CallState) {
	what := "the message"
	if s.ToolName == heldTool(awaken.OutputPoint) {
		what = "the answer"
	}
	gd.ending = &awaken.Termination{Type: awaken.Blocked, Message: fmt.Sprintf("%s was refused: %s", what, cmp.Or(s.Decision.Reason, "no reason was given"))}
}

// passAgain asks the guards again about an approved message, as it is now.
func (gd *guards) passAgain(ctx context.Context, c *call) *end {
	s := gd.ledger.edit(c)
	held := *s.Message
	m := held.Messages[0]
	if d := s.Decision; len(d.Arguments) > 0 {
		var edit heldText
		if err := json.Unmarshal(d.Arguments, &edit); err != nil {
			return gd.fail(err)
		}
		s.Arguments, m = d.Arguments, withText(m, *edit.Text)
	}
	phase := awaken.PhaseRunStart
	if held.Point == awaken.OutputPoint {
		phase = awaken.PhaseAfterInference
	}
	p := &awaken.Passage{Point: held.Point, Message: m}
	v, err := gd.pass(ctx, phase, about{}, p, s.Approved)
	held.Messages = append([]*llm.Message{p.Message}, held.Messages[1:]...)
	switch {
	case err != nil:
		return gd.fail(err)
	case v.Blocked():
		return &end{Termination: awaken.Termination{Type: awaken.Blocked, Message: v.Reason()}}
	case v.Suspended():
		s.Message = &held
		gd.ledger.ticket(c, v.Ticket())
		if s.StartedAt != 0 {
			gd.out.deferEvent(pendingCall(s))
		}
		return nil
	}
	gd.release(c, awaken.CallSucceeded, awaken.TextResult("It may pass."))
	if held.Point == awaken.OutputPoint {
		gd.approved = &held
		return nil
	}
	from := gd.journal.count + len(gd.conv.added) + 1
	gd.conv.add(p.Message)
	for _, m := range held.Messages[1:] {
		gd.addInput(m)
	}
	if gd.ending != nil {
		gd.ending.Details = nil // the ledger has the message
	}
	if gd.rec.Input.FromSeq == 0 {
		gd.rec.Input = llm.Interval{FromSeq: from, ToSeq: gd.journal.count + len(gd.conv.added)}
	}
	return nil
}

// release ends the wait of a call that holds a message.
func (gd *guards) release(c *call, how awaken.CallStatus, res *awaken.ToolResult) {
	s := gd.ledger.edit(c)
	res.ToolName = s.ToolName
	id := ""
	if how == awaken.CallSucceeded {
		id = s.Message.Messages[0].ID
	}
	if how == awaken.CallCancelled && s.Message.Point == awaken.OutputPoint {
		gd.rec.Steps++ // the step of the answer will not be repeated
	}
	s.Status, s.Result, s.Message, s.UpdatedAt = how, res, nil, gd.rt.cfg.Now().UnixMilli()
	if s.StartedAt != 0 { // clients have seen it
		gd.out.deferEvent(&awaken.ToolCallResumed{TargetID: s.CallID, Result: resumedValue(res), MessageID: id, Outcome: how, Decision: gd.decided(s)})
	}
}

// drop cancels the held messages that have no decision: how is the reason in a word.
func (gd *guards) drop(how, why string) {
	for _, c := range gd.ledger.heldMessages {
		if !c.state.Status.Terminal() {
			gd.followed().withdrawn(gd.core, c.state, how)
			unmade(gd.ledger.edit(c), why)
			gd.release(c, awaken.CallCancelled, awaken.ErrorResult("", why))
		}
	}
	gd.ledger.heldMessages = nil
}

// showHeld shows held messages as suspended calls, in a step without a model call.
func (gd *guards) showHeld(ctx context.Context) {
	var fresh []*call
	for _, c := range gd.ledger.heldMessages {
		if c.state.Status == awaken.CallSuspended && c.state.StartedAt == 0 {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == 0 {
		return
	}
	gd.step.messageID, gd.ledger.calls, gd.ledger.stale = gd.rt.cfg.NewID(), gd.ledger.calls[:0], true
	gd.out.emit(ctx, &awaken.StepStart{MessageID: gd.step.messageID})
	for _, c := range fresh {
		gd.showCall(ctx, c)
	}
	for _, c := range fresh {
		gd.out.deferEvent(pendingCall(c.state))
	}
	gd.ledger.snapshot()
	gd.out.deferEvent(&awaken.StepEnd{})
}

// showCall shows a held message as a call.
func (gd *guards) showCall(ctx context.Context, c *call) {
	s := gd.ledger.edit(c)
	s.StartedAt = gd.rt.cfg.Now().UnixMilli()
	gd.out.emit(ctx, &awaken.ToolCallStart{ID: s.CallID, Name: s.ToolName})
	gd.out.emit(ctx, &awaken.ToolCallReady{ID: s.CallID, Name: s.ToolName, Arguments: s.Arguments})
}

// pendingCall makes the event of a suspended call.
func pendingCall(s *awaken.CallState) *awaken.ToolCallDone {
	res := &awaken.ToolResult{ToolName: s.ToolName, Status: awaken.ToolPending, Message: fmt.Sprintf("Tool '%s' suspended: awaiting approval", s.ToolName), Suspension: s.Ticket}
	return &awaken.ToolCallDone{ID: s.CallID, Result: res, Outcome: awaken.CallSuspended}
}
