package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Change calls fn with a thread's queue and writes what fn recorded, in two round trips: one
// locks and reads, the other writes. It holds a connection and the locks in between.
func (s *scope) Change(ctx context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	c := &queueChange{scope: *s, threadID: threadID, fn: fn}
	err := retry(ctx, func() error {
		err := c.make(ctx)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.ConstraintName == s.db.prefix+"_dispatches_run" {
			err = c.make(ctx) // another dispatch has just become the record of its run
		}
		return err
	})
	if s.db.contradicts(err) {
		return s.contradicted(ctx, c.Thread.Post)
	}
	if err != nil {
		if c.refused != nil {
			return c.refused
		}
		return fmt.Errorf("change queue of thread %s: %w", threadID, err)
	}
	if c.announce != (mailbox.Signal{}) {
		s.announcer.announce(c.announce)
	}
	return nil
}

// queueChange is a Change in flight.
type queueChange struct {
	scope
	sqlstore.QueueChange
	threadID string
	fn       func(t *mailbox.Thread) error

	try      string // the transaction ID of the last attempt
	refused  error
	announce mailbox.Signal
}

// make makes one attempt.
func (c *queueChange) make(ctx context.Context) (err error) {
	conn, err := c.db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer func() {
		if conn.Conn().PgConn().TxStatus() != 'I' { // the pool closes connections in a transaction
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
	if c.refused = c.fn(&c.Thread); c.refused != nil {
		return c.refused
	}
	return c.write(ctx, conn)
}

// read locks and reads the queue and the thread. Done reports that an earlier attempt was
// committed after all.
func (c *queueChange) read(ctx context.Context, conn *pgxpool.Conn) (done bool, err error) {
	c.QueueChange, c.refused = sqlstore.QueueChange{Thread: mailbox.Thread{ID: c.threadID}}, nil
	var b pgx.Batch
	queue := func(query string) { b.Queue(c.db.sql(query), c.tenant, escape(c.threadID)) }
	b.Queue("BEGIN")
	queue(`SELECT epoch, since, wake FROM {p}_queue($1, $2)`)
	queue(`SELECT fence, last_seq, user_id FROM {p}_threads WHERE tenant = $1 AND id = $2 FOR UPDATE`)
	queue(`SELECT ` + sqlstore.RunColumns + ` FROM {p}_runs r WHERE r.tenant = $1 AND r.id = (SELECT open_run FROM {p}_threads WHERE tenant = $1 AND id = $2)`)
	queue(`SELECT ` + sqlstore.DispatchColumns + ` FROM ` + sqlstore.DispatchTables + ` WHERE d.tenant = $1 AND d.thread = $2 AND d.completed = 0`)
	b.Queue(c.db.sql(`SELECT {p}_now(), pg_current_xact_id()::text, coalesce(pg_xact_status(nullif($1, '')::xid8) = 'committed', false)`), c.try)
	results := conn.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()

	t := &c.Thread
	if _, err := results.Exec(); err != nil {
		return false, err
	}
	if err := results.QueryRow().Scan(&t.Epoch, &c.Since, &c.Wake); err != nil {
		return false, err
	}
	err = results.QueryRow().Scan(&t.End.Epoch, &t.End.Seq, &t.UserID)
	if t.Exists = err == nil; err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	t.UserID = unescape(t.UserID)
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
	var live []*mailbox.Dispatch
	if err := forEach(rows, func(rows pgx.Rows) error {
		d, err := dialect.ScanDispatch(rows.Scan)
		live = append(live, d)
		return err
	}); err != nil {
		return false, err
	}
	err = results.QueryRow().Scan(&c.Now, &c.try, &done)
	c.Begin(live)
	return done, err
}

// write makes what fn recorded durable.
func (c *queueChange) write(ctx context.Context, conn *pgxpool.Conn) error {
	if c.refused = c.Refused(); c.refused != nil {
		return c.refused
	}
	s := sqlstore.NewScope(c.db, c.tenant)
	statements, announce, err := s.Statements(&c.QueueChange)
	if err != nil || len(statements) == 0 {
		return err
	}
	c.announce = announce
	var b pgx.Batch
	for _, st := range statements {
		b.Queue(c.db.sql(st.Query), st.Args...)
	}
	if post := c.Thread.Post; len(post) > 0 {
		ids, data, err := dialect.EncodeItems(post)
		if err != nil {
			return err
		}
		b.Queue(c.db.sql(`SELECT {p}_post($1, $2, $3, $4)`), c.tenant, escape(c.threadID), ids, data)
		if c.refused = (threads.Decided{}).Check(post); c.refused != nil {
			return c.refused
		}
		records, err := s.PutDecided(c.threadID, post)
		if err != nil {
			return err
		}
		for _, st := range records {
			b.Queue(c.db.sql(st.Query), st.Args...)
		}
	}
	b.Queue("COMMIT")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.db.timeout) // cancelled, its outcome would be unknown
	defer cancel()
	err = conn.SendBatch(ctx, &b).Close()
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.TableName == c.db.prefix+"_dispatches" {
		switch e.Code {
		case "23505": // another dispatch has the key or the message
			if e.ConstraintName == c.db.prefix+"_dispatches_run" {
				return err
			}
			c.refused = fmt.Errorf("thread %s: %w: another dispatch has the idempotency key or the message", c.threadID, mailbox.ErrDuplicate)
		case "23502": // another thread has a dispatch with that id, or its run; see [sqlstore.Scope.Statements]
			c.refused = fmt.Errorf("thread %s: %w: another thread has a dispatch with this id, or its run", c.threadID, mailbox.ErrDuplicate)
		}
		if c.refused != nil {
			return c.refused
		}
	}
	return err
}
