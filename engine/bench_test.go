package engine_test

// The workloads of docs/performance.md: each beside a raw twin, which does the same
// work by hand with nothing around it. Ratios are taken inside one benchmark, with
// the two interleaved, because two runs a minute apart are not comparable.

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
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addResult struct {
	Sum int `json:"sum"`
}

var usage = &llm.Usage{PromptTokens: 100, CompletionTokens: 20}

// answer is a turn of n chunks of ten bytes.
func answer(n int) llmtest.Turn {
	return llmtest.Turn{Text: slices.Repeat([]string{"ten bytes."}, n), Usage: usage}
}

// toolTurns are n steps that call the tool once each, and an answer.
func toolTurns(n int) []llmtest.Turn {
	turns := make([]llmtest.Turn, 0, n+1)
	for i := range n {
		turns = append(turns, llmtest.Turn{Usage: usage, ToolCalls: []llmtest.Call{{
			ID: fmt.Sprintf("call_%d", i), Name: "add", Arguments: json.RawMessage(fmt.Sprintf(`{"a":%d,"b":%d}`, i, i))}}})
	}
	return append(turns, answer(4))
}

func addTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "add", Description: "adds two numbers", Effect: awaken.ReadOnly},
		func(_ context.Context, _ *awaken.ToolCall, in addArgs) (addResult, error) {
			return addResult{in.A + in.B}, nil
		})
}

func sleepTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "sleep", Effect: awaken.ReadOnly},
		func(ctx context.Context, _ *awaken.ToolCall, _ struct{}) (addResult, error) {
			time.Sleep(time.Millisecond) // the work itself
			return addResult{}, nil
		})
}

func benchRuntime(tb testing.TB, model llm.Model, mode awaken.ExecutionMode, store awaken.Store) *engine.Runtime {
	return boundRuntime(tb, model, mode, store, nil)
}

// boundRuntime is benchRuntime with a context policy.
func boundRuntime(tb testing.TB, model llm.Model, mode awaken.ExecutionMode, store awaken.Store, policy *awaken.ContextPolicy) *engine.Runtime {
	tb.Helper()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", SystemPrompt: "You add numbers.", ToolExecutionMode: mode, ContextPolicy: policy}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": model},
		Tools:     []awaken.Tool{addTool(), sleepTool()},
		Store:     store,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

// consumer counts what it is shown, and so proves that the work was done.
type consumer struct{ deltas, results, bytes int }

func (c *consumer) Emit(_ context.Context, e awaken.Entry) error {
	switch ev := e.Event.(type) {
	case *awaken.TextDelta:
		c.deltas++
		c.bytes += len(ev.Delta)
	case *awaken.ToolCallDone:
		c.results++
	}
	return nil
}

func (c *consumer) check(tb testing.TB, deltas, results int) {
	if c.deltas != deltas || c.results != results {
		tb.Fatalf("the consumer saw %d deltas and %d results, want %d and %d", c.deltas, c.results, deltas, results)
	}
}

// raw is the same agent by hand: a list of messages, a loop, a switch.
type raw struct {
	model llm.Model
	tools map[string]func(args json.RawMessage) (json.RawMessage, error)
	spec  []llm.Tool
}

func newRaw(model llm.Model) *raw {
	return &raw{model: model,
		spec: []llm.Tool{{Name: "add"}, {Name: "sleep"}},
		tools: map[string]func(json.RawMessage) (json.RawMessage, error){
			"add": func(args json.RawMessage) (json.RawMessage, error) {
				var in addArgs
				if err := json.Unmarshal(args, &in); err != nil {
					return nil, err
				}
				return json.Marshal(addResult{in.A + in.B})
			},
			"sleep": func(args json.RawMessage) (json.RawMessage, error) {
				var in struct{}
				if err := json.Unmarshal(args, &in); err != nil {
					return nil, err
				}
				time.Sleep(time.Millisecond)
				return json.Marshal(addResult{})
			},
		}}
}

