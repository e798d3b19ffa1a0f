package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// children handles the runs that calls have started.
type children struct {
	*core
	phases *phases
	inbox  *inbox

	idleReport bool // a child reported something that changes nothing here
}

// forward passes a decision on to the child it is meant for. The child's inbox decides: the first
// decision it reads counts.
func (ch *children) forward(c *call, target string, d awaken.Decision, id string) error {
	d.Target = target
	accepted := id != ""
	if d.ID = cmp.Or(d.ID, id); d.ID == "" {
		d.ID = ch.rt.cfg.NewID()
	}
	at := ch.rt.cfg.Now()
	if d.UpdatedAt > 0 {
		at = time.UnixMilli(d.UpdatedAt) // the time it was accepted
	}
	own := c.state.Child == awaken.ChildID(c.state.Key) // the call continues this child itself
	err := ch.waitOut(ch.ctx, func() error {
		child, items, err := ch.rt.checkDecisions(ch.ctx, c.state.Child, at, accepted, d)
		if err != nil {
			return err
		}
		if own {
			return ch.rt.post(ch.ctx, child.ThreadID, items)
		}
		for _, it := range items {
			if err := ch.rt.deliver(ch.ctx, &awaken.Outgoing{ID: it.ID, ThreadID: child.ThreadID, Item: &it}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return stored(err)
	}
	if own {
		ch.recheck(c)
	}
	return nil
}

// stored marks an error of a decision as one of the store, unless the decision was refused.
func stored(err error) error {
	for _, refused := range []error{awaken.ErrDecided, awaken.ErrNotFound, awaken.ErrInvalid, awaken.ErrExpired, awaken.ErrConflict} {
		if errors.Is(err, refused) {
			return err
		}
	}
	return storeError{err}
}

// recheck makes a call that waits for its child check the child again. A call that is still
// running checks before it waits.
func (ch *children) recheck(c *call) {
	if !c.state.AwaitsChild() {
		c.recheck = true
		return
	}
	s := ch.ledger.edit(c)
	s.Status, s.Decision, s.UpdatedAt = awaken.CallResuming, nil, ch.rt.cfg.Now().UnixMilli()
	c.resume = nil
}

// recheckAll rechecks the calls whose children made progress without a report.
func (ch *children) recheckAll(ctx context.Context) {
	for _, c := range ch.ledger.calls {
		if !c.state.AwaitsChild() {
			continue
		}
		child, err := ch.rt.cfg.Store.LoadRun(ctx, c.state.Ticket.Child)
		if err != nil {
			continue // its report will come
		}
		news := child.Status == awaken.RunDone
		switch child.Status {
		case awaken.RunRunning:
			news = ch.rt.queue == nil // no queue continues it
		case awaken.RunWaiting:
			reason := child.Waiting.Reason // there may be money again, or the version
			items, err := ch.rt.cfg.Store.Unread(ctx, child.ThreadID)
			news = reason == awaken.WaitBudget || reason == awaken.WaitPin || err == nil && len(items) > 0
		}
		if news {
			ch.recheck(c)
		}
	}
}

// cancelChild cancels the run of a call that will not be resumed.
func (ch *children) cancelChild(s *awaken.CallState) {
	if s.Child != "" && s.StartedAt != 0 && s.Child == awaken.ChildID(s.Key) { // the call started it, and does not only wait for it
		ch.sender.send(awaken.Outgoing{Cancel: s.Child})
	}
}

// reported applies the report of a child. A foreign one is a task of an earlier run of the thread,
// which did not wait for it.
func (ch *children) reported(rep *awaken.ChildReport, foreign bool) {
	awaited := false
	if rep.Status == awaken.RunDone {
		ch.taint(rep.Taint)
	}
	for _, c := range ch.ledger.calls {
		if c.state.Child == rep.RunID && !c.state.Status.Terminal() {
			ch.recheck(c)
			awaited = true
		}
	}
	if rep.Status != awaken.RunDone || !rep.Task {
		ch.idleReport = !awaited
		return
	}
	if !foreign {
		ch.addChildUsage(rep.Usage, rep.CostUSD)
	}
	var c awaken.Command
	if _, handled := ch.agent.Actions[builtin.ChildDone.Name()]; handled {
		builtin.ChildDone.Schedule(&c, *rep)
	}
	if err := ch.phases.submit(&c); err != nil {
		ch.log().Error("cannot apply the report of a child run", "child", rep.RunID, "error", err)
		return
	}
	if awaited || foreign && rep.Termination.Type == awaken.Cancelled {
		return // the call answers it, or the task was cancelled with its run
	}
	ch.inbox.received++
	ch.conv.add(&llm.Message{ID: ch.rt.cfg.NewID(), Role: llm.User, Visibility: llm.Internal, Content: []llm.Block{llm.Text(reportText(rep))}})
}
