package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Floor is the fence that a new thread of tenant ?1 begins with: no less than that of
// any thread that was removed, so that an owner of one of the same id stays fenced off.
const Floor = `coalesce((SELECT floor FROM {p}_tenants WHERE tenant = ?1), 0)`

// Idle are the conditions for a thread, as t, of tenant ?1 on which nothing has happened
// since ?2.
const Idle = `t.tenant = ?1 AND t.open_run = '' AND t.unread = 0 AND t.updated > 0 AND t.updated < ?2
	AND NOT EXISTS (SELECT 1 FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0)`

// edit calls f in a transaction. If f fails, nothing of it is kept.
func (s *Tenant) edit(ctx context.Context, f func(ctx context.Context, c Conn) error) error {
	return s.scope.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) { return nil, f(ctx, c) })
}

// lock returns a row and keeps others from changing it until the transaction ends.
func (s *Tenant) lock(ctx context.Context, c Conn, id string) (*Thread, error) {
	return s.scope.thread(ctx, c, id, `SELECT `+ThreadColumns+` FROM {p}_threads WHERE tenant = ? AND id = ?{lock}`)
}

// Fork makes a thread that begins as another was after record seq of its log. It
// copies no messages: the new thread remembers where they are.
func (s *Tenant) Fork(ctx context.Context, threadID string, seq int, newID string) (*awaken.Thread, error) {
	var out *Thread
	err := s.edit(ctx, func(ctx context.Context, c Conn) error {
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
		base := t // the thread that holds record seq itself
		for seq > 0 && seq <= base.ForkSeq {
			if base, err = s.lock(ctx, c, base.ForkOf); err != nil {
				return err
			}
		}
		var forkOf *string
		if seq > 0 {
			forkOf = s.optional(base.ID)
		}
		out, err = s.scope.scanThread(ctx, c, `INSERT INTO {p}_threads (tenant, id, parent, title, custom, created, updated, messages, fork_of, fork_seq, fence, touched)
			SELECT tenant, ?3, id, title, custom, created, updated, ?4, ?5, ?4, `+Floor+`, {tick}
			FROM {p}_threads WHERE tenant = ?1 AND id = ?2 ON CONFLICT DO NOTHING RETURNING `+ThreadColumns,
			s.scope.tenant, s.scope.id(threadID), s.scope.id(newID), seq, forkOf)
		if err == nil && out == nil {
			return threads.CheckFork(&t.Thread, seq, newID, true) // just now
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out.Thread, nil
}

// optional returns an id as a text column holds it; nil for none.
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
			if _, err := c.Exec(ctx, statement(`UPDATE {p}_threads SET parent = '' WHERE tenant = ? AND parent = ? AND parent <> ''`, s.scope.tenant, ids[0])); err != nil {
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
			for _, id := range slices.Backward(below) { // the youngest first, so that messages move no further than they must
				if err := s.remove(ctx, c, id); err != nil && !errors.Is(err, awaken.ErrNotFound) {
					return err
				}
			}
		}
		return s.remove(ctx, c, ids[0])
	})
}

// descendants returns the children of a thread, and theirs, the youngest last, as columns
// hold them.
func (s *Tenant) descendants(ctx context.Context, c Conn, id string) ([]string, error) {
	return column[string](ctx, c, `WITH RECURSIVE d (id) AS (
			SELECT CAST(?2 AS text){bytes} UNION SELECT t.id FROM {p}_threads t JOIN d ON t.tenant = ?1 AND t.parent = d.id AND t.parent <> '')
		SELECT id FROM d WHERE id <> ?2`, s.scope.tenant, s.scope.id(id))
}

// lockQueues keeps others from changing the queues of threads until the transaction
// ends. A dispatch that is not over is ErrConflict.
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
	return fmt.Errorf("%w: dispatch %s is not over", awaken.ErrConflict, live)
}

// remove removes a thread and all it holds, but for the messages that forks share: the
// fork that shares most of them inherits them, and the others share them with it. The id
// is as columns hold it.
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
	do(`INSERT INTO {p}_tenants AS f (tenant, floor) SELECT tenant, fence FROM {p}_threads WHERE tenant = ? AND id = ?
		ON CONFLICT (tenant) DO UPDATE SET floor = {max}(f.floor, excluded.floor)`)
	do(`DELETE FROM {p}_commits WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_runs WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_state WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_inbox WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_dispatches WHERE tenant = ? AND thread = ?`)
	do(`DELETE FROM {p}_threads WHERE tenant = ? AND id = ?`)
	do(`DELETE FROM {p}_queues WHERE tenant = ? AND id = ?`)
	_, err = c.Exec(ctx, b...)
	return err
}

// CreateThread makes a thread with the ids and the metadata of t, and fills in its times.
func (s *Tenant) CreateThread(ctx context.Context, t *awaken.Thread) error {
	if t.ID == "" {
		return fmt.Errorf("create thread: %w: it has no id", awaken.ErrInvalid)
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
		n, err := c.Exec(ctx, statement(`INSERT INTO {p}_threads (tenant, id, resource, parent, title, custom, created, updated, touched, fence)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, {tick}, `+Floor+`) ON CONFLICT DO NOTHING`,
			s.scope.tenant, s.scope.id(t.ID), s.scope.id(t.ResourceID), s.scope.id(t.ParentThreadID), s.scope.id(t.Metadata.Title), custom, now))
		if err == nil && n == 0 {
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
func (s *Tenant) UpdateThread(ctx context.Context, id string, fn func(t *awaken.Thread) error) (*awaken.Thread, error) {
	var out *Thread
	err := s.edit(ctx, func(ctx context.Context, c Conn) error {
		t, err := s.lock(ctx, c, id)
		if err != nil {
			return err
		}
		parent := t.ParentThreadID
		if err := fn(&t.Thread); err != nil {
			return err
		}
		if t.ParentThreadID != parent {
			if err := s.checkParent(ctx, c, id, t.ParentThreadID); err != nil {
				return err
			}
		}
		custom, err := s.custom(&t.Thread)
		if err != nil {
			return err
		}
		out, err = s.scope.scanThread(ctx, c, `UPDATE {p}_threads SET resource = ?3, parent = ?4, title = ?5, custom = ?6, updated = {max}(updated, ?7), touched = {tick}
			WHERE tenant = ?1 AND id = ?2 RETURNING `+ThreadColumns,
			s.scope.tenant, s.scope.id(id), s.scope.id(t.ResourceID), s.scope.id(t.ParentThreadID), s.scope.id(t.Metadata.Title), custom, s.scope.db.Now().UnixMilli())
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out.Thread, nil
}

// checkParent checks that a thread can have that parent: it is there, and the thread is
// not above it. Nobody moves or removes what is above until the transaction ends.
func (s *Tenant) checkParent(ctx context.Context, c Conn, id, parent string) error {
	return threads.CheckParent(id, parent, func(id string) (above string, found bool, err error) {
		found, err = row(ctx, c, `SELECT parent FROM {p}_threads WHERE tenant = ? AND id = ?{share}`, []any{s.scope.tenant, s.scope.id(id)}, &above)
		s.scope.db.Dialect().unescape(&above)
		return above, found, err
	})
}

// custom returns the metadata as JSON, or nil.
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

// pruneGroup is how many threads Prune removes in one transaction, so that others
// need not wait long.
const pruneGroup = 50

// Prune removes threads that nothing happened on for a while.
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