func (r *raw) run(ctx context.Context, history []*llm.Message, text string, c *consumer) ([]*llm.Message, error) {
	msgs := append(history, llm.UserText(text))
	for {
		var out strings.Builder
		var calls []llm.ToolCall
		req := &llm.Request{Model: "scripted", Messages: llm.NewMessages(msgs...), Tools: r.spec}
		for d, err := range r.model.Stream(ctx, req) {
			if err != nil {
				return nil, err
			}
			switch d.Kind {
			case llm.TextDelta:
				out.WriteString(d.Text)
				c.deltas++
				c.bytes += len(d.Text)
			case llm.ToolCallStart:
				calls = append(calls, llm.ToolCall{ID: d.ID, Name: d.Name})
			case llm.ToolCallDelta:
				last := &calls[len(calls)-1]
				last.Arguments = append(last.Arguments, d.Text...)
			}
		}
		m := &llm.Message{Role: llm.Assistant, ToolCalls: calls}
		if out.Len() > 0 {
			m.Content = []llm.Block{llm.Text(out.String())}
		}
		msgs = append(msgs, m)
		if len(calls) == 0 {
			return msgs, nil
		}
		results := make([]json.RawMessage, len(calls))
		var wg sync.WaitGroup
		for i, call := range calls {
			do := func() { results[i], _ = r.tools[call.Name](call.Arguments) }
			if len(calls) == 1 {
				do()
			} else {
				wg.Go(do)
			}
		}
		wg.Wait()
		for i, res := range results {
			c.results++
			msgs = append(msgs, &llm.Message{Role: llm.ToolRole, ToolCallID: calls[i].ID, Content: []llm.Block{llm.Text(string(res))}})
		}
	}
}

// compare runs both in turn and reports how much longer ours takes and how much more CPU time, as
// medians over pairs of blocks. On a busy machine only the latter says something. Each block begins
// with an empty heap, so that each side pays for its own garbage and what it keeps; a block without a
// collection would hide the larger half of the cost.
func compare(b *testing.B, block, rawBlock int, rawRun func(), fresh func() (ours func())) {
	b.Helper()
	var ratios, cpuRatios []float64
	var rawTime, ourTime time.Duration
	for b.Loop() {
		ours := fresh() // so that what earlier runs stored does not burden the collector
		runtime.GC()
		start, startCPU := time.Now(), cpu()
		for range block {
			ours()
		}
		took, tookCPU := time.Since(start), cpu()-startCPU
		ours = nil
		runtime.GC()
		start, startCPU = time.Now(), cpu()
		for range rawBlock {
			rawRun()
		}
		rawTook, rawCPU := time.Since(start), cpu()-startCPU
		scale := float64(rawBlock) / float64(block)
		cpuRatios = append(cpuRatios, scale*float64(tookCPU)/float64(rawCPU))
		ratios = append(ratios, scale*float64(took)/float64(rawTook))
		ourTime += took
		rawTime += rawTook
	}
	slices.Sort(ratios)
	slices.Sort(cpuRatios)
	b.ReportMetric(ratios[len(ratios)/2], "x-raw")
	b.ReportMetric(cpuRatios[len(cpuRatios)/2], "x-raw-cpu")
	b.ReportMetric(float64(ourTime.Nanoseconds())/float64(b.N*block), "ns/run")
	b.ReportMetric(float64(rawTime.Nanoseconds())/float64(b.N*rawBlock), "raw-ns/run")
}

// allocsPerRun counts allocations and bytes over n runs.
func allocsPerRun(b testing.TB, n int, f func()) (allocs, bytes float64) {
	b.Helper()
	f()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
}

func oneRun(tb testing.TB, rt *engine.Runtime, deltas, results int) func() {
	req := awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}
	return func() {
		var c consumer
		if _, err := rt.Run(context.Background(), req, &c); err != nil {
			tb.Fatal(err)
		}
		c.check(tb, deltas, results)
	}
}

func rawOneRun(tb testing.TB, model llm.Model, deltas, results int) func() {
	r := newRaw(model)
	return func() {
		var c consumer
		if _, err := r.run(context.Background(), nil, "go", &c); err != nil {
			tb.Fatal(err)
		}
		c.check(tb, deltas, results)
	}
}

// W1: one turn of 64 chunks.
func BenchmarkW1(b *testing.B) {
	compareStores(b, []llmtest.Turn{answer(64)}, 64, 0, 2000)
}

