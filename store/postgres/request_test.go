package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/storetest"
)

// What a request with a one-turn run costs the database, from its body to the end of its
// stream: today's statements and round trips as upper bounds, to be lowered. -v prints the
// statements of one run. Those that workers make on their own, such as heartbeats, are part
// of the means.
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
		{"without a thread id", func() { srv.Run("") }, 6.5, 6.5},
		{"on new threads", func() { n++; srv.Run(fmt.Sprint("new-", n)) }, 6.5, 6.5},
		{"on one thread", func() { srv.Run("same") }, 10, 10},
		{"AI SDK on one thread", func() { srv.Chat("chat") }, 16, 16},
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
			each, eachTrip := float64(len(all))/runs, float64(trips)/runs
			t.Logf("%d runs in a row: %.1f statements and %.1f round trips each", runs, each, eachTrip)
			if each > test.statements || eachTrip > test.trips {
				t.Errorf("a run takes %.1f statements in %.1f round trips, want at most %v in %v", each, eachTrip, test.statements, test.trips)
			}
		})
	}
}

// quiet waits until what a run leaves to do is done.
func quiet() { time.Sleep(200 * time.Millisecond) }
