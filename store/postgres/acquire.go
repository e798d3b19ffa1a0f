package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Acquire makes the caller the owner of a thread, which it creates if it does not exist. It
// reads what this process does not know of the log yet, all in one statement.
func (s *scope) Acquire(ctx context.Context, threadID string) (*awaken.Checkpoint, error) {
	return s.acquireAs(ctx, &taking{id: escape(threadID)}, threadID)
}

// Own acquires a thread for the worker that has a claim.
func (s *scope) Own(ctx context.Context, threadID string, c mailbox.Claim) (cp *awaken.Checkpoint, cancel bool, err error) {
	t := &taking{id: escape(threadID), claim: &c}
	cp, err = s.acquireAs(ctx, t, threadID)
	return cp, t.cancel, err
}

// taking is an acquisition in flight.
type taking struct {
	id     string         // of the thread, escaped
	claim  *mailbox.Claim // that must hold, or nil
	cancel bool           // the dispatch of the claim is cancelled
}

func (s *scope) acquireAs(ctx context.Context, how *taking, threadID string) (*awaken.Checkpoint, error) {
	var cp *awaken.Checkpoint
	err := retry(ctx, func() (err error) { // raising the fence twice is harmless
		cp, err = s.acquire(ctx, how, s.logs.Find(s.tenant, threadID))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("acquire thread %s: %w", threadID, err)
	}
	return cp, nil
}

// acquire acquires a thread of whose log some is known.
func (s *scope) acquire(ctx context.Context, how *taking, known *sqlstore.Log) (*awaken.Checkpoint, error) {
	cp, err := s.take(ctx, how, known, true)
	if errors.Is(err, sqlstore.ErrLog) { // what is known is wrong, or a segment is damaged
		cp, err = s.take(ctx, how, nil, false)
	}
	return cp, err
}

// take acquires a thread. It may read segments of the log.
func (s *scope) take(ctx context.Context, how *taking, known *sqlstore.Log, segments bool) (*awaken.Checkpoint, error) {
	incarnation, n := known.Known()
	var id, token string
	if c := how.claim; c != nil {
		id, token = escape(c.ID), escape(c.Token)
	}
	rows, err := s.db.pool.Query(ctx, s.db.sql(take), s.tenant, how.id, id, token, incarnation, n, segments)
	if err != nil {
		return nil, err
	}
	var cp *awaken.Checkpoint
	var t sqlstore.Thread
	var tail *sqlstore.Tail
	var calls records
	if err := forEach(rows, func(rows pgx.Rows) error {
		if cp == nil {
			var cancel string
			if err := t.Scan(dialect, func(dest ...any) error { return rows.Scan(append(dest, nil, &cancel, nil, nil, nil, nil, nil)...) }); err != nil {
				return err
			}
			how.cancel = cancel != ""
			cp = &awaken.Checkpoint{Fence: t.Fence, Generation: t.Generation, Thread: t.Thread}
			tail = sqlstore.NewTail(t.MessageCount - n)
			return nil
		}
		var kind string
		if err := rows.Scan(append(make([]any, threadFields), &kind, nil, nil, nil, nil, nil, nil)...); err != nil {
			return err
		}
		if kind == "m" {
			return scanMessages(func(dest ...any) error { return rows.Scan(append(make([]any, threadFields+3), dest...)...) }, tail)
		}
		return scanLoad(rows, kind, cp, &calls)
	}); err != nil {
		return nil, err
	}
	if cp == nil {
		return nil, awaken.ErrFenced
	}
	view, err := s.logs.Join(s.tenant, &t, known, n, tail)
	if err != nil {
		return nil, err
	}
	cp.View, cp.Index, cp.HasBlobs = view.Messages(), view.Index(), view.HasBlobs()
	s.warm.Acquired(s.tenant, &t, cp, &view)
	cp.Calls = threads.LastStep(sqlstore.Ledger(calls))
	return cp, nil
}

// threadFields is the number of columns of [sqlstore.ThreadColumns].
var threadFields = strings.Count(sqlstore.ThreadColumns, ",") + 1

// take acquires a thread. Its first columns are those of the thread's row.
var take = `SELECT (o.thread).` + strings.Join(strings.Fields(sqlstore.ThreadColumns), ` (o.thread).`) + `, o.kind, o.id, o.key, o.seq, o.created, o.data, o.segment
	FROM {p}_take($1, $2, $3, $4, $5, $6, $7) o`

// scanLoad adds a row of the SQL function load to a checkpoint.
func scanLoad(rows pgx.Rows, kind string, cp *awaken.Checkpoint, calls *records) (err error) {
	var id, key string
	var data [][]byte
	if err := rows.Scan(append(make([]any, threadFields), nil, &id, &key, nil, nil, &data, nil)...); err != nil {
		return err
	}
	switch kind {
	case "r":
		cp.Run, err = dialect.DecodeRun(id, key, data[0])
	case "c":
		err = calls.add(data)
	case "s":
		m := &cp.ThreadState
		if id != "" {
			m = &cp.RunState
		}
		threads.Set(m, unescape(key), data[0])
	case "i":
		var item awaken.InboxItem
		item, err = dialect.DecodeItem(id, data[0])
		cp.Inbox = append(cp.Inbox, item)
	}
	return err
}

// Interrupt raises the thread's generation and returns the unfinished calls.
func (s *scope) Interrupt(ctx context.Context, threadID string) ([]*awaken.CallState, error) {
	var open []*awaken.CallState
	err := retry(ctx, func() (err error) { // raising the generation twice is harmless
		open, err = s.interrupt(ctx, escape(threadID))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, threads.NotFound(threadID)
	}
	if err != nil {
		return nil, fmt.Errorf("interrupt thread %s: %w", threadID, err)
	}
	return open, nil
}

func (s *scope) interrupt(ctx context.Context, id string) (_ []*awaken.CallState, err error) {
	var b pgx.Batch
	b.Queue(s.db.sql(`UPDATE {p}_threads SET generation = generation + 1 WHERE tenant = $1 AND id = $2 RETURNING generation`), s.tenant, id)
	// A second statement, so that it sees a commit that the first one waited for.
	b.Queue(s.db.sql(`SELECT calls FROM {p}_calls($1, (SELECT latest_run FROM {p}_threads WHERE tenant = $1 AND id = $2))`), s.tenant, id)
	results := s.db.pool.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	var generation int64
	if err := results.QueryRow().Scan(&generation); err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	var calls records
	err = forEach(rows, func(rows pgx.Rows) error { return calls.scan(rows) })
	return threads.Unfinished(sqlstore.Ledger(calls)), err
}
