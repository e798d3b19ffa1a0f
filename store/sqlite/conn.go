package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// conn is a connection with its prepared statements. Only one goroutine at a time may use
// it.
type conn struct {
	db    *database
	c     *sql.Conn
	stmts map[string]*sql.Stmt // by their text before translation

	lastMoment int64 // Unix µs; the highest that moment returned
}

// close closes the connection. A second call does nothing.
func (c *conn) close() error {
	for query, s := range c.stmts { // open statements keep the file open
		_ = s.Close()
		delete(c.stmts, query)
	}
	if err := c.c.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}

// stmt returns a prepared statement.
func (c *conn) stmt(query string) (*sql.Stmt, error) {
	c.db.statements.Add(1)
	if c.db.trace != nil {
		c.db.trace(query)
	}
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.c.PrepareContext(context.Background(), c.db.translate(query))
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

// exec executes a statement and returns how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls each for every row, until each returns errStop.
func (c *conn) query(ctx context.Context, query string, args []any, each func(scan sqlstore.Scan) error) error {
	s, err := c.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	// If ctx is done, Next returns while another goroutine closes the rows. Close waits for that: until
	// then the statement is in use.
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); errors.Is(err, errStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

var errStop = errors.New("stop")

// row scans one row. It reports whether there is one.
func (c *conn) row(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	found := false
	err := c.query(ctx, query, args, func(scan sqlstore.Scan) error {
		found = true
		if err := scan(dest...); err != nil {
			return err
		}
		return errStop
	})
	return found, err
}

// useWAL switches the database to a write-ahead log. It retries while another process does
// the same, for which SQLite does not wait.
func (c *conn) useWAL(ctx context.Context) error {
	for deadline := time.Now().Add(busyTimeout); ; {
		var mode string
		err := c.c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("the file system does not support a write-ahead log: journal mode is %s", mode)
		case !isBusy(err) || time.Now().After(deadline):
			return fmt.Errorf("write-ahead log: %w", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// transact makes a group of changes in one transaction. If one of them fails, it makes each
// in its own transaction.
func (c *conn) transact(group []*change) {
	if err := c.transactAll(group); err != nil {
		if len(group) == 1 {
			group[0].err = err
			return
		}
		for i := range group {
			c.transact(group[i : i+1])
		}
	}
}

func (c *conn) transactAll(group []*change) (err error) {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // an error or a panic
			_, rollbackErr := c.exec("ROLLBACK")
			err = errors.Join(err, rollbackErr)
		}
	}()
	for _, ch := range group {
		if err := ch.make(c); err != nil {
			return err
		}
	}
	if _, err := c.exec("COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	done = true
	c.db.transactions.Add(1)
	return nil
}
