package engine

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// narrator is an owner of runs that knows what became of attempts to summarise, as a replay does. No model is asked for a summary then.
type narrator interface {
	// Begins reports whether an attempt begins in a step. The clock permits one if ok is set; if timed is not, the clock has no say.
	Begins(runID string, step int, overflow, ok, timed bool) bool
	// Comes returns the result that a run finds at a point, or nil. Steps is the number of steps that the run has completed, log the number
	// of messages in the log of its thread, and task the attempt in flight, or nil. Adopt says that the
	// result is of no attempt of this run: an owner that was lost had begun it.
	Comes(runID string, steps int, at builtin.CompactionPoint, log int, task *builtin.CompactionTask, msgs llm.Messages) (res *awaken.CompactionResult, adopt bool)
	// Posts posts the messages that a run reads between two steps, after it has completed that many, and reports whether there are any.
	Posts(runID string, steps int) bool
	// The engine calls Passes when a run comes to a phase, behind its hooks. Passes may cancel the run, as was done there.
	Passes(runID string, phase awaken.Phase, step int, call *awaken.ToolCall)
}

// announced reports whether the record has messages that the run reads now, between two steps. They are in its inbox then.
func (in *inbox) announced() bool {
	return in.narrator != nil && in.narrator.Posts(in.info.RunID, in.rec.Steps)
}

// hear applies the result that the record has at a point, if any.
func (cm *compactor) hear(at builtin.CompactionPoint) error {
	if cm.narrator == nil {
		return nil
	}
	s := builtin.Compactions.Get(cm.st)
	res, adopt := cm.narrator.Comes(cm.info.RunID, cm.rec.Steps, at, cm.journal.count+len(cm.conv.added), s.InFlight, cm.conv.msgs)
	if res == nil {
		return nil
	}
	if w := cm.conv.window; w != nil {
		w.job = nil
		if adopt {
			s.InFlight = &builtin.CompactionTask{TaskID: res.TaskID, FirstMessageID: res.FirstMessageID, BoundaryMessageID: res.BoundaryMessageID}
			if err := cm.save(s); err != nil {
				return err
			}
		}
	}
	return cm.accept(res, at)
}
