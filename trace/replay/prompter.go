package replay

import (
	"context"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// prompter is a plugin that cancels runs between two events: before a call that was about to begin, behind the result of one, or when the run was about to wait. State has more
// revisions with its hooks.
type prompter struct{ stage *stage }

// Name is the name of the plugin.
func (prompter) Name() string { return "replay.prompter" }

// Register adds the hooks.
func (pr prompter) Register(r *awaken.Registrar) error {
	for _, phase := range []awaken.Phase{awaken.PhaseBeforeToolExecute, awaken.PhaseAfterToolExecute, awaken.PhaseStepEnd} {
		r.On(phase, pr.pass)
	}
	return nil
}

// pass cancels a run if it was cancelled there.
func (pr prompter) pass(_ context.Context, h *awaken.HookCall) error {
	s := pr.stage
	s.mu.Lock()
	p := s.parts[h.Run.RunID]
	at := gate{phase: h.Phase, step: h.Step}
	if h.Tool != nil {
		at.callID = h.Tool.ID
	}
	passed := p != nil && p.cut.gate == at
	if passed {
		p.cut.passed = true
	}
	s.mu.Unlock()
	if passed {
		s.cancelIfDue()
	}
	return nil
}

// gate is a phase of a step or of a call.
type gate struct {
	phase  awaken.Phase
	step   int
	callID string
}

// placeGate finds the phase of a call in which the run was cancelled, if that shows: there are calls that were not made, and the last of those that
// were prepared has a key. If none has, and calls follow each other, it was behind the result of the one before, or at the end of the step if that waited.
func (p *part) placeGate(sequential bool) {
	var unmade []*awaken.CallState
	for _, c := range p.rec.Calls {
		if c.Status == awaken.CallCancelled && interrupted(c.Result) && notMade(c.Result) {
			unmade = append(unmade, c)
		}
	}
	if len(unmade) == 0 || len(p.cut.running) > 0 {
		return
	}
	for _, c := range slices.Backward(unmade) {
		if c.Key != "" {
			p.cut.gate = gate{awaken.PhaseBeforeToolExecute, c.Step, c.CallID}
			return
		}
	}
	for _, c := range p.rec.Calls {
		switch {
		case !sequential || c.Step != unmade[0].Step || c.Index != unmade[0].Index-1:
		case c.Ticket != nil && interrupted(c.Result):
			p.cut.gate = gate{awaken.PhaseStepEnd, c.Step, ""}
		default:
			p.cut.gate = gate{awaken.PhaseAfterToolExecute, c.Step, c.CallID}
		}
	}
}

// prompted adds the plugin to the agents whose runs were cancelled in a phase of a call.
func (s *stage) prompted(reg *registry.Registry, edit *registry.Edit) {
	for _, p := range s.order {
		if p.cut.gate == (gate{}) {
			continue
		}
		for _, id := range []string{p.rec.Run.AgentID, p.rec.Run.FirstAgentID} {
			if spec := edited(reg, edit, id); spec != nil && !slices.Contains(spec.PluginIDs, prompter{}.Name()) {
				spec.PluginIDs = append(spec.PluginIDs, prompter{}.Name())
			}
		}
	}
	if s.prompts = len(edit.Agents) > 0; s.prompts {
		edit.Plugins = append(edit.Plugins, prompter{s})
	}
}
