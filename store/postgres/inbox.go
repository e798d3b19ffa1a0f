package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
)

// inbox implements [awaken.Inbox].
type inbox scope

// Post adds items to a thread's inbox.
func (s *inbox) Post(ctx context.Context, threadID string, items ...awaken.InboxItem) error {
	ids, data, err := encodeItems(items)
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	found := false
	err = retry(ctx, func() error { // an item that was posted before is ignored
		return s.db.pool.QueryRow(ctx, s.db.sql(`SELECT {p}_post($1, $2, $3, $4)`), s.tenant, escape(threadID), ids, data).Scan(&found)
	})
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	if !found {
		return noThread(threadID)
	}
	return nil
}

// encodeItems returns the ids of items, and the items as JSON.
func encodeItems(items []awaken.InboxItem) (ids, data []string, err error) {
	ids, data = make([]string, len(items)), make([]string, len(items))
	for i := range items {
		if data[i], err = encode(&items[i]); err != nil {
			return nil, nil, fmt.Errorf("inbox item %s: %w", items[i].ID, err)
		}
		ids[i] = escape(items[i].ID)
	}
	return ids, data, nil
}

// Unread returns the items that no commit has read.
func (s *inbox) Unread(ctx context.Context, threadID string) ([]awaken.InboxItem, error) {
	var out []awaken.InboxItem
	found := false
	// A thread without items is one row of nothing; a missing thread is none.
	err := s.db.query(ctx, `SELECT i.id, i.data FROM {p}_threads t LEFT JOIN {p}_inbox i ON i.tenant = t.tenant AND i.thread = t.id AND i.data IS NOT NULL
		WHERE t.tenant = $1 AND t.id = $2 ORDER BY i.pos`, []any{s.tenant, escape(threadID)}, func() { out, found = nil, false },
		func(rows pgx.Rows) error {
			found = true
			return scanItem(rows, &out)
		})
	if err == nil && !found {
		err = noThread(threadID)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// scanItem adds an item to out, if the row holds one.
func scanItem(rows pgx.Rows, out *[]awaken.InboxItem) error {
	var id *string
	var data []byte
	if err := rows.Scan(&id, &data); err != nil || id == nil {
		return err
	}
	return addItem(out, *id, data)
}

func addItem(out *[]awaken.InboxItem, id string, data []byte) error {
	var it awaken.InboxItem
	if err := json.Unmarshal(data, &it); err != nil {
		return fmt.Errorf("inbox item %s: %w", id, err)
	}
	it.ID = unescape(id) // JSON cannot hold every id
	*out = append(*out, it)
	return nil
}
