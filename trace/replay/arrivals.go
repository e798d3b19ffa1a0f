package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// place is a place in a run at which it reads its inbox, between two steps or when it is about to end or to wait.
type place struct {
	act, steps int
	point      llm.ArrivalPoint
}

// placeArrivals places the messages that the run read while it was active, where the record says. It fails if the record does not say it of one:
// a version before wrote it.
func (p *part) placeArrivals() error {
	if !p.root {
		return nil
	}
	placed := map[string]bool{}
	for i := range p.acts {
		for _, m := range p.heldIn(i) {
			if a := arrival(m); !placed[m.ID] && a != nil && !(a.Point == llm.AtOpening && i > 0) {
				placed[m.ID] = true
				p.arrive(m, a, i)
			}
		}
	}
	last := ""
	for _, r := range slices.Concat(inputRecords(p.rec.Input), p.rec.Messages) {
		m := r.Message
		if m.Role == llm.Assistant {
			last = m.ID
		}
		if placed[m.ID] || !fromOutside(&r) || m.IsInternal() {
			continue
		}
		a, at := arrival(m), p.answerAt(last)
		requested := at < 0 || p.startsActivation(at, m)
		switch {
		case a != nil && !(a.Point == llm.AtOpening && requested):
			p.arrive(m, a, p.actOfStep(a.Steps))
		case a == nil && !requested:
			return fmt.Errorf("run %s: %w: where it read message %s is not recorded", p.rec.Run.RunID, ErrUnplayable, m.ID)
		}
	}
	return nil
}

func inputRecords(msgs []*llm.Message) (out []awaken.MessageRecord) {
	for _, m := range msgs {
		out = append(out, awaken.MessageRecord{Message: m})
	}
	return out
}

// arrival returns where a run has read a message, or nil if it came with a request.
func arrival(m *llm.Message) *llm.Arrival {
	if m.Metadata == nil {
		return nil
	}
	return m.Metadata.Arrival
}

// arrive places a message that was read in an activation.
func (p *part) arrive(m *llm.Message, a *llm.Arrival, act int) {
	sent := *m
	md := *m.Metadata
	md.Arrival = nil
	if sent.Metadata = &md; md.ClientRole == "" && md.Client == nil && md.SenderAgentID == "" {
		sent.Metadata = nil
	}
	if a.Point == llm.DuringCalls || a.Point == llm.AtOpening {
		if next := p.outcomeAfter(a); next >= 0 {
			p.heard[next] = append(p.heard[next], &sent)
			return
		}
	}
	at := place{act, a.Steps, a.Point}
	switch a.Point {
	case llm.DuringCalls: // no call came to an end behind it: the run was about to wait
		at.point = llm.AtEnd
	case llm.AtOpening:
		at.point = llm.BehindStep
	}
	p.awaited[at] = append(p.awaited[at], &sent)
}

// outcomeAfter returns the first event with an outcome of a call of the step that came after the one that an arrival names, or -1.
func (p *past) outcomeAfter(a *llm.Arrival) int {
	passed := a.After == ""
	for i := range p.events {
		id, resumed := "", false
		switch ev := p.events[i].Event.(type) {
		case *awaken.ToolCallDone:
			id = ev.ID
		case *awaken.ToolCallResumed:
			id, resumed = ev.TargetID, true
		}
		if c := p.call(id); id == "" || c == nil || c.Step != a.Steps || c.IsHeld() {
			continue
		}
		if passed {
			return i
		}
		passed = id == a.After && resumed == a.Resumed
	}
	return -1
}

// actOfStep returns the activation in which the step after that many began, or the last one.
func (p *past) actOfStep(steps int) int {
	for i := range p.rec.Turns {
		if t := &p.rec.Turns[i]; t.Step == steps {
			if at := p.begins(t.MessageID); at >= 0 && p.actAt(at) >= 0 {
				return p.actAt(at)
			}
		}
	}
	return len(p.acts) - 1
}

// heldIn returns the messages that guards held when they were shown in an activation, in the order in which they arrived. Those that arrived before
// the activation and were held then are among them.
func (p *past) heldIn(act int) (out []*llm.Message) {
	a := &p.acts[act]
	for at := a.from; at < a.to; at++ {
		ev, ok := p.events[at].Event.(*awaken.StateSnapshot)
		if !ok || !strings.Contains(p.lines[at], awaken.HeldCallPrefix) {
			continue
		}
		for _, c := range trace.HeldIn(ev) {
			if c.Message.Point != awaken.InputPoint {
				continue
			}
			for _, m := range c.Message.Messages {
				if !slices.ContainsFunc(out, func(o *llm.Message) bool { return o.ID == m.ID }) {
					out = append(out, m)
				}
			}
		}
	}
	return out
}

// Posts posts the messages that a run reads between two steps; see engine.narrator.
func (s *stage) Posts(runID string, steps int) bool { return s.post(runID, steps, llm.BehindStep) }

// post posts the messages that a run reads at a place, and reports whether there are any.
func (s *stage) post(runID string, steps int, point llm.ArrivalPoint) bool {
	s.mu.Lock()
	p := s.parts[runID]
	var msgs []*llm.Message
	if p != nil {
		at := place{p.starts - 1, steps, point}
		msgs = p.awaited[at]
		delete(p.awaited, at)
	}
	s.mu.Unlock()
	if len(msgs) == 0 {
		return false
	}
	s.send(p, msgs)
	return true
}

// send makes messages arrive.
func (s *stage) send(p *part, msgs []*llm.Message) {
	if err := s.rt.Send(s.ctx, p.rec.Run.ThreadID, msgs...); err != nil {
		s.part(p, "a message that arrived", "", err.Error())
	}
}
