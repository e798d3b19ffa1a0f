package awaken

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/llm"
)

// guards puts what passes the borders of a run to the agent's guards, and keeps the
// messages that wait for a person.
type guards struct {
	*core

	lastStep, lastCount int          // how many messages were held in the last step that had any
	passed              *HeldMessage // an answer that may be shown now
}

// pass asks the guards of a border about a passage, one after the other, until one does
// not let it through.
func (gd *guards) pass(ctx context.Context, phase Phase, in about, p *Passage, approved []string) (Verdict, error) {
	id := ""
	if p.Border == ResultBorder {
		id = in.tool.ID
	} else {
		id = heldID(p.Message)
	}
	for i := range gd.agent.guards[p.Border] {
		g := &gd.agent.guards[p.Border][i]
		v, err := g.ask(ctx, gd.hooks.call(phase, in), p)
		switch {
		case err != nil:
			return Verdict{}, err
		case v.Suspended() && slices.Contains(approved, v.SuspensionID(id)):
			continue // this question has been answered
		case v.Answered():
			return Verdict{}, fmt.Errorf("guard of plugin %q: a passage of the border %s can be allowed, blocked or suspended, not answered", g.plugin, p.Border)
		}
		if !v.Allowed() {
			return v, nil
		}
	}
	return Verdict{}, nil
}

// addInput adds a message that comes from outside to the conversation, if the guards let
// it pass. If not, the run ends, or the message waits for a person, with all that come
// behind it.
func (gd *guards) addInput(m *llm.Message) {
	m = gd.conv.adopt(m)
	if c := gd.holdsInput(); c != nil {
		s := gd.ledger.edit(c)
		held := *s.Message
		held.Messages = append(slices.Clip(held.Messages), m)
		s.Message = &held
		return
	}
	if len(gd.agent.guards[InputBorder]) > 0 {
		p := &Passage{Border: InputBorder, Message: m}
		v, err := gd.pass(gd.ctx, PhaseRunStart, about{}, p, nil)
		switch {
		case err != nil:
			gd.ending = &Termination{Type: Failed, Message: err.Error()}
			return
		case v.Blocked():
			gd.ending = &Termination{Type: Blocked, Message: v.Reason()}
			return
		case v.Suspended():
			gd.hold(&HeldMessage{Border: InputBorder, Messages: []*llm.Message{p.Message}}, v.Ticket())
			return
		}
		m = p.Message
	}
	gd.conv.add(m)
}

// sayAll shows an answer that nothing has been shown of.
func (gd *guards) sayAll(ctx context.Context, m *llm.Message) {
	for _, b := range m.Content {
		switch b.Type {
		case llm.TextBlock:
			gd.out.textDelta(ctx, b.Text)
		case llm.ThinkingBlock:
			gd.out.reasoningDelta(ctx, b.Text)
		}
	}
	for _, c := range m.ToolCalls {
		gd.out.emit(ctx, &ToolCallStart{ID: c.ID, Name: c.Name})
		gd.out.argsDelta(ctx, c.ID, string(arguments(c)))
	}
}

// hold keeps a message from passing until a person has decided.
func (gd *guards) hold(held *HeldMessage, t Ticket) *call {
	m := held.Messages[0]
	args, err := json.Marshal(heldText{new(textOf(m))})
	if err != nil {
		panic(err) // strings have JSON
	}
	if gd.step.index > gd.lastStep { // an answer that was held is of a step that is yet to come
		gd.lastStep, gd.lastCount = gd.step.index, 0
	}
	gd.lastCount++
	s := &CallState{CallID: heldID(m), ToolName: heldTool(held.Border), Arguments: args, Message: held,
		RunID: gd.info.RunID, Step: gd.lastStep, Index: -gd.lastCount, Effect: ReadOnly}
	s.Key = fmt.Sprintf("%s/%d/%d", s.RunID, s.Step, s.Index)
	c := &call{state: s}
	gd.ledger.held = append(gd.ledger.held, c)
	gd.ledger.ticket(c, t)
	return c
}

// holdsInput is the call that waits with a message of the user, or nil.
func (gd *guards) holdsInput() *call {
	for _, c := range gd.ledger.held {
		if s := c.state; s.Message != nil && s.Message.Border == InputBorder && !s.Status.Terminal() {
			return c
		}
	}
	return nil
}

// takeUp takes up a message that was held when the run stopped.
func (gd *guards) takeUp(s *CallState) {
	if s.Step != gd.lastStep {
		gd.lastStep, gd.lastCount = s.Step, 0
	}
	gd.lastCount = max(gd.lastCount, -s.Index)
	if !s.Status.Terminal() {
		gd.ledger.held = append(gd.ledger.held, &call{state: s, shared: true})
	} else if d := s.Decision; s.Status == CallCancelled && d != nil && d.Action == ActionCancel {
		gd.refuse(s)
	}
}

