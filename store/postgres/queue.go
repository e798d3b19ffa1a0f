package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// queue implements [mailbox.Queue], except Handle, and [mailbox.Listener].
type queue struct {
	db        *database
	announcer *announcer
	pulse     pulse
}

// Claim claims available dispatches, in one round trip. If the connection is lost, the
// dispatches that it may have claimed stay claimed until their lease expires.
func (q *queue) Claim(ctx context.Context, c mailbox.ClaimRequest) (ds []*mailbox.Dispatch, next time.Duration, err error) {
	if c.Limit <= 0 {
		return nil, 0, nil
	}
	defer func() {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == deadProcess {
			err = fmt.Errorf("claim: %w: %s", awaken.ErrFenced, e.Message)
		} else if err != nil {
			err = fmt.Errorf("claim: %w", classified(err))
		}
	}()
	except := make([]string, len(c.Except))
	for i, tenant := range c.Except {
		except[i] = escape(tenant)
	}
	var b pgx.Batch
	b.Queue(q.db.sql(claimNext), escape(c.Consumer), ids.New()+"-", c.Lease.Milliseconds(), c.Limit, max(c.Suspects, 0), except)
	b.Queue(q.db.sql(`SELECT greatest(q.wake - {p}_now() / 1000, 1) FROM {p}_queues q WHERE q.wake IS NOT NULL AND q.since IS NULL ORDER BY q.wake LIMIT 1`))
	results := q.db.pool.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	rows, err := results.Query()
	if err != nil {
		return nil, 0, err
	}
	if err := forEach(rows, func(rows pgx.Rows) error {
		d, err := scanClaim(rows)
		ds = append(ds, d)
		return err
	}); err != nil {
		return nil, 0, err
	}
	var ms int64
	if err := results.QueryRow().Scan(&ms); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, err
	}
	return ds, time.Duration(ms) * time.Millisecond, nil
}

// Suspects reports whether a suspect can be claimed.
func (q *queue) Suspects(ctx context.Context) (found bool, err error) {
	err = retry(ctx, func() error {
		return q.db.pool.QueryRow(ctx, q.db.sql(`SELECT EXISTS (SELECT FROM {p}_queues q WHERE q.suspect AND q.since IS NOT NULL)`)).Scan(&found)
	})
	if err != nil {
		return false, fmt.Errorf("suspects: %w", err)
	}
	return found, nil
}

// claimNext claims dispatches. Its last columns are those of the thread's row if that was acquired.
var claimNext = `SELECT o.tenant, o.id, o.thread, o.run, o.request, o.priority, o.dedupe, o.epoch, o.status, o.cancel, o.revision,
	o.available, o.attempts, o.max_attempts, o.steps, o.error, o.key, o.digest, o.created, o.updated, o.completed,
	o.token, o.consumer, o.lease, o.crashes, o.lost, NULL::text, '', '',
	o.fresh, (o.owned).id IS NOT NULL, (o.owned).` + strings.Join(strings.Fields(sqlstore.ThreadColumns), ` (o.owned).`) + ` FROM {p}_claim_next($1, $2, $3, $4, $5, $6) o`

// scanClaim scans a row of claimNext.
func scanClaim(rows pgx.Rows) (*mailbox.Dispatch, error) {
	var fresh, owned bool
	d, err := dialect.ScanDispatch(func(dest ...any) error {
		return rows.Scan(append(append(dest, &fresh, &owned), make([]any, threadFields)...)...)
	})
	if err != nil {
		return nil, err
	}
	if d.Fresh = fresh; !owned {
		return d, nil
	}
	var t sqlstore.Thread
	err = t.Scan(dialect, func(dest ...any) error {
		return rows.Scan(append(make([]any, len(rows.RawValues())-threadFields), dest...)...)
	})
	d.Checkpoint = &awaken.Checkpoint{Fence: t.Fence, Generation: t.Generation, Thread: t.Thread}
	return d, err
}

// deadProcess is the error code of the SQL function claim_next for a process that is dead or not known.
const deadProcess = "AW002"

// claims are the arguments for several claims: one array for each field.
type claims struct {
	tenants, ids, tokens []string
	steps                []int64
}

func (c *claims) add(h mailbox.Claim) {
	c.tenants, c.ids = append(c.tenants, escape(h.Tenant)), append(c.ids, escape(h.ID))
	c.tokens, c.steps = append(c.tokens, escape(h.Token)), append(c.steps, int64(h.Steps))
}

// Renew extends leases, in one round trip.
func (q *queue) Renew(ctx context.Context, lease time.Duration, held ...mailbox.Claim) ([]mailbox.Renewal, error) {
	if len(held) == 0 {
		return nil, nil
	}
	var c claims
	for _, h := range held {
		c.add(h)
	}
	var codes []int64
	err := retry(ctx, func() error { // extending a lease twice is harmless
		return q.db.pool.QueryRow(ctx, q.db.sql(`SELECT {p}_renew($1, $2, $3, $4, $5)`), lease.Milliseconds(), c.tenants, c.ids, c.tokens, c.steps).Scan(&codes)
	})
	if err != nil {
		return nil, fmt.Errorf("renew: %w", err)
	}
	out := make([]mailbox.Renewal, len(held))
	for i := range out {
		out[i] = mailbox.Renewal{Lost: codes[i] == 0, Cancel: codes[i] == 2}
	}
	return out, nil
}

