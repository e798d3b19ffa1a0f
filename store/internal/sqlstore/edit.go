package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Floor is the first fence of a new thread of tenant ?1: above the fence of every
// deleted thread, so that the owner of a deleted thread with the same id stays fenced.
const Floor = `coalesce((SELECT floor FROM {p}_tenants WHERE tenant = ?1), 0)`

// Idle is the condition for a thread t of tenant ?1 that is idle, without pins, and was last
// updated before ?2.
const Idle = `t.tenant = ?1 AND t.open_run = '' AND t.unread = 0 AND t.updated > 0 AND t.updated < ?2
	AND NOT t.pinned AND NOT EXISTS (SELECT 1 FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0)`

// edit calls f in a transaction, which is rolled back if f fails.
func (s *Tenant) edit(ctx context.Context, f func(ctx context.Context, c Conn) error) error {
	return s.scope.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) { return nil, f(ctx, c) })
}

// lock returns a row and locks it until the transaction ends.
func (s *Tenant) lock(ctx context.Context, c Conn, id string) (*Thread, error) {
	return s.scope.thread(ctx, c, id, `SELECT `+ThreadColumns+` FROM {p}_threads WHERE tenant = ? AND id = ?{lock}`)
}

// Fork creates a thread that begins with the first seq records of another. It copies no
// messages: the new row names the thread that holds them.
func (s *Tenant) Fork(ctx context.Context, threadID string, seq int, newID string, notes map[string]json.RawMessage) (*awaken.Thread, error) {
	var out *Thread
	kept, err := s.scope.notes(newID, notes)
	if err != nil {
		return nil, err
	}
	err = s.edit(ctx, func(ctx context.Context, c Conn) error {
		t, err := s.lock(ctx, c, threadID)
		if err != nil {
			return err
		}
		var one int
		taken, err := row(ctx, c, `SELECT 1 FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{s.scope.tenant, s.scope.id(newID)}, &one)
		if err == nil {
			err = threads.CheckFork(&t.Thread, seq, newID, taken)
		}
		if err != nil {
			return err
		}
		base := t // the thread whose own rows hold record seq
		for seq > 0 && seq <= base.ForkSeq {
			if base, err = s.lock(ctx, c, base.ForkOf); err != nil {
				return err
			}
		}
		var forkOf *string
		if seq > 0 {
			forkOf = s.optional(base.ID)
		}
		out, err = s.scope.scanThread(ctx, c, `INSERT INTO {p}_threads (tenant, id, user_id, parent, title, custom, created, updated, messages, fork_of, fork_seq, fence, notes, touched)
			SELECT tenant, ?3, user_id, id, title, custom, created, updated, ?4, ?5, ?4, `+Floor+`, ?6, {tick}
			FROM {p}_threads WHERE tenant = ?1 AND id = ?2 ON CONFLICT DO NOTHING RETURNING `+ThreadColumns,
			s.scope.tenant, s.scope.id(threadID), s.scope.id(newID), seq, forkOf, kept)
		if err == nil && out == nil {
			return threads.CheckFork(&t.Thread, seq, newID, true) // a concurrent transaction created it
		}
		if err == nil {
			_, err = c.Exec(ctx, statement(inheritHolds, s.scope.tenant, s.scope.id(threadID), s.scope.id(newID)))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out.Thread, nil
}

// optional returns an escaped id, or nil for "".
func (s *Tenant) optional(id string) *string {
	if id == "" {
		return nil
	}
	id = s.scope.id(id)
	return &id
}

// DeleteThread removes a thread.
func (s *Tenant) DeleteThread(ctx context.Context, id string, children awaken.ChildStrategy) error {
	return s.edit(ctx, func(ctx context.Context, c Conn) error {
		ids := []string{s.scope.id(id)}
		if children == awaken.CascadeChildren {
			below, err := s.descendants(ctx, c, id)
			if err != nil {
				return err
			}
			ids = append(ids, below...)
		}
		if err := s.lockQueues(ctx, c, ids); err != nil {
			return fmt.Errorf("delete thread %s: %w", id, err)
		}
		if _, err := s.lock(ctx, c, id); err != nil {
			return err
		}
		n := 0
		if children == awaken.RejectChildren {
			if _, err := row(ctx, c, `SELECT count(*) FROM {p}_threads WHERE tenant = ? AND parent = ? AND parent <> ''`, []any{s.scope.tenant, ids[0]}, &n); err != nil {
				return err
			}
		}
		if err := threads.CheckDelete(children, n); err != nil {
			return fmt.Errorf("delete thread %s: %w", id, err)
		}
		switch children {
		case awaken.DetachChildren:
			if _, err := c.Exec(ctx, statement(`UPDATE {p}_threads SET parent = '', edits = edits + 1 WHERE tenant = ? AND parent = ? AND parent <> ''`, s.scope.tenant, ids[0])); err != nil {
				return err
			}
		case awaken.CascadeChildren:
			below, err := s.descendants(ctx, c, id)
			if err != nil {
				return err
			}
			late := slices.DeleteFunc(slices.Clone(below), func(id string) bool { return slices.Contains(ids, id) })
			if err := s.lockQueues(ctx, c, late); err != nil {
				return fmt.Errorf("delete thread %s: %w", id, err)
			}
			for _, id := range slices.Backward(below) { // the youngest first, so that messages are inherited as rarely as possible
				if err := s.remove(ctx, c, id); err != nil && !errors.Is(err, awaken.ErrNotFound) {
					return err
				}
			}
		}
		return s.remove(ctx, c, ids[0])
	})
}

// descendants returns the escaped ids of all descendants of a thread, parents first.
func (s *Tenant) descendants(ctx context.Context, c Conn, id string) ([]string, error) {
	return column[string](ctx, c, `WITH RECURSIVE d (id) AS (
			SELECT CAST(?2 AS text){bytes} UNION SELECT t.id FROM {p}_threads t JOIN d ON t.tenant = ?1 AND t.parent = d.id AND t.parent <> '')
		SELECT id FROM d WHERE id <> ?2`, s.scope.tenant, s.scope.id(id))
}

// lockQueues locks the queues of threads until the transaction ends. It returns an
// ErrConflict if one of them has a live dispatch.
func (s *Tenant) lockQueues(ctx context.Context, c Conn, ids []string) error {
	if s.engine.LockQueues != nil {
		if err := s.engine.LockQueues(ctx, c, s.scope.tenant, ids); err != nil {
			return err
		}
	}
	var live string
	found, err := row(ctx, c, `SELECT id FROM {p}_dispatches WHERE tenant = ? AND thread IN (SELECT j.value FROM {texts}) AND completed = 0 LIMIT 1`, []any{s.scope.tenant, ids}, &live)
	if err != nil || !found {
		return err
	}
	s.scope.db.Dialect().unescape(&live)
	return fmt.Errorf("%w: dispatch %s is queued or claimed", awaken.ErrConflict, live)
}

// remove removes a thread with everything it holds. If forks share its messages, the fork
// that shares most of them inherits them, and the others share them with it. The id is
// escaped.
func (s *Tenant) remove(ctx context.Context, c Conn, id string) error {
	plain := id
	s.scope.db.Dialect().unescape(&plain)
	t, err := s.lock(ctx, c, plain)
	if err != nil {
		return err
	}
	var heir string
	var seq int
	found, err := row(ctx, c, `SELECT id, fork_seq FROM {p}_threads WHERE tenant = ? AND fork_of = ? ORDER BY fork_seq DESC, id LIMIT 1{lock}`, []any{s.scope.tenant, id}, &heir, &seq)
	if err != nil {
		return err
	}
	var b []Statement
	do := func(query string, args ...any) {
		b = append(b, Statement{query, append([]any{s.scope.tenant, id}, args...)})
	}
	if found {
		do(s.engine.Inherit, heir, seq)
		do(`UPDATE {p}_threads SET fork_of = ?4, fork_seq = ?5 WHERE tenant = ?1 AND id = ?3 AND fork_of = ?2`, heir, s.optional(t.ForkOf), t.ForkSeq)
		do(`UPDATE {p}_threads SET fork_of = ?3 WHERE tenant = ?1 AND fork_of = ?2`, heir)
	}
	do(`INSERT INTO {p}_tenants AS f (tenant, floor) SELECT tenant, fence + 1 FROM {p}_threads WHERE tenant = ? AND id = ?
		ON CONFLICT (tenant) DO UPDATE SET floor = {max}(f.floor, excluded.floor)`)
	do(`DELETE FROM {p}_commits WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_segments WHERE tenant = ? AND thread = ?`)
	do(`WITH RECURSIVE marks (mark) AS (SELECT min(mark) FROM {p}_run_marks WHERE tenant = ?1
			UNION ALL SELECT (SELECT min(m.mark) FROM {p}_run_marks m WHERE m.tenant = ?1 AND m.mark > marks.mark) FROM marks WHERE marks.mark IS NOT NULL)
		DELETE FROM {p}_run_marks WHERE (tenant, mark, born, run) IN (
			SELECT r.tenant, k.mark, r.born, r.id FROM {p}_runs r CROSS JOIN marks k WHERE r.tenant = ?1 AND r.thread = ?2 AND k.mark IS NOT NULL)`)
	do(`DELETE FROM {p}_runs WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_state WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_inbox WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_decisions WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_dispatches WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_threads WHERE tenant = ? AND id = ?`)
	do(`DELETE FROM {p}_queues WHERE tenant = ? AND id = ?`)
	do(`DELETE FROM {p}_blob_holds WHERE tenant = ? AND kind = 'thread' AND holder = ?`)
	do(`DELETE FROM {p}_bodies WHERE tenant = ? AND thread = ?`)
	_, err = c.Exec(ctx, b...)
	return err
}

// CreateThread creates a thread with the ids and the metadata of t, and sets its times.
func (s *Tenant) CreateThread(ctx context.Context, t *awaken.Thread) error {
	if t.ID == "" {
		return fmt.Errorf("create thread: %w: id is empty", awaken.ErrInvalid)
	}
	custom, err := s.custom(t)
	if err != nil {
		return err
	}
	now := s.scope.db.Now().UnixMilli()
	err = s.edit(ctx, func(ctx context.Context, c Conn) error {
		if err := s.checkParent(ctx, c, t.ID, t.ParentThreadID); err != nil {
			return err
		}
		n, err := c.Exec(ctx, statement(`INSERT INTO {p}_threads (tenant, id, resource, parent, title, custom, created, updated, user_id, touched, fence)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, {tick}, `+Floor+`) ON CONFLICT DO NOTHING`,
			s.scope.tenant, s.scope.id(t.ID), s.scope.id(t.ResourceID), s.scope.id(t.ParentThreadID), s.scope.id(t.Metadata.Title), custom, now, s.scope.id(t.UserID)))
		if err == nil && n == 0 {
			err = fmt.Errorf("create thread %s: %w: it already exists", t.ID, awaken.ErrConflict)
		}
		return err
	})
	if err == nil {
		t.Metadata.CreatedAt, t.Metadata.UpdatedAt = now, now
	}
	return err
}

// UpdateThread changes the user, resource, parent, title, custom metadata and notes of a thread.
func (s *Tenant) UpdateThread(ctx context.Context, id string, fn func(t *awaken.Thread) error) (*awaken.Thread, error) {
	var out *Thread
	err := s.edit(ctx, func(ctx context.Context, c Conn) error {
		t, err := s.lock(ctx, c, id)
		if err != nil {
			return err
		}
		was := t.Thread
		was.Metadata.Custom, was.Notes = maps.Clone(was.Metadata.Custom), maps.Clone(was.Notes)
		if err := fn(&t.Thread); err != nil {
			return err
		}
		if threads.OnlyNotes(&was, &t.Thread) {
			out = t
			return s.scope.note(ctx, c, &was, &t.Thread)
		}
		if t.ParentThreadID != was.ParentThreadID {
			if err := s.checkParent(ctx, c, id, t.ParentThreadID); err != nil {
				return err
			}
		}
		custom, err := s.custom(&t.Thread)
		if err != nil {
			return err
		}
		out, err = s.scope.scanThread(ctx, c, `UPDATE {p}_threads SET edits = edits + 1, resource = ?3, parent = ?4, title = ?5, custom = ?6, updated = {max}(updated, ?7), user_id = ?8, touched = {tick}
			WHERE tenant = ?1 AND id = ?2 RETURNING `+ThreadColumns,
			s.scope.tenant, s.scope.id(id), s.scope.id(t.ResourceID), s.scope.id(t.ParentThreadID), s.scope.id(t.Metadata.Title), custom, s.scope.db.Now().UnixMilli(), s.scope.id(t.UserID))
		if err != nil || threads.SameNotes(was.Notes, t.Notes) {
			return err
		}
		out.Notes = t.Notes
		return s.scope.note(ctx, c, &was, &t.Thread)
	})
	if err != nil {
		return nil, err
	}
	return &out.Thread, nil
}

// checkParent checks that parent exists and that the thread is not one of its ancestors.
// It locks the ancestors until the transaction ends.
func (s *Tenant) checkParent(ctx context.Context, c Conn, id, parent string) error {
	return threads.CheckParent(id, parent, func(id string) (above string, found bool, err error) {
		found, err = row(ctx, c, `SELECT parent FROM {p}_threads WHERE tenant = ? AND id = ?{share}`, []any{s.scope.tenant, s.scope.id(id)}, &above)
		s.scope.db.Dialect().unescape(&above)
		return above, found, err
	})
}

// custom returns the custom metadata as JSON, or nil if there is none.
func (s *Tenant) custom(t *awaken.Thread) (*string, error) {
	if t.Metadata.Custom == nil {
		return nil, nil
	}
	data, err := s.scope.db.Dialect().Encode(t.Metadata.Custom)
	if err != nil {
		return nil, fmt.Errorf("metadata of thread %s: %w", t.ID, err)
	}
	return &data, nil
}

// pruneGroup is the number of threads that Prune removes in one transaction. It is small
// so that other writers do not wait long.
const pruneGroup = 50

// Prune removes idle threads that were last updated before a time.
func (s *Tenant) Prune(ctx context.Context, before time.Time) (int, error) {
	for total := 0; ; {
		var ids []string
		err := s.edit(ctx, func(ctx context.Context, c Conn) (err error) {
			if ids, err = column[string](ctx, c, `SELECT t.id FROM {p}_threads t WHERE `+Idle+` LIMIT ?3`, s.scope.tenant, before.UnixMilli(), pruneGroup); err != nil {
				return err
			}
			if s.engine.LockIdle != nil {
				if ids, err = s.engine.LockIdle(ctx, c, s.scope.tenant, before.UnixMilli(), ids); err != nil {
					return err
				}
			}
			for _, id := range ids {
				if err := s.remove(ctx, c, id); err != nil {
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
