package fork_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/fork"
	"github.com/awaken-go/awaken/trace"
)

// counted is a tool that counts how often it took effect, by its text.
type counted struct{ fired atomic.Int64 }

func (c *counted) tool(effect awaken.EffectClass) awaken.Tool {
	id := "pay"
	if effect == awaken.ReadOnly {
		id = "look"
	}
	return awaken.NewTool(awaken.ToolSpec{ID: id, Description: id, Effect: effect, Aliases: []string{"bank/" + id}}, func(_ context.Context, _ *awaken.ToolCall, in struct {
		Text string `json:"text"`
	}) (*awaken.ToolResult, error) {
		c.fired.Add(1)
		return awaken.TextResult(id + " " + in.Text), nil
	})
}

func call(id, tool, text string) llmtest.Call {
	return llmtest.Call{ID: id, Name: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))}
}

// section makes the agent one of a fork.
func section(t *testing.T, c fork.Config) func(*awaken.AgentSpec) {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *awaken.AgentSpec) { s.Sections = map[string]json.RawMessage{fork.Name: raw} }
}

func harness(t *testing.T, change func(*awaken.AgentSpec), tools []awaken.Tool, turns ...llmtest.Turn) *awakentest.Harness {
	t.Helper()
	spec := &awaken.AgentSpec{ID: "default"}
	if change != nil {
		change(spec)
	}
	return awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Tools: tools, Plugins: []awaken.Plugin{fork.New()}}, turns...)
}

func results(rec *awakentest.Recording) (out []string) {
	for _, ev := range awakentest.All[*awaken.ToolCallDone](rec.Entries) {
		out = append(out, ev.ID+": "+ev.Result.Message)
	}
	return out
}

func TestFork_SaysWhatBecomesOfCalls(t *testing.T) {
	t.Parallel()
	recorded := []fork.Fixture{{Tool: "pay", Arguments: json.RawMessage(`{ "text": "5" }`), Result: awaken.TextResult("receipt 7")}}
	refused := `[not_recorded] this run is a fork, in which calls are not made, and no result of this call of "`
	for _, tt := range []struct {
		name   string
		config fork.Config
		want   []string
		paid   int64
		looked int64
		waits  bool
	}{
		{"recorded", fork.Config{Tools: fork.Recorded, Results: recorded},
			[]string{"c1: receipt 7", "c2: " + refused + `pay" is recorded`, "c3: " + refused + `look" is recorded`}, 0, 0, false},
		{"refuse", fork.Config{Tools: fork.Refuse, Results: recorded},
			[]string{"c1: " + refused + `pay" is recorded`, "c2: " + refused + `pay" is recorded`, "c3: " + refused + `look" is recorded`}, 0, 0, false},
		{"read only", fork.Config{Tools: fork.ReadOnly, Results: recorded},
			[]string{"c1: receipt 7", "c2: " + refused + `pay" is recorded`, "c3: look x"}, 0, 1, false},
		{"real", fork.Config{Tools: fork.Real, Results: recorded},
			[]string{"c1: receipt 7", "c2: Tool 'pay' suspended: awaiting approval"}, 0, 0, true},
		{"not known to read", fork.Config{Tools: fork.Real},
			[]string{"c1: Tool 'pay' suspended: awaiting approval"}, 0, 0, true},
		{"other names", fork.Config{Tools: fork.ReadOnly, Results: []fork.Fixture{{Tool: "bank/pay", Result: awaken.TextResult("receipt 7")}}},
			[]string{"c1: receipt 7", "c2: receipt 7", "c3: look x"}, 0, 1, false},
		{"any arguments", fork.Config{Tools: fork.Recorded, Results: []fork.Fixture{{Tool: "pay", Result: awaken.TextResult("always")}}},
			[]string{"c1: always", "c2: always", "c3: " + refused + `look" is recorded`}, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var pays, looks counted
			h := harness(t, section(t, tt.config), []awaken.Tool{pays.tool(awaken.Effectful), looks.tool(awaken.ReadOnly)},
				llmtest.Turn{ToolCalls: []llmtest.Call{call("c1", "pay", "5"), call("c2", "pay", "6"), call("c3", "look", "x")}}, llmtest.Say("Done."))
			got := h.Say("Go")
			if r := results(got); !slices.Equal(r, tt.want) {
				t.Errorf("results are\n%s\nwant\n%s", strings.Join(r, "\n"), strings.Join(tt.want, "\n"))
			}
			if pays.fired.Load() != tt.paid || looks.fired.Load() != tt.looked {
				t.Errorf("paid %d times and looked %d times, want %d and %d", pays.fired.Load(), looks.fired.Load(), tt.paid, tt.looked)
			}
			if (got.Result.Status == awaken.RunWaiting) != tt.waits {
				t.Errorf("the run is %s", got.Result.Status)
			}
		})
	}
}

func TestFork_ARealEffectIsMadeWhenItIsApproved(t *testing.T) {
	t.Parallel()
	var pays counted
	h := harness(t, section(t, fork.Config{Tools: fork.Real}), []awaken.Tool{pays.tool(awaken.Effectful)}, llmtest.Turn{ToolCalls: []llmtest.Call{call("c1", "pay", "5")}}, llmtest.Say("Done."))
	got := h.Say("Go")
	h.Resume(got.Result.RunID, awaken.Decision{Target: got.Result.Waiting.TicketIDs[0], Action: awaken.ActionResume})
	if n := pays.fired.Load(); n != 1 {
		t.Errorf("paid %d times", n)
	}
}