// Settle ends claims, in one round trip. If the connection is lost and Settle retries, it
// returns ErrFenced for claims that the first request has ended.
func (q *queue) Settle(ctx context.Context, settlements ...mailbox.Settlement) ([]error, error) {
	if len(settlements) == 0 {
		return nil, nil
	}
	if err := sqlstore.CheckSettlements(settlements); err != nil {
		return nil, err
	}
	n := len(settlements)
	var c claims
	statuses, delays, failed, messages := make([]string, n), make([]int64, n), make([]bool, n), make([]string, n)
	for i := range settlements {
		s := &settlements[i]
		c.add(s.Claim)
		statuses[i], delays[i], failed[i], messages[i] = string(s.Status), max(s.Delay.Milliseconds(), 0), s.Failed, escape(s.Error)
	}
	var settled []int64
	var ready bool
	err := retry(ctx, func() error {
		return q.db.pool.QueryRow(ctx, q.db.sql(`SELECT * FROM {p}_settle($1, $2, $3, $4, $5, $6, $7, $8)`), c.tenants, c.ids, c.tokens, c.steps,
			statuses, delays, failed, messages).Scan(&settled, &ready)
	})
	if err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	out := make([]error, n)
	for i := range out {
		out[i] = awaken.ErrFenced
	}
	for _, i := range settled {
		out[i-1] = nil
	}
	if ready {
		q.announcer.announce(mailbox.Signal{Ready: true})
	}
	return out, nil
}

// Reclaim requeues dispatches whose process is dead or whose lease has expired. It takes one
// round trip if there are none: every worker asks often.
func (q *queue) Reclaim(ctx context.Context, limit int) (n int, err error) {
	var dead []string
	var over bool
	err = retry(ctx, func() error {
		return q.db.pool.QueryRow(ctx, q.db.sql(`SELECT ARRAY(SELECT p.id FROM {p}_processes p WHERE p.until <= t.now),
				coalesce((SELECT q.lease FROM {p}_queues q WHERE q.lease IS NOT NULL ORDER BY q.lease LIMIT 1) <= t.now, false)
			FROM (SELECT {p}_now() / 1000 AS now OFFSET 0) t`)).Scan(&dead, &over)
	})
	for i := 0; i < len(dead) && err == nil; i++ {
		var buried int
		buried, err = q.releaseAll(ctx, dead[i], true)
		n += buried
	}
	if err == nil && over {
		err = retry(ctx, func() error {
			var expired int
			err := q.db.pool.QueryRow(ctx, q.db.sql(`SELECT {p}_reclaim($1)`), limit).Scan(&expired)
			n += expired
			return err
		})
	}
	if err != nil {
		return n, fmt.Errorf("reclaim: %w", err)
	}
	if n > 0 {
		q.announcer.announce(mailbox.Signal{Ready: true})
	}
	return n, nil
}

// purgeGroup is the number of dispatches that Purge removes in one transaction.
const purgeGroup = 1000

// Purge removes dispatches that were completed at least olderThan ago.
func (q *queue) Purge(ctx context.Context, olderThan time.Duration) (total int, err error) {
	for n := int64(purgeGroup); n == purgeGroup; total += int(n) {
		if n, err = q.db.Exec(ctx, `DELETE FROM {p}_dispatches d USING (SELECT tenant, id FROM {p}_dispatches
			WHERE completed > 0 AND completed <= {p}_now() / 1000 - $1 ORDER BY completed LIMIT $2 FOR UPDATE SKIP LOCKED) o
			WHERE d.tenant = o.tenant AND d.id = o.id`, olderThan.Milliseconds(), purgeGroup); err != nil {
			return total, fmt.Errorf("purge: %w", err)
		}
	}
	if err = q.foldDeadLetters(ctx); err != nil {
		return total, fmt.Errorf("purge: %w", err)
	}
	return total, nil
}

// foldDeadLetters replaces the rows that count dead letters by one with their sum, if there are many. Rows that another process folds, or
// has just added, are left to the next call.
func (q *queue) foldDeadLetters(ctx context.Context) error {
	_, err := q.db.Exec(ctx, `WITH counted AS (SELECT id FROM {p}_dead_letters
				WHERE (SELECT count(*) FROM {p}_dead_letters) > $1 FOR UPDATE SKIP LOCKED),
			folded AS (DELETE FROM {p}_dead_letters WHERE id IN (SELECT id FROM counted) RETURNING n)
		INSERT INTO {p}_dead_letters (n) SELECT sum(n) FROM folded HAVING count(*) > 0`, deadLetterRows)
	return err
}

// deadLetterRows is how many rows that count dead letters Purge leaves as they are.
const deadLetterRows = 16

// Counts returns the number of dispatches by status.
func (q *queue) Counts(ctx context.Context) (map[mailbox.Status]int, error) {
	return sqlstore.Counts(ctx, q.db)
}

// DeadLettered returns how many dispatches have ever become dead letters.
func (q *queue) DeadLettered(ctx context.Context) (int64, error) {
	return sqlstore.DeadLettered(ctx, q.db)
}

// Listen calls fn when the queue has changed, until ctx is done: at once if this DB has changed
// it. For changes of others it uses its own connection, which must reach the server directly: a
// pooler in transaction mode does not deliver notifications.
func (q *queue) Listen(ctx context.Context, fn func(s mailbox.Signal)) error {
	defer q.announcer.listen(fn)()
	return q.db.listenTo(ctx, func(payload string) {
		if s, own := q.announcer.heard(payload); !own {
			fn(s)
		}
	}, q.db.sql(`{p}_mailbox`))
}
