package postgres

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Post adds items to a thread's inbox. It ignores items that were posted before.
func (s *scope) Post(ctx context.Context, threadID string, items ...awaken.InboxItem) error {
	ids, data, err := dialect.EncodeItems(items)
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	found := false
	err = retry(ctx, func() error { // repeating is harmless
		return s.db.pool.QueryRow(ctx, s.db.sql(`SELECT {p}_post($1, $2, $3, $4)`), s.tenant, escape(threadID), ids, data).Scan(&found)
	})
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	if !found {
		return threads.NotFound(threadID)
	}
	return nil
}
