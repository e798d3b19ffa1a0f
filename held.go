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
func (r *run) hold(held *HeldMessage, t Ticket) *call {
	m := held.Messages[0]
	args, err := json.Marshal(heldText{new(textOf(m))})
	if err != nil {
		panic(err) // strings have JSON
	}
	if r.index > r.heldStep { // an answer that was held is of a step that is yet to come
		r.heldStep, r.heldCount = r.index, 0
	}
	r.heldCount++
	s := &CallState{CallID: heldID(m), ToolName: heldTool(held.Border), Arguments: args, Message: held,
		RunID: r.info.RunID, Step: r.heldStep, Index: -r.heldCount, Effect: ReadOnly}
	s.Key = fmt.Sprintf("%s/%d/%d", s.RunID, s.Step, s.Index)
	c := &call{state: s}
	r.held = append(r.held, c)
	r.ticket(c, t)
	return c
}

// holdsInput is the call that waits with a message of the user, or nil.
func (r *run) holdsInput() *call {
	for _, c := range r.held {
		if s := c.state; s.Message != nil && s.Message.Border == InputBorder && !s.Status.Terminal() {
			return c
		}
	}
	return nil
}

// takeUpHeld takes up a message that was held when the run stopped.
func (r *run) takeUpHeld(s *CallState) {
	if s.Step != r.heldStep {
		r.heldStep, r.heldCount = s.Step, 0
	}
	r.heldCount = max(r.heldCount, -s.Index)
	if !s.Status.Terminal() {
		r.held = append(r.held, &call{state: s, shared: true})
	} else if d := s.Decision; s.Status == CallCancelled && d != nil && d.Action == ActionCancel {
		r.refuseHeld(s)
	}
}

// refuseHeld ends the run because a person did not let a message pass.
func (r *run) refuseHeld(s *CallState) {
	what := "the message"
	if s.ToolName == heldTool(OutputBorder) {
		what = "the answer"
	}
	r.ending = &Termination{Type: Blocked, Message: fmt.Sprintf("%s was refused: %s", what, cmp.Or(s.Decision.Reason, "no reason was given"))}
}

// passHeld deals with the messages that are held, at the border between two steps. What
// was decided passes, or ends the run. While something is not decided, the run waits. An
// answer that has passed is what the next step says.
func (r *run) passHeld(ctx context.Context) *end {
	for len(r.held) > 0 {
		waits := false
		for i := 0; i < len(r.held) && r.ending == nil; i++ { // what has passed may bring others
			c := r.held[i]
			if c.state.Status == CallResuming {
				if e := r.passAgain(ctx, c); e != nil {
					return e
				}
			}
			waits = waits || c.state.Status == CallSuspended
		}
		if e := r.requested(); e != nil {
			return e
		}
		r.held = slices.DeleteFunc(r.held, func(c *call) bool { return c.state.Status.Terminal() })
		if !waits {
			return nil
		}
		r.showHeld(ctx)
		r.stepClosed = true
		if e := r.park(ctx); e != nil {
			return e
		}
	}
	return nil
}

// passAgain puts a message that may pass to the guards once more, as it is now.
func (r *run) passAgain(ctx context.Context, c *call) *end {
	s := r.edit(c)
	held := *s.Message
	m := held.Messages[0]
	if d := s.Decision; len(d.Arguments) > 0 {
		var edit heldText
		if err := json.Unmarshal(d.Arguments, &edit); err != nil {
			return r.fail(err)
		}
		s.Arguments, m = d.Arguments, withText(m, *edit.Text)
	}
	phase := PhaseRunStart
	if held.Border == OutputBorder {
		phase = PhaseAfterInference
	}
	p := &Passage{Border: held.Border, Message: m}
	v, err := r.pass(ctx, phase, about{}, p, s.Approved)
	held.Messages = append([]*llm.Message{p.Message}, held.Messages[1:]...)
	switch {
	case err != nil:
		return r.fail(err)
	case v.Blocked():
		return &end{Termination: Termination{Type: Blocked, Message: v.Reason()}}
	case v.Suspended():
		s.Message = &held
		r.ticket(c, v.Ticket())
		if s.StartedAt != 0 {
			r.out.hold(pendingCall(s))
		}
		return nil
	}
	r.release(c, CallSucceeded, TextResult("It may pass."))
	if held.Border == OutputBorder {
		r.passed = &held
		return nil
	}
	from := r.count + len(r.added) + 1
	r.add(p.Message)
	for _, m := range held.Messages[1:] {
		r.addInput(m)
	}
	if r.rec.Input.FromSeq == 0 {
		r.rec.Input = llm.Interval{FromSeq: from, ToSeq: r.count + len(r.added)}
	}
	return nil
}

// release ends the wait of a call that holds a message.
func (r *run) release(c *call, how CallStatus, res *ToolResult) {
	s := r.edit(c)
	res.ToolName = s.ToolName
	id := ""
	if how == CallSucceeded {
		id = s.Message.Messages[0].ID
	}
	if how == CallCancelled && s.Message.Border == OutputBorder {
		r.rec.Steps++ // that of the answer does not go on
	}
	s.Status, s.Result, s.Message, s.UpdatedAt = how, res, nil, r.rt.cfg.Now().UnixMilli()
	if s.StartedAt != 0 { // it has been shown
		r.out.hold(&ToolCallResumed{TargetID: s.CallID, Result: res.resumed(), MessageID: id, Outcome: how})
	}
}

// dropHeld forgets the messages that are held and not decided on.
func (r *run) dropHeld(why string) {
	for _, c := range r.held {
		if !c.state.Status.Terminal() {
			r.release(c, CallCancelled, ErrorResult("", why))
		}
	}
	r.held = nil
}

// showHeld shows the messages that are held as calls that wait, in a step in which no
// model is asked.
func (r *run) showHeld(ctx context.Context) {
	var fresh []*call
	for _, c := range r.held {
		if c.state.Status == CallSuspended && c.state.StartedAt == 0 {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == 0 {
		return
	}
	r.messageID, r.calls, r.stale = r.rt.cfg.NewID(), r.calls[:0], true
	r.out.emit(ctx, &StepStart{MessageID: r.messageID})
	for _, c := range fresh {
		r.showCall(ctx, c)
	}
	for _, c := range fresh {
		r.out.hold(pendingCall(c.state))
	}
	r.snapshot()
	r.out.hold(&StepEnd{})
}

// showCall shows a message that is held as a call.
func (r *run) showCall(ctx context.Context, c *call) {
	s := r.edit(c)
	s.StartedAt = r.rt.cfg.Now().UnixMilli()
	r.out.emit(ctx, &ToolCallStart{ID: s.CallID, Name: s.ToolName})
	r.out.emit(ctx, &ToolCallReady{ID: s.CallID, Name: s.ToolName, Arguments: s.Arguments})
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
	c := r.hold(&HeldMessage{Border: OutputBorder, Messages: []*llm.Message{m}, Finish: s.got.Finish(), Usage: s.usage,
		Incomplete: append(s.got.Incomplete(), s.lost...)}, t)
	r.showCall(ctx, c)
	r.out.emit(ctx, r.completed(s))
	if r.window != nil {
		r.learn(s)
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
	held := r.passed
	r.passed = nil
	m := *held.Messages[0] // which others have seen
	r.reply = llm.Reply{Message: &m, Usage: held.Usage, Finish: held.Finish, Incomplete: held.Incomplete}
	r.sayAll(ctx, &m)
	for _, c := range m.ToolCalls {
		r.out.emit(ctx, &ToolCallReady{ID: c.ID, Name: c.Name, Arguments: arguments(c)})
	}
	return &r.reply
}
