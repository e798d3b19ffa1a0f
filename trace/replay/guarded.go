package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// block is what a guard blocked. The record has the reason, and neither what was blocked nor anything like it: what stands for it in the replay is
// empty, and gets the recorded verdict.
type block struct {
	point  awaken.GuardPoint // "" if no guard blocked anything
	reason string
	act    int    // the activation whose request brought the message, or -1
	callID string // whose result it was
}

// placeBlock places what a guard blocked: at the input, a message of a request, if the run ended before a step, or else one that arrived during
// the last step.
func (p *part) placeBlock() {
	last := len(p.acts) - 1
	a := &p.acts[last]
	t := a.finish.Termination
	if p.block.act = -1; t.Details == nil {
		return
	}
	p.block = block{t.Details.Point, t.Message, -1, t.Details.CallID}
	if t.Details.Point != awaken.InputPoint {
		return
	}
	if !slices.ContainsFunc(p.events[a.from:a.to], func(e awaken.Entry) bool { _, ok := e.Event.(*awaken.StepStart); return ok }) {
		p.block.act = last
		return
	}
	if !p.root {
		return
	}
	at := p.answerAt(p.rec.Turns[len(p.rec.Turns)-1].MessageID)
	if end := p.lastMade(at); end > 0 {
		p.heard[end] = append(p.heard[end], p.unseen())
	} else {
		p.posts[at] = append(p.posts[at], p.unseen())
	}
}

// lastMade returns the last event with an outcome of the calls of an answer that ended at an event, without those that the end of the run prevented, or -1.
func (p *past) lastMade(at int) int {
	last := p.lastOutcome(at)
	for ; last > at; last-- {
		if ev, ok := p.events[last].Event.(*awaken.ToolCallDone); ok && !interrupted(ev.Result) {
			return last
		}
	}
	return -1
}

// unseen stands for a message that a guard blocked.
func (p *past) unseen() *llm.Message {
	m := llm.UserText("")
	m.ID = "blocked in " + p.rec.Run.RunID
	return m
}

// warden is a plugin that gives the recorded verdict on what a guard blocked at a point.
type warden struct {
	stage *stage
	point awaken.GuardPoint
}

// Name is the name of the plugin.
func (w warden) Name() string { return fmt.Sprintf("replay.warden.%s", w.point) }

// Register adds the guard.
func (w warden) Register(r *awaken.Registrar) error {
	r.Guard(w.point, w.pass)
	return nil
}

func (w warden) pass(_ context.Context, h *awaken.HookCall, passage *awaken.Passage) (awaken.Verdict, error) {
	p := w.stage.of(h.Run.RunID)
	if p == nil || p.block.point != w.point {
		return awaken.Allow(), nil
	}
	blocked := false
	switch w.point {
	case awaken.InputPoint:
		blocked = passage.Message.ID == p.unseen().ID
	case awaken.OutputPoint:
		blocked = passage.Message.ID == p.rec.Turns[len(p.rec.Turns)-1].MessageID
	case awaken.ResultPoint:
		blocked = h.Tool != nil && h.Tool.ID == p.block.callID
	}
	if blocked {
		return awaken.Block(p.block.reason), nil
	}
	return awaken.Allow(), nil
}

// guarded adds the plugin to the agents of runs in which a guard blocked something, before their own.
func guarded(s *stage, reg *registry.Registry, edit *registry.Edit) {
	for _, p := range s.order {
		if p.block.point == "" {
			continue
		}
		w := warden{s, p.block.point}
		if !slices.ContainsFunc(edit.Plugins, func(o awaken.Plugin) bool { return o.Name() == w.Name() }) {
			edit.Plugins = append(edit.Plugins, w)
		}
		for _, id := range []string{p.rec.Run.AgentID, p.rec.Run.FirstAgentID} {
			if spec := edited(reg, edit, id); spec != nil && !slices.Contains(spec.PluginIDs, w.Name()) {
				spec.PluginIDs = slices.Insert(spec.PluginIDs, 0, w.Name())
			}
		}
	}
}

// edited returns a copy of an agent that is in the edit, or nil if there is no such agent.
func edited(reg *registry.Registry, edit *registry.Edit, id string) *awaken.AgentSpec {
	for _, spec := range edit.Agents {
		if spec.ID == id {
			return spec
		}
	}
	spec := reg.Agent(id)
	if spec == nil {
		return nil
	}
	own := *spec
	own.PluginIDs = slices.Clone(spec.PluginIDs)
	edit.Agents = append(edit.Agents, &own)
	return &own
}

// heldInput returns the messages of the request that began an activation that a guard held. They are not in the input.
func (p *past) heldInput(act int) []*llm.Message {
	var before []*llm.Message
	for i := range act {
		before = append(before, p.heldIn(i)...)
	}
	return slices.DeleteFunc(p.heldIn(act), func(m *llm.Message) bool {
		a := arrival(m)
		return a != nil && (a.Point != llm.AtOpening || act == 0) || slices.ContainsFunc(before, func(o *llm.Message) bool { return o.ID == m.ID })
	})
}

// input returns the messages that the run began with, and those of the input that came later, instead of a message that a guard held.
func (p *past) input() (first, later []*llm.Message) {
	held := p.heldInput(0)
	rest := slices.DeleteFunc(slices.Clone(p.rec.Input), func(m *llm.Message) bool {
		return arrival(m) != nil || slices.ContainsFunc(held, func(h *llm.Message) bool { return h.ID == m.ID })
	})
	if len(held) == 0 {
		return rest, nil
	}
	if p.superseded() && !p.toldBeforeAnswer() {
		return held, rest
	}
	return append(rest, held...), nil
}

// superseded reports whether a message took the place of one that a guard held at the beginning.
func (p *past) superseded() bool {
	for at := p.acts[0].to; at < len(p.events); at++ {
		if ev, ok := p.events[at].Event.(*awaken.ToolCallResumed); ok && strings.HasPrefix(ev.TargetID, awaken.HeldCallPrefix) {
			return ev.Outcome == awaken.CallCancelled && ev.Decision == nil
		}
	}
	return false
}

// toldBeforeAnswer reports whether the log has a message from outside between the input and the first answer.
func (p *past) toldBeforeAnswer() bool {
	for i := range p.rec.Messages {
		if p.rec.Messages[i].Message.Role == llm.Assistant {
			break
		}
		if fromOutside(&p.rec.Messages[i]) {
			return true
		}
	}
	return false
}
