package sqlstore

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// MakeThread is the statement that creates thread ?2 of tenant ?1 at time ?3, which belongs
// to user ?4, unless it exists.
const MakeThread = `INSERT INTO {p}_threads (tenant, id, created, updated, user_id, touched, fence) VALUES (?1, ?2, ?3, ?3, ?4, {tick}, ` + Floor + `) ON CONFLICT DO NOTHING`

// PutRun returns the statement that writes the record of a run that has not started, unless it has
// started meanwhile. The run keeps its place in the order of runs.
func (s *Scope) PutRun(r *awaken.Run) (Statement, error) {
	data, err := AppendRun(nil, r)
	if err != nil {
		return Statement{}, fmt.Errorf("run %s: %w", r.RunID, err)
	}
	f := s.db.Dialect().Facets(r)
	return statement(`INSERT INTO {p}_runs AS r (tenant, thread, id, status, data, agent, version, origin, parent, detail, error, cost, created, born, first_seq, last_seq, user_id)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
			coalesce((SELECT d.born FROM {p}_dispatches d WHERE d.tenant = ?1 AND d.run = ?3 AND d.born IS NOT NULL), {born}), 9223372036854775807, 0,
			coalesce((SELECT t.user_id FROM {p}_threads t WHERE t.tenant = ?1 AND t.id = ?2), ''))
		ON CONFLICT (tenant, id) DO UPDATE SET status = excluded.status, data = excluded.data, agent = excluded.agent, version = excluded.version, origin = excluded.origin,
			parent = excluded.parent, detail = excluded.detail, error = excluded.error, cost = excluded.cost, created = excluded.created
			WHERE r.status = 'created' AND r.thread = excluded.thread`,
		s.tenant, s.id(r.ThreadID), s.id(r.RunID), string(r.Status), s.db.Dialect().Text(data), f.Agent, f.Version, f.Origin, f.Parent, f.Detail, f.Error, f.Cost, f.Created), nil
}

// QueueChange is a change of a thread's queue in flight.
type QueueChange struct {
	Thread      mailbox.Thread
	Now         int64  // Unix µs
	Since, Wake *int64 // of the queue's row, before the change
	made        bool   // the thread exists
	live        []*mailbox.Dispatch
	epoch       uint64
}

// Begin completes the thread with the live dispatches of its queue, and keeps what
// Statements needs.
func (c *QueueChange) Begin(live []*mailbox.Dispatch) {
	mailbox.Sort(live)
	t := &c.Thread
	c.live, c.made, c.epoch, t.Now = live, t.Exists, t.Epoch, c.Now/1000
	for _, d := range live {
		mine := *d
		t.Live = append(t.Live, &mine)
	}
}

// Refused returns an ErrNotFound if something was recorded for a thread that does not exist
// and is not to be created.
func (c *QueueChange) Refused() error {
	t := &c.Thread
	if c.made || t.Create || len(t.Put) == 0 && len(t.Runs) == 0 && len(t.Post) == 0 && !t.Interrupt && !t.RaiseEpoch {
		return nil
	}
	return threads.NotFound(t.ID)
}

// Statements returns the statements that write what was recorded, except inbox items; none
// if the thread does not exist. The queue must have a row. Announce is what the listeners of the
// queue have to know.
func (s *Scope) Statements(c *QueueChange) (out []Statement, announce mailbox.Signal, err error) {
	t, now := &c.Thread, c.Now/1000
	if !c.made && !t.Create {
		return nil, announce, nil
	}
	do := func(query string, args ...any) {
		out = append(out, Statement{query, append([]any{s.tenant, s.id(t.ID)}, args...)})
	}
	if !c.made {
		do(MakeThread, now, s.id(t.UserID))
	}
	if t.Interrupt {
		do(`UPDATE {p}_threads SET generation = generation + 1 WHERE tenant = ?1 AND id = ?2`)
	}
	if t.Release != "" {
		do(`UPDATE {p}_dispatches SET message = '', said = '' WHERE tenant = ?1 AND thread = ?2 AND id = ?3`, s.id(t.Release))
	}
	live := slices.Clone(c.live)
	for _, d := range t.Put {
		if !c.IsNew(d) && d.MessageID != "" { // it keeps the message that it has, unless that is released
			stored := *d
			stored.MessageID, stored.Said = "", ""
			d = &stored
		}
		put, err := s.PutDispatch(t.ID, d, now, c.Starts(d))
		if err != nil {
			return nil, announce, err
		}
		out = append(out, put)
		announce.Cancelled = announce.Cancelled || d.Status == mailbox.Claimed && d.Cancel
		live = slices.DeleteFunc(live, func(o *mailbox.Dispatch) bool { return o.ID == d.ID })
		if !d.Status.Terminal() {
			live = append(live, d)
		}
	}
	if t.RaiseEpoch {
		c.epoch++
	}
	row := s.queueRow(live, c)
	do(`UPDATE {p}_queues SET epoch = ?3, priority = ?4, since = ?5, wake = ?6, claimed = ?7, token = ?8, consumer = ?9, lease = ?10, stamp = ?11, suspect = ?12
		WHERE tenant = ?1 AND id = ?2`, int64(c.epoch), row.priority, row.since, row.wake, row.claimed, row.token, row.consumer, row.lease, row.stamp, row.suspect)
	for _, r := range t.Runs {
		if r.Status == awaken.RunCreated && slices.ContainsFunc(t.Put, func(d *mailbox.Dispatch) bool { return d.RunID == r.RunID && c.Starts(d) }) {
			continue // the dispatch is its record
		}
		put, err := s.PutRun(r)
		if err != nil {
			return nil, announce, err
		}
		out = append(out, put)
	}
	announce.Ready = row.since != nil || row.wake != nil
	return out, announce, nil
}

