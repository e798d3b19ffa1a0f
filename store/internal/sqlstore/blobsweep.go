package sqlstore

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken/blob"
)

// inheritHolds makes a fork hold the blobs that its original holds; the arguments are the tenant, the
// original and the fork.
const inheritHolds = `INSERT INTO {p}_blob_holds (tenant, blob, kind, holder, at)
	SELECT tenant, blob, kind, ?3, at FROM {p}_blob_holds WHERE tenant = ?1 AND kind = 'thread' AND holder = ?2 ON CONFLICT DO NOTHING`

// sweepPage is how many rows a sweep reads at once.
const sweepPage = 500

// SweepBlobs implements [blob.Sweeper]. It looks for what can be removed without a lock, page by page,
// and removes it if that is still so.
func SweepBlobs(ctx context.Context, db DB, r blob.Retention) (removed int, err error) {
	now := db.Now()
	pending := now.Add(-r.Pending).UnixMicro()
	if _, err := db.Exec(ctx, `DELETE FROM {p}_blob_holds WHERE kind = 'user' AND at < ?`, now.Add(-r.Uploads).UnixMicro()); err != nil {
		return 0, fmt.Errorf("sweep blobs: %w", err)
	}
	if err := sweepHolds(ctx, db, pending); err != nil {
		return 0, fmt.Errorf("sweep blobs: %w", err)
	}
	if removed, err = sweepUnheld(ctx, db, pending); err != nil {
		return removed, fmt.Errorf("sweep blobs: %w", err)
	}
	if err := sweepUploads(ctx, db, pending); err != nil {
		return removed, fmt.Errorf("sweep blobs: %w", err)
	}
	return removed, nil
}

// place is a place in the order of holds or blobs. Its parts are escaped.
type place struct{ tenant, blob, holder string }

// sweepHolds removes the holds of threads that do not exist, if they are old.
func sweepHolds(ctx context.Context, db DB, before int64) error {
	_, err := sweep(ctx, db, `SELECT h.tenant, h.blob, h.holder, CASE WHEN h.at < ? AND t.id IS NULL THEN 1 ELSE 0 END
		FROM {p}_blob_holds h LEFT JOIN {p}_threads t ON t.tenant = h.tenant AND t.id = h.holder
		WHERE h.kind = 'thread' AND (h.tenant, h.blob, h.holder) > (?, ?, ?) ORDER BY h.tenant, h.blob, h.holder LIMIT ?`, before,
		func(p place) (bool, error) {
			n, err := db.Exec(ctx, `DELETE FROM {p}_blob_holds WHERE tenant = ?1 AND blob = ?2 AND kind = 'thread' AND holder = ?3 AND at < ?4
				AND NOT EXISTS (SELECT 1 FROM {p}_threads t WHERE t.tenant = ?1 AND t.id = ?3)`, p.tenant, p.blob, p.holder, before)
			return n > 0, err
		})
	return err
}

// sweepUnheld removes blobs without a hold, if they are old, and returns how many.
func sweepUnheld(ctx context.Context, db DB, before int64) (int, error) {
	return sweep(ctx, db, `SELECT b.tenant, b.id, '', CASE WHEN b.created < ? AND NOT EXISTS (SELECT 1 FROM {p}_blob_holds h WHERE h.tenant = b.tenant AND h.blob = b.id) THEN 1 ELSE 0 END
		FROM {p}_blobs b WHERE (b.tenant, b.id, '') > (?, ?, ?) ORDER BY b.tenant, b.id LIMIT ?`, before,
		func(p place) (removed bool, err error) {
			err = db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
				removed, err = removeUnheld(ctx, c, p.tenant, p.blob)
				return nil, err
			})
			return removed, err
		})
}

// removeUnheld removes a blob unless it is held. A hold that is being made is made first, or finds no
// blob: both lock the row.
func removeUnheld(ctx context.Context, c Conn, tenant, id string) (bool, error) {
	var body string
	if found, err := row(ctx, c, `SELECT body FROM {p}_blobs WHERE tenant = ? AND id = ?{lock}`, []any{tenant, id}, &body); err != nil || !found {
		return false, err
	}
	var one int
	if held, err := row(ctx, c, `SELECT 1 FROM {p}_blob_holds WHERE tenant = ? AND blob = ? LIMIT 1`, []any{tenant, id}, &one); err != nil || held {
		return false, err
	}
	_, err := c.Exec(ctx, statement(`DELETE FROM {p}_blob_parts WHERE body = ?`, body), statement(`DELETE FROM {p}_blobs WHERE tenant = ? AND id = ?`, tenant, id))
	return err == nil, err
}

// sweep calls remove for the rows that query marks, page by page, and returns how many it has removed.
func sweep(ctx context.Context, db DB, query string, before int64, remove func(p place) (bool, error)) (removed int, err error) {
	var last place
	for {
		var marked []place
		n := 0
		err := db.Read(ctx, func(c Conn) error {
			marked, n = nil, 0
			from := last
			return c.Query(ctx, query, []any{before, from.tenant, from.blob, from.holder, sweepPage}, func(scan Scan) error {
				var old int
				n++
				err := scan(&last.tenant, &last.blob, &last.holder, &old)
				if old > 0 {
					marked = append(marked, last)
				}
				return err
			})
		})
		if err != nil {
			return removed, err
		}
		for _, p := range marked {
			ok, err := remove(p)
			if err != nil {
				return removed, err
			}
			if ok {
				removed++
			}
		}
		if n < sweepPage {
			return removed, nil
		}
	}
}

// sweepUploads removes the parts of uploads that were never finished.
func sweepUploads(ctx context.Context, db DB, before int64) error {
	var old []string
	err := db.Read(ctx, func(c Conn) (err error) {
		old, err = column[string](ctx, c, `SELECT body FROM {p}_blob_uploads WHERE at < ?`, before)
		return err
	})
	for _, body := range old {
		if err != nil {
			return err
		}
		err = db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
			n, err := c.Exec(ctx, statement(`DELETE FROM {p}_blob_uploads WHERE body = ? AND at < ?`, body, before))
			if err == nil && n > 0 { // else it is finished, or parts arrive again
				_, err = c.Exec(ctx, statement(`DELETE FROM {p}_blob_parts WHERE body = ?`, body))
			}
			return nil, err
		})
	}
	return err
}
