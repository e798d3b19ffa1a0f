package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// dispatches implements [mailbox.Store], the queue of one tenant.
type dispatches struct {
	*records
	lines *lines
	// processes holds until when each process may be silent.
	processes map[string]int64
	now       func() time.Time
	byID      map[string]*mailbox.Dispatch
	byKey     map[string]*mailbox.Dispatch // idempotency key
	accepted  map[messageKey]*mailbox.Dispatch
}

// messageKey is a client's message on a thread.
type messageKey struct{ thread, message string }

// Recent returns a thread with its open or latest run and its last messages.
func (s *dispatches) Recent(_ context.Context, threadID string, messages int) (*mailbox.Recent, error) {
	return ofThread(s.records, threadID, func(t *thread) *mailbox.Recent {
		out := &mailbox.Recent{Thread: t.Export()}
		if t.run != nil {
			run := t.run.Run.Run
			out.Run = &run
		}
		if messages > 0 {
			out.Messages = t.Records(threadID)(threads.Bounds(awaken.MessageQuery{Limit: messages, Last: true}, t.MessageCount))
		}
		return out
	})
}

// Change calls fn with a thread's queue and applies what fn recorded. Fn must not use the
// DB.
func (s *dispatches) Change(_ context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &mailbox.Thread{ID: threadID, Now: s.now().UnixMilli()}
	t := s.threads[threadID]
	if t != nil {
		c.Exists, c.UserID, c.Epoch, c.End = true, t.UserID, t.epoch, awaken.Cursor{Epoch: t.Fence, Seq: t.Seq}
		if t.OpenRunID != "" {
			open := t.run.Run.Run
			c.Open = &open
		}
		for _, d := range t.live {
			c.Live = append(c.Live, export(d))
		}
	}
	if err := fn(c); err != nil {
		return err
	}
	if err := s.decided.Check(c.Post); err != nil {
		return err
	}
	if err := s.check(t, c); err != nil {
		return fmt.Errorf("change thread %s: %w", threadID, err)
	}
	if c.Create {
		t = s.open(threadID, c.UserID, c.Now)
	}
	if t == nil {
		return nil // fn recorded nothing
	}
	if c.RaiseEpoch {
		t.epoch++
	}
	if c.Interrupt {
		t.Generation++
	}
	s.decide(c.Post)
	t.Post(c.Post)
	for _, r := range c.Runs {
		s.record(r)
	}
	if d := s.byID[c.Release]; d != nil && d.ThreadID == c.ID {
		delete(s.accepted, messageKey{d.ThreadID, d.MessageID})
		d.MessageID, d.Said = "", ""
	}
	for _, d := range c.Put {
		s.put(t, d)
	}
	s.lines.place(t, c.Now)
	signal := mailbox.Signal{Ready: t.head != nil, Cancelled: slices.ContainsFunc(c.Put, func(d *mailbox.Dispatch) bool { return d.Status == mailbox.Claimed && d.Cancel })}
	if signal != (mailbox.Signal{}) {
		s.lines.notify(signal)
	}
	return nil
}

// check returns why what fn recorded must be refused. The thread is nil if it does not
// exist.
func (s *dispatches) check(t *thread, c *mailbox.Thread) error {
	if t == nil && !c.Create && (len(c.Put) > 0 || len(c.Runs) > 0 || len(c.Post) > 0 || c.Interrupt || c.RaiseEpoch) {
		return awaken.ErrNotFound
	}
	keys, messages := map[string]string{}, map[string]string{}
	for _, d := range c.Put {
		if s.byID[d.ID] == nil && d.MessageID != "" {
			if old := s.accepted[messageKey{c.ID, d.MessageID}]; old != nil && old.ID != c.Release {
				return fmt.Errorf("message %s: %w: dispatch %s has it", d.MessageID, mailbox.ErrDuplicate, old.ID)
			}
			if other := messages[d.MessageID]; other != "" && other != d.ID {
				return fmt.Errorf("message %s: %w: dispatch %s has it", d.MessageID, mailbox.ErrDuplicate, other)
			}
			messages[d.MessageID] = d.ID
		}
		if old := s.byID[d.ID]; old != nil && old.ThreadID != c.ID {
			return fmt.Errorf("dispatch %s: %w: thread %s has a dispatch with this id", d.ID, mailbox.ErrDuplicate, old.ThreadID)
		}
		if r := s.runs[d.RunID]; r != nil && r.ThreadID != c.ID && s.byID[d.ID] == nil && d.Request != nil {
			return fmt.Errorf("run %s: %w: thread %s has it", d.RunID, mailbox.ErrDuplicate, r.ThreadID)
		}
		key := d.IdempotencyKey
		if key == "" {
			continue
		}
		if old := s.byKey[key]; old != nil && old.ID != d.ID {
			return fmt.Errorf("idempotency key %q: %w: dispatch %s has it", key, mailbox.ErrDuplicate, old.ID)
		}
		if other := keys[key]; other != "" && other != d.ID {
			return fmt.Errorf("idempotency key %q: %w: dispatch %s has it", key, mailbox.ErrDuplicate, other)
		}
		keys[key] = d.ID
	}
	var errs []error
	for _, r := range c.Runs {
		if err := r.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%w: %w", awaken.ErrInvalid, err))
		}
	}
	return errors.Join(errs...)
}

