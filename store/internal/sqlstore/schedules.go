package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/schedule"
)

// Schedules implements [schedule.Store] for all tenants.
type Schedules struct{ db DB }

var _ schedule.Store = (*Schedules)(nil)

// NewSchedules returns the schedules of a database.
func NewSchedules(db DB) *Schedules { return &Schedules{db} }

const scheduleColumns = `SELECT tenant, id, revision, coalesce(due, -1), spec, state, {clock} FROM {p}_schedules `

// list returns schedules, and the clock of the database if there are any.
func (s *Schedules) list(ctx context.Context, query string, args ...any) (out []*schedule.Schedule, now time.Time, err error) {
	d := s.db.Dialect()
	out, err = list(ctx, s.db, "schedules", scheduleColumns+query, args, func(scan Scan) (*schedule.Schedule, error) {
		p := new(schedule.Schedule)
		var due, clock int64
		var spec, state []byte
		if err := scan(&p.Tenant, &p.ID, &p.Revision, &due, &spec, &state, &clock); err != nil {
			return nil, err
		}
		d.unescape(&p.Tenant, &p.ID)
		if now = time.UnixMilli(clock).UTC(); due >= 0 {
			p.Due = time.UnixMilli(due).UTC()
		}
		if err := json.Unmarshal(spec, &p.Spec); err != nil {
			return nil, err
		}
		return p, json.Unmarshal(state, &p.State)
	})
	return out, now, err
}

// Schedule returns a schedule.
func (s *Schedules) Schedule(ctx context.Context, tenant, id string) (*schedule.Schedule, error) {
	d := s.db.Dialect()
	found, _, err := s.list(ctx, `WHERE tenant = ? AND id = ?`, d.escape(tenant), d.escape(id))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("schedule %q: %w", id, awaken.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Schedules returns a page of the schedules of a tenant.
func (s *Schedules) Schedules(ctx context.Context, tenant, after string, limit int) ([]*schedule.Schedule, error) {
	d := s.db.Dialect()
	out, _, err := s.list(ctx, `WHERE tenant = ? AND id {bytes} > ? ORDER BY id {bytes} LIMIT ?`, d.escape(tenant), d.escape(after), limit)
	return out, err
}

// Due returns the schedules that are due, and the clock of the database.
func (s *Schedules) Due(ctx context.Context, limit int) ([]*schedule.Schedule, time.Time, error) {
	return s.list(ctx, `WHERE due <= {clock} ORDER BY due LIMIT ?`, limit)
}

// Swap stores a schedule if its revision is still the stored one.
func (s *Schedules) Swap(ctx context.Context, p *schedule.Schedule, log ...schedule.Firing) (done bool, err error) {
	d := s.db.Dialect()
	spec, err := d.Encode(p.Spec)
	if err != nil {
		return false, fmt.Errorf("schedule %q: %w", p.ID, err)
	}
	state, err := d.Encode(p.State)
	if err != nil {
		return false, fmt.Errorf("schedule %q: %w", p.ID, err)
	}
	var due any // NULL
	if !p.Due.IsZero() {
		due = p.Due.UnixMilli()
	}
	tenant, id := d.escape(p.Tenant), d.escape(p.ID)
	change := statement(`INSERT INTO {p}_schedules (tenant, id, revision, due, spec, state) VALUES (?1, ?2, 1, ?3, ?4, ?5) ON CONFLICT (tenant, id) DO NOTHING`, tenant, id, due, spec, state)
	if p.Revision != 0 {
		change = statement(`UPDATE {p}_schedules SET revision = revision + 1, due = ?3, spec = ?4, state = ?5 WHERE tenant = ?1 AND id = ?2 AND revision = ?6`, tenant, id, due, spec, state, p.Revision)
	}
	if len(log) == 0 {
		n, err := s.db.ExecOnce(ctx, change.Query, change.Args...)
		return n == 1, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err := c.Exec(ctx, change)
		if done = n == 1; err != nil || !done {
			return nil, err
		}
		var add []Statement
		for i := range log {
			data, err := d.Encode(&log[i])
			if err != nil {
				return nil, err
			}
			add = append(add, statement(`INSERT INTO {p}_firings (tenant, schedule, number, data) VALUES (?, ?, ?, ?)`, tenant, id, log[i].Number, data))
		}
		add = append(add, statement(`DELETE FROM {p}_firings WHERE tenant = ? AND schedule = ? AND number <= ?`, tenant, id, log[len(log)-1].Number-schedule.KeptFirings))
		_, err = c.Exec(ctx, add...)
		return nil, err
	})
	if err != nil {
		return false, fmt.Errorf("schedule %q: %w", p.ID, err)
	}
	return done, nil
}

// Drop removes a schedule.
func (s *Schedules) Drop(ctx context.Context, tenant, id string) (existed bool, err error) {
	d := s.db.Dialect()
	args := []any{d.escape(tenant), d.escape(id)}
	err = s.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err := c.Exec(ctx, Statement{`DELETE FROM {p}_firings WHERE tenant = ? AND schedule = ?`, args}, Statement{`DELETE FROM {p}_schedules WHERE tenant = ? AND id = ?`, args})
		existed = n > 0
		return nil, err
	})
	if err != nil {
		return false, fmt.Errorf("schedule %q: %w", id, err)
	}
	return existed, nil
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
