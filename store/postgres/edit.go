package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
)

// lockThread returns a row and keeps others from changing it until the transaction
// ends. It takes and returns an escaped id.
func (s *Store) lockThread(ctx context.Context, tx pgx.Tx, id string) (*thread, error) {
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
func (s *Store) Fork(ctx context.Context, threadID string, seq int, newID string) (*awaken.Thread, error) {
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
func (s *Store) DeleteThread(ctx context.Context, id string, children awaken.ChildStrategy) error {
	return s.db.transact(ctx, func(tx pgx.Tx) error {
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
			rows, err := tx.Query(ctx, s.db.sql(`WITH RECURSIVE d (id) AS (SELECT $2::text COLLATE "C" UNION SELECT t.id FROM {p}_threads t JOIN d ON t.tenant = $1 AND t.parent = d.id AND t.parent <> '')
				SELECT id FROM d WHERE id <> $2`), s.tenant, t.ID)
			if err != nil {
				return err
			}
			ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return err
			}
			for i := len(ids) - 1; i >= 0; i-- { // the youngest first, so that messages move no further than they must
				if err := s.remove(ctx, tx, ids[i]); err != nil && !errors.Is(err, awaken.ErrNotFound) {
					return err
				}
			}
		default:
			return fmt.Errorf("delete thread %s: %w: child strategy is %q, want reject, cascade or nothing", id, awaken.ErrInvalid, children)
		}
		return s.remove(ctx, tx, t.ID)
	})
}

// remove removes a thread and all it holds, but for the messages that forks share: the
// fork that shares most of them inherits them, and the others share them with it.
func (s *Store) remove(ctx context.Context, tx pgx.Tx, id string) error {
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
		exec(`UPDATE {p}_messages SET thread = $3 WHERE tenant = $1 AND thread = $2 AND seq <= $4`, heir, seq)
		exec(`UPDATE {p}_threads SET fork_of = $4, fork_seq = $5 WHERE tenant = $1 AND id = $3 AND fork_of = $2`, heir, t.forkOf, t.forkSeq)
		exec(`UPDATE {p}_threads SET fork_of = $3 WHERE tenant = $1 AND fork_of = $2`, heir)
	case errors.Is(err, pgx.ErrNoRows):
		err = nil
	}
	exec(`INSERT INTO {p}_tenants AS f (tenant, floor) SELECT tenant, fence FROM {p}_threads WHERE tenant = $1 AND id = $2
		ON CONFLICT (tenant) DO UPDATE SET floor = greatest(f.floor, excluded.floor)`)
	exec(`DELETE FROM {p}_messages WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_entries WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_calls WHERE tenant = $1 AND run IN (SELECT id FROM {p}_runs WHERE tenant = $1 AND thread = $2)`)
	exec(`DELETE FROM {p}_runs WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_state WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_inbox WHERE tenant = $1 AND thread = $2`)
	exec(`DELETE FROM {p}_threads WHERE tenant = $1 AND id = $2`)
	return err
}

// SetMetadata replaces what people attached to a thread.
func (s *Store) SetMetadata(ctx context.Context, id, title string, custom map[string]json.RawMessage) error {
	var data *string
	if custom != nil {
		text, err := encode(custom)
		if err != nil {
			return fmt.Errorf("metadata of thread %s: %w", id, err)
		}
		data = &text
	}
	return s.db.retry(ctx, func() error {
		tag, err := s.db.pool.Exec(ctx, s.db.sql(`UPDATE {p}_threads SET title = $3, custom = $4 WHERE tenant = $1 AND id = $2`), s.tenant, escape(id), escape(title), data)
		if err == nil && tag.RowsAffected() == 0 {
			err = noThread(id)
		}
		return err
	})
}

// pruneGroup is how many threads Prune removes in one transaction, so that others
// need not wait long.
const pruneGroup = 50

// Prune removes threads that nothing happened on for a while.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	for total := 0; ; {
		var ids []string
		err := s.db.transact(ctx, func(tx pgx.Tx) error {
			// Who is locked is in use.
			rows, err := tx.Query(ctx, s.db.sql(`SELECT id FROM {p}_threads WHERE tenant = $1 AND open_run = '' AND unread = 0 AND updated > 0 AND updated < $2
				LIMIT $3 FOR UPDATE SKIP LOCKED`), s.tenant, before.UnixMilli(), pruneGroup)
			if err != nil {
				return err
			}
			if ids, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
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
