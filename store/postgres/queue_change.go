package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Change changes a thread's queue in two round trips: one locks and reads, the other
// writes. In between it holds a connection and the locks.
func (s *scope) Change(ctx context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	c := &queueChange{scope: *s, id: escape(threadID), fn: fn, thread: mailbox.Thread{ID: threadID}}
	err := retry(ctx, func() error { return c.make(ctx) })
	if err != nil {
		if c.refused != nil {
			return c.refused
		}
		return fmt.Errorf("change queue of thread %s: %w", threadID, err)
	}
	if c.announce {
		s.announcer.announce()
	}
	return nil
}

// queueChange is a Change on its way.
type queueChange struct {
	scope
	id string // of the thread, escaped
	fn func(t *mailbox.Thread) error

	thread   mailbox.Thread
	live     []*mailbox.Dispatch // as they were
	made     bool                // the thread exists
	now      int64               // unix µs
	epoch    uint64              // of the queue's row
	since    *int64
	wake     *int64
	try      string // the transaction of the last try
	refused  error
	announce bool
}

// make makes one try.
func (c *queueChange) make(ctx context.Context) (err error) {
	conn, err := c.db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer func() {
		if conn.Conn().PgConn().TxStatus() != 'I' { // otherwise the pool would drop the connection
			_, rollbackErr := conn.Exec(context.WithoutCancel(ctx), "ROLLBACK")
			if err == nil {
				err = rollbackErr
			}
		}
	}()
	done, err := c.read(ctx, conn)
	if err != nil || done {
		return err
	}
	if c.refused = c.fn(&c.thread); c.refused != nil {
		return c.refused
	}
	return c.write(ctx, conn)
}

// read locks the queue and the thread, and reads both. It reports whether an earlier
// try has made the change after all.
func (c *queueChange) read(ctx context.Context, conn *pgxpool.Conn) (done bool, err error) {
	c.live, c.thread, c.refused, c.announce = nil, mailbox.Thread{ID: c.thread.ID}, nil, false
	var b pgx.Batch
	queue := func(query string, args ...any) { b.Queue(c.db.sql(query), append([]any{c.tenant, c.id}, args...)...) }
	b.Queue("BEGIN")
	queue(`SELECT epoch, since, wake FROM {p}_queue($1, $2)`)
	queue(`SELECT fence, last_seq FROM {p}_threads WHERE tenant = $1 AND id = $2 FOR UPDATE`)
	queue(`SELECT ` + sqlstore.RunColumns + ` FROM {p}_runs r WHERE r.tenant = $1 AND r.id = (SELECT open_run FROM {p}_threads WHERE tenant = $1 AND id = $2)`)
	queue(`SELECT ` + sqlstore.DispatchColumns + ` FROM ` + sqlstore.DispatchTables + ` WHERE d.tenant = $1 AND d.thread = $2 AND d.completed = 0`)
	b.Queue(c.db.sql(`SELECT {p}_now(), pg_current_xact_id()::text, coalesce(pg_xact_status(nullif($1, '')::xid8) = 'committed', false)`), c.try)
	results := conn.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()

	t := &c.thread
	if _, err := results.Exec(); err != nil {
		return false, err
	}
	if err := results.QueryRow().Scan(&c.epoch, &c.since, &c.wake); err != nil {
		return false, err
	}
	err = results.QueryRow().Scan(&t.End.Epoch, &t.End.Seq)
	if c.made = err == nil; err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	rows, err := results.Query()
	if err != nil {
		return false, err
	}
	if err := forEach(rows, func(rows pgx.Rows) (err error) { t.Open, err = dialect.ScanRun(rows.Scan); return err }); err != nil {
		return false, err
	}
	if rows, err = results.Query(); err != nil {
		return false, err
	}
	if err := forEach(rows, func(rows pgx.Rows) error {
		d, err := dialect.ScanDispatch(rows.Scan)
		c.live = append(c.live, d)
		return err
	}); err != nil {
		return false, err
	}
	mailbox.Sort(c.live)
	for _, d := range c.live {
		mine := *d
		t.Live = append(t.Live, &mine)
	}
	err = results.QueryRow().Scan(&c.now, &c.try, &done)
	t.Now, t.Made, t.Epoch = c.now/1000, c.made, c.epoch
	return done, err
}

