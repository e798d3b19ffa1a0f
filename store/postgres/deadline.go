package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A context that ends while a connection waits for a response gives the connection a deadline in the past. If the response is
// there already, the call succeeds, and the connection returns to the pool. But pgx may still read ahead (it starts a
// goroutine for that when a write takes 15 ms, as on a busy machine), and that goroutine keeps the error of the deadline for the
// next call, which fails although nothing is wrong. So a connection whose deadline has passed is not used again.

// passed is where a connection notes that its deadline has passed.
const passed = "awaken: deadline passed"

// deadline is pgx's handler of contexts that end, with that note.
type deadline struct {
	pgconn.DeadlineContextWatcherHandler
	conn *pgconn.PgConn
}

func newDeadline(conn *pgconn.PgConn) ctxwatch.Handler {
	return &deadline{pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}, conn}
}

func (d *deadline) HandleUnwatchAfterCancel() {
	d.DeadlineContextWatcherHandler.HandleUnwatchAfterCancel()
	d.conn.CustomData()[passed] = true
}

// dropPassed makes the pool close connections whose deadline has passed instead of lending them again.
func dropPassed(config *pgxpool.Config) {
	config.ConnConfig.BuildContextWatcherHandler = newDeadline
	config.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		_, late := c.PgConn().CustomData()[passed]
		return !late, nil
	}
}
