package sqlite

import (
	"context"
	"strings"

	"github.com/awaken-go/awaken/mailbox"
)

var _ mailbox.Prober = (*DB)(nil)

// probe is what a probe writes: 64 KiB, a little more than a run that is accepted.
var probe = strings.Repeat("probing ", 8<<10)

// Probe writes a row and removes it in the same transaction, as one of the writes in line. It
// fails if the disk is full or read-only, or if another process keeps the database locked.
func (db *DB) Probe(ctx context.Context) error {
	return db.database.write(ctx, "", "probe", func(c *conn) (refused, err error) {
		if _, err := c.exec(`INSERT INTO {p}_schema (version, name, digest, applied) VALUES (0, ?, '', 0)`, probe); err != nil {
			return nil, err
		}
		_, err = c.exec(`DELETE FROM {p}_schema WHERE version = 0`)
		return nil, err
	})
}
