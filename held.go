package awaken

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// HeldMessage is a message that a guard has put to a person: one of the user that the
// model has not seen, or an answer of the model that nobody has seen. It is kept in the
// ledger, as what a call of "guard_input" or "guard_output" waits for. That call was asked
// for by no model; its only argument is the text, which whoever decides may edit.
type HeldMessage struct {
	Border Border `json:"border"`
	// Messages begins with the one that is held. Behind it are those that came after it:
	// they pass when it has.
	Messages []*llm.Message `json:"messages"`

	// What else the model said with its answer.
	Finish     llm.FinishReason `json:"finish,omitempty"`
	Usage      llm.Usage        `json:"usage,omitzero"`
	Incomplete []string         `json:"incomplete,omitempty"`
}

// heldTool is the name of the tool that a message is held by, as people see it.
func heldTool(b Border) string { return "guard_" + string(b) }

// heldID is the id of the call that waits with a message.
func heldID(m *llm.Message) string { return heldPrefix + m.ID }

const heldPrefix = "held_"

// IsHeldCall reports whether a call of that id stands for a message that a guard holds. It
// is a question to a person, and no part of the conversation.
func IsHeldCall(id string) bool { return strings.HasPrefix(id, heldPrefix) }

// isHeld reports whether the call stands for a message that a guard holds. Such calls have
// numbers below those of the model's.
func (s *CallState) isHeld() bool { return s.Index < 0 }

// heldText is what a person may edit of a message.
type heldText struct {
	Text *string `json:"text"`
}

// structured is the place of the call with which a message gives an answer that is held to
// a schema, or -1.
func structured(m *llm.Message) int {
	return slices.IndexFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.Name == FinalOutputTool })
}

// textOf is the text of a message that is held: what it says, or the answer that it gives
// by a call.
func textOf(m *llm.Message) string {
	if i := structured(m); i >= 0 {
		return string(m.ToolCalls[i].Arguments)
	}
	return m.Text()
}

// withText is the message with another text.
func withText(m *llm.Message, text string) *llm.Message {
	next := *m
	if i := structured(m); i >= 0 {
		next.ToolCalls = slices.Clone(m.ToolCalls)
		next.ToolCalls[i].Arguments = json.RawMessage(text)
		return &next
	}
	next.Content = make([]llm.Block, 0, len(m.Content)+1)
	said := false
	for _, b := range m.Content {
		if b.Type != llm.TextBlock {
			next.Content = append(next.Content, b)
		} else if !said {
			next.Content, said = append(next.Content, llm.Text(text)), true
		}
	}
	if !said {
		next.Content = append(next.Content, llm.Text(text))
	}
	return &next
}

// checkEdit says what is wrong with the arguments of a decision on what a guard holds.
func (s *CallState) checkEdit(args json.RawMessage) error {
	switch {
	case len(args) == 0:
		return nil
	case s.Held != nil:
		return fmt.Errorf("%w: the call has been made, its arguments cannot be changed any more", ErrInvalid)
	case s.Message == nil:
		return nil
	}
	var edit heldText
	if err := strict.Unmarshal(args, &edit); err != nil {
		return fmt.Errorf("%w: arguments: %w", ErrInvalid, err)
	}
	if edit.Text == nil {
		return fmt.Errorf("%w: arguments: text is missing, want what is to pass instead", ErrInvalid)
	}
	if structured(s.Message.Messages[0]) >= 0 && !json.Valid([]byte(*edit.Text)) {
		return fmt.Errorf("%w: arguments: text is not JSON, and the answer has to be", ErrInvalid)
	}
	return nil
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

// takeUpHeld takes up a message that was held when the run stopped.
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

// refuseHeld ends the run because a person did not let a message pass.
func (gd *guards) refuse(s *CallState) {
	what := "the message"
	if s.ToolName == heldTool(OutputBorder) {
		what = "the answer"
	}
	gd.ending = &Termination{Type: Blocked, Message: fmt.Sprintf("%s was refused: %s", what, cmp.Or(s.Decision.Reason, "no reason was given"))}
}

// passHeld deals with the messages that are held, at the border between two steps. What
// was decided passes, or ends the run. While something is not decided, the run waits. An
// answer that has passed is what the next step says.
func (r *run) passHeld(ctx context.Context) *end {
	for len(r.ledger.held) > 0 {
		waits := false
		for i := 0; i < len(r.ledger.held) && r.ending == nil; i++ { // what has passed may bring others
			c := r.ledger.held[i]
			if c.state.Status == CallResuming {
				if e := r.guards.passAgain(ctx, c); e != nil {
					return e
				}
			}
			waits = waits || c.state.Status == CallSuspended
		}
		if e := r.requested(); e != nil {
			return e
		}
		r.ledger.held = slices.DeleteFunc(r.ledger.held, func(c *call) bool { return c.state.Status.Terminal() })
		if !waits {
			return nil
		}
		r.guards.show(ctx)
		r.step.closed = true
		if e := r.park(ctx); e != nil {
			return e
		}
	}
	return nil
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
	case v.kind == block:
		return &end{Termination: Termination{Type: Blocked, Message: v.reason}}
	case v.kind == suspend:
		s.Message = &held
		gd.ledger.ticket(c, v.ticket)
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

// dropHeld forgets the messages that are held and not decided on.
func (gd *guards) drop(why string) {
	for _, c := range gd.ledger.held {
		if !c.state.Status.Terminal() {
			gd.release(c, CallCancelled, ErrorResult("", why))
		}
	}
	gd.ledger.held = nil
}

// showHeld shows the messages that are held as calls that wait, in a step in which no
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

// holdOutput keeps an answer from being shown until a person has decided. The step is
// over; it is begun again with the answer. It returns nil when somebody has decided or
// written meanwhile.
func (r *run) holdOutput(ctx context.Context, s *stream, m *llm.Message, t Ticket) *end {
	c := r.guards.hold(&HeldMessage{Border: OutputBorder, Messages: []*llm.Message{m}, Finish: s.got.Finish(), Usage: s.usage,
		Incomplete: append(s.got.Incomplete(), s.lost...)}, t)
	r.guards.showCall(ctx, c)
	r.out.emit(ctx, r.inference.completed(s))
	if r.conv.window != nil {
		r.inference.learn(s)
	}
	r.out.hold(pendingCall(c.state))
	if err := r.endStep(ctx); err != nil {
		return r.fail(err)
	}
	r.rec.Steps-- // it goes on
	return r.park(ctx)
}

// sayHeld is the reply of a step that goes on with an answer that was held.
func (r *run) sayHeld(ctx context.Context) *llm.Reply {
	held := r.guards.passed
	r.guards.passed = nil
	m := *held.Messages[0] // which others have seen
	r.inference.reply = llm.Reply{Message: &m, Usage: held.Usage, Finish: held.Finish, Incomplete: held.Incomplete}
	r.guards.sayAll(ctx, &m)
	for _, c := range m.ToolCalls {
		r.out.emit(ctx, &ToolCallReady{ID: c.ID, Name: c.Name, Arguments: arguments(c)})
	}
	return &r.inference.reply
}
