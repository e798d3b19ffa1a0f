package engine

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// findRestored puts a run on hold that is unfinished in a restored database, until its inbox has
// an operator's release. A run that has not started is held back by the queue, and one that is
// only to be ended needs no release.
func (op *opening) findRestored(req *awaken.RunRequest) {
	restoration := op.rt.cfg.Restoration
	if !restoration.Covers(op.rec.CreatedAt) {
		return
	}
	if found := op.rec.Restored; found == nil || found.ID != restoration.ID {
		op.rec.Restored, op.restoredFirst = &awaken.RunRestoration{ID: restoration.ID}, true
	}
	if release := op.release(restoration.ID); release != nil && op.rec.Restored.ReleasedAt == 0 {
		op.rec.Restored = &awaken.RunRestoration{ID: restoration.ID, ReleasedAt: release.At, ReleasedBy: release.Actor}
	}
	if req.Released == restoration.ID && op.rec.Restored.ReleasedAt == 0 {
		op.rec.Restored = &awaken.RunRestoration{ID: restoration.ID, ReleasedAt: op.rt.cfg.Now().UnixMilli()}
	}
	if op.resumed && op.endAtOnce == nil && op.rec.Restored.ReleasedAt == 0 {
		const message = "the database was restored from a copy, and the run may have continued since; an operator releases it"
		op.hold = &hold{reason: awaken.WaitRestored, message: message,
			err: fmt.Errorf("run %s: %w: %s", op.rec.RunID, awaken.ErrConflict, message)}
	}
}

// release returns the release of the run in the inbox, or nil.
func (op *opening) release(restorationID string) *awaken.Release {
	i := slices.IndexFunc(op.cp.Inbox, func(it awaken.InboxItem) bool {
		return it.Release != nil && it.Release.RestorationID == restorationID && it.RunID == op.rec.RunID
	})
	if i < 0 {
		return nil
	}
	return op.cp.Inbox[i].Release
}

// doubtRestored enters a doubt for an open call of a restored run: a process may have made it after
// the copy, whether it had begun before or not.
func (op *opening) doubtRestored(c *call) {
	s := c.state
	effect := s.Effect
	if effect == "" && c.entry != nil {
		effect = c.entry.Spec.Effect
	}
	if op.restoredFirst && !s.Status.Terminal() && effect != awaken.ReadOnly && !s.AwaitsChild() {
		op.ledger.doubt(c, awaken.Doubt{Since: op.rt.cfg.Restoration.Known, Origin: awaken.DoubtRestored})
	}
}

// isRestored reports whether a call is in doubt because its run was restored, and is not to be made
// before its tool, a person or the model was asked: it waited for nothing in the copy, and no person
// has decided since the release.
func isRestored(rec *awaken.Run, s *awaken.CallState) bool {
	if rec.Restored == nil || !s.Doubt.Open() || s.Status.Terminal() || s.Status == awaken.CallSuspended {
		return false
	}
	if s.Doubt.Origin != awaken.DoubtRestored && s.Status != awaken.CallResuming {
		return false // a crash left the doubt; only a decision of before the copy is in question
	}
	return s.Decision == nil || s.Decision.UpdatedAt < rec.Restored.ReleasedAt
}

// noteRestored tells the model of a restored run, once, what is not known.
func (op *opening) noteRestored() {
	if !op.restoredFirst {
		return
	}
	op.conv.add(&llm.Message{ID: op.rt.cfg.NewID(), Role: llm.User, Visibility: llm.Internal,
		Content: []llm.Block{llm.Text(op.rt.cfg.Restoration.Note())}, Metadata: op.metadata()})
}