// refuse ends the run because a person did not let a message pass.
func (gd *guards) refuse(s *CallState) {
	what := "the message"
	if s.ToolName == heldTool(OutputBorder) {
		what = "the answer"
	}
	gd.ending = &Termination{Type: Blocked, Message: fmt.Sprintf("%s was refused: %s", what, cmp.Or(s.Decision.Reason, "no reason was given"))}
}

// passAgain puts a message that may pass to the guards once more, as it is now.
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
	phase := PhaseRunStart
	if held.Border == OutputBorder {
		phase = PhaseAfterInference
	}
	p := &Passage{Border: held.Border, Message: m}
	v, err := gd.pass(ctx, phase, about{}, p, s.Approved)
	held.Messages = append([]*llm.Message{p.Message}, held.Messages[1:]...)
	switch {
	case err != nil:
		return gd.fail(err)
	case v.Blocked():
		return &end{Termination: Termination{Type: Blocked, Message: v.Reason()}}
	case v.Suspended():
		s.Message = &held
		gd.ledger.ticket(c, v.Ticket())
		if s.StartedAt != 0 {
			gd.out.hold(pendingCall(s))
		}
		return nil
	}
	gd.release(c, CallSucceeded, TextResult("It may pass."))
	if held.Border == OutputBorder {
		gd.passed = &held
		return nil
	}
	from := gd.journal.count + len(gd.conv.added) + 1
	gd.conv.add(p.Message)
	for _, m := range held.Messages[1:] {
		gd.addInput(m)
	}
	if gd.rec.Input.FromSeq == 0 {
		gd.rec.Input = llm.Interval{FromSeq: from, ToSeq: gd.journal.count + len(gd.conv.added)}
	}
	return nil
}

// release ends the wait of a call that holds a message.
func (gd *guards) release(c *call, how CallStatus, res *ToolResult) {
	s := gd.ledger.edit(c)
	res.ToolName = s.ToolName
	id := ""
	if how == CallSucceeded {
		id = s.Message.Messages[0].ID
	}
	if how == CallCancelled && s.Message.Border == OutputBorder {
		gd.rec.Steps++ // that of the answer does not go on
	}
	s.Status, s.Result, s.Message, s.UpdatedAt = how, res, nil, gd.rt.cfg.Now().UnixMilli()
	if s.StartedAt != 0 { // it has been shown
		gd.out.hold(&ToolCallResumed{TargetID: s.CallID, Result: res.resumed(), MessageID: id, Outcome: how})
	}
}

// drop forgets the messages that are held and not decided on.
func (gd *guards) drop(why string) {
	for _, c := range gd.ledger.held {
		if !c.state.Status.Terminal() {
			gd.release(c, CallCancelled, ErrorResult("", why))
		}
	}
	gd.ledger.held = nil
}

// show shows the messages that are held as calls that wait, in a step in which no
// model is asked.
func (gd *guards) show(ctx context.Context) {
	var fresh []*call
	for _, c := range gd.ledger.held {
		if c.state.Status == CallSuspended && c.state.StartedAt == 0 {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == 0 {
		return
	}
	gd.step.messageID, gd.ledger.calls, gd.ledger.stale = gd.rt.cfg.NewID(), gd.ledger.calls[:0], true
	gd.out.emit(ctx, &StepStart{MessageID: gd.step.messageID})
	for _, c := range fresh {
		gd.showCall(ctx, c)
	}
	for _, c := range fresh {
		gd.out.hold(pendingCall(c.state))
	}
	gd.ledger.snapshot()
	gd.out.hold(&StepEnd{})
}

// showCall shows a message that is held as a call.
func (gd *guards) showCall(ctx context.Context, c *call) {
	s := gd.ledger.edit(c)
	s.StartedAt = gd.rt.cfg.Now().UnixMilli()
	gd.out.emit(ctx, &ToolCallStart{ID: s.CallID, Name: s.ToolName})
	gd.out.emit(ctx, &ToolCallReady{ID: s.CallID, Name: s.ToolName, Arguments: s.Arguments})
}

// pendingCall is the event that says that a call waits.
func pendingCall(s *CallState) *ToolCallDone {
	res := &ToolResult{ToolName: s.ToolName, Status: ToolPending, Message: fmt.Sprintf("Tool '%s' suspended: awaiting approval", s.ToolName), Suspension: s.Ticket}
	return &ToolCallDone{ID: s.CallID, Result: res, Outcome: CallSuspended}
}
