package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/llm"
)

// Mode says what new input does to a thread that is not idle.
type Mode string

const (
	// ModeQueue queues the input until the thread is free. A waiting run takes it and resumes.
	ModeQueue Mode = "queue"
	// ModeSteer passes the input to the run in progress. Without one it does the same as
	// ModeQueue.
	ModeSteer Mode = "live_then_queue"
	// ModeInterrupt ends the run in progress and everything that is queued, and then does the
	// same as ModeQueue.
	ModeInterrupt Mode = "interrupt_then_queue"
	// ModeResume passes the input to the thread's open run, running or waiting. It has the
	// same effect as ModeSteer, unless the request names a run that exists: then only that run
	// takes the input, and if it is not open, the error is ErrExists.
	ModeResume Mode = "resume_open_run"
)

// ParseMode parses a mode. "" means ModeQueue and "steer" means ModeSteer.
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
	// Request is the run to start. Submit chooses the ids that are empty. A run that exists is not
	// started again: unless it is open and takes the input, the error is ErrExists. Its
	// decisions go to the thread's open run, and its messages with them. Continue and End must not be
	// set.
	Request awaken.RunRequest
	Mode    Mode // what the input does to a thread that is not idle; "" is ModeQueue
	// Boundary says when a run in progress reads the messages. The default is
	// awaken.NextStep.
	Boundary awaken.InboxPoint

	// Confined refuses a thread that exists and does not belong to the request's user, or to
	// no user if the request has none: Submit fails with awaken.ErrNotFound and changes nothing.
	Confined bool

	// Resent says that the decisions may include earlier ones, such as those of a page that sends its
	// whole history: one that contradicts what was decided is ignored unless nothing else is
	// left. Otherwise it is an error, an *awaken.Decided.
	Resent bool

	// Logged says that the messages are records of another thread's log: they may call tools and answer
	// calls, which those of clients must not. Such a submission only starts a run, on an idle thread;
	// otherwise the error is awaken.ErrBusy.
	Logged bool

	// Anew makes ModeInterrupt also end a waiting run. Otherwise that run resumes with the
	// input.
	Anew bool

	Priority *int          // 0 to 255, 0 first; nil is DefaultPriority
	Delay    time.Duration // how long the run waits before it may start
	// DedupeKey makes Submit return the receipt of the thread's live dispatch with the same
	// key, if there is one that is not being cancelled, and change nothing.
	DedupeKey string
	// IdempotencyKey makes Submit return the receipt of the first submission with the same
	// key, and change nothing. Digest identifies the content: the same key with another
	// digest is awaken.ErrConflict.
	IdempotencyKey string
	Digest         string
	// Said identifies the client's message that the submission carries, which the thread accepts once.
	Said Said

	exists  bool   // the run of the request exists
	release string // the dispatch whose message the submission replaces
	retries string // the dead letter whose message the submission takes over
}

// Receipt says which run takes a submission.
type Receipt struct {
	ThreadID   string
	RunID      string
	DispatchID string        // "" if a run in progress takes the input
	After      awaken.Cursor // the end of the thread's log; all events of the submission come after it
	Busy       bool          // another run may have to end first
	// New says that the run is new, and that After is where the stored log ended when it was
	// accepted.
	New       bool
	Duplicate bool // the same submission was accepted before
	// Contradicted reports that decisions were ignored; see [Submission.Resent].
	Contradicted bool
	// Decided holds the records that the decisions made. Those of decisions that repeat an
	// accepted one are left out.
	Decided []*awaken.Decided
}

// Submit stores input for a thread, together with the dispatch and the record of the run that
// will process it. Once Submit returns, the run will end or wait even if the process dies.
func (t *Tenant) Submit(ctx context.Context, s Submission) (*Receipt, error) {
	start := time.Now()
	r, err := t.submit(ctx, &s)
	t.box.cfg.Observer.Operated("submit", time.Since(start), err)
	return r, err
}

