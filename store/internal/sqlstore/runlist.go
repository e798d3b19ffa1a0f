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

// dearRun is the cost of the runs in the index of costs, in billionths of a US dollar.
const dearRun = 100_000_000

// Runs lists the runs of a tenant.
type Runs struct{ scope Scope }

// Facets are the columns of a run that lists select by, besides its status and place. The texts are escaped.
type Facets struct {
	Agent, Version, Origin, Parent string
	Detail                         string // how it ended or what it waits for; "" while it does neither
	Error                          string // its code
	Cost                           int64  // billionths of a US dollar
	Created                        int64  // Unix ms
}

// Facets returns the facets of a run.
func (d *Dialect) Facets(r *awaken.Run) Facets {
	f := Facets{Agent: d.escape(r.AgentID), Version: d.escape(r.ResolutionID), Origin: d.escape(r.Origin), Parent: d.escape(r.ParentRunID),
		Detail: d.escape(string(r.Termination.Type)), Cost: int64(money.Dollars(r.CostUSD)), Created: r.CreatedAt}
	if r.Waiting != nil {
		f.Detail = d.escape(string(r.Waiting.Reason))
	}
	if r.ErrorPayload != nil {
		f.Error = d.escape(r.ErrorPayload.Code)
	}
	return f
}

// runList is the query of a list of runs as SQL. In it, r is a run and d a dispatch that is the record of one.
type runList struct {
	from  string   // the rows of one index, in the order of runs: a table with conditions
	born  string   // the column of from with the place of the run, and
	id    string   // the one with its id
	rest  []string // the other conditions
	live  string   // dispatches; "" if q selects none
	exact bool     // the conditions on dispatches are complete
	arguments
}

// runList returns the list of a query.
func (s *Runs) runList(ctx context.Context, q *awaken.RunQuery) (*runList, error) {
	l := &runList{from: `{p}_runs r WHERE r.tenant = ?1`, born: "r.born", id: "r.id", arguments: arguments{s.scope.tenant}}
	conditions := s.conditions(l, q)
	for i, mark := range marksOf(q) {
		mark = l.param(s.scope.id(mark))
		if i == 0 && q.RunIDs == nil {
			l.born, l.id, l.from = "m.born", "m.run", markedRuns+mark
			continue
		}
		l.rest = append(l.rest, `EXISTS (SELECT 1 FROM {p}_run_marks x WHERE x.tenant = r.tenant AND x.mark = `+mark+` AND x.born = r.born AND x.run = r.id)`)
	}
	choose(conditions, l.born == "m.born", &l.from, &l.rest)
	return l, s.addTimes(ctx, l, q)
}

// marksOf returns the marks of the runs that a query selects. The one that probably the fewest runs have comes first.
func marksOf(q *awaken.RunQuery) (out []string) {
	if q.Pinned {
		out = append(out, pinMark)
	}
	if q.InDoubt {
		out = append(out, doubtMark)
	}
	if q.Tool != "" {
		out = append(out, toolMark(q.Tool))
	}
	return out
}

// byRecord reports whether only the records of runs say which of them a query selects.
func byRecord(q *awaken.RunQuery) bool { return q.Text != "" || q.MinDuration > 0 }

// addLive adds the dispatches that are the records of runs.
func (s *Runs) addLive(l *runList, q *awaken.RunQuery) {
	if q.Outcome != "" || q.Waiting != "" || q.Tool != "" || q.InDoubt || q.Pinned || q.ErrorCode != "" || q.MinCostUSD > 0 || q.MinDuration > 0 || q.Status != "" && q.Status != awaken.RunCreated {
		return // they have nothing of that
	}
	l.live, l.exact = CreatedRuns+` AND d.tenant = ?1`, q.AgentID == "" && q.Version == "" && q.Origin == "" && q.ParentRunID == "" && !q.Root && q.Text == ""
	if q.RunIDs != nil {
		l.live += ` AND d.run` + l.among(s.scope.ids(q.RunIDs))
	}
	if q.ThreadID != "" {
		l.live += ` AND d.thread = ` + l.param(s.scope.id(q.ThreadID))
	}
	if q.Owner != nil {
		l.live += ` AND ` + ofUser("d", *q.Owner, l.param(s.scope.id(*q.Owner)))
	}
	if q.Since > 0 {
		l.live += ` AND d.created >= ` + l.param(q.Since)
	}
	if q.Until > 0 {
		l.live += ` AND d.created < ` + l.param(q.Until)
	}
}

// markedRuns are the runs with a mark, whose parameter follows.
const markedRuns = `{p}_run_marks m JOIN {p}_runs r ON r.tenant = m.tenant AND r.id = m.run WHERE m.tenant = ?1 AND m.mark = `