// compareStores compares runs of a script that keep everything in memory, and runs that keep nothing,
// with the twin, which keeps nothing.
func compareStores(b *testing.B, turns []llmtest.Turn, deltas, results, block int) {
	script := func() llm.Model { return llmtest.NewScript(turns...).Loop() }
	for name, store := range map[string]func() awaken.Store{
		"kept":    func() awaken.Store { return memory.New() },
		"dropped": func() awaken.Store { return nil },
	} {
		b.Run(name, func(b *testing.B) {
			ours := func() func() { return oneRun(b, benchRuntime(b, script(), "", store()), deltas, results) }
			rawRun := rawOneRun(b, script(), deltas, results)
			allocs, bytes := allocsPerRun(b, block, ours())
			rawAllocs, rawBytes := allocsPerRun(b, block, rawRun)
			compare(b, block, 4*block, rawRun, ours) // several collections in each
			report(b, allocs, bytes, rawAllocs, rawBytes)
		})
	}
}

func report(b *testing.B, allocs, bytes, rawAllocs, rawBytes float64) {
	b.ReportMetric(allocs, "allocs/run")
	b.ReportMetric(bytes, "B/run")
	b.ReportMetric(rawAllocs, "raw-allocs/run")
	b.ReportMetric(rawBytes, "raw-B/run")
}

// W2: ten steps with a tool call each, and an answer.
func BenchmarkW2(b *testing.B) {
	compareStores(b, toolTurns(10), 4, 10, 400)
}

// W3: eight tools of one millisecond at the same time.
func BenchmarkW3(b *testing.B) {
	turn := llmtest.Turn{Usage: usage}
	for i := range 8 {
		turn.ToolCalls = append(turn.ToolCalls, llmtest.Call{ID: fmt.Sprintf("c%d", i), Name: "sleep", Arguments: json.RawMessage(`{}`)})
	}
	script := func() llm.Model { return llmtest.NewScript(turn, answer(4)).Loop() }
	ours := func() func() {
		return oneRun(b, benchRuntime(b, script(), awaken.ParallelStreaming, memory.New()), 4, 8)
	}
	compare(b, 20, 20, rawOneRun(b, script(), 4, 8), ours)
}

// W4: a run on a thread that already has H messages, to one on an empty thread: an answer, and a step with
// a tool call and an answer. Every call has an ID of its own.
func BenchmarkW4(b *testing.B) {
	for _, h := range []int{100, 1000, 10_000} {
		for name, thread := range map[string]func(h int) func(){
			"answer": func(h int) func() { return longThread(b, h, nil) },
			"tool":   func(h int) func() { return callingThread(b, h) },
		} {
			b.Run(fmt.Sprintf("%s/H=%d", name, h), func(b *testing.B) {
				allocs, bytes := allocsPerRun(b, 200, thread(h))
				emptyAllocs, emptyBytes := allocsPerRun(b, 200, thread(0))
				// Both threads are there while either runs, so that the collector marks the same.
				empty, long := thread(0), thread(h)
				compare(b, 500, 500, empty, func() func() { return long })
				report(b, allocs, bytes, emptyAllocs, emptyBytes)
			})
		}
	}
}

// W4 with a context policy: all messages fit, or only the last 50 or so do.
func BenchmarkW4Context(b *testing.B) {
	for _, window := range []struct {
		name   string
		tokens int
	}{{"fits", 10_000_000}, {"left_out", 1000}} {
		for _, h := range []int{10, 100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/H=%d", window.name, h), func(b *testing.B) {
				run := longThread(b, h, boundTo(window.tokens))
				allocs, bytes := allocsPerRun(b, 200, run)
				for b.Loop() {
					run()
				}
				b.ReportMetric(allocs, "allocs/run")
				b.ReportMetric(bytes, "B/run")
			})
		}
	}
}

func boundTo(tokens int) *awaken.ContextPolicy {
	p := awaken.DefaultContextPolicy()
	p.MaxContextTokens, p.MaxOutputTokens = tokens, tokens/10
	if tokens > 1_000_000 {
		p.AutocompactThreshold = new(tokens) // is never reached
	}
	return &p
}

