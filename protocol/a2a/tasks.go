package a2a

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// task returns a run as a task, with the last messages of its history: all if length is nil.
func (x *exchange) task(run *awaken.Run, artifacts bool, length *int) (*Task, error) {
	t := &Task{ID: run.RunID, ContextID: run.ThreadID, Status: statusOf(run)}
	if artifacts && run.StartedAt != 0 {
		p, err := x.project(run, awaken.Cursor{})
		if err != nil {
			return nil, err
		}
		t.Artifacts = p.outputs()
		if p.now.State == t.Status.State || p.now.State.Terminal() {
			t.Status = p.now
		}
	}
	var err error
	t.History, err = x.history(run, length)
	return t, err
}

// taskAt returns a run as a task as far as the entries up to a cursor tell.
func (x *exchange) taskAt(run *awaken.Run, at awaken.Cursor, length *int) (*Task, error) {
	p, err := x.project(run, at)
	if err != nil {
		return nil, err
	}
	t := &Task{ID: run.RunID, ContextID: run.ThreadID, Status: p.now, Artifacts: p.outputs()}
	t.History, err = x.history(run, length)
	return t, err
}

// project applies the stored entries of a run, up to a cursor if it is set.
func (x *exchange) project(run *awaken.Run, until awaken.Cursor) (*projection, error) {
	p := newProjection(discard{}, run.RunID, run.ThreadID)
	entries, err := x.Tenant().Store.Entries(x.Context(), run.ThreadID, awaken.EntryQuery{RunID: run.RunID})
	if errors.Is(err, awaken.ErrNotFound) {
		return p, nil
	}
	for i := range entries {
		if until.Seq > 0 && entries[i].Seq > until.Seq {
			break
		}
		p.apply(&entries[i])
	}
	return p, err
}

// history returns the messages of a run.
func (x *exchange) history(run *awaken.Run, length *int) ([]*Message, error) {
	if length != nil && *length <= 0 {
		return nil, nil
	}
	var msgs []*llm.Message
	var err error
	if run.Input.FromSeq > 0 {
		msgs, err = x.logged(run)
	} else {
		msgs, err = x.queued(run)
	}
	if err != nil {
		return nil, err
	}
	out := []*Message{}
	for _, m := range msgs {
		if s := shown(protocol.AsSent(m), run.ThreadID, run.RunID); s != nil {
			out = append(out, s)
		}
	}
	if length != nil && len(out) > *length {
		out = out[len(out)-*length:]
	}
	return out, nil
}

// logged returns the messages of a run that has started.
func (x *exchange) logged(run *awaken.Run) ([]*llm.Message, error) {
	q := awaken.MessageQuery{After: run.Input.FromSeq - 1}
	if last := max(run.Input.ToSeq, run.Output.ToSeq); run.Status == awaken.RunDone {
		q.Before = last + 1
	}
	records, err := x.Tenant().Store.Messages(x.Context(), run.ThreadID, q)
	if errors.Is(err, awaken.ErrNotFound) {
		err = nil
	}
	var out []*llm.Message
	for _, r := range records {
		out = append(out, r.Message)
	}
	return out, err
}

// queued returns the messages of a run that has not started.
func (x *exchange) queued(run *awaken.Run) ([]*llm.Message, error) {
	ds, err := x.Tenant().Store.Dispatches(x.Context(), mailbox.Query{ThreadID: run.ThreadID, RunID: run.RunID, Limit: 1})
	if err != nil || len(ds) == 0 || ds[0].Request == nil {
		return nil, err
	}
	return slices.Clone(ds[0].Request.Messages), nil
}

func (x *exchange) get(id string, length *int) error {
	if err := checkHistory(length); err != nil {
		return err
	}
	run, err := x.run(id)
	if err != nil {
		return err
	}
	t, err := x.task(run, true, length)
	if err != nil {
		return err
	}
	return x.reply(t)
}

// cancelTime is how long a request waits for the end of the run that it cancels.
const cancelTime = 5 * time.Second

// cancel cancels a task, and replies with it when it is over, or after a while.
func (x *exchange) cancel(id string) error {
	run, err := x.run(id)
	if err != nil {
		return err
	}
	over := func(s State) error {
		return failure(http.StatusConflict, taskNotCancelable, "task %s is over: %s", id, s)
	}
	if run.Status == awaken.RunDone {
		return over(stateOf(run))
	}
	switch err := x.Tenant().Cancel(x.Context(), id); {
	case errors.Is(err, mailbox.ErrIdle):
		return over("it has ended")
	case err != nil:
		return taskFailure(id, err)
	}
	x.Release()
	if run, err = x.ended(run); err != nil {
		return err
	}
	t, err := x.task(run, true, nil)
	if err != nil {
		return err
	}
	return x.reply(t)
}

// ended returns the record of a run when the run is over, or after a while.
func (x *exchange) ended(run *awaken.Run) (*awaken.Run, error) {
	ctx, cancel := context.WithTimeout(x.Context(), cancelTime)
	defer cancel()
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		now, err := x.Tenant().Store.LoadRun(x.Context(), run.RunID)
		if err != nil || now.Status == awaken.RunDone {
			return now, err
		}
		select {
		case <-ctx.Done():
			return now, x.Context().Err()
		case <-time.After(wait):
		}
	}
}

// subscribe streams a task: the whole of it first, then what changes. A client that says which event it has last gets
// only what follows or, if that event was lost with the owner of the run, the whole task, even if it is over.
func (x *exchange) subscribe(id string) error {
	run, err := x.run(id)
	if err != nil {
		return err
	}
	s := &protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, Resumed: true}
	if s.After, err = x.has(run.ThreadID); err != nil {
		return err
	}
	th, err := x.Tenant().Store.Thread(x.Context(), run.ThreadID)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	var end awaken.Cursor
	if err == nil {
		end = th.End
	}
	// A run that is about to continue is not interrupted any more.
	s.Through = end
	if x.answered(run) {
		s.Through.Seq++
	}
	switch {
	case s.After != (protocol.Position{}):
		if run.Status == awaken.RunDone || run.Status == awaken.RunWaiting && s.Through == end {
			s.Through = s.After.Cursor
		}
		return x.stream(s, Options{})
	case run.Status == awaken.RunDone && x.Request().Header.Get("Last-Event-ID") == "":
		return unsupported("task %s is over (%s); get it instead", id, stateOf(run))
	case run.Status == awaken.RunCreated:
		now, err := x.Tenant().Store.LoadRun(x.Context(), id)
		if err != nil {
			return taskFailure(id, err)
		}
		if now.Status != awaken.RunCreated { // it may have entries before the end
			return x.subscribe(id)
		}
		t, err := x.task(run, false, nil)
		if err != nil {
			return err
		}
		s.Opening, s.Through = opening(x.rpc, t), awaken.Cursor{}
		s.After = protocol.AfterAll(end)
		return x.stream(s, Options{})
	}
	if t, err := x.taskAt(run, end, nil); err != nil {
		return err
	} else if !t.Status.State.Interrupted() || x.answered(run) {
		s.Opening, s.After = opening(x.rpc, t), protocol.AfterAll(end)
		return x.stream(s, Options{})
	}
	// It waits for its client, so the stream ends with the task.
	opts := Options{Snapshot: end}
	if opts.History, err = x.history(run, nil); err != nil {
		return err
	}
	return x.stream(s, opts)
}
