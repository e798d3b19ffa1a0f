package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

const messages = `SELECT seq, created, data FROM {p}_log($1, $2, $3, $4)`

// log implements [sqlstore.Engine.Log].
func log(ctx context.Context, c sqlstore.Conn, tenant string, t *sqlstore.Thread, after, upTo int, each func(seq int, created int64, m *llm.Message)) error {
	err := c.Query(ctx, messages, []any{tenant, escape(t.ID), after, upTo}, func(scan sqlstore.Scan) error { return scanMessages(scan, each) })
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
