package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
)

// editor implements [awaken.ThreadEditor].
type editor scope

// Fork makes a thread that begins as another was after record seq of its log. It
// copies no messages: the new thread remembers where they are.
func (s *editor) Fork(ctx context.Context, threadID string, seq int, newID string) (*awaken.Thread, error) {
	var out *thread
	err := s.db.edit(ctx, func(ctx context.Context, c *conn) error {
		t, err := c.of(s.tenant).thread(ctx, threadID)
		if err != nil {
			return err
		}
		var one int
		taken, err := c.row(ctx, `SELECT 1 FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{s.tenant, newID}, &one)
		switch {
		case err != nil:
			return err
		case taken || newID == "":
			return refuse("fork thread %s: %w: thread %q exists already", threadID, awaken.ErrConflict, newID)
		case seq < 0 || seq > t.MessageCount:
			return refuse("fork thread %s: %w: record %d, have %d", threadID, awaken.ErrInvalid, seq, t.MessageCount)
		}
		base := t // the thread that holds record seq itself
		for seq > 0 && seq <= base.fork.seq {
			if base, err = c.of(s.tenant).thread(ctx, base.fork.of); err != nil {
				return err
			}
		}
		var forkOf any
		if seq > 0 {
			forkOf = base.ID
		}
		if _, err := c.exec(`INSERT INTO {p}_threads (tenant, id, parent, title, custom, created, updated, messages, fork_of, fork_seq, fence, touched)
			SELECT tenant, ?3, id, title, custom, created, updated, ?4, ?5, ?4, `+floor+`, 1 + (SELECT max(touched) FROM {p}_threads WHERE tenant = ?1)
			FROM {p}_threads WHERE tenant = ?1 AND id = ?2`, s.tenant, threadID, newID, seq, forkOf); err != nil {
			return err
		}
		out, err = c.of(s.tenant).thread(ctx, newID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out.Thread, nil
}

// floor is the fence that a new thread of tenant ?1 begins with: no less than that of
// any thread that was removed, so that an owner of one of the same id stays fenced off.
const floor = `coalesce((SELECT floor FROM {p}_tenants WHERE tenant = ?1), 0)`

// DeleteThread removes a thread.
func (s *editor) DeleteThread(ctx context.Context, id string, children awaken.ChildStrategy) error {
	return s.db.edit(ctx, func(ctx context.Context, c *conn) error {
		if err := c.of(s.tenant).exists(ctx, id); err != nil {
			return err
		}
		switch children {
		case awaken.RejectChildren:
			var n int
			if _, err := c.row(ctx, `SELECT count(*) FROM {p}_threads WHERE tenant = ? AND parent = ? AND parent <> ''`, []any{s.tenant, id}, &n); err != nil {
				return err
			}
			if n > 0 {
				return refuse("delete thread %s: %w: it has %d children", id, awaken.ErrConflict, n)
			}
		case awaken.DetachChildren:
			if _, err := c.exec(`UPDATE {p}_threads SET parent = '' WHERE tenant = ? AND parent = ? AND parent <> ''`, s.tenant, id); err != nil {
				return err
			}
		case awaken.CascadeChildren:
			var ids []string
			err := c.query(ctx, `WITH RECURSIVE d (id) AS (SELECT ?2 UNION SELECT t.id FROM {p}_threads t JOIN d ON t.tenant = ?1 AND t.parent = d.id AND t.parent <> '')
				SELECT id FROM d WHERE id <> ?2`, []any{s.tenant, id}, func(scan func(...any) error) error {
				ids = append(ids, "")
				return scan(&ids[len(ids)-1])
			})
			if err != nil {
				return err
			}
			for i := len(ids) - 1; i >= 0; i-- { // the youngest first, so that messages move no further than they must
				if err := s.remove(ctx, c, ids[i]); err != nil {
					return err
				}
			}
		default:
			return refuse("delete thread %s: %w: child strategy is %q, want reject, cascade or nothing", id, awaken.ErrInvalid, children)
		}
		return s.remove(ctx, c, id)
	})
}

// remove removes a thread and all it holds, but for the messages that forks share: the
// fork that shares most of them inherits them, and the others share them with it.
func (s *editor) remove(ctx context.Context, c *conn, id string) error {
	t, err := c.of(s.tenant).thread(ctx, id)
	if err != nil {
		return err
	}
	var dispatch string
	live, err := c.row(ctx, `SELECT id FROM {p}_dispatches WHERE tenant = ? AND thread = ? AND completed = 0`, []any{s.tenant, id}, &dispatch)
	if err != nil {
		return err
	}
	if live {
		return refuse("delete thread %s: %w: dispatch %s is not over", id, awaken.ErrConflict, dispatch)
	}
	var heir string
	var seq int
	found, err := c.row(ctx, `SELECT id, fork_seq FROM {p}_threads WHERE tenant = ? AND fork_of = ? ORDER BY fork_seq DESC, id LIMIT 1`, []any{s.tenant, id}, &heir, &seq)
	if err != nil {
		return err
	}
	if found {
		var forkOf any
		if t.fork.of != "" {
			forkOf = t.fork.of
		}
		if _, err := c.exec(`UPDATE {p}_commits SET thread = ?1, last = -1, run = '', epoch = 0, entries = NULL, calls = NULL, upto = min(upto, ?4)
			WHERE tenant = ?2 AND thread = ?3 AND messages IS NOT NULL AND before < ?4`, heir, s.tenant, id, seq); err != nil {
			return err
		}
		if _, err := c.exec(`UPDATE {p}_threads SET fork_of = ?, fork_seq = ? WHERE tenant = ? AND id = ?`, forkOf, t.fork.seq, s.tenant, heir); err != nil {
			return err
		}
		if _, err := c.exec(`UPDATE {p}_threads SET fork_of = ? WHERE tenant = ? AND fork_of = ?`, heir, s.tenant, id); err != nil {
			return err
		}
	}
	for _, q := range []string{
		`INSERT INTO {p}_tenants (tenant, floor) SELECT tenant, fence FROM {p}_threads WHERE tenant = ? AND id = ?
			ON CONFLICT (tenant) DO UPDATE SET floor = max(floor, excluded.floor)`,
		`DELETE FROM {p}_commits WHERE tenant = ? AND thread = ?`,
		`DELETE FROM {p}_runs WHERE tenant = ? AND thread = ?`,
		`DELETE FROM {p}_state WHERE tenant = ? AND thread = ?`,
		`DELETE FROM {p}_inbox WHERE tenant = ? AND thread = ?`,
		`DELETE FROM {p}_dispatches WHERE tenant = ? AND thread = ?`,
		`DELETE FROM {p}_queues WHERE tenant = ? AND id = ?`,
		`DELETE FROM {p}_threads WHERE tenant = ? AND id = ?`,
	} {
		if _, err := c.exec(q, s.tenant, id); err != nil {
			return err
		}
	}
	return nil
}

// CreateThread makes a thread with the ids and the metadata of t, and fills in its times.
func (s *editor) CreateThread(ctx context.Context, t *awaken.Thread) error {
	if t.ID == "" {
		return refuse("create thread: %w: it has no id", awaken.ErrInvalid)
	}
	custom, err := encodeCustom(t)
	if err != nil {
		return err
	}
	now := s.db.now().UnixMilli()
	err = s.db.edit(ctx, func(ctx context.Context, c *conn) error {
		if err := s.checkParent(ctx, c, t.ID, t.ParentThreadID); err != nil {
			return err
		}
		n, err := c.exec(`INSERT INTO {p}_threads (tenant, id, resource, parent, title, custom, created, updated, touched, fence)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1 + coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0), `+floor+`) ON CONFLICT DO NOTHING`,
			s.tenant, t.ID, t.ResourceID, t.ParentThreadID, t.Metadata.Title, custom, now)
		if err == nil && n == 0 {
			err = refuse("create thread %s: %w: it exists already", t.ID, awaken.ErrConflict)
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
	var out *thread
	err := s.db.edit(ctx, func(ctx context.Context, c *conn) error {
		t, err := c.of(s.tenant).thread(ctx, id)
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
		custom, err := encodeCustom(&t.Thread)
		if err != nil {
			return err
		}
		if _, err := c.exec(`UPDATE {p}_threads SET resource = ?3, parent = ?4, title = ?5, custom = ?6, updated = max(updated, ?7),
			touched = 1 + (SELECT max(touched) FROM {p}_threads WHERE tenant = ?1) WHERE tenant = ?1 AND id = ?2`,
			s.tenant, id, t.ResourceID, t.ParentThreadID, t.Metadata.Title, custom, s.db.now().UnixMilli()); err != nil {
			return err
		}
		out, err = c.of(s.tenant).thread(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out.Thread, nil
}

// checkParent checks that a thread can have that parent: it is there, and the thread is
// not above it.
func (s *editor) checkParent(ctx context.Context, c *conn, id, parent string) error {
	for above := parent; above != ""; {
		if above == id {
			return refuse("thread %s: %w: it cannot be above itself", id, awaken.ErrInvalid)
		}
		var next string
		found, err := c.row(ctx, `SELECT parent FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{s.tenant, above}, &next)
		if err != nil {
			return err
		}
		if !found && above == parent {
			return refuse("thread %s: %w: there is no parent %s", id, awaken.ErrInvalid, parent)
		}
		above = next
	}
	return nil
}

