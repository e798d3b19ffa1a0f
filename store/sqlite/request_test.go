package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/storetest"
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
		{"without a thread id", func() { srv.Run("") }, 29, 3.5},
		{"on new threads", func() { n++; srv.Run(fmt.Sprint("new-", n)) }, 29, 3.5},
		{"on one thread", func() { srv.Run("same") }, 42, 4.5},
		{"AI SDK on one thread", func() { srv.Chat("chat") }, 50, 4.5},
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
			if each > test.statements || made > test.transactions {
				t.Errorf("a run takes %.1f statements in %.1f transactions, want at most %v in %v", each, made, test.statements, test.transactions)
			}
		})
	}
}
