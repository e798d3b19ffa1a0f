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

// Acquire makes the caller the owner of a thread. It reads the whole log to build the
// view, all in one round trip: the statements of a batch are one transaction, and the
// first locks the thread's row.
func (s *Store) Acquire(ctx context.Context, threadID string) (*awaken.Checkpoint, error) {
	var cp *awaken.Checkpoint
	err := s.db.retry(ctx, func() (err error) { // raising the fence twice does no harm
		cp, err = s.acquire(ctx, escape(threadID))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("acquire thread %s: %w", threadID, err)
	}
	return cp, nil
}

func (s *Store) acquire(ctx context.Context, id string) (_ *awaken.Checkpoint, err error) {
	var b pgx.Batch
	queue := func(query string) { b.Queue(s.db.sql(query), s.tenant, id) }
	queue(`SELECT ` + threadColumns + ` FROM {p}_acquire($1, $2)`)
	// What a fork shares comes before its own messages.
	queue(`SELECT l.seq, l.created, l.data FROM {p}_threads t, {p}_log(t.tenant, t.fork_of, 0, t.fork_seq) l
		WHERE t.tenant = $1 AND t.id = $2 AND t.fork_of IS NOT NULL`)
	queue(`SELECT seq, created, data FROM {p}_messages WHERE tenant = $1 AND thread = $2 ORDER BY seq`)
	queue(`SELECT id, thread, data FROM {p}_runs WHERE tenant = $1 AND id = ` + latestRun)
	queue(`SELECT data FROM {p}_calls WHERE tenant = $1 AND run = ` + latestRun + `
		AND step = (SELECT max(step) FROM {p}_calls WHERE tenant = $1 AND run = ` + latestRun + `) ORDER BY idx`)
	queue(`SELECT run, key, value FROM {p}_state WHERE tenant = $1 AND thread = $2 AND run IN ('', ` + latestRun + `)`)
	queue(unreadItems)

	results := s.db.pool.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	var t thread
	if err := t.scan(results.QueryRow()); err != nil {
		return nil, err
	}
	cp := &awaken.Checkpoint{Fence: uint64(t.fence), Generation: uint64(t.generation), Thread: t.Thread, Seq: uint64(t.lastSeq)}
	each := func(f func(rows pgx.Rows) error) {
		if err != nil {
			return
		}
		var rows pgx.Rows
		if rows, err = results.Query(); err == nil {
			err = forEach(rows, f)
		}
	}
	log := make([]*llm.Message, 0, t.MessageCount)
	message := func(rows pgx.Rows) error {
		var seq int
		var created int64
		m, err := scanMessage(rows, &seq, &created)
		log = append(log, m)
		return err
	}
	each(message)
	each(message)
	each(func(rows pgx.Rows) (err error) { cp.Run, err = scanRun(rows); return err })
	each(func(rows pgx.Rows) error { return scanCall(rows, &cp.Calls) })
	each(func(rows pgx.Rows) error { return scanState(rows, cp) })
	each(func(rows pgx.Rows) error { return scanItem(rows, &cp.Inbox) })
	if err != nil {
		return nil, err
	}
	if len(log) != t.MessageCount {
		return nil, fmt.Errorf("the log has %d of %d messages", len(log), t.MessageCount)
	}
	var view awaken.View
	view.Append(log...)
	cp.View = view.Messages()
	return cp, nil
}

// latestRun is a thread's latest run. It is not a join, because a join that was planned
// when the tables were small may read all runs of the tenant.
const latestRun = `(SELECT latest_run FROM {p}_threads WHERE tenant = $1 AND id = $2)`

func scanState(rows pgx.Rows, cp *awaken.Checkpoint) error {
	var run, key string
	var value []byte
	if err := rows.Scan(&run, &key, &value); err != nil {
		return err
	}
	m := &cp.ThreadState
	if run != "" {
		m = &cp.RunState
	}
	if *m == nil {
		*m = map[string]json.RawMessage{}
	}
	(*m)[unescape(key)] = value
	return nil
}

// Interrupt raises the thread's generation.
func (s *Store) Interrupt(ctx context.Context, threadID string) ([]*awaken.CallState, error) {
	var open []*awaken.CallState
	err := s.db.retry(ctx, func() (err error) { // raising it twice does no harm
		open, err = s.interrupt(ctx, escape(threadID))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, noThread(threadID)
	}
	if err != nil {
		return nil, fmt.Errorf("interrupt thread %s: %w", threadID, err)
	}
	return open, nil
}

func (s *Store) interrupt(ctx context.Context, id string) (open []*awaken.CallState, err error) {
	var b pgx.Batch
	b.Queue(s.db.sql(`UPDATE {p}_threads SET generation = generation + 1 WHERE tenant = $1 AND id = $2 RETURNING generation`), s.tenant, id)
	// A statement of its own, so that it sees a commit that the first had to wait for.
	b.Queue(s.db.sql(`SELECT data FROM {p}_calls WHERE tenant = $1 AND run = `+latestRun+` AND status = $3 ORDER BY step, idx`), s.tenant, id, string(awaken.CallRunning))
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
	err = forEach(rows, func(rows pgx.Rows) error { return scanCall(rows, &open) })
	return open, err
}
