package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Thread is a row of the table of threads.
type Thread struct {
	awaken.Thread
	Fence, Generation uint64
	LastSeq           uint64
	Posted, Unread    int
	// ForkOf is the thread that holds the first ForkSeq messages; "" if this one does.
	ForkOf  string
	ForkSeq int
	// Incarnation differs from that of every thread with the same id that was removed.
	Incarnation int64
	// Edits counts the changes of the row that no owner made: of its metadata, its notes and its parent.
	Edits int64
}

// ThreadColumns are the columns that [Thread.Scan] scans.
const ThreadColumns = `id, resource, parent, title, custom, created, updated, messages, open_run, latest_run,
	fence, generation, last_seq, posted, unread, fork_of, fork_seq, user_id, incarnation, notes, edits`

// Scan scans a row of ThreadColumns.
func (t *Thread) Scan(d *Dialect, scan Scan) error {
	var custom, notes []byte
	var forkOf *string
	err := scan(&t.ID, &t.ResourceID, &t.ParentThreadID, &t.Metadata.Title, &custom, &t.Metadata.CreatedAt, &t.Metadata.UpdatedAt, &t.MessageCount,
		&t.OpenRunID, &t.LatestRunID, &t.Fence, &t.Generation, &t.LastSeq, &t.Posted, &t.Unread, &forkOf, &t.ForkSeq, &t.UserID, &t.Incarnation, &notes, &t.Edits)
	if err != nil {
		return err
	}
	if forkOf != nil {
		t.ForkOf = *forkOf
	}
	d.unescape(&t.ID, &t.ResourceID, &t.ParentThreadID, &t.Metadata.Title, &t.OpenRunID, &t.LatestRunID, &t.ForkOf, &t.UserID)
	t.End = awaken.Cursor{Epoch: t.Fence, Seq: t.LastSeq}
	if custom != nil {
		if err := json.Unmarshal(custom, &t.Metadata.Custom); err != nil {
			return fmt.Errorf("metadata of thread %s: %w", t.ID, err)
		}
	}
	if notes != nil {
		if err := json.Unmarshal(notes, &t.Notes); err != nil {
			return fmt.Errorf("notes of thread %s: %w", t.ID, err)
		}
	}
	return nil
}

// Thread returns the row of a thread, or an ErrNotFound.
func (s *Scope) Thread(ctx context.Context, c Conn, id string) (*Thread, error) {
	return s.thread(ctx, c, id, `SELECT `+ThreadColumns+` FROM {p}_threads WHERE tenant = ? AND id = ?`)
}

func (s *Scope) thread(ctx context.Context, c Conn, id, query string) (*Thread, error) {
	t, err := s.scanThread(ctx, c, query, s.tenant, s.id(id))
	if err == nil && t == nil {
		err = threads.NotFound(id)
	}
	return t, err
}

// scanThread returns the row of a statement, or nil if there is none.
func (s *Scope) scanThread(ctx context.Context, c Conn, query string, args ...any) (t *Thread, err error) {
	err = c.Query(ctx, query, args, func(scan Scan) error {
		t = new(Thread)
		return t.Scan(s.db.Dialect(), scan)
	})
	return t, err
}

// Thread returns a thread, or an ErrNotFound.
func (s *Tenant) Thread(ctx context.Context, id string) (*awaken.Thread, error) {
	var t *Thread
	err := s.scope.db.Read(ctx, func(c Conn) (err error) {
		t, err = s.scope.Thread(ctx, c, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &t.Thread, nil
}

// ownedBy returns the condition that a thread belongs to a user, whose escaped id is a parameter. The
// second half lets the planner use the index, which has no threads without a user.
func ownedBy(user, param string) string {
	if user == "" {
		return `user_id = ` + param
	}
	return `user_id = ` + param + ` AND user_id <> ''`
}

// ThreadState returns the saved state of a thread.
func (s *Tenant) ThreadState(ctx context.Context, threadID string) (out map[string]json.RawMessage, err error) {
	found := false
	// A thread without state yields one row of NULLs, a missing thread none.
	err = s.scope.db.Read(ctx, func(c Conn) error {
		return c.Query(ctx, `SELECT s.key, s.value FROM {p}_threads t LEFT JOIN {p}_state s ON s.tenant = t.tenant AND s.thread = t.id AND s.run = ''
			WHERE t.tenant = ? AND t.id = ?`, []any{s.scope.tenant, s.scope.id(threadID)}, func(scan Scan) error {
			found = true
			var key *string
			var value []byte
			if err := scan(&key, &value); err != nil || key == nil {
				return err
			}
			s.scope.db.Dialect().unescape(key)
			threads.Set(&out, *key, json.RawMessage(value))
			return nil
		})
	})
	if err == nil && !found {
		err = threads.NotFound(threadID)
	}
	return out, err
}

// Messages returns records of a thread's log.
func (s *Tenant) Messages(ctx context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	var out []awaken.MessageRecord
	err := s.scope.db.Read(ctx, func(c Conn) error {
		t, err := s.scope.Thread(ctx, c, threadID)
		if err != nil {
			return err
		}
		out, err = s.records(ctx, c, t, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// records returns records of the log of the thread in a row.
func (s *Tenant) records(ctx context.Context, c Conn, t *Thread, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	after, upTo := threads.Bounds(q, t.MessageCount)
	if after >= upTo {
		return []awaken.MessageRecord{}, nil
	}
	if kept, ok := s.logs.Find(s.scope.tenant, t.ID).records(t, after, upTo); ok {
		return kept, nil
	}
	page := NewTail(upTo - after)
	if err := s.engine.Log(ctx, c, s.scope.tenant, t, after, upTo, page); err != nil {
		return nil, err
	}
	out := make([]awaken.MessageRecord, len(page.msgs))
	for i, m := range page.msgs {
		out[i] = threads.Record(t.ID, after+i+1, page.created[i], m)
	}
	return out, nil
}

// View returns the view of a thread's log. It reads what this process does not know of it yet.
func (s *Tenant) View(ctx context.Context, threadID string) (*awaken.View, error) {
	var view awaken.View
	err := s.scope.db.Read(ctx, func(c Conn) error {
		for again := true; ; again = false {
			t, err := s.scope.Thread(ctx, c, threadID)
			if err != nil {
				return err
			}
			view, err = s.logs.Read(s.scope.tenant, t, func(after int, tail *Tail) error {
				return s.engine.Log(ctx, c, s.scope.tenant, t, after, t.MessageCount, tail)
			})
			// The thread may have been created anew since its row was read.
			if !again || !errors.Is(err, ErrLog) {
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return &view, nil
}