// Starts reports whether a dispatch is new and starts a run. Until that has started, the dispatch is
// its record.
func (c *QueueChange) Starts(d *mailbox.Dispatch) bool { return d.Request != nil && c.IsNew(d) }

// IsNew reports whether a dispatch that was put is not one of the queue's.
func (c *QueueChange) IsNew(d *mailbox.Dispatch) bool {
	return !slices.ContainsFunc(c.live, func(o *mailbox.Dispatch) bool { return o.ID == d.ID })
}

// PutDispatch returns the statement that inserts or replaces a dispatch. It fails if the id
// belongs to a dispatch of another thread, or the run that it starts to another thread. If it
// starts a run that is new, it becomes its record.
func (s *Scope) PutDispatch(threadID string, d *mailbox.Dispatch, now int64, starts bool) (Statement, error) {
	var request *string
	if d.Request != nil {
		text, err := s.db.Dialect().Encode(d.Request)
		if err != nil {
			return Statement{}, fmt.Errorf("dispatch %s: %w", d.ID, err)
		}
		request = &text
	}
	status, completed := d.Status, d.CompletedAt
	switch {
	case !status.Terminal():
		status, completed = mailbox.Queued, 0
	case completed == 0:
		completed = now
	}
	return statement(`INSERT INTO {p}_dispatches AS d (tenant, thread, id, run, status, completed, priority, available, created, updated, epoch, revision, cancel,
			attempts, max_attempts, steps, crashes, lost, error, dedupe, key, digest, request, message, said, born)
		VALUES (?1, CASE WHEN ?24 AND (EXISTS (SELECT 1 FROM {p}_runs r WHERE r.tenant = ?1 AND r.id = ?4 AND r.thread <> ?2)
				OR EXISTS (SELECT 1 FROM {p}_dispatches o WHERE o.tenant = ?1 AND o.run = ?4 AND o.born IS NOT NULL AND o.completed = 0 AND o.thread <> ?2)) THEN NULL ELSE ?2 END,
			?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?25, ?26,
			CASE WHEN ?24 AND NOT EXISTS (SELECT 1 FROM {p}_runs r WHERE r.tenant = ?1 AND r.id = ?4)
				AND NOT EXISTS (SELECT 1 FROM {p}_dispatches o WHERE o.tenant = ?1 AND o.run = ?4 AND o.born IS NOT NULL) THEN {born} END)
		ON CONFLICT (tenant, id) DO UPDATE SET thread = CASE d.thread WHEN excluded.thread THEN d.thread END, run = excluded.run, status = excluded.status,
			completed = excluded.completed, priority = excluded.priority, available = excluded.available, created = excluded.created, updated = excluded.updated,
			epoch = excluded.epoch, revision = excluded.revision, cancel = excluded.cancel, attempts = excluded.attempts, max_attempts = excluded.max_attempts,
			steps = excluded.steps, crashes = excluded.crashes, lost = excluded.lost, error = excluded.error, dedupe = excluded.dedupe, key = excluded.key, digest = excluded.digest, request = excluded.request`,
		s.tenant, s.id(threadID), s.id(d.ID), s.id(d.RunID), string(status), completed, d.Priority, d.AvailableAt, d.CreatedAt, d.UpdatedAt, int64(d.Epoch), d.Revision, d.Cancel,
		d.Attempts, d.MaxAttempts, d.Steps, d.Crashes, d.LostAt, s.id(d.LastError), s.id(d.DedupeKey), s.id(d.IdempotencyKey),
		s.id(d.Digest), request, starts, s.id(d.MessageID), s.id(d.Said)), nil
}

// queueRow holds the columns of a queue's row that depend on its dispatches.
type queueRow struct {
	priority, since, wake, lease, stamp *int64
	claimed, token, consumer            *string
	suspect                             bool // one of the dispatches is
}

// queueRow computes the row from the live dispatches, as the engines do in SQL when a claim
// ends.
func (s *Scope) queueRow(live []*mailbox.Dispatch, c *QueueChange) (row queueRow) {
	row.suspect = slices.ContainsFunc(live, (*mailbox.Dispatch).Suspect)
	for _, d := range live {
		if d.Status == mailbox.Claimed {
			id, token, consumer := s.id(d.ID), s.id(d.ClaimToken), s.id(d.ClaimedBy)
			return queueRow{claimed: &id, token: &token, consumer: &consumer, lease: &d.LeaseUntil, stamp: &d.UpdatedAt, suspect: row.suspect}
		}
		if d.AvailableAt > c.Now/1000 {
			if row.wake == nil || d.AvailableAt < *row.wake {
				row.wake = &d.AvailableAt
			}
		} else if p := int64(d.Priority); row.priority == nil || p < *row.priority {
			row.priority = &p
		}
	}
	if row.priority != nil {
		row.since = c.Since
		if row.since == nil {
			since := c.Now
			if c.Wake != nil {
				since = min(since, *c.Wake*1000)
			}
			row.since = &since
		}
	}
	return row
}
