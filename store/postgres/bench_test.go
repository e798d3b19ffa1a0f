package postgres_test

// W7 of docs/performance.md: ten steps with a read-only tool on a durable store,
// beside a raw twin that makes one transaction by hand for each step. The two are
// interleaved; ratios are medians over pairs of blocks.

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/postgres"
)

const benchSteps = 10

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addResult struct {
	Sum int `json:"sum"`
}

// benchModel asks for the tool until it was called ten times, then answers. It keeps
// nothing, so that many runs can use it at the same time.
type benchModel struct{}

func (benchModel) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		n := 0
		for _, m := range req.Messages.All() {
			if m.Role == llm.ToolRole {
				n++
			}
		}
		finish := llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}
		if !yield(llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: 100, CompletionTokens: 20}}, nil) {
			return
		}
		if n == benchSteps {
			for range 4 {
				if !yield(llm.Delta{Kind: llm.TextDelta, Text: "ten bytes."}, nil) {
					return
				}
			}
			yield(finish, nil)
			return
		}
		finish.Finish = llm.ToolUse
		id := fmt.Sprintf("call_%d", n)
		_ = yield(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: "add"}, nil) &&
			yield(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: fmt.Sprintf(`{"a":%d,"b":%d}`, n, n)}, nil) && yield(finish, nil)
	}
}

func benchRuntime(tb testing.TB, store awaken.Store) *awaken.Runtime {
	tb.Helper()
	rt, err := awaken.New(awaken.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", SystemPrompt: "You add numbers."}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": benchModel{}},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "add", Effect: awaken.ReadOnly},
			func(_ context.Context, _ *awaken.ToolCall, in addArgs) (addResult, error) {
				return addResult{in.A + in.B}, nil
			})},
		Store: store,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

func benchRun(tb testing.TB, rt *awaken.Runtime) func() {
	return func() {
		res, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil)
		if err != nil || res.Steps != benchSteps+1 {
			tb.Errorf("%+v, %v", res, err)
		}
	}
}

// raw runs the same agent by hand: a list of messages, a loop, and for each step one
// transaction, which inserts the messages and compares and sets the thread's revision.
type raw struct {
	model  llm.Model
	commit func(thread string, from int, msgs []*llm.Message) error
	n      atomic.Int64
}

func (r *raw) run(tb testing.TB) {
	thread := fmt.Sprint("thread-", r.n.Add(1))
	msgs := []*llm.Message{llm.UserText("go")}
	for saved := 0; ; saved = len(msgs) {
		var text strings.Builder
		m := &llm.Message{Role: llm.Assistant}
		for d, err := range r.model.Stream(context.Background(), &llm.Request{Messages: llm.NewMessages(msgs...)}) {
			if err != nil {
				tb.Error(err)
				return
			}
			switch d.Kind {
			case llm.TextDelta:
				text.WriteString(d.Text)
			case llm.ToolCallStart:
				m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: d.ID, Name: d.Name})
			case llm.ToolCallDelta:
				last := &m.ToolCalls[len(m.ToolCalls)-1]
				last.Arguments = append(last.Arguments, d.Text...)
			}
		}
		if text.Len() > 0 {
			m.Content = []llm.Block{llm.Text(text.String())}
		}
		msgs = append(msgs, m)
		for _, call := range m.ToolCalls {
			var in addArgs
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				tb.Error(err)
			}
			out, err := json.Marshal(addResult{in.A + in.B})
			if err != nil {
				tb.Error(err)
			}
			msgs = append(msgs, &llm.Message{Role: llm.ToolRole, ToolCallID: call.ID, Content: []llm.Block{llm.Text(string(out))}})
		}
		if err := r.commit(thread, saved, msgs[saved:]); err != nil {
			tb.Error(err)
			return
		}
		if len(m.ToolCalls) == 0 {
			return
		}
	}
}

