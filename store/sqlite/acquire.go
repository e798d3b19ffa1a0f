package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Acquire makes the caller the owner of a thread, which it creates if it does not exist. It
// reads what this process does not know of the log yet.
func (s *scope) Acquire(ctx context.Context, threadID string) (*awaken.Checkpoint, error) {
	return s.acquire(ctx, threadID, func(*conn) (bool, error) { return true, nil })
}

// Own acquires a thread for the worker that has a claim.
func (s *scope) Own(ctx context.Context, threadID string, h mailbox.Claim) (cp *awaken.Checkpoint, cancel bool, err error) {
	cp, err = s.acquire(ctx, threadID, func(c *conn) (held bool, err error) {
		var k queueKey
		k, cancel, held, err = queueConn{c}.claimed(h)
		return held && k.thread == threadID, err
	})
	return cp, cancel, err
}

// acquire acquires a thread if may returns true in the same transaction.
func (s *scope) acquire(ctx context.Context, threadID string, may func(c *conn) (bool, error)) (*awaken.Checkpoint, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	var t sqlstore.Thread
	fenced := false
	err := s.db.writer.write(s.tenant, func(c *conn) error {
		t = sqlstore.Thread{}
		ok, err := may(c)
		if fenced = !ok; err != nil || fenced {
			return err
		}
		return c.query(context.Background(), `INSERT INTO {p}_threads (tenant, id, fence) VALUES (?1, ?2, 1 + `+sqlstore.Floor+`)
			ON CONFLICT (tenant, id) DO UPDATE SET fence = fence + 1, committed = 0 RETURNING `+sqlstore.ThreadColumns,
			[]any{s.tenant, threadID}, func(scan sqlstore.Scan) error { return t.Scan(dialect, scan) })
	})
	if err == nil && fenced {
		err = awaken.ErrFenced
	}
	if err != nil {
		return nil, fmt.Errorf("acquire thread %s: %w", threadID, err)
	}
	cp := &awaken.Checkpoint{Fence: t.Fence, Generation: t.Generation, Thread: t.Thread}
	if t.MessageCount == 0 && t.LatestRunID == "" && t.Posted == 0 {
		s.db.warm.Acquired(s.tenant, &t, cp, new(awaken.View))
		return cp, nil // a new thread
	}
	if known := s.db.warm.Take(s.tenant, &t); known != nil {
		return known, nil
	}
	// From here on a commit with an older fence is refused, so the read below sees the
	// thread as it was when the fence was raised, unless a later owner has committed; then
	// the commits of this one are refused.
	var view awaken.View
	if err := s.db.read(ctx, func(c *conn) (err error) {
		view, err = s.fill(ctx, c.of(s.tenant), threadID, cp)
		return err
	}); err != nil {
		return nil, fmt.Errorf("acquire thread %s: %w", threadID, err)
	}
	s.db.warm.Acquired(s.tenant, &t, cp, &view)
	return cp, nil
}

// fill reads the rest of a checkpoint.
func (s *scope) fill(ctx context.Context, c tenantConn, threadID string, cp *awaken.Checkpoint) (view awaken.View, err error) {
	rows, on := c.scope(), portConn{c.conn}
	t, err := rows.Thread(ctx, on, threadID)
	if err != nil {
		return view, err
	}
	cp.Thread = t.Thread
	view, err = s.logs.Read(s.tenant, t, func(after int, tail *sqlstore.Tail) error {
		return c.messages(ctx, t, after, t.MessageCount, tail)
	})
	if err != nil {
		return view, err
	}
	cp.View, cp.Index, cp.HasBlobs = view.Messages(), view.Index(), view.HasBlobs()
	if t.Unread > 0 {
		if cp.Inbox, err = rows.Unread(ctx, on, threadID); err != nil {
			return view, err
		}
	}
	if t.LatestRunID == "" {
		return view, nil
	}
	if cp.Run, err = rows.Run(ctx, on, t.LatestRunID); err != nil || cp.Run == nil {
		return view, err
	}
	if cp.Calls, err = c.calls(ctx, t.LatestRunID); err != nil {
		return view, err
	}
	cp.Calls = threads.LastStep(cp.Calls)
	return view, c.query(ctx, `SELECT run, key, value FROM {p}_state WHERE tenant = ? AND thread = ? AND run IN ('', ?)`, []any{s.tenant, threadID, t.LatestRunID},
		func(scan sqlstore.Scan) error {
			var run, key string
			var value sql.RawBytes
			if err := scan(&run, &key, &value); err != nil {
				return err
			}
			m := &cp.ThreadState
			if run != "" {
				m = &cp.RunState
			}
			threads.Set(m, key, json.RawMessage(slices.Clone(value)))
			return nil
		})
}

// Interrupt raises the thread's generation and returns the unfinished calls.
func (s *scope) Interrupt(ctx context.Context, threadID string) (open []*awaken.CallState, err error) {
	err = s.db.write(ctx, s.tenant, "interrupt thread "+threadID, func(c *conn) (refused, err error) {
		var run string
		found, err := c.row(context.Background(), `UPDATE {p}_threads SET generation = generation + 1 WHERE tenant = ? AND id = ? RETURNING latest_run`,
			[]any{s.tenant, threadID}, &run)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return threads.NotFound(threadID), nil
		case run == "":
			return nil, nil
		}
		open, err = c.of(s.tenant).calls(context.Background(), run)
		open = threads.Unfinished(open)
		return nil, err
	})
	return open, err
}