func (t *Tenant) submit(ctx context.Context, s *Submission) (*Receipt, error) {
	if len(s.Request.Messages) > 0 && !s.Logged {
		if err := awaken.CheckInput(s.Request.Messages); err != nil {
			return nil, err
		}
	}
	if err := s.Request.Validate(); err != nil {
		return nil, err
	}
	if s.Request.Trace == "" {
		s.Request.Trace = tracecontext.Of(ctx).String()
	}
	d, err := t.dispatch(s)
	if err != nil {
		return nil, err
	}
	if len(s.Request.Decisions) > 0 && !s.Logged {
		if r, err := t.submitted(ctx, s); r != nil || err != nil {
			return r, err
		}
	} else {
		// On an idle thread, every mode does the same.
		terms := Terms{Idle: s.Logged || s.Mode != ModeQueue && s.Mode != "", Confined: s.Confined}
		left, err := t.enqueue(ctx, terms, d)
		if err != nil {
			return nil, err
		}
		if len(left) == 0 {
			return &Receipt{ThreadID: d.ThreadID, RunID: d.RunID, DispatchID: d.ID, After: d.End, New: true, Busy: !terms.Idle && s.Request.ThreadID != ""}, nil
		}
		if r, err := t.submitted(ctx, s); r != nil || err != nil { // Enqueue queues nothing under a key that is in use
			return r, err
		}
		if s.Logged {
			return nil, fmt.Errorf("thread %s: %w", d.ThreadID, awaken.ErrBusy)
		}
		if d, err = t.dispatch(s); err != nil { // Enqueue may have filled it in
			return nil, err
		}
	}
	if s.exists, err = t.exists(ctx, s.Request.RunID, d.ThreadID); err != nil {
		return nil, err
	}
	for range maxSaid {
		var r *Receipt
		if r, err = t.decideAndChange(ctx, s, d); !errors.Is(err, ErrDuplicate) {
			return r, err
		}
		if r, err := t.submitted(ctx, s); r != nil || err != nil {
			return r, err
		}
		if _, err := t.exists(ctx, s.Request.RunID, d.ThreadID); err != nil {
			return nil, err
		}
		if s.Said.MessageID == "" {
			break
		}
		if r, err := (saying{&s.Said, t.Store, d.ThreadID}).settle(ctx, s); r != nil || err != nil {
			return r, err
		}
		next, invalid := t.dispatch(s)
		if invalid != nil {
			return nil, invalid
		}
		d = next
	}
	return nil, err
}

// maxSaid is how often a submission tries to replace a message that others may replace at the same time.
const maxSaid = 10

// decideAndChange submits by the rules of [Thread]. If decisions may be earlier ones, it leaves out the ones that
// contradict what was decided.
func (t *Tenant) decideAndChange(ctx context.Context, s *Submission, d *Dispatch) (*Receipt, error) {
	r, err := t.change(ctx, s, d)
	for rec, ok := errors.AsType[*awaken.Decided](err); ok && s.Resent; rec, ok = errors.AsType[*awaken.Decided](err) {
		left := slices.DeleteFunc(slices.Clone(s.Request.Decisions), func(d awaken.Decision) bool {
			return d.Target == rec.TicketID || d.Target == rec.ToolCallID || strings.HasSuffix(":"+d.Target, ":"+rec.RunID+":"+rec.TicketID)
		})
		if len(left) == len(s.Request.Decisions) || len(left)+len(s.Request.Messages) == 0 {
			break
		}
		s.Request.Decisions = left
		if r, err = t.change(ctx, s, d); err == nil {
			r.Contradicted = true
		}
	}
	return r, err
}

// exists reports whether the run that a client has named exists. One on another thread is an error.
func (t *Tenant) exists(ctx context.Context, runID, threadID string) (bool, error) {
	if runID == "" {
		return false, nil
	}
	run, err := t.Store.LoadRun(ctx, runID)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return false, nil
	case err == nil && run.ThreadID != threadID:
		err = fmt.Errorf("run %s: %w: it belongs to another thread", runID, awaken.ErrConflict)
	}
	return err == nil, err
}

