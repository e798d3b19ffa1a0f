package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// withRetry gives the agent a retry section.
func withRetry(section string) option {
	return withAgent(func(s *awaken.AgentSpec) {
		s.Sections = map[string]json.RawMessage{"retry": json.RawMessage(section)}
	})
}

// busy is a turn that breaks off after what it says.
func busy(turn llmtest.Turn) llmtest.Turn {
	turn.Error = &llmtest.Failure{Kind: llm.Overloaded, Message: "busy"}
	return turn
}

// An answer that breaks off is continued from the part that arrived. The whole of what was
// streamed is what is stored (L-33), and the agent's own policy counts (L-32).
func TestRecovery_Plans(t *testing.T) {
	t.Parallel()
	half := `{"a":`
	open := llmtest.Turn{Text: llmtest.Text{"Let me ", "see. "}, ToolCalls: []llmtest.Call{{ID: "c1", Name: "echo", Raw: &half}}}
	whole := llmtest.Turn{Text: llmtest.Text{"Two. "}, ToolCalls: []llmtest.Call{{ID: "c1", Name: "echo"}, {ID: "c2", Name: "echo", Raw: &half}}}
	for _, tt := range []struct {
		name   string
		turns  []llmtest.Turn
		text   string // of the first answer that is stored
		calls  int
		resets int
		cancel []string
		asked  int
	}{
		{"nothing came", []llmtest.Turn{busy(llmtest.Turn{}), busy(llmtest.Turn{}), llmtest.Say("Hello.")}, "Hello.", 0, 0, nil, 3},
		{"text came", []llmtest.Turn{busy(llmtest.Say("Once ", "upon ")), busy(llmtest.Say("a ")), llmtest.Say("time.")}, "Once upon a time.", 0, 0, nil, 3},
		{"text and a part of a call came", []llmtest.Turn{busy(open), llmtest.Say("It is fine.")}, "Let me see. It is fine.", 0, 0, []string{"c1"}, 2},
		{"a whole call came", []llmtest.Turn{busy(whole), llmtest.Say("Done.")}, "Two. ", 1, 0, []string{"c2"}, 2},
		{"only reasoning came", []llmtest.Turn{busy(llmtest.Turn{Reasoning: llmtest.Text{"Hm"}}), llmtest.Say("Hello.")}, "Hello.", 0, 1, nil, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t, tt.turns, withTools(echo("echo")), withRetry(`{"max_retries":2,"max_stream_retries":2}`))
				res, p := g.run(say("hi"))
				checkTermination(t, res, p, awaken.NaturalEnd)
				awakentest.CheckEvents(t, p.entries)
				var streamed strings.Builder
				var cancelled []string
				resets := 0
			reading:
				for _, e := range p.entries {
					switch ev := e.Event.(type) {
					case *awaken.TextDelta:
						streamed.WriteString(ev.Delta)
					case *awaken.StreamReset:
						streamed.Reset()
						resets++
					case *awaken.ToolCallCancel:
						cancelled = append(cancelled, ev.ID)
					case *awaken.InferenceComplete:
						break reading
					}
				}
				var first *llm.Message
				for _, m := range g.log("t") {
					if m.Role == llm.Assistant {
						first = m
						break
					}
				}
				if first == nil || first.Text() != tt.text || streamed.String() != tt.text || len(first.ToolCalls) != tt.calls {
					t.Errorf("stored %+v, streamed %q, want %q with %d calls", first, streamed.String(), tt.text, tt.calls)
				}
				if diff := cmp.Diff(tt.cancel, cancelled); diff != "" || resets != tt.resets {
					t.Errorf("%d resets, want %d; calls taken back (-want +got):\n%s", resets, tt.resets, diff)
				}
				if n := g.model.Calls(); n != tt.asked {
					t.Errorf("the model was asked %d times, want %d", n, tt.asked)
				}
				checkValid(t, g.log("t"))
			})
		})
	}
}

func TestRecovery_HasItsLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, section string
		turn          llmtest.Turn
		asked         int
	}{
		{"requests", `{"max_retries":3}`, busy(llmtest.Turn{}), 4},
		{"streams", `{"max_retries":0,"max_stream_retries":1}`, busy(llmtest.Say("a")), 2},
		{"none", `{"max_retries":0,"max_stream_retries":0}`, busy(llmtest.Say("a")), 1},
		{"what cannot get better", `{"max_retries":3}`, llmtest.Turn{Error: &llmtest.Failure{Kind: llm.ContentFiltered}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t, []llmtest.Turn{tt.turn}, withRetry(tt.section))
				g.model.Loop()
				p := &tape{}
				res, err := g.rt.Run(t.Context(), say("hi"), p)
				if err == nil || res == nil || res.Termination.Type != awaken.Failed {
					t.Errorf("%+v, %v", res, err)
				}
				if n := g.model.Calls(); n != tt.asked {
					t.Errorf("the model was asked %d times, want %d", n, tt.asked)
				}
			})
		})
	}
}

func TestRecovery_WaitsLongerEachTimeAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t, []llmtest.Turn{{Error: &llmtest.Failure{Kind: llm.Provider}}, {Error: &llmtest.Failure{Kind: llm.Provider}}, llmtest.Say("ok")}, withRetry(`{"max_retries":2}`))
		start := time.Now()
		g.run(say("hi"))
		if took := time.Since(start); took < 1500*time.Millisecond || took > 1875*time.Millisecond+2 {
			t.Errorf("it took %s, want 500 ms and 1 s and up to a quarter more", took)
		}
		g = newRig(t, []llmtest.Turn{{Error: &llmtest.Failure{Kind: llm.RateLimited, RetryAfterMS: 20_000}}}, withRetry(`{"max_retries":2}`))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		res, err := g.rt.Run(ctx, say("hi"), nil)
		if err != nil || res.Termination.Type != awaken.Cancelled || time.Since(start) > 2*time.Second {
			t.Errorf("%+v, %v after %s", res, err, time.Since(start))
		}
	})
}

func TestRetrySection_IsChecked(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{`{}`: "max_retries", `{"max_retries":1,"fallback_models":["x"]}`: "fallback_models"} {
		cfg := engine.Config{Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", Sections: map[string]json.RawMessage{"retry": json.RawMessage(section)}}},
			Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}}, Providers: map[string]llm.Model{"p": llmtest.NewScript()}}
		if _, err := engine.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want something about %s", section, err, want)
		}
	}
}

// namedModel is a model that answers with its name, or fails.
type namedModel struct {
	name string
	err  error
}

func (m *namedModel) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.err != nil {
			yield(llm.Delta{}, m.err)
			return
		}
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: m.name + " as " + req.Model}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

func TestPools_StandInForModels(t *testing.T) {
	t.Parallel()
	one, two := &namedModel{name: "one"}, &namedModel{name: "two"}
	cfg := engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "pool"}},
		Models:    []awaken.ModelSpec{{ID: "gpt", ProviderID: "p1", UpstreamModel: "gpt-x", ContextWindow: 1000}, {ID: "claude", ProviderID: "p2", UpstreamModel: "claude-x", ContextWindow: 500}},
		Pools:     []awaken.ModelPoolSpec{{ID: "pool", Members: []awaken.PoolMember{{ModelID: "gpt"}, {ModelID: "claude"}}}},
		Providers: map[string]llm.Model{"p1": one, "p2": two},
	}
	rt := mustNew(t, cfg)
	ask := func(thread string) string {
		t.Helper()
		res, err := rt.Run(t.Context(), awaken.RunRequest{ThreadID: thread, Messages: []*llm.Message{llm.UserText("hi")}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res.Response
	}
	if got := ask("thread-1") + ", " + ask("thread-2"); got != "one as gpt-x, two as claude-x" {
		t.Errorf("homes are %s", got)
	}
	one.err = &llm.Error{Kind: llm.RateLimited, RetryAfter: time.Hour}
	if got := ask("thread-1"); got != "two as claude-x" {
		t.Errorf("limited: %s", got)
	}
	cfg.Models = append(cfg.Models, awaken.ModelSpec{ID: "pool", ProviderID: "p1", UpstreamModel: "x"})
	if _, err := engine.New(cfg); err == nil || !strings.Contains(err.Error(), "ambiguous_model_reference") && !strings.Contains(err.Error(), "of another pool") {
		t.Errorf("a pool and a model of one id: %v", err)
	}
	cfg.Models = cfg.Models[:1]
	if _, err := engine.New(cfg); err == nil || !strings.Contains(err.Error(), `"claude", which is not defined`) {
		t.Errorf("an unknown member: %v", err)
	}
}

func TestBreaker_KeepsRequestsFromAModelThatFails(t *testing.T) { // L-37
	t.Parallel()
	m := &namedModel{err: &llm.Error{Kind: llm.Provider, Message: "down"}}
	cfg := engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}}, Providers: map[string]llm.Model{"p": m}}
	once(cfg.Agents[0])
	rt := mustNew(t, cfg)
	var err error
	for range 6 {
		_, err = rt.Run(t.Context(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("hi")}}, nil)
	}
	le, ok := errors.AsType[*llm.Error](err)
	if !ok || le.Kind != llm.CircuitOpen || le.RetryAfter < 29*time.Second {
		t.Errorf("the sixth failure is %v", err)
	}
	if h := rt.Registry().Health(); len(h) != 1 || h[0].ModelID != "m" || h[0].State != llm.BreakerOpen {
		t.Errorf("health is %+v", h)
	}
}
