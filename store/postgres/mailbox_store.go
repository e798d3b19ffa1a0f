package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// enqueueLanes is how many groups of Enqueue calls may be on their way at the same time.
// Few, because what a group costs depends little on how many are in it.
const enqueueLanes = 2

// Enqueue queues dispatches that start runs, in one round trip. Those that come while
// others are on their way travel together.
func (s *Store) Enqueue(ctx context.Context, ds ...*mailbox.Dispatch) (left []int, err error) {
	if len(ds) == 0 {
		return nil, nil
	}
	e := &enqueueing{ds: make([]enqueued, len(ds))}
	for i, d := range ds {
		q := &e.ds[i]
		if *q, err = s.enqueued(d); err != nil {
			return nil, fmt.Errorf("enqueue dispatch %s: %w", d.ID, err)
		}
	}
	if err := s.db.enqueues.do(ctx, e); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	for i, d := range ds {
		q := &e.ds[i]
		if !q.taken {
			left = append(left, i)
			continue
		}
		d.Tenant, d.Status, d.Epoch = unescape(s.tenant), mailbox.Queued, q.epoch
		d.CreatedAt, d.UpdatedAt, d.AvailableAt = q.at, q.at, q.at+max(d.AvailableAt, 0)
	}
	if len(left) < len(ds) {
		s.db.announce()
	}
	return left, nil
}

// enqueueing is a call of Enqueue on its way.
type enqueueing struct {
	ds    []enqueued
	tried bool // it may have been made already
}

// enqueued is a dispatch on its way. Its texts are escaped.
type enqueued struct {
	tenant, id, thread, run string
	priority, delay, max    int64
	dedupe, key, digest     string
	request, record         string // JSON

	taken bool // it is queued, with
	epoch uint64
	at    int64
}

func (s *Store) enqueued(d *mailbox.Dispatch) (q enqueued, err error) {
	if d.Request == nil {
		return q, fmt.Errorf("%w: it has no request", awaken.ErrInvalid)
	}
	q = enqueued{tenant: s.tenant, id: escape(d.ID), thread: escape(d.ThreadID), run: escape(d.RunID),
		priority: int64(d.Priority), delay: d.AvailableAt, max: int64(d.MaxAttempts),
		dedupe: escape(d.DedupeKey), key: escape(d.IdempotencyKey), digest: escape(d.Digest)}
	if q.request, err = encode(d.Request); err != nil {
		return q, err
	}
	fresh := *d
	fresh.CreatedAt = 0 // the database knows
	q.record, err = encode(fresh.NewRun())
	return q, err
}

