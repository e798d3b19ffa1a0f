package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/store/memory"
)

// busyTravel is travel with a tool that takes until it is released.
func busyTravel(t *testing.T) (srv *travel, begun chan struct{}, release func()) {
	srv = newTravel()
	begun, over := make(chan struct{}, 10), make(chan struct{})
	slow := &sdk.Tool{Name: "slow", InputSchema: json.RawMessage(`{"type":"object"}`)}
	srv.AddTool(slow, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		begun <- struct{}{}
		<-over
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
	})
	released := false
	release = func() {
		if !released {
			released = true
			close(over)
		}
	}
	t.Cleanup(release)
	return srv, begun, release
}

// on runs the agent on a thread.
func on(t *testing.T, rt *engine.Runtime, thread string, ds ...awaken.Decision) *awaken.RunResult {
	t.Helper()
	req := awaken.RunRequest{ThreadID: thread, Decisions: ds}
	if len(ds) == 0 {
		req.Messages = []*llm.Message{llm.UserText("go")}
	}
	res, err := rt.Run(patience(t), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// asks reports whether a run waits for the answer to the server's question.
func asks(res *awaken.RunResult) bool {
	return res.Waiting != nil && len(res.Waiting.Tickets) == 1 && strings.HasSuffix(res.Waiting.Tickets[0].Reason, "asks: Which day?")
}

// A server asks in a call while other calls are in flight: the question belongs to the call whose stream carries it.
func TestElicitation_BelongsToTheCallWhoseStreamCarriesIt(t *testing.T) {
	srv, begun, release := busyTravel(t)
	rt, _ := process(t, memory.New(), mcp.Server{ID: "s", URL: serve(t, handlers(srv.Server)["2025-11-25"])},
		llmtest.Use("mcp__s__slow", `{}`), llmtest.Use("mcp__s__book", `{}`), llmtest.Use("mcp__s__book", `{}`),
		llmtest.Say("booked"), llmtest.Say("booked"), llmtest.Say("slow is over"))
	slow := make(chan *awaken.RunResult, 1)
	go func() { slow <- on(t, rt, "slow") }()
	<-begun
	one, two := on(t, rt, "one"), on(t, rt, "two")
	if !asks(one) || !asks(two) {
		t.Fatalf("the runs ended with %+v and %+v, want questions", one, two)
	}
	for thread, res := range map[string]*awaken.RunResult{"two": two, "one": one} {
		if res = on(t, rt, thread, friday(&res.Waiting.Tickets[0])); res.Response != "booked" {
			t.Errorf("the run on %s ended with %+v", thread, res)
		}
	}
	if srv.booked.Load() != 2 {
		t.Errorf("%d journeys were booked, want 2", srv.booked.Load())
	}
	release()
	if res := <-slow; res.Response != "slow is over" {
		t.Errorf("the slow run ended with %+v", res)
	}
}

// A transport that does not say which call asks: the question waits until it can only be one, and a call that waits for a
// person holds up no other.
func TestElicitation_WaitsUntilItCanBelongToOneCall(t *testing.T) {
	srv, begun, release := busyTravel(t)
	handler := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return srv.Server }, nil)
	rt, _ := process(t, memory.New(), mcp.Server{ID: "s", URL: serve(t, handler), SSE: true},
		llmtest.Use("mcp__s__slow", `{}`), llmtest.Use("mcp__s__book", `{}`), llmtest.Say("slow is over"), llmtest.Use("mcp__s__book", `{}`),
		llmtest.Say("booked"), llmtest.Say("booked"))
	slow, first := make(chan *awaken.RunResult, 1), make(chan *awaken.RunResult, 1)
	go func() { slow <- on(t, rt, "slow") }()
	<-begun
	go func() { first <- on(t, rt, "one") }()
	until(t, "the server asks", func() bool { return srv.asked.Load() == 1 })
	select {
	case res := <-first:
		t.Fatalf("the run ended with %+v while the question could belong to another call", res)
	default:
	}
	release()
	if res := <-slow; res.Response != "slow is over" {
		t.Errorf("the slow run ended with %+v", res)
	}
	one := <-first
	two := on(t, rt, "two") // while the first waits for a person
	if !asks(one) || !asks(two) {
		t.Fatalf("the runs ended with %+v and %+v, want questions", one, two)
	}
	for thread, res := range map[string]*awaken.RunResult{"two": two, "one": one} {
		if res = on(t, rt, thread, friday(&res.Waiting.Tickets[0])); res.Response != "booked" {
			t.Errorf("the run on %s ended with %+v", thread, res)
		}
	}
}
