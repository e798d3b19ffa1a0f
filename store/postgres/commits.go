package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// commits applies the commits of all tenants. A group of commits is one transaction and one
// write to the log of the server, but each is checked on its own.
type commits struct {
	db      *database
	lanes   sqlstore.Lanes[*pending]
	quickly func(c *awaken.Commit) *shortcut // the shortcut for a commit, or nil
}

func newCommits(db *database, lanes int) *commits {
	g := &commits{db: db, quickly: quickly}
	g.lanes.Max, g.lanes.Make = lanes, g.makeGroup
	return g
}

// pending is a commit in flight.
type pending struct {
	sqlstore.Turn[*pending]
	params *params
	call   *shortcut // of the function
	repeat bool      // repeating it is safe
	quick  *shortcut // to try first, or nil
	made   bool      // code is set
	code   int64     // result of the SQL function
	err    error
}

// makeGroup applies commits in one transaction. If that fails, it applies each alone.
func (g *commits) makeGroup(ctx context.Context, members []*pending) {
	ctx, cancel := context.WithTimeout(ctx, g.db.timeout)
	defer cancel()
	// Groups lock threads in the same order, so that they do not deadlock.
	ordered := members
	if len(members) > 1 {
		ordered = slices.Clone(members)
		slices.SortStableFunc(ordered, func(a, b *pending) int {
			return cmp.Or(bytes.Compare(a.params.values[0], b.params.values[0]), bytes.Compare(a.params.values[1], b.params.values[1]))
		})
	}
	err := g.send(ctx, ordered)
	for _, p := range ordered {
		if err == nil && p.made {
			continue
		}
		p.quick = nil // the function returns the reason
		_, undone := errors.AsType[*pgconn.PgError](err)
		switch {
		case err == nil, p.repeat && worthRetry(err), len(ordered) > 1 && (p.repeat || undone):
			p.err = g.makeAlone(ctx, p)
		default:
			p.err = err
		}
	}
}

func (g *commits) makeAlone(ctx context.Context, p *pending) error {
	attempt := func() error {
		err := g.send(ctx, []*pending{p})
		if err == nil && !p.made {
			err = errors.New("the server returned no result")
		}
		return err
	}
	if p.repeat {
		return retry(ctx, attempt)
	}
	return attempt()
}

// send applies commits in one transaction and one round trip. Those with made set were
// applied or refused, as their code says.
func (g *commits) send(ctx context.Context, members []*pending) (err error) {
	c, err := g.db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	conn := c.Conn().PgConn()
	// A deadline is cheaper than a context, for which pgx starts a goroutine.
	deadline, _ := ctx.Deadline()
	if err := conn.Conn().SetDeadline(deadline); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Conn().SetDeadline(time.Time{})) }()
	if len(members) == 1 && !g.db.unprepared { // a batch costs another copy
		p := members[0]
		stmt, values, err := g.statement(ctx, c, p)
		if err != nil {
			return err
		}
		r := conn.ExecPrepared(context.Background(), stmt, values, binaryFormat, binaryFormat)
		p.judge(r)
		_, err = r.Close()
		return err
	}
	var b pgconn.Batch
	for _, p := range members {
		stmt, values, err := g.statement(ctx, c, p)
		switch {
		case err != nil:
			return err
		case g.db.unprepared:
			b.ExecParams(stmt, values, nil, binaryFormat, binaryFormat)
		default:
			b.ExecPrepared(stmt, values, binaryFormat, binaryFormat)
		}
	}
	results := conn.ExecBatch(context.Background(), &b)
	for i := 0; results.NextResult(); i++ {
		members[i].judge(results.ResultReader())
	}
	return results.Close()
}

// statement returns the statement of a commit, prepared unless that is off, with its
// arguments.
func (g *commits) statement(ctx context.Context, c *pgxpool.Conn, p *pending) (stmt string, values [][]byte, err error) {
	how := cmp.Or(p.quick, p.call)
	stmt, values = g.db.sql(how.query), p.params.values[:how.params]
	p.made = false
	if g.db.unprepared {
		return stmt, values, nil
	}
	prepared, err := c.Conn().Prepare(ctx, stmt, stmt)
	if err != nil {
		return "", nil, err
	}
	return prepared.Name, values, nil
}

// judge reads the result of a commit.
func (p *pending) judge(r *pgconn.ResultReader) {
	for r.NextRow() {
		p.made, p.code = true, int64(binary.BigEndian.Uint64(r.Values()[0]))
	}
}
