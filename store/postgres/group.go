package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// lanesOf returns lanes for statements that take one set of rows for all calls of a group. One lane is in use as long as no group is held up.
func lanesOf[T sqlstore.Call[T]](makeGroup func(ctx context.Context, calls []T)) sqlstore.Lanes[T] {
	return sqlstore.Lanes[T]{Max: setLanes, Make: makeGroup, Gather: true, Patience: 25 * time.Millisecond}
}

// setLanes is the number of groups of one kind that may be in flight at the same time.
const setLanes = 2

// hotConnections is the number of connections for the statements that every run needs.
const hotConnections = 2 * setLanes

// hotPool returns a pool whose connections plan for sets of a few rows, whatever the size of the tables: each look-up goes by an index. The
// plans of functions are made once per connection, perhaps while the tables are empty.
func hotPool(ctx context.Context, config *pgxpool.Config, db *database) (*pgxpool.Pool, error) {
	if db.unprepared { // a pooler may give the connection to another client
		return db.pool, nil
	}
	c := config.Copy()
	c.MaxConns, c.MinConns, c.MinIdleConns = hotConnections, 0, 0
	then := c.AfterConnect
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if then != nil {
			if err := then(ctx, conn); err != nil {
				return err
			}
		}
		_, err := conn.Exec(ctx, `SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off`)
		return err
	}
	return pgxpool.NewWithConfig(ctx, c)
}

// close closes all connections.
func (db *database) close() {
	if db.hot != db.pool {
		db.hot.Close()
	}
	db.pool.Close()
}

// errNoRow is the error of a function that returned nothing.
var errNoRow = errors.New("the server returned no result")

// callRow calls a function, whose arguments are in binary format, and passes the columns of its row to read once they are committed.
func (db *database) callRow(ctx context.Context, query string, values [][]byte, read func(columns [][]byte)) (err error) {
	c, err := db.hot.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	conn := c.Conn().PgConn()
	by, _ := ctx.Deadline() // cheaper than a context, for which pgx starts a goroutine
	if err := conn.Conn().SetDeadline(by); err != nil {
		return err
	}
	defer func() {
		if !time.Now().Before(by) {
			conn.CustomData()[passed] = true
		}
		err = errors.Join(err, conn.Conn().SetDeadline(time.Time{}))
	}()
	query = db.sql(query)
	var r *pgconn.ResultReader
	if db.unprepared {
		r = conn.ExecParams(context.Background(), query, values, nil, binaryFormat, binaryFormat)
	} else {
		prepared, err := c.Conn().Prepare(ctx, query, query)
		if err != nil {
			return err
		}
		r = conn.ExecPrepared(context.Background(), prepared.Name, values, binaryFormat, binaryFormat)
	}
	var row [][]byte
	for r.NextRow() {
		row = make([][]byte, len(r.Values()))
		for i, v := range r.Values() {
			row[i] = bytes.Clone(v)
		}
	}
	if _, err := r.Close(); err != nil { // also if the transaction could not be committed
		return err
	}
	if row == nil {
		return errNoRow
	}
	read(row)
	return nil
}
