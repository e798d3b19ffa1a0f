package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// enqueuer queues the dispatches of all tenants. It groups concurrent calls. Those that are to
// be claimed at once have groups of their own.
type enqueuer struct {
	db            *database
	few           int // the most dispatches for which the SQL function for few is the faster one
	lanes, starts sqlstore.Lanes[*enqueueing]
}

func newEnqueuer(db *database) *enqueuer {
	e := &enqueuer{db: db, few: 4}
	e.lanes, e.starts = lanesOf(e.makeGroup), lanesOf(e.makeGroup)
	return e
}

// enqueueing is a call of Enqueue in flight.
type enqueueing struct {
	sqlstore.Turn[*enqueueing]
	ds    []enqueued
	tried bool // an earlier attempt may have succeeded
	err   error
}

// enqueued is a dispatch in flight. Its ids are escaped.
type enqueued struct {
	tenant, id, thread, run string
	priority, delay, max    int64
	dedupe, key, digest     string
	message, said           string
	request                 string // JSON
	user                    string
	idle, confined          bool
	consumer, token         string // of the claim, if it is to be claimed at once
	lease                   int64

	placed
}

// placed is what became of a dispatch.
type placed struct {
	taken   bool // queued, with the values below
	epoch   uint64
	at      int64
	end     awaken.Cursor // of the thread's log
	claimed bool
	fence   uint64 // of the thread, if it was acquired; 0 otherwise
}

// makeGroup makes several calls in one transaction. If that fails, it makes each alone.
func (e *enqueuer) makeGroup(ctx context.Context, calls []*enqueueing) {
	if len(calls) > 1 { // ctx belongs to only one of them
		ctx = context.WithoutCancel(ctx)
	}
	if err := e.make(ctx, calls); err != nil {
		for i, c := range calls {
			if c.err = err; len(calls) > 1 {
				c.err = e.make(ctx, calls[i:i+1])
			}
		}
	}
}

// make makes several calls in one transaction.
func (e *enqueuer) make(ctx context.Context, calls []*enqueueing) error {
	var all []*enqueued
	for _, c := range calls {
		for i := range c.ds {
			all = append(all, &c.ds[i])
		}
	}
	// Groups insert in the same order, so that they do not deadlock.
	slices.SortStableFunc(all, func(a, b *enqueued) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	if len(all) > 1 {
		all = distinct(all)
	}
	return retry(ctx, func() error {
		tried := calls[0].tried
		for _, c := range calls {
			c.tried = true
		}
		left, err := e.enqueue(ctx, all, false)
		for range 5 {
			if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || pgErr.Code != "23505" {
				break
			}
			left, err = e.enqueue(ctx, all, true) // one of them exists, perhaps since a moment ago
		}
		if err != nil || len(left) == 0 || !tried {
			return err
		}
		return e.find(ctx, left)
	})
}

// distinct drops dispatches whose id, run, key or message an earlier one has, and those that need an idle
// thread on which there is an earlier one.
func distinct(all []*enqueued) []*enqueued {
	type name struct{ kind, tenant, thread, name string }
	seen := make(map[name]bool, 2*len(all))
	return slices.DeleteFunc(all, func(q *enqueued) bool {
		names := [...]name{
			{"id", q.tenant, "", q.id},
			{"run", q.tenant, "", q.run},
			{"key", q.tenant, "", q.key},
			{"dedupe", q.tenant, q.thread, q.dedupe},
			{"message", q.tenant, q.thread, q.message},
			{"thread", q.tenant, "", q.thread},
		}
		for _, n := range names {
			if n.kind == "thread" && !q.idle {
				continue
			}
			if n.name != "" && seen[n] {
				return true
			}
		}
		for _, n := range names {
			if n.name != "" {
				seen[n] = true
			}
		}
		return false
	})
}

// enqueue queues dispatches and returns those that it left out. Unless look is set, it does
// not check whether they exist, and fails with a unique violation if one does.
func (e *enqueuer) enqueue(ctx context.Context, all []*enqueued, look bool) (left []*enqueued, err error) {
	start := all[0].consumer != "" && !look // what exists has to be looked up: it is not new
	query, args := e.many(all, look, start)
	if len(all) <= e.few {
		query, args = `SELECT * FROM {p}_accept_few($1, $2, $3, $4)`, []any{table(all, (*enqueued).row), table(queuesOf(all), (*queueOf).row), look, start}
	}
	var at int64
	var epochs, fences, seqs, owned []int64
	var claimed []bool
	if err := e.db.pool.QueryRow(ctx, e.db.sql(query), args...).Scan(&at, &epochs, &fences, &seqs, &claimed, &owned); err != nil {
		return nil, err
	}
	for i, q := range all {
		if epochs[i] < 0 {
			left = append(left, q)
			continue
		}
		q.taken, q.epoch, q.at, q.claimed, q.fence = true, uint64(epochs[i]), at, claimed[i], uint64(owned[i])
		q.end = awaken.Cursor{Epoch: uint64(fences[i]), Seq: uint64(seqs[i])}
	}
	return left, nil
}

// many returns the statement that queues many dispatches, and its arguments.
func (e *enqueuer) many(all []*enqueued, look, start bool) (query string, args []any) {
	texts := func(field func(q *enqueued) string) []string { return fields(all, field) }
	numbers := func(field func(q *enqueued) int64) []int64 { return fields(all, field) }
	var consumers []string // none if they are not to be claimed
	if start {
		consumers = texts(func(q *enqueued) string { return q.consumer })
	}
	return `SELECT e.*, array_fill(0::bigint, ARRAY[cardinality($2::text[])])
		FROM {p}_enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) e`, []any{
			texts(func(q *enqueued) string { return q.tenant }), texts(func(q *enqueued) string { return q.id }),
			texts(func(q *enqueued) string { return q.thread }), texts(func(q *enqueued) string { return q.run }),
			numbers(func(q *enqueued) int64 { return q.priority }), numbers(func(q *enqueued) int64 { return q.delay }),
			numbers(func(q *enqueued) int64 { return q.max }), texts(func(q *enqueued) string { return q.dedupe }),
			texts(func(q *enqueued) string { return q.key }), texts(func(q *enqueued) string { return q.digest }),
			texts(func(q *enqueued) string { return q.request }), look, texts(func(q *enqueued) string { return q.user }),
			fields(all, func(q *enqueued) bool { return q.idle }), fields(all, func(q *enqueued) bool { return q.confined }),
			consumers, texts(func(q *enqueued) string { return q.token }), numbers(func(q *enqueued) int64 { return q.lease }),
			texts(func(q *enqueued) string { return q.message }), texts(func(q *enqueued) string { return q.said })}
}

// row returns the dispatch as a row for the SQL function accept_few.
func (q *enqueued) row() []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	flag := func(b bool) string { return strconv.FormatBool(b)[:1] }
	return []string{q.tenant, q.id, q.thread, q.run, number(q.priority), number(q.delay), number(q.max), q.dedupe, q.key, q.digest, q.request, q.user,
		flag(q.idle), flag(q.confined), q.token, q.message, q.said}
}

