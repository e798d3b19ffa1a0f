package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/storetest"
)

// What a request with a one-turn run costs the database, from its body to the end of its
// stream: four statements, three on a new thread, and at most two reads of what a page shows and says, also if the client
// names the run. -v prints the statements of one run. Heartbeats and sweeps of the worker are not counted;
// the halves are for its polls.
func TestRequest_StatementsOfARun(t *testing.T) {
	const runs = 20
	db, w := openCounting(t, nil)
	srv := servertest.Start(t, db)
	n := 0
	for _, test := range []struct {
		name              string
		run               func()
		statements, trips float64 // at most, per run
	}{
		{"without a thread id", func() { srv.Run("") }, 2.5, 2.5},
		{"on new threads", func() { n++; srv.Run(fmt.Sprint("new-", n)) }, 2.5, 2.5},
		{"on one thread", func() { srv.Run("same") }, 2.5, 2.5},
		{"AI SDK on one thread", func() { srv.Chat("chat") }, 3.5, 3.5},
		{"AI SDK, a page on one thread", func() { n++; srv.ChatAs("page", fmt.Sprint("m-", n)) }, 4.5, 4.5},
		{"AG-UI on one thread", func() { n++; srv.Agent("agent", fmt.Sprint("r-", n), fmt.Sprint("m-", n)) }, 4.5, 4.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 10 {
				test.run() // prepares the statements on every connection
			}
			quiet()
			w.record()
			test.run()
			quiet()
			one, trips := w.recorded()
			t.Logf("one run: %d statements, %d round trips\n%s", len(one), trips, storetest.Excerpts(one))
			w.record()
			for range runs {
				test.run()
			}
			quiet()
			all, trips := w.recorded()
			chores := len(all)
			all = slices.DeleteFunc(all, isChore)
			chores -= len(all) // each is about a round trip
			each, eachTrip := float64(len(all))/runs, float64(trips-chores)/runs
			t.Logf("%d runs in a row: %.1f statements and %.1f round trips each", runs, each, eachTrip)
			testenv.Attributes(t, map[string]float64{"statements": each, "round-trips": eachTrip})
			if each > test.statements || eachTrip > test.trips {
				t.Errorf("a run takes %.1f statements in %.1f round trips, want at most %v in %v", each, eachTrip, test.statements, test.trips)
			}
		})
	}
}

// isChore reports whether a statement is one of a worker's heartbeats or sweeps, or of a pool: how
// many there are depends on how long the runs take.
func isChore(statement string) bool {
	return strings.Contains(statement, "_processes") || strings.Contains(statement, "set_config('synchronous_commit', 'off', true)") && !strings.Contains(statement, "pg_notify") ||
		strings.HasPrefix(statement, "-- ping")
}

// quiet waits until what a run leaves to do is done.
func quiet() { time.Sleep(200 * time.Millisecond) }