// dispatch returns the dispatch of a submission. Message ids that it chooses are kept in the
// submission.
func (t *Tenant) dispatch(s *Submission) (*Dispatch, error) {
	q := &s.Request
	newID := t.box.cfg.NewID
	if q.Continue != "" || q.End != nil {
		return nil, fmt.Errorf("%w: a submission cannot set Continue or End", awaken.ErrInvalid)
	}
	q.Messages = t.identified(q.Messages)
	d := t.newDispatch()
	d.AvailableAt, d.DedupeKey, d.IdempotencyKey, d.Digest = s.Delay.Milliseconds(), s.DedupeKey, s.IdempotencyKey, s.Digest
	d.MessageID, d.Said = s.Said.MessageID, s.Said.digest()
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
	req.ThreadID, req.RunID, req.DispatchID, req.Decisions, req.Attended = d.ThreadID, d.RunID, d.ID, nil, false
	d.Request = &req
	return d, nil
}

// enqueue queues a dispatch, or begins it at once in this process if it need not wait for its turn.
func (t *Tenant) enqueue(ctx context.Context, terms Terms, d *Dispatch) (left []int, err error) {
	atAccepting.Hit()
	var s *slot
	if d.AvailableAt <= 0 {
		s = t.box.reserve(t.name)
	}
	if s == nil {
		if left, err = t.Store.Enqueue(ctx, terms, d); err == nil && len(left) == 0 {
			t.box.changed()
		}
		return left, err
	}
	if ctx.Err() != nil {
		s.fill(nil)
		return nil, context.Cause(ctx)
	}
	if stored, err := s.open(ctx, t, terms, d); stored != nil || err != nil {
		if stored != nil {
			*d = *stored
		}
		return nil, err
	}
	terms.Start = s.claim()
	call, cancel := patient(ctx)
	defer cancel()
	left, err = t.Store.Enqueue(call, terms, d)
	atAccepted.Hit()
	switch {
	case fault.OutageOf(err) != nil || call.Err() != nil:
		go s.seek(t, d.ID) // the store may have accepted it all the same
	case err != nil || len(left) > 0:
		s.fill(nil)
	case d.Status == Claimed:
		s.fill(clone(d))
	default:
		s.fill(nil)
		t.box.changed()
	}
	return left, err
}

// identified returns msgs with an id for each. It copies what it changes: the caller, such as a run
// whose state holds the request of a background task, may still read its own.
func (t *Tenant) identified(msgs []*llm.Message) []*llm.Message {
	copied := false
	for i, m := range msgs {
		if m.ID != "" {
			continue
		}
		if !copied {
			msgs, copied = slices.Clone(msgs), true
		}
		own := *m
		own.ID = t.box.cfg.NewID()
		msgs[i] = &own
	}
	return msgs
}

// submitted returns the receipt of the submission with the same idempotency key, or nil if there is none
// or s has no key.
func (t *Tenant) submitted(ctx context.Context, s *Submission) (*Receipt, error) {
	if s.IdempotencyKey == "" {
		return nil, nil
	}
	old, err := t.Store.Submitted(ctx, s.IdempotencyKey)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case old.Digest != s.Digest:
		return nil, fmt.Errorf("idempotency key %q: %w: it was used for another request", s.IdempotencyKey, awaken.ErrConflict)
	}
	return old.duplicate(), nil
}

// duplicate is the receipt of input that d already stands for.
func (d *Dispatch) duplicate() *Receipt {
	return &Receipt{ThreadID: d.ThreadID, RunID: d.RunID, DispatchID: d.ID, Duplicate: true}
}

