package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
)

// Store is one tenant's threads and runs. It implements [awaken.Store],
// [awaken.EventLog], [awaken.ThreadEditor] and [awaken.Pipelined].
type Store struct {
	db     *DB
	tenant string
}

var (
	_ awaken.Store        = (*Store)(nil)
	_ awaken.EventLog     = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ awaken.Pipelined    = (*Store)(nil)
)

// Pipelined says that commits take time: each waits for the disk.
func (s *Store) Pipelined() bool { return true }

func noThread(id string) error { return fmt.Errorf("thread %s: %w", id, awaken.ErrNotFound) }

func noRun(id string) error { return fmt.Errorf("run %s: %w", id, awaken.ErrNotFound) }

// page applies the defaults of a paged listing.
func page(offset, limit int) (int, int) {
	if limit <= 0 {
		limit = 50
	}
	return max(offset, 0), limit
}

// encode returns v as JSON text.
func encode(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}