// longThread returns a run on a thread of h messages, by an agent with that policy.
func longThread(tb testing.TB, h int, policy *awaken.ContextPolicy) func() {
	store := memory.New()
	rt := boundRuntime(tb, llmtest.NewScript(answer(4)).Loop(), "", store, policy)
	msgs := make([]*llm.Message, 0, h+1)
	for i := range h {
		role := llm.User
		if i%2 == 1 {
			role = llm.Assistant
		}
		msgs = append(msgs, &llm.Message{ID: fmt.Sprintf("m%d", i), Role: role, Content: []llm.Block{llm.Text("an earlier message")}})
	}
	first := awaken.RunRequest{ThreadID: "long", Messages: append(msgs, llm.UserText("go"))}
	if _, err := rt.Run(context.Background(), first, nil); err != nil {
		tb.Fatal(err)
	}
	req := awaken.RunRequest{ThreadID: "long", Messages: []*llm.Message{llm.UserText("go")}}
	return func() {
		var c consumer
		if _, err := rt.Run(context.Background(), req, &c); err != nil {
			tb.Fatal(err)
		}
		c.check(tb, 4, 0)
	}
}

// callingThread returns a run with one call, on a thread of h messages that make and answer calls.
func callingThread(tb testing.TB, h int) func() {
	var n atomic.Int64
	model := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
		return func(yield func(llm.Delta, error) bool) {
			if req.Messages.Last().Role == llm.ToolRole {
				_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "done"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
				return
			}
			id := fmt.Sprintf("toolu_%024d", n.Add(1))
			_ = yield(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: "add"}, nil) &&
				yield(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: `{"a":1,"b":2}`}, nil) &&
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
		}
	})
	rt := benchRuntime(tb, model, "", memory.New())
	msgs := make([]*llm.Message, 0, h+1)
	for i := 0; i < h; i += 2 {
		id := fmt.Sprintf("toolu_earlier_%016d", i)
		msgs = append(msgs, &llm.Message{ID: fmt.Sprintf("m%d", i), Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: id, Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)}}},
			&llm.Message{ID: fmt.Sprintf("m%d", i+1), Role: llm.ToolRole, ToolCallID: id, Content: []llm.Block{llm.Text("3")}})
	}
	run := func(msgs ...*llm.Message) {
		var c consumer
		if _, err := rt.Run(context.Background(), awaken.RunRequest{ThreadID: "long", Messages: msgs}, &c); err != nil {
			tb.Fatal(err)
		}
		c.check(tb, 1, 1)
	}
	run(append(msgs, llm.UserText("go"))...)
	return func() { run(llm.UserText("go")) }
}

// gated is a model that answers only when the gate opens.
type gated struct {
	llm.Model
	waiting *sync.WaitGroup
	gate    chan struct{}
}

func (g *gated) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		g.waiting.Done()
		<-g.gate
		g.Model.Stream(ctx, req)(yield)
	}
}

// inFlight starts n runs, waits until all of them are inside the model, and returns
// what each costs meanwhile.
func inFlight(tb testing.TB, n int, start func(m llm.Model) func()) (bytes, goroutines float64, wall time.Duration) {
	var waiting sync.WaitGroup
	waiting.Add(n)
	g := &gated{Model: llmtest.NewScript(answer(64)).Loop(), waiting: &waiting, gate: make(chan struct{})}
	one := start(g)
	before, routines := memory0(), runtime.NumGoroutine()
	began := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { called(one) })
	}
	waiting.Wait()
	after := memory0()
	goroutines = float64(runtime.NumGoroutine()-routines) / float64(n)
	close(g.gate)
	wg.Wait()
	return float64(after-before) / float64(n), goroutines, time.Since(began)
}

// called calls f as a caller with ordinary frames does, which take half a kilobyte.
//
//go:noinline
func called(f func()) {
	var frame [512]byte
	use(&frame)
	f()
	use(&frame)
}

//go:noinline
func use(frame *[512]byte) { frame[0]++ }

// memory0 is live heap and stacks.
func memory0() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// W5: many runs at the same time, all waiting for the model.
func BenchmarkW5(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("runs=%d", n), func(b *testing.B) {
			var bytes, routines, ratio, rawBytes float64
			for b.Loop() {
				var ourWall, rawWall time.Duration
				bytes, routines, ourWall = inFlight(b, n, func(m llm.Model) func() {
					return oneRun(b, benchRuntime(b, m, "", memory.New()), 64, 0)
				})
				rawBytes, _, rawWall = inFlight(b, n, func(m llm.Model) func() { return rawOneRun(b, m, 64, 0) })
				ratio = float64(ourWall) / float64(rawWall)
			}
			b.ReportMetric(bytes, "B/run")
			b.ReportMetric(rawBytes, "raw-B/run")
			b.ReportMetric(routines, "goroutines/run")
			b.ReportMetric(ratio, "x-raw")
		})
	}
}
