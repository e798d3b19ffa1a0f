package engine

import (
	"context"
	"errors"

	"github.com/awaken-go/awaken"
)

// taint marks the run as one that has read untrusted content. The first mark counts.
func (c *core) taint(t *awaken.Taint) {
	if t != nil && c.rec.Taint == nil {
		c.rec.Taint = t
		c.ledger.stale = true
		if c.marks != nil {
			c.marks.run.Store(t)
		}
	}
}

// taintBy marks the run if the result of a call is untrusted: because its tool says so or has read what a tainted run
// wrote, or because its child run is tainted.
func (oc *outcomes) taintBy(ctx context.Context, c *call) {
	s := c.state
	oc.takeMarks()
	if oc.rec.Taint != nil || c.entry == nil || s.StartedAt == 0 && s.Decision == nil {
		return // the tool has not run, unless a decision is its result
	}
	if c.entry.Spec.Untrusted {
		oc.taint(&awaken.Taint{RunID: oc.info.RunID, CallID: s.CallID, Tool: s.ToolName, At: oc.rt.cfg.Now().UnixMilli()})
		return
	}
	if s.Child == "" {
		return
	}
	child, err := oc.rt.cfg.Store.LoadRun(detached(ctx), s.Child)
	switch {
	case err == nil:
		oc.taint(child.Taint)
	case !errors.Is(err, awaken.ErrNotFound): // it may be tainted
		oc.taint(&awaken.Taint{RunID: oc.info.RunID, CallID: s.CallID, Tool: s.ToolName, At: oc.rt.cfg.Now().UnixMilli()})
	}
}

// inheritTaint marks a new run if the thread holds untrusted content: its last run, or that of the
// thread that it is a fork of, was tainted.
func (op *opening) inheritTaint(ctx context.Context, req *awaken.RunRequest) error {
	op.rec.Taint = req.Taint
	last := op.cp.Run
	if last == nil && req.Taint == nil {
		var err error
		if last, err = op.originalRun(ctx); err != nil {
			return err
		}
	}
	if last != nil && op.rec.Taint == nil {
		op.rec.Taint = last.Taint
	}
	return nil
}

// originalRun returns the last run of the thread that the messages of a fork come from, or nil. That
// thread may be a fork that has no run either.
func (op *opening) originalRun(ctx context.Context) (*awaken.Run, error) {
	th := &op.cp.Thread
	for th.ParentThreadID != "" && th.MessageCount > 0 {
		parent, err := op.rt.cfg.Store.Thread(ctx, th.ParentThreadID)
		if err == nil && parent.LatestRunID != "" {
			var run *awaken.Run
			if run, err = op.rt.cfg.Store.LoadRun(ctx, parent.LatestRunID); err == nil {
				return run, nil
			}
		}
		if errors.Is(err, awaken.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		th = parent
	}
	return op.lostRun(ctx, th)
}

// lostRun returns the run that wrote messages of a thread that has had none: the thread is a fork, and its original was
// deleted. What that run has read is not known, so it counts as tainted. lostRun returns nil if no run wrote them.
func (op *opening) lostRun(ctx context.Context, th *awaken.Thread) (*awaken.Run, error) {
	if th.MessageCount == 0 {
		return nil, nil
	}
	const page = 500
	for after := 0; ; {
		list, err := op.rt.cfg.Store.Messages(ctx, th.ID, awaken.MessageQuery{After: after, Limit: page})
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			if m.RunID != "" {
				return &awaken.Run{RunID: m.RunID, Taint: &awaken.Taint{RunID: m.RunID, Tool: "unknown", At: op.rt.cfg.Now().UnixMilli()}}, nil
			}
		}
		if len(list) < page {
			return nil, nil
		}
		after = list[len(list)-1].Seq
	}
}
