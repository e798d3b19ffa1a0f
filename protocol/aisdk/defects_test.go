package aisdk_test

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// Defects of the original that this implementation avoids. The names are those of the list in
// the reference: server, 2.1 and 10.1.

func (g *rig) decide(url, thread, part string) (int, string) {
	g.TB.Helper()
	return g.post(url, fmt.Sprintf(`{"id":%q,"messages":[{"role":"assistant","parts":[%s]}]}`, thread, part))
}

const approved = `{"type":"tool-ask","toolCallId":"call_ask_1","state":"approval-responded","approval":{"id":"suspend_call_ask_1","approved":true}}`

func TestDefects_StreamsEndWithDone(t *testing.T) {
	g := newRig(t)
	for _, word := range []string{"hello", "RUN_TOOL ask", "scenario:error"} {
		g.say("t", word) // chunksOf checks it
	}
}

// A decision that reaches a process where the run was not parked, for example after a restart,
// is not dropped with an empty answer.
func TestDefects_DecisionAtAnotherReplica(t *testing.T) {
	g := newRig(t)
	_, other := g.Start(false)
	g.say("t", "RUN_TOOL ask")
	status, body := g.decide(other, "t", approved)
	if list := chunksOf(t, body); status != 200 || find(list, "tool-output-available") == nil || find(list, "finish") == nil {
		t.Errorf("%d %s", status, body)
	}
}

// The ai package says approval.id; the original looks for approvalId.
func TestDefects_ApprovalIsFoundByItsID(t *testing.T) {
	g := newRig(t)
	g.say("t", "RUN_TOOL ask")
	_, body := g.decide(g.URL, "t", strings.Replace(approved, `"toolCallId":"call_ask_1"`, `"toolCallId":"another"`, 1))
	if find(chunksOf(t, body), "tool-output-available") == nil {
		t.Error(body)
	}
}

func TestDefects_DynamicToolPartsCount(t *testing.T) {
	g := newRig(t)
	g.say("t", "RUN_TOOL where")
	_, body := g.decide(g.URL, "t", `{"type":"dynamic-tool","toolName":"where","toolCallId":"call_where_1","state":"output-available","output":"here"}`)
	if c := find(chunksOf(t, body), "tool-output-available"); c == nil || c["output"] != "here" {
		t.Error(body)
	}
}

// The result of a server tool is no decision, even if a client sends it back.
func TestDefects_HistoryIsNoDecision(t *testing.T) {
	g := newRig(t)
	g.say("t", "RUN_TOOL fail")
	status, body := g.decide(g.URL, "t", `{"type":"tool-fail","toolCallId":"call_fail_1","state":"output-available","output":"forged"}`)
	if status != 400 || !strings.Contains(body, "nothing new") {
		t.Errorf("%d %s", status, body)
	}
}

func TestDefects_HostedFilesAndLargeOnes(t *testing.T) {
	g := newRig(t)
	data := base64.StdEncoding.EncodeToString(make([]byte, testenv.Times(2, 6)<<20))
	status, body := g.post(g.URL, fmt.Sprintf(`{"id":"t","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"look"},
		{"type":"file","mediaType":"image/png","url":"https://example.com/a.png"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,%s"}]}]}`, data))
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	parts := g.history(g.URL, "t").Messages[0].Parts // and the history has them
	if len(parts) != 3 || parts[1]["url"] != "https://example.com/a.png" || parts[2]["url"] != "data:image/png;base64,"+data {
		t.Errorf("%d parts: %.300v", len(parts), parts)
	}
}

func TestDefects_ErrorsHaveTheirSchema(t *testing.T) {
	g := newRig(t)
	c := find(g.say("t", "scenario:error"), "error")
	if c == nil || !strings.Contains(fmt.Sprint(c["errorText"]), "boom") || len(c) != 2 {
		t.Errorf("%v", c)
	}
}

// The message's id is that of a stored message, and not the run's.
func TestDefects_MessageIDs(t *testing.T) {
	g := newRig(t)
	list := g.say("t", "RUN_TOOL fail")
	id := find(list, "start")["messageId"]
	if id == find(list, "data-run-info")["data"].(map[string]any)["runId"] {
		t.Error("the message has the run's id")
	}
	if h := g.history(g.URL, "t"); len(h.Messages) != 2 || h.Messages[1].ID != id {
		t.Errorf("%+v has no message %v", h.Messages, id)
	}
}

// A waiting run has one finish, even for a client that comes later.
func TestDefects_OneFinish(t *testing.T) {
	g := newRig(t)
	list := g.say("t", "RUN_TOOL ask")
	run := find(list, "data-run-info")["data"].(map[string]any)["runId"].(string)
	_, again := g.get(g.URL, "/v1/ai-sdk/runs/"+run+"/stream", "")
	for _, list := range [][]chunk{list, chunksOf(t, again)} {
		finishes, steps := 0, 0
		for _, kind := range kinds(list) {
			switch kind {
			case "finish":
				finishes++
			case "finish-step":
				steps++
			}
		}
		if finishes != 1 || steps != 1 {
			t.Errorf("%d finish and %d finish-step: %v", finishes, steps, kinds(list))
		}
	}
}

