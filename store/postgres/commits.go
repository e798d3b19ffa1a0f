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
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// commits applies the commits of all tenants. A group of commits is one transaction and one
// write to the log of the server, but each is checked on its own.
type commits struct {
	db      *database
	lanes   sqlstore.Lanes[*pending]
	quickly func(c *awaken.Commit) *shortcut // the shortcut for a commit, or nil
	marks   sqlstore.Marks
}

func newCommits(db *database, lanes int) *commits {
	g := &commits{db: db, quickly: quickly}
	g.lanes.Max, g.lanes.Make = lanes, g.makeGroup
	return g
}

// pending is a commit in flight.
type pending struct {
	sqlstore.Turn[*pending]
	params  *params
	repeat  bool      // repeating it is safe
	quick   *shortcut // to try first, or nil
	settles *settling // or nil
	made    bool      // code is set
	code    int64     // result of the SQL function
	err     error
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
			p.err = classified(err)
		}
		if p.err != nil && ctx.Err() != nil && fault.OutageOf(p.err) == nil { // no client has cancelled it
			p.err = &fault.Outage{Reason: "the store is too slow", Err: p.err}
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
	return classified(attempt())
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
	by, _ := ctx.Deadline()
	if err := conn.Conn().SetDeadline(by); err != nil {
		return err
	}
	defer func() {
		if !time.Now().Before(by) {
			conn.CustomData()[passed] = true
		}
		err = errors.Join(err, conn.Conn().SetDeadline(time.Time{}))
	}()
	if p := members[0]; len(members) == 1 && !g.db.unprepared { // a batch costs another copy
		stmt, values, judge := g.text(p)
		prepared, err := c.Conn().Prepare(ctx, stmt, stmt)
		if err != nil {
			return err
		}
		r := conn.ExecPrepared(context.Background(), prepared.Name, values, binaryFormat, binaryFormat)
		judge(r)
		_, err = r.Close()
		return err
	}
	b := batch{commits: g, conn: c}
	for _, p := range members { // queues are locked before threads, also those of other members
		if p.settles != nil && len(members) > 1 {
			b.add(ctx, g.db.sql(holdQueue), p.hold(), drain)
		}
	}
	for _, p := range members {
		stmt, values, judge := g.text(p)
		b.add(ctx, stmt, values, judge)
	}
	return b.send()
}

// batch is a list of statements that are sent together, and what reads their results.
type batch struct {
	*commits
	conn *pgxpool.Conn
	pgconn.Batch
	read []func(r *pgconn.ResultReader)
	err  error // of a statement that could not be prepared
}

// add adds a statement, prepared unless that is off.
func (b *batch) add(ctx context.Context, stmt string, values [][]byte, read func(r *pgconn.ResultReader)) {
	b.read = append(b.read, read)
	if b.db.unprepared {
		b.ExecParams(stmt, values, nil, binaryFormat, binaryFormat)
		return
	}
	prepared, err := b.conn.Conn().Prepare(ctx, stmt, stmt)
	if b.err = cmp.Or(b.err, err); b.err == nil {
		b.ExecPrepared(prepared.Name, values, binaryFormat, binaryFormat)
	}
}

func (b *batch) send() error {
	if b.err != nil {
		return b.err
	}
	results := b.conn.Conn().PgConn().ExecBatch(context.Background(), &b.Batch)
	for i := 0; results.NextResult(); i++ {
		b.read[i](results.ResultReader())
	}
	return results.Close()
}

// text returns the statement of a commit, its arguments, and what reads its result.
func (g *commits) text(p *pending) (stmt string, values [][]byte, judge func(r *pgconn.ResultReader)) {
	p.made = false
	if p.settles != nil {
		p.settles.code = 0
		return g.db.sql(finishRun), p.finish(), p.judgeFinish
	}
	how := cmp.Or(p.quick, &anyCommit)
	return g.db.sql(how.query), how.arguments(p.params.values), p.judge
}

// drain reads a result that says nothing.
func drain(r *pgconn.ResultReader) {
	for r.NextRow() {
	}
}

// judge reads the result of a commit.
func (p *pending) judge(r *pgconn.ResultReader) {
	for r.NextRow() {
		p.made, p.code = true, int64(binary.BigEndian.Uint64(r.Values()[0]))
	}
}
