package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// threadList is the query of a list of threads as SQL. In it, t is a thread.
type threadList struct {
	from string   // the rows of one index, in the order of the list
	runs bool     // from is a list of runs r, which has the latest ones of the threads
	rest []string // the other conditions
	arguments
}

// threadList returns the list of a query.
func (s *Tenant) threadList(ctx context.Context, q *awaken.ThreadQuery) (*threadList, error) {
	l := &threadList{from: `{p}_threads t WHERE t.tenant = ?1`, arguments: arguments{s.scope.tenant}}
	if l.runs = threads.ByRun(q); l.runs {
		l.from = `{p}_runs r WHERE r.tenant = ?1`
		l.rest = append(l.rest, `t.latest_run = r.key`)
		if q.Status != "" && q.Status != awaken.RunDone {
			l.from += ` AND r.status = ` + l.param(string(q.Status)) + ` AND r.status <> 'done'`
		}
		if q.AgentID != "" {
			l.from += ` AND r.agent = ` + l.param(s.scope.id(q.AgentID))
		}
	}
	choose(s.threadConditions(l, q), l.runs, &l.from, &l.rest)
	return l, s.addTimes(ctx, l, q)
}

// threadConditions returns the conditions of a query on a row t, except those on times. Those whose index probably has the
// fewest rows come first.
func (s *Tenant) threadConditions(l *threadList, q *awaken.ThreadQuery) (out []condition) {
	add := func(text, index string) { out = append(out, condition{text, index}) }
	equals := func(column, value string) {
		if value != "" {
			add(column+` = `+l.param(s.scope.id(value)), column+` <> ''`)
		}
	}
	equals(`t.parent`, q.ParentThreadID)
	equals(`t.resource`, q.ResourceID)
	if q.Owner != nil && *q.Owner == "" {
		add(`t.user_id = ''`, ``)
	} else if q.Owner != nil {
		equals(`t.user_id`, *q.Owner)
	}
	if q.Root {
		add(`t.parent = ''`, ``)
	}
	switch q.Status { // the row of a thread holds the record of its open run while that is running
	case awaken.RunRunning:
		add(`t.open_run <> '' AND t.run IS NOT NULL`, ``)
	case awaken.RunWaiting:
		add(`t.open_run <> '' AND t.run IS NULL`, ``)
	case awaken.RunDone:
		add(`t.open_run = '' AND t.latest_run <> ''`, ``)
	case "":
	default:
		add(`t.tenant IS NULL`, ``) // a run that has not started is not the latest
	}
	if q.AgentID != "" && !l.runs {
		add(`(SELECT x.agent FROM {p}_runs x WHERE x.tenant = t.tenant AND x.id = t.latest_run) = `+l.param(s.scope.id(q.AgentID)), ``)
	}
	return out
}

// addTimes adds the conditions on times. A thread moves to the front when it is updated, except by the steps of a running
// run. So the places of the times are found by bisection among the others, and a list that ends at a time begins no
// later than with the thread that has been running for longest. A fork has the times of its parent until it runs.
func (s *Tenant) addTimes(ctx context.Context, l *threadList, q *awaken.ThreadQuery) error {
	const probe = `SELECT t.touched, t.updated FROM {p}_threads t WHERE t.tenant = ? AND t.touched <= ? AND t.run IS NULL AND (t.latest_run <> '' OR t.parent = '')
		ORDER BY t.touched DESC LIMIT 1`
	if q.Since > 0 {
		low, _, err := s.scope.placeAt(ctx, probe, q.Since-clockSkew.Milliseconds())
		if err != nil {
			return err
		}
		l.from += ` AND t.touched > {min}(` + l.param(low) + `, coalesce((SELECT min(o.touched) - 1 FROM {p}_runs r JOIN {p}_threads o ON o.tenant = r.tenant AND o.id = r.thread
			WHERE r.tenant = ?1 AND r.status = 'running' AND o.open_run = r.id), 9223372036854775807))`
		l.rest = append(l.rest, `t.updated >= `+l.param(q.Since))
	}
	if q.Until > 0 && l.runs {
		l.rest = append(l.rest, `t.updated < `+l.param(q.Until))
	} else if q.Until > 0 {
		_, high, err := s.scope.placeAt(ctx, probe, q.Until+clockSkew.Milliseconds())
		if err != nil {
			return err
		}
		l.from += ` AND t.touched <= ` + l.param(high)
		l.rest = append(l.rest, `t.updated < `+l.param(q.Until))
	}
	return nil
}

// listedThread is a row of a list of threads.
type listedThread struct {
	Thread
	place    threads.Place // its id is escaped
	selected int           // 0 if the list does not have it
}

