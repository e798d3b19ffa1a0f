package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// queue implements [mailbox.Queue] except Handle.
type queue struct {
	db        *database
	processes processes
}

// queueConn is a connection with the operations of the queue.
type queueConn struct{ *conn }

// moment is a time of the clock of the queue.
type moment struct {
	us int64 // Unix µs
	ms int64 // Unix ms
}

// moment returns the current time. It never returns the same time twice, which orders the
// threads that become ready. Only the writer calls it.
func (c queueConn) moment() moment {
	us := max(c.db.clock().UnixMicro(), c.lastMoment+1)
	c.lastMoment = us
	return moment{us, us / 1000}
}

// dispatches returns the dispatches that a condition selects.
func (c queueConn) dispatches(ctx context.Context, query string, args ...any) (out []*mailbox.Dispatch, err error) {
	err = c.query(ctx, `SELECT `+sqlstore.DispatchColumns+` FROM `+sqlstore.DispatchTables+` WHERE `+query, args, func(scan sqlstore.Scan) error {
		d, err := dialect.ScanDispatch(scan)
		out = append(out, d)
		return err
	})
	return out, err
}

// queueKey identifies a queue.
type queueKey struct{ tenant, thread string }

// queues returns the queues that a condition selects.
func (c queueConn) queues(query string, args ...any) (out []queueKey, err error) {
	err = c.query(context.Background(), `SELECT tenant, id FROM {p}_queues WHERE `+query, args, func(scan sqlstore.Scan) error {
		out = append(out, queueKey{})
		return scan(&out[len(out)-1].tenant, &out[len(out)-1].thread)
	})
	return out, err
}

// ready updates when something can be claimed from a queue that is not claimed.
func (c queueConn) ready(k queueKey, now moment) error {
	var priority, wake sql.NullInt64
	var suspect bool
	if _, err := c.row(context.Background(), `SELECT min(CASE WHEN available <= ?3 THEN priority END), min(CASE WHEN available > ?3 THEN available END), coalesce(max(crashes), 0) >= ?4
		FROM {p}_dispatches WHERE tenant = ?1 AND thread = ?2 AND completed = 0`, []any{k.tenant, k.thread, now.ms, mailbox.SuspectCrashes}, &priority, &wake, &suspect); err != nil {
		return err
	}
	_, err := c.exec(`UPDATE {p}_queues SET priority = ?3, wake = ?4, since = CASE WHEN ?3 IS NOT NULL THEN coalesce(since, min(coalesce(wake, ?5) * 1000, ?6)) END, suspect = ?7
		WHERE tenant = ?1 AND id = ?2 AND claimed IS NULL`, k.tenant, k.thread, priority, wake, now.ms+1, now.us, suspect)
	return err
}

// Claim claims available dispatches.
func (q *queue) Claim(ctx context.Context, r mailbox.ClaimRequest) (ds []*mailbox.Dispatch, next time.Duration, err error) {
	if r.Limit <= 0 {
		return nil, 0, nil
	}
	err = q.db.write(ctx, "", "claim", func(c *conn) (refused, err error) {
		if !q.processes.live(r.Consumer, q.db.clock()) {
			ds, next = nil, 0
			return fmt.Errorf("claim: process %s: %w: it is dead or not known", r.Consumer, awaken.ErrFenced), nil
		}
		ds, next, err = queueConn{c}.claim(r)
		return nil, err
	})
	return ds, next, err
}

func (c queueConn) claim(r mailbox.ClaimRequest) (ds []*mailbox.Dispatch, next time.Duration, err error) {
	now, token := c.moment(), ids.New()
	due, err := c.queues(`wake <= ?`, now.ms)
	if err != nil {
		return nil, 0, err
	}
	for _, k := range due {
		if err := c.ready(k, now); err != nil {
			return nil, 0, err
		}
	}
	ready, err := c.claimable(r)
	if err != nil {
		return nil, 0, err
	}
	for i, k := range ready {
		head, err := c.dispatches(context.Background(), `d.tenant = ? AND d.thread = ? AND d.completed = 0 AND d.available <= ? ORDER BY d.priority, d.created, d.id LIMIT 1`,
			k.tenant, k.thread, now.ms)
		if err != nil {
			return nil, 0, err
		}
		for _, d := range head { // at most one
			d.Status, d.ClaimToken, d.ClaimedBy, d.LeaseUntil, d.UpdatedAt = mailbox.Claimed, token+"-"+strconv.Itoa(i), r.Consumer, now.ms+r.Lease.Milliseconds(), now.ms
			if _, err := c.row(context.Background(), `UPDATE {p}_queues SET claimed = ?3, token = ?4, consumer = ?5, lease = ?6, stamp = ?7, priority = NULL, since = NULL, wake = NULL
				WHERE tenant = ?1 AND id = ?2 RETURNING EXISTS (SELECT 1 FROM `+sqlstore.CreatedRuns+` AND d.tenant = ?1 AND d.id = ?3
					AND d.attempts = 0 AND d.crashes = 0 AND d.lost = 0) AND (SELECT open_run FROM {p}_threads WHERE tenant = ?1 AND id = ?2) = ''`,
				[]any{k.tenant, k.thread, d.ID, d.ClaimToken, d.ClaimedBy, d.LeaseUntil, now.ms}, &d.Fresh); err != nil {
				return nil, 0, err
			}
			if err := c.own(k, d); err != nil {
				return nil, 0, err
			}
			ds = append(ds, d)
		}
	}
	var wake int64
	found, err := c.row(context.Background(), `SELECT wake FROM {p}_queues WHERE wake IS NOT NULL AND since IS NULL ORDER BY wake LIMIT 1`, nil, &wake)
	if found {
		next = time.Duration(max(wake-now.ms, 1)) * time.Millisecond
	}
	return ds, next, err
}

