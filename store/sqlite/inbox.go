package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Post adds items to a thread's inbox. It ignores items that were posted before.
func (s *scope) Post(ctx context.Context, threadID string, items ...awaken.InboxItem) error {
	_, data, err := dialect.EncodeItems(items)
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	return s.db.write(ctx, s.tenant, "post to thread "+threadID, func(c *conn) (refused, err error) {
		if err := c.of(s.tenant).exists(context.Background(), threadID); err != nil {
			if errors.Is(err, awaken.ErrNotFound) {
				return err, nil
			}
			return nil, err
		}
		if refused, err := c.of(s.tenant).contradicted(items); refused != nil || err != nil {
			return refused, err
		}
		return nil, c.of(s.tenant).post(threadID, items, data)
	})
}

// contradicted returns the record that one of the items contradicts, as an error.
func (c tenantConn) contradicted(items []awaken.InboxItem) (refused, err error) {
	if refused := (threads.Decided{}).Check(items); refused != nil {
		return refused, nil
	}
	old, err := c.scope().Contradicted(context.Background(), portConn{c.conn}, items)
	if old == nil {
		return nil, err
	}
	return old, nil
}

// post adds items, which contradict no record, to the inbox of an existing thread.
func (c tenantConn) post(threadID string, items []awaken.InboxItem, data []string) error {
	if len(items) == 0 {
		return nil
	}
	records, err := c.scope().PutDecided(threadID, items)
	if err != nil {
		return err
	}
	if len(records) > 0 {
		if _, err := (portConn{c.conn}).Exec(context.Background(), records...); err != nil {
			return err
		}
	}
	var posted int64
	if _, err := c.row(context.Background(), `SELECT posted FROM {p}_threads WHERE tenant = ? AND id = ?`, []any{c.tenant, threadID}, &posted); err != nil {
		return err
	}
	added := int64(0)
	for i := range items {
		n, err := c.exec(`INSERT INTO {p}_inbox (tenant, thread, id, pos, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			c.tenant, threadID, items[i].ID, posted+added+1, data[i])
		if err != nil {
			return err
		}
		added += n
	}
	if added == 0 {
		return nil
	}
	_, err = c.exec(`UPDATE {p}_threads SET posted = posted + ?1, unread = unread + ?1 WHERE tenant = ?2 AND id = ?3`, added, c.tenant, threadID)
	return err
}
