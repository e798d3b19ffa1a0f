package sqlite_test

// W8 of docs/performance.md on SQLite, for information: there is no raw twin. It claims and
// acknowledges in batches, which flatters.

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

func BenchmarkW8(b *testing.B) {
	const single, many, size = 1000, 4000, 100
	db, ctx := open(b), context.Background()
	join(b, db, "bench")
	enqueue := func(n int) error {
		ds := make([]*mailbox.Dispatch, n)
		for i := range ds {
			id, thread, run := ids.New(), ids.New(), ids.New()
			ds[i] = &mailbox.Dispatch{ID: id, ThreadID: thread, RunID: run, Priority: mailbox.DefaultPriority, MaxAttempts: 5,
				Request: &awaken.RunRequest{AgentID: "default", ThreadID: thread, RunID: run, DispatchID: id, Messages: []*llm.Message{llm.UserText("How is the weather in Paris, and what should I wear?")}}}
		}
		_, err := db.Store("").Enqueue(ctx, mailbox.Terms{}, ds...)
		return err
	}
	drain := func() (int, error) {
		ds, _, err := db.Claim(ctx, mailbox.ClaimRequest{Consumer: "bench", Lease: time.Minute, Limit: size})
		settlements := make([]mailbox.Settlement, len(ds))
		for i, d := range ds {
			settlements[i] = mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}
		}
		if err != nil || len(ds) == 0 {
			return 0, err
		}
		errs, err := db.Settle(ctx, settlements...)
		return len(ds), errors.Join(append(errs, err)...)
	}
	measure := func(goroutines, total int, f func() (int, error)) time.Duration {
		start := time.Now()
		var done atomic.Int64
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for done.Load() < int64(total) {
					n, err := f()
					if done.Add(int64(n)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return time.Since(start)
	}
	var took [3]time.Duration
	for b.Loop() {
		took[0] += measure(16, single, func() (int, error) { return 1, enqueue(1) })
		took[1] += measure(1, many, func() (int, error) { return size, enqueue(size) })
		took[2] += measure(1, single+many, drain)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N*single)/took[0].Seconds(), "enqueue/s")
	b.ReportMetric(float64(b.N*many)/took[1].Seconds(), "batch-enqueue/s")
	b.ReportMetric(float64(b.N*(single+many))/took[2].Seconds(), "ack/s")
}
