package mailbox

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// Thread is a thread's queue inside [Store.Change]: what the store found, and what is
// to be changed. The rules of the queue are its methods.
type Thread struct {
	ID   string
	Now  int64 // the store's clock, unix ms
	Made bool  // the thread exists
	// Epoch counts the interrupts.
	Epoch uint64
	// End is where the thread's log of events ends.
	End awaken.Cursor
	// Open is the run that is running or waiting, as it was last committed, or nil.
	Open *awaken.Run
	// Live holds the queued and claimed dispatches in order. They are not to be
	// changed; Put takes changed copies.
	Live []*Dispatch

	Changes
}

// Changes are what [Store.Change] makes durable.
type Changes struct {
	// Make makes the thread if it is not there.
	Make bool
	// Put holds dispatches that are new or changed, each once.
	Put []*Dispatch
	// Runs holds records of runs that have not started. A record whose run is stored
	// already is written only over one that is created, and otherwise left alone.
	Runs []*awaken.Run
	// Post holds what goes into the thread's inbox.
	Post []awaken.InboxItem
	// Interrupt raises the thread's generation, as awaken.Store's Interrupt does.
	Interrupt bool
	// Raise raises the thread's epoch.
	Raise bool
}

// put records a dispatch as new or changed, and makes the rules that follow see it.
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

// edit returns a copy of a dispatch, to be changed and put.
func edit(d *Dispatch) *Dispatch {
	c := *d
	return &c
}

// started reports whether the dispatch's run has done anything, and is not over.
func (t *Thread) started(d *Dispatch) bool { return t.Open != nil && t.Open.RunID == d.RunID }

// enqueue adds a dispatch, and the record of the run that it starts, if it starts one. A live
// dispatch with the same dedupe key is ErrDuplicate.
func (t *Thread) enqueue(d *Dispatch) error {
	if o := t.keyed(d.DedupeKey); o != nil {
		return fmt.Errorf("dedupe key %q: %w of dispatch %s", d.DedupeKey, ErrDuplicate, o.ID)
	}
	d.ThreadID, d.Status, d.Epoch, d.CreatedAt = t.ID, Queued, t.epoch(), t.Now
	d.AvailableAt += t.Now
	t.put(d)
	if d.Request != nil {
		t.Runs = append(t.Runs, d.NewRun())
	}
	return nil
}

// keyed returns the live dispatch that has a dedupe key, or nil. One that is being cancelled
// does not count.
func (t *Thread) keyed(key string) *Dispatch {
	i := slices.IndexFunc(t.Live, func(o *Dispatch) bool { return key != "" && o.DedupeKey == key && !o.Cancel })
	if i < 0 {
		return nil
	}
	return t.Live[i]
}

func (t *Thread) epoch() uint64 {
	if t.Raise {
		return t.Epoch + 1
	}
	return t.Epoch
}

// wake makes sure that a dispatch will go on with the open run: d, unless one that is
// queued does so already. A claimed one does not count, it may have looked before.
func (t *Thread) wake(d *Dispatch) (*Dispatch, error) {
	for _, o := range t.Live {
		if o.Status == Queued && o.RunID == t.Open.RunID {
			if o.AvailableAt > t.Now+d.AvailableAt {
				o = edit(o)
				o.AvailableAt = t.Now + d.AvailableAt
				if w := t.Open.Waiting; w != nil && w.Reason == awaken.WaitPin {
					o.LastError = "" // now somebody asks
				}
				t.put(o)
			}
			return o, nil
		}
	}
	d.RunID, d.Request, d.Steps = t.Open.RunID, nil, t.Open.Steps
	return d, t.enqueue(d)
}

// waitsForContinue reports whether the run is open and its budget was used up, or its
// version could not be had.
func (t *Thread) waitsForContinue(runID string) bool {
	r := t.Open
	return r != nil && r.RunID == runID && r.Status == awaken.RunWaiting && mayGoOn(r.Waiting)
}

// mayGoOn reports whether what a run waits for may have come without a word.
func mayGoOn(w *awaken.Waiting) bool {
	return w != nil && (w.Reason == awaken.WaitBudget || w.Reason == awaken.WaitPin)
}