// put adds or replaces a dispatch.
func (s *dispatches) put(t *thread, changed *mailbox.Dispatch) {
	s.keep(t, export(changed))
}

// keep inserts or replaces a dispatch, which is the store's from then on. Requires s.mu.
func (s *dispatches) keep(t *thread, changed *mailbox.Dispatch) {
	d, before := s.byID[changed.ID], mailbox.Status("")
	if d == nil {
		d = changed
		s.byID[changed.ID] = d
	} else {
		before = queued(d.Status)
		same := func(o *mailbox.Dispatch) bool { return o == d }
		t.live, t.over = slices.DeleteFunc(t.live, same), slices.DeleteFunc(t.over, same)
		delete(s.lines.claimed, d)
		delete(s.byKey, d.IdempotencyKey)
		message, said := d.MessageID, d.Said
		*d = *changed
		d.MessageID, d.Said = message, said
	}
	d.Tenant, d.ThreadID = s.tenant, t.ID
	if before != queued(d.Status) {
		s.lines.changed(t, d)
	}
	if d.IdempotencyKey != "" {
		s.byKey[d.IdempotencyKey] = d
	}
	if d.MessageID != "" {
		s.accepted[messageKey{t.ID, d.MessageID}] = d
	}
	if d.Status.Terminal() {
		t.over = append(t.over, d)
		return
	}
	t.live = append(t.live, d)
	mailbox.Sort(t.live)
	if d.Status == mailbox.Claimed {
		s.lines.claimed[d] = t
	}
}

// Enqueue queues dispatches that start runs.
func (s *dispatches) Enqueue(_ context.Context, terms mailbox.Terms, ds ...*mailbox.Dispatch) (left []int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, queued := s.now().UnixMilli(), false
	for i, d := range ds {
		if s.taken(d, terms) {
			left = append(left, i)
			continue
		}
		d.End = awaken.Cursor{}
		if t := s.threads[d.ThreadID]; t != nil {
			d.End = awaken.Cursor{Epoch: t.Fence, Seq: t.Seq}
		}
		t := s.open(d.ThreadID, d.Request.UserID, now)
		start := terms.Start != nil && s.processes[terms.Start.Consumer] > now && d.AvailableAt <= 0 && len(t.live) == 0 && t.OpenRunID == "" && s.lines.free(d.Priority, now)
		q := export(d)
		q.Status, q.Epoch, q.CreatedAt, q.UpdatedAt = mailbox.Queued, t.epoch, now, now
		q.AvailableAt += now
		s.record(q.NewRun())
		if start {
			q.Status, q.ClaimToken, q.ClaimedBy, q.LeaseUntil = mailbox.Claimed, ids.New(), terms.Start.Consumer, now+terms.Start.Lease.Milliseconds()
			end, req := d.End, d.Request
			*d = *q
			d.Tenant, d.Request, d.End, d.Fresh, d.Checkpoint = s.tenant, req, end, true, t.own(q)
		}
		s.keep(t, q)
		s.lines.place(t, now)
		queued = queued || !start
	}
	if queued {
		s.lines.notify(mailbox.Signal{Ready: true})
	}
	return left, nil
}

// own acquires the thread of a dispatch that was just claimed for the first time, if the thread is new.
// Otherwise it returns nil.
func (t *thread) own(d *mailbox.Dispatch) *awaken.Checkpoint {
	if d.Cancel || d.Attempts+d.Crashes > 0 || d.LostAt > 0 || t.run != nil || t.MessageCount > 0 || t.Seq > 0 || len(t.Inbox) > 0 {
		return nil
	}
	return t.acquire()
}

// taken reports whether Enqueue must leave a dispatch out.
func (s *dispatches) taken(d *mailbox.Dispatch, terms mailbox.Terms) bool {
	if s.byID[d.ID] != nil || s.runs[d.RunID] != nil || d.IdempotencyKey != "" && s.byKey[d.IdempotencyKey] != nil ||
		d.MessageID != "" && s.accepted[messageKey{d.ThreadID, d.MessageID}] != nil {
		return true
	}
	t := s.threads[d.ThreadID]
	if t == nil {
		return false
	}
	if terms.Idle && (t.OpenRunID != "" || len(t.live) > 0) || terms.Confined && t.UserID != d.Request.UserID {
		return true
	}
	waits := t.OpenRunID != "" && t.run.Status == awaken.RunWaiting
	return waits || d.DedupeKey != "" && slices.ContainsFunc(t.live, func(o *mailbox.Dispatch) bool { return o.DedupeKey == d.DedupeKey })
}

// export returns a copy of a dispatch that shares its messages, which are immutable.
func export(d *mailbox.Dispatch) *mailbox.Dispatch {
	out := *d
	out.End = awaken.Cursor{}
	if d.Request != nil {
		q := *d.Request
		q.Messages, q.Decisions, q.FrontendTools, q.Seed = slices.Clone(q.Messages), slices.Clone(q.Decisions), slices.Clone(q.FrontendTools), maps.Clone(q.Seed)
		out.Request = &q
	}
	return &out
}