// queueOf is the queue of a thread with dispatches in flight.
type queueOf struct {
	first           *enqueued
	place           int    // of the first, from 1
	priority, delay *int64 // the highest of those without a delay, and the shortest of the others; nil if there are none
}

// queuesOf returns the queues of dispatches, in the order in which they are locked.
func queuesOf(all []*enqueued) (out []*queueOf) {
	for i, q := range all {
		at := slices.IndexFunc(out, func(o *queueOf) bool { return o.first.tenant == q.tenant && o.first.thread == q.thread })
		if at < 0 {
			at, out = len(out), append(out, &queueOf{first: q, place: i + 1})
		}
		o := out[at]
		switch {
		case q.delay > 0 && (o.delay == nil || q.delay < *o.delay):
			o.delay = &q.delay
		case q.delay <= 0 && (o.priority == nil || q.priority < *o.priority):
			o.priority = &q.priority
		}
	}
	slices.SortFunc(out, func(a, b *queueOf) int {
		return cmp.Or(cmp.Compare(a.first.tenant, b.first.tenant), cmp.Compare(a.first.thread, b.first.thread))
	})
	return out
}

// row returns the queue as a row for the SQL function accept_few.
func (o *queueOf) row() []string {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	q := o.first
	return []string{q.tenant, q.thread, strconv.Itoa(o.place), number(o.priority), number(o.delay), q.id, q.token, q.consumer, number(&q.lease)}
}

// table returns rows as an array of two dimensions.
func table[T any](all []T, row func(v T) []string) (out pgtype.Array[string]) {
	for _, v := range all {
		r := row(v)
		out.Elements = append(out.Elements, r...)
		out.Dims = []pgtype.ArrayDimension{{Length: int32(len(all)), LowerBound: 1}, {Length: int32(len(r)), LowerBound: 1}}
	}
	out.Valid = true
	return out
}

func fields[T any](all []*enqueued, field func(q *enqueued) T) []T {
	out := make([]T, len(all))
	for i, q := range all {
		out[i] = field(q)
	}
	return out
}

// find marks the dispatches as taken that an earlier attempt has queued.
func (e *enqueuer) find(ctx context.Context, left []*enqueued) error {
	for _, q := range left {
		err := e.db.query(ctx, `SELECT d.epoch, d.created, coalesce(q.token = $5, false) FROM `+sqlstore.DispatchTables+`
			WHERE d.tenant = $1 AND d.id = $2 AND d.thread = $3 AND d.run = $4`,
			[]any{q.tenant, q.id, q.thread, q.run, q.token}, func() {}, func(rows pgx.Rows) error {
				q.taken = true
				return rows.Scan(&q.epoch, &q.at, &q.claimed)
			})
		if err != nil {
			return err
		}
	}
	return nil
}
