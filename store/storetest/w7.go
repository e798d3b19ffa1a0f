package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

// BenchSteps is the number of tool steps in a run of [BenchRun].
const BenchSteps = 10

// Waited is a store that is not pipelined: runs wait for every commit.
type Waited struct{ awaken.Store }

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addResult struct {
	Sum int `json:"sum"`
}

// benchModel calls the tool ten times and then answers. It is stateless, so concurrent runs
// can share it.
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
		if n == BenchSteps {
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

// BenchRun returns a function that executes one run on a store: ten steps with a read-only
// tool, and an answer.
func BenchRun(tb testing.TB, store awaken.Store) func() {
	tb.Helper()
	return benchRun(tb, store, awaken.ReadOnly, benchModel{})
}

// EffectfulRun does the same with a tool that has the default effect.
func EffectfulRun(tb testing.TB, store awaken.Store) func() {
	tb.Helper()
	return benchRun(tb, store, "", benchModel{})
}

func benchRun(tb testing.TB, store awaken.Store, effect awaken.EffectClass, model llm.Model) func() {
	tb.Helper()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", SystemPrompt: "You add numbers."}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": model},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "add", Effect: effect},
			func(_ context.Context, _ *awaken.ToolCall, in addArgs) (addResult, error) {
				return addResult{in.A + in.B}, nil
			})},
		Store: store,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return func() {
		res, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil)
		if err != nil || res.Steps != BenchSteps+1 {
			tb.Errorf("%+v, %v", res, err)
		}
	}
}

// RawCommit is a step written by hand: one transaction that inserts the messages, each as
// JSON, after the first from of a thread, compares and sets the revision of the thread, and
// writes more if it is not nil.
type RawCommit func(thread string, from int, messages []string, more *RawMore) error

// RawMore is what a step of a run stores besides messages, each as JSON.
type RawMore struct {
	Run    string
	Call   *string // nil if there is none
	Events string
}

// Beside is a store, and a raw twin in the same kind of database.
type Beside struct {
	Store awaken.Store
	Raw   RawCommit
	// Transactions returns how many transactions the store has committed. SQLite in its
	// write-ahead mode with synchronous=FULL, and PostgreSQL with synchronous_commit=on, sync
	// their log once for each of them; PostgreSQL may sync several at once.
	Transactions func() int64
}

// BenchmarkW7 is W7 of docs/performance.md: ten tool steps and an answer on a durable store,
// compared with a raw twin that makes transactions by hand. A block is that many runs in
// parallel goroutines.
//
//	waited    W7w: a run waits for every commit, as one with a model slower than a commit does
//	          in effect; the twin stores the messages of a step in one transaction
//	paced     the same with a model that takes 5 ms, on both sides: its wall time is the model's,
//	          so only CPU and commits count
//	effectful W7e: the tool has the default effect; the twin commits the intent of a call
//	          before it and its result after it
//	instant   flatters: a read-only tool and a model without delay, so that commits are made together
//	payload   flatters: the same, and the twin also stores the record of the run, its ledger and
//	          its events
func BenchmarkW7(b *testing.B, block, parallel int, open func(b *testing.B) Beside) {
	b.Run("waited", func(b *testing.B) {
		s := open(b)
		compare(b, block, parallel, s, &raw{commit: s.Raw}, BenchRun(b, Waited{s.Store}))
	})
	b.Run("paced", func(b *testing.B) {
		s := open(b)
		slow := slowly{benchModel{}, 5 * time.Millisecond}
		compare(b, block, parallel, s, &raw{commit: s.Raw, model: slow}, benchRun(b, s.Store, awaken.ReadOnly, slow))
	})
	b.Run("effectful", func(b *testing.B) {
		s := open(b)
		compare(b, block, parallel, s, &raw{commit: s.Raw, intents: true}, EffectfulRun(b, s.Store))
	})
	b.Run("instant", func(b *testing.B) {
		s := open(b)
		compare(b, block, parallel, s, &raw{commit: s.Raw}, BenchRun(b, s.Store))
	})
	b.Run("payload", func(b *testing.B) {
		s := open(b)
		compare(b, block, parallel, s, &raw{commit: s.Raw, more: payloads(b, s.Store)}, BenchRun(b, s.Store))
	})
}

// slowly is a model that takes a while.
type slowly struct {
	llm.Model
	pause time.Duration
}

func (m slowly) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		time.Sleep(m.pause)
		m.Model.Stream(ctx, req)(yield)
	}
}

// raw runs the same agent by hand: a list of messages, a loop, and one transaction for each
// step.
type raw struct {
	commit  RawCommit
	model   llm.Model   // nil is benchModel
	more    [][]payload // what each step writes besides messages; nil for nothing
	intents bool        // whether a call is committed before it is made
	n       atomic.Int64
}

