package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Expected returns the checkpoint of a thread as this process knows it.
func (s *scope) Expected(threadID string) *awaken.Checkpoint {
	return s.db.warm.Expected(s.tenant, threadID)
}

// Start accepts a run and begins it, in one transaction. Like Commit, it ignores ctx.
func (s *scope) Start(_ context.Context, terms mailbox.Terms, d *mailbox.Dispatch, cm *awaken.Commit) (started bool, err error) {
	w, err := s.newCommit(cm)
	if err != nil {
		return false, err
	}
	request, err := dialect.Encode(d.Request)
	if err != nil {
		return false, fmt.Errorf("start dispatch %s: %w", d.ID, err)
	}
	edits, known := s.db.warm.Begins(s.tenant, cm)
	if !known || w.invalid != nil || len(cm.Read) > 0 {
		return false, nil
	}
	var stored mailbox.Dispatch
	err = s.db.writer.write(s.tenant, func(c *conn) (err error) {
		stored = *d
		st := starting{commit: w, d: &stored, terms: &terms, request: request, edits: edits}
		started = s.processes.live(terms.Start.Consumer, s.db.clock())
		if started {
			started, err = st.write(queueConn{c})
		}
		return err
	})
	if err != nil {
		s.db.warm.Drop(s.tenant, cm.ThreadID)
		return false, fmt.Errorf("start run %s: %w", cm.Run.RunID, err)
	}
	if started {
		*d = stored
		s.db.warm.Started(s.tenant, d.Request.UserID, cm)
		s.db.marks.Written(s.tenant, cm, w.marks)
	}
	return started, nil
}

// starting is a run that is being accepted, with its first commit.
type starting struct {
	*commit
	d       *mailbox.Dispatch
	terms   *mailbox.Terms
	request string // JSON
	edits   int64  // of its thread
}

// startable is the condition under which run ?3 of thread ?2 is started by dispatch ?4, with idempotency key ?5 and message ?6: the
// thread has nothing queued, none of these is in use, and no other thread can be claimed at ?7 with priority ?8 or a higher one.
const startable = `NOT EXISTS (SELECT 1 FROM {p}_queues WHERE tenant = ?1 AND id = ?2 AND (claimed IS NOT NULL OR since IS NOT NULL OR wake IS NOT NULL))
	AND NOT EXISTS (SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND id = ?4)
	AND NOT EXISTS (SELECT 1 FROM {p}_runs WHERE tenant = ?1 AND id = ?3)
	AND NOT EXISTS (SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND run = ?3 AND born IS NOT NULL)
	AND (?5 = '' OR NOT EXISTS (SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND key = ?5 AND key <> ''))
	AND (?6 = '' OR NOT EXISTS (SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND thread = ?2 AND message = ?6 AND message <> ''))
	AND NOT EXISTS (SELECT 1 FROM {p}_queues WHERE wake <= ?7)
	AND NOT EXISTS (SELECT 1 FROM {p}_queues WHERE suspect = 0 AND since IS NOT NULL AND priority <= ?8)`

// startNew creates the thread of a run, and startKnown acquires the one that this process owned last.
const (
	startNew = `INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence, committed, messages, last_seq, open_run, latest_run, run, user_id, parent)
		SELECT ?1, ?2, ?7, ?9, {tick}, ?10, ?11, ?12, ?13, ?3, ?3, ?14, ?15, ?16
		WHERE ` + startable + ` AND coalesce((SELECT floor FROM {p}_tenants WHERE tenant = ?1), 0) = ?10 - 1
		ON CONFLICT DO NOTHING`
	startKnown = `UPDATE {p}_threads SET updated = ?9, touched = {tick}, fence = ?10, committed = ?11, messages = messages + ?12, last_seq = max(last_seq, ?13),
		open_run = ?3, latest_run = ?3, run = ?14
		WHERE tenant = ?1 AND id = ?2 AND fence = ?10 - 1 AND generation = ?17 AND edits = ?18 AND messages = ?19 AND last_seq < ?20 AND open_run = '' AND unread = 0
		AND (user_id = ?15 OR NOT ?16) AND ` + startable
)

