package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// heldTool is the tool name under which clients see a held message.
func heldTool(b awaken.GuardPoint) string { return "guard_" + string(b) }

// heldText is the part of a held message that a decision may edit.
type heldText struct {
	Text *string `json:"text"`
}

// structured returns the index of the call that gives an answer matching a schema, or -1.
func structured(m *llm.Message) int {
	return slices.IndexFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.Name == awaken.FinalOutputTool })
}

// textOf returns the text of a held message: its own, or the answer given by a call.
func textOf(m *llm.Message) string {
	if i := structured(m); i >= 0 {
		return string(m.ToolCalls[i].Arguments)
	}
	return m.Text()
}

// withText returns a copy of the message with another text.
func withText(m *llm.Message, text string) *llm.Message {
	next := *m
	if i := structured(m); i >= 0 {
		next.ToolCalls = slices.Clone(m.ToolCalls)
		next.ToolCalls[i].Arguments = json.RawMessage(text)
		return &next
	}
	isText := func(b llm.Block) bool { return b.Type == llm.TextBlock }
	others := slices.DeleteFunc(slices.Clone(m.Content), isText)
	at := slices.IndexFunc(m.Content, isText)
	if at < 0 {
		at = len(others)
	}
	next.Content = slices.Insert(others, at, llm.Text(text))
	return &next
}

// checkEdit checks the arguments of a decision on a call or message that a guard holds.
func checkEdit(s *awaken.CallState, args json.RawMessage) error {
	switch {
	case len(args) == 0:
		return nil
	case len(s.Steps) > 0, s.Ticket != nil && s.Ticket.Suspension.Action == awaken.ActionStepInDoubt:
		return fmt.Errorf("%w: the call has done some of its steps; its arguments can no longer be changed", awaken.ErrInvalid)
	case s.HeldResult != nil:
		return fmt.Errorf("%w: the call has been made; its arguments can no longer be changed", awaken.ErrInvalid)
	case s.Message == nil:
		return nil
	}
	var edit heldText
	if err := strict.Unmarshal(args, &edit); err != nil {
		return fmt.Errorf("%w: arguments: %w", awaken.ErrInvalid, err)
	}
	if edit.Text == nil {
		return fmt.Errorf("%w: arguments: text is missing; want the text to use instead", awaken.ErrInvalid)
	}
	if structured(s.Message.Messages[0]) >= 0 && !json.Valid([]byte(*edit.Text)) {
		return fmt.Errorf("%w: arguments: text is not JSON, but the answer must be", awaken.ErrInvalid)
	}
	return nil
}

// passHeld handles the held messages between two steps. Decided messages pass or end the run;
// while any is undecided the run parks. An answer that passes becomes the reply of the next step.
func (r *run) passHeld(ctx context.Context) *end {
	for len(r.ledger.heldMessages) > 0 {
		waits := false
		for i := 0; i < len(r.ledger.heldMessages) && r.ending == nil; i++ { // a message that passes may bring others
			c := r.ledger.heldMessages[i]
			if c.state.Status == awaken.CallResuming {
				if e := r.guards.passAgain(ctx, c); e != nil {
					return e
				}
			}
			waits = waits || c.state.Status == awaken.CallSuspended
		}
		if e := r.requested(); e != nil {
			return e
		}
		r.ledger.heldMessages = slices.DeleteFunc(r.ledger.heldMessages, func(c *call) bool { return c.state.Status.Terminal() })
		if !waits {
			return nil
		}
		r.guards.showHeld(ctx)
		r.step.closed = true
		if e := r.awaitDecisions(ctx); e != nil {
			return e
		}
	}
	return nil
}

// passOutput asks the guards about the model's answer and shows what they allow. It returns nil if
// the step has nothing more to show, with the end of the run, if any.
func (r *run) passOutput(ctx context.Context, s *stream, m *llm.Message) (*llm.Message, *end) {
	m.ID = r.step.messageID
	p := &awaken.Passage{Point: awaken.OutputPoint, Message: m}
	v, err := r.guards.pass(ctx, awaken.PhaseAfterInference, about{}, p, nil)
	if err != nil {
		return nil, r.fail(err)
	}
	switch {
	case v.Blocked():
		return nil, &end{Termination: awaken.Termination{Type: awaken.Blocked, Message: v.Reason(), Details: &awaken.TerminationDetails{Point: awaken.OutputPoint}}}
	case v.Suspended():
		return nil, r.holdOutput(ctx, s, p.Message, v.Ticket())
	}
	r.guards.showAnswer(ctx, p.Message)
	return p.Message, nil
}

// holdOutput keeps an answer back until a decision, and parks the run. The step will be repeated
// with the answer as its reply. It returns nil if a decision or a message arrived meanwhile.
func (r *run) holdOutput(ctx context.Context, s *stream, m *llm.Message, t awaken.Ticket) *end {
	c := r.guards.hold(&awaken.HeldMessage{Point: awaken.OutputPoint, Messages: []*llm.Message{m}, Finish: s.got.Finish(), Usage: s.usage,
		Incomplete: append(s.got.Incomplete(), s.lost...)}, t)
	r.guards.showCall(ctx, c)
	r.out.emit(ctx, r.inference.completed(s))
	if r.conv.window != nil {
		r.inference.learn(s)
	}
	r.out.deferEvent(pendingCall(c.state))
	if err := r.endStep(ctx); err != nil {
		return r.fail(err)
	}
	r.rec.Steps-- // the step will be repeated
	return r.awaitDecisions(ctx)
}

// replyHeld makes an approved answer the reply of the step.
func (r *run) replyHeld(ctx context.Context) {
	held := r.guards.approved
	r.guards.approved = nil
	m := *held.Messages[0] // a copy: others have seen it
	r.inference.reply = llm.Reply{Message: &m, Usage: held.Usage, Finish: held.Finish, Incomplete: held.Incomplete}
	r.guards.showAnswer(ctx, &m)
	for _, c := range m.ToolCalls {
		r.out.emit(ctx, &awaken.ToolCallReady{ID: c.ID, Name: c.Name, Arguments: arguments(c)})
	}
}
