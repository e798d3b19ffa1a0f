package growthtest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/store/storetest"
)

// The thousandth page of a list costs what the first does: of 100,000 threads and of 1,000,000 runs.
func TestGrowth_Pages(t *testing.T) {
	threads, runs, last := 2_000, 20_000, 20
	if testenv.Long() {
		threads, runs, last = 100_000, 1_000_000, 1_000
	}
	onStores(t, func(t *testing.T, fresh func() rigtest.Store) {
		place := fresh()
		db := place.Use(t)
		load(t, place, storetest.ListRows("awaken", threads, runs))
		s := db.Handle("")
		var curves []*curve
		for _, p := range storetest.ListPlans() {
			begins := map[int]string{1: ""}
			at := ""
			for page := 1; page < last; page++ { // to where the last page begins
				_, next, err := p.List(t.Context(), s, at, 50)
				if err != nil {
					t.Fatal(err)
				}
				if at = next; at == "" {
					break
				}
			}
			if begins[last] = at; at == "" {
				continue // the list is short
			}
			curves = append(curves, &curve{name: p.Name, flat: true, at: func(page int) {
				if n, _, err := p.List(t.Context(), s, begins[page], 50); err != nil || n == 0 {
					t.Fatal(n, err)
				}
			}})
		}
		if len(curves) < 5 {
			t.Fatalf("%d lists have %d pages", len(curves), last)
		}
		measure(t, "page of 50", []int{1, last}, curves...)
		counts := func(n int, err error) {
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
		}
		measure(t, "total", []int{1, 1}, &curve{name: "of runs", at: func(int) { counts(s.CountRuns(t.Context(), awaken.RunQuery{At: new(string)})) }},
			&curve{name: "of threads", at: func(int) { counts(s.CountThreads(t.Context(), awaken.ThreadQuery{At: new(string)})) }})
	})
}

// load executes statements on a database, without its triggers.
func load(t *testing.T, place rigtest.Store, script []string) {
	t.Helper()
	ctx := context.Background()
	if place.Kind == rigtest.Postgres {
		c, err := pgx.Connect(ctx, place.Where)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		script = append([]string{"ALTER TABLE awaken_runs DISABLE TRIGGER USER", "ALTER TABLE awaken_threads DISABLE TRIGGER USER"}, script...)
		for _, s := range append(script, "VACUUM ANALYZE") {
			if _, err := c.Exec(ctx, s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
		return
	}
	db, err := sql.Open("sqlite", "file:"+place.Where+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	script = append([]string{"DROP TRIGGER awaken_runs_made", "DROP TRIGGER awaken_runs_cost_set"}, script...)
	for _, s := range script {
		if _, err := db.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
