package growthtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server/servertest"
)

// What a run and a page of threads cost does not depend on how many threads there are.
func TestGrowth_Threads(t *testing.T) {
	onStores(t, func(t *testing.T, fresh func() rigtest.Store) {
		sizes := sizes(100, 1_000, 10_000, 100_000)
		servers, stores, runs := map[int]*servertest.Server{}, map[int]mailbox.Handle{}, map[int]int{}
		for _, size := range sizes { // a database for each, so that rounds can be interleaved
			db := fresh().Use(t)
			stores[size] = db.Handle("")
			fill(t, stores[size], size)
			servers[size] = servertest.Start(t, db)
		}
		measure(t, "threads", sizes,
			&curve{name: "run on a new thread", flat: true, at: func(size int) { runs[size]++; servers[size].Run(fmt.Sprint("new-", runs[size])) }},
			&curve{name: "run of a conversation", flat: true, at: func(size int) { servers[size].Run("same") }},
			&curve{name: "first page of threads", flat: true, at: func(size int) {
				if list, err := stores[size].ListThreads(t.Context(), awaken.ThreadQuery{Limit: 50}); err != nil || len(list) != 50 {
					t.Fatal(len(list), err)
				}
			}},
			&curve{name: "first page of runs", flat: true, at: func(size int) {
				if list, err := stores[size].ListRuns(t.Context(), awaken.RunQuery{Limit: 50}); err != nil || len(list) != 50 {
					t.Fatal(len(list), err)
				}
			}},
			&curve{name: "page in the middle", at: func(size int) {
				if _, err := stores[size].ListThreads(t.Context(), awaken.ThreadQuery{Offset: size / 2, Limit: 50}); err != nil {
					t.Fatal(err)
				}
			}},
			&curve{name: "number of threads", at: func(size int) {
				if n, err := stores[size].CountThreads(t.Context(), awaken.ThreadQuery{}); err != nil || n < size {
					t.Fatal(n, err)
				}
			}})
	})
}

// fill stores threads with a run of two messages each.
func fill(t *testing.T, s mailbox.Handle, n int) {
	t.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 { // stores group what is committed at the same time
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := write(t.Context(), s, fmt.Sprint("thread-", i), 1, 2); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// What a run and a page of messages cost does not depend on the length of the thread.
func TestGrowth_Messages(t *testing.T) {
	onStores(t, func(t *testing.T, fresh func() rigtest.Store) {
		sizes := sizes(10, 100, 1_000, 10_000)
		place := fresh()
		db := place.Use(t)
		name := func(size int) string { return fmt.Sprint("long-", size) }
		for _, size := range sizes {
			if err := write(t.Context(), db.Handle(""), name(size), size/10, 10); err != nil {
				t.Fatal(err)
			}
		}
		srv := servertest.Start(t, db)
		n := 0
		measure(t, "messages", sizes,
			&curve{name: "run", flat: true, at: func(size int) { srv.Run(name(size)) }},
			&curve{name: "AI SDK, page with ids", flat: true, at: func(size int) { n++; srv.ChatAs(name(size), fmt.Sprint("m-", n)) }},
			&curve{name: "page of ten messages", flat: true, at: func(size int) { srv.Page(name(size), 10) }},
			&curve{name: "opened and acquired, cold", at: func(size int) {
				cold, err := place.Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer cold.Close()
				if _, err := cold.Handle("").Acquire(t.Context(), name(size)); err != nil {
					t.Fatal(err)
				}
			}})
	})
}
