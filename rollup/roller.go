package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/awaken-go/awaken"
)

// Runs has the records and logs of a tenant's runs.
type Runs interface {
	LoadRun(ctx context.Context, id string) (*awaken.Run, error)
	Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error)
}

// Roller counts runs that have ended. Every process may have one: they share the work.
type Roller struct {
	Store  Store
	Runs   func(tenant string) Runs
	Logger *slog.Logger // nil discards
}

const (
	group    = 200             // runs that are counted in one transaction
	pause    = 2 * time.Second // between rounds that find less
	afterErr = 30 * time.Second
	trimmed  = 24 * time.Hour // between removals of old figures
	logPage  = 2000           // entries that are read at once
)

// Work counts runs until ctx is done.
func (r *Roller) Work(ctx context.Context) {
	var trim time.Time
	for ctx.Err() == nil {
		wait := pause + rand.N(pause) // processes that began together do not stay in step
		n, err := r.Round(ctx)
		if now := time.Now(); err == nil && now.Sub(trim) > trimmed {
			trim = now
			err = r.Store.TrimFigures(ctx, now.Add(-KeepHours).Unix(), now.Add(-KeepDays).Unix())
		}
		switch {
		case err != nil:
			if wait = afterErr; ctx.Err() == nil && r.Logger != nil {
				r.Logger.Warn("cannot count runs that have ended", "error", err)
			}
		case n == group:
			continue
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// Round counts some of the runs that have ended, and returns how many it found.
func (r *Roller) Round(ctx context.Context) (int, error) {
	ended, err := r.Store.Ended(ctx, group)
	if err != nil || len(ended) == 0 {
		return 0, err
	}
	figures := tally{}
	for _, e := range ended {
		runs := r.Runs(e.Tenant)
		run, err := runs.LoadRun(ctx, e.RunID)
		if errors.Is(err, awaken.ErrNotFound) {
			continue // its thread was deleted
		}
		if err != nil {
			return 0, fmt.Errorf("run %s: %w", e.RunID, err)
		}
		log, err := readLog(ctx, runs, run)
		if err != nil {
			return 0, fmt.Errorf("log of run %s: %w", e.RunID, err)
		}
		figures.count(e.Tenant, run, log)
	}
	_, err = r.Store.Count(ctx, ended, figures) // or another process has counted one of them, and the next round finds the others
	return len(ended), err
}

// readLog returns what the log of a run says.
func readLog(ctx context.Context, runs Runs, run *awaken.Run) (*logFigures, error) {
	out := newLogFigures()
	for after := uint64(0); ; {
		page, err := runs.Entries(ctx, run.ThreadID, awaken.EntryQuery{RunID: run.RunID, After: after, Limit: logPage})
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return nil, err
		}
		for i := range page {
			out.add(&page[i])
			after = max(after, page[i].Last())
		}
		if len(page) < logPage {
			return out, nil
		}
	}
}
