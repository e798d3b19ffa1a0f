//lint:file-ignore SA1019 servers of the older revisions log, sample and ask for roots; the SDK keeps these deprecated features for them

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/store/memory"
)

// travel is a server that asks for the day of a journey before it books it.
type travel struct {
	*sdk.Server
	booked atomic.Int32
	asked  atomic.Int32
}

func newTravel() *travel {
	s := &travel{Server: sdk.NewServer(&sdk.Implementation{Name: "travel", Version: "1"}, nil)}
	s.AddTool(&sdk.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if r.Params.InputResponses == nil {
			s.asked.Add(1)
			return &sdk.CallToolResult{RequestState: "begun", InputRequests: sdk.InputRequestMap{"day": &sdk.ElicitParams{Message: "Which day?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`)}}}, nil
		}
		day := r.Params.InputResponses["day"].(*sdk.ElicitResult)
		if day.Action != "accept" {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "not booked"}}}, nil
		}
		s.booked.Add(1)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %s %v", r.Params.RequestState, day.Action, day.Content["day"])}}}, nil
	})
	return s
}

// handlers serve a server in both revisions.
func handlers(s *sdk.Server) map[string]http.Handler {
	get := func(*http.Request) *sdk.Server { return s }
	return map[string]http.Handler{
		"2025-11-25": sdk.NewStreamableHTTPHandler(get, nil),
		"2026-07-28": sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true}),
	}
}

// process is what ends with a process: a runtime, and its plugin. The store stays.
func process(t *testing.T, store awaken.Store, s mcp.Server, turns ...llmtest.Turn) (rt *engine.Runtime, stop func()) {
	t.Helper()
	p := plugin(t, local, s)
	script := llmtest.NewScript(turns...)
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{mcp.PluginID}},
			{ID: "sampler", ModelID: "poet", AllowedTools: []string{}}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}, {ID: "poet", ProviderID: "poet", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": script, "poet": llmtest.NewRules(llmtest.Rule{Turn: func(r *llm.Request) llmtest.Turn {
			m := r.Messages.Slice()
			return llmtest.Turn{Text: llmtest.Text{"a poem about " + m[len(m)-1].Text()}, Usage: &llm.Usage{PromptTokens: 7, CompletionTokens: 3}}
		}})},
		Plugins: []awaken.Plugin{p}, Store: store,
	})
	if err != nil {
		t.Fatal(err)
	}
	return rt, func() { p.Close() }
}

// decide decides on the only ticket of the waiting run.
func decide(t *testing.T, rt *engine.Runtime, waits *awaken.RunResult, as func(*awaken.WaitingTicket) awaken.Decision) *awaken.RunResult {
	t.Helper()
	if waits.Waiting == nil || len(waits.Waiting.Tickets) != 1 {
		t.Fatalf("the run does not wait: %+v", waits)
	}
	res, err := rt.Run(patience(t), awaken.RunRequest{ThreadID: "t", Decisions: []awaken.Decision{as(&waits.Waiting.Tickets[0])}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func friday(w *awaken.WaitingTicket) awaken.Decision {
	return w.Answer(json.RawMessage(`{"day":"Friday"}`))
}

// lastResult returns the text of the last tool message on the thread.
func lastResult(t *testing.T, rt *engine.Runtime) string {
	t.Helper()
	calls, err := rt.Store().Calls(t.Context(), firstRun(t, rt))
	if err != nil || len(calls) == 0 || calls[0].Result == nil {
		t.Fatalf("%+v, %v", calls, err)
	}
	return calls[0].Result.Plain()
}

func firstRun(t *testing.T, rt *engine.Runtime) string {
	t.Helper()
	th, err := rt.Store().Thread(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	return th.LatestRunID
}

func TestElicitation_SuspendsTheCallUntilAPersonAnswers(t *testing.T) {
	for revision := range handlers(nil) {
		t.Run(revision, func(t *testing.T) {
			srv := newTravel()
			rt, _ := process(t, memory.New(), mcp.Server{ID: "s", URL: serve(t, handlers(srv.Server)[revision])}, llmtest.Use("mcp__s__book", `{}`), llmtest.Say("booked"))
			res, _ := ask(t, rt)
			w := res.Waiting.Tickets[0]
			if w.Reason != `MCP server "s" asks: Which day?` || w.Suspension.Action != mcp.ElicitationAction || !strings.Contains(string(w.Suspension.ResponseSchema), `"day"`) {
				t.Errorf("%+v", w)
			}
			if res = decide(t, rt, res, friday); res.Response != "booked" || srv.asked.Load() != 1 || srv.booked.Load() != 1 {
				t.Errorf("%+v; asked %d, booked %d", res, srv.asked.Load(), srv.booked.Load())
			}
			if got := lastResult(t, rt); got != "begun accept Friday" {
				t.Errorf("the result is %q", got)
			}
		})
	}
}

// Without a person, a server that asks is told so, and the call does not wait.
func TestElicitation_IsDeclinedWithoutAPerson(t *testing.T) {
	for revision := range handlers(nil) {
		t.Run(revision, func(t *testing.T) {
			srv := newTravel()
			c := connect(t, mcp.Server{ID: "s", URL: serve(t, handlers(srv.Server)[revision]), Unattended: true}, local)
			if res := call(t, c, "mcp__s__book", `{}`); res.Status != awaken.ToolError || srv.booked.Load() != 0 {
				t.Errorf("%+v; booked %d", res, srv.booked.Load())
			}
		})
	}
}

func TestElicitation_SurvivesARestart(t *testing.T) {
	for revision := range handlers(nil) {
		t.Run(revision, func(t *testing.T) {
			srv, store := newTravel(), memory.New()
			s := mcp.Server{ID: "s", URL: serve(t, handlers(srv.Server)[revision])}
			rt, stop := process(t, store, s, llmtest.Use("mcp__s__book", `{}`))
			res, _ := ask(t, rt)
			stop()
			rt, _ = process(t, store, s, llmtest.Say("booked"))
			res = decide(t, rt, res, friday)
			if revision == "2025-11-25" { // the server forgot the call, which may have had an effect
				if w := res.Waiting.Tickets[0]; w.Suspension.Action != mcp.AgainAction || srv.booked.Load() != 0 {
					t.Errorf("%+v; booked %d", w, srv.booked.Load())
				}
				res = decide(t, rt, res, (*awaken.WaitingTicket).Approve)
			}
			if res.Response != "booked" || srv.booked.Load() != 1 {
				t.Errorf("%+v; booked %d", res, srv.booked.Load())
			}
			if got := lastResult(t, rt); got != "begun accept Friday" {
				t.Errorf("the result is %q", got)
			}
		})
	}
}

// greedy asks models in a loop, and says how often they answered.
func greedy() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "greedy", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "write"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		n, last, failure := 0, "", ""
		for range 20 {
			res, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 10, SystemPrompt: "Be brief.", Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "rain"}}}})
			if err != nil {
				failure = err.Error()
				continue
			}
			n++
			last = res.Content.(*sdk.TextContent).Text
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%d: %s; %s", n, last, failure)}}}, nil, nil
	})
	return s
}

