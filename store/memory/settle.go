package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Own acquires a thread for the worker that has a claim.
func (s *Store) Own(_ context.Context, threadID string, c mailbox.Claim) (cp *awaken.Checkpoint, cancel bool, err error) {
	s.dispatches.mu.Lock()
	defer s.dispatches.mu.Unlock()
	d := s.dispatches.byID[c.ID]
	if d == nil || d.Status != mailbox.Claimed || d.ClaimToken != c.Token || d.ThreadID != threadID {
		return nil, false, awaken.ErrFenced
	}
	return s.committer.acquire(threadID), d.Cancel, nil
}

// CommitAndSettle makes a commit that ends or parks a run, and settles its dispatches.
func (s *Store) CommitAndSettle(_ context.Context, c *awaken.Commit, x mailbox.Settlement, wake *mailbox.Dispatch) (out mailbox.Settled, err error) {
	s.dispatches.mu.Lock()
	defer s.dispatches.mu.Unlock()
	t, err := s.committer.thread(c.ThreadID)
	if err != nil {
		return out, err
	}
	d := s.dispatches.byID[x.ID]
	if d == nil || d.Status != mailbox.Claimed || d.ClaimToken != x.Token {
		if c.Fence == t.Fence && c.Number == t.Committed && c.Number != 0 { // a repetition
			c.Unread = len(t.Inbox) > 0
			return mailbox.Settled{Settled: true}, nil
		}
		return out, awaken.ErrFenced
	}
	if err := s.committer.commit(c); err != nil {
		return out, err
	}
	done := c.Run.Status == awaken.RunDone
	if done && slices.ContainsFunc(t.Inbox, func(it awaken.InboxItem) bool { return len(it.Messages) > 0 && it.RunID == "" }) {
		return out, nil
	}
	s.dispatches.settleRun(t, d, c, x, wake)
	return mailbox.Settled{Settled: true, Ready: t.head != nil}, nil
}

// settleRun settles the dispatches of a run that a commit has ended or parked. D is the claimed one
// of the thread.
func (s *dispatches) settleRun(t *thread, d *mailbox.Dispatch, c *awaken.Commit, x mailbox.Settlement, wake *mailbox.Dispatch) {
	now := s.now().UnixMilli()
	if c.Run.Status == awaken.RunDone {
		for _, o := range slices.Clone(t.live) {
			if o == d || o.RunID != c.Run.RunID {
				continue
			}
			o.Status, o.UpdatedAt, o.CompletedAt = mailbox.Acked, now, now
			if o.Cancel && c.Run.Termination.Type == awaken.Cancelled {
				o.Status = mailbox.Cancelled
			}
			t.live = slices.DeleteFunc(t.live, func(l *mailbox.Dispatch) bool { return l == o })
			t.over = append(t.over, o)
			s.lines.changed(t, o)
		}
	}
	if wake != nil {
		w := export(wake)
		w.Status, w.Epoch, w.CreatedAt, w.UpdatedAt = mailbox.Queued, t.epoch, now, now
		w.AvailableAt += now
		s.put(t, w)
	}
	if x.Status == "" {
		s.lines.place(t, now)
		return
	}
	if x.Steps > d.Steps {
		d.Steps, d.Attempts, d.Crashes = x.Steps, 0, 0
	}
	d.LostAt = 0
	if x.Failed {
		d.Attempts++
	}
	settleError(d, &x, now)
	s.lines.release(t, d, x.Status, now+x.Delay.Milliseconds(), now)
	if t.head != nil {
		s.lines.notify(mailbox.Signal{Ready: true})
	}
}

// settleError records the error of a settlement.
func settleError(d *mailbox.Dispatch, x *mailbox.Settlement, now int64) {
	if x.Failed || x.Status == mailbox.DeadLetter && x.Error != "" && x.Error != d.LastError {
		d.Fail(now, cmp.Or(x.Error, d.LastError), false)
	}
	if x.Error != "" {
		d.LastError = x.Error
	}
}
