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

// BenchmarkW7 is W7 of docs/performance.md: ten steps with a read-only tool on a durable
// store, compared with a raw twin that makes one transaction by hand for each step. The two
// are interleaved; ratios are medians over pairs of blocks. A block is that many runs in
// parallel goroutines.
//
// There are two twins. One stores only the messages. The other stores what a run on the
// store does: messages, the record of the run, its ledger and its events.
func BenchmarkW7(b *testing.B, block, parallel int, open func(b *testing.B) (awaken.Store, RawCommit)) {
	b.Run("messages", func(b *testing.B) {
		s, commit := open(b)
		compare(b, block, parallel, &raw{commit: commit}, s)
	})
	b.Run("payload", func(b *testing.B) {
		s, commit := open(b)
		compare(b, block, parallel, &raw{commit: commit, more: payloads(b, s)}, s)
	})
	b.Run("waited", func(b *testing.B) { // compared with messages only; runs wait for every commit
		s, commit := open(b)
		compare(b, block, parallel, &raw{commit: commit}, Waited{s})
	})
}

// raw runs the same agent by hand: a list of messages, a loop, and one transaction for each
// step.
type raw struct {
	commit RawCommit
	more   [][]payload // what each step writes besides messages; nil for nothing
	n      atomic.Int64
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
	msgs := []*llm.Message{llm.UserText("go")}
	for saved, step := 0, 0; ; saved, step = len(msgs), step+1 {
		var text strings.Builder
		m := &llm.Message{Role: llm.Assistant}
		for d, err := range (benchModel{}).Stream(context.Background(), &llm.Request{Messages: llm.NewMessages(msgs...)}) {
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

// compare runs both in turn, block times each, in parallel goroutines.
func compare(b *testing.B, block, parallel int, twin *raw, s awaken.Store) {
	b.Helper()
	rawRun, ours := func() { twin.run(b) }, BenchRun(b, s)
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
