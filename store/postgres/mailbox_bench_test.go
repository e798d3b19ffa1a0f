package postgres_test

// W8 of docs/performance.md: a durable queue, compared with a raw twin of one table. The
// twin's queue has neither threads nor runs: it inserts, claims and acknowledges rows with the
// same payload. The two are interleaved; ratios are medians over pairs of blocks, and a ratio
// above 1 means that the store is faster.
//
// A drain claims in batches and ends every run with a commit of its own, which also ends its
// dispatch; the twin stores the messages of a run and acknowledges in one transaction. An ack
// only claims and acknowledges, both in batches, which no server does: it flatters.

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

const (
	queueWriters = 16
	queueWorkers = 4
	queueBatch   = 100
	queueEnding  = 8 // runs that a worker ends at once
)

// benchQueue is a queue under test.
type benchQueue struct {
	enqueue func(n int) error   // n dispatches in one transaction
	drain   func() (int, error) // claims a batch, ends its runs and returns its size
	ack     func() (int, error) // claims and acknowledges a batch and returns its size
}

// eachOf calls end for every number below n, several at once as the runs of a worker do.
func eachOf(n int, end func(i int) error) (int, error) {
	errs := make([]error, queueEnding)
	var next atomic.Int64
	var wg sync.WaitGroup
	for g := range errs {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && errs[g] == nil; i = next.Add(1) - 1 {
				errs[g] = end(int(i))
			}
		})
	}
	wg.Wait()
	return n, errors.Join(errs...)
}

const benchAnswer = "It is sunny, and 25 degrees. A shirt and light trousers will do."

func benchDispatch(thread string) *mailbox.Dispatch {
	id, run := ids.New(), ids.New()
	if thread == "" {
		thread = ids.New()
	}
	return &mailbox.Dispatch{ID: id, ThreadID: thread, RunID: run, Priority: mailbox.DefaultPriority, MaxAttempts: 5,
		Request: &awaken.RunRequest{AgentID: "default", ThreadID: thread, RunID: run, DispatchID: id, Messages: []*llm.Message{llm.UserText("How is the weather in Paris, and what should I wear?")}}}
}

// inTurn returns a function that makes dispatches in turn for that many threads, or each
// for a new one if that is 0.
func inTurn(threads int) func() *mailbox.Dispatch {
	var n atomic.Int64
	return func() *mailbox.Dispatch {
		if threads == 0 {
			return benchDispatch("")
		}
		return benchDispatch(fmt.Sprint("thread-", n.Add(1)%int64(threads)))
	}
}

