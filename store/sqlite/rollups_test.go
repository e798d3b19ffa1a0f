package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/sqlite"
	"github.com/awaken-go/awaken/trace/rollup"
	"github.com/awaken-go/awaken/trace/rollup/rolluptest"
)

func TestRollups(t *testing.T) {
	rolluptest.Test(t, func(t *testing.T) rolluptest.Backend {
		db := openAt(t, newFile(t), nil)
		return rolluptest.Backend{Rollups: db.Rollups(), Changes: db.Changes(), Store: func(tenant string) mailbox.Handle { return db.Store(tenant) }}
	})
}

// fillRollups stores the figures of runs that end within 30 days, as if they had been counted: 20 agents, 5 models, 30 tools, 200 users and 10 versions.
func fillRollups(ctx context.Context, db *sqlite.DB, runs int) error {
	const start = 20_000 * 86_400
	fs := map[rollup.Key]*rollup.Figures{}
	for i := range runs {
		at := int64(start + i*30*86_400/runs)
		f := rollup.Figures{Count: 1, Usage: llm.Usage{PromptTokens: 1000, CompletionTokens: 100, TotalTokens: 1100}, Cost: 1000, Timed: 1, DurationMS: int64(i % 10_000)}
		f.Durations[i%len(f.Durations)]++
		for by, value := range map[rollup.Dimension]string{rollup.Total: "", rollup.Agent: fmt.Sprint("agent-", i%20), rollup.Model: fmt.Sprint("model-", i%5), rollup.Tool: fmt.Sprint("tool-", i%30),
			rollup.User: fmt.Sprint("user-", i*7919%200), rollup.Version: fmt.Sprint(i / 100_000)} {
			for _, span := range []time.Duration{rollup.Hour, rollup.Day} {
				s := int64(span / time.Second)
				k := rollup.Key{By: by, Value: value, Span: span, At: at - at%s}
				if fs[k] == nil {
					fs[k] = new(rollup.Figures)
				}
				fs[k].Add(&f)
			}
		}
	}
	_, err := db.Rollups().Count(ctx, nil, fs)
	return err
}

// Queries of 30 days over a million runs, in days and in hours, with and without durations.
func BenchmarkRollups_ThirtyDaysOfAMillionRuns(b *testing.B) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "awaken.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	}()
	if err := fillRollups(b.Context(), db, 1_000_000); err != nil {
		b.Fatal(err)
	}
	const start = 20_000 * 86_400
	for _, step := range []time.Duration{rollup.Day, rollup.Hour} {
		for _, by := range rollup.Dimensions {
			for _, durations := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%s/durations=%v", step, by, durations), func(b *testing.B) {
					var rows []rollup.Row
					for b.Loop() {
						if rows, err = db.Rollups().Figures(b.Context(), rollup.Query{By: by, Since: start, Until: start + 30*86_400, Step: step, Durations: durations}); err != nil {
							b.Fatal(err)
						}
					}
					n := int64(0)
					for _, r := range rows {
						n += r.Count
					}
					if n != 1_000_000 {
						b.Fatalf("the figures are of %d runs", n)
					}
					b.ReportMetric(float64(len(rows)), "rows")
				})
			}
		}
	}
}