// payload is the content of a commit besides messages.
type payload struct {
	run     *awaken.Run
	calls   []*awaken.CallState
	entries []awaken.Entry
}

// encodePayload returns the documents of a step; nil if there are none.
func encodePayload(more []payload) (*RawMore, error) {
	if more == nil {
		return nil, nil
	}
	out, list := new(RawMore), []any{}
	for _, m := range more {
		run, err := json.Marshal(m.run)
		if err != nil {
			return nil, err
		}
		out.Run = string(run)
		for _, c := range m.calls {
			data, err := json.Marshal(c)
			if err != nil {
				return nil, err
			}
			call := string(data)
			out.Call = &call
		}
		for _, e := range m.entries {
			ev, err := awaken.AppendEvent(nil, e.Event)
			if err != nil {
				return nil, err
			}
			list = append(list, struct {
				Seq   uint64          `json:"seq"`
				Time  int64           `json:"time"`
				Event json.RawMessage `json:"event"`
			}{e.Seq, e.Time, ev})
		}
	}
	events, err := json.Marshal(list)
	out.Events = string(events)
	return out, err
}

// payloadRecorder records the commits of a run.
type payloadRecorder struct {
	awaken.Store
	commits []payload
}

func (r *payloadRecorder) Commit(ctx context.Context, c *awaken.Commit) error {
	run := c.Run
	r.commits = append(r.commits, payload{&run, slices.Clone(c.Calls), slices.Clone(c.Entries)})
	return r.Store.Commit(ctx, c)
}

// payloads returns what each step of a run writes besides messages. The commit that begins
// the run is part of the first step.
func payloads(tb testing.TB, s awaken.Store) [][]payload {
	tb.Helper()
	r := &payloadRecorder{Store: s}
	BenchRun(tb, r)()
	if len(r.commits) != BenchSteps+2 {
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
	model := r.model
	if model == nil {
		model = benchModel{}
	}
	msgs := []*llm.Message{llm.UserText("go")}
	for saved, step := 0, 0; ; saved, step = len(msgs), step+1 {
		var text strings.Builder
		m := &llm.Message{Role: llm.Assistant}
		for d, err := range model.Stream(context.Background(), &llm.Request{Messages: llm.NewMessages(msgs...)}) {
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
		if r.intents && len(m.ToolCalls) > 0 {
			if err := r.save(thread, saved, msgs[saved:], nil); err != nil {
				tb.Error(err)
				return
			}
			saved = len(msgs)
		}
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
		if err := r.save(thread, saved, msgs[saved:], more); err != nil {
			tb.Error(err)
			return
		}
		if len(m.ToolCalls) == 0 {
			return
		}
	}
}

func (r *raw) save(thread string, from int, msgs []*llm.Message, more []payload) error {
	data := make([]string, len(msgs))
	for i, m := range msgs {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		data[i] = string(text)
	}
	docs, err := encodePayload(more)
	if err != nil {
		return err
	}
	return r.commit(thread, from, data, docs)
}

// compare runs both in turn, block times each, in parallel goroutines. Ratios are medians
// over five pairs of blocks.
func compare(b *testing.B, block, parallel int, s Beside, twin *raw, ours func()) {
	b.Helper()
	const rounds = 5
	rawRun := func() { twin.run(b) }
	measure := func(f func()) (wall, used float64) { // µs per run
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
		return float64(time.Since(start).Microseconds()) / float64(block), float64((cpu() - startCPU).Microseconds()) / float64(block)
	}
	measure(ours)
	measure(rawRun)
	var walls, cpus, rates, ourWall, rawWall, ourCPU, rawCPU, commits []float64
	for range rounds {
		before := s.Transactions()
		w, c := measure(ours)
		commits = append(commits, float64(s.Transactions()-before)/float64(block))
		rw, rc := measure(rawRun)
		walls, cpus, rates = append(walls, w/rw), append(cpus, c/rc), append(rates, rw/w)
		ourWall, rawWall, ourCPU, rawCPU = append(ourWall, w), append(rawWall, rw), append(ourCPU, c), append(rawCPU, rc)
	}
	b.ReportMetric(0, "ns/op")
	testenv.Report(b, "x-raw", walls)
	testenv.Report(b, "x-raw-cpu", cpus)
	b.ReportMetric(median(rates), "x-raw-runs/s")
	b.ReportMetric(median(ourWall), "µs/run")
	b.ReportMetric(median(rawWall), "raw-µs/run")
	b.ReportMetric(median(ourCPU), "cpu-µs/run")
	b.ReportMetric(median(rawCPU), "raw-cpu-µs/run")
	b.ReportMetric(median(commits), "commits/run")
	b.ReportMetric(float64(twin.commits()), "raw-commits/run")
}

// commits returns how many transactions a run of the twin makes.
func (r *raw) commits() int {
	if r.intents {
		return 2*BenchSteps + 1
	}
	return BenchSteps + 1
}
