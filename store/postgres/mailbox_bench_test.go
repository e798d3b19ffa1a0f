package postgres_test

// W8 of docs/performance.md: a durable queue, compared with a raw twin of one table. The
// twin has neither threads nor runs: it inserts, claims and acknowledges rows with the same
// payload. The two are interleaved; ratios are medians over pairs of blocks, and a ratio
// above 1 means that the store is faster.

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

const (
	queueWriters = 16
	queueWorkers = 4
	queueBatch   = 100
)

// benchQueue is a queue under test.
type benchQueue struct {
	enqueue func(n int) error   // n dispatches in one transaction
	drain   func() (int, error) // claims and acknowledges a batch and returns its size
}

func benchDispatch(thread string) *mailbox.Dispatch {
	id, run := ids.New(), ids.New()
	if thread == "" {
		thread = ids.New()
	}
	return &mailbox.Dispatch{ID: id, ThreadID: thread, RunID: run, Priority: mailbox.DefaultPriority, MaxAttempts: 5,
		Request: &awaken.RunRequest{AgentID: "default", ThreadID: thread, RunID: run, DispatchID: id, Messages: []*llm.Message{llm.UserText("How is the weather in Paris, and what should I wear?")}}}
}

func ourQueue(db *postgres.DB, threads int) *benchQueue {
	s, ctx := db.Store(""), context.Background()
	var next atomic.Int64
	return &benchQueue{
		enqueue: func(n int) error {
			ds := make([]*mailbox.Dispatch, n)
			for i := range ds {
				thread := ""
				if threads > 0 {
					thread = fmt.Sprint("thread-", next.Add(1)%int64(threads))
				}
				ds[i] = benchDispatch(thread)
			}
			left, err := s.Enqueue(ctx, mailbox.Terms{}, ds...)
			if err == nil && len(left) > 0 {
				err = fmt.Errorf("%d were left out", len(left))
			}
			return err
		},
		drain: func() (int, error) {
			ds, _, err := db.Claim(ctx, mailbox.ClaimRequest{Consumer: "bench", Lease: time.Minute, Limit: queueBatch})
			if err != nil || len(ds) == 0 {
				return 0, err
			}
			settlements := make([]mailbox.Settlement, len(ds))
			for i, d := range ds {
				settlements[i] = mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}
			}
			errs, err := db.Settle(ctx, settlements...)
			for _, e := range errs {
				if err == nil {
					err = e
				}
			}
			return len(ds), err
		},
	}
}

func rawQueue(b *testing.B, url string) *benchQueue {
	b.Helper()
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	if _, err := pool.Exec(ctx, `CREATE TABLE raw_queue (id bigserial PRIMARY KEY, payload text NOT NULL, state smallint NOT NULL DEFAULT 0,
		attempts int NOT NULL DEFAULT 0, token text, lease timestamptz, created timestamptz NOT NULL DEFAULT now());
		CREATE INDEX ON raw_queue (id) WHERE state = 0`); err != nil {
		b.Fatal(err)
	}
	payload := func() string {
		data, err := json.Marshal(benchDispatch("").Request)
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	return &benchQueue{
		enqueue: func(n int) error {
			if n == 1 {
				_, err := pool.Exec(ctx, `INSERT INTO raw_queue (payload) VALUES ($1)`, payload())
				return err
			}
			rows := make([]string, n)
			for i := range rows {
				rows[i] = payload()
			}
			_, err := pool.Exec(ctx, `INSERT INTO raw_queue (payload) SELECT unnest($1::text[])`, rows)
			return err
		},
		drain: func() (int, error) {
			rows, err := pool.Query(ctx, `UPDATE raw_queue SET state = 1, token = $1, attempts = attempts + 1, lease = now() + interval '1 minute'
				WHERE id IN (SELECT id FROM raw_queue WHERE state = 0 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id, payload`, ids.New(), queueBatch)
			if err != nil {
				return 0, err
			}
			var claimed []int64
			for rows.Next() {
				var id int64
				var payload []byte
				if err := rows.Scan(&id, &payload); err != nil {
					return 0, err
				}
				var req awaken.RunRequest
				if err := json.Unmarshal(payload, &req); err != nil {
					return 0, err
				}
				claimed = append(claimed, id)
			}
			if err := rows.Err(); err != nil || len(claimed) == 0 {
				return 0, err
			}
			_, err = pool.Exec(ctx, `UPDATE raw_queue SET state = 2, token = NULL, lease = NULL WHERE id = ANY ($1)`, claimed)
			return len(claimed), err
		},
	}
}

// spend calls f in several goroutines until it reports that it is done, and returns the
// time that took.
func spend(b *testing.B, goroutines int, f func() (more bool, err error)) time.Duration {
	b.Helper()
	runtime.GC()
	start := time.Now()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for {
				more, err := f()
				if err != nil {
					b.Error(err)
				}
				if !more || err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func (q *benchQueue) enqueueAll(b *testing.B, goroutines, total, size int) time.Duration {
	var done atomic.Int64
	return spend(b, goroutines, func() (bool, error) {
		if done.Add(int64(size)) > int64(total) {
			return false, nil
		}
		return true, q.enqueue(size)
	})
}

func (q *benchQueue) drainAll(b *testing.B, total int) time.Duration {
	var done atomic.Int64
	d := spend(b, queueWorkers, func() (bool, error) {
		n, err := q.drain()
		return done.Add(int64(n)) < int64(total), err
	})
	if got := done.Load(); got != int64(total) {
		b.Errorf("drained %d, want %d", got, total)
	}
	return d
}

func BenchmarkW8(b *testing.B) {
	// Each dispatch is on a new thread; or on one of a thousand, so that queues grow.
	for _, threads := range []int{0, 1000} {
		b.Run(fmt.Sprint("threads=", threads), func(b *testing.B) {
			url := benchServer(b) + "&pool_max_conns=16"
			benchW8(b, ourQueue(openAt(b, url, nil), threads), rawQueue(b, url))
		})
	}
}

func benchW8(b *testing.B, ours, raw *benchQueue) {
	const single, many = 4000, 10_000
	measures := []struct {
		name  string
		total int
		run   func(q *benchQueue) time.Duration
	}{
		{"enqueue", single, func(q *benchQueue) time.Duration { return q.enqueueAll(b, queueWriters, single, 1) }},
		{"batch-enqueue", many, func(q *benchQueue) time.Duration { return q.enqueueAll(b, 2, many, queueBatch) }},
		{"drain", single + many, func(q *benchQueue) time.Duration { return q.drainAll(b, single+many) }},
	}
	ratios, rates, rawRates := make([][]float64, len(measures)), make([][]float64, len(measures)), make([][]float64, len(measures))
	for i := 0; b.Loop(); i++ {
		for m, measure := range measures {
			rate := func(q *benchQueue) float64 { return float64(measure.total) / measure.run(q).Seconds() }
			var o, r float64
			if i%2 == 0 {
				o, r = rate(ours), rate(raw)
			} else {
				r, o = rate(raw), rate(ours)
			}
			if i == 0 {
				continue // the first round prepares the statements
			}
			ratios[m], rates[m], rawRates[m] = append(ratios[m], o/r), append(rates[m], o), append(rawRates[m], r)
		}
	}
	b.ReportMetric(0, "ns/op")
	median := func(list []float64) float64 {
		if len(list) == 0 {
			return 0
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	for m, measure := range measures {
		b.ReportMetric(median(ratios[m]), measure.name+"-x-raw")
		b.ReportMetric(median(rates[m]), measure.name+"/s")
		b.ReportMetric(median(rawRates[m]), "raw-"+measure.name+"/s")
	}
}
