package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
	"github.com/awaken-go/awaken/trace/timeline"
)

// Commits returns commits of a run.
func (s *scope) Commits(ctx context.Context, runID string, q timeline.Query) ([]timeline.Commit, error) {
	var out []timeline.Commit
	var thread *string
	var lasts, ns []int64
	var numbers timeline.Numbering
	found := false
	// A run without commits yields one row of NULLs, also if it has not started; a missing run yields none.
	err := s.db.query(ctx, `SELECT r.thread, c.last, c.n, c.time, c.epoch FROM {p}_runs r LEFT JOIN {p}_commits c
			ON c.tenant = r.tenant AND c.thread = r.thread AND c.last >= r.first_seq AND c.last <= r.last_seq AND c.run = r.id
			WHERE r.tenant = $1 AND r.id = $2
		UNION ALL SELECT NULL, NULL, NULL, NULL, NULL FROM `+sqlstore.CreatedRuns+` AND d.tenant = $1 AND d.run = $2 ORDER BY 2, 3`,
		[]any{s.tenant, escape(runID)}, func() { out, lasts, ns, found, numbers = nil, nil, nil, false, timeline.Numbering{Query: q} },
		func(rows pgx.Rows) error {
			found = true
			var last, n, time, epoch *int64
			if err := rows.Scan(&thread, &last, &n, &time, &epoch); err != nil || last == nil {
				return err
			}
			if place, selected := numbers.Next(uint64(*epoch)); selected {
				lasts, ns = append(lasts, *last), append(ns, *n)
				out = append(out, timeline.Commit{Place: place, Time: *time, Last: uint64(*last)})
			}
			return nil
		})
	if err == nil && !found {
		err = threads.RunNotFound(runID)
	}
	if err != nil || len(out) == 0 {
		return nil, err
	}
	i := 0
	err = s.db.query(ctx, `SELECT c.entries, c.calls FROM unnest($3::bigint[], $4::bigint[]) AS p (last, n)
		JOIN {p}_commits c ON c.tenant = $1 AND c.thread = $2 AND c.last = p.last AND c.n = p.n ORDER BY c.last, c.n`,
		[]any{s.tenant, *thread, lasts, ns}, func() { i = 0 }, func(rows pgx.Rows) error {
			i++
			return describe(rows, runID, &out[i-1])
		})
	if err != nil {
		return nil, fmt.Errorf("commits of run %s: %w", runID, err)
	}
	return out[:i], nil // the thread may have been deleted in the meantime
}

// describe reads from the row of a commit what the commit contains.
func describe(rows pgx.Rows, runID string, to *timeline.Commit) error {
	var entries []byte
	var calls [][]byte
	if err := rows.Scan(&entries, &calls); err != nil {
		return err
	}
	var l records
	if err := l.add(calls); err != nil {
		return err
	}
	to.Kinds = timeline.CallKinds(l)
	if entries == nil {
		return nil
	}
	events, err := entryrow.Select(nil, entries, to.Fence, runID, &awaken.EntryQuery{})
	if err != nil {
		return err
	}
	to.First = events[0].Seq
	to.Kinds |= timeline.EventKinds(events)
	return nil
}
