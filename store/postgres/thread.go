package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// thread is a row of threads.
type thread struct {
	awaken.Thread
	fence, generation int64
	lastSeq           int64
	unread            int64
	forkOf            *string // escaped
	forkSeq           int
}

const threadColumns = `id, resource, parent, title, custom, created, updated, messages, open_run, latest_run,
	fence, generation, last_seq, unread, fork_of, fork_seq`

func (t *thread) scan(row pgx.Row) error {
	var custom *string
	err := row.Scan(&t.ID, &t.ResourceID, &t.ParentThreadID, &t.Metadata.Title, &custom, &t.Metadata.CreatedAt, &t.Metadata.UpdatedAt, &t.MessageCount,
		&t.OpenRunID, &t.LatestRunID, &t.fence, &t.generation, &t.lastSeq, &t.unread, &t.forkOf, &t.forkSeq)
	if err != nil {
		return err
	}
	for _, s := range [...]*string{&t.ID, &t.ResourceID, &t.ParentThreadID, &t.Metadata.Title, &t.OpenRunID, &t.LatestRunID} {
		*s = unescape(*s)
	}
	t.End = awaken.Cursor{Epoch: uint64(t.fence), Seq: uint64(t.lastSeq)}
	if custom != nil {
		if err := json.Unmarshal([]byte(*custom), &t.Metadata.Custom); err != nil {
			return fmt.Errorf("metadata of thread %s: %w", t.ID, err)
		}
	}
	return nil
}

// threadReader implements [awaken.ThreadStore].
type threadReader scope

// thread returns a row, or an ErrNotFound.
func (s *threadReader) thread(ctx context.Context, id string) (*thread, error) {
	var t *thread
	err := retry(ctx, func() error {
		t = new(thread)
		return t.scan(s.db.pool.QueryRow(ctx, s.db.sql(`SELECT `+threadColumns+` FROM {p}_threads WHERE tenant = $1 AND id = $2`), s.tenant, escape(id)))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = noThread(id)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Thread returns a thread.
func (s *threadReader) Thread(ctx context.Context, id string) (*awaken.Thread, error) {
	t, err := s.thread(ctx, id)
	if err != nil {
		return nil, err
	}
	return &t.Thread, nil
}

// ListThreads returns threads, the most recently updated first.
func (s *threadReader) ListThreads(ctx context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	where, args := s.where(q)
	offset, limit := page(q.Offset, q.Limit)
	query := fmt.Sprintf(`SELECT `+threadColumns+` FROM {p}_threads WHERE `+where+` ORDER BY touched DESC, id LIMIT $%d OFFSET $%d`, len(args)+1, len(args)+2)
	args = append(args, limit, offset)
	var out []*awaken.Thread
	err := s.db.query(ctx, query, args, func() { out = nil }, func(rows pgx.Rows) error {
		var t thread
		out = append(out, &t.Thread)
		return t.scan(rows)
	})
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	return out, nil
}

// CountThreads returns how many threads there are, on all pages.
func (s *threadReader) CountThreads(ctx context.Context, q awaken.ThreadQuery) (n int, err error) {
	where, args := s.where(q)
	err = retry(ctx, func() error {
		return s.db.pool.QueryRow(ctx, s.db.sql(`SELECT count(*) FROM {p}_threads WHERE `+where), args...).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count threads: %w", err)
	}
	return n, nil
}

// where returns the conditions of a query, with their arguments from $1 on.
func (s *threadReader) where(q awaken.ThreadQuery) (where string, args []any) {
	where, args = `tenant = $1`, []any{s.tenant}
	if q.ResourceID != "" {
		args = append(args, escape(q.ResourceID))
		where += fmt.Sprintf(` AND resource = $%d AND resource <> ''`, len(args))
	}
	if q.ParentThreadID != "" {
		args = append(args, escape(q.ParentThreadID))
		where += fmt.Sprintf(` AND parent = $%d AND parent <> ''`, len(args))
	}
	if q.Root {
		where += ` AND parent = ''`
	}
	return where, args
}

// Messages returns records of a thread's log.
func (s *threadReader) Messages(ctx context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	t, err := s.thread(ctx, threadID)
	if err != nil {
		return nil, err
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
	out := []awaken.MessageRecord{}
	if after >= upTo {
		return out, nil
	}
	each := func(seq int, created int64, m *llm.Message) {
		r := awaken.MessageRecord{ThreadID: threadID, Seq: seq, Created: created, Message: m}
		if md := m.Metadata; md != nil {
			r.RunID = md.RunID
		}
		out = append(out, r)
	}
	err = s.db.query(ctx, messages, []any{s.tenant, escape(threadID), after, upTo}, func() { out = out[:0] },
		func(rows pgx.Rows) error { return scanMessages(rows, each) })
	if err != nil {
		return nil, fmt.Errorf("messages of thread %s: %w", threadID, err)
	}
	return out, nil
}

const messages = `SELECT seq, created, data FROM {p}_log($1, $2, $3, $4)`

// scanMessages calls each for the messages of a row.
func scanMessages(rows pgx.Rows, each func(seq int, created int64, m *llm.Message)) error {
	var seq int
	var created int64
	var data [][]byte
	if err := rows.Scan(&seq, &created, &data); err != nil {
		return err
	}
	for i := range data {
		m := new(llm.Message)
		if err := json.Unmarshal(data[i], m); err != nil {
			return fmt.Errorf("message %d: %w", seq+i, err)
		}
		each(seq+i, created, m)
	}
	return nil
}