func TestFork_AnAgentWithoutTheSectionIsNotAffected(t *testing.T) {
	t.Parallel()
	var pays counted
	h := harness(t, nil, []awaken.Tool{pays.tool(awaken.Effectful)}, llmtest.Turn{ToolCalls: []llmtest.Call{call("c1", "pay", "5")}}, llmtest.Say("Done."))
	h.Say("Go")
	if n := pays.fired.Load(); n != 1 {
		t.Errorf("paid %d times", n)
	}
}

func TestFork_RefusesASectionWithMistakes(t *testing.T) {
	t.Parallel()
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m", Sections: map[string]json.RawMessage{fork.Name: json.RawMessage(`{"tools":"sometimes"}`)}}
	_, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{spec}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript()}, Plugins: []awaken.Plugin{fork.New()}})
	if err == nil || !strings.Contains(err.Error(), `sections["fork"]/tools`) {
		t.Errorf("the error is %v", err)
	}
}

// TestBranch_AForkSharesWhatCameBeforeItsStep takes up a run before each of its steps: nothing that was done before is done again.
func TestBranch_AForkSharesWhatCameBeforeItsStep(t *testing.T) {
	t.Parallel()
	var pays counted
	turns := []llmtest.Turn{{ToolCalls: []llmtest.Call{call("c1", "pay", "1"), call("c2", "pay", "2")}}, {ToolCalls: []llmtest.Call{call("c3", "pay", "3")}}, llmtest.Say("Done.")}
	h := harness(t, nil, []awaken.Tool{pays.tool(awaken.Effectful)}, turns...)
	rec, err := trace.Record(t.Context(), h.Store.(trace.Source), h.Say("Go").Result.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if n := rec.Steps(); n != 3 {
		t.Fatalf("%d steps, want 3", n)
	}
	var fixtures []fork.Fixture
	for _, c := range rec.Calls {
		fixtures = append(fixtures, fork.Fixture{Tool: c.ToolName, Arguments: c.Arguments, Result: c.Result})
	}
	fired := pays.fired.Load()
	for step, seq := range []int{1, 4, 6} {
		b, err := rec.Branch(step, nil)
		if err != nil || b.Seq != seq || b.Messages != nil {
			t.Fatalf("the branch of step %d is %+v, %v; want it to share %d messages", step, b, err, seq)
		}
		id := fmt.Sprintf("fork-%d", step)
		if _, err := h.Store.(awaken.ThreadEditor).Fork(t.Context(), rec.Run.ThreadID, b.Seq, id, nil); err != nil {
			t.Fatal(err)
		}
		forked := awakentest.New(t, engine.Config{Store: h.Store, Agents: []*awaken.AgentSpec{{ID: "default", Sections: forkSections(t, fixtures)}},
			Tools: []awaken.Tool{pays.tool(awaken.Effectful)}, Plugins: []awaken.Plugin{fork.New()}, NewID: awakentest.Counter(id + "-")}, turns[step:]...)
		got := forked.Run(awaken.RunRequest{ThreadID: id})
		if got.Err != nil || got.Result.Response != "Done." {
			t.Errorf("the fork of step %d ended with %+v, %v", step, got.Result, got.Err)
		}
	}
	if n := pays.fired.Load(); n != fired {
		t.Errorf("the forks paid %d times more", n-fired)
	}
}

func forkSections(t *testing.T, fixtures []fork.Fixture) map[string]json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(fork.Config{Tools: fork.Recorded, Results: fixtures})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]json.RawMessage{fork.Name: raw}
}

func TestBranch_ReplacesResultsBeforeTheStep(t *testing.T) {
	t.Parallel()
	var pays counted
	h := harness(t, nil, []awaken.Tool{pays.tool(awaken.Effectful)}, llmtest.Turn{ToolCalls: []llmtest.Call{call("c1", "pay", "1"), call("c2", "pay", "2")}}, llmtest.Say("Done."))
	rec, err := trace.Record(t.Context(), h.Store.(trace.Source), h.Say("Go").Result.RunID)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rec.Branch(1, map[string]*awaken.ToolResult{"c2": awaken.TextResult("declined")})
	if err != nil || b.Seq != 1 || len(b.Messages) != 3 {
		t.Fatalf("the branch is %+v, %v", b, err)
	}
	if got := b.Messages[1].Text() + ", " + b.Messages[2].Text(); got != "pay 1, declined" {
		t.Errorf("the results are %q", got)
	}
	for _, step := range []int{-1, 2, 7} {
		if _, err := rec.Branch(step, nil); err == nil || !strings.Contains(err.Error(), "want 0 to 1") {
			t.Errorf("step %d: %v", step, err)
		}
	}
	if _, err := rec.Branch(0, map[string]*awaken.ToolResult{"c1": awaken.TextResult("x")}); err == nil || !strings.Contains(err.Error(), "no result before step 0") {
		t.Errorf("a result of a later call: %v", err)
	}
}
