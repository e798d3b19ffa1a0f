package mailbox

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// Thread is a thread's queue inside [Store.Change]. The store sets the fields that describe the
// stored state; the function passed to Change reads them and records in Changes what to store.
// The rules of the queue are unexported methods of Thread, the same for every store.
type Thread struct {
	ID     string
	Now    int64 // the store's clock, Unix ms
	Exists bool  // the thread exists
	// UserID is the user that the thread belongs to. If the thread is created, it is stored.
	UserID string
	// Epoch counts the thread's interrupts. It is not the epoch of an awaken.Cursor.
	Epoch uint64
	// End is the end of the thread's event log.
	End awaken.Cursor
	// Open is the running or waiting run as last committed, or nil.
	Open *awaken.Run
	// Live holds the queued and claimed dispatches, ordered by [Dispatch.Before]. They must
	// not be modified: changed copies go to Put.
	Live []*Dispatch

	Changes
}

// Changes are the changes that [Store.Change] makes durable.
type Changes struct {
	// Create creates the thread if it does not exist.
	Create bool
	// Put holds dispatches that are new or changed, each once.
	Put []*Dispatch
	// Runs holds records of runs that have not started. A stored record is replaced only if
	// its status is RunCreated. The record of a run that a new dispatch in Put starts need not be
	// stored: the dispatch is its record.
	Runs []*awaken.Run
	// Post holds the items to add to the thread's inbox.
	Post []awaken.InboxItem
	// Interrupt raises the thread's generation, as awaken.Store's Interrupt does.
	Interrupt bool
	// RaiseEpoch raises the thread's epoch.
	RaiseEpoch bool
	// Release is the id of a dispatch of the thread, live or not, that gives up the id of its message before
	// what is in Put is written. "" is none, and so is a dispatch that does not exist.
	Release string
}

// put records a new or changed dispatch, in Put and in Live.
func (t *Thread) put(d *Dispatch) {
	d.UpdatedAt = t.Now
	if d.Status.Terminal() && d.CompletedAt == 0 {
		d.CompletedAt = t.Now
	}
	same := func(o *Dispatch) bool { return o.ID == d.ID }
	t.Put = append(slices.DeleteFunc(t.Put, same), d)
	t.Live = slices.DeleteFunc(slices.Clone(t.Live), same)
	if !d.Status.Terminal() {
		t.Live = append(t.Live, d)
		Sort(t.Live)
	}
}

// clone returns a copy of a dispatch, to be changed and put.
func clone(d *Dispatch) *Dispatch {
	c := *d
	return &c
}

// started reports whether the dispatch's run is the open one: it has started and not ended.
func (t *Thread) started(d *Dispatch) bool { return t.Open != nil && t.Open.RunID == d.RunID }

// enqueue queues d, AvailableAt ms from now, and records the run that it starts, if any. The
// error is ErrDuplicate if a live dispatch has the same dedupe key.
func (t *Thread) enqueue(d *Dispatch) error {
	if o := t.byDedupeKey(d.DedupeKey); o != nil {
		return fmt.Errorf("dedupe key %q: %w: dispatch %s has it", d.DedupeKey, ErrDuplicate, o.ID)
	}
	d.ThreadID, d.Status, d.Epoch, d.CreatedAt = t.ID, Queued, t.epoch(), t.Now
	d.AvailableAt += t.Now
	t.put(d)
	if d.Request != nil {
		t.Runs = append(t.Runs, d.NewRun())
	}
	return nil
}

// byDedupeKey returns the live dispatch with a dedupe key, or nil. It skips dispatches that
// are being cancelled.
func (t *Thread) byDedupeKey(key string) *Dispatch {
	i := slices.IndexFunc(t.Live, func(o *Dispatch) bool { return key != "" && o.DedupeKey == key && !o.Cancel })
	if i < 0 {
		return nil
	}
	return t.Live[i]
}

// epoch returns the epoch of dispatches that are queued now.
func (t *Thread) epoch() uint64 {
	if t.RaiseEpoch {
		return t.Epoch + 1
	}
	return t.Epoch
}

