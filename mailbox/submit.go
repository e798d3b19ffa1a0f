package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Mode is what new input does to a thread that is not idle.
type Mode string

const (
	// ModeQueue waits until the thread is free. A run that waits for people goes on with it.
	ModeQueue Mode = "queue"
	// ModeSteer gives the input to the run that is going on, or else does as ModeQueue.
	ModeSteer Mode = "live_then_queue"
	// ModeInterrupt ends the run that is going on and everything that is queued.
	ModeInterrupt Mode = "interrupt_then_queue"
	// ModeResume gives the input to the thread's open run, running or waiting, or else
	// does as ModeQueue.
	ModeResume Mode = "resume_open_run"
)

// ParseMode reads a mode. "" is ModeQueue and "steer" is ModeSteer.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return ModeQueue, nil
	case "steer":
		return ModeSteer, nil
	case ModeQueue, ModeSteer, ModeInterrupt, ModeResume:
		return m, nil
	}
	return "", fmt.Errorf("%w: mode is %q, want queue, live_then_queue (or steer), interrupt_then_queue or resume_open_run", awaken.ErrInvalid, s)
}

// Submission is input for a thread.
type Submission struct {
	// Request is what to run. Its ids may be empty. Its decisions go to the thread's
	// open run, and its messages with them.
	Request awaken.RunRequest
	Mode    Mode // "" is ModeQueue
	// Boundary is when a run that is going on takes the messages in.
	Boundary awaken.Boundary

	// Anew ends the run that waits, too, if the mode is ModeInterrupt. Otherwise that run
	// goes on with the input.
	Anew bool

	Priority *int          // nil is DefaultPriority
	Delay    time.Duration // do not start before
	// DedupeKey makes submitting again do nothing while the thread has a live dispatch with
	// this key, unless that one is being cancelled: it returns that dispatch's receipt.
	DedupeKey string
	// IdempotencyKey makes submitting again do nothing: it returns what the first did.
	// Digest stands for what was submitted; with another digest the key is refused.
	IdempotencyKey string
	Digest         string
}

// Receipt says what becomes of a submission.
type Receipt struct {
	ThreadID   string
	RunID      string
	DispatchID string        // "" if a run that is going on takes it
	After      awaken.Cursor // where the thread's log ended: what comes of it comes after
	Busy       bool          // something else has to end first
	Duplicate  bool          // it was submitted before
}

// Submit accepts input. When it returns, the input is stored, and will be worked on.
func (t *Tenant) Submit(ctx context.Context, s Submission) (*Receipt, error) {
	start := time.Now()
	r, err := t.submit(ctx, &s)
	t.box.cfg.Observer.Operated("submit", time.Since(start), err)
	return r, err
}

func (t *Tenant) submit(ctx context.Context, s *Submission) (*Receipt, error) {
	if len(s.Request.Messages) > 0 {
		if err := awaken.CheckInput(s.Request.Messages); err != nil {
			return nil, err
		}
	}
	d, err := t.dispatch(s)
	if err != nil {
		return nil, err
	}
	if s.IdempotencyKey != "" {
		if r, err := t.submitted(ctx, s); r != nil || err != nil {
			return r, err
		}
	}
	if id := s.Request.RunID; id != "" {
		switch old, err := t.Store.LoadRun(ctx, id); {
		case err == nil && old.ThreadID != d.ThreadID:
			return nil, fmt.Errorf("run %s: %w: another thread has it", id, awaken.ErrConflict)
		case err != nil && !errors.Is(err, awaken.ErrNotFound):
			return nil, err
		}
	}
	isNew := s.Request.ThreadID == ""
	if len(s.Request.Decisions) == 0 && (isNew || s.Mode == ModeQueue || s.Mode == "") {
		left, err := t.Store.Enqueue(ctx, d)
		if err != nil {
			return nil, err
		}
		if len(left) == 0 {
			poke(t.box.poked)
			return &Receipt{ThreadID: d.ThreadID, RunID: d.RunID, DispatchID: d.ID, Busy: !isNew}, nil
		}
		if d, err = t.dispatch(s); err != nil { // Enqueue may have filled it in
			return nil, err
		}
	}
	r, err := t.change(ctx, s, d)
	if errors.Is(err, ErrDuplicate) && s.IdempotencyKey != "" {
		if r, err := t.submitted(ctx, s); r != nil || err != nil {
			return r, err
		}
	}
	return r, err
}

// dispatch makes the dispatch of a submission. The ids that it chooses are the
// submission's from then on.
func (t *Tenant) dispatch(s *Submission) (*Dispatch, error) {
	q := &s.Request
	newID := t.box.cfg.NewID
	if q.Continue != "" || q.End != nil || q.Confirm != nil {
		return nil, fmt.Errorf("%w: a submission starts a run or goes to the open one", awaken.ErrInvalid)
	}
	t.identify(q.Messages)
	d := t.spare()
	d.AvailableAt, d.DedupeKey, d.IdempotencyKey, d.Digest = s.Delay.Milliseconds(), s.DedupeKey, s.IdempotencyKey, s.Digest
	if d.ThreadID = q.ThreadID; d.ThreadID == "" {
		d.ThreadID = newID()
	}
	if d.RunID = q.RunID; d.RunID == "" {
		d.RunID = newID()
	}
	if s.Priority != nil {
		if d.Priority = *s.Priority; d.Priority < 0 || d.Priority > 255 {
			return nil, fmt.Errorf("%w: priority is %d, want 0 to 255", awaken.ErrInvalid, d.Priority)
		}
	}
	req := *q
	req.ThreadID, req.RunID, req.DispatchID, req.Decisions = d.ThreadID, d.RunID, d.ID, nil
	d.Request = &req
	return d, nil
}

