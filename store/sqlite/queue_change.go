package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Change changes a thread's queue. Fn is called inside the transaction: whatever else
// is to be written waits for it.
func (s *scope) Change(ctx context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	return s.db.write(ctx, "change queue of thread "+threadID, func(c *conn) (refused, err error) {
		ch := &queueChange{queueConn: queueConn{c}, key: queueKey{s.tenant, threadID}}
		if err := ch.read(); err != nil {
			return nil, err
		}
		if refused := fn(&ch.thread); refused != nil {
			return refused, nil
		}
		if refused, err := ch.check(); refused != nil || err != nil {
			return refused, err
		}
		return nil, ch.write()
	})
}

// queueChange is a Change inside a transaction.
type queueChange struct {
	queueConn
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
		if t.Open, err = c.of(k.tenant).scope().Run(ctx, portConn{c.conn}, open); err != nil {
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
			return threads.NotFound(k.thread), nil
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
		if err := c.of(k.tenant).makeThread(k.thread, c.now); err != nil {
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
		if err := c.of(k.tenant).putRun(r); err != nil {
			return err
		}
	}
	_, data, err := dialect.EncodeItems(t.Post)
	if err != nil {
		return err
	}
	return c.of(k.tenant).post(k.thread, t.Post, data)
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
