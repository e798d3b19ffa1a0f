package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/messagelog"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Acquire makes the caller the owner of a thread, which it creates if it does not exist. It
// reads what this process does not know of the log yet, all in one round trip: the statements
// of a batch are one transaction, and the first locks the row of the thread.
func (s *scope) Acquire(ctx context.Context, threadID string) (*awaken.Checkpoint, error) {
	var cp *awaken.Checkpoint
	err := retry(ctx, func() (err error) { // raising the fence twice is harmless
		cp, err = s.acquire(ctx, threadID, s.logs.Find(s.tenant, threadID))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("acquire thread %s: %w", threadID, err)
	}
	return cp, nil
}

// acquire acquires a thread of whose log some is known.
func (s *scope) acquire(ctx context.Context, threadID string, known *sqlstore.Log) (*awaken.Checkpoint, error) {
	cp, err := s.take(ctx, escape(threadID), known)
	if errors.Is(err, sqlstore.ErrLog) && known != nil {
		cp, err = s.take(ctx, escape(threadID), nil)
	}
	return cp, err
}

func (s *scope) take(ctx context.Context, id string, known *sqlstore.Log) (_ *awaken.Checkpoint, err error) {
	incarnation, n := known.Known()
	var b pgx.Batch
	b.Queue(s.db.sql(`SELECT `+sqlstore.ThreadColumns+` FROM {p}_acquire($1, $2)`), s.tenant, id)
	b.Queue(s.db.sql(messages), s.tenant, id, n, math.MaxInt64, incarnation)
	b.Queue(s.db.sql(`SELECT kind, id, key, data FROM {p}_load($1, $2)`), s.tenant, id)
	results := s.db.pool.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	var t sqlstore.Thread
	if err := t.Scan(dialect, results.QueryRow().Scan); err != nil {
		return nil, err
	}
	cp := &awaken.Checkpoint{Fence: t.Fence, Generation: t.Generation, Thread: t.Thread, Seq: t.LastSeq}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	var tail sqlstore.Tail
	d := messagelog.Decoder{Expect: t.MessageCount - n}
	if err := forEach(rows, func(rows pgx.Rows) error { return scanMessages(rows.Scan, &d, tail.Add) }); err != nil {
		return nil, err
	}
	view, err := s.logs.Join(s.tenant, &t, known, n, &tail)
	if err != nil {
		return nil, err
	}
	cp.View = view.Messages()
	if rows, err = results.Query(); err != nil {
		return nil, err
	}
	var calls records
	if err := forEach(rows, func(rows pgx.Rows) error { return scanLoad(rows, cp, &calls) }); err != nil {
		return nil, err
	}
	cp.Calls = threads.LastStep(sqlstore.Ledger(calls))
	return cp, nil
}

// scanLoad adds a row of the SQL function load to a checkpoint.
func scanLoad(rows pgx.Rows, cp *awaken.Checkpoint, calls *records) (err error) {
	var kind, id, key string
	var data [][]byte
	if err := rows.Scan(&kind, &id, &key, &data); err != nil {
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