func ourQueue(b *testing.B, db *postgres.DB, threads int) *benchQueue {
	join(b, db, "bench")
	s, ctx := db.Store(""), context.Background()
	next := inTurn(threads)
	return &benchQueue{
		enqueue: func(n int) error {
			ds := make([]*mailbox.Dispatch, n)
			for i := range ds {
				ds[i] = next()
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
			return eachOf(len(ds), func(i int) error { return finish(ctx, s, ds[i]) })
		},
		ack: func() (int, error) {
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

// finish ends the run of a dispatch with one commit.
func finish(ctx context.Context, s *postgres.Store, d *mailbox.Dispatch) error {
	cp := d.Checkpoint
	if cp == nil { // as a worker does
		var err error
		if cp, _, err = s.Own(ctx, d.ThreadID, d.Claim()); err != nil {
			return err
		}
	}
	c := &awaken.Commit{ThreadID: d.ThreadID, Fence: cp.Fence, Number: 1, Time: 1, Expect: cp.Thread.MessageCount,
		Messages: append(slices.Clone(d.Request.Messages), &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Text(benchAnswer)}}),
		Run: awaken.Run{RunID: d.RunID, ThreadID: d.ThreadID, AgentID: "default", Status: awaken.RunDone,
			Termination: awaken.Termination{Type: awaken.NaturalEnd}, CreatedAt: 1, StartedAt: 1, FinishedAt: 1},
		Entries: []awaken.Entry{{Cursor: awaken.Cursor{Epoch: cp.Fence, Seq: cp.Thread.End.Seq + 1}, RunID: d.RunID, Time: 1, Event: &awaken.TextDelta{Delta: benchAnswer}}}}
	settled, err := s.CommitAndSettle(ctx, c, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}, nil)
	if err == nil && !settled.Settled {
		err = fmt.Errorf("dispatch %s was not settled", d.ID)
	}
	return err
}

// rawJob is what the twin decodes of a payload.
type rawJob struct {
	ThreadID string            `json:"thread_id"`
	Messages []json.RawMessage `json:"messages"`
}

func rawQueue(b *testing.B, url string, threads int) *benchQueue {
	b.Helper()
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	if _, err := pool.Exec(ctx, `CREATE TABLE raw_queue (id bigserial PRIMARY KEY, payload text NOT NULL, state smallint NOT NULL DEFAULT 0,
		attempts int NOT NULL DEFAULT 0, token text, lease timestamptz, created timestamptz NOT NULL DEFAULT now());
		CREATE INDEX ON raw_queue (id) WHERE state = 0;
		CREATE TABLE raw_threads (id text COLLATE "C" PRIMARY KEY, revision bigint NOT NULL) WITH (fillfactor = 70);
		CREATE TABLE raw_messages (thread text COLLATE "C", seq bigint, data text, PRIMARY KEY (thread, seq))`); err != nil {
		b.Fatal(err)
	}
	next := inTurn(threads)
	payload := func() string {
		data, err := json.Marshal(next().Request)
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	claim := func() (claimed []int64, jobs []rawJob, token string, err error) {
		token = ids.New()
		rows, err := pool.Query(ctx, `UPDATE raw_queue SET state = 1, token = $1, attempts = attempts + 1, lease = now() + interval '1 minute'
			WHERE id IN (SELECT id FROM raw_queue WHERE state = 0 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id, payload`, token, queueBatch)
		if err != nil {
			return nil, nil, "", err
		}
		defer rows.Close()
		for rows.Next() {
			var id int64
			var payload []byte
			var job rawJob
			if err := rows.Scan(&id, &payload); err != nil {
				return nil, nil, "", err
			}
			if err := json.Unmarshal(payload, &job); err != nil {
				return nil, nil, "", err
			}
			claimed, jobs = append(claimed, id), append(jobs, job)
		}
		return claimed, jobs, token, rows.Err()
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
			claimed, jobs, token, err := claim()
			if err != nil || len(claimed) == 0 {
				return 0, err
			}
			return eachOf(len(claimed), func(i int) error {
				answer, err := json.Marshal(&llm.Message{ID: ids.New(), Role: llm.Assistant, Content: []llm.Block{llm.Text(benchAnswer)}})
				if err != nil {
					return err
				}
				msgs := []string{string(jobs[i].Messages[0]), string(answer)}
				tag, err := pool.Exec(ctx, `WITH d AS (UPDATE raw_queue SET state = 2, token = NULL, lease = NULL WHERE id = $1 AND token = $2 RETURNING 1),
					t AS (INSERT INTO raw_threads SELECT $3, cardinality($4::text[]) FROM d ON CONFLICT (id) DO UPDATE SET revision = raw_threads.revision + excluded.revision
						RETURNING revision - cardinality($4::text[]) AS after)
					INSERT INTO raw_messages SELECT $3, t.after + m.n, m.data FROM t, unnest($4::text[]) WITH ORDINALITY AS m (data, n)`, claimed[i], token, jobs[i].ThreadID, msgs)
				if err == nil && tag.RowsAffected() != int64(len(msgs)) {
					err = fmt.Errorf("job %d was not settled", claimed[i])
				}
				return err
			})
		},
		ack: func() (int, error) {
			claimed, _, _, err := claim()
			if err != nil || len(claimed) == 0 {
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

// takeAll calls take until the queue is empty.
func takeAll(b *testing.B, total int, take func() (int, error)) time.Duration {
	var done atomic.Int64
	d := spend(b, queueWorkers, func() (bool, error) {
		n, err := take()
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
			benchW8(b, ourQueue(b, openAt(b, url, nil), threads), rawQueue(b, url, threads))
		})
	}
}

func benchW8(b *testing.B, ours, raw *benchQueue) {
	const single, many, rounds = 4000, 10_000, 5
	measures := []struct {
		name  string
		total int
		run   func(q *benchQueue) time.Duration
	}{
		{"enqueue", single, func(q *benchQueue) time.Duration { return q.enqueueAll(b, queueWriters, single, 1) }},
		{"drain", single, func(q *benchQueue) time.Duration { return takeAll(b, single, q.drain) }},
		{"batch-enqueue", many, func(q *benchQueue) time.Duration { return q.enqueueAll(b, 2, many, queueBatch) }},
		{"ack", many, func(q *benchQueue) time.Duration { return takeAll(b, many, q.ack) }},
	}
	ratios, rates, rawRates := make([][]float64, len(measures)), make([][]float64, len(measures)), make([][]float64, len(measures))
	for i := range rounds + 1 {
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
	for m, measure := range measures {
		testenv.Report(b, measure.name+"-x-raw", ratios[m])
		testenv.Report(b, measure.name+"/s", rates[m])
		testenv.Report(b, "raw-"+measure.name+"/s", rawRates[m])
	}
}