// window returns the statement of a window: the next n rows from a place on, after the first offset ones. The id of the
// place is escaped.
func (l *threadList) window(at threads.Place, id string, offset, n int) (string, []any) {
	w, from, columns, selected := slices.Clip(l.arguments), l.from, ThreadColumns, `1`
	if len(l.rest) > 0 {
		selected = `CASE WHEN ` + strings.Join(l.rest, ` AND `) + ` THEN 1 ELSE 0 END`
		columns = strings.Replace(columns, `custom`, `CASE `+selected+` WHEN 1 THEN custom END`, 1)
	}
	time, key := l.order()
	if at.ID != "" {
		place, last := w.param(at.Time), w.param(id)
		from += ` AND ` + time + ` <= ` + place + ` AND (` + time + ` < ` + place + ` OR ` + key + ` > ` + last + `)`
	}
	rows := from + ` ORDER BY ` + time + ` DESC, ` + key + ` LIMIT ` + w.param(n)
	if offset > 0 {
		rows += ` OFFSET ` + w.param(offset)
	}
	if l.runs {
		return `SELECT ` + columns + `, r.place, r.key, ` + selected + ` FROM ` + ofRuns(rows) + ` ORDER BY r.place DESC, r.key`, w
	}
	return `SELECT ` + columns + `, t.touched, t.id, ` + selected + ` FROM ` + rows, w
}

// order returns the columns that the list is ordered by.
func (l *threadList) order() (time, key string) {
	if l.runs {
		return `r.born`, `r.id`
	}
	return `t.touched`, `t.id`
}

// ofRuns returns the threads t of rows of runs, which then are r.
func ofRuns(rows string) string {
	return `(SELECT r.tenant, r.thread, r.born AS place, r.id AS key FROM ` + rows + `) r JOIN {p}_threads t ON t.tenant = r.tenant AND t.id = r.thread`
}

// ListThreads returns threads, the most recently active first.
func (s *Tenant) ListThreads(ctx context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	p := pages[listedThread, awaken.Thread]{at: q.At}
	if err := p.begin(q.Offset, q.Limit); err != nil {
		return nil, err
	}
	l, err := s.threadList(ctx, &q)
	if err != nil {
		return nil, err
	}
	p.exact = len(l.rest) == 0 && q.Text == ""
	p.window = func(at threads.Place, offset, n int) ([]listedThread, error) {
		query, args := l.window(at, s.scope.id(at.ID), offset, n)
		return list(ctx, s.scope.db, "list threads", query, args, func(scan Scan) (t listedThread, err error) {
			return t, t.Scan(s.scope.db.Dialect(), func(dest ...any) error { return scan(append(dest, &t.place.Time, &t.place.ID, &t.selected)...) })
		})
	}
	p.item = func(row *listedThread) (threads.Place, *awaken.Thread, error) {
		at := row.place
		s.scope.db.Dialect().unescape(&at.ID)
		if row.selected == 0 || q.Text != "" && !threads.Selects(&q, &row.Thread.Thread) {
			return at, nil, nil
		}
		return at, &row.Thread.Thread, nil
	}
	return p.list()
}

// CountThreads returns how many threads q selects, on all pages.
func (s *Tenant) CountThreads(ctx context.Context, q awaken.ThreadQuery) (n int, err error) {
	if q.Text != "" {
		return s.countThreadsOneByOne(ctx, q)
	}
	l, err := s.threadList(ctx, &q)
	if err != nil {
		return 0, err
	}
	rows := l.from
	if q.At != nil && (l.runs || len(l.rest) > 0) {
		time, key := l.order()
		rows += ` ORDER BY ` + time + ` DESC, ` + key
	}
	if q.At != nil {
		rows += fmt.Sprintf(` LIMIT %d`, threads.MostCounted)
	}
	switch {
	case l.runs:
		rows = ofRuns(rows)
	case len(l.rest) == 0: // an index has all that is counted, in any order
		rows = `(SELECT 1 FROM ` + rows + `) t`
	default:
		rows = `(SELECT t.* FROM ` + rows + `) t`
	}
	query := `SELECT count(*), count(CASE WHEN true` + and(l.rest) + ` THEN 1 END) FROM ` + rows
	seen := 0
	err = read(ctx, s.scope.db, "count threads", func(c Conn) error {
		_, err := row(ctx, c, query, l.arguments, &seen, &n)
		return err
	})
	if q.At != nil {
		if *q.At = ""; seen >= threads.MostCounted {
			*q.At = "more"
		}
	}
	return n, err
}

// countThreadsOneByOne counts the threads of a query that statements do not answer in full.
func (s *Tenant) countThreadsOneByOne(ctx context.Context, q awaken.ThreadQuery) (n int, err error) {
	at, bounded := "", q.At
	q.At, q.Offset, q.Limit = &at, 0, mostWindow-1
	for {
		page, err := s.ListThreads(ctx, q)
		if n += len(page); err != nil || at == "" || bounded != nil {
			if bounded != nil {
				*bounded = at
			}
			return n, err
		}
	}
}

// ThreadCosts returns what the runs of threads cost, in US dollars, by the id of the thread. A running run counts as it last
// began or waited.
func (s *Tenant) ThreadCosts(ctx context.Context, ids []string) (map[string]float64, error) {
	return collect(ctx, s.scope.db, "costs of threads", `SELECT id, coalesce(cost, 0) FROM {p}_threads WHERE tenant = ? AND id IN (SELECT j.value FROM {texts})`,
		[]any{s.scope.tenant, s.scope.ids(ids)}, func(scan Scan) (id string, usd float64, err error) {
			var cost int64
			err = scan(&id, &cost)
			s.scope.db.Dialect().unescape(&id)
			return id, money.Amount(cost).USD(), err
		})
}