// own acquires the thread of a dispatch that was just claimed, if it is fresh and the thread is new:
// its owner needs no more than the row.
func (c queueConn) own(k queueKey, d *mailbox.Dispatch) error {
	if !d.Fresh || d.Cancel {
		return nil
	}
	return c.query(context.Background(), `UPDATE {p}_threads SET fence = fence + 1, committed = 0
		WHERE tenant = ? AND id = ? AND latest_run = '' AND messages = 0 AND last_seq = 0 AND posted = 0 RETURNING `+sqlstore.ThreadColumns,
		[]any{k.tenant, k.thread}, func(scan sqlstore.Scan) error {
			var t sqlstore.Thread
			err := t.Scan(dialect, scan)
			d.Checkpoint = &awaken.Checkpoint{Fence: t.Fence, Generation: t.Generation, Thread: t.Thread}
			c.db.warm.Acquired(k.tenant, &t, d.Checkpoint, new(awaken.View))
			return err
		})
}

// claimable returns the queues to claim from.
func (c queueConn) claimable(r mailbox.ClaimRequest) (out []queueKey, err error) {
	if len(r.Except) > 0 {
		return c.claimableExcept(r)
	}
	if n := min(r.Suspects, r.Limit); n > 0 {
		if out, err = c.queues(`suspect = 1 AND since IS NOT NULL ORDER BY priority, since LIMIT ?`, n); err != nil {
			return nil, err
		}
	}
	more, err := c.queues(`suspect = 0 AND since IS NOT NULL ORDER BY priority, since LIMIT ?`, r.Limit-len(out))
	return append(out, more...), err
}

// claimableExcept returns the queues to claim from if some tenants are excepted. It asks each other
// tenant that has any for its first: what the excepted ones have queued, which may be much, is not read.
func (c queueConn) claimableExcept(r mailbox.ClaimRequest) (out []queueKey, err error) {
	for _, kind := range []struct{ suspect, limit int }{{1, min(r.Suspects, r.Limit)}, {0, r.Limit}} {
		type ready struct {
			queueKey
			priority, since int64
		}
		var found []ready
		for tenant, more := "", true; more && len(out) < kind.limit; {
			if !slices.Contains(r.Except, tenant) {
				if err := c.query(context.Background(), `SELECT tenant, id, priority, since FROM {p}_queues INDEXED BY {p}_queues_tenant
					WHERE suspect = ? AND tenant = ? AND since IS NOT NULL ORDER BY priority, since LIMIT ?`, []any{kind.suspect, tenant, kind.limit - len(out)}, func(scan sqlstore.Scan) error {
					found = append(found, ready{})
					q := &found[len(found)-1]
					return scan(&q.tenant, &q.thread, &q.priority, &q.since)
				}); err != nil {
					return nil, err
				}
			}
			if more, err = c.row(context.Background(), `SELECT tenant FROM {p}_queues INDEXED BY {p}_queues_tenant
				WHERE suspect = ? AND tenant > ? AND since IS NOT NULL ORDER BY tenant LIMIT 1`, []any{kind.suspect, tenant}, &tenant); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(found, func(a, b ready) int {
			return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.since, b.since))
		})
		for i := 0; i < len(found) && len(out) < kind.limit; i++ {
			out = append(out, found[i].queueKey)
		}
	}
	return out, nil
}

// Suspects reports whether a suspect can be claimed.
func (q *queue) Suspects(ctx context.Context) (found bool, err error) {
	err = q.db.read(ctx, func(c *conn) (err error) {
		found, err = c.row(ctx, `SELECT 1 FROM {p}_queues WHERE suspect = 1 AND since IS NOT NULL LIMIT 1`, nil, new(int))
		return err
	})
	return found, err
}