// change submits by the rules of [Thread].
func (t *Tenant) change(ctx context.Context, s *Submission, d *Dispatch) (*Receipt, error) {
	decided, err := t.decisions(ctx, d.ThreadID, s.Request.Decisions)
	if err != nil {
		return nil, err
	}
	settles, _ := partSettlements(decided)
	if len(settles) > 0 {
		return nil, fmt.Errorf("%w: decision on %q settles a call that is over; want it by itself, not with a submission",
			awaken.ErrInvalid, settles[0].Decided.ToolCallID)
	}
	if len(s.Request.Decisions) > 0 && len(decided) == 0 && len(s.Request.Messages) == 0 {
		return t.alreadyDecided(ctx, d.ThreadID)
	}
	var r *Receipt
	err = t.changed(ctx, d.ThreadID, func(q *Thread) error {
		if s.Confined && q.Exists && q.UserID != s.Request.UserID {
			return awaken.ErrNotFound
		}
		q.Release = s.release
		if o := q.byDedupeKey(s.DedupeKey); o != nil {
			r = o.duplicate()
			return nil
		}
		sub := submission{dispatch: clone(d), exists: s.exists, interrupt: s.Mode == ModeInterrupt && len(decided) == 0, live: s.Mode == ModeSteer || s.Mode == ModeResume || len(decided) > 0}
		if s.Anew && sub.interrupt {
			sub.spare = t.newDispatch()
		}
		agent, user := s.Request.AgentID, s.Request.UserID
		if q.Open != nil && sub.spare == nil && s.Request.Rewind == "" && (agent == "" || agent == q.Open.AgentID || awaken.IsVariant(q.Open.AgentID, agent)) &&
			(user == "" || user == q.Open.UserID || len(decided) > 0) { // one user's message never goes to another user's run
			sub.items = decided
			if len(s.Request.Messages) > 0 {
				sub.items = append(slices.Clip(sub.items), awaken.InboxItem{
					ID:        "input:" + d.ID,
					Messages:  s.Request.Messages,
					Untrusted: s.Request.Untrusted,
					Taint:     s.Request.Taint,
					Boundary:  s.Boundary,
					Supersede: len(decided) == 0 && hasUser(s.Request.Messages),
				})
			}
		}
		if len(decided) > 0 {
			if q.Open == nil {
				return ErrIdle
			}
			sub.runID, sub.dispatch.Request = decided[0].RunID, nil
		} else if s.exists && s.Mode == ModeResume {
			sub.runID = s.Request.RunID
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
	if err != nil && len(decided) > 0 {
		var repeated bool
		if repeated, err = t.overtaken(ctx, decided[0].RunID, s.Request.Decisions, err); repeated && len(s.Request.Messages) == 0 {
			return t.alreadyDecided(ctx, d.ThreadID)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("submit to thread %s: %w", d.ThreadID, err)
	}
	atChanged.Hit()
	if !r.Duplicate {
		r.Decided = t.made(ctx, decided)
	}
	return r, nil
}

// alreadyDecided returns the receipt of decisions that were all delivered before.
func (t *Tenant) alreadyDecided(ctx context.Context, threadID string) (*Receipt, error) {
	th, err := t.Store.Thread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	return &Receipt{ThreadID: threadID, RunID: cmp.Or(th.OpenRunID, th.LatestRunID), After: th.End, Duplicate: true}, nil
}

// decisions checks decisions for the thread's open run and returns the inbox items that
// deliver them.
func (t *Tenant) decisions(ctx context.Context, threadID string, ds []awaken.Decision) ([]awaken.InboxItem, error) {
	if len(ds) == 0 {
		return nil, nil
	}
	id, err := t.decidable(ctx, threadID)
	if err != nil {
		return nil, err
	}
	return t.check(ctx, id, ds)
}

// decidable returns the run that decisions for a thread are about: the open one, or else the
// latest, so that a repeated decision is recognised.
func (t *Tenant) decidable(ctx context.Context, threadID string) (runID string, err error) {
	th, err := t.Store.Thread(ctx, threadID)
	if err != nil {
		return "", err
	}
	if runID = cmp.Or(th.OpenRunID, th.LatestRunID); runID == "" {
		return "", fmt.Errorf("thread %s: %w", threadID, ErrIdle)
	}
	return runID, nil
}

func hasUser(msgs []*llm.Message) bool {
	return slices.ContainsFunc(msgs, func(m *llm.Message) bool { return m.Role == llm.User && !m.IsInternal() })
}