// identify gives messages without an id one. They are copied, not changed.
func (t *Tenant) identify(msgs []*llm.Message) {
	for i, m := range msgs {
		if m.ID == "" {
			c := *m
			c.ID = t.box.cfg.NewID()
			msgs[i] = &c
		}
	}
}

// submitted returns the receipt of what was submitted with the same key.
func (t *Tenant) submitted(ctx context.Context, s *Submission) (*Receipt, error) {
	old, err := t.Store.Submitted(ctx, s.IdempotencyKey)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case old.Digest != s.Digest:
		return nil, fmt.Errorf("idempotency key %q: %w: it was used for another request", s.IdempotencyKey, awaken.ErrConflict)
	}
	return old.again(), nil
}

// again is the receipt of what was submitted before.
func (d *Dispatch) again() *Receipt {
	return &Receipt{ThreadID: d.ThreadID, RunID: d.RunID, DispatchID: d.ID, Duplicate: true}
}

// change submits by the rules of the thread.
func (t *Tenant) change(ctx context.Context, s *Submission, d *Dispatch) (*Receipt, error) {
	decided, err := t.decisions(ctx, d.ThreadID, s.Request.Decisions)
	if err != nil {
		return nil, err
	}
	if len(s.Request.Decisions) > 0 && len(decided) == 0 && len(s.Request.Messages) == 0 {
		return t.alreadyDecided(ctx, d.ThreadID)
	}
	var r *Receipt
	err = t.changed(ctx, d.ThreadID, func(q *Thread) error {
		if o := q.keyed(s.DedupeKey); o != nil {
			r = o.again()
			return nil
		}
		sub := submission{dispatch: edit(d), interrupt: s.Mode == ModeInterrupt && len(decided) == 0, live: s.Mode == ModeSteer || s.Mode == ModeResume || len(decided) > 0}
		if s.Anew && sub.interrupt {
			sub.spare = t.spare()
		}
		agent, user := s.Request.AgentID, s.Request.UserID
		if q.Open != nil && sub.spare == nil && s.Request.Rewind == "" && (agent == "" || agent == q.Open.AgentID || awaken.IsVariant(q.Open.AgentID, agent)) &&
			(user == "" || user == q.Open.UserID || len(decided) > 0) { // what one user says is not taken for another's
			sub.items = decided
			if len(s.Request.Messages) > 0 {
				sub.items = append(sub.items[:len(sub.items):len(sub.items)], awaken.InboxItem{ID: "input:" + d.ID, Messages: s.Request.Messages, Boundary: s.Boundary,
					Supersede: len(decided) == 0 && hasUser(s.Request.Messages)})
			}
		}
		if len(decided) > 0 {
			if q.Open == nil {
				return ErrNothing
			}
			sub.runID, sub.dispatch.Request = decided[0].RunID, nil
		}
		busy := len(q.Live) > 0
		got, err := q.submit(&sub)
		if err != nil {
			return err
		}
		r = &Receipt{ThreadID: q.ID, After: q.End, Busy: busy}
		if got != nil {
			r.RunID, r.DispatchID = got.RunID, got.ID
		} else {
			r.RunID = q.Open.RunID
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("submit to thread %s: %w", d.ThreadID, err)
	}
	return r, nil
}

// alreadyDecided is the receipt of decisions that were all taken before.
func (t *Tenant) alreadyDecided(ctx context.Context, threadID string) (*Receipt, error) {
	th, err := t.Store.Thread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	return &Receipt{ThreadID: threadID, RunID: cmp.Or(th.OpenRunID, th.LatestRunID), After: th.End, Duplicate: true}, nil
}

// decisions checks decisions on the thread's open run, and returns what is to be posted.
func (t *Tenant) decisions(ctx context.Context, threadID string, ds []awaken.Decision) ([]awaken.InboxItem, error) {
	if len(ds) == 0 {
		return nil, nil
	}
	id, err := t.decidable(ctx, threadID)
	if err != nil {
		return nil, err
	}
	_, items, err := t.Runtime.CheckDecisions(ctx, id, ds...)
	return items, err
}

// decidable returns the run that decisions for a thread are for: the open one, or else the
// latest, to say that it is decided.
func (t *Tenant) decidable(ctx context.Context, threadID string) (runID string, err error) {
	th, err := t.Store.Thread(ctx, threadID)
	if err != nil {
		return "", err
	}
	if runID = cmp.Or(th.OpenRunID, th.LatestRunID); runID == "" {
		return "", fmt.Errorf("thread %s: %w", threadID, ErrNothing)
	}
	return runID, nil
}

func hasUser(msgs []*llm.Message) bool {
	return slices.ContainsFunc(msgs, func(m *llm.Message) bool { return m.Role == llm.User && !m.IsInternal() })
}