// encodeCustom returns the metadata as JSON, or nil.
func encodeCustom(t *awaken.Thread) (any, error) {
	if t.Metadata.Custom == nil {
		return nil, nil
	}
	data, err := encode(t.Metadata.Custom)
	if err != nil {
		return nil, fmt.Errorf("metadata of thread %s: %w", t.ID, err)
	}
	return data, nil
}

// pruneGroup is how many threads Prune removes in one transaction, so that others
// need not wait long.
const pruneGroup = 50

// Prune removes threads that nothing happened on for a while.
func (s *editor) Prune(ctx context.Context, before time.Time) (int, error) {
	for total := 0; ; {
		var ids []string
		err := s.db.edit(ctx, func(ctx context.Context, c *conn) error {
			ids = nil
			err := c.query(ctx, `SELECT id FROM {p}_threads t WHERE tenant = ? AND open_run = '' AND unread = 0 AND updated > 0 AND updated < ?
				AND NOT EXISTS (SELECT 1 FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0) LIMIT ?`,
				[]any{s.tenant, before.UnixMilli(), pruneGroup}, func(scan func(...any) error) error {
					ids = append(ids, "")
					return scan(&ids[len(ids)-1])
				})
			if err != nil {
				return err
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

func refuse(format string, args ...any) error { return fmt.Errorf(format, args...) }
