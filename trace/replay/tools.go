package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Execute answers a call as recorded, in the order of the record, or runs its tool if that acts on nothing but the run.
func (s *stage) Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	p := s.of(call.Run.RunID)
	if p == nil {
		return nil, fmt.Errorf("the record has no run %s", call.Run.RunID)
	}
	o, ok := s.next(p, call.ID)
	late := ok && p.cut.at >= 0 && (p.followed && o.at > p.cut.at || p.cut.ended[call.ID] && interrupted(o.result)) // the run was cancelled before it was over
	live := s.player.Live
	if live == nil {
		live = ActsOnRun
	}
	_, delegates := tool.(awaken.Delegator)
	if live(tool) && (delegates || !late) {
		s.begun(p, call.ID)
		own := *call
		own.EmitTo(func(ev awaken.Event) { s.forward(ctx, p, call, ev) })
		res, err := tool.Call(ctx, &own)
		call.Command = own.Command
		if ok && !late {
			s.turn(ctx, p, call, o.at)
		}
		return res, err
	}
	if !ok {
		return nil, errors.New("the record has no result of the call")
	}
	s.write(p, call, o.writes)
	if late {
		s.show(ctx, p, call, o.at)
		s.await(ctx, p, p.cut.at+1)
		s.hear(ctx, p, o.at)
		s.begun(p, call.ID)
		<-ctx.Done()
		if o.result.Replaces.Interrupted == "abandoned" { // it did not stop
			<-s.ctx.Done()
		}
		return nil, ctx.Err()
	}
	s.show(ctx, p, call, o.at)
	s.keepPace(ctx, p, o.at)
	s.turn(ctx, p, call, o.at)
	if t := p.rec.Run.Taint; t != nil && t.ReadBy == call.ID {
		call.ReadTainted(t) // the store that the tool read from is not part of the record
	}
	return s.answer(o, p, call)
}

// soon is how long results wait for others before they are committed.
const soon = 20 // ms

// turn waits until a call may end with an event. Calls that follow each other do so anyway, unless one took so long that the results
// before it were published meanwhile.
func (s *stage) turn(ctx context.Context, p *part, call *awaken.ToolCall, at int) {
	if call.Agent == nil || call.Agent.ExecutionMode() != awaken.Sequential || at > 0 && p.events[at].Time-p.events[at-1].Time >= soon {
		s.await(ctx, p, at)
	}
	s.hear(ctx, p, at)
	s.reach(p.events[at].Time)
}

// hear makes the messages arrive that the run read before a call ended with an event.
func (s *stage) hear(ctx context.Context, p *part, at int) {
	msgs := p.heard[at]
	if len(msgs) == 0 {
		return
	}
	s.send(p, msgs)
	s.awaitThat(ctx, p, func() bool { return !slices.ContainsFunc(msgs, func(m *llm.Message) bool { return !s.read[m.ID] }) })
}

// begun notes that a call has begun during which the run is cancelled.
func (s *stage) begun(p *part, callID string) {
	s.mu.Lock()
	delete(p.cut.running, callID)
	s.mu.Unlock()
	s.cancelIfDue()
}

// cancelIfDue cancels runs that have come as far as they had when they were cancelled, with those below them.
func (s *stage) cancelIfDue() {
	s.mu.Lock()
	var due []*part
	for _, p := range s.order {
		if p.root && p.cut.at >= 0 && !p.cut.done && s.cutOff(p) {
			p.cut.done = true
			due = append(due, p)
		}
	}
	s.mu.Unlock()
	for _, p := range due {
		if err := s.rt.Cancel(s.ctx, p.rec.Run.RunID); err != nil {
			s.part(p, "the cancellation", "", err.Error())
		}
	}
}

// cutOff reports whether a run and those below it are where they were cancelled. It requires the lock.
func (s *stage) cutOff(p *part) bool {
	switch {
	case p.cut.at < 0:
	case p.cut.gate != gate{}:
		if !p.cut.passed {
			return false
		}
	case len(p.cut.running) > 0 || p.followed && p.pos <= p.cut.at || !p.followed && !p.atCut():
		return false
	}
	for _, c := range p.rec.Children {
		if child := s.parts[c.Run.RunID]; child != nil && !s.cutOff(child) {
			return false
		}
	}
	return true
}

// atCut reports whether a run that is not followed is where it was cancelled: the model has no more to say, or all other calls have their outcomes.
func (p *part) atCut() bool {
	if p.cut.silent || len(p.cut.ended) == 0 {
		return p.cut.silent
	}
	answers := 0
	for i := range p.rec.Turns {
		if p.rec.Turns[i].Answered {
			answers++
		}
	}
	for id, list := range p.outcomes {
		n := len(list)
		if p.cut.ended[id] {
			n--
		}
		if p.done[id] < n {
			return false
		}
	}
	return p.answered >= answers
}

// next returns the next outcome of a call.
func (s *stage) next(p *part, callID string) (outcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, list := p.done[callID], p.outcomes[callID]
	if n >= len(list) {
		return outcome{}, false
	}
	return list[n], true
}

// show shows what a call showed before an event.
func (s *stage) show(ctx context.Context, p *part, call *awaken.ToolCall, before int) {
	for _, sh := range p.shown[call.ID] {
		s.mu.Lock()
		over := sh.at < p.pos || sh.at >= before
		s.mu.Unlock()
		if over {
			continue
		}
		s.await(ctx, p, sh.at)
		s.reach(p.events[sh.at].Time)
		show(call, sh.event)
	}
}

// answer returns what a tool returned.
func (s *stage) answer(o outcome, p *part, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	res := *o.result
	if res.Status == awaken.ToolPending && res.Suspension != nil {
		t := *res.Suspension
		if c := p.held(call.ID, o.at); c != nil && c.HeldResult != nil { // a guard suspended the call, behind the tool
			return c.HeldResult, nil
		}
		if t.ExpiresAt > 0 {
			t.ExpiresIn = time.UnixMilli(t.ExpiresAt).Sub(s.now())
		}
		t.Pending, t.ExpiresAt = awaken.PendingCall{}, 0
		res.Suspension = &t
		return &res, nil
	}
	switch r := res.Replaces; {
	case r == nil:
	case r.Fatal != "":
		return nil, awaken.Fatal(errors.New(r.Fatal))
	case r.Size > 0 && r.Size <= largest && r.Begins <= min(r.Size, len(res.Message)):
		return awaken.TextResult(res.Message[len(res.Message)-r.Begins:] + strings.Repeat(".", r.Size-r.Begins)), nil // as large, with the same beginning
	}
	return &res, nil
}

// largest bounds the results that a replay makes as large as they were.
const largest = 64 << 20

// forward shows what a call that runs again shows, in the order of the record.
func (s *stage) forward(ctx context.Context, p *part, call *awaken.ToolCall, ev awaken.Event) {
	s.mu.Lock()
	at := -1
	for _, sh := range p.shown[call.ID] {
		if sh.at >= p.pos && sh.at >= p.next[call.ID] {
			at = sh.at
			p.next[call.ID] = at + 1
			break
		}
	}
	s.mu.Unlock()
	if at >= 0 {
		s.await(ctx, p, at)
		s.reach(p.events[at].Time)
	}
	show(call, ev)
}

func show(call *awaken.ToolCall, ev awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.ToolCallStreamDelta:
		call.Output(ev.Delta)
	case *awaken.ActivitySnapshot:
		_ = call.Activity(ev.ActivityType, ev.Content) // it is JSON
	case *awaken.ActivityDelta:
		call.ActivityDelta(ev.ActivityType, ev.Patch...)
	}
}
