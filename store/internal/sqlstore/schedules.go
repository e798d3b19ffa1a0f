package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/awaken-go/awaken/automate/schedule"
)

// Schedules implements [schedule.Store] for all tenants.
type Schedules struct{ agenda }

var _ schedule.Store = (*Schedules)(nil)

// NewSchedules returns the schedules of a database.
func NewSchedules(db DB) *Schedules { return &Schedules{agenda{db, "schedules", "schedule"}} }

func decodeSchedule(it *item) (*schedule.Schedule, error) {
	s := &schedule.Schedule{Tenant: it.tenant, ID: it.id, Revision: it.revision, Due: it.due}
	return s, it.decode(&s.Spec, &s.State)
}

// Schedule returns a schedule.
func (s *Schedules) Schedule(ctx context.Context, tenant, id string) (*schedule.Schedule, error) {
	it, err := s.get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return decodeSchedule(it)
}

// Schedules returns a page of the schedules of a tenant.
func (s *Schedules) Schedules(ctx context.Context, tenant, after string, limit int) ([]*schedule.Schedule, error) {
	items, err := s.page(ctx, tenant, after, limit)
	return decoded(items, err, decodeSchedule)
}

// Due returns the schedules that are due, and the clock of the database.
func (s *Schedules) Due(ctx context.Context, limit int) ([]*schedule.Schedule, time.Time, error) {
	items, now, err := s.due(ctx, limit)
	out, err := decoded(items, err, decodeSchedule)
	return out, now, err
}

// Swap stores a schedule if its revision is still the stored one.
func (s *Schedules) Swap(ctx context.Context, p *schedule.Schedule, log ...schedule.Firing) (bool, error) {
	it, err := s.encode(item{tenant: p.Tenant, id: p.ID, revision: p.Revision, due: p.Due}, &p.Spec, &p.State)
	if err != nil {
		return false, err
	}
	var add []Statement
	for i := range log {
		data, err := s.db.Dialect().Encode(&log[i])
		if err != nil {
			return false, s.failed(p.ID, err)
		}
		add = append(add, statement(`INSERT INTO {p}_firings (tenant, schedule, number, data) VALUES (?, ?, ?, ?)`, log[i].Number, data))
	}
	if n := len(log); n > 0 {
		add = append(add, statement(`DELETE FROM {p}_firings WHERE tenant = ? AND schedule = ? AND number <= ?`, log[n-1].Number-schedule.KeptFirings))
	}
	return s.swap(ctx, it, add...)
}

// Drop removes a schedule.
func (s *Schedules) Drop(ctx context.Context, tenant, id string) (existed bool, err error) {
	return s.drop(ctx, tenant, id, `DELETE FROM {p}_firings WHERE tenant = ? AND schedule = ?`)
}

// Firings returns a page of the log of a schedule.
func (s *Schedules) Firings(ctx context.Context, tenant, id string, before int64, limit int) ([]schedule.Firing, error) {
	d := s.db.Dialect()
	query, args := `SELECT data FROM {p}_firings WHERE tenant = ? AND schedule = ?`, []any{d.escape(tenant), d.escape(id)}
	if before > 0 {
		query, args = query+` AND number < ?`, append(args, before)
	}
	return list(ctx, s.db, "firings", query+` ORDER BY number DESC LIMIT ?`, append(args, limit), func(scan Scan) (f schedule.Firing, err error) {
		var data []byte
		if err := scan(&data); err != nil {
			return f, err
		}
		return f, json.Unmarshal(data, &f)
	})
}