// write accepts the run and begins it. It reports false if that has to be done in another way.
func (s *starting) write(c queueConn) (bool, error) {
	now, d, run := c.moment(), s.d, &s.Run
	d.Tenant, d.Status, d.ClaimedBy, d.Fresh = s.tenant, mailbox.Claimed, s.terms.Start.Consumer, true
	d.CreatedAt, d.UpdatedAt, d.AvailableAt, d.LeaseUntil = now.ms, now.ms, now.ms, now.ms+s.terms.Start.Lease.Milliseconds()
	args := []any{s.tenant, s.ThreadID, run.RunID, d.ID, d.IdempotencyKey, d.MessageID, now.ms, d.Priority,
		s.Time, int64(s.Fence), int64(s.Number), len(s.Messages), int64(s.last), s.commit.run, d.Request.UserID}
	known := s.d.Checkpoint != nil && (s.Expect > 0 || s.d.Checkpoint.Run != nil)
	statement := startNew
	if d.End = (awaken.Cursor{}); known {
		statement = startKnown
		d.End = awaken.Cursor{Epoch: s.Fence - 1, Seq: d.Checkpoint.Thread.End.Seq}
		args = append(args, s.terms.Confined, int64(s.Generation), s.edits, s.Expect, int64(s.first))
	} else {
		args = append(args, s.ParentThreadID)
	}
	n, err := c.exec(statement, args...)
	if err != nil {
		return false, err
	}
	if n == 0 {
		return s.repeated(c)
	}
	if _, err := c.row(context.Background(), `INSERT INTO {p}_queues (tenant, id, claimed, token, consumer, lease, stamp) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET claimed = excluded.claimed, token = excluded.token, consumer = excluded.consumer, lease = excluded.lease, stamp = excluded.stamp RETURNING epoch`,
		[]any{s.tenant, s.ThreadID, d.ID, d.ClaimToken, d.ClaimedBy, d.LeaseUntil, now.ms}, &d.Epoch); err != nil {
		return false, err
	}
	if _, err := c.exec(`INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request, message, said)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`,
		s.tenant, d.ID, s.ThreadID, run.RunID, string(mailbox.Queued), d.Priority, now.ms,
		int64(d.Epoch), d.MaxAttempts, d.DedupeKey, d.IdempotencyKey, d.Digest, s.request, d.MessageID, d.Said); err != nil {
		return false, err
	}
	f := dialect.Facets(run)
	if _, err := c.exec(`INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq, agent, version, origin, parent, created, cost, user_id)
		VALUES (?1, ?2, ?3, ?4, {born}, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, coalesce((SELECT user_id FROM {p}_threads WHERE tenant = ?1 AND id = ?3), ''))`,
		s.tenant, run.RunID, s.ThreadID, string(run.Status), s.commit.run, int64(d.End.Seq), int64(math.MaxInt64),
		f.Agent, f.Version, f.Origin, f.Parent, f.Created, f.Cost); err != nil {
		return false, err
	}
	s.Unread = false
	return true, s.writeRows(c.conn)
}

// repeated reports whether the run was started by an earlier call of the same claim. It also reads the fence behind which new threads begin.
func (s *starting) repeated(c queueConn) (bool, error) {
	var floor uint64
	if _, err := c.row(context.Background(), `SELECT floor FROM {p}_tenants WHERE tenant = ?`, []any{s.tenant}, &floor); err != nil {
		return false, err
	}
	c.db.warm.SetFloor(s.tenant, floor)
	k, _, held, err := c.claimed(s.d.Claim())
	if err != nil || !held || k.thread != s.ThreadID {
		return false, err
	}
	d, err := c.dispatches(context.Background(), `d.tenant = ? AND d.id = ?`, s.tenant, s.d.ID)
	if err != nil || len(d) == 0 {
		return false, err
	}
	s.d.Epoch, s.d.CreatedAt, s.d.UpdatedAt, s.d.AvailableAt, s.d.LeaseUntil = d[0].Epoch, d[0].CreatedAt, d[0].UpdatedAt, d[0].AvailableAt, d[0].LeaseUntil
	return true, nil
}
