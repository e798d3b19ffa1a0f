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

// Runs reads the records and logs of a tenant's runs.
type Runs interface {
	LoadRun(ctx context.Context, id string) (*awaken.Run, error)
	Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error)
}

// Roller counts ended runs. Every process may have one; they share the work.
type Roller struct {
	Store Store
	Runs  func(tenant string) Runs
	// Ended, if set, is called with each run before it is counted, possibly more than once. While it returns an error, the run is not
	// counted.
	Ended  func(ctx context.Context, tenant string, run *awaken.Run) error
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
		if err != nil && n == 0 {
			wait = afterErr
		}
		if now := time.Now(); now.Sub(trim) > trimmed && ctx.Err() == nil {
			trim = now
			err = errors.Join(err, r.Store.TrimFigures(ctx, now.Add(-KeepHours).Unix(), now.Add(-KeepDays).Unix()))
		}
		if err != nil && ctx.Err() == nil && r.Logger != nil {
			r.Logger.Warn("cannot aggregate ended runs", "error", err)
		}
		if n == group {
			continue
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// Round counts some of the ended runs and returns how many it found. A run whose record or log cannot be read stays uncounted; the other
// runs are counted, and Round returns the first such error. If there are no other runs, it returns 0.
func (r *Roller) Round(ctx context.Context) (int, error) {
	ended, err := r.Store.Ended(ctx, group)
	if err != nil || len(ended) == 0 {
		return 0, err
	}
	var first error
	figures, counted := tally{}, ended[:0:0]
	for _, e := range ended {
		if err := r.count(ctx, e, figures); err == nil {
			counted = append(counted, e)
		} else if first == nil {
			first = err
		}
	}
	if len(counted) == 0 || ctx.Err() != nil {
		return 0, first
	}
	// If another process has counted one of them, the next round finds the others.
	if _, err = r.Store.Count(ctx, counted, figures); err != nil {
		return 0, err
	}
	return len(ended), first
}

// count adds the figures of a run.
func (r *Roller) count(ctx context.Context, e Ended, figures tally) error {
	runs := r.Runs(e.Tenant)
	run, err := runs.LoadRun(ctx, e.RunID)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil // its thread was deleted
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", e.RunID, err)
	}
	if r.Ended != nil {
		if err := r.Ended(ctx, e.Tenant, run); err != nil {
			return fmt.Errorf("end of run %s: %w", e.RunID, err)
		}
	}
	log, err := readLog(ctx, runs, run)
	if err != nil {
		return fmt.Errorf("log of run %s: %w", e.RunID, err)
	}
	figures.count(e.Tenant, run, log)
	return nil
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
