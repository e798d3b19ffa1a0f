package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Unread returns the unread items of a thread's inbox, or an ErrNotFound.
func (s *Scope) Unread(ctx context.Context, c Conn, threadID string) (out []awaken.InboxItem, err error) {
	found := false
	// A thread without items yields one row of NULLs, a missing thread none.
	err = c.Query(ctx, `SELECT i.id, i.data FROM {p}_threads t LEFT JOIN {p}_inbox i ON i.tenant = t.tenant AND i.thread = t.id AND i.data IS NOT NULL
		WHERE t.tenant = ? AND t.id = ? ORDER BY i.pos`, []any{s.tenant, s.id(threadID)}, func(scan Scan) error {
		found = true
		var id *string
		var data []byte
		if err := scan(&id, &data); err != nil || id == nil {
			return err
		}
		item, err := s.db.Dialect().DecodeItem(*id, data)
		out = append(out, item)
		return err
	})
	if err == nil && !found {
		err = threads.NotFound(threadID)
	}
	return out, err
}

// DecodeItem decodes an inbox item. The id is the escaped one of its row.
func (d *Dialect) DecodeItem(id string, data []byte) (item awaken.InboxItem, err error) {
	if err := json.Unmarshal(data, &item); err != nil {
		return item, fmt.Errorf("inbox item %s: %w", id, err)
	}
	d.unescape(&id)
	item.ID = id // JSON cannot represent every id
	return item, nil
}

// EncodeItems returns the escaped ids of items, and the items as JSON.
func (d *Dialect) EncodeItems(items []awaken.InboxItem) (ids, data []string, err error) {
	ids, data = make([]string, len(items)), make([]string, len(items))
	for i := range items {
		if data[i], err = d.Encode(&items[i]); err != nil {
			return nil, nil, fmt.Errorf("inbox item %s: %w", items[i].ID, err)
		}
		ids[i] = d.escape(items[i].ID)
	}
	return ids, data, nil
}

// Unread returns the items that no commit has read.
func (s *Tenant) Unread(ctx context.Context, threadID string) (out []awaken.InboxItem, err error) {
	err = s.scope.db.Read(ctx, func(c Conn) (err error) {
		out, err = s.scope.Unread(ctx, c, threadID)
		return err
	})
	return out, err
}
