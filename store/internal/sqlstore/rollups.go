package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/rollup"
)

// Rollups implements [rollup.Store]. Triggers of the migrations mark runs that end.
type Rollups struct{ db DB }

var _ rollup.Store = (*Rollups)(nil)

// NewRollups returns the figures of a database.
func NewRollups(db DB) *Rollups { return &Rollups{db} }

// figures are the columns of figures without those of the histogram, bars those.
var figures, bars = []string{"n", "errors", "prompt", "completion", "tokens", "cache_read", "cache_made", "thinking", "cost", "timed", "ms"},
	func() (out []string) {
		for i := range len(rollup.Bounds) + 1 {
			out = append(out, fmt.Sprintf("b%d", i))
		}
		return out
	}()

// addFigures is the statement that adds figures.
var addFigures = func() string {
	columns := slices.Concat(figures, bars)
	marks, sums := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		marks[i], sums[i] = fmt.Sprintf("?%d", i+6), c+" = r."+c+" + excluded."+c
	}
	return `INSERT INTO {p}_rollups AS r (tenant, dim, span, at, value, ` + strings.Join(columns, ", ") + `) VALUES (?1, ?2, ?3, ?4, ?5, ` + strings.Join(marks, ", ") + `)
		ON CONFLICT (tenant, dim, span, at, value) DO UPDATE SET ` + strings.Join(sums, ", ")
}()

// values returns the values of the columns of figures and bars.
func values(f *rollup.Figures) []any {
	u := &f.Usage
	out := []any{f.Count, f.Errors, int64(u.PromptTokens), int64(u.CompletionTokens), int64(u.TotalTokens), int64(u.CacheReadTokens), int64(u.CacheCreationTokens), int64(u.ThinkingTokens),
		int64(f.Cost), f.Timed, f.DurationMS}
	for _, n := range f.Durations {
		out = append(out, n)
	}
	return out
}

// Ended returns runs that are not counted.
func (s *Rollups) Ended(ctx context.Context, limit int) ([]rollup.Ended, error) {
	return list(ctx, s.db, "runs to count", `SELECT mark, tenant, run FROM {p}_ended ORDER BY mark LIMIT ?`, []any{limit}, func(scan Scan) (e rollup.Ended, err error) {
		err = scan(&e.Mark, &e.Tenant, &e.RunID)
		s.db.Dialect().unescape(&e.Tenant, &e.RunID)
		return e, err
	})
}

// Count adds figures of runs, and removes their marks. The marks are removed first: a process that counts the same runs waits there, and
// then finds them gone.
func (s *Rollups) Count(ctx context.Context, ended []rollup.Ended, fs map[rollup.Key]*rollup.Figures) (counted bool, err error) {
	d := s.db.Dialect()
	marks, runs := make([]int64, len(ended)), make([]string, len(ended))
	for i, e := range ended {
		marks[i], runs[i] = e.Mark, d.escape(e.RunID)
	}
	var adds []Statement
	for _, k := range slices.SortedFunc(maps.Keys(fs), compareKeys) { // in one order, so that processes do not block each other
		adds = append(adds, Statement{addFigures, append([]any{d.escape(k.Tenant), string(k.By), int64(k.Span / time.Second), k.At, d.escape(k.Value)}, values(fs[k])...)})
	}
	err = s.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		// A mark may be used again, but not for the same run: a run ends once.
		n, err := c.Exec(ctx, Statement{`DELETE FROM {p}_ended WHERE mark IN (SELECT j.value FROM {numbers}) AND run IN (SELECT j.value FROM {texts})`, []any{marks, runs}})
		if err != nil {
			return nil, err
		}
		if counted = n == int64(len(marks)); !counted {
			return errCounted, nil
		}
		if len(adds) > 0 {
			_, err = c.Exec(ctx, adds...)
		}
		return nil, err
	})
	if err == errCounted { //nolint:errorlint // Write returns it as it is
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("count runs: %w", err)
	}
	return counted, nil
}

// errCounted rolls back a transaction that would count runs again.
var errCounted = fmt.Errorf("another process has counted some of the runs")

func compareKeys(a, b rollup.Key) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(string(a.By), string(b.By)), cmp.Compare(a.Span, b.Span), cmp.Compare(a.At, b.At), strings.Compare(a.Value, b.Value))
}

// Figures returns figures.
func (s *Rollups) Figures(ctx context.Context, q rollup.Query) ([]rollup.Row, error) {
	columns := figures
	if q.Durations {
		columns = slices.Concat(figures, bars)
	}
	sums := make([]string, len(columns))
	for i, c := range columns {
		sums[i] = "CAST(sum(" + c + ") AS bigint)"
	}
	d, step := s.db.Dialect(), int64(q.Step/time.Second)
	where, args := ``, []any{d.escape(q.Tenant), string(q.By), int64(q.Span() / time.Second), q.Since, q.Until, step}
	if q.Value != nil {
		where, args = ` AND value = ?7`, append(args, d.escape(*q.Value))
	}
	query := `SELECT value, (at - ?4) / ?6 AS step, ` + strings.Join(sums, ", ") + ` FROM {p}_rollups
		WHERE tenant = ?1 AND dim = ?2 AND span = ?3 AND at >= ?4 AND at < ?5` + where + ` GROUP BY 1, 2`
	return list(ctx, s.db, "figures", query, args, func(scan Scan) (r rollup.Row, err error) {
		u := &r.Usage
		into := []any{&r.Value, &r.At, &r.Count, &r.Errors, &u.PromptTokens, &u.CompletionTokens, &u.TotalTokens, &u.CacheReadTokens, &u.CacheCreationTokens, &u.ThinkingTokens,
			(*int64)(&r.Cost), &r.Timed, &r.DurationMS}
		if q.Durations {
			for i := range r.Durations {
				into = append(into, &r.Durations[i])
			}
		}
		err = scan(into...)
		r.At = q.Since + r.At*step
		d.unescape(&r.Value)
		return r, err
	})
}

// TrimFigures removes old figures.
func (s *Rollups) TrimFigures(ctx context.Context, hours, days int64) error {
	for span, before := range map[time.Duration]int64{rollup.Hour: hours, rollup.Day: days} {
		if _, err := s.db.Exec(ctx, `DELETE FROM {p}_rollups WHERE span = ? AND at < ?`, int64(span/time.Second), before); err != nil {
			return fmt.Errorf("remove old figures: %w", err)
		}
	}
	return nil
}