// conditions returns the conditions of a query on a row r, except those on times and calls. Those whose index
// probably has the fewest rows come first.
func (s *Runs) conditions(l *runList, q *awaken.RunQuery) (out []condition) {
	equals := func(column, value, index string) {
		if value != "" {
			out = append(out, condition{column + ` = ` + l.param(s.scope.id(value)), index})
		}
	}
	if q.RunIDs != nil {
		out = append(out, condition{`r.id` + l.among(s.scope.ids(q.RunIDs)), `true`})
	}
	const unusual = `r.detail <> '' AND r.detail <> 'natural_end'`
	equals(`r.error`, q.ErrorCode, `r.error <> ''`)
	equals(`r.parent`, q.ParentRunID, `r.parent <> ''`)
	equals(`r.thread`, q.ThreadID, `true`)
	if q.Waiting != "" {
		equals(`r.detail`, string(q.Waiting), unusual)
		out = append(out, condition{`r.status = 'waiting'`, ""})
	}
	if q.Outcome != "" {
		index := unusual
		if q.Outcome == awaken.NaturalEnd {
			index = ""
		}
		equals(`r.detail`, string(q.Outcome), index)
		out = append(out, condition{`r.status = 'done'`, ""})
	}
	if q.Status == awaken.RunDone {
		equals(`r.status`, string(q.Status), "")
	} else {
		equals(`r.status`, string(q.Status), `r.status <> 'done'`)
	}
	if least := int64(money.Dollars(q.MinCostUSD)); least > 0 {
		index := ""
		if least >= dearRun {
			index = fmt.Sprintf(`r.cost >= %d`, dearRun)
		}
		out = append(out, condition{`r.cost >= ` + l.param(least), index}, condition{`r.status <> 'running'`, ""})
	}
	if q.Origin == "user" {
		equals(`r.origin`, q.Origin, "")
	} else {
		equals(`r.origin`, q.Origin, `r.origin <> 'user'`)
	}
	if q.Owner != nil && *q.Owner == "" {
		out = append(out, condition{`r.user_id = ''`, ""})
	} else if q.Owner != nil {
		equals(`r.user_id`, *q.Owner, `r.user_id <> ''`)
	}
	equals(`r.version`, q.Version, `r.version <> ''`)
	equals(`r.agent`, q.AgentID, `true`)
	if q.Root {
		out = append(out, condition{`r.parent = ''`, ""})
	}
	return out
}

// addTimes adds the conditions on times. Runs are in the order of their creation, as exactly as the clocks of
// the processes agree, so it finds the places of the times by bisection, and no index has them.
func (s *Runs) addTimes(ctx context.Context, l *runList, q *awaken.RunQuery) error {
	const probe = `SELECT r.born, r.created FROM {p}_runs r WHERE r.tenant = ? AND r.born <= ? ORDER BY r.born DESC LIMIT 1`
	if q.Since > 0 {
		low, _, err := s.scope.placeAt(ctx, probe, q.Since-clockSkew.Milliseconds())
		if err != nil {
			return err
		}
		l.from += ` AND ` + l.born + ` > ` + l.param(low)
		l.rest = append(l.rest, `r.created >= `+l.param(q.Since))
	}
	if q.Until > 0 {
		_, high, err := s.scope.placeAt(ctx, probe, q.Until+clockSkew.Milliseconds())
		if err != nil {
			return err
		}
		l.from += ` AND ` + l.born + ` <= ` + l.param(high)
		l.rest = append(l.rest, `r.created < `+l.param(q.Until))
	}
	return nil
}

// window reads the next n rows from a place on, after the first offset ones.
func (s *Runs) window(ctx context.Context, l *runList, at threads.Place, offset, n int) ([]listedRun, error) {
	query, args := l.window(at, s.scope.id(at.ID), offset, n)
	return list(ctx, s.scope.db, "list runs", query, args, func(scan Scan) (r listedRun, err error) {
		return r, scan(&r.id, &r.thread, &r.data, &r.dispatch, &r.created, &r.born)
	})
}

// window returns the statement of a window. The id of the place is escaped.
func (l *runList) window(at threads.Place, id string, offset, n int) (string, []any) {
	w := slices.Clip(l.arguments)
	from, live, most := l.from, l.live, w.param(offset+n)
	if at.ID != "" {
		time, id := w.param(at.Time), w.param(id)
		from += ` AND ` + l.born + ` <= ` + time + ` AND (` + l.born + ` < ` + time + ` OR ` + l.id + ` > ` + id + `)`
		live += ` AND d.born <= ` + time + ` AND (d.born < ` + time + ` OR d.run > ` + id + `)`
	}
	record := runRecord
	if len(l.rest) > 0 {
		record = `CASE WHEN ` + strings.Join(l.rest, ` AND `) + ` THEN ` + record + ` END`
	}
	query := `SELECT r.id AS id, r.thread, ` + record + ` AS record, '' AS dispatch, 0 AS created, r.born AS born FROM (
		SELECT r.* FROM ` + from + ` ORDER BY ` + l.born + ` DESC, ` + l.id + ` LIMIT ` + most + `) r`
	if l.live != "" {
		query += ` UNION ALL SELECT ` + dispatchFields + `, d.born FROM (SELECT d.* FROM ` + live + ` ORDER BY d.born DESC, d.run LIMIT ` + most + `) d`
	}
	query += ` ORDER BY born DESC, id LIMIT ` + w.param(n)
	if offset > 0 {
		query += ` OFFSET ` + w.param(offset)
	}
	return query, w
}

