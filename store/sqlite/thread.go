package sqlite

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken/llm"
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

// messages calls each with the messages of t after after, up to and including upTo, in
// order. It reads the messages that t shares with another thread from there.
func (c tenantConn) messages(ctx context.Context, t *sqlstore.Thread, after, upTo int, each func(seq int, created int64, m *llm.Message)) error {
	return c.decode(ctx, t, after, upTo, &messagelog.Decoder{Expect: upTo - after}, each)
}

func (c tenantConn) decode(ctx context.Context, t *sqlstore.Thread, after, upTo int, d *messagelog.Decoder, each func(seq int, created int64, m *llm.Message)) error {
	if after >= upTo {
		return nil
	}
	if t.ForkOf != "" && after < t.ForkSeq {
		base, err := c.scope().Thread(ctx, portConn{c.conn}, t.ForkOf)
		if err != nil {
			return fmt.Errorf("thread %s is a fork of thread %s: %w", t.ID, t.ForkOf, err)
		}
		if err := c.decode(ctx, base, after, min(upTo, t.ForkSeq), d, each); err != nil {
			return err
		}
		after = t.ForkSeq
	}
	return c.query(ctx, `SELECT before, upto, time, messages FROM {p}_commits WHERE tenant = ? AND thread = ? AND upto > ? AND messages IS NOT NULL ORDER BY upto`,
		[]any{c.tenant, t.ID, after}, func(scan sqlstore.Scan) error {
			var before, last int
			var created int64
			var text string
			if err := scan(&before, &last, &created, &text); err != nil {
				return err
			}
			list, err := d.Messages(text)
			if err != nil {
				return fmt.Errorf("messages after %d of thread %s: %w", before, t.ID, err)
			}
			if len(list) < last-before {
				return fmt.Errorf("thread %s has %d of %d messages after %d", t.ID, len(list), last-before, before)
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
