package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
)

// editor implements [awaken.ThreadEditor].
type editor scope

// lockThread returns a row and keeps others from changing it until the transaction
// ends. It takes and returns an escaped id.
func (s *editor) lockThread(ctx context.Context, tx pgx.Tx, id string) (*thread, error) {
	var t thread
	err := t.scan(tx.QueryRow(ctx, s.db.sql(`SELECT `+threadColumns+` FROM {p}_threads WHERE tenant = $1 AND id = $2 FOR UPDATE`), s.tenant, id))
	if errors.Is(err, pgx.ErrNoRows) {
		err = noThread(unescape(id))
	}
	if err != nil {
		return nil, err
	}
	t.ID = id
	return &t, nil
}

// Fork makes a thread that begins as another was after record seq of its log. It
// copies no messages: the new thread remembers where they are.
func (s *editor) Fork(ctx context.Context, threadID string, seq int, newID string) (*awaken.Thread, error) {
	var out thread
	err := s.db.transact(ctx, func(tx pgx.Tx) error {
		t, err := s.lockThread(ctx, tx, escape(threadID))
		if err != nil {
			return err
		}
		taken := fmt.Errorf("fork thread %s: %w: thread %q exists already", threadID, awaken.ErrConflict, newID)
		var exists bool
		if err := tx.QueryRow(ctx, s.db.sql(`SELECT EXISTS (SELECT FROM {p}_threads WHERE tenant = $1 AND id = $2)`), s.tenant, escape(newID)).Scan(&exists); err != nil {
			return err
		}
		switch {
		case exists || newID == "":
			return taken
		case seq < 0 || seq > t.MessageCount:
			return fmt.Errorf("fork thread %s: %w: record %d, have %d", threadID, awaken.ErrInvalid, seq, t.MessageCount)
		}
		base := t // the thread that holds record seq itself
		for seq > 0 && seq <= base.forkSeq {
			if base, err = s.lockThread(ctx, tx, *base.forkOf); err != nil {
				return err
			}
		}
		var forkOf *string
		if seq > 0 {
			forkOf = &base.ID
		}
		out = thread{}
		err = out.scan(tx.QueryRow(ctx, s.db.sql(`INSERT INTO {p}_threads (tenant, id, parent, title, custom, created, updated, messages, fork_of, fork_seq, fence, touched)
			SELECT tenant, $3, id, title, custom, created, updated, $4, $5, $4, coalesce((SELECT floor FROM {p}_tenants WHERE tenant = $1), 0), nextval('{p}_clock')
			FROM {p}_threads WHERE tenant = $1 AND id = $2 ON CONFLICT DO NOTHING RETURNING `+threadColumns), s.tenant, t.ID, escape(newID), seq, forkOf))
		if errors.Is(err, pgx.ErrNoRows) {
			return taken // just now
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out.Thread, nil
}

// DeleteThread removes a thread.
func (s *editor) DeleteThread(ctx context.Context, id string, children awaken.ChildStrategy) error {
	return s.db.transact(ctx, func(tx pgx.Tx) error {
		ids := []string{escape(id)}
		if children == awaken.CascadeChildren {
			below, err := s.descendants(ctx, tx, escape(id))
			if err != nil {
				return err
			}
			ids = append(ids, below...)
		}
		if err := s.lockQueues(ctx, tx, ids); err != nil {
			return fmt.Errorf("delete thread %s: %w", id, err)
		}
		t, err := s.lockThread(ctx, tx, escape(id))
		if err != nil {
			return err
		}
		switch children {
		case awaken.RejectChildren:
			var n int
			if err := tx.QueryRow(ctx, s.db.sql(`SELECT count(*) FROM {p}_threads WHERE tenant = $1 AND parent = $2 AND parent <> ''`), s.tenant, t.ID).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				return fmt.Errorf("delete thread %s: %w: it has %d children", id, awaken.ErrConflict, n)
			}
		case awaken.DetachChildren:
			if _, err := tx.Exec(ctx, s.db.sql(`UPDATE {p}_threads SET parent = '' WHERE tenant = $1 AND parent = $2 AND parent <> ''`), s.tenant, t.ID); err != nil {
				return err
			}
		case awaken.CascadeChildren:
			below, err := s.descendants(ctx, tx, t.ID)
			if err != nil {
				return err
			}
			late := slices.DeleteFunc(slices.Clone(below), func(id string) bool { return slices.Contains(ids, id) })
			if err := s.lockQueues(ctx, tx, late); err != nil {
				return fmt.Errorf("delete thread %s: %w", id, err)
			}
			for _, id := range slices.Backward(below) { // the youngest first, so that messages move no further than they must
				if err := s.remove(ctx, tx, id); err != nil && !errors.Is(err, awaken.ErrNotFound) {
					return err
				}
			}
		default:
			return fmt.Errorf("delete thread %s: %w: child strategy is %q, want reject, cascade or nothing", id, awaken.ErrInvalid, children)
		}
		return s.remove(ctx, tx, t.ID)
	})
}

// descendants returns the children of a thread, and theirs, the youngest last.
func (s *editor) descendants(ctx context.Context, tx pgx.Tx, id string) ([]string, error) {
	rows, err := tx.Query(ctx, s.db.sql(`WITH RECURSIVE d (id) AS (SELECT $2::text COLLATE "C" UNION SELECT t.id FROM {p}_threads t JOIN d ON t.tenant = $1 AND t.parent = d.id AND t.parent <> '')
		SELECT id FROM d WHERE id <> $2`), s.tenant, id)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// lockQueues keeps others from changing the queues of threads until the transaction
// ends. A dispatch that is not over is ErrConflict.
func (s *editor) lockQueues(ctx context.Context, tx pgx.Tx, ids []string) error {
	if _, err := tx.Exec(ctx, s.db.sql(`INSERT INTO {p}_queues AS q (tenant, id) SELECT $1, t.id FROM unnest($2::text[]) AS t (id) ORDER BY t.id COLLATE "C"
		ON CONFLICT (tenant, id) DO UPDATE SET epoch = q.epoch`), s.tenant, ids); err != nil {
		return err
	}
	var live string
	err := tx.QueryRow(ctx, s.db.sql(`SELECT id FROM {p}_dispatches WHERE tenant = $1 AND thread = ANY ($2) AND completed = 0 LIMIT 1`), s.tenant, ids).Scan(&live)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: dispatch %s is not over", awaken.ErrConflict, unescape(live))
}

// remove removes a thread and all it holds, but for the messages that forks share: the
// fork that shares most of them inherits them, and the others share them with it.
func (s *editor) remove(ctx context.Context, tx pgx.Tx, id string) error {
	t, err := s.lockThread(ctx, tx, id)
	if err != nil {
		return err
	}
	exec := func(query string, args ...any) {
		if err == nil {
			_, err = tx.Exec(ctx, s.db.sql(query), append([]any{s.tenant, id}, args...)...)
		}
	}
	var heir string
	var seq int
	err = tx.QueryRow(ctx, s.db.sql(`SELECT id, fork_seq FROM {p}_threads WHERE tenant = $1 AND fork_of = $2 ORDER BY fork_seq DESC, id LIMIT 1 FOR UPDATE`), s.tenant, id).Scan(&heir, &seq)
	switch {
	case err == nil:
		exec(`UPDATE {p}_commits SET thread = $3, last = upto - 9223372036854775807, run = '', epoch = 0, entries = NULL, calls = NULL,
			upto = least(upto, $4), messages = messages[1 : least(cardinality(messages), $4 - upto + cardinality(messages))]
			WHERE tenant = $1 AND thread = $2 AND messages IS NOT NULL AND upto - cardinality(messages) < $4`, heir, seq)
		exec(`UPDATE {p}_threads SET fork_of = $4, fork_seq = $5 WHERE tenant = $1 AND id = $3 AND fork_of = $2`, heir, t.forkOf, t.forkSeq)
		exec(`UPDATE {p}_threads SET fork_of = $3 WHERE tenant = $1 AND fork_of = $2`, heir)
	case errors.Is(err, pgx.ErrNoRows):
		err = nil
	}
	exec(`INSERT INTO {p}_tenants AS f (tenant, floor) SELECT tenant, fence FROM {p}_threads WHERE tenant = $1 AND id = $2
		ON CONFLICT (tenant) DO UPDATE SET floor = greatest(f.floor, excluded.floor)`)
	exec(`DELETE FROM {p}_commits WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_runs WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_state WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_inbox WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_dispatches WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_threads WHERE tenant = $1 AND id = $2`)
	exec(`DELETE FROM {p}_queues WHERE tenant = $1 AND id = $2`)
	return err
}

// CreateThread makes a thread with the ids and the metadata of t, and fills in its times.
func (s *editor) CreateThread(ctx context.Context, t *awaken.Thread) error {
	if t.ID == "" {
		return fmt.Errorf("create thread: %w: it has no id", awaken.ErrInvalid)
	}
	custom, err := encodeCustom(t)
	if err != nil {
		return err
	}
	now := s.db.now().UnixMilli()
	err = s.db.transact(ctx, func(tx pgx.Tx) error {
		if err := s.checkParent(ctx, tx, t.ID, t.ParentThreadID); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, s.db.sql(`INSERT INTO {p}_threads (tenant, id, resource, parent, title, custom, created, updated, touched, fence)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $7, nextval('{p}_clock'), coalesce((SELECT floor FROM {p}_tenants WHERE tenant = $1), 0)) ON CONFLICT DO NOTHING`),
			s.tenant, escape(t.ID), escape(t.ResourceID), escape(t.ParentThreadID), escape(t.Metadata.Title), custom, now)
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("create thread %s: %w: it exists already", t.ID, awaken.ErrConflict)
		}
		return err
	})
	if err == nil {
		t.Metadata.CreatedAt, t.Metadata.UpdatedAt = now, now
	}
	return err
}

// UpdateThread changes what people attached to a thread, and whom it belongs to.
func (s *editor) UpdateThread(ctx context.Context, id string, fn func(t *awaken.Thread) error) (*awaken.Thread, error) {
	var out awaken.Thread
	err := s.db.transact(ctx, func(tx pgx.Tx) error {
		t, err := s.lockThread(ctx, tx, escape(id))
		if err != nil {
			return err
		}
		t.ID = id
		parent := t.ParentThreadID
		if err := fn(&t.Thread); err != nil {
			return err
		}
		if t.ParentThreadID != parent {
			if err := s.checkParent(ctx, tx, id, t.ParentThreadID); err != nil {
				return err
			}
		}
		custom, err := encodeCustom(&t.Thread)
		if err != nil {
			return err
		}
		var changed thread
		err = changed.scan(tx.QueryRow(ctx, s.db.sql(`UPDATE {p}_threads SET resource = $3, parent = $4, title = $5, custom = $6, updated = greatest(updated, $7), touched = nextval('{p}_clock')
			WHERE tenant = $1 AND id = $2 RETURNING `+threadColumns),
			s.tenant, escape(id), escape(t.ResourceID), escape(t.ParentThreadID), escape(t.Metadata.Title), custom, s.db.now().UnixMilli()))
		out = changed.Thread
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// checkParent checks that a thread can have that parent: it is there, and the thread is
// not above it. Nobody moves or removes what is above until the transaction ends.
func (s *editor) checkParent(ctx context.Context, tx pgx.Tx, id, parent string) error {
	for above := parent; above != ""; {
		if above == id {
			return fmt.Errorf("thread %s: %w: it cannot be above itself", id, awaken.ErrInvalid)
		}
		var next string
		err := tx.QueryRow(ctx, s.db.sql(`SELECT parent FROM {p}_threads WHERE tenant = $1 AND id = $2 FOR SHARE`), s.tenant, escape(above)).Scan(&next)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && above == parent:
			return fmt.Errorf("thread %s: %w: there is no parent %s", id, awaken.ErrInvalid, parent)
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		above = unescape(next)
	}
	return nil
}

// encodeCustom returns the metadata as JSON, or nil.
func encodeCustom(t *awaken.Thread) (*string, error) {
	if t.Metadata.Custom == nil {
		return nil, nil
	}
	data, err := encode(t.Metadata.Custom)
	if err != nil {
		return nil, fmt.Errorf("metadata of thread %s: %w", t.ID, err)
	}
	return &data, nil
}

// pruneGroup is how many threads Prune removes in one transaction, so that others
// need not wait long.
const pruneGroup = 50

// Prune removes threads that nothing happened on for a while.
func (s *editor) Prune(ctx context.Context, before time.Time) (int, error) {
	for total := 0; ; {
		var ids []string
		err := s.db.transact(ctx, func(tx pgx.Tx) error {
			var err error
			if ids, err = s.lockIdle(ctx, tx, before.UnixMilli()); err != nil {
				return err
			}
			for _, id := range ids {
				if err := s.remove(ctx, tx, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return total, fmt.Errorf("prune: %w", err)
		}
		if total += len(ids); len(ids) < pruneGroup {
			return total, nil
		}
	}
}

// lockIdle locks a group of threads that nothing has happened on, with their queues, and
// returns their ids. Those that somebody else has locked are in use.
func (s *editor) lockIdle(ctx context.Context, tx pgx.Tx, before int64) (ids []string, err error) {
	const idle = `t.tenant = $1 AND t.open_run = '' AND t.unread = 0 AND t.updated > 0 AND t.updated < $2
		AND NOT EXISTS (SELECT FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0)`
	list := func(query string, args ...any) {
		if err != nil {
			return
		}
		var rows pgx.Rows
		if rows, err = tx.Query(ctx, s.db.sql(query), append([]any{s.tenant}, args...)...); err == nil {
			ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
	}
	list(`SELECT t.id FROM {p}_threads t WHERE `+idle+` LIMIT $3`, before, pruneGroup)
	if err == nil {
		_, err = tx.Exec(ctx, s.db.sql(`INSERT INTO {p}_queues (tenant, id) SELECT $1, i.id FROM unnest($2::text[]) AS i (id) ORDER BY i.id COLLATE "C"
			ON CONFLICT DO NOTHING`), s.tenant, ids)
	}
	list(`SELECT q.id FROM {p}_queues q WHERE q.tenant = $1 AND q.id = ANY ($2) FOR UPDATE SKIP LOCKED`, ids)
	list(`SELECT t.id FROM {p}_threads t WHERE `+idle+` AND t.id = ANY ($3) FOR UPDATE SKIP LOCKED`, before, ids)
	return ids, err
}