// ListRuns returns runs, the newest first: those that have started or ended, and those whose dispatch
// is still their record, in one order.
func (s *Runs) ListRuns(ctx context.Context, q awaken.RunQuery) (out []*awaken.Run, err error) {
	p := pages[listedRun, awaken.Run]{at: q.At}
	if err := p.begin(q.Offset, q.Limit); err != nil {
		return nil, err
	}
	l, err := s.runList(ctx, &q)
	if err != nil {
		return nil, err
	}
	s.addLive(l, &q)
	p.exact = len(l.rest) == 0 && !byRecord(&q) && (l.live == "" || l.exact)
	p.window = func(at threads.Place, offset, n int) ([]listedRun, error) { return s.window(ctx, l, at, offset, n) }
	p.item = func(row *listedRun) (threads.Place, *awaken.Run, error) {
		at := threads.Place{Time: row.born, ID: row.id}
		s.scope.db.Dialect().unescape(&at.ID)
		if row.data == nil {
			return at, nil, nil
		}
		run, err := s.scope.db.Dialect().decodeListed(row)
		if err == nil && (row.dispatch != "" || byRecord(&q)) && !threads.SelectsRun(&q, run) {
			run = nil
		}
		return at, run, err
	}
	return p.list()
}

// CountRuns returns how many runs q selects, on all pages.
func (s *Runs) CountRuns(ctx context.Context, q awaken.RunQuery) (n int, err error) {
	if byRecord(&q) {
		return s.countOneByOne(ctx, q)
	}
	l, err := s.runList(ctx, &q)
	if err != nil {
		return 0, err
	}
	query := `SELECT count(*), count(*) FROM ` + l.from + and(l.rest)
	switch {
	case q.At != nil && len(l.rest) == 0: // an index has all that is counted, in any order
		query = fmt.Sprintf(`SELECT count(*), count(*) FROM (SELECT 1 FROM `+l.from+` LIMIT %d) r`, threads.MostCounted)
	case q.At != nil:
		query = `SELECT count(*), count(CASE WHEN true` + and(l.rest) + ` THEN 1 END) FROM (
			SELECT r.* FROM ` + l.from + ` ORDER BY ` + l.born + fmt.Sprintf(` DESC, `+l.id+` LIMIT %d) r`, threads.MostCounted)
	}
	var seen, created int
	err = read(ctx, s.scope.db, "count runs", func(c Conn) error {
		if _, err := row(ctx, c, query, l.arguments, &seen, &n); err != nil {
			return err
		}
		created, err = s.countCreated(ctx, c, &q)
		return err
	})
	if n, seen = n+created, seen+created; q.At != nil {
		if *q.At = ""; seen >= threads.MostCounted {
			*q.At = "more"
		}
	}
	return n, err
}

// countCreated returns how many dispatches that are the records of runs a list selects.
func (s *Runs) countCreated(ctx context.Context, c Conn, q *awaken.RunQuery) (n int, err error) {
	l, most := &runList{arguments: arguments{s.scope.tenant}}, ""
	if s.addLive(l, q); l.live == "" {
		return 0, nil
	}
	if q.At != nil {
		most = fmt.Sprintf(` LIMIT %d`, threads.MostCounted)
	}
	if l.exact {
		_, err = row(ctx, c, `SELECT count(*) FROM (SELECT d.id FROM `+l.live+most+`) x`, l.arguments, &n)
		return n, err
	}
	err = c.Query(ctx, `SELECT `+dispatchFields+` FROM `+l.live+most, l.arguments, func(scan Scan) error {
		var row listedRun
		if err := scan(&row.id, &row.thread, &row.data, &row.dispatch, &row.created); err != nil {
			return err
		}
		run, err := s.scope.db.Dialect().decodeListed(&row)
		if err == nil && threads.SelectsRun(q, run) {
			n++
		}
		return err
	})
	return n, err
}

// countOneByOne counts the runs of a query that statements do not answer in full.
func (s *Runs) countOneByOne(ctx context.Context, q awaken.RunQuery) (n int, err error) {
	at, bounded := "", q.At
	q.At, q.Offset, q.Limit = &at, 0, mostWindow-1
	for {
		page, err := s.ListRuns(ctx, q)
		if n += len(page); err != nil || at == "" || bounded != nil {
			if bounded != nil {
				*bounded = at
			}
			return n, err
		}
	}
}
