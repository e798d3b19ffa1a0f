package engine

import (
	"github.com/awaken-go/awaken"
)

// hold says why a run is parked as soon as it is opened: its version is not available, or it is
// one of a restored database that no operator has released. Its calls and its inbox stay as they
// are, for the owner that continues it.
type hold struct {
	reason   awaken.WaitingReason
	message  string // for people
	err      error  // for requests that ask for more than to continue
	unserved error  // err, if this request does
	quiet    bool   // the run waits for the same reason already: commit and publish nothing
}

// prepareToWait prepares to park a run on hold.
func (op *opening) prepareToWait(req *awaken.RunRequest) {
	h, before := op.hold, op.rec.Waiting
	for _, s := range op.cp.Calls {
		if s.RunID == op.info.RunID {
			c := &call{state: s, shared: true, entry: op.tools.find(s.ToolName)}
			op.ledger.calls = append(op.ledger.calls, c)
			op.doubtRestored(c)
		}
	}
	w := op.ledger.waiting()
	w.Reason, w.Message, w.Budget = h.reason, h.message, nil
	if h.reason == awaken.WaitPin {
		op.unavailable(w, h.err)
	}
	op.rec.Status, op.rec.StatusReason, op.rec.Waiting = awaken.RunWaiting, string(h.reason), w
	if before != nil && before.Reason == h.reason && before.Message == w.Message && !op.restoredFirst {
		h.quiet = h.reason == awaken.WaitRestored || req.Mode == "internal_wake"
	}
	if len(req.Messages)+len(req.Decisions)+len(req.Seed)+len(req.Context)+len(req.FrontendTools)+len(req.OutputSchema) > 0 ||
		req.Rewind != "" || req.Overrides != nil || req.Budget != nil {
		h.unserved = h.err
	}
}

// awaitRelease parks a run on hold. If the request asked for more than to continue, that is an
// error.
func (r *run) awaitRelease() (*awaken.RunResult, error) {
	e := &end{Termination: awaken.Termination{Type: awaken.Suspended}}
	if !r.hold.quiet {
		r.out.deferEvent(&awaken.RunStart{ThreadID: r.info.ThreadID, RunID: r.info.RunID, ParentRunID: r.info.ParentRunID, Identity: r.info})
		r.ledger.stale = true
		r.ledger.snapshot()
		r.out.deferEvent(r.finished(e.Termination))
		if err := r.journal.commit(detached(r.ctx), commitOptions{}); err != nil {
			return nil, err
		}
		r.started = true
	}
	return r.result(e), r.hold.unserved
}
