package sqlstore

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken/automate/schedule"
)

// Schedules implements [schedule.Store] for all tenants.
type Schedules struct {
	rows[schedule.Schedule, *schedule.Schedule]
}

var _ schedule.Store = (*Schedules)(nil)

// Record stores a schedule if its revision is still the stored one, and appends to its log.
func (s *Schedules) Record(ctx context.Context, p *schedule.Schedule, log ...schedule.Firing) (bool, error) {
	var add []Statement
	for i := range log {
		data, err := s.db.Dialect().Encode(&log[i])
		if err != nil {
			return false, s.failed(p.ID, err)
		}
		add = append(add, statement(`INSERT INTO {p}_firings (tenant, id, number, data) VALUES (?, ?, ?, ?)`, log[i].Number, data))
	}
	if n := len(log); n > 0 {
		add = append(add, statement(`DELETE FROM {p}_firings WHERE tenant = ? AND id = ? AND number <= ?`, log[n-1].Number-schedule.KeptFirings))
	}
	return s.swap(ctx, p, add...)
}

// Firings returns a page of the log of a schedule.
func (s *Schedules) Firings(ctx context.Context, tenant, id string, before int64, limit int) ([]schedule.Firing, error) {
	d := s.db.Dialect()
	query, args := `SELECT data FROM {p}_firings WHERE tenant = ? AND id = ?`, []any{d.escape(tenant), d.escape(id)}
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
