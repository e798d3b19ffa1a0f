package awaken

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken/state"
)

// Outgoing is something a run wants to have done beyond its own thread, once the commit
// that holds it is made: an item for the inbox of a thread, a run that is to start, or
// one that is to end. It is done at least once; what it leads to happens once.
type Outgoing struct {
	ID string `json:"id"` // filled in

	ThreadID string     `json:"thread_id,omitempty"`
	Item     *InboxItem `json:"item,omitempty"`     // for the inbox of ThreadID; its id is filled in
	AgentID  string     `json:"agent_id,omitempty"` // who is to answer messages on a thread that has no run

	Start  *RunRequest `json:"start,omitempty"`  // with a RunID and a ThreadID
	Cancel string      `json:"cancel,omitempty"` // id of a run
}

// Send records that o is to be sent when what is recorded is committed.
func Send(r Recorder, o Outgoing) {
	made := r.command().Recorded()
	made.Outbox = append(made.Outbox, o)
}

// Queue has runs done that nobody waits for. A *mailbox.Tenant is one: what it accepts
// is durable.
type Queue interface {
	// Start has a run started. A RunID that was started before is accepted and does
	// nothing.
	Start(ctx context.Context, req RunRequest) error
	// Deliver adds an item to a thread's inbox and wakes the run that waits there.
	// Messages for a thread without a run start one, of the agent or, if that is "", of
	// the thread's. An item for a run that is over is dropped. A missing thread is
	// ErrNotFound.
	Deliver(ctx context.Context, threadID string, item InboxItem, agentID string) error
	// Cancel ends a run. One that is over or not there is ErrNotFound.
	Cancel(ctx context.Context, runID string) error
}

type outboxUpdate struct {
	push []Outgoing
	sent []string // ids
}

// outbox holds what is committed and not yet known to be sent.
var outbox = state.NewKey("__runtime.outbox", func(box []Outgoing, u outboxUpdate) []Outgoing {
	box = slices.DeleteFunc(slices.Clone(box), func(o Outgoing) bool { return slices.Contains(u.sent, o.ID) })
	return append(box, u.push...)
}, state.Options{Scope: state.Thread, Merge: state.Commutative})

// FailedDelivery is something that could not be sent: its recipient is not there.
type FailedDelivery struct {
	Outgoing
	Error string `json:"error"`
}

// maxFailed is how many failed deliveries a thread remembers.
const maxFailed = 64

// FailedDeliveries are the latest deliveries of the thread that failed for good.
var FailedDeliveries = state.NewKey("__runtime.failed_deliveries", func(list []FailedDelivery, f FailedDelivery) []FailedDelivery {
	return append(slices.Clip(list[max(0, len(list)-maxFailed+1):]), f)
}, state.Options{Scope: state.Thread, Merge: state.Commutative})

// stamp gives what is to be sent its ids.
func (r *run) stamp(out []Outgoing) []Outgoing {
	out = slices.Clone(out)
	for i := range out {
		o := &out[i]
		o.ID = r.rt.cfg.NewID()
		if o.Item != nil {
			it := *o.Item
			if it.ID == "" {
				it.ID = o.ID
			}
			o.Item = &it
		}
	}
	return out
}

// send is Send for the runtime itself.
func (r *run) send(o Outgoing) {
	var b state.Batch
	outbox.Update(&b, outboxUpdate{push: r.stamp([]Outgoing{o})})
	if err := r.st.Apply(&b); err != nil {
		panic(err) // the built-in keys are in every schema
	}
	r.unsent++
}

// sendAll sends what the outbox holds. What cannot be sent now stays for the next commit.
func (r *run) sendAll(ctx context.Context) {
	var b state.Batch
	for _, o := range outbox.Get(r.st) {
		atSend.Hit()
		err := r.rt.deliver(ctx, &o)
		atSent.Hit()
		if err != nil {
			r.rt.cfg.Logger.Warn("delivery failed", "run", r.info.RunID, "delivery", o.ID, "error", err)
			if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrConflict) {
				continue
			}
			FailedDeliveries.Update(&b, FailedDelivery{o, err.Error()})
		}
		outbox.Update(&b, outboxUpdate{sent: []string{o.ID}})
		r.unsent--
	}
	if err := r.st.Apply(&b); err != nil {
		panic(err) // the built-in keys are in every schema
	}
}

// flushTries is how often a run that is about to rest tries to send what it has to.
const flushTries = 5

