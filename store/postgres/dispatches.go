package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// dispatches implements [mailbox.Store]: it is a tenant's part of the queue.
type dispatches struct {
	scope
	enqueuer  *enqueuer
	announcer *announcer
}

// Enqueue queues dispatches that start runs, in one round trip. Those that come while
// others are on their way travel together.
func (s *dispatches) Enqueue(ctx context.Context, ds ...*mailbox.Dispatch) (left []int, err error) {
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
	if err := s.enqueuer.lanes.do(ctx, e); err != nil {
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
		s.announcer.announce()
	}
	return left, nil
}

func (s *dispatches) enqueued(d *mailbox.Dispatch) (q enqueued, err error) {
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

// Dispatch returns a dispatch by its id.
func (s *dispatches) Dispatch(ctx context.Context, id string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "dispatch "+id, `d.id = $2`, id)
}

// Submitted returns the dispatch of an idempotency key.
func (s *dispatches) Submitted(ctx context.Context, key string) (*mailbox.Dispatch, error) {
	return s.dispatch(ctx, "idempotency key "+key, `d.key = $2 AND d.key <> ''`, key)
}

func (s *dispatches) dispatch(ctx context.Context, what, where, arg string) (d *mailbox.Dispatch, err error) {
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
func (s *dispatches) selected(q mailbox.Query) (where string, args []any) {
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
func (s *dispatches) Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	where, args := s.selected(q)
	order := `d.created DESC, d.id DESC`
	if q.ThreadID != "" || q.RunID != "" {
		order = `d.priority, d.created, d.id`
	}
	offset, limit := sqlstore.Page(q.Offset, q.Limit)
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
func (s *dispatches) PurgeDispatches(ctx context.Context, q mailbox.Query) (n int, err error) {
	where, args := s.selected(q)
	err = retry(ctx, func() error {
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
