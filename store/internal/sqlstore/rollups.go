package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/trace/rollup"
)

// Rollups implements [rollup.Store]. The runs that it counts are those whose ends are in the log of changes.
type Rollups struct {
	db  DB
	log *Changes
}

var _ rollup.Store = (*Rollups)(nil)

// NewRollups returns the figures of a database with a log of changes.
func NewRollups(log *Changes) *Rollups { return &Rollups{log.DB, log} }

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

// Ended returns runs that are not counted. They have marks; if these are few, Ended first marks those that have ended since.
func (s *Rollups) Ended(ctx context.Context, limit int) ([]rollup.Ended, error) {
	out, err := s.marked(ctx, limit)
	if err != nil || len(out) == limit {
		return out, err
	}
	more, err := s.mark(ctx)
	if err != nil || !more {
		return out, err
	}
	return s.marked(ctx, limit)
}

// marked returns runs that are marked.
func (s *Rollups) marked(ctx context.Context, limit int) ([]rollup.Ended, error) {
	return list(ctx, s.db, "runs to count", `SELECT mark, tenant, run FROM {p}_ended ORDER BY mark LIMIT ?`, []any{limit}, func(scan Scan) (e rollup.Ended, err error) {
		err = scan(&e.Mark, &e.Tenant, &e.RunID)
		s.db.Dialect().unescape(&e.Tenant, &e.RunID)
		return e, err
	})
}

// endings are the changes behind ?1, up to ?2, that are ends of runs.
const endings = ` FROM {p}_changes c WHERE c.pos > ?1 AND c.pos <= ?2 AND c.kind = 'run' AND c.status = 'done'`

// markEnded is the statement that marks the runs that ended behind a position, up to another one.
func markEnded(after, upto int64) Statement {
	return statement(`INSERT INTO {p}_ended (tenant, run) SELECT c.tenant, c.run`+endings+` ORDER BY c.pos`, after, upto)
}

// markAtOnce is how many positions of the log are looked at in one transaction.
const markAtOnce = 100_000

// mark marks runs that have ended since the last time, in any process, and reports whether there are any.
func (s *Rollups) mark(ctx context.Context) (bool, error) {
	upto, err := s.log.Horizon(ctx)
	if err != nil {
		return false, err
	}
	var after, found int64
	if err := read(ctx, s.db, "runs to count", func(c Conn) error {
		if _, err := row(ctx, c, `SELECT marked FROM {p}_changes_floor`, nil, &after); err != nil {
			return err
		}
		upto = min(upto, after+markAtOnce)
		_, err := row(ctx, c, `SELECT count(*) FROM (SELECT 1`+endings+` LIMIT 1) a`, []any{after, upto}, &found)
		return err
	}); err != nil || found == 0 && upto < after+markAtOnce {
		return false, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err := c.Exec(ctx, statement(`UPDATE {p}_changes_floor SET marked = ?2 WHERE marked = ?1`, after, upto))
		if err != nil || n == 0 { // another process has marked them
			return nil, err
		}
		_, err = c.Exec(ctx, markEnded(after, upto))
		return nil, err
	})
	if err != nil {
		return false, fmt.Errorf("mark runs: %w", err)
	}
	return found > 0, nil
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
	sums, group := columns, `` // a row is all of its step
	if q.Step != q.Span() {
		sums, group = make([]string, len(columns)), ` GROUP BY 1, 2`
		for i, c := range columns {
			sums[i] = "CAST(sum(" + c + ") AS bigint)"
		}
	}
	d, step := s.db.Dialect(), int64(q.Step/time.Second)
	where, args := ``, []any{d.escape(q.Tenant), string(q.By), int64(q.Span() / time.Second), q.Since, q.Until, step}
	if q.Value != nil {
		where, args = ` AND value = ?7`, append(args, d.escape(*q.Value))
	}
	query := `SELECT value, (at - ?4) / ?6 AS step, ` + strings.Join(sums, ", ") + ` FROM {p}_rollups
		WHERE tenant = ?1 AND dim = ?2 AND span = ?3 AND at >= ?4 AND at < ?5` + where + group
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