// write makes what fn recorded durable.
func (c *queueChange) write(ctx context.Context, conn *pgxpool.Conn) error {
	t := &c.thread
	if !c.made && !t.Make {
		if len(t.Put) == 0 && len(t.Runs) == 0 && len(t.Post) == 0 && !t.Interrupt && !t.Raise {
			return nil
		}
		c.refused = threads.NotFound(unescape(c.id))
		return c.refused
	}
	at := c.now / 1000
	var b pgx.Batch
	queue := func(query string, args ...any) { b.Queue(c.db.sql(query), append([]any{c.tenant, c.id}, args...)...) }
	if !c.made {
		queue(`INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence)
			VALUES ($1, $2, $3, $3, nextval('{p}_clock'), coalesce((SELECT floor FROM {p}_tenants WHERE tenant = $1), 0)) ON CONFLICT DO NOTHING`, at)
	}
	if t.Interrupt {
		queue(`UPDATE {p}_threads SET generation = generation + 1 WHERE tenant = $1 AND id = $2`)
	}
	if err := c.writeDispatches(queue); err != nil {
		return err
	}
	for _, r := range t.Runs {
		data, err := encode(r)
		if err != nil {
			return fmt.Errorf("run %s: %w", r.RunID, err)
		}
		queue(`INSERT INTO {p}_runs AS r (tenant, thread, id, status, data, born, first_seq, last_seq) VALUES ($1, $2, $3, $4, $5, nextval('{p}_clock'), 9223372036854775807, 0)
			ON CONFLICT (tenant, id) DO UPDATE SET status = excluded.status, data = excluded.data WHERE r.status = 'created' AND r.thread = excluded.thread`,
			escape(r.RunID), string(r.Status), data)
	}
	if len(t.Post) > 0 {
		ids, data, err := dialect.EncodeItems(t.Post)
		if err != nil {
			return err
		}
		queue(`SELECT {p}_post($1, $2, $3, $4)`, ids, data)
	}
	b.Queue("COMMIT")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.db.timeout) // cut off, it would be made or not
	defer cancel()
	err := conn.SendBatch(ctx, &b).Close()
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.TableName == c.db.prefix+"_dispatches" {
		switch e.Code {
		case "23505": // the key of another
			c.refused = fmt.Errorf("thread %s: %w of an idempotency key", unescape(c.id), mailbox.ErrDuplicate)
		case "23502": // see writeDispatches
			c.refused = fmt.Errorf("thread %s: %w of a dispatch of another thread", unescape(c.id), mailbox.ErrDuplicate)
		}
		if c.refused != nil {
			return c.refused
		}
	}
	return err
}

// writeDispatches queues the statements that change dispatches and their queue's row.
func (c *queueChange) writeDispatches(queue func(query string, args ...any)) error {
	t, live := &c.thread, slices.Clone(c.live)
	for _, d := range t.Put {
		request, err := encodeRequest(d)
		if err != nil {
			return err
		}
		status, completed := d.Status, d.CompletedAt
		switch {
		case !status.Terminal():
			status, completed = mailbox.Queued, 0
		case completed == 0:
			completed = c.now / 1000
		}
		// A dispatch of that id that another thread has makes the statement fail.
		queue(`INSERT INTO {p}_dispatches AS d (tenant, thread, id, run, status, completed, priority, available, created, updated, epoch, revision, cancel,
				attempts, max_attempts, steps, error, dedupe, key, digest, request)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
			ON CONFLICT (tenant, id) DO UPDATE SET thread = CASE d.thread WHEN excluded.thread THEN d.thread END, run = excluded.run, status = excluded.status,
				completed = excluded.completed, priority = excluded.priority, available = excluded.available, created = excluded.created, updated = excluded.updated,
				epoch = excluded.epoch, revision = excluded.revision, cancel = excluded.cancel, attempts = excluded.attempts, max_attempts = excluded.max_attempts,
				steps = excluded.steps, error = excluded.error, dedupe = excluded.dedupe, key = excluded.key, digest = excluded.digest, request = excluded.request`,
			escape(d.ID), escape(d.RunID), string(status), completed, d.Priority, d.AvailableAt, d.CreatedAt, d.UpdatedAt, d.Epoch, d.Revision, d.Cancel,
			d.Attempts, d.MaxAttempts, d.Steps, escape(d.LastError), escape(d.DedupeKey), escape(d.IdempotencyKey), escape(d.Digest), request)
		if d.Status == mailbox.Claimed && d.Cancel {
			c.announce = true
		}
		live = slices.DeleteFunc(live, func(o *mailbox.Dispatch) bool { return o.ID == d.ID })
		if !d.Status.Terminal() {
			live = append(live, d)
		}
	}
	epoch := c.epoch
	if t.Raise {
		epoch++
	}
	row := queueRow(live, c.now, c.since, c.wake)
	if row.since != nil || row.wake != nil {
		c.announce = true
	}
	queue(`UPDATE {p}_queues SET epoch = $3, priority = $4, since = $5, wake = $6, claimed = $7, token = $8, consumer = $9, lease = $10, stamp = $11
		WHERE tenant = $1 AND id = $2`, epoch, row.priority, row.since, row.wake, row.claimed, row.token, row.consumer, row.lease, row.stamp)
	return nil
}

// queueColumns are what a queue's row says about its dispatches.
type queueColumns struct {
	priority, since, wake, lease, stamp *int64
	claimed, token, consumer            *string
}

// queueRow computes the columns from the live dispatches, as the function ready does.
// Since and wake are those there were.
func queueRow(live []*mailbox.Dispatch, now int64, since, wake *int64) (c queueColumns) {
	for _, d := range live {
		if d.Status == mailbox.Claimed {
			id, token, consumer := escape(d.ID), escape(d.ClaimToken), escape(d.ClaimedBy)
			return queueColumns{claimed: &id, token: &token, consumer: &consumer, lease: &d.LeaseUntil, stamp: &d.UpdatedAt}
		}
		if d.AvailableAt > now/1000 {
			if c.wake == nil || d.AvailableAt < *c.wake {
				c.wake = &d.AvailableAt
			}
		} else if p := int64(d.Priority); c.priority == nil || p < *c.priority {
			c.priority = &p
		}
	}
	if c.priority != nil {
		if since == nil {
			since = &now
			if wake != nil && *wake*1000 < now {
				at := *wake * 1000
				since = &at
			}
		}
		c.since = since
	}
	return c
}
