package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// reply answers a request of the server.
func (g *rig) answer(url string, id any, result string) (int, string) {
	g.TB.Helper()
	data, err := json.Marshal(object{"jsonrpc": "2.0", "id": id, "result": json.RawMessage(result)})
	if err != nil {
		g.TB.Fatal(err)
	}
	resp := g.send(http.MethodPost, url, string(data))
	defer resp.Body.Close()
	return resp.StatusCode, protocoltest.ReadAll(resp)
}

// asked makes a call that asks a question, answers it at another replica and returns the result.
func (g *rig) asked(url, other, tool string, args object, answer string) (question, result any) {
	g.TB.Helper()
	params := object{"name": tool, "arguments": args}
	if !g.modern {
		f := read(g.TB, g.open(url, "tools/call", params))
		q := f.until("elicitation/create")
		for range 2 { // answered twice, it counts once
			if status, body := g.answer(other, at(q, "id"), answer); status != 202 {
				g.TB.Fatalf("%d %s", status, body)
			}
		}
		return at(q, "params"), f.until("")
	}
	first := g.askAt(url, "tools/call", params)
	if at(first, "result", "resultType") != "input_required" {
		g.TB.Fatalf("%v", first)
	}
	requests, _ := at(first, "result", "inputRequests").(map[string]any)
	responses := object{}
	for id, q := range requests {
		if question = at(q, "params"); at(q, "method") != "elicitation/create" {
			g.TB.Fatalf("%v", q)
		}
		responses[id] = json.RawMessage(answer)
	}
	params["inputResponses"], params["requestState"] = responses, at(first, "result", "requestState")
	list := messages(g.TB, g.open(other, "tools/call", params))
	if len(list) != 1 {
		g.TB.Errorf("%d messages answer the request: %v", len(list), list)
	}
	result = list[len(list)-1]
	if again := g.askAt(url, "tools/call", params); fmt.Sprint(at(again, "result")) != fmt.Sprint(at(result, "result")) {
		g.TB.Errorf("answered again: %v, at first %v", again, result)
	}
	return question, result
}

// An approval is an elicitation, whose answer any replica takes, and which counts once.
func TestApproval(t *testing.T) {
	g := newRig(t)
	_, other := g.Start(false)
	both(t, g, func(t *testing.T, g *rig) {
		for answer, deleted := range map[string]bool{
			`{"action":"accept","content":{"approved":true}}`:                  true,
			`{"action":"accept","content":{"approved":false,"reason":"mine"}}`: false,
			`{"action":"decline"}`: false, `{"action":"cancel"}`: false,
		} {
			q, got := g.asked(g.URL, other, "default", object{"message": "RUN_TOOL delete_file {\"path\":\"/tmp/x\"}"}, answer)
			if at(q, "requestedSchema", "properties", "approved", "type") != "boolean" || !strings.Contains(fmt.Sprint(at(q, "message")), `delete_file {"path":"/tmp/x"}`) {
				t.Errorf("%v", q)
			}
			run, err := g.Box.Tenant("").Store.LoadRun(t.Context(), fmt.Sprint(at(got, "result", "structuredContent", "run_id")))
			if err != nil {
				t.Fatal(err)
			}
			calls, err := g.Box.Tenant("").Store.Calls(t.Context(), run.RunID)
			if err != nil || len(calls) != 1 || (calls[0].Status == awaken.CallSucceeded) != deleted || at(got, "result", "isError") != nil {
				t.Errorf("%s: %v %+v %v", answer, got, calls, err)
			}
		}
	})
}

// A tool that a client calls directly asks as well, and a form is what the tool wants to know.
func TestForm(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		for _, tt := range []struct{ schema, mode, field, answer, want string }{
			{`{"type":"object","properties":{"size":{"type":"integer","minimum":1}},"required":["size"]}`, "use_decision_as_tool_result", "size", `{"size":3}`, `{"size":3}`},
			{`{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"]}`, "replay_tool_call", "size", `{"approved":true,"size":4}`, `"size":4`},
			{`{"type":"string"}`, "use_decision_as_tool_result", "answer", `{"answer":"large"}`, "large"},
			{`{"type":"array","items":{"type":"integer"}}`, "use_decision_as_tool_result", "answer", `{"answer":"[1,2]"}`, "[1,2]"},
		} {
			q, got := g.asked(g.URL, g.URL, "form", object{"schema": json.RawMessage(tt.schema), "mode": tt.mode}, `{"action":"accept","content":`+tt.answer+`}`)
			if at(q, "requestedSchema", "properties", tt.field) == nil || !strings.Contains(text(got), tt.want) || at(got, "result", "isError") != nil {
				t.Errorf("%+v: %v, then %v", tt, q, got)
			}
		}
	})
}

