package awaken

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/awaken-go/awaken/llm"
)

// pass asks the guards of a border about a passage, one after the other, until one does
// not let it through.
func (r *run) pass(ctx context.Context, phase Phase, in about, p *Passage, approved []string) (Verdict, error) {
	id := ""
	if p.Border == ResultBorder {
		id = in.tool.ID
	} else {
		id = heldID(p.Message)
	}
	for i := range r.agent.guards[p.Border] {
		g := &r.agent.guards[p.Border][i]
		v, err := g.ask(ctx, r.hookCall(phase, in), p)
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

func (o *ownedGuard) ask(ctx context.Context, h *HookCall, p *Passage) (v Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{fmt.Sprintf("guard of plugin %q", o.plugin), p, debug.Stack()}
		}
	}()
	v, err = o.Guard(ctx, h, p)
	if err != nil {
		return v, fmt.Errorf("guard of plugin %q: %w", o.plugin, err)
	}
	return v, nil
}

// addInput adds a message that comes from outside to the conversation, if the guards let
// it pass. If not, the run ends, or the message waits for a person, with all that come
// behind it.
func (r *run) addInput(m *llm.Message) {
	m = r.adopt(m)
	if c := r.holdsInput(); c != nil {
		s := r.edit(c)
		held := *s.Message
		held.Messages = append(slices.Clip(held.Messages), m)
		s.Message = &held
		return
	}
	if len(r.agent.guards[InputBorder]) > 0 {
		p := &Passage{Border: InputBorder, Message: m}
		v, err := r.pass(r.ctx, PhaseRunStart, about{}, p, nil)
		switch {
		case err != nil:
			r.ending = &Termination{Type: Failed, Message: err.Error()}
			return
		case v.Blocked():
			r.ending = &Termination{Type: Blocked, Message: v.Reason()}
			return
		case v.Suspended():
			r.hold(&HeldMessage{Border: InputBorder, Messages: []*llm.Message{p.Message}}, v.Ticket())
			return
		}
		m = p.Message
	}
	r.add(m)
}

// passOutput puts the model's answer to the guards, and shows what they let through. It
// returns nil when nothing is left to say in this step, and the end of the run, if there
// is one.
func (r *run) passOutput(ctx context.Context, s *stream, m *llm.Message) (*llm.Message, *end) {
	m.ID = r.messageID
	p := &Passage{Border: OutputBorder, Message: m}
	v, err := r.pass(ctx, PhaseAfterInference, about{}, p, nil)
	if err != nil {
		return nil, r.fail(err)
	}
	switch {
	case v.Blocked():
		return nil, &end{Termination: Termination{Type: Blocked, Message: v.Reason()}}
	case v.Suspended():
		return nil, r.holdOutput(ctx, s, p.Message, v.Ticket())
	}
	r.sayAll(ctx, p.Message)
	return p.Message, nil
}

// sayAll shows an answer that nothing has been shown of.
func (r *run) sayAll(ctx context.Context, m *llm.Message) {
	for _, b := range m.Content {
		switch b.Type {
		case llm.TextBlock:
			r.out.textDelta(ctx, b.Text)
		case llm.ThinkingBlock:
			r.out.reasoningDelta(ctx, b.Text)
		}
	}
	for _, c := range m.ToolCalls {
		r.out.emit(ctx, &ToolCallStart{ID: c.ID, Name: c.Name})
		r.out.argsDelta(ctx, c.ID, string(arguments(c)))
	}
}

// passResult puts a result to the guards. It returns the result to go on with; or nil
// when the call now waits, for which the result is kept; and the end of the run, if
// there is one.
func (r *run) passResult(ctx context.Context, w *crew, c *call, res *ToolResult, cmd *Command) (*ToolResult, *end) {
	p := &Passage{Border: ResultBorder, Result: res}
	v, err := r.pass(detached(ctx), PhaseAfterToolExecute, about{tool: c.tc, result: res}, p, c.state.Approved)
	if err != nil {
		return ErrorResult("guard", fmt.Sprintf("the result of tool %q was withheld", c.state.ToolName)), r.fail(err)
	}
	switch {
	case v.Blocked():
		res := ErrorResult("", fmt.Sprintf("the result of tool %q was blocked: %s", c.state.ToolName, v.Reason()))
		res.Metadata = map[string]any{"rejected": true}
		return res, &end{Termination: Termination{Type: Blocked, Message: v.Reason()}}
	case v.Suspended():
		r.edit(c).Held = p.Result
		t := v.Ticket()
		return nil, r.suspend(c, &ToolResult{Suspension: &t}, cmd, w)
	}
	return p.Result, nil
}