// claimed returns the queue of a claim, and whether the dispatch is cancelled. It reports
// false if the claim is void.
func (c queueConn) claimed(h mailbox.Claim) (k queueKey, cancel, ok bool, err error) {
	k.tenant = h.Tenant
	ok, err = c.row(context.Background(), `SELECT d.thread, d.cancel FROM {p}_dispatches d JOIN {p}_queues q ON q.tenant = d.tenant AND q.id = d.thread
		WHERE d.tenant = ? AND d.id = ? AND q.claimed = d.id AND q.token = ?`, []any{h.Tenant, h.ID, h.Token}, &k.thread, &cancel)
	return k, cancel, ok, err
}

// Renew extends leases.
func (q *queue) Renew(ctx context.Context, lease time.Duration, held ...mailbox.Claim) ([]mailbox.Renewal, error) {
	out, owner := make([]mailbox.Renewal, len(held)), ""
	if len(held) == 1 {
		owner = held[0].Tenant
	}
	err := q.db.write(ctx, owner, "renew", func(conn *conn) (refused, err error) {
		c := queueConn{conn}
		now := c.moment()
		for i, h := range held {
			k, cancel, ok, err := c.claimed(h)
			if err != nil {
				return nil, err
			}
			out[i] = mailbox.Renewal{Lost: !ok, Cancel: ok && cancel}
			if !ok {
				continue
			}
			if _, err := c.exec(`UPDATE {p}_queues SET lease = ? WHERE tenant = ? AND id = ?`, now.ms+lease.Milliseconds(), k.tenant, k.thread); err != nil {
				return nil, err
			}
			if _, err := c.exec(`UPDATE {p}_dispatches SET attempts = 0, crashes = 0, steps = ?1, updated = ?2 WHERE tenant = ?3 AND id = ?4 AND steps < ?1`, h.Steps, now.ms, h.Tenant, h.ID); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return out, err
}

// Settle ends claims.
func (q *queue) Settle(ctx context.Context, settlements ...mailbox.Settlement) ([]error, error) {
	if err := sqlstore.CheckSettlements(settlements); err != nil {
		return nil, err
	}
	out := make([]error, len(settlements))
	err := q.db.write(ctx, "", "settle", func(c *conn) (refused, err error) {
		for i := range settlements {
			ok, err := queueConn{c}.settle(&settlements[i])
			if err != nil {
				return nil, err
			}
			if out[i] = nil; !ok {
				out[i] = awaken.ErrFenced
			}
		}
		return nil, nil
	})
	return out, err
}

func (c queueConn) settle(s *mailbox.Settlement) (ok bool, err error) {
	now := c.moment()
	k, _, ok, err := c.claimed(s.Claim)
	if err != nil || !ok {
		return false, err
	}
	_, err = c.end(k, s, now)
	return true, err
}

// end ends a claim on a queue. It reports whether the queue has something that can be claimed, now
// or later.
func (c queueConn) end(k queueKey, s *mailbox.Settlement, now moment) (ready bool, err error) {
	completed, available := now.ms, any(nil)
	if s.Status == mailbox.Queued {
		completed, available = 0, now.ms+max(s.Delay.Milliseconds(), 0)
	}
	if _, err := c.exec(`UPDATE {p}_dispatches SET status = ?3, completed = ?4, updated = ?5, available = coalesce(?6, available),
		attempts = CASE WHEN steps < ?7 THEN 0 ELSE attempts END + ?8, crashes = CASE WHEN steps < ?7 THEN 0 ELSE crashes END, lost = 0, steps = max(steps, ?7), error = CASE ?9 WHEN '' THEN error ELSE ?9 END
		WHERE tenant = ?1 AND id = ?2`, s.Tenant, s.ID, string(s.Status), completed, now.ms, available, s.Steps, s.Failed, s.Error); err != nil {
		return false, err
	}
	if s.Status == mailbox.DeadLetter {
		if _, err := c.exec(`UPDATE {p}_dead_letters SET n = n + 1`); err != nil {
			return false, err
		}
	}
	return c.release(k, now)
}

// release ends the claim on a queue and makes it ready. It reports whether the queue has something
// that can be claimed, now or later.
func (c queueConn) release(k queueKey, now moment) (ready bool, err error) {
	_, err = c.row(context.Background(), `UPDATE {p}_queues SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
		priority = r.priority, wake = r.wake, since = CASE WHEN r.priority IS NOT NULL THEN ?4 END, suspect = r.suspect
		FROM (SELECT min(CASE WHEN available <= ?3 THEN priority END) AS priority, min(CASE WHEN available > ?3 THEN available END) AS wake,
			coalesce(max(crashes), 0) >= ?5 AS suspect FROM {p}_dispatches WHERE tenant = ?1 AND thread = ?2 AND completed = 0) r
		WHERE tenant = ?1 AND id = ?2 RETURNING coalesce(since, wake) IS NOT NULL`, []any{k.tenant, k.thread, now.ms, now.us, mailbox.SuspectCrashes}, &ready)
	return ready, err
}

// Reclaim requeues dispatches whose process is dead or whose lease has expired. It writes only
// if there are any: every worker asks often.
func (q *queue) Reclaim(ctx context.Context, limit int) (n int, err error) {
	n, err = q.buryDead(ctx)
	if err != nil {
		return n, fmt.Errorf("reclaim: %w", err)
	}
	over := false
	if err := q.db.read(ctx, func(c *conn) (err error) {
		over, err = c.row(ctx, `SELECT 1 FROM {p}_queues WHERE lease <= ? LIMIT 1`, []any{q.db.clock().UnixMilli()}, new(int))
		return err
	}); err != nil {
		return n, fmt.Errorf("reclaim: %w", err)
	}
	if !over {
		return n, nil
	}
	expired := 0
	err = q.db.write(ctx, "", "reclaim", func(conn *conn) (refused, err error) {
		c := queueConn{conn}
		now := c.moment()
		over, err := c.dispatches(context.Background(), `q.lease <= ? ORDER BY q.lease LIMIT ?`, now.ms, max(limit, 0))
		if err != nil {
			return nil, err
		}
		claims := map[string]int{} // of each process, before any is released
		for _, d := range over {
			if claims[d.ClaimedBy] > 0 {
				continue
			}
			var n int
			const claimed = `SELECT count(*) FROM {p}_queues WHERE lease IS NOT NULL AND consumer = ?`
			if _, err := c.row(context.Background(), claimed, []any{d.ClaimedBy}, &n); err != nil {
				return nil, err
			}
			claims[d.ClaimedBy] = n
		}
		for _, d := range over {
			d.Lose(claims[d.ClaimedBy] == 1)
			if err := c.requeue(d, c.moment(), true); err != nil {
				return nil, err
			}
		}
		expired = len(over)
		return nil, nil
	})
	return n + expired, err
}

// requeue ends the claim on a dispatch, whose owner is lost or has left.
func (c queueConn) requeue(d *mailbox.Dispatch, now moment, lost bool) error {
	at := int64(0)
	if lost {
		at = now.ms
	}
	if _, err := c.exec(`UPDATE {p}_dispatches SET attempts = ?3, crashes = ?4, available = ?5, updated = ?5, lost = ?6
		WHERE tenant = ?1 AND id = ?2`,
		d.Tenant, d.ID, d.Attempts, d.Crashes, now.ms, at); err != nil {
		return err
	}
	_, err := c.release(queueKey{d.Tenant, d.ThreadID}, now)
	return err
}

// releaseAll requeues what a process has claimed, and counts its death if it is dead.
func (q *queue) releaseAll(ctx context.Context, process string, dead bool) (n int, err error) {
	err = q.db.write(ctx, "", "release the claims of process "+process, func(conn *conn) (refused, err error) {
		c := queueConn{conn}
		claimed, err := c.dispatches(context.Background(), `q.lease IS NOT NULL AND q.consumer = ?`, process)
		if err != nil {
			return nil, err
		}
		if dead {
			mailbox.Blame(claimed)
		}
		for _, d := range claimed {
			if err := c.requeue(d, c.moment(), dead); err != nil {
				return nil, err
			}
		}
		n = len(claimed)
		return nil, nil
	})
	return n, err
}

// purgeGroup is the number of dispatches that Purge removes in one transaction.
const purgeGroup = 500

// Purge removes dispatches that were completed at least olderThan ago.
func (q *queue) Purge(ctx context.Context, olderThan time.Duration) (total int, err error) {
	for n := int64(purgeGroup); n == purgeGroup; total += int(n) {
		err = q.db.write(ctx, "", "purge", func(c *conn) (refused, err error) {
			n, err = c.exec(`DELETE FROM {p}_dispatches WHERE (tenant, id) IN (SELECT tenant, id FROM {p}_dispatches WHERE completed > 0 AND completed <= ? ORDER BY completed LIMIT ?)`,
				queueConn{c}.moment().ms-olderThan.Milliseconds(), purgeGroup)
			return nil, err
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// Counts returns the number of dispatches by status.
func (q *queue) Counts(ctx context.Context) (map[mailbox.Status]int, error) {
	return sqlstore.Counts(ctx, q.db)
}

// DeadLettered returns how many dispatches have ever become dead letters.
func (q *queue) DeadLettered(ctx context.Context) (int64, error) {
	return sqlstore.DeadLettered(ctx, q.db)
}
