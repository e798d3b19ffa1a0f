package replay

import (
	"slices"

	"github.com/awaken-go/awaken"
)

// Passes cancels a run that was cancelled between two events: before a call that was about to begin, behind the result of one, or when the run was
// about to wait; see engine.narrator. It is no hook: the state has a revision more with each phase that has hooks.
func (s *stage) Passes(runID string, phase awaken.Phase, step int, call *awaken.ToolCall) {
	at := gate{phase: phase, step: step}
	if call != nil {
		at.callID = call.ID
	}
	s.mu.Lock()
	p := s.parts[runID]
	passed := p != nil && p.cut.gate == at && at.phase != 0
	if passed {
		p.cut.passed = true
	}
	s.mu.Unlock()
	if passed {
		s.cancelIfDue()
	}
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