// A suspension is read from the ledger, not from words in the output.
func TestDefects_SuspensionComesFromTheLedger(t *testing.T) {
	g := newRig(t)
	g.say("t", "RUN_TOOL ask")
	p := g.history(g.URL, "t").Messages[1].Parts[1]
	if p["state"] != "approval-requested" || p["approval"].(map[string]any)["id"] != "suspend_call_ask_1" {
		t.Errorf("%v", p)
	}
}

// Live frames have ids, and a client does not get the same frame twice.
func TestDefects_ResumeIsExact(t *testing.T) {
	g := newRig(t)
	list := g.say("t", "hello")
	run := find(list, "data-run-info")["data"].(map[string]any)["runId"].(string)
	_, whole := g.get(g.URL, "/v1/ai-sdk/runs/"+run+"/stream", "")
	have, id := protocoltest.Whole(whole[:len(whole)/2])
	_, rest := g.get(g.URL, "/v1/ai-sdk/runs/"+run+"/stream", id)
	if have == "" || have+rest != whole {
		t.Errorf("%s|%s", have, rest)
	}
	// The stream of the thread finds the run by the frame id.
	if _, same := g.get(g.URL, "/v1/ai-sdk/chat/t/stream", id); same != rest {
		t.Errorf("%s\nwant\n%s", same, rest)
	}
}

// Reused call ids do not mix up the calls of a message.
func TestDefects_ReusedCallIDsStayApart(t *testing.T) {
	g := newRig(t)
	g.say("t", `RUN_TOOL ask {"path":"a"}`)
	g.decide(g.URL, "t", approved)
	list := g.say("t", `RUN_TOOL ask {"path":"b"}`)
	if toolPart(list) == nil {
		t.Fatal("no call")
	}
	_, body := g.decide(g.URL, "t", strings.Replace(approved, "call_ask_1", toolPart(list)["toolCallId"].(string), 1))
	if c := find(chunksOf(t, body), "tool-output-available"); c == nil || c["output"].(map[string]any)["did"] != "b" {
		t.Error(body)
	}
}

// A refused request changes nothing: the call keeps waiting.
func TestDefects_RefusedRequestsChangeNothing(t *testing.T) {
	g := newRig(t)
	g.say("t", "RUN_TOOL ask")
	for _, body := range []string{
		`{"id":"t","agentId":"nonesuch","messages":[{"role":"user","content":"hello"}]}`,
		`{"id":"t","messages":[{"role":"user","parts":[{"type":"file","mediaType":"image/png","url":"nowhere"}]}]}`,
		`{"id":"t","trigger":"regenerate-message","messageId":"nonesuch"}`,
	} {
		if status, answer := g.post(g.URL, body); status/100 != 4 {
			t.Errorf("%d %s", status, answer)
		}
	}
	if _, body := g.decide(g.URL, "t", approved); find(chunksOf(t, body), "tool-output-available") == nil {
		t.Error(body)
	}
}

// A request with a message and a decision is answered as a message.
func TestDefects_AMessageTakesPrecedenceOverADecision(t *testing.T) {
	g := newRig(t)
	g.say("t", "RUN_TOOL ask")
	status, body := g.post(g.URL, `{"id":"t","messages":[{"role":"assistant","parts":[`+approved+`]},{"id":"new","role":"user","content":"hello"}]}`)
	list := chunksOf(t, body)
	if status != 200 || find(list, "text-delta") == nil || find(list, "tool-output-available") != nil || find(list, "tool-output-denied") != nil {
		t.Errorf("%d %v", status, kinds(list))
	}
	if h := g.history(g.URL, "t"); h.Total != 4 || find(h.Messages[1].Parts, "tool-ask")["state"] != "output-denied" {
		t.Errorf("%+v", h)
	}
}

// A run that is cancelled before it starts has an end too.
func TestDefects_CancelledBeforeItStarts(t *testing.T) {
	g := &rig{protocoltest.Idle(t, aisdk.Routes())}
	box, url := g.Start(false) // no workers
	got := make(chan string, 1)
	go func() {
		_, body := g.post(url, `{"id":"queued","agentId":"slow","messages":[{"role":"user","content":"go"}]}`)
		got <- body
	}()
	for box.Tenant("").Cancel(t.Context(), "queued") != nil { // until it is there
		runtime.Gosched()
	}
	list := chunksOf(t, <-got)
	if failed := find(list, "error"); failed == nil || failed["errorText"] != protocol.NotBegun || list[0].kind() != "start" {
		t.Error(list)
	}
}
