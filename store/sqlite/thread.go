package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/awaken-go/awaken/store/internal/messagelog"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// exists returns an ErrNotFound if a thread does not exist.
func (c tenantConn) exists(ctx context.Context, thread string) error {
	var one int
	found, err := c.row(ctx, `SELECT 1 FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{c.tenant, thread}, &one)
	if err == nil && !found {
		err = threads.NotFound(thread)
	}
	return err
}

// messages adds the messages of t after after, up to and including upTo, in order. It reads the
// messages that t shares with another thread from there, and a log from its beginning on from its
// segments, as far as there are any.
func (c tenantConn) messages(ctx context.Context, t *sqlstore.Thread, after, upTo int, to *sqlstore.Tail) error {
	if after == 0 && upTo >= messagelog.SegmentLength {
		if err := c.segments(ctx, t, upTo, to); err != nil {
			return err
		}
		after = to.Len()
	}
	return c.commits(ctx, t, after, upTo, to)
}

// base returns the row of the thread that t is a fork of.
func (c tenantConn) base(ctx context.Context, t *sqlstore.Thread) (*sqlstore.Thread, error) {
	base, err := c.scope().Thread(ctx, portConn{c.conn}, t.ForkOf)
	if err != nil {
		return nil, fmt.Errorf("thread %s is a fork of thread %s: %w", t.ID, t.ForkOf, err)
	}
	return base, nil
}

// segments adds the messages of t up to upTo that are in segments.
func (c tenantConn) segments(ctx context.Context, t *sqlstore.Thread, upTo int, to *sqlstore.Tail) error {
	if t.ForkOf != "" && t.ForkSeq >= messagelog.SegmentLength {
		base, err := c.base(ctx, t)
		if err != nil {
			return err
		}
		if err := c.segments(ctx, base, min(upTo, t.ForkSeq), to); err != nil || to.Damaged() {
			return err
		}
	}
	return c.query(ctx, `SELECT upto, data FROM {p}_segments WHERE tenant = ? AND thread = ? AND incarnation = ? AND upto > ? AND upto <= ? ORDER BY upto`,
		[]any{c.tenant, t.ID, t.Incarnation, to.Len(), upTo}, func(scan sqlstore.Scan) error {
			var last int
			var data sql.RawBytes
			if err := scan(&last, &data); err != nil {
				return err
			}
			if !to.Segment(last, data) {
				return errStop
			}
			return nil
		})
}

// commitsAfter selects the rows with the messages after ?3. It begins at the last row before them
// that the index commits_upto has.
const commitsAfter = `SELECT before, upto, time, run, messages FROM {p}_commits WHERE tenant = ?1 AND thread = ?2
	AND last >= coalesce((SELECT s.last FROM {p}_commits s WHERE s.tenant = ?1 AND s.thread = ?2 AND s.upto <= ?3 AND s.before / 32 < s.upto / 32 ORDER BY s.upto DESC LIMIT 1), -1)
	AND upto > ?3 AND messages IS NOT NULL ORDER BY last, upto`

// commits adds the messages of t after after, up to and including upTo, from the rows of commits.
func (c tenantConn) commits(ctx context.Context, t *sqlstore.Thread, after, upTo int, to *sqlstore.Tail) error {
	if after >= upTo {
		return nil
	}
	if t.ForkOf != "" && after < t.ForkSeq {
		base, err := c.base(ctx, t)
		if err != nil {
			return err
		}
		if err := c.commits(ctx, base, after, min(upTo, t.ForkSeq), to); err != nil {
			return err
		}
		after = t.ForkSeq
	}
	return c.query(ctx, commitsAfter, []any{c.tenant, t.ID, after}, func(scan sqlstore.Scan) error {
		var before, last int
		var created int64
		var run, text string
		if err := scan(&before, &last, &created, &run, &text); err != nil {
			return err
		}
		list, err := to.Messages(unpackRun(text, run))
		if err != nil {
			return fmt.Errorf("messages after %d of thread %s: %w", before, t.ID, err)
		}
		if len(list) < last-before {
			return fmt.Errorf("thread %s has %d of %d messages after %d", t.ID, len(list), last-before, before)
		}
		for seq := max(after, before) + 1; seq <= min(last, upTo); seq++ {
			to.Add(created, list[seq-before-1])
		}
		if last >= upTo {
			return errStop
		}
		return nil
	})
}