// flush commits and sends what the outbox holds, with the record as it was before the run
// was about to rest or end: if it is cut off here, whoever goes on with it sends it again.
// What cannot be sent is left for the thread's next run.
func (r *run) flush(ctx context.Context, before Run) error {
	for try := 0; r.unsent > 0 && try < flushTries; try++ {
		if try > 0 {
			select {
			case <-time.After(50 * time.Millisecond << try):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		rec := r.rec
		r.rec.stand(&before)
		err := r.commit(ctx, commitOptions{})
		r.rec.stand(&rec)
		if err != nil {
			return err
		}
	}
	return nil
}

// deliver sends o by the queue, or does itself what that would do.
func (rt *Runtime) deliver(ctx context.Context, o *Outgoing) error {
	q := rt.queue
	if q == nil {
		q = inProcess{rt}
	}
	switch {
	case o.Item != nil:
		if err := q.Deliver(ctx, o.ThreadID, *o.Item, o.AgentID); err != nil {
			return fmt.Errorf("deliver to thread %s: %w", o.ThreadID, err)
		}
	case o.Start != nil:
		if err := q.Start(ctx, *o.Start); err != nil {
			return fmt.Errorf("start run %s: %w", o.Start.RunID, err)
		}
	case o.Cancel != "":
		if err := q.Cancel(ctx, o.Cancel); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("cancel run %s: %w", o.Cancel, err)
		}
	}
	return nil
}

// inProcess is the queue of a runtime that has none: what is started goes on in goroutines
// of this process, and ends with it.
type inProcess struct{ rt *Runtime }

func (q inProcess) Start(ctx context.Context, req RunRequest) error {
	if _, err := q.rt.cfg.Store.LoadRun(ctx, req.RunID); err == nil {
		return nil // it was started before
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	q.run(ctx, req.ThreadID, req)
	return nil
}

func (q inProcess) run(ctx context.Context, threadID string, req RunRequest) {
	ctx = context.WithoutCancel(ctx)
	q.rt.detached.Go(func() {
		var sink Sink
		if f := q.rt.cfg.Detached; f != nil {
			sink = f(threadID)
		}
		_, err := q.rt.Run(ctx, req, sink)
		if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrFenced) && !errors.Is(err, ErrConflict) {
			q.rt.cfg.Logger.Warn("run failed", "run", req.RunID+req.Continue, "error", err)
		}
	})
}

func (q inProcess) Deliver(ctx context.Context, threadID string, item InboxItem, agentID string) error {
	th, err := q.rt.cfg.Store.Thread(ctx, threadID)
	if err != nil {
		return err
	}
	if item.RunID != "" && item.RunID != th.OpenRunID {
		return nil
	}
	if err := q.rt.post(ctx, threadID, []InboxItem{item}); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	q.rt.detached.Go(func() {
		if err := q.wake(ctx, threadID, agentID); err != nil {
			q.rt.cfg.Logger.Warn("thread could not be woken", "thread", threadID, "error", err)
		}
	})
	return nil
}

// wake makes somebody read what was posted to a thread. A run that is active reads it
// before it rests, but it may have been about to.
func (q inProcess) wake(ctx context.Context, threadID, agentID string) error {
	if err := q.rt.Wait(ctx, threadID); err != nil {
		return err
	}
	items, err := q.rt.cfg.Store.Unread(ctx, threadID)
	if err != nil || len(items) == 0 {
		return err
	}
	th, err := q.rt.cfg.Store.Thread(ctx, threadID)
	if err != nil {
		return err
	}
	req := RunRequest{Continue: th.OpenRunID, Mode: "internal_wake"}
	if th.OpenRunID == "" {
		if !slices.ContainsFunc(items, func(it InboxItem) bool { return len(it.Messages) > 0 && it.RunID == "" }) {
			return nil
		}
		req = RunRequest{ThreadID: threadID, AgentID: agentID, Origin: "internal"}
	} else if run, err := q.rt.cfg.Store.LoadRun(ctx, th.OpenRunID); err != nil || run.Status != RunWaiting {
		return err // one that was cut off is gone on with by whoever knows that it was
	}
	q.run(ctx, threadID, req)
	return nil
}

func (q inProcess) Cancel(ctx context.Context, runID string) error { return q.rt.Cancel(ctx, runID) }

// Settle returns when no run goes on in this process that a runtime without a queue has
// started by itself.
func (rt *Runtime) Settle(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		rt.detached.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reportDone tells the parent of a run how it came out, when there is no queue to do it.
func (rt *Runtime) reportDone(ctx context.Context, r *run) {
	if r.rec.ParentRunID == "" {
		return
	}
	if err := rt.Report(context.WithoutCancel(ctx), &r.rec); err != nil {
		rt.cfg.Logger.Warn("the parent of a run could not be told", "run", r.info.RunID, "parent", r.rec.ParentRunID, "error", err)
	}
}
