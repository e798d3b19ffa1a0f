package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken/mailbox"
)

var _ mailbox.Prober = (*DB)(nil)

// Probe checks that the server can be reached and is not read-only, with an update of no row.
// That needs no space: after a write has failed for lack of it, Probe also writes 16 KiB, which
// it rolls back, until that succeeds.
func (db *DB) Probe(ctx context.Context) error {
	d := db.database
	if _, err := d.Exec(ctx, `UPDATE {p}_schema SET version = version WHERE false`); err != nil {
		return err
	}
	if !d.full.Swap(false) { // a write that fails from now on sets it again
		return nil
	}
	err := d.transact(ctx, func(tx pgx.Tx) error {
		text := make([]byte, 16<<10) // random, since the server compresses
		_, _ = rand.Read(text)       // it never fails
		if _, err := tx.Exec(ctx, d.sql(`INSERT INTO {p}_schema (version, name, digest, applied) VALUES (0, ?, '', 0)`), hex.EncodeToString(text)); err != nil {
			return err
		}
		return errProbed
	})
	if errors.Is(err, errProbed) {
		return nil
	}
	d.full.Store(true)
	return err
}

// errProbed rolls back what a probe has written.
var errProbed = errors.New("probed")

// noteFull returns a handler of the server's errors that remembers a full disk and calls next.
func (db *database) noteFull(next pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(c *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code == diskFull {
			db.full.Store(true)
		}
		return next(c, err)
	}
}
