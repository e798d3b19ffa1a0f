package mailbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/awaken-go/awaken"
)

// commit makes a commit of the claim's run. The commit that ends or parks the run settles the
// dispatch, so that no worker and no client ever finds a run that has ended and is still in the
// queue. Two cases are left to [Mailbox.process]: a run with a parent, to which its outcome has to
// be reported first, and messages that the run has not read, for which another one is queued. A tool
// of the run may run others on other threads; they are not in this queue.
func (c *claim) commit(ctx context.Context, cm *awaken.Commit) error {
	if c.opening != nil && cm.ThreadID == c.d.ThreadID {
		return c.opening.accept(ctx, c, cm)
	}
	run, done := &cm.Run, cm.Run.Status == awaken.RunDone
	own := run.RunID == c.d.RunID
	if run.Status == awaken.RunRunning && cm.ThreadID == c.d.ThreadID && c.early.Load() {
		cm.Begins = true // refused if the run was cancelled since it was claimed, before this process knew of it
		err := c.tenant.Store.Commit(ctx, cm)
		c.early.Store(err != nil)
		return err
	}
	if !done && run.Status != awaken.RunWaiting || run.ParentRunID != "" || cm.ThreadID != c.d.ThreadID {
		return c.tenant.Store.Commit(ctx, cm)
	}
	s := Settlement{}
	var wake *Dispatch
	switch {
	case !own: // the run ends to make room for this one
	case done:
		s = c.final
		if s.Status == "" {
			s.Status = Acked
			if c.d.Cancel && run.Termination.Type == awaken.Cancelled {
				s.Status = Cancelled
			}
		}
	case run.Waiting.Reason == awaken.WaitPin:
		s = Settlement{Status: Queued, Delay: pinRetry, Error: run.Waiting.Message}
	default:
		s.Status, wake = Acked, c.wakeAtExpiry(run)
	}
	s.Claim = c.d.Claim()
	s.Steps = max(int(c.steps.Load()), run.Steps)
	c.ending.Store(s.Status != "")
	atSettling.Hit()
	start := time.Now()
	out, err := c.tenant.Store.CommitAndSettle(ctx, cm, s, wake)
	if c.tenant.box.cfg.Observer.Operated("settle", time.Since(start), err); err != nil || !out.Settled || s.Status == "" {
		c.ending.Store(false)
		return err
	}
	if out.Ready {
		c.tenant.box.changed()
	}
	c.lease.release()
	c.settled = s.Status
	c.ended.Store(true)
	atSettled.Hit()
	return nil
}

// wakeAtExpiry returns the dispatch that wakes a parked run when the first of its tickets expires
// undecided, or nil if none does.
func (c *claim) wakeAtExpiry(run *awaken.Run) *Dispatch {
	at := nextExpiry(run)
	if at == 0 {
		return nil
	}
	d := c.tenant.newDispatch()
	d.ThreadID, d.RunID, d.Steps = run.ThreadID, run.RunID, run.Steps
	d.AvailableAt = max(0, at-time.Now().UnixMilli()) + 1
	return d
}

// waitForPrevious waits until the thread's previous claim is forgotten, if a commit has settled it:
// its run has only to publish what it committed. It also waits until the store has decided on one that was opened, whose run has
// to leave the thread if the store has refused it.
func (c *claim) waitForPrevious() {
	if b := c.before; b != nil && b.decided != nil {
		<-b.decided // soon, whatever happens to c: until then the runtime refuses another run of the thread
	}
	if b := c.before; b != nil && b.ending.Load() {
		select {
		case <-b.over:
		case <-c.ctx.Done():
		}
	}
	c.before = nil
}

// settler settles claims, in batches when many are waiting.
type settler struct {
	queue    Queue
	patience time.Duration // how long to retry; after that the dispatches are reclaimed, and their runs found done
	observer Observer
	logger   *slog.Logger
	in       chan settling
}

// settling is a settlement in flight.
type settling struct {
	Settlement
	done chan struct{}
}

// settle settles a claim. It returns when that is done or has failed for good.
func (s *settler) settle(x Settlement) {
	done := make(chan struct{})
	s.in <- settling{x, done}
	<-done
}

// work settles claims until in is closed.
func (s *settler) work() {
	for first := range s.in {
		group := []settling{first}
	more:
		for len(group) < 256 {
			select {
			case x, ok := <-s.in:
				if !ok {
					break more
				}
				group = append(group, x)
			default:
				break more
			}
		}
		s.settleGroup(group)
	}
}

func (s *settler) settleGroup(group []settling) {
	all := make([]Settlement, len(group))
	for i, x := range group {
		all[i] = x.Settlement
	}
	first := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), s.patience)
		errs, err := s.queue.Settle(ctx, all...)
		cancel()
		s.observer.Operated("settle", time.Since(start), err)
		if err == nil {
			for i, x := range group {
				if errs[i] != nil {
					s.logger.Warn("dispatch was reclaimed before it was settled", "dispatch", x.ID, "error", errs[i])
				}
			}
			break
		}
		s.logger.Warn("cannot settle dispatches", "error", err)
		if time.Since(first) > s.patience {
			break
		}
		time.Sleep(wait)
	}
	for _, x := range group {
		close(x.done)
	}
}
