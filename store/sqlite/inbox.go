package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
)

// inbox implements [awaken.Inbox].
type inbox scope

// Post adds items to a thread's inbox.
func (s *inbox) Post(ctx context.Context, threadID string, items ...awaken.InboxItem) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	data, err := encodeItems(items)
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	var refused error
	err = s.db.writer.write(func(c *conn) error {
		if refused = c.of(s.tenant).exists(context.Background(), threadID); refused != nil {
			if errors.Is(refused, awaken.ErrNotFound) {
				return nil
			}
			return refused
		}
		return c.of(s.tenant).post(threadID, items, data)
	})
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	return refused
}

func encodeItems(items []awaken.InboxItem) (data []string, err error) {
	data = make([]string, len(items))
	for i := range items {
		if data[i], err = encode(&items[i]); err != nil {
			return nil, fmt.Errorf("inbox item %s: %w", items[i].ID, err)
		}
	}
	return data, nil
}

// post adds items to the inbox of a thread that is there.
func (c tenantConn) post(threadID string, items []awaken.InboxItem, data []string) error {
	if len(items) == 0 {
		return nil
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
	_, err := c.exec(`UPDATE {p}_threads SET posted = posted + ?1, unread = unread + ?1 WHERE tenant = ?2 AND id = ?3`, added, c.tenant, threadID)
	return err
}

// Unread returns the items that no commit has read.
func (s *inbox) Unread(ctx context.Context, threadID string) ([]awaken.InboxItem, error) {
	var out []awaken.InboxItem
	err := s.db.read(ctx, func(c *conn) (err error) {
		if err := c.of(s.tenant).exists(ctx, threadID); err != nil {
			return err
		}
		out, err = c.of(s.tenant).unread(ctx, threadID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c tenantConn) unread(ctx context.Context, threadID string) ([]awaken.InboxItem, error) {
	var out []awaken.InboxItem
	err := c.query(ctx, `SELECT id, data FROM {p}_inbox WHERE tenant = ? AND thread = ? AND data IS NOT NULL ORDER BY pos`, []any{c.tenant, threadID},
		func(scan func(...any) error) error {
			var id string
			var data sql.RawBytes
			if err := scan(&id, &data); err != nil {
				return err
			}
			var it awaken.InboxItem
			if err := json.Unmarshal(data, &it); err != nil {
				return fmt.Errorf("inbox item %s: %w", id, err)
			}
			it.ID = id // JSON cannot hold every id
			out = append(out, it)
			return nil
		})
	return out, err
}
