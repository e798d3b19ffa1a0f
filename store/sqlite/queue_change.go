package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Change calls fn with a thread's queue and writes what fn recorded. It calls fn in the
// transaction: all other writes wait for fn.
func (s *scope) Change(ctx context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	return s.db.write(ctx, s.tenant, "change queue of thread "+threadID, func(c *conn) (refused, err error) {
		ch := &queueChange{queueConn: queueConn{c}, key: queueKey{s.tenant, threadID}}
		if err := ch.read(); err != nil {
			return nil, err
		}
		if refused := fn(&ch.Thread); refused != nil {
			return refused, nil
		}
		if refused, err := ch.check(); refused != nil || err != nil {
			return refused, err
		}
		return nil, ch.write()
	})
}

// queueChange is a Change in a transaction.
type queueChange struct {
	queueConn
	sqlstore.QueueChange
	key queueKey
}

// read reads the thread and its queue.
func (c *queueChange) read() (err error) {
	ctx, k := context.Background(), c.key
	c.Now = c.moment().us
	t := &c.Thread
	t.ID = k.thread
	var open string
	if t.Exists, err = c.row(ctx, `SELECT fence, last_seq, open_run, user_id FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{k.tenant, k.thread}, &t.End.Epoch, &t.End.Seq, &open, &t.UserID); err != nil {
		return err
	}
	if open != "" {
		if t.Open, err = c.of(k.tenant).scope().Run(ctx, portConn{c.conn}, open); err != nil {
			return err
		}
	}
	if _, err = c.row(ctx, `SELECT epoch, since, wake FROM {p}_queues WHERE tenant = ? AND id = ?`, []any{k.tenant, k.thread}, &t.Epoch, &c.Since, &c.Wake); err != nil {
		return err
	}
	live, err := c.dispatches(ctx, `d.tenant = ? AND d.thread = ? AND d.completed = 0`, k.tenant, k.thread)
	c.Begin(live)
	return err
}

// check refuses what was recorded if it must not be written.
func (c *queueChange) check() (refused, err error) {
	if refused := c.Refused(); refused != nil {
		return refused, nil
	}
	t, k := &c.Thread, c.key
	for i, d := range t.Put {
		var other string
		found, err := c.row(context.Background(), `SELECT id FROM {p}_dispatches WHERE tenant = ?1 AND id = ?2 AND thread <> ?3
			UNION ALL SELECT id FROM {p}_dispatches WHERE tenant = ?1 AND key = ?4 AND key <> '' AND id <> ?2
			UNION ALL SELECT id FROM {p}_dispatches WHERE tenant = ?1 AND thread = ?3 AND message = ?7 AND message <> '' AND id NOT IN (?2, ?8)
			UNION ALL SELECT id FROM {p}_runs WHERE ?5 AND tenant = ?1 AND id = ?6 AND thread <> ?3
			UNION ALL SELECT id FROM {p}_dispatches WHERE ?5 AND tenant = ?1 AND run = ?6 AND born IS NOT NULL AND completed = 0 AND thread <> ?3`,
			[]any{k.tenant, d.ID, k.thread, d.IdempotencyKey, c.Starts(d), d.RunID, d.MessageID, t.Release}, &other)
		if err != nil {
			return nil, err
		}
		message := d.MessageID
		if !c.IsNew(d) {
			message = ""
		}
		same := func(o *mailbox.Dispatch) bool {
			sameKey := o.IdempotencyKey == d.IdempotencyKey && d.IdempotencyKey != ""
			return o.ID != d.ID && (sameKey || o.MessageID == message && message != "" && c.IsNew(o))
		}
		if found || slices.ContainsFunc(t.Put[:i], same) {
			return fmt.Errorf("thread %s: dispatch %s: %w", k.thread, d.ID, mailbox.ErrDuplicate), nil
		}
	}
	return c.of(k.tenant).contradicted(t.Post)
}

// write writes what was recorded.
func (c *queueChange) write() error {
	statements, _, err := c.of(c.key.tenant).scope().Statements(&c.QueueChange)
	if err != nil || len(statements) == 0 {
		return err
	}
	if _, err := c.exec(`INSERT INTO {p}_queues (tenant, id) VALUES (?, ?) ON CONFLICT DO NOTHING`, c.key.tenant, c.key.thread); err != nil {
		return err
	}
	if _, err := (portConn{c.conn}).Exec(context.Background(), statements...); err != nil {
		return err
	}
	_, data, err := dialect.EncodeItems(c.Thread.Post)
	if err != nil {
		return err
	}
	return c.of(c.key.tenant).post(c.key.thread, c.Thread.Post, data)
}
