package sqlstore

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/awaken-go/awaken/trigger"
)

// Triggers implements [trigger.Store] for all tenants.
type Triggers struct{ agenda }

var _ trigger.Store = (*Triggers)(nil)

// NewTriggers returns the triggers of a database.
func NewTriggers(db DB) *Triggers { return &Triggers{agenda{db, "triggers", "trigger"}} }

func decodeTrigger(it *item) (*trigger.Trigger, error) {
	t := &trigger.Trigger{Tenant: it.tenant, ID: it.id, Revision: it.revision}
	return t, it.decode(&t.Spec, &t.State)
}

// Trigger returns a trigger.
func (s *Triggers) Trigger(ctx context.Context, tenant, id string) (*trigger.Trigger, error) {
	it, err := s.get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return decodeTrigger(it)
}

// Triggers returns a page of the triggers of a tenant.
func (s *Triggers) Triggers(ctx context.Context, tenant, after string, limit int) ([]*trigger.Trigger, error) {
	items, err := s.page(ctx, tenant, after, limit)
	return decoded(items, err, decodeTrigger)
}

// SwapTrigger stores a trigger if its revision is still the stored one.
func (s *Triggers) SwapTrigger(ctx context.Context, t *trigger.Trigger) (bool, error) {
	it, err := s.encode(item{tenant: t.Tenant, id: t.ID, revision: t.Revision}, &t.Spec, &t.State)
	if err != nil {
		return false, err
	}
	return s.swap(ctx, it)
}

// DropTrigger removes a trigger and its log.
func (s *Triggers) DropTrigger(ctx context.Context, tenant, id string) (bool, error) {
	return s.drop(ctx, tenant, id, `DELETE FROM {p}_fired WHERE tenant = ? AND id = ?`)
}

// pruneEvery is how many entries of a log are added between two times that old ones are removed, about.
const pruneEvery = 16

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

// Since counts entries of the log of a trigger.
func (s *Triggers) Since(ctx context.Context, tenant, id string, since time.Time, limit int) (int, error) {
	d := s.db.Dialect()
	out, err := list(ctx, s.db, "fired", `SELECT count(*) FROM (SELECT 1 FROM {p}_fired WHERE tenant = ? AND id = ? AND at >= ? LIMIT ?) AS x`,
		[]any{d.escape(tenant), d.escape(id), since.UnixMilli(), limit}, func(scan Scan) (n int, err error) {
			return n, scan(&n)
		})
	if err != nil || len(out) == 0 {
		return 0, err
	}
	return out[0], nil
}
