package mailbox

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Pending is input that no run has read yet: the input of a run that has not started, or
// messages for the run in progress.
type Pending struct {
	ID        string           `json:"pending_id"`
	ThreadID  string           `json:"thread_id"`
	RunID     string           `json:"run_id,omitempty"` // the only run that may read it; "" means any
	Position  int              `json:"position"`         // from 1
	Messages  []*llm.Message   `json:"messages"`
	Revision  int              `json:"revision"`             // counts the edits
	Boundary  string           `json:"boundary"`             // when it is read: new_run, next_step or on_natural_end
	Editable  bool             `json:"editable"`             // it can be edited, retracted and reordered
	CreatedAt int64            `json:"created_at,omitempty"` // Unix ms; 0 if unknown
	UpdatedAt int64            `json:"updated_at,omitempty"`
	Decision  *awaken.Decision `json:"decision,omitempty"` // for a suspended call of the run, instead of messages
}

// PendingList is the pending input of a thread.
type PendingList struct {
	Items    []Pending `json:"items"`
	Revision string    `json:"revision"` // changes with the editable items and their order
}

// Pending returns the pending input of a thread, in the order in which it will be read. A
// thread that does not exist has none.
func (t *Tenant) Pending(ctx context.Context, threadID string) (*PendingList, error) {
	items, err := t.Store.Unread(ctx, threadID)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return nil, err
	}
	list := &PendingList{Items: []Pending{}}
	for _, it := range items {
		if it.Compaction != nil {
			continue // internal to the runtime
		}
		p := Pending{ID: it.ID, ThreadID: threadID, RunID: it.RunID, Messages: it.Messages, Decision: it.Decision, Boundary: "next_step"}
		if it.Boundary == awaken.OnNaturalEnd {
			p.Boundary = string(it.Boundary)
		}
		list.Items = append(list.Items, p)
	}
	ds, err := t.Store.Dispatches(ctx, Query{ThreadID: threadID, Statuses: []Status{Queued}, Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, d := range ds {
		if d.Request != nil && !d.Cancel {
			list.Items = append(list.Items, Pending{ID: d.ID, ThreadID: threadID, RunID: d.RunID, Messages: d.Request.Messages, Revision: d.Revision,
				Boundary: "new_run", Editable: true, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt})
		}
	}
	for i := range list.Items {
		list.Items[i].Position = i + 1
		if list.Items[i].Messages == nil { // a decision has none
			list.Items[i].Messages = []*llm.Message{}
		}
	}
	list.Revision = revision(ds)
	return list, nil
}

// revision identifies the queued input and its order.
func revision(ds []*Dispatch) string {
	h := fnv.New64a()
	place := 0
	for _, d := range ds {
		if d.Cancel {
			continue
		}
		if d.Status == Queued && d.Request != nil {
			fmt.Fprintf(h, "%s\x00%d\x00%d\x00", d.ID, place, d.Revision)
		}
		place++
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// editable returns a copy of queued input, if its revision is as expected and no run has started
// to read it.
func (t *Thread) editable(id string, revision int) (*Dispatch, error) {
	for _, d := range t.Live {
		switch {
		case d.ID != id || t.over(d):
			continue
		case d.Status != Queued || d.Request == nil || t.started(d):
			return nil, fmt.Errorf("pending input %s: %w: a run is reading it", id, awaken.ErrConflict)
		case d.Revision != revision:
			return nil, fmt.Errorf("pending input %s: %w: revision is %d, want %d", id, awaken.ErrConflict, d.Revision, revision)
		}
		return clone(d), nil
	}
	return nil, fmt.Errorf("pending input %s: %w", id, awaken.ErrNotFound)
}

// EditPending replaces the messages of queued input. The error is awaken.ErrConflict if its
// revision is not revision or if a run has begun to read it, and awaken.ErrNotFound if there is
// no such input.
func (t *Tenant) EditPending(ctx context.Context, threadID, id string, revision int, msgs []*llm.Message) error {
	if err := awaken.CheckInput(msgs); err != nil {
		return err
	}
	msgs = t.identified(msgs)
	return t.changed(ctx, threadID, func(q *Thread) error {
		d, err := q.editable(id, revision)
		if err != nil {
			return err
		}
		req := *d.Request
		req.Messages = msgs
		d.Request = &req
		d.Revision++
		q.put(d)
		return nil
	})
}

// RetractPending withdraws queued input; its run ends as cancelled. The errors are those of
// [Tenant.EditPending].
func (t *Tenant) RetractPending(ctx context.Context, threadID, id string, revision int) error {
	return t.changed(ctx, threadID, func(q *Thread) error {
		d, err := q.editable(id, revision)
		if err != nil {
			return err
		}
		req := *d.Request
		req.Messages = nil // the client took them back
		d.Request = &req
		q.end(d, Cancelled, "retracted")
		return nil
	})
}

// ReorderPending changes the order of a thread's queued input. Order lists the ids of all
// editable items. The error is awaken.ErrConflict if rev is not the revision of the PendingList.
func (t *Tenant) ReorderPending(ctx context.Context, threadID, rev string, order []string) error {
	return t.changed(ctx, threadID, func(q *Thread) error {
		queued := slices.DeleteFunc(slices.Clone(q.Live), func(d *Dispatch) bool { return d.Status != Queued })
		if have := revision(queued); have != rev {
			return fmt.Errorf("pending input of thread %s: %w: revision is %s, want %s", threadID, awaken.ErrConflict, have, rev)
		}
		queued = slices.DeleteFunc(queued, func(d *Dispatch) bool { return d.Request == nil || d.Cancel })
		if len(order) != len(queued) {
			return fmt.Errorf("%w: the order names %d pending inputs, want all %d", awaken.ErrInvalid, len(order), len(queued))
		}
		for i, id := range order {
			at := slices.IndexFunc(queued, func(d *Dispatch) bool { return d.ID == id })
			if at < 0 || slices.Contains(order[:i], id) {
				return fmt.Errorf("%w: pending input %q does not exist or is named twice", awaken.ErrInvalid, id)
			}
			// It takes the priority of the input that was in its place.
			d, place := clone(queued[at]), queued[i]
			d.Priority, d.CreatedAt = place.Priority, q.Now+int64(i)
			d.Revision++
			q.put(d)
		}
		return nil
	})
}

// DeadLetters lists the dispatches that exhausted their attempts or cannot succeed, newest first.
func (t *Tenant) DeadLetters(ctx context.Context, offset, limit int) ([]*Dispatch, error) {
	return t.Store.Dispatches(ctx, Query{Statuses: []Status{DeadLetter}, Offset: offset, Limit: limit})
}

// RetryDeadLetter submits the request of a dead letter again, as a new run, and removes the
// dead letter.
func (t *Tenant) RetryDeadLetter(ctx context.Context, id string) (*Receipt, error) {
	d, err := t.deadLetter(ctx, id)
	if err != nil {
		return nil, err
	}
	if d.Request == nil {
		return nil, fmt.Errorf("dispatch %s: %w: it resumed run %s, which has ended", id, awaken.ErrConflict, d.RunID)
	}
	req := *d.Request
	req.RunID, req.DispatchID = "", ""
	if run, err := t.Store.LoadRun(ctx, d.RunID); err == nil && run.Activated {
		req.Messages = nil // the conversation has them
	}
	// With the key, two clients that retry at once start one run.
	r, err := t.Submit(ctx, Submission{Request: req, Priority: &d.Priority, IdempotencyKey: "retry:" + id, Said: d.said(), retries: d.ID})
	if err != nil {
		return nil, err
	}
	return r, t.DropDeadLetter(ctx, id)
}

// deadLetter returns a dead letter by its id.
func (t *Tenant) deadLetter(ctx context.Context, id string) (*Dispatch, error) {
	d, err := t.Store.Dispatch(ctx, id)
	if err == nil && d.Status != DeadLetter {
		err = fmt.Errorf("dispatch %s: %w: it is %s, not a dead letter", id, awaken.ErrConflict, d.Status)
	}
	return d, err
}

// DropDeadLetter removes a dead letter.
func (t *Tenant) DropDeadLetter(ctx context.Context, id string) error {
	d, err := t.deadLetter(ctx, id)
	if err != nil {
		return err
	}
	_, err = t.Store.PurgeDispatches(ctx, Query{RunID: d.RunID, Statuses: []Status{DeadLetter}})
	return err
}

// PurgeDeadLetters removes all dead letters and returns how many there were.
func (t *Tenant) PurgeDeadLetters(ctx context.Context) (int, error) {
	return t.Store.PurgeDispatches(ctx, Query{Statuses: []Status{DeadLetter}})
}
