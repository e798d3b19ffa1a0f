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

// heldTool is the name of the tool that a message is held by, as people see it.
func heldTool(b awaken.Border) string { return "guard_" + string(b) }

// heldText is what a person may edit of a message.
type heldText struct {
	Text *string `json:"text"`
}

// structured is the place of the call with which a message gives an answer that is held to
// a schema, or -1.
func structured(m *llm.Message) int {
	return slices.IndexFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.Name == awaken.FinalOutputTool })
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
	isText := func(b llm.Block) bool { return b.Type == llm.TextBlock }
	others := slices.DeleteFunc(slices.Clone(m.Content), isText)
	at := slices.IndexFunc(m.Content, isText)
	if at < 0 {
		at = len(others)
	}
	next.Content = slices.Insert(others, at, llm.Text(text))
	return &next
}

// checkEdit says what is wrong with the arguments of a decision on what a guard holds.
func checkEdit(s *awaken.CallState, args json.RawMessage) error {
	switch {
	case len(args) == 0:
		return nil
	case s.Held != nil:
		return fmt.Errorf("%w: the call has been made, its arguments cannot be changed any more", awaken.ErrInvalid)
	case s.Message == nil:
		return nil
	}
	var edit heldText
	if err := strict.Unmarshal(args, &edit); err != nil {
		return fmt.Errorf("%w: arguments: %w", awaken.ErrInvalid, err)
	}
	if edit.Text == nil {
		return fmt.Errorf("%w: arguments: text is missing, want what is to pass instead", awaken.ErrInvalid)
	}
	if structured(s.Message.Messages[0]) >= 0 && !json.Valid([]byte(*edit.Text)) {
		return fmt.Errorf("%w: arguments: text is not JSON, and the answer has to be", awaken.ErrInvalid)
	}
	return nil
}

// passHeld deals with the messages that are held, at the border between two steps. What
// was decided passes, or ends the run. While something is not decided, the run waits. An
// answer that has passed is what the next step says.
func (r *run) passHeld(ctx context.Context) *end {
	for len(r.ledger.heldMessages) > 0 {
		waits := false
		for i := 0; i < len(r.ledger.heldMessages) && r.ending == nil; i++ { // what has passed may bring others
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

// passOutput puts the model's answer to the guards, and shows what they let through. It
// returns nil when nothing is left to say in this step, and the end of the run, if there
// is one.
func (r *run) passOutput(ctx context.Context, s *stream, m *llm.Message) (*llm.Message, *end) {
	m.ID = r.step.messageID
	p := &awaken.Passage{Border: awaken.OutputBorder, Message: m}
	v, err := r.guards.pass(ctx, awaken.PhaseAfterInference, about{}, p, nil)
	if err != nil {
		return nil, r.fail(err)
	}
	switch {
	case v.Blocked():
		return nil, &end{Termination: awaken.Termination{Type: awaken.Blocked, Message: v.Reason()}}
	case v.Suspended():
		return nil, r.holdOutput(ctx, s, p.Message, v.Ticket())
	}
	r.guards.showAnswer(ctx, p.Message)
	return p.Message, nil
}

// holdOutput keeps an answer from being shown until a person has decided. The step is
// over; it is begun again with the answer. It returns nil when somebody has decided or
// written meanwhile.
func (r *run) holdOutput(ctx context.Context, s *stream, m *llm.Message, t awaken.Ticket) *end {
	c := r.guards.hold(&awaken.HeldMessage{Border: awaken.OutputBorder, Messages: []*llm.Message{m}, Finish: s.got.Finish(), Usage: s.usage,
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
	r.rec.Steps-- // it goes on
	return r.awaitDecisions(ctx)
}

// sayHeld makes an answer that was held the step's reply.
func (r *run) replyHeld(ctx context.Context) {
	held := r.guards.approved
	r.guards.approved = nil
	m := *held.Messages[0] // which others have seen
	r.inference.reply = llm.Reply{Message: &m, Usage: held.Usage, Finish: held.Finish, Incomplete: held.Incomplete}
	r.guards.showAnswer(ctx, &m)
	for _, c := range m.ToolCalls {
		r.out.emit(ctx, &awaken.ToolCallReady{ID: c.ID, Name: c.Name, Arguments: arguments(c)})
	}
}
