package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Change changes a thread's queue. Fn is called inside the transaction: whatever else
// is to be written waits for it.
func (s *Store) Change(ctx context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	var refused error
	err := s.db.write(func(c *conn) error {
		ch := &queueChange{conn: c, key: queueKey{s.tenant, threadID}}
		if err := ch.read(); err != nil {
			return err
		}
		if refused = fn(&ch.thread); refused != nil {
			return nil
		}
		var err error
		if refused, err = ch.check(); refused != nil || err != nil {
			return err
		}
		return ch.write()
	})
	if err != nil {
		return fmt.Errorf("change queue of thread %s: %w", threadID, err)
	}
	return refused
}

// queueChange is a Change inside a transaction.
type queueChange struct {
	*conn
	key    queueKey
	now    moment
	made   bool // the thread exists
	thread mailbox.Thread
}

// read fills the thread in.
func (c *queueChange) read() (err error) {
	ctx, k := context.Background(), c.key
	c.now = c.moment()
	t := &c.thread
	*t = mailbox.Thread{ID: k.thread, Now: c.now.ms}
	var open string
	if t.Made, err = c.row(ctx, `SELECT fence, last_seq, open_run FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{k.tenant, k.thread}, &t.End.Epoch, &t.End.Seq, &open); err != nil {
		return err
	}
	c.made = t.Made
	if open != "" {
		if t.Open, err = c.run(ctx, k.tenant, open); err != nil {
			return err
		}
	}
	if _, err = c.row(ctx, `SELECT epoch FROM {p}_queues WHERE tenant = ? AND id = ?`, []any{k.tenant, k.thread}, &t.Epoch); err != nil {
		return err
	}
	t.Live, err = c.dispatches(ctx, `d.tenant = ? AND d.thread = ? AND d.completed = 0`, k.tenant, k.thread)
	mailbox.Sort(t.Live)
	return err
}

// check says what is wrong with what was recorded, before anything is written.
func (c *queueChange) check() (refused, err error) {
	t, k := &c.thread, c.key
	if !c.made && !t.Make {
		if len(t.Put) > 0 || len(t.Runs) > 0 || len(t.Post) > 0 || t.Interrupt || t.Raise {
			return noThread(k.thread), nil
		}
		return nil, nil
	}
	for i, d := range t.Put {
		var other string
		found, err := c.row(context.Background(), `SELECT id FROM {p}_dispatches WHERE tenant = ?1 AND id = ?2 AND thread <> ?3
			UNION ALL SELECT id FROM {p}_dispatches WHERE tenant = ?1 AND key = ?4 AND key <> '' AND id <> ?2`, []any{k.tenant, d.ID, k.thread, d.IdempotencyKey}, &other)
		if err != nil {
			return nil, err
		}
		if found || d.IdempotencyKey != "" && slices.ContainsFunc(t.Put[:i], func(o *mailbox.Dispatch) bool { return o.IdempotencyKey == d.IdempotencyKey && o.ID != d.ID }) {
			return fmt.Errorf("thread %s: dispatch %s: %w", k.thread, d.ID, mailbox.ErrDuplicate), nil
		}
	}
	return nil, nil
}

// write makes what was recorded part of the transaction.
func (c *queueChange) write() error {
	t, k := &c.thread, c.key
	if !c.made && !t.Make {
		return nil
	}
	if !c.made {
		if err := c.makeThread(k, c.now); err != nil {
			return err
		}
	}
	if t.Interrupt {
		if _, err := c.exec(`UPDATE {p}_threads SET generation = generation + 1 WHERE tenant = ? AND id = ?`, k.tenant, k.thread); err != nil {
			return err
		}
	}
	if len(t.Put) > 0 || t.Raise {
		if _, err := c.exec(`INSERT INTO {p}_queues (tenant, id, epoch) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET epoch = epoch + ?3`, k.tenant, k.thread, t.Raise); err != nil {
			return err
		}
	}
	for _, d := range t.Put {
		if err := c.put(d); err != nil {
			return err
		}
	}
	if err := c.ready(k, c.now); err != nil {
		return err
	}
	for _, r := range t.Runs {
		if err := c.putRun(k.tenant, r); err != nil {
			return err
		}
	}
	data, err := encodeItems(t.Post)
	if err != nil {
		return err
	}
	return c.post(k.tenant, k.thread, t.Post, data)
}

// put writes a dispatch that is new or changed.
func (c *queueChange) put(d *mailbox.Dispatch) error {
	k := c.key
	var request any
	if d.Request != nil {
		text, err := encode(d.Request)
		if err != nil {
			return fmt.Errorf("dispatch %s: %w", d.ID, err)
		}
		request = text
	}
	status, completed := d.Status, d.CompletedAt
	switch {
	case !status.Terminal():
		status, completed = mailbox.Queued, 0
	case completed == 0:
		completed = c.now.ms
	}
	if _, err := c.exec(`INSERT INTO {p}_dispatches (tenant, thread, id, run, status, completed, priority, available, created, updated, epoch, revision, cancel,
			attempts, max_attempts, steps, error, dedupe, key, digest, request)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, id) DO UPDATE SET run = excluded.run, status = excluded.status, completed = excluded.completed, priority = excluded.priority,
			available = excluded.available, created = excluded.created, updated = excluded.updated, epoch = excluded.epoch, revision = excluded.revision,
			cancel = excluded.cancel, attempts = excluded.attempts, max_attempts = excluded.max_attempts, steps = excluded.steps, error = excluded.error,
			dedupe = excluded.dedupe, key = excluded.key, digest = excluded.digest, request = excluded.request`,
		k.tenant, k.thread, d.ID, d.RunID, string(status), completed, d.Priority, d.AvailableAt, d.CreatedAt, d.UpdatedAt, int64(d.Epoch), d.Revision, d.Cancel,
		d.Attempts, d.MaxAttempts, d.Steps, d.LastError, d.DedupeKey, d.IdempotencyKey, d.Digest, request); err != nil {
		return err
	}
	if d.Status == mailbox.Claimed {
		_, err := c.exec(`UPDATE {p}_queues SET claimed = ?3, token = ?4, consumer = ?5, lease = ?6, stamp = ?7, priority = NULL, since = NULL, wake = NULL
			WHERE tenant = ?1 AND id = ?2`, k.tenant, k.thread, d.ID, d.ClaimToken, d.ClaimedBy, d.LeaseUntil, d.UpdatedAt)
		return err
	}
	_, err := c.exec(`UPDATE {p}_queues SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL WHERE tenant = ? AND id = ? AND claimed = ?`, k.tenant, k.thread, d.ID)
	return err
}

// makeThread makes a thread that is not there.
func (c *conn) makeThread(k queueKey, now moment) error {
	_, err := c.exec(`INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence)
		VALUES (?1, ?2, ?3, ?3, 1 + coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0), `+floor+`) ON CONFLICT DO NOTHING`, k.tenant, k.thread, now.ms)
	return err
}

// putRun writes the record of a run that has not started, unless it has.
func (c *conn) putRun(tenant string, r *awaken.Run) error {
	data, err := encode(r)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.RunID, err)
	}
	_, err = c.exec(`INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq) VALUES (?1, ?2, ?3, ?4, `+nextBorn+`, ?5, 9223372036854775807, 0)
		ON CONFLICT (tenant, id) DO UPDATE SET status = excluded.status, data = excluded.data WHERE status = 'created' AND thread = excluded.thread`,
		tenant, r.RunID, r.ThreadID, string(r.Status), data)
	return err
}

// nextBorn is when a new run of tenant ?1 is born: after every commit and every run.
const nextBorn = `1 + max(coalesce((SELECT max(born) FROM {p}_runs WHERE tenant = ?1), 0), coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0))`

// Enqueue queues dispatches that start runs.
func (s *Store) Enqueue(ctx context.Context, ds ...*mailbox.Dispatch) (left []int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	requests := make([]string, len(ds))
	for i, d := range ds {
		if d.Request == nil {
			return nil, fmt.Errorf("enqueue dispatch %s: %w: it has no request", d.ID, awaken.ErrInvalid)
		}
		if requests[i], err = encode(d.Request); err != nil {
			return nil, fmt.Errorf("enqueue dispatch %s: %w", d.ID, err)
		}
	}
	queued := make([]*mailbox.Dispatch, len(ds))
	err = s.db.write(func(c *conn) error {
		now := c.moment()
		left = nil
		for i, d := range ds {
			q := *d
			q.Tenant, q.Status, q.CreatedAt, q.UpdatedAt, q.AvailableAt = s.tenant, mailbox.Queued, now.ms, now.ms, now.ms+max(d.AvailableAt, 0)
			ok, err := c.enqueue(&q, requests[i], now)
			if err != nil {
				return err
			}
			if queued[i] = &q; !ok {
				queued[i], left = nil, append(left, i)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	for i, q := range queued {
		if q != nil {
			*ds[i] = *q
		}
	}
	return left, nil
}

// enqueue queues a dispatch if it can be.
func (c *conn) enqueue(d *mailbox.Dispatch, request string, now moment) (ok bool, err error) {
	ctx, k := context.Background(), queueKey{d.Tenant, d.ThreadID}
	var one int
	refused, err := c.row(ctx, `SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND id = ?2
		UNION ALL SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND key = ?4 AND key <> ''
		UNION ALL SELECT 1 FROM {p}_threads t JOIN {p}_runs r ON r.tenant = t.tenant AND r.id = t.open_run WHERE t.tenant = ?1 AND t.id = ?3 AND r.status = 'waiting'
		UNION ALL SELECT 1 FROM {p}_dispatches WHERE tenant = ?1 AND thread = ?3 AND completed = 0 AND dedupe = ?5 AND ?5 <> ''`,
		[]any{d.Tenant, d.ID, d.ThreadID, d.IdempotencyKey, d.DedupeKey}, &one)
	if err != nil || refused {
		return false, err
	}
	if err := c.makeThread(k, now); err != nil {
		return false, err
	}
	if _, err := c.row(ctx, `INSERT INTO {p}_queues (tenant, id) VALUES (?, ?) ON CONFLICT DO UPDATE SET epoch = epoch RETURNING epoch`, []any{k.tenant, k.thread}, &d.Epoch); err != nil {
		return false, err
	}
	if _, err := c.exec(`INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, d.Tenant, d.ID, d.ThreadID, d.RunID, string(d.Status), d.Priority, d.AvailableAt, d.CreatedAt, d.UpdatedAt,
		int64(d.Epoch), d.MaxAttempts, d.DedupeKey, d.IdempotencyKey, d.Digest, request); err != nil {
		return false, err
	}
	var exists bool
	if exists, err = c.row(ctx, `SELECT 1 FROM {p}_runs WHERE tenant = ? AND id = ?`, []any{d.Tenant, d.RunID}, &one); err == nil && !exists {
		err = c.putRun(d.Tenant, d.NewRun())
	}
	if err != nil {
		return false, err
	}
	return true, c.ready(k, moment{c.moment().us, now.ms})
}