// wake returns the queued dispatch that will resume the open run. It queues d unless there is
// one. A claimed dispatch does not count: its worker may have read the inbox already.
func (t *Thread) wake(d *Dispatch) (*Dispatch, error) {
	for _, o := range t.Live {
		if o.Status == Queued && o.RunID == t.Open.RunID {
			if o.AvailableAt > t.Now+d.AvailableAt {
				o = clone(o)
				o.AvailableAt = t.Now + d.AvailableAt
				if w := t.Open.Waiting; w != nil && w.Reason == awaken.WaitPin {
					o.LastError = "" // a client asks for it
				}
				t.put(o)
			}
			return o, nil
		}
	}
	d.RunID, d.Request, d.Steps = t.Open.RunID, nil, t.Open.Steps
	return d, t.enqueue(d)
}

// awaitsContinue reports whether the run is open and waits for its budget or its pinned
// version.
func (t *Thread) awaitsContinue(runID string) bool {
	r := t.Open
	return r != nil && r.RunID == runID && r.Status == awaken.RunWaiting && canContinue(r.Waiting)
}

// canContinue reports whether the reason to wait may have gone without a message or decision.
func canContinue(w *awaken.Waiting) bool {
	return w != nil && (w.Reason == awaken.WaitBudget || w.Reason == awaken.WaitPin)
}

// over reports whether a worker has only to end the run of a queued dispatch that has not
// started, or to take the input of such a run into the thread.
func (t *Thread) over(d *Dispatch) bool { return d.Status == Queued && d.Cancel && !t.started(d) }

// end ends the run of a dispatch and removes the dispatch from the queue. Only the owner of a
// thread appends to its log, so a dispatch with messages stays in the queue, marked as cancelled,
// until a worker has taken them in. Only a worker can end a run that has started: the dispatch of
// such a run, or a claimed one, is marked as cancelled instead.
func (t *Thread) end(d *Dispatch, as Status, reason string) {
	d = clone(d)
	if d.Status == Claimed || t.started(d) {
		if d.Cancel = true; d.Status == Claimed {
			t.Interrupt = true
		} else {
			d.AvailableAt, d.Priority = min(d.AvailableAt, t.Now), 0
		}
		t.put(d)
		return
	}
	if d.Status = as; d.hasInput() {
		d.Status, d.Cancel, d.Attempts, d.AvailableAt = Queued, true, 0, min(d.AvailableAt, t.Now)
	}
	t.put(d)
	if d.Request != nil {
		run := endedRun(d.NewRun(), t.Now, awaken.Termination{Type: awaken.Cancelled})
		run.StatusReason = reason
		t.Runs = append(t.Runs, run)
	}
}

// endedRun returns the record of a run that ended before it started.
func endedRun(run *awaken.Run, now int64, t awaken.Termination) *awaken.Run {
	r := *run
	r.Status, r.StatusReason, r.Termination = awaken.RunDone, t.String(), t
	r.FinishedAt, r.UpdatedAt = now, now
	if t.Type == awaken.Failed {
		r.ErrorPayload = &awaken.Error{Message: t.Message}
	}
	return &r
}

// submission is new input for a thread.
type submission struct {
	dispatch  *Dispatch          // with an id; its Request is nil if the input cannot start a run
	items     []awaken.InboxItem // what an open run receives instead of the request
	interrupt bool               // end the run in progress and everything queued
	spare     *Dispatch          // if not nil, it ends a waiting run too
	live      bool               // a run in progress may take the items
	runID     string             // only that run may take the items
	exists    bool               // the run that the request starts exists
}

// submit assigns new input to a run: to the waiting run, which it wakes; if live, to the run
// in progress; otherwise to a new run. It returns the dispatch of that run, or nil if the run
// is in progress.
func (t *Thread) submit(s *submission) (*Dispatch, error) {
	d := s.dispatch
	var unread []*Dispatch // superseded before they ran
	if s.interrupt {
		_, unread, _ = t.interrupt(s.spare)
	}
	open := t.Open
	if open != nil && s.runID != "" && open.RunID != s.runID {
		open = nil
	}
	if open != nil && len(s.items) > 0 {
		var has *Dispatch // of the open run
		for _, o := range t.Live {
			if o.RunID == open.RunID {
				has = o
			}
		}
		switch {
		case has != nil && has.Cancel: // the run is about to end
		case t.closed(s.items):
			return nil, fmt.Errorf("thread %s: %w", t.ID, errClosed)
		case open.Status == awaken.RunWaiting, has == nil && s.live: // a running run without a dispatch was cut off
			for _, o := range unread {
				t.Post = append(t.Post, awaken.InboxItem{
					ID:        "input:" + o.ID,
					Messages:  o.Request.Messages,
					Untrusted: o.Request.Untrusted,
					Taint:     o.Request.Taint,
				})
				o = clone(o)
				o.Status = Superseded
				t.put(o)
			}
			t.Post = append(t.Post, s.items...)
			got, err := t.wake(d)
			if got != d {
				t.recordKey(d)
			}
			return got, err
		case s.live:
			t.Post = append(t.Post, s.items...)
			t.recordKey(d)
			return nil, nil
		}
	}
	if d.Request == nil {
		return nil, ErrIdle
	}
	if s.exists { // it would end without the input
		return nil, fmt.Errorf("run %s: %w", d.RunID, ErrExists)
	}
	if t.Create = true; !t.Exists {
		t.UserID = d.Request.UserID
	}
	return d, t.enqueue(d)
}

