package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/storetest"
	"github.com/awaken-go/awaken/trace/body"
)

// What a request with a one-turn run costs the database, from its body to the end of its
// stream: today's statements and transactions as upper bounds, to be lowered. -v prints the
// statements of one run. Those that workers make on their own are part of the means.
func TestRequest_StatementsOfARun(t *testing.T) {
	const runs = 20
	db, _ := openFile(t)
	var mu sync.Mutex
	var statements []string
	db.Trace(func(query string) {
		mu.Lock()
		defer mu.Unlock()
		if verb, _, _ := strings.Cut(query, " "); verb != "BEGIN" && verb != "COMMIT" && verb != "ROLLBACK" {
			statements = append(statements, strings.Join(strings.Fields(query), " "))
		}
	})
	recorded := func() []string { // since the last call
		time.Sleep(200 * time.Millisecond) // what a run leaves to do
		mu.Lock()
		defer mu.Unlock()
		list := slices.Clone(statements)
		statements = statements[:0]
		return list
	}
	srv := servertest.Start(t, db)
	n := 0
	for _, test := range []struct {
		name                     string
		run                      func()
		statements, transactions float64 // at most, per run
	}{
		{"without a thread id", func() { srv.Run("") }, 10.9, 2.5},
		{"on new threads", func() { n++; srv.Run(fmt.Sprint("new-", n)) }, 10.9, 2.5},
		{"on one thread", func() { srv.Run("same") }, 10.9, 2.5},
		{"AI SDK on one thread", func() { srv.Chat("chat") }, 14.9, 2.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run()
			recorded()
			_, before := db.Used()
			test.run()
			one := recorded()
			_, after := db.Used()
			t.Logf("one run: %d statements, %d transactions\n%s", len(one), after-before, storetest.Excerpts(one))
			for range runs {
				test.run()
			}
			all := recorded()
			_, last := db.Used()
			each, made := float64(len(all))/runs, float64(last-after)/runs
			t.Logf("%d runs in a row: %.1f statements and %.1f transactions each", runs, each, made)
			testenv.Attributes(t, map[string]float64{"statements": each, "transactions": made})
			if each > test.statements || made > test.transactions {
				t.Errorf("a run takes %.1f statements in %.1f transactions, want at most %v in %v", each, made, test.statements, test.transactions)
			}
		})
	}
}

// A server that keeps no request to its models, or only those that failed, writes nothing for it. One that keeps all writes what has gathered in one
// transaction: -v prints the bytes of a run.
func TestRequest_StatementsOfBodies(t *testing.T) {
	const runs = 20
	for _, policy := range []body.Policy{body.Off, body.Errors, body.All} {
		t.Run(string(policy), func(t *testing.T) {
			db, _ := openFile(t)
			var mu sync.Mutex
			adds, queries := 0, 0
			db.Trace(func(query string) {
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(query, "_bodies") {
					queries++
					if strings.HasPrefix(query, "INSERT") {
						adds++
					}
				}
			})
			var tap engine.Tap
			w := body.NewWriter(body.Config{Policy: policy, Store: func(tenant string) body.Store { return body.Of(db.Handle(tenant)) }})
			if w != nil {
				tap = w
			}
			srv := servertest.StartTapped(t, db, tap)
			for i := range runs {
				srv.Run(fmt.Sprint("new-", i))
			}
			_, before := db.Used()
			if w != nil {
				w.Flush(t.Context())
			}
			_, after := db.Used()
			want, most := 0, 0.0
			if policy == body.All {
				want, most = runs, 3 // the worker of the queue may write meanwhile
			}
			mu.Lock()
			if adds != want || queries != want {
				t.Errorf("%d statements of bodies for %d runs, %d of them add some; want %d", queries, runs, adds, want)
			}
			mu.Unlock()
			if n := float64(after - before); policy == body.All && n > most {
				t.Errorf("%d bodies take %.0f transactions, want at most %.0f", runs, n, most)
			}
			bytes := 0
			for i := range runs {
				thread := fmt.Sprint("new-", i)
				list, err := db.Store("").ListRuns(t.Context(), awaken.RunQuery{ThreadID: thread})
				if err != nil || len(list) != 1 {
					t.Fatalf("thread %s has %d runs, %v", thread, len(list), err)
				}
				kept, err := db.Store("").Bodies().Bodies(t.Context(), thread, list[0].RunID)
				if err != nil || (len(kept) == 1) != (policy == body.All) {
					t.Fatalf("%d bodies of a run are kept, %v", len(kept), err)
				}
				for _, b := range kept {
					bytes += len(b.Data)
				}
			}
			t.Logf("%s: %d bytes of a run", policy, bytes/runs)
			if bytes/runs > 1000 {
				t.Errorf("a run of one short question takes %d bytes, want at most 1000", bytes/runs)
			}
		})
	}
}
