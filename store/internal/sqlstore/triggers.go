package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/trigger"
)

// Triggers implements [trigger.Store] for all tenants.
type Triggers struct {
	rows[trigger.Trigger, *trigger.Trigger]
}

var _ trigger.Store = (*Triggers)(nil)

// pruneEvery is how many entries of a log are added between two times that old ones are removed, about.
const pruneEvery = 16

// Enter adds an entry to the log of a trigger before its run is started, if there are few of the last minute. The lock of the trigger makes processes count one after the other.
func (s *Triggers) Enter(ctx context.Context, tenant, id string, f *trigger.Firing, limit int) (ok bool, err error) {
	d := s.db.Dialect()
	of := []any{d.escape(tenant), d.escape(id)}
	err = s.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		var now int64
		if found, err := row(ctx, c, `SELECT {clock} FROM {p}_triggers WHERE tenant = ? AND id = ?{lock}`, of, &now); err != nil || !found {
			return awaken.ErrNotFound, err
		}
		var data []byte
		if found, err := row(ctx, c, `SELECT data FROM {p}_fired WHERE tenant = ? AND id = ? AND run = ?`, append(of[:2:2], d.escape(f.RunID)), &data); err != nil {
			return nil, err
		} else if found {
			ok, *f = true, trigger.Firing{}
			return nil, json.Unmarshal(data, f)
		}
		entry := *f
		entry.At = time.UnixMilli(now).UTC()
		text, err := d.Encode(&entry)
		if err != nil {
			return err, nil
		}
		n, err := c.Exec(ctx, statement(`INSERT INTO {p}_fired (tenant, id, run, at, data) SELECT tenant, id, ?3, ?4, ?5 FROM {p}_triggers WHERE tenant = ?1 AND id = ?2 AND
			(SELECT count(*) FROM (SELECT 1 FROM {p}_fired WHERE tenant = ?1 AND id = ?2 AND at >= ?6 LIMIT ?7) AS recent) < ?7`,
			append(of[:2:2], d.escape(f.RunID), now, text, now-time.Minute.Milliseconds(), cmp.Or(limit, math.MaxInt32))...))
		if ok = n == 1; ok && err == nil {
			*f = entry
		}
		return nil, err
	})
	return ok && err == nil, s.failed(id, err)
}

// Log adds an entry to the log of a trigger that exists.
func (s *Triggers) Log(ctx context.Context, tenant, id string, f *trigger.Firing) error {
	d := s.db.Dialect()
	data, err := d.Encode(f)
	if err != nil {
		return s.failed(id, err)
	}
	of, at := []any{d.escape(tenant), d.escape(id)}, f.At.UnixMilli()
	_, err = s.db.ExecOnce(ctx, `INSERT INTO {p}_fired (tenant, id, run, at, data) SELECT tenant, id, ?3, ?4, ?5 FROM {p}_triggers WHERE tenant = ?1 AND id = ?2
		ON CONFLICT (tenant, id, run) DO UPDATE SET at = excluded.at, data = excluded.data`, append(of, d.escape(f.RunID), at, data)...)
	if err == nil && at%pruneEvery == 0 {
		_, err = s.db.ExecOnce(ctx, `DELETE FROM {p}_fired WHERE tenant = ?1 AND id = ?2 AND at <
			(SELECT at FROM {p}_fired WHERE tenant = ?1 AND id = ?2 ORDER BY at DESC LIMIT 1 OFFSET ?3)`, append(of[:2:2], trigger.KeptFirings)...)
	}
	return s.failed(id, err)
}

// Firings returns a page of the log of a trigger.
func (s *Triggers) Firings(ctx context.Context, tenant, id string, before trigger.Place, limit int) ([]trigger.Firing, error) {
	d := s.db.Dialect()
	at := int64(math.MaxInt64)
	if !before.At.IsZero() {
		at = before.At.UnixMilli()
	}
	return list(ctx, s.db, "fired", `SELECT data FROM {p}_fired WHERE tenant = ? AND id = ? AND (at, run {bytes}) < (?, ?) ORDER BY at DESC, run {bytes} DESC LIMIT ?`,
		[]any{d.escape(tenant), d.escape(id), at, d.escape(before.RunID), limit}, func(scan Scan) (f trigger.Firing, err error) {
			var data []byte
			if err := scan(&data); err != nil {
				return f, err
			}
			return f, json.Unmarshal(data, &f)
		})
}