// Dispatch returns a dispatch by its id.
func (s *Store) Dispatch(ctx context.Context, id string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "dispatch "+id, `d.tenant = ? AND d.id = ?`, id)
}

// Submitted returns the dispatch of an idempotency key.
func (s *Store) Submitted(ctx context.Context, key string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "idempotency key "+key, `d.tenant = ? AND d.key = ? AND d.key <> ''`, key)
}

func (s *Store) dispatch(ctx context.Context, what, where, arg string) (*mailbox.Dispatch, error) {
	var list []*mailbox.Dispatch
	err := s.db.read(ctx, func(c *conn) (err error) {
		list, err = c.dispatches(ctx, where, s.tenant, arg)
		return err
	})
	if err == nil && len(list) == 0 {
		err = awaken.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list[0], nil
}

// selected are the conditions of a query, with their arguments.
func (s *Store) selected(q mailbox.Query) (where string, args []any) {
	where, args = `d.tenant = ?`, []any{s.tenant}
	if q.ThreadID != "" {
		where, args = where+` AND d.thread = ?`, append(args, q.ThreadID)
	}
	if q.RunID != "" {
		where, args = where+` AND d.run = ?`, append(args, q.RunID)
	}
	if len(q.Statuses) > 0 {
		where += ` AND CASE WHEN q.id IS NULL THEN d.status ELSE 'Claimed' END IN (?` + strings.Repeat(`, ?`, len(q.Statuses)-1) + `)`
		for _, status := range q.Statuses {
			args = append(args, string(status))
		}
	}
	return where, args
}

// Dispatches lists dispatches.
func (s *Store) Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	where, args := s.selected(q)
	order := `d.created DESC, d.id DESC`
	if q.ThreadID != "" || q.RunID != "" {
		order = `d.priority, d.created, d.id`
	}
	offset, limit := page(q.Offset, q.Limit)
	var out []*mailbox.Dispatch
	err := s.db.read(ctx, func(c *conn) (err error) {
		out, err = c.dispatches(ctx, where+` ORDER BY `+order+` LIMIT ? OFFSET ?`, append(args, limit, offset)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list dispatches: %w", err)
	}
	return out, nil
}

// PurgeDispatches removes the dispatches of q that are over, on all its pages.
func (s *Store) PurgeDispatches(ctx context.Context, q mailbox.Query) (int, error) {
	where, args := s.selected(q)
	var n int64
	err := s.edit(ctx, func(_ context.Context, c *conn) (err error) {
		n, err = c.exec(`DELETE FROM {p}_dispatches WHERE (tenant, id) IN (SELECT d.tenant, d.id FROM `+dispatchTables+` WHERE d.completed > 0 AND `+where+`)`, args...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge dispatches: %w", err)
	}
	return int(n), nil
}