func TestSampling_IsLimitedAndCounts(t *testing.T) {
	s := mcp.Server{ID: "s", URL: serve(t, handlers(greedy())["2025-11-25"]), Sampling: &mcp.Sampling{Agent: "sampler"}}
	store := memory.New()
	rt, _ := process(t, store, s, llmtest.Use("mcp__s__write", `{}`), llmtest.Say("ok"))
	res, _ := ask(t, rt)
	calls, err := store.Calls(t.Context(), res.RunID)
	if err != nil || len(calls) != 1 {
		t.Fatal(calls, err)
	}
	answer, err := store.LoadRun(t.Context(), awaken.ChildID(calls[0].Key+"/sample/1"))
	if err != nil || answer.Taint == nil || answer.Taint.Tool != "mcp__s__write" {
		t.Errorf("the run that answers is tainted by %+v, %v: the server has written its messages", answer, err)
	}
	if got := lastResult(t, rt); !strings.HasPrefix(got, "3: a poem about rain; ") || !strings.Contains(got, "at most 3 times") {
		t.Errorf("the result is %q", got)
	}
	if res.ChildUsage.PromptTokens != 21 {
		t.Errorf("the run has used %+v", res.ChildUsage)
	}
}

func TestSampling_AsksAPerson(t *testing.T) {
	s := mcp.Server{ID: "s", URL: serve(t, handlers(greedy())["2025-11-25"]), Sampling: &mcp.Sampling{Agent: "sampler", Ask: true, MaxPerCall: 1}}
	rt, _ := process(t, memory.New(), s, llmtest.Use("mcp__s__write", `{}`), llmtest.Say("ok"))
	res, _ := ask(t, rt)
	if w := res.Waiting.Tickets[0]; w.Suspension.Action != mcp.SamplingAction || !strings.Contains(string(w.Suspension.Parameters), "rain") {
		t.Errorf("%+v", w)
	}
	if res = decide(t, rt, res, (*awaken.WaitingTicket).Approve); res.Response != "ok" {
		t.Errorf("%+v", res)
	}
	if got := lastResult(t, rt); !strings.HasPrefix(got, "1: a poem about rain; ") {
		t.Errorf("the result is %q", got)
	}
}

func TestSampling_IsRefusedByDefault(t *testing.T) {
	rt, _ := process(t, memory.New(), mcp.Server{ID: "s", URL: serve(t, handlers(greedy())["2025-11-25"])}, llmtest.Use("mcp__s__write", `{}`), llmtest.Say("ok"))
	if res, _ := ask(t, rt); res.Response != "ok" {
		t.Errorf("%+v", res)
	}
	if got := lastResult(t, rt); !strings.HasPrefix(got, "0: ;") {
		t.Errorf("the result is %q", got)
	}
}
