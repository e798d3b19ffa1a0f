package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// The state of the tools that write.
var (
	word    = state.NewValue[string]("writes.word", state.Options{})
	sum     = state.NewKey("writes.sum", func(n, d int) int { return n + d }, state.Options{Merge: state.Commutative})
	seen    = state.NewValue[[]string]("writes.seen", state.Options{Scope: state.Thread})
	passing = state.NewValue[int]("writes.passing", state.Options{Transient: true})
	secret  = state.NewValue[func()]("writes.secret", state.Options{Transient: true})
	later   = awaken.NewAction[int]("writes.later", awaken.PhaseStepEnd)
)

// reader is a plugin that tells the model the state, so that the requests depend on it.
type reader struct{}

func (reader) Name() string { return "reader" }

func (reader) Register(r *awaken.Registrar) error {
	r.Key(word, sum, seen, passing, secret)
	r.Handle(later.Handler(func(_ context.Context, h *awaken.HookCall, n int) error {
		sum.Update(h, n)
		return nil
	}))
	r.On(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
		builtin.AddContextMessage.Schedule(h, builtin.SystemContext("state",
			fmt.Sprintf("%q %d %q %d", word.Get(h), sum.Get(h), seen.Get(h), passing.Get(h))))
		return nil
	})
	return nil
}

// writer is an agent whose model calls the tool "write" for each of the arguments, and then answers.
type writer struct {
	calls  atomic.Int64
	config engine.Config
}

func newWriter(mode string, write func(*awaken.ToolCall, int) (*awaken.ToolResult, error), args ...int) *writer {
	w := &writer{}
	var calls []llmtest.Call
	for _, n := range args {
		calls = append(calls, llmtest.Call{Name: "write", Arguments: fmt.Appendf(nil, `{"n":%d}`, n)})
	}
	w.config = engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{"reader"}, ToolExecutionMode: awaken.ExecutionMode(mode)}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m-1"}},
		Plugins:   []awaken.Plugin{reader{}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Turn{ToolCalls: calls}, llmtest.Say("Done."), llmtest.Say("Yes?"))},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "write"}, func(_ context.Context, call *awaken.ToolCall, in struct {
			N int `json:"n"`
		}) (*awaken.ToolResult, error) {
			w.calls.Add(1)
			return write(call, in.N)
		})}}
	return w
}

// writing are tools that change their run.
var writing = map[string]struct {
	mode  string
	args  []int
	write func(*awaken.ToolCall, int) (*awaken.ToolResult, error)
}{
	"a value": {args: []int{1}, write: func(c *awaken.ToolCall, _ int) (*awaken.ToolResult, error) {
		word.Update(c, "blue")
		return awaken.TextResult("ok"), nil
	}},
	"the state of the thread": {args: []int{1, 2}, write: func(c *awaken.ToolCall, n int) (*awaken.ToolResult, error) {
		seen.Update(c, append(seen.Get(c), fmt.Sprint(n)))
		return awaken.TextResult("ok"), nil
	}},
	"concurrent sums": {mode: "parallel_streaming", args: []int{1, 20, 300}, write: func(c *awaken.ToolCall, n int) (*awaken.ToolResult, error) {
		sum.Update(c, n)
		sum.Update(c, n)
		return awaken.TextResult("ok"), nil
	}},
	"concurrent writers of one value": {mode: "parallel_streaming", args: []int{1, 2}, write: func(c *awaken.ToolCall, n int) (*awaken.ToolResult, error) {
		word.Update(c, "same") // one of them fails
		return awaken.TextResult("ok"), nil
	}},
	"cleared": {args: []int{1, 2}, write: func(c *awaken.ToolCall, n int) (*awaken.ToolResult, error) {
		if word.Update(c, "blue"); n == 2 {
			word.Clear(c)
		}
		return awaken.TextResult("ok"), nil
	}},
	"null": {args: []int{1}, write: func(c *awaken.ToolCall, _ int) (*awaken.ToolResult, error) {
		seen.Update(c, nil)
		return awaken.TextResult("ok"), nil
	}},
	"an error": {args: []int{1}, write: func(c *awaken.ToolCall, _ int) (*awaken.ToolResult, error) {
		word.Update(c, "blue")
		return nil, errors.New("and then it broke")
	}},
	"an action": {args: []int{4}, write: func(c *awaken.ToolCall, n int) (*awaken.ToolResult, error) {
		later.Schedule(c, n)
		builtin.AddContextMessage.Schedule(c, builtin.SystemContext("more", "Be brief."))
		return awaken.TextResult("ok"), nil
	}},
	"a message": {args: []int{4}, write: func(c *awaken.ToolCall, _ int) (*awaken.ToolResult, error) {
		awaken.Send(c, awaken.Outgoing{ThreadID: "other", Item: &awaken.InboxItem{Messages: []*llm.Message{llm.UserText("Hello")}}})
		return awaken.TextResult("ok"), nil
	}},
	"money": {args: []int{4}, write: func(c *awaken.ToolCall, _ int) (*awaken.ToolResult, error) {
		c.Spend(llm.Usage{PromptTokens: 9, TotalTokens: 9}, 0.25)
		return awaken.TextResult("ok"), nil
	}},
	"the end": {args: []int{4}, write: func(c *awaken.ToolCall, _ int) (*awaken.ToolResult, error) {
		c.End()
		return awaken.TextResult("ok"), nil
	}},
	"before and after a question": {args: []int{4}, write: func(c *awaken.ToolCall, _ int) (*awaken.ToolResult, error) {
		if c.Resume == nil {
			word.Update(c, "asked")
			return nil, awaken.Suspend(awaken.Ticket{})
		}
		word.Update(c, word.Get(c)+" and answered")
		return awaken.TextResult("ok"), nil
	}},
}