// makeEnqueues queues what several calls want queued in one transaction.
func (db *DB) makeEnqueues(ctx context.Context, calls []*enqueueing) error {
	var all []*enqueued
	for _, c := range calls {
		for i := range c.ds {
			all = append(all, &c.ds[i])
		}
	}
	// What is taken at the same time is waited for in one order everywhere.
	slices.SortStableFunc(all, func(a, b *enqueued) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	if len(all) > 1 {
		all = distinct(all)
	}
	return db.retry(ctx, func() error {
		tried := calls[0].tried
		for _, c := range calls {
			c.tried = true
		}
		left, err := db.enqueue(ctx, all, false)
		for range 5 {
			if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "23505" {
				break
			}
			left, err = db.enqueue(ctx, all, true) // something is there, or was made just now
		}
		if err != nil || len(left) == 0 || !tried {
			return err
		}
		return db.findEnqueued(ctx, left)
	})
}

// distinct leaves out dispatches that have something in common that only one can have.
func distinct(all []*enqueued) []*enqueued {
	type name struct{ kind, tenant, thread, name string }
	seen := make(map[name]bool, 2*len(all))
	return slices.DeleteFunc(all, func(q *enqueued) bool {
		names := [...]name{{"id", q.tenant, "", q.id}, {"run", q.tenant, "", q.run}, {"key", q.tenant, "", q.key}, {"dedupe", q.tenant, q.thread, q.dedupe}}
		for _, n := range names {
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

// enqueue queues dispatches, and returns those that were left out. If it does not look
// whether what it makes is there, it may fail because it is.
func (db *DB) enqueue(ctx context.Context, all []*enqueued, look bool) (left []*enqueued, err error) {
	var at int64
	var epochs []int64
	texts := func(field func(q *enqueued) string) []string { return fields(all, field) }
	numbers := func(field func(q *enqueued) int64) []int64 { return fields(all, field) }
	if err := db.pool.QueryRow(ctx, db.sql(`SELECT * FROM {p}_enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`),
		texts(func(q *enqueued) string { return q.tenant }), texts(func(q *enqueued) string { return q.id }),
		texts(func(q *enqueued) string { return q.thread }), texts(func(q *enqueued) string { return q.run }),
		numbers(func(q *enqueued) int64 { return q.priority }), numbers(func(q *enqueued) int64 { return q.delay }),
		numbers(func(q *enqueued) int64 { return q.max }), texts(func(q *enqueued) string { return q.dedupe }),
		texts(func(q *enqueued) string { return q.key }), texts(func(q *enqueued) string { return q.digest }),
		texts(func(q *enqueued) string { return q.request }), texts(func(q *enqueued) string { return q.record }), look).Scan(&at, &epochs); err != nil {
		return nil, err
	}
	for i, q := range all {
		if epochs[i] < 0 {
			left = append(left, q)
			continue
		}
		q.taken, q.epoch, q.at = true, uint64(epochs[i]), at
	}
	return left, nil
}

func fields[T any](all []*enqueued, field func(q *enqueued) T) []T {
	out := make([]T, len(all))
	for i, q := range all {
		out[i] = field(q)
	}
	return out
}

// findEnqueued says of dispatches that were left out whether they are there, as the
// same.
func (db *DB) findEnqueued(ctx context.Context, left []*enqueued) error {
	for _, q := range left {
		err := db.query(ctx, `SELECT epoch, created FROM {p}_dispatches WHERE tenant = $1 AND id = $2 AND thread = $3 AND run = $4`,
			[]any{q.tenant, q.id, q.thread, q.run}, func() {}, func(rows pgx.Rows) error {
				q.taken = true
				return rows.Scan(&q.epoch, &q.at)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// Dispatch returns a dispatch by its id.
func (s *Store) Dispatch(ctx context.Context, id string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "dispatch "+id, `d.id = $2`, id)
}

// Submitted returns the dispatch of an idempotency key.
func (s *Store) Submitted(ctx context.Context, key string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "idempotency key "+key, `d.key = $2 AND d.key <> ''`, key)
}

func (s *Store) dispatch(ctx context.Context, what, where, arg string) (d *mailbox.Dispatch, err error) {
	err = s.db.query(ctx, `SELECT `+dispatchColumns+`, `+claimColumns+` FROM `+dispatchTables+` WHERE d.tenant = $1 AND `+where, []any{s.tenant, escape(arg)},
		func() { d = nil }, func(rows pgx.Rows) (err error) { d, err = scanDispatch(rows); return err })
	if err == nil && d == nil {
		err = awaken.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return d, nil
}

// selected are the conditions of a query, with their arguments from $1 on.
func (s *Store) selected(q mailbox.Query) (where string, args []any) {
	where, args = `d.tenant = $1`, []any{s.tenant}
	if q.ThreadID != "" {
		args = append(args, escape(q.ThreadID))
		where += fmt.Sprintf(` AND d.thread = $%d`, len(args))
	}
	if q.RunID != "" {
		// Who the run belongs to says where its dispatches are, so they need no index.
		args = append(args, escape(q.RunID))
		where += fmt.Sprintf(` AND d.run = $%d AND d.thread = (SELECT thread FROM {p}_runs WHERE tenant = $1 AND id = $%[1]d)`, len(args))
	}
	if len(q.Statuses) > 0 {
		statuses := make([]string, len(q.Statuses))
		for i, status := range q.Statuses {
			statuses[i] = string(status)
		}
		args = append(args, statuses)
		where += fmt.Sprintf(` AND CASE WHEN q.id IS NULL THEN d.status ELSE 'Claimed' END = ANY ($%d::text[])`, len(args))
	}
	return where, args
}

// Dispatches lists dispatches.
func (s *Store) Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	where, args := s.selected(q)
	order := `d.created DESC, d.id DESC`
	if q.ThreadID != "" || q.RunID != "" {
		order = `d.priority, d.created, d.id`
	}
	offset, limit := page(q.Offset, q.Limit)
	query := fmt.Sprintf(`SELECT `+dispatchColumns+`, `+claimColumns+` FROM `+dispatchTables+` WHERE `+where+` ORDER BY `+order+` LIMIT $%d OFFSET $%d`, len(args)+1, len(args)+2)
	var out []*mailbox.Dispatch
	err := s.db.query(ctx, query, append(args, limit, offset), func() { out = nil }, func(rows pgx.Rows) error {
		d, err := scanDispatch(rows)
		out = append(out, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list dispatches: %w", err)
	}
	return out, nil
}

// PurgeDispatches removes the dispatches of q that are over, on all its pages.
func (s *Store) PurgeDispatches(ctx context.Context, q mailbox.Query) (n int, err error) {
	where, args := s.selected(q)
	err = s.db.retry(ctx, func() error {
		tag, err := s.db.pool.Exec(ctx, s.db.sql(`DELETE FROM {p}_dispatches USING (SELECT d.id FROM `+dispatchTables+` WHERE d.completed > 0 AND `+where+`) o
			WHERE {p}_dispatches.tenant = $1 AND {p}_dispatches.id = o.id`), args...)
		n = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge dispatches: %w", err)
	}
	return n, nil
}

// encodeRequest is the request as JSON, or nil.
func encodeRequest(d *mailbox.Dispatch) (*string, error) {
	if d.Request == nil {
		return nil, nil
	}
	data, err := json.Marshal(d.Request)
	if err != nil {
		return nil, fmt.Errorf("dispatch %s: %w", d.ID, err)
	}
	out := text(bytes.TrimSpace(data))
	return &out, nil
}