// closed reports whether an item decides a question that the run, which waits, no longer asks.
func (t *Thread) closed(items []awaken.InboxItem) bool {
	w := t.Open.Waiting
	if t.Open.Status != awaken.RunWaiting || w == nil || len(w.Tickets) == 0 {
		return false
	}
	return slices.ContainsFunc(items, func(it awaken.InboxItem) bool {
		return it.Decided != nil && it.Decided.RunID == t.Open.RunID && !slices.Contains(w.TicketIDs, it.Decided.TicketID)
	})
}

// recordKey stores the idempotency key and the message id of input that needs no dispatch, as an acked one.
func (t *Thread) recordKey(d *Dispatch) {
	if d.IdempotencyKey == "" && d.MessageID == "" {
		return
	}
	d.RunID, d.Request, d.DedupeKey = t.Open.RunID, nil, ""
	d.Status, d.Epoch, d.CreatedAt, d.AvailableAt = Acked, t.epoch(), t.Now, t.Now
	t.put(d)
}

// interrupt ends the run in progress and everything queued, and raises the epoch, which tells
// earlier input from later. If spare is not nil, it ends a waiting run too. The result is how
// many dispatches were superseded, those of them whose input no run has read, and whether there
// was anything to interrupt.
func (t *Thread) interrupt(spare *Dispatch) (superseded int, unread []*Dispatch, found bool) {
	t.RaiseEpoch = true
	for _, d := range slices.Clone(t.Live) {
		if t.over(d) {
			continue
		}
		if d.Status == Queued && t.started(d) && t.Open.Status == awaken.RunWaiting && spare == nil {
			continue // the run was decided and is about to resume
		}
		found = true
		if d.Status == Queued && !t.started(d) {
			superseded++
			if d.hasInput() {
				unread = append(unread, d)
			}
		}
		t.end(d, Superseded, "superseded")
	}
	if spare != nil && t.endOpen(spare) {
		found = true
	}
	return superseded, unread, found
}

// cancel ends a dispatch or a run by its id. The thread's id stands for the open run, or else
// for the first claimed or queued dispatch. Spare ends a waiting run. It reports whether there
// was anything to end.
func (t *Thread) cancel(id string, spare *Dispatch) (found bool) {
	if t.Open != nil && (id == t.ID || id == t.Open.RunID) {
		return t.endOpen(spare)
	}
	live := slices.DeleteFunc(slices.Clone(t.Live), func(d *Dispatch) bool {
		found = found || t.over(d) && (id == d.ID || id == d.RunID)
		return t.over(d)
	})
	if id == t.ID && len(live) > 0 {
		id = live[0].ID
		if i := slices.IndexFunc(live, func(d *Dispatch) bool { return d.Status == Claimed }); i >= 0 {
			id = live[i].ID
		}
	}
	for _, d := range live {
		if id == d.ID || id == d.RunID {
			t.end(d, Cancelled, "cancelled")
			found = true
		}
	}
	return found
}

// endOpen ends the open run, through its queued dispatch or else through spare. A claimed
// dispatch is marked as cancelled, too, but its run may have parked already.
func (t *Thread) endOpen(spare *Dispatch) bool {
	if t.Open == nil {
		return false
	}
	found := false
	for _, d := range slices.Clone(t.Live) {
		if t.started(d) {
			t.end(d, Cancelled, "cancelled")
			found = found || d.Status == Queued
		}
	}
	if !found {
		spare.RunID, spare.Cancel, spare.Priority, spare.Steps = t.Open.RunID, true, 0, t.Open.Steps
		if err := t.enqueue(spare); err != nil {
			panic(err) // it has no dedupe key
		}
		spare.Epoch = t.Epoch // it belongs to the input that is ended
	}
	return true
}
