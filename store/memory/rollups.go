package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/trace/rollup"
)

// rollups implements [rollup.Store].
type rollups struct {
	db      *DB
	last    int64 // mark
	ended   []rollup.Ended
	figures map[rollup.Key]*rollup.Figures
}

// Rollups returns the figures about the runs of all tenants. Until it is called, runs that end are not marked, so a program that
// counts none pays nothing.
func (db *DB) Rollups() rollup.Store {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.rollups == nil {
		db.rollups = &rollups{db: db, figures: map[rollup.Key]*rollup.Figures{}}
		for tenant, s := range db.tenants {
			for id, r := range s.committer.runs {
				if r.Status == awaken.RunDone {
					db.rollups.mark(tenant, id)
				}
			}
			db.rollups.follow(tenant, s.committer.records)
		}
	}
	return db.rollups
}

// follow marks the runs of a tenant that end from now on. Requires DB.mu.
func (r *rollups) follow(tenant string, rs *records) {
	rs.ended = func(runID string) { r.mark(tenant, runID) }
}

// mark marks a run that has ended. Requires DB.mu.
func (r *rollups) mark(tenant, runID string) {
	r.last++
	r.ended = append(r.ended, rollup.Ended{Mark: r.last, Tenant: tenant, RunID: runID})
}

// Ended returns runs that are not counted.
func (r *rollups) Ended(_ context.Context, limit int) ([]rollup.Ended, error) {
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	return slices.Clone(r.ended[:min(len(r.ended), max(limit, 0))]), nil
}

// Count adds figures of runs, and removes their marks.
func (r *rollups) Count(_ context.Context, ended []rollup.Ended, figures map[rollup.Key]*rollup.Figures) (bool, error) {
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	for _, e := range ended {
		if !slices.Contains(r.ended, e) {
			return false, nil
		}
	}
	r.ended = slices.DeleteFunc(r.ended, func(e rollup.Ended) bool { return slices.Contains(ended, e) })
	for k, f := range figures {
		if r.figures[k] == nil {
			r.figures[k] = new(rollup.Figures)
		}
		r.figures[k].Add(f)
	}
	return true, nil
}

// Figures returns figures.
func (r *rollups) Figures(_ context.Context, q rollup.Query) ([]rollup.Row, error) {
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	type place struct {
		value string
		at    int64
	}
	rows, span, step := map[place]*rollup.Row{}, q.Span(), int64(q.Step/time.Second)
	for k, f := range r.figures {
		if k.Tenant != q.Tenant || k.By != q.By || k.Span != span || k.At < q.Since || k.At >= q.Until || q.Value != nil && k.Value != *q.Value {
			continue
		}
		p := place{k.Value, q.Since + (k.At-q.Since)/step*step}
		if rows[p] == nil {
			rows[p] = &rollup.Row{Value: p.value, At: p.at}
		}
		rows[p].Add(f)
	}
	var out []rollup.Row
	for _, row := range rows {
		if !q.Durations {
			row.Durations = rollup.Histogram{}
		}
		out = append(out, *row)
	}
	return out, nil
}

// TrimFigures removes old figures.
func (r *rollups) TrimFigures(_ context.Context, hours, days int64) error {
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	maps.DeleteFunc(r.figures, func(k rollup.Key, _ *rollup.Figures) bool {
		return k.Span == rollup.Hour && k.At < hours || k.Span == rollup.Day && k.At < days
	})
	return nil
}