func (w *writer) run(t *testing.T) *memory.Store {
	t.Helper()
	h := awakentest.New(t, w.config)
	res, err := h.Runtime.Run(t.Context(), awaken.RunRequest{AgentID: "default", ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Write")}}, nil)
	if err == nil && res.Termination.Type == awaken.Suspended {
		id := res.Waiting.TicketIDs[0]
		_, err = h.Runtime.Run(t.Context(), awaken.RunRequest{Continue: "r", Decisions: []awaken.Decision{{Target: id, Action: awaken.ActionResume}}}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h.Store.(*memory.Store)
}

// TestPlay_ToolsThatWrite replays runs whose tools change state, schedule actions, send, spend and end. The tools are not called again, and
// what depends on that is the same: the next request, the state, the run's end.
func TestPlay_ToolsThatWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range writing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(tt.mode, tt.write, tt.args...)
			store := w.run(t)
			calls := w.calls.Load()
			res, err := replaytest.Play(t.Context(), w.config, store, "r")
			if err != nil {
				t.Fatal(err)
			}
			if len(res.NotCompared) > 0 {
				t.Errorf("not compared: %q", res.NotCompared)
			}
			if n := w.calls.Load(); n != calls || n == 0 {
				t.Errorf("the tool was called %d times in the run, and %d times in the replay", calls, n-calls)
			}
		})
	}
}

// TestPlay_FindsEditedWrites changes what a call has written, in the record of the call alone.
func TestPlay_FindsEditedWrites(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ scenario, old, new, where string }{
		"a value":  {"a value", `"writes":{"state":{"writes.word":"blue"}}`, `"writes":{"state":{"writes.word":"red"}}`, "event"},
		"nothing":  {"a value", `"writes":{"state":{"writes.word":"blue"}}`, `"writing":0`, "event"},
		"a key":    {"a value", `"writes":{"state":{"writes.word":"blue"}}`, `"writes":{"state":{"writes.none":"blue"}}`, "what call"},
		"its type": {"a value", `"writes":{"state":{"writes.word":"blue"}}`, `"writes":{"state":{"writes.word":7}}`, "what call"},
		"money":    {"money", `"cost_usd":0.25}`, `"cost_usd":0.5}`, "the record of the run"},
		"the end":  {"the end", `"writes":{"end":{`, `"writes":{"ended":{`, "event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := writing[tt.scenario]
			w := newWriter(sc.mode, sc.write, sc.args...)
			from := &edited{Source: w.run(t), old: tt.old, new: tt.new, entries: true}
			if _, err := replaytest.Play(t.Context(), w.config, from, "r"); err == nil || !strings.Contains(err.Error(), tt.where) {
				t.Errorf("the replay says %v; want a difference at %q", err, tt.where)
			}
		})
	}
}

// TestPlay_SaysWhatACallWroteThatIsNotRecorded replays runs whose tools have written transient state, which leaves the process in no way.
func TestPlay_SaysWhatACallWroteThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	for key, write := range map[string]func(c *awaken.ToolCall){
		"writes.secret":  func(c *awaken.ToolCall) { secret.Update(c, func() {}) },
		"writes.passing": func(c *awaken.ToolCall) { passing.Update(c, 4711) },
	} {
		w := newWriter("", func(c *awaken.ToolCall, _ int) (*awaken.ToolResult, error) {
			write(c)
			return awaken.TextResult("ok"), nil
		}, 1)
		store := w.run(t)
		entries, err := store.Entries(t.Context(), "t", awaken.EntryQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if data, err := json.Marshal(e.Event); err != nil || strings.Contains(string(data), "4711") {
				t.Errorf("the log has the value of a transient key: %s, %v", data, err)
			}
		}
		res, err := replaytest.Play(t.Context(), w.config, store, "r")
		if err == nil || res.Difference == nil || !strings.Contains(res.Difference.Want, key) {
			t.Errorf("the replay says %v, want a difference that names %s", err, key)
		}
	}
}

// TestPlay_WritesOfACallThatWasStopped replays a run that was cancelled during a call, which wrote state on its way out.
func TestPlay_WritesOfACallThatWasStopped(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	w := newWriter("", nil, 1)
	w.config.Tools[0] = awaken.NewTool(w.config.Tools[0].Spec(), func(ctx context.Context, c *awaken.ToolCall, _ json.RawMessage) (*awaken.ToolResult, error) {
		close(begun)
		<-ctx.Done()
		word.Update(c, "stopped")
		return nil, context.Cause(ctx)
	})
	h := awakentest.New(t, w.config)
	ended := make(chan error, 1)
	go func() {
		_, err := h.Runtime.Run(t.Context(), awaken.RunRequest{AgentID: "default", ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Write")}}, nil)
		ended <- err
	}()
	<-begun
	if err := h.Runtime.Cancel(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := replaytest.Play(t.Context(), w.config, h.Store.(trace.Source), "r"); err != nil {
		t.Error(err)
	}
}
