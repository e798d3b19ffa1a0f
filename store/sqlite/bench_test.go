package sqlite_test

// W7 of docs/performance.md: ten steps with a read-only tool on a durable store,
// beside a raw twin that makes one transaction by hand for each step. The two are
// interleaved; ratios are medians over pairs of blocks.
//
// There are two twins. One keeps the messages and nothing else. The other keeps what
// a run on the store keeps: messages, the run's record, its ledger and its events.

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/storetest"
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

func benchRuntime(tb testing.TB, store awaken.Store) *engine.Runtime {
	tb.Helper()
	rt, err := engine.New(engine.Config{
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

func benchRun(tb testing.TB, rt *engine.Runtime) func() {
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
	commit func(thread string, from int, msgs []*llm.Message, more []payload) error
	more   [][]payload // what each step writes beside messages; nil if that is nothing
	n      atomic.Int64
}

// payload is what a commit of the store holds beside messages.
type payload struct {
	run     *awaken.Run
	calls   []*awaken.CallState
	entries []awaken.Entry
}

// encodePayload returns the documents of a step: the run's record, the ledger and the events.
func encodePayload(more []payload) (run, call, events []byte, err error) {
	list := []any{}
	for _, m := range more {
		if run, err = json.Marshal(m.run); err != nil {
			return nil, nil, nil, err
		}
		for _, c := range m.calls {
			if call, err = json.Marshal(c); err != nil {
				return nil, nil, nil, err
			}
		}
		for _, e := range m.entries {
			ev, err := awaken.AppendEvent(nil, e.Event)
			if err != nil {
				return nil, nil, nil, err
			}
			list = append(list, struct {
				Seq   uint64          `json:"seq"`
				Time  int64           `json:"time"`
				Event json.RawMessage `json:"event"`
			}{e.Seq, e.Time, ev})
		}
	}
	events, err = json.Marshal(list)
	return run, call, events, err
}

// recorder remembers what a run commits.
type recorder struct {
	awaken.Store
	commits []payload
}

func (r *recorder) Commit(ctx context.Context, c *awaken.Commit) error {
	run := c.Run
	r.commits = append(r.commits, payload{&run, slices.Clone(c.Calls), slices.Clone(c.Entries)})
	return r.Store.Commit(ctx, c)
}

// record returns what each step of a run on the store writes beside messages. The
// commit that begins the run is part of the first step.
func record(tb testing.TB, s awaken.Store) [][]payload {
	tb.Helper()
	r := &recorder{Store: s}
	benchRun(tb, benchRuntime(tb, r))()
	if len(r.commits) != benchSteps+2 {
		tb.Fatalf("a run makes %d commits", len(r.commits))
	}
	out := [][]payload{r.commits[:2]}
	for i := range r.commits[2:] {
		out = append(out, r.commits[2+i:3+i])
	}
	return out
}

func (r *raw) run(tb testing.TB) {
	thread := fmt.Sprint("thread-", r.n.Add(1))
	msgs := []*llm.Message{llm.UserText("go")}
	for saved, step := 0, 0; ; saved, step = len(msgs), step+1 {
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
		var more []payload
		if r.more != nil {
			more = r.more[step]
		}
		if err := r.commit(thread, saved, msgs[saved:], more); err != nil {
			tb.Error(err)
			return
		}
		if len(m.ToolCalls) == 0 {
			return
		}
	}
}

// newRaw opens a file of the same kind and prepares what the transactions need.
func newRaw(tb testing.TB) *raw {
	tb.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(tb.TempDir(), "raw.db")+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { pool.Close() })
	pool.SetMaxOpenConns(1)
	if _, err := pool.Exec(`CREATE TABLE threads (id TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
		CREATE TABLE messages (thread TEXT, seq INTEGER, data TEXT, PRIMARY KEY (thread, seq)) WITHOUT ROWID;
		CREATE TABLE runs (thread TEXT PRIMARY KEY, data TEXT);
		CREATE TABLE calls (thread TEXT, seq INTEGER, data TEXT, PRIMARY KEY (thread, seq)) WITHOUT ROWID;
		CREATE TABLE events (thread TEXT, seq INTEGER, data TEXT, PRIMARY KEY (thread, seq))`); err != nil {
		tb.Fatal(err)
	}
	prepare := func(q string) *sql.Stmt {
		s, err := pool.Prepare(q)
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
	insert := []*sql.Stmt{nil, prepare(`INSERT INTO messages VALUES (?, ?, ?)`), prepare(`INSERT INTO messages VALUES (?, ?, ?), (?, ?, ?)`),
		prepare(`INSERT INTO messages VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?)`)}
	create, advance := prepare(`INSERT INTO threads VALUES (?, 1)`), prepare(`UPDATE threads SET revision = revision + 1 WHERE id = ? AND revision = ?`)
	saveRun, saveCall, saveEvents := prepare(`INSERT INTO runs VALUES (?, ?) ON CONFLICT (thread) DO UPDATE SET data = excluded.data`),
		prepare(`INSERT INTO calls VALUES (?, ?, ?)`), prepare(`INSERT INTO events VALUES (?, ?, ?)`)
	var mu sync.Mutex // one writer, as ours
	revisions := map[string]int{}
	return &raw{model: benchModel{}, commit: func(thread string, from int, msgs []*llm.Message, more []payload) error {
		var args []any
		for i, m := range msgs {
			data, err := json.Marshal(m)
			if err != nil {
				return err
			}
			args = append(args, thread, from+i+1, string(data))
		}
		run, call, events, err := encodePayload(more)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		tx, err := pool.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.Stmt(insert[len(msgs)]).Exec(args...); err != nil {
			return err
		}
		if from == 0 {
			_, err = tx.Stmt(create).Exec(thread)
		} else {
			var res sql.Result
			if res, err = tx.Stmt(advance).Exec(thread, revisions[thread]); err == nil {
				if n, _ := res.RowsAffected(); n != 1 {
					err = fmt.Errorf("thread %s changed", thread)
				}
			}
		}
		if more != nil {
			_, runErr := tx.Stmt(saveRun).Exec(thread, string(run))
			_, eventErr := tx.Stmt(saveEvents).Exec(thread, from, string(events))
			err = errors.Join(err, runErr, eventErr)
		}
		if call != nil {
			_, callErr := tx.Stmt(saveCall).Exec(thread, from, string(call))
			err = errors.Join(err, callErr)
		}
		if err != nil {
			return err
		}
		revisions[thread]++
		return tx.Commit()
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

func BenchmarkW7(b *testing.B) {
	b.Run("messages", func(b *testing.B) { w7(b, 20, 1, false, false) })
	b.Run("payload", func(b *testing.B) { w7(b, 20, 1, true, false) })
	b.Run("waited", func(b *testing.B) { w7(b, 20, 1, false, true) }) // beside messages; every commit is waited for
}

// W7c: 32 runs at the same time.
func BenchmarkW7c(b *testing.B) {
	b.Run("messages", func(b *testing.B) { w7(b, 64, 32, false, false) })
	b.Run("payload", func(b *testing.B) { w7(b, 64, 32, true, false) })
	b.Run("waited", func(b *testing.B) { w7(b, 64, 32, false, true) })
}

func w7(b *testing.B, block, parallel int, payload, wait bool) {
	var store awaken.Store = open(b).Store("")
	twin := newRaw(b)
	if payload {
		twin.more = record(b, store)
	}
	if wait {
		store = waited{store}
	}
	compare(b, block, parallel, func() { twin.run(b) }, benchRun(b, benchRuntime(b, store)))
}

// A thread of 10,000 turns beside one of 10.
func BenchmarkLong(b *testing.B) { storetest.BenchmarkLong(b, open(b).Store("")) }
