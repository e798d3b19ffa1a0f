package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/trace/timeline"
)

// Commits returns commits of a run.
func (s *scope) Commits(ctx context.Context, runID string, q timeline.Query) ([]timeline.Commit, error) {
	var out []timeline.Commit
	err := s.db.read(ctx, func(c *conn) error {
		of, err := c.of(s.tenant).rows(ctx, runID)
		if err != nil {
			return err
		}
		numbers := timeline.Numbering{Query: q}
		var rows []int64
		out = nil
		if err := c.query(ctx, `SELECT rowid, last, time, epoch FROM {p}_commits WHERE tenant = ? AND thread = ? AND last >= ? AND last <= ? AND run = ? ORDER BY last, upto, rowid`,
			of.args(), func(scan sqlstore.Scan) error {
				var row, last, time, epoch int64
				if err := scan(&row, &last, &time, &epoch); err != nil {
					return err
				}
				if place, selected := numbers.Next(uint64(epoch)); selected {
					rows, out = append(rows, row), append(out, timeline.Commit{Place: place, Time: time, Last: uint64(last)})
				}
				if numbers.Full() {
					return errStop
				}
				return nil
			}); err != nil {
			return err
		}
		for i, row := range rows {
			if err := c.describe(ctx, row, runID, &out[i]); err != nil {
				return fmt.Errorf("commits of run %s: %w", runID, err)
			}
		}
		return nil
	})
	return out, err
}

// describe reads from the row of a commit what the commit contains.
func (c *conn) describe(ctx context.Context, row int64, runID string, to *timeline.Commit) error {
	return c.query(ctx, `SELECT entries, calls FROM {p}_commits WHERE rowid = ?`, []any{row}, func(scan sqlstore.Scan) error {
		var entries, calls sql.RawBytes // or nil
		if err := scan(&entries, &calls); err != nil {
			return err
		}
		if calls != nil {
			var records []*awaken.CallState
			if err := json.Unmarshal([]byte(unpackRun(string(calls), runID)), &records); err != nil {
				return fmt.Errorf("ledger: %w", err)
			}
			to.Kinds = timeline.CallKinds(records)
		}
		if entries == nil {
			return nil
		}
		text, err := unpackEntries(string(entries), calls, runID)
		if err != nil {
			return err
		}
		events, err := entryrow.Select(nil, []byte(text), to.Fence, runID, &awaken.EntryQuery{})
		if err != nil {
			return err
		}
		to.First = events[0].Seq
		to.Kinds |= timeline.EventKinds(events)
		return nil
	})
}
