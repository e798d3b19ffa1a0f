package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// messages returns the messages of thread $2 of tenant $1 after $3, up to and including $4, or
// from the first one on if the thread's incarnation is not $5. It reads row and log at the same
// moment.
const messages = `SELECT l.seq, l.created, l.data FROM {p}_threads t
	CROSS JOIN LATERAL {p}_log($1, $2, CASE WHEN t.incarnation = $5 THEN $3::bigint ELSE 0 END, $4) l WHERE t.tenant = $1 AND t.id = $2`

// log implements [sqlstore.Engine.Log].
func log(ctx context.Context, c sqlstore.Conn, tenant string, t *sqlstore.Thread, after, upTo int, each func(seq int, created int64, m *llm.Message)) error {
	err := c.Query(ctx, messages, []any{tenant, escape(t.ID), after, upTo, t.Incarnation}, func(scan sqlstore.Scan) error { return scanMessages(scan, each) })
	if err != nil {
		return fmt.Errorf("messages of thread %s: %w", t.ID, err)
	}
	return nil
}

// scanMessages calls each for every message of a row.
func scanMessages(scan sqlstore.Scan, each func(seq int, created int64, m *llm.Message)) error {
	var seq int
	var created int64
	var data [][]byte
	if err := scan(&seq, &created, &data); err != nil {
		return err
	}
	for i := range data {
		m := new(llm.Message)
		if err := json.Unmarshal(data[i], m); err != nil {
			return fmt.Errorf("message %d: %w", seq+i, err)
		}
		each(seq+i, created, m)
	}
	return nil
}