// newRaw makes tables of the same kind. A step is one statement, and so one round trip.
func newRaw(tb testing.TB, url string) *raw {
	tb.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	if _, err := pool.Exec(context.Background(), `CREATE TABLE raw_threads (id text COLLATE "C" PRIMARY KEY, revision bigint NOT NULL) WITH (fillfactor = 70);
		CREATE TABLE raw_messages (thread text COLLATE "C", seq bigint, data text, PRIMARY KEY (thread, seq))`); err != nil {
		tb.Fatal(err)
	}
	return &raw{model: benchModel{}, commit: func(thread string, from int, msgs []*llm.Message) error {
		data := make([]string, len(msgs))
		for i, m := range msgs {
			text, err := json.Marshal(m)
			if err != nil {
				return err
			}
			data[i] = string(text)
		}
		// The revision is the number of messages.
		guard := `UPDATE raw_threads SET revision = revision + cardinality($3::text[]) WHERE id = $1 AND revision = $2 RETURNING 1`
		if from == 0 {
			guard = `INSERT INTO raw_threads SELECT $1, $2::bigint + cardinality($3::text[]) RETURNING 1`
		}
		tag, err := pool.Exec(context.Background(), `WITH t AS (`+guard+`) INSERT INTO raw_messages
			SELECT $1, $2 + m.n, m.data FROM t, unnest($3::text[]) WITH ORDINALITY AS m (data, n)`, thread, from, data)
		if err == nil && tag.RowsAffected() != int64(len(msgs)) {
			err = fmt.Errorf("thread %s changed", thread)
		}
		return err
	}}
}

// cpu is what this process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// compare runs both in turn, each block times by as many goroutines as asked for.
func compare(b *testing.B, block, parallel int, rawRun, ours func()) {
	b.Helper()
	measure := func(f func()) (wall, used time.Duration) {
		runtime.GC()
		start, startCPU := time.Now(), cpu()
		var wg sync.WaitGroup
		for range parallel {
			wg.Go(func() {
				for range block / parallel {
					f()
				}
			})
		}
		wg.Wait()
		return time.Since(start), cpu() - startCPU
	}
	measure(ours)
	measure(rawRun)
	var walls, cpus []float64
	var ourWall, rawWall, ourCPU, rawCPU time.Duration
	for b.Loop() {
		w, c := measure(ours)
		rw, rc := measure(rawRun)
		walls, cpus = append(walls, float64(w)/float64(rw)), append(cpus, float64(c)/float64(rc))
		ourWall, rawWall, ourCPU, rawCPU = ourWall+w, rawWall+rw, ourCPU+c, rawCPU+rc
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N*block) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(walls[len(walls)/2], "x-raw")
	b.ReportMetric(cpus[len(cpus)/2], "x-raw-cpu")
	b.ReportMetric(per(ourWall), "µs/run")
	b.ReportMetric(per(rawWall), "raw-µs/run")
	b.ReportMetric(per(ourCPU), "cpu-µs/run")
	b.ReportMetric(per(rawCPU), "raw-cpu-µs/run")
}

// benchServer starts a server that keeps what it promises: tests do without the sync.
func benchServer(b *testing.B) string {
	b.Helper()
	server, err := testenv.StartPostgres("fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum=on", "max_wal_size=4GB")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	return server.Database()
}

func BenchmarkW7(b *testing.B) {
	url := benchServer(b)
	ours, twin := benchRun(b, benchRuntime(b, openAt(b, url, nil).Store(""))), newRaw(b, url)
	compare(b, 20, 1, func() { twin.run(b) }, ours)
}

// W7c: 32 runs at the same time.
func BenchmarkW7c(b *testing.B) {
	for _, lanes := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint("lanes=", lanes), func(b *testing.B) {
			url := benchServer(b) + "&pool_max_conns=16"
			ours, twin := benchRun(b, benchRuntime(b, openAt(b, url, &postgres.Options{Lanes: lanes}).Store(""))), newRaw(b, url)
			compare(b, 128, 32, func() { twin.run(b) }, ours)
		})
	}
}