// A person whom the client cannot ask decides elsewhere: the result says what waits.
func TestApproval_ClientCannotAsk(t *testing.T) {
	g := newRig(t)
	g.can = `{}`
	both(t, g, func(t *testing.T, g *rig) {
		got := g.tell("default", "RUN_TOOL ask")
		if at(got, "result", "structuredContent", "status") != "waiting" || at(got, "result", "structuredContent", "tickets", 0, "tool_name") != "ask" || !strings.Contains(text(got), "awaken://runs/") {
			t.Errorf("%v", got)
		}
	})
}

// Answers to questions that are not open, not ours or not well formed change nothing.
func TestApproval_Refused(t *testing.T) {
	g := newRig(t)
	g.connect()
	f := read(t, g.open(g.URL, "tools/call", object{"name": "default", "arguments": object{"message": "RUN_TOOL ask"}}))
	q := f.until("elicitation/create")
	id := at(q, "id")
	for _, tt := range []struct {
		id     any
		result string
		status int
	}{
		{"elicit_x", `{"action":"accept"}`, 400}, {7, `{"action":"accept"}`, 400}, {"elicit_" + "eAp5", `{"action":"accept"}`, 400},
		{id, `{"action":"maybe"}`, 400}, {id, `7`, 400}, {id, `{"action":"accept"}`, 400}, {id, `{"action":"accept","content":{"approved":"yes"}}`, 400}, {id, `{"action":"accept","content":[]}`, 400},
	} {
		if status, body := g.answer(g.URL, tt.id, tt.result); status != tt.status || !strings.Contains(body, `"error"`) {
			t.Errorf("%v %s: %d %s", tt.id, tt.result, status, body)
		}
	}
	if status, _ := g.answer(g.URL, id, `{"action":"decline"}`); status != 202 {
		t.Error(status)
	}
	if status, _ := g.answer(g.URL, id, `{"action":"accept","content":{"approved":true}}`); status != 202 { // too late
		t.Error(status)
	}
	if got := f.until(""); at(got, "result", "structuredContent", "status") != "completed" {
		t.Errorf("%v", got)
	}
	m := &rig{Rig: g.Rig, modern: true, can: g.can}
	first := m.tell("default", "RUN_TOOL ask")
	state, _ := at(first, "result", "requestState").(string)
	for _, wrong := range []string{state + "x", "x" + state, "x", strings.ToUpper(state)} {
		if got := m.ask("tools/call", object{"name": "default", "arguments": object{"message": "x"}, "inputResponses": object{}, "requestState": wrong}); at(got, "error", "code") != -32602.0 {
			t.Errorf("%v", got)
		}
	}
	if got := m.ask("tools/call", object{"name": "slow", "requestState": state}); at(got, "error", "code") != -32602.0 {
		t.Errorf("the state of another tool: %v", got)
	}
	if got := m.ask("tools/call", object{"name": "default", "requestState": state}); at(got, "result", "resultType") != "input_required" {
		t.Errorf("without answers: %v", got)
	}
}

// stuck asks a question, and once it is answered says a word and then nothing more.
type stuck struct {
	asks  llm.Model
	calls atomic.Int32
}

func (m *stuck) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	if m.calls.Add(1) == 1 {
		return m.asks.Stream(ctx, req)
	}
	return func(yield func(llm.Delta, error) bool) {
		if yield(llm.Delta{Kind: llm.TextDelta, Text: "well"}, nil) {
			<-ctx.Done()
			yield(llm.Delta{}, ctx.Err())
		}
	}
}

// In the newer era, closing the stream cancels the run also after its questions were answered.
func TestCancel_AfterAnAnswer(t *testing.T) {
	r := protocoltest.Idle(t, routes(t, withTools))
	r.Model.Model = &stuck{asks: llmtest.NewScript(llmtest.Use("ask", `{}`))}
	r.Box, r.URL = r.Start(true)
	g := &rig{Rig: r, modern: true, can: `{"elicitation":{}}`}
	first := g.tell("default", "go")
	requests, _ := at(first, "result", "inputRequests").(map[string]any)
	responses := object{}
	for id := range requests {
		responses[id] = json.RawMessage(`{"action":"accept","content":{"approved":true,"answer":"yes"}}`)
	}
	f := read(t, g.open(g.URL, "tools/call", object{"name": "default", "arguments": object{"message": "go"}, "inputResponses": responses,
		"requestState": at(first, "result", "requestState"), "_meta": object{"progressToken": 1}}))
	f.until("notifications/progress")
	run := f.resp.Header.Get("X-Run-Id")
	f.resp.Body.Close()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		rec, err := g.Box.Tenant("").Store.LoadRun(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Status == awaken.RunDone && rec.Termination.Type == awaken.Cancelled {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run is %s: %+v", rec.Status, rec.Termination)
		}
	}
}
