package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// pulse is the connection of heartbeats. It is not of the pool, in which a heartbeat would wait
// for commits while the process is busy.
type pulse struct {
	mu   sync.Mutex
	conn *pgx.Conn // nil before the first use and after an error
}

// exec executes a statement and returns how many rows it changed. What it writes need not
// survive a crash of the database: a process that is taken for dead joins again.
func (p *pulse) exec(ctx context.Context, db *database, query string, args ...any) (n int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { err = classified(err) }()
	if p.conn == nil || p.conn.IsClosed() {
		if p.conn, err = pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig); err != nil {
			return 0, err
		}
	}
	var b pgx.Batch // one transaction
	b.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	b.Queue(db.sql(query), args...)
	results := p.conn.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return 0, err
	}
	tag, err := results.Exec()
	return tag.RowsAffected(), err
}

func (p *pulse) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.conn.Close(ctx)
	p.conn = nil
}

// Join makes a process known.
func (q *queue) Join(ctx context.Context, process string, limit time.Duration) error {
	_, err := q.pulse.exec(ctx, q.db, `INSERT INTO {p}_processes (id, until) VALUES ($1, {p}_now() / 1000 + $2)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, escape(process), limit.Milliseconds())
	if err != nil {
		return fmt.Errorf("join process %s: %w", process, err)
	}
	return nil
}

// Beat is a sign of life of a process. It uses a connection of its own.
func (q *queue) Beat(ctx context.Context, process string, limit time.Duration) error {
	n, err := q.pulse.exec(ctx, q.db, `UPDATE {p}_processes SET until = {p}_now() / 1000 + $2 WHERE id = $1 AND until > {p}_now() / 1000`, escape(process), limit.Milliseconds())
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: it was silent for too long", awaken.ErrFenced)
	}
	if err != nil {
		return fmt.Errorf("process %s: %w", process, err)
	}
	return nil
}

// Leave releases what a process has claimed and forgets the process.
func (q *queue) Leave(ctx context.Context, process string) error {
	n, err := q.releaseAll(ctx, escape(process), false)
	if err != nil {
		return fmt.Errorf("leave process %s: %w", process, err)
	}
	if n > 0 {
		q.announcer.announce(mailbox.Signal{Ready: true})
	}
	return nil
}

// releaseAll forgets a process and requeues what it has claimed. If it is to be dead, it must
// be, and its death is counted.
func (q *queue) releaseAll(ctx context.Context, process string, dead bool) (n int, err error) {
	err = q.db.transact(ctx, func(tx pgx.Tx) (err error) {
		n, err = q.release(ctx, tx, process, dead)
		return err
	})
	return n, err
}

func (q *queue) release(ctx context.Context, tx pgx.Tx, process string, dead bool) (int, error) {
	// A heartbeat waits for the row, and then finds none.
	gone, err := tx.Exec(ctx, q.db.sql(`DELETE FROM {p}_processes WHERE id = $1 AND (NOT $2 OR until <= {p}_now() / 1000)`), process, dead)
	if err != nil || dead && gone.RowsAffected() == 0 {
		return 0, err
	}
	var tenants, threads []string
	rows, err := tx.Query(ctx, q.db.sql(`SELECT tenant, id FROM {p}_queues WHERE lease IS NOT NULL AND consumer = $1 ORDER BY tenant, id FOR UPDATE`), process)
	if err != nil {
		return 0, err
	}
	if err := forEach(rows, func(rows pgx.Rows) error {
		var tenant, thread string
		err := rows.Scan(&tenant, &thread)
		tenants, threads = append(tenants, tenant), append(threads, thread)
		return err
	}); err != nil || len(threads) == 0 {
		return 0, err
	}
	var claimed []*mailbox.Dispatch // of the threads that are locked: a claim that was made since is left as it is
	if rows, err = tx.Query(ctx, q.db.sql(`SELECT `+sqlstore.DispatchColumns+` FROM `+sqlstore.DispatchTables+` WHERE q.lease IS NOT NULL AND q.consumer = $1
		AND (q.tenant, q.id) IN (SELECT * FROM unnest($2::text[], $3::text[]))`), process, tenants, threads); err != nil {
		return 0, err
	}
	if err := forEach(rows, func(rows pgx.Rows) error {
		d, err := dialect.ScanDispatch(rows.Scan)
		claimed = append(claimed, d)
		return err
	}); err != nil {
		return 0, err
	}
	if dead {
		mailbox.Blame(claimed)
	}
	var b pgx.Batch
	for _, d := range claimed {
		b.Queue(q.db.sql(`UPDATE {p}_dispatches SET attempts = $3, crashes = $4, available = {p}_now() / 1000, updated = {p}_now() / 1000,
			lost = CASE WHEN $5 THEN {p}_now() / 1000 ELSE 0 END WHERE tenant = $1 AND id = $2`), escape(d.Tenant), escape(d.ID), d.Attempts, d.Crashes, dead)
	}
	b.Queue(q.db.sql(`UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
		FROM unnest($1::text[], $2::text[]) AS t (tenant, id) WHERE q.tenant = t.tenant AND q.id = t.id`), tenants, threads)
	b.Queue(q.db.sql(`SELECT {p}_ready($1, $2, {p}_now())`), tenants, threads)
	return len(claimed), tx.SendBatch(ctx, &b).Close()
}