// Decisions lists the records of decisions.
func (s *dispatches) Decisions(_ context.Context, q mailbox.DecisionQuery) (out []*awaken.Decided, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.decided {
		if t := s.threads[d.ThreadID]; q.Selects(d) && (q.Owner == nil || t != nil && t.UserID == *q.Owner) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, mailbox.CompareDecided)
	return out[:min(len(out), q.Size())], nil
}

// Dispatch returns a dispatch.
func (s *dispatches) Dispatch(_ context.Context, id string) (*mailbox.Dispatch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.byID[id]
	if d == nil {
		return nil, fmt.Errorf("dispatch %s: %w", id, awaken.ErrNotFound)
	}
	return export(d), nil
}

// Submitted returns the dispatch of an idempotency key.
func (s *dispatches) Submitted(_ context.Context, key string) (*mailbox.Dispatch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.byKey[key]
	if d == nil {
		return nil, fmt.Errorf("idempotency key %q: %w", key, awaken.ErrNotFound)
	}
	return export(d), nil
}

// Dispatches lists dispatches: those of a thread or run in queue order, others by id, the greatest
// first.
func (s *dispatches) Dispatches(_ context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*mailbox.Dispatch
	if t := s.threads[q.ThreadID]; t != nil {
		all = slices.Concat(t.live, t.over)
	} else {
		all = slices.Collect(maps.Values(s.byID))
	}
	all = slices.DeleteFunc(all, func(d *mailbox.Dispatch) bool { return !s.selects(q, d) })
	mailbox.Sort(all)
	if q.ThreadID == "" && q.RunID == "" {
		slices.SortFunc(all, func(a, b *mailbox.Dispatch) int { return cmp.Compare(b.ID, a.ID) })
	}
	var out []*mailbox.Dispatch
	for _, d := range page(all, q.Offset, q.Limit) {
		out = append(out, export(d))
	}
	return out, nil
}

func (s *dispatches) selects(q mailbox.Query, d *mailbox.Dispatch) bool {
	return (q.ThreadID == "" || q.ThreadID == d.ThreadID) && (q.RunID == "" || q.RunID == d.RunID) &&
		(q.MessageID == "" || q.MessageID == d.MessageID) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, d.Status)) &&
		(q.Worker == "" || q.Worker == d.ClaimedBy) && (q.AgentID == "" || q.AgentID == s.agent(d)) && (q.After == "" || d.ID < q.After)
}

// agent returns the agent of a dispatch's run.
func (s *dispatches) agent(d *mailbox.Dispatch) string {
	if r := s.runs[d.RunID]; r != nil {
		return r.AgentID
	}
	if d.Request != nil {
		return d.Request.AgentID
	}
	return ""
}

// Backlog returns live dispatches, and the open runs of their threads.
func (s *dispatches) Backlog(_ context.Context, limit int, threadIDs ...string) (live []*mailbox.Dispatch, open map[string]string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.byID {
		if !d.Status.Terminal() && (len(threadIDs) == 0 || slices.Contains(threadIDs, d.ThreadID)) {
			live = append(live, d)
		}
	}
	slices.SortFunc(live, func(a, b *mailbox.Dispatch) int { return cmp.Compare(a.ID, b.ID) })
	live, open = live[:min(len(live), max(limit, 0))], map[string]string{}
	for i, d := range live {
		live[i] = export(d)
		if t := s.threads[d.ThreadID]; t.OpenRunID != "" {
			open[d.ThreadID] = t.OpenRunID
		}
	}
	return live, open, nil
}

// CountDispatches returns the number of the tenant's dispatches by status.
func (s *dispatches) CountDispatches(context.Context) (map[mailbox.Status]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[mailbox.Status]int{}
	for _, d := range s.byID {
		out[d.Status]++
	}
	return out, nil
}

// PurgeDispatches removes the completed dispatches that q selects, on all pages.
func (s *dispatches) PurgeDispatches(_ context.Context, q mailbox.Query) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.purge(func(d *mailbox.Dispatch) bool { return s.selects(q, d) }), nil
}

// purge removes the completed dispatches for which which returns true.
func (s *dispatches) purge(which func(d *mailbox.Dispatch) bool) int {
	before := len(s.byID)
	for _, t := range s.threads {
		t.over = slices.DeleteFunc(t.over, func(d *mailbox.Dispatch) bool {
			gone := which(d)
			if gone {
				s.forget(d)
			}
			return gone
		})
	}
	return before - len(s.byID)
}

func (s *dispatches) forget(d *mailbox.Dispatch) {
	delete(s.byID, d.ID)
	if s.byKey[d.IdempotencyKey] == d {
		delete(s.byKey, d.IdempotencyKey)
	}
	if at := (messageKey{d.ThreadID, d.MessageID}); s.accepted[at] == d {
		delete(s.accepted, at)
	}
}