// end takes a dispatch that nobody works on out of the queue, and ends its run. A run
// that has started can be ended by a worker only, so its dispatch stays and says so.
func (t *Thread) end(d *Dispatch, as Status, reason string) {
	d = edit(d)
	if d.Status == Claimed || t.started(d) {
		if d.Cancel = true; d.Status == Claimed {
			t.Interrupt = true
		} else {
			d.AvailableAt, d.Priority = min(d.AvailableAt, t.Now), 0
		}
		t.put(d)
		return
	}
	d.Status = as
	t.put(d)
	if d.Request != nil {
		run := endedRun(d.NewRun(), t.Now, awaken.Termination{Type: awaken.Cancelled})
		run.StatusReason = reason
		t.Runs = append(t.Runs, run)
	}
}

// endedRun is the record of a run that ended before it started.
func endedRun(run *awaken.Run, now int64, t awaken.Termination) *awaken.Run {
	r := *run
	r.Status, r.StatusReason, r.Termination = awaken.RunDone, t.String(), t
	r.FinishedAt, r.UpdatedAt = now/1000, now/1000
	if t.Type == awaken.Failed {
		r.ErrorPayload = &awaken.Error{Message: t.Message}
	}
	return &r
}

// submission is what a Submit asks of a thread.
type submission struct {
	dispatch  *Dispatch          // with its id, and its request if there is one
	items     []awaken.InboxItem // what an open run gets instead of the request
	interrupt bool               // end what runs, and what is queued
	spare     *Dispatch          // if it is there, end what waits too, with it
	live      bool               // a run that is running may take the items
	runID     string             // only that run may take the items
}

// submit decides what becomes of new input: the run that waits goes on with it, or, if
// live, the one that is running takes it in; otherwise it starts a run of its own. It
// returns the dispatch that will do it, or nil if a run is doing it already.
func (t *Thread) submit(s *submission) (*Dispatch, error) {
	d := s.dispatch
	if s.interrupt {
		t.interrupt(s.spare)
	}
	open := t.Open
	if open != nil && s.runID != "" && open.RunID != s.runID {
		open = nil
	}
	if open != nil && len(s.items) > 0 {
		var has *Dispatch // that goes on with the open run
		for _, o := range t.Live {
			if o.RunID == open.RunID {
				has = o
			}
		}
		switch {
		case has != nil && has.Cancel: // it is about to end
		case open.Status == awaken.RunWaiting, has == nil && s.live: // without a dispatch it was cut off
			t.Post = append(t.Post, s.items...)
			got, err := t.wake(d)
			if got != d {
				t.note(d)
			}
			return got, err
		case s.live:
			t.Post = append(t.Post, s.items...)
			t.note(d)
			return nil, nil
		}
	}
	if d.Request == nil {
		return nil, ErrNothing
	}
	t.Make = true
	return d, t.enqueue(d)
}

// note remembers the idempotency key of input that needs no dispatch of its own.
func (t *Thread) note(d *Dispatch) {
	if d.IdempotencyKey == "" {
		return
	}
	d.RunID, d.Request, d.DedupeKey = t.Open.RunID, nil, ""
	d.Status, d.Epoch, d.CreatedAt, d.AvailableAt = Acked, t.epoch(), t.Now, t.Now
	t.put(d)
}

// interrupt ends what runs and what is queued, and raises the epoch, so that what was
// asked for before can be told from what comes. The run that waits is ended too if
// spare is there to do it. It returns how many dispatches were superseded, and whether
// there was anything to interrupt.
func (t *Thread) interrupt(spare *Dispatch) (superseded int, found bool) {
	t.Raise = true
	for _, d := range slices.Clone(t.Live) {
		if d.Status == Queued && t.started(d) && t.Open.Status == awaken.RunWaiting && spare == nil {
			continue // somebody has decided, and the run is about to go on
		}
		found = true
		if d.Status == Queued && !t.started(d) {
			superseded++
		}
		t.end(d, Superseded, "superseded")
	}
	if spare != nil && t.endOpen(spare) {
		found = true
	}
	return superseded, found
}

// cancel ends what an id names: a dispatch, a run, or, if it is the thread's, the run
// that is open, or if none is, the first that is claimed or queued. Spare ends a run that
// waits. It reports whether there was anything to end.
func (t *Thread) cancel(id string, spare *Dispatch) (found bool) {
	if t.Open != nil && (id == t.ID || id == t.Open.RunID) {
		return t.endOpen(spare)
	}
	live := slices.Clone(t.Live)
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

// endOpen ends the open run, by a dispatch that it has queued or else by spare. A claimed
// one is told too, but may have let the run wait already.
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
		spare.Epoch = t.Epoch // it belongs to what is ended
	}
	return true
}
