package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// thread is a row of threads.
type thread struct {
	awaken.Thread
	fence, generation uint64
	lastSeq           uint64
	posted, unread    int
	fork
}

// fork says where the first messages of a thread are.
type fork struct {
	of  string // thread ID, "" if they are its own
	seq int    // how many
}

const threadColumns = `id, resource, parent, title, custom, created, updated, messages, open_run, latest_run,
	fence, generation, last_seq, posted, unread, fork_of, fork_seq`

func (t *thread) scan(scan func(...any) error) error {
	var custom, forkOf sql.NullString
	err := scan(&t.ID, &t.ResourceID, &t.ParentThreadID, &t.Metadata.Title, &custom, &t.Metadata.CreatedAt, &t.Metadata.UpdatedAt, &t.MessageCount,
		&t.OpenRunID, &t.LatestRunID, &t.fence, &t.generation, &t.lastSeq, &t.posted, &t.unread, &forkOf, &t.fork.seq)
	if err != nil {
		return err
	}
	t.fork.of = forkOf.String
	t.End = awaken.Cursor{Epoch: t.fence, Seq: t.lastSeq}
	if custom.Valid {
		if err := json.Unmarshal([]byte(custom.String), &t.Metadata.Custom); err != nil {
			return fmt.Errorf("metadata of thread %s: %w", t.ID, err)
		}
	}
	return nil
}

// thread returns a row, or an ErrNotFound.
func (c tenantConn) thread(ctx context.Context, id string) (*thread, error) {
	var t thread
	found := false
	err := c.query(ctx, `SELECT `+threadColumns+` FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{c.tenant, id},
		func(scan func(...any) error) error { found = true; return t.scan(scan) })
	if err == nil && !found {
		err = noThread(id)
	}
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// exists returns nil, or an ErrNotFound.
func (c tenantConn) exists(ctx context.Context, thread string) error {
	var one int
	found, err := c.row(ctx, `SELECT 1 FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{c.tenant, thread}, &one)
	if err == nil && !found {
		err = noThread(thread)
	}
	return err
}

// makeThread makes a thread that is not there.
func (c tenantConn) makeThread(threadID string, now moment) error {
	_, err := c.exec(`INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence)
		VALUES (?1, ?2, ?3, ?3, 1 + coalesce((SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), 0), `+floor+`) ON CONFLICT DO NOTHING`, c.tenant, threadID, now.ms)
	return err
}

// threadReader implements [awaken.ThreadStore].
type threadReader scope

// Thread returns a thread.
func (s *threadReader) Thread(ctx context.Context, id string) (*awaken.Thread, error) {
	var t *thread
	err := s.db.read(ctx, func(c *conn) (err error) {
		t, err = c.of(s.tenant).thread(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &t.Thread, nil
}

// ListThreads returns threads, the most recently updated first.
func (s *threadReader) ListThreads(ctx context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	where, args := s.where(q)
	offset, limit := page(q.Offset, q.Limit)
	query := `SELECT ` + threadColumns + ` FROM {p}_threads WHERE ` + where + ` ORDER BY touched DESC, id LIMIT ? OFFSET ?`
	args = append(args, limit, offset)
	var out []*awaken.Thread
	err := s.db.read(ctx, func(c *conn) error {
		return c.query(ctx, query, args, func(scan func(...any) error) error {
			var t thread
			out = append(out, &t.Thread)
			return t.scan(scan)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	return out, nil
}

// CountThreads returns how many threads there are, on all pages.
func (s *threadReader) CountThreads(ctx context.Context, q awaken.ThreadQuery) (int, error) {
	where, args := s.where(q)
	return s.db.count(ctx, `SELECT count(*) FROM {p}_threads WHERE `+where, args)
}

// where returns the conditions of a query, with their arguments.
func (s *threadReader) where(q awaken.ThreadQuery) (where string, args []any) {
	where, args = `tenant = ?`, []any{s.tenant}
	if q.ResourceID != "" {
		where, args = where+` AND resource = ? AND resource <> ''`, append(args, q.ResourceID)
	}
	if q.ParentThreadID != "" {
		where, args = where+` AND parent = ? AND parent <> ''`, append(args, q.ParentThreadID)
	}
	if q.Root {
		where += ` AND parent = ''`
	}
	return where, args
}

// Messages returns records of a thread's log.
func (s *threadReader) Messages(ctx context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	out := []awaken.MessageRecord{}
	err := s.db.read(ctx, func(c *conn) error {
		t, err := c.of(s.tenant).thread(ctx, threadID)
		if err != nil {
			return err
		}
		after, upTo := max(q.After, 0), t.MessageCount
		if q.Before > 0 {
			upTo = min(upTo, q.Before-1)
		}
		if q.Limit > 0 && upTo-after > q.Limit {
			if q.Last {
				after = upTo - q.Limit
			} else {
				upTo = after + q.Limit
			}
		}
		return c.of(s.tenant).messages(ctx, t, after, upTo, func(seq int, created int64, m *llm.Message) {
			r := awaken.MessageRecord{ThreadID: threadID, Seq: seq, Message: m, Created: created}
			if m.Metadata != nil {
				r.RunID = m.Metadata.RunID
			}
			out = append(out, r)
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// messages calls each with the records of t's log behind after, up to and including
// upTo, in order. What t shares with the threads it is a fork of is read from there.
func (c tenantConn) messages(ctx context.Context, t *thread, after, upTo int, each func(seq int, created int64, m *llm.Message)) error {
	if after >= upTo {
		return nil
	}
	if t.fork.of != "" && after < t.fork.seq {
		base, err := c.thread(ctx, t.fork.of)
		if err != nil {
			return fmt.Errorf("fork %s: %w", t.ID, err)
		}
		if err := c.messages(ctx, base, after, min(upTo, t.fork.seq), each); err != nil {
			return err
		}
		after = t.fork.seq
	}
	return c.query(ctx, `SELECT before, upto, time, messages FROM {p}_commits WHERE tenant = ? AND thread = ? AND upto > ? AND messages IS NOT NULL ORDER BY upto`,
		[]any{c.tenant, t.ID, after}, func(scan func(...any) error) error {
			var before, last int
			var created int64
			var data sql.RawBytes
			if err := scan(&before, &last, &created, &data); err != nil {
				return err
			}
			var list []*llm.Message
			if err := json.Unmarshal(data, &list); err != nil {
				return fmt.Errorf("messages behind %d of thread %s: %w", before, t.ID, err)
			}
			if len(list) < last-before {
				return fmt.Errorf("thread %s has %d of %d messages behind %d", t.ID, len(list), last-before, before)
			}
			for seq := max(after, before) + 1; seq <= min(last, upTo); seq++ {
				each(seq, created, list[seq-before-1])
			}
			if last >= upTo {
				return errStop
			}
			return nil
		})
}
