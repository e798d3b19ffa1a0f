package agui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func interrupts(t *testing.T, list []event) (out []map[string]any) {
	t.Helper()
	outcome := find(t, list, "RUN_FINISHED")["outcome"].(map[string]any)
	if outcome["type"] != "interrupt" {
		t.Fatalf("outcome is %v", outcome)
	}
	for _, i := range outcome["interrupts"].([]any) {
		out = append(out, i.(map[string]any))
	}
	return out
}

func (g *rig) history(thread string) (roles []string, messages []map[string]any) {
	g.TB.Helper()
	resp := g.send(http.MethodGet, g.URL+"/v1/ag-ui/threads/"+thread+"/messages?limit=200", "", "")
	defer resp.Body.Close()
	var list struct{ Messages []map[string]any }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		g.TB.Fatal(err)
	}
	for _, m := range list.Messages {
		roles = append(roles, m["role"].(string))
	}
	return roles, list.Messages
}

// Context and state are shown to the model for the duration of the run, as data of the user, and the
// props are available to tools. None of it becomes a message.
func TestRun_ContextStateAndProps(t *testing.T) {
	g := newRig(t)
	g.Model.Asked = make(chan *llm.Request, 4)
	list := g.ask(`{"threadId":"t","messages":[{"id":"m1","role":"user","content":"RUN_TOOL props"}],
		"context":[{"description":"what the user looks at","value":"a map"}],"state":{"zoom":3},"forwardedProps":{"theme":"dark"}}`)
	for range 2 { // both steps
		first := (<-g.Model.Asked).Messages.At(0)
		if s := first.Text(); first.Role != llm.User || !strings.Contains(s, "a map") || !strings.Contains(s, `"zoom":3`) || !strings.Contains(s, "frontend-context") {
			t.Errorf("the model was told %q by %s", s, first.Role)
		}
	}
	if got := find(t, list, "TOOL_CALL_RESULT")["content"]; got != `{"props":{"theme":"dark"},"state":{"zoom":3}}` {
		t.Errorf("the tool found %s", got)
	}
	g.ask(`{"threadId":"t","messages":[{"id":"m2","role":"user","content":"hello"}]}`)
	req := <-g.Model.Asked
	for _, m := range req.Messages.All() {
		if strings.Contains(m.Text(), "a map") {
			t.Errorf("the context of another run is still there: %q", m.Text())
		}
	}
	if roles, _ := g.history("t"); !slices.Equal(roles, []string{"user", "assistant", "tool", "assistant", "user", "assistant"}) {
		t.Errorf("the conversation is %v", roles)
	}
}

// Tools can show custom and raw events, and activities whose content is not an object.
func TestRun_CustomAndRaw(t *testing.T) {
	g := newRig(t)
	list := g.say("t", `RUN_TOOL talk {"n":2}`)
	var custom event
	for _, e := range list {
		if e.kind() == "CUSTOM" && e["name"] == "greeting" {
			custom = e
		}
	}
	if fmt.Sprint(custom["value"]) != "map[n:2]" {
		t.Errorf("custom event: %v", custom)
	}
	if raw := find(t, list, "RAW"); raw["source"] != "elsewhere" || fmt.Sprint(raw["event"]) != "[2]" {
		t.Errorf("raw event: %v", raw)
	}
	var shown []string
	for _, e := range list {
		if e.kind() == "ACTIVITY_SNAPSHOT" {
			shown = append(shown, fmt.Sprint(e["activityType"], e["content"]))
		}
	}
	if want := []string{"tool-stream-output" + fmt.Sprint(map[string]any{"output": []any{}, "toolCallId": "call_talk_1", "toolName": "talk"}), "notemap[value:just a text]"}; !slices.Equal(shown, want) {
		t.Errorf("activities are %v, want %v", shown, want)
	}
}

// An interrupt says how to answer it, in every resume mode.
func TestRun_ResumeModes(t *testing.T) {
	for _, c := range []struct{ mode, reason, payload, want string }{
		{"", "tool_call", `{"approved":true}`, `{"did":"a","told":"{\"approved\":true}"}`},
		{"", "tool_call", `{"approved":true,"editedArgs":{"path":"b"}}`, `{"did":"b","told":"{\"approved\":true}"}`},
		{"pass_decision_to_tool", "input_required", `{"path":"c"}`, `{"did":"c","told":"{\"path\":\"c\"}"}`},
		{"use_decision_as_tool_result", "input_required", `{"approved":false}`, `{"approved":false}`},
		{"use_decision_as_tool_result", "input_required", `"as you like"`, `as you like`},
	} {
		g := newRig(t)
		args := `{"path":"a"}`
		if c.mode != "" {
			args = fmt.Sprintf(`{"path":"a","mode":%q}`, c.mode)
		}
		asked := interrupts(t, g.say("t", "RUN_TOOL ask "+args))
		if len(asked) != 1 || asked[0]["reason"] != c.reason || asked[0]["message"] != "May I?" {
			t.Fatalf("%s: asked %v", c.mode, asked)
		}
		list := g.ask(fmt.Sprintf(`{"threadId":"t","resume":[{"interruptId":%q,"status":"resolved","payload":%s}]}`, asked[0]["id"], c.payload))
		if got := find(t, list, "TOOL_CALL_RESULT")["content"]; got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.mode, c.payload, got, c.want)
		}
	}
}

// An answer can be sent to any replica, even one that never saw the run.
func TestResume_AtAnotherReplica(t *testing.T) {
	g := newRig(t)
	_, other := g.Start(false)
	id := interrupts(t, g.say("t", "RUN_TOOL ask"))[0]["id"]
	status, body := g.post(other, "/agent/default/run", fmt.Sprintf(`{"threadId":"t","runId":"r2","resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]}`, id))
	list := eventsIn(t, body)
	if status != 200 || find(t, list, "RUN_STARTED")["runId"] != "r2" || find(t, list, "RUN_FINISHED")["runId"] != "r2" {
		t.Errorf("%d: %s", status, body)
	}
}

// A run that is cancelled while queued has a start and an end for the client.
func TestRun_CancelledWhileQueuedHasStartAndEnd(t *testing.T) {
	g := newRig(t)
	_, idle := g.Start(false)
	first := g.send(http.MethodPost, idle+"/v1/ag-ui/run", `{"threadId":"t","runId":"r1","agentId":"slow","messages":[{"id":"a","role":"user","content":"go"}]}`, "")
	defer first.Body.Close()
	second := g.send(http.MethodPost, idle+"/v1/ag-ui/run", `{"threadId":"t","runId":"r2","agentId":"slow","messages":[{"id":"b","role":"user","content":"go"}]}`, "")
	defer second.Body.Close()
	for _, body := range []string{protocoltest.ReadAll(first), protocoltest.ReadAll(second)} {
		list := eventsIn(t, body)
		if k := kinds(list); k[0] != "RUN_STARTED" || k[len(k)-1] != "RUN_FINISHED" {
			t.Errorf("%v", k)
		}
	}
}

// A stop that names an ended run does not cancel a later one.
func TestStop_DoesNotCancelALaterRun(t *testing.T) {
	g := newRig(t)
	g.ask(`{"threadId":"t","runId":"r1","messages":[{"id":"a","role":"user","content":"hello"}]}`)
	g.say("t", "RUN_TOOL ask") // it waits
	if _, got := g.post(g.URL, "/agent/default/stop/t", `{"runId":"r1"}`); strings.TrimSpace(got) != `{"stopped":false}` {
		t.Errorf("stop r1: %s", got)
	}
	if _, got := g.post(g.URL, "/agent/default/stop/t", ""); strings.TrimSpace(got) != `{"stopped":true}` {
		t.Errorf("stop: %s", got)
	}
	if _, got := g.post(g.URL, "/agent/default/stop/unknown", ""); strings.TrimSpace(got) != `{"stopped":false}` {
		t.Errorf("stop an unknown thread: %s", got)
	}
}

// Defects of the original that this implementation avoids. The list is in the reference:
// server, 2.2 and 10.1.
func TestDefects(t *testing.T) {
	t.Run("message ids are kept, and nothing is appended twice", func(t *testing.T) {
		g := newRig(t)
		g.ask(`{"threadId":"t","messages":[{"id":"m1","role":"user","content":"hello"}]}`)
		_, stored := g.history("t")
		all, err := json.Marshal(append(stored, map[string]any{"id": "m2", "role": "user", "content": "again"}))
		if err != nil {
			t.Fatal(err)
		}
		g.ask(fmt.Sprintf(`{"threadId":"t","messages":%s}`, all))
		if roles, msgs := g.history("t"); !slices.Equal(roles, []string{"user", "assistant", "user", "assistant"}) || msgs[0]["id"] != "m1" || msgs[2]["id"] != "m2" {
			t.Errorf("the conversation is %v", msgs)
		}
	})
	t.Run("tool messages are results", func(t *testing.T) {
		g := newRig(t)
		call := find(t, g.say("t", "RUN_TOOL where"), "TOOL_CALL_START")["toolCallId"]
		list := g.ask(fmt.Sprintf(`{"threadId":"t","messages":[{"id":"x","role":"tool","toolCallId":%q,"content":"here"}]}`, call))
		if find(t, list, "TOOL_CALL_RESULT")["content"] != "here" {
			t.Errorf("%v", list)
		}
	})
	t.Run("developer messages are kept", func(t *testing.T) {
		g := newRig(t)
		g.ask(`{"threadId":"t","messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"hello"}]}`)
		if roles, _ := g.history("t"); !slices.Equal(roles, []string{"system", "user", "assistant"}) {
			t.Errorf("the conversation is %v", roles)
		}
	})
	t.Run("all interrupts are reported, and the stream ends", func(t *testing.T) {
		g := newRig(t)
		g.Model.Model = twoAsks
		if asked := interrupts(t, g.say("t", "go")); len(asked) != 2 {
			t.Errorf("%v", asked)
		}
	})
	t.Run("resume is a list and needs no message", func(t *testing.T) {
		g := newRig(t)
		id := interrupts(t, g.say("t", "RUN_TOOL ask"))[0]["id"]
		g.ask(fmt.Sprintf(`{"threadId":"t","resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]}`, id))
		if runs := g.runs("t"); len(runs) != 1 {
			t.Errorf("the run that waited was not gone on with: there are %v", runs)
		}
	})
	t.Run("the run has the client's id", func(t *testing.T) {
		g := newRig(t)
		g.ask(`{"threadId":"t","runId":"mine","messages":[{"role":"user","content":"hello"}]}`)
		if runs := g.runs("t"); !slices.Equal(runs, []string{"mine"}) {
			t.Errorf("runs are %v", runs)
		}
	})
	t.Run("reasoning is not the text's message, and is closed by the text", func(t *testing.T) {
		g := newRig(t)
		list := g.say("t", "scenario:reasoning")
		if find(t, list, "REASONING_START")["messageId"] == find(t, list, "TEXT_MESSAGE_START")["messageId"] {
			t.Error("they have the same id")
		}
		k := kinds(list)
		if slices.Index(k, "REASONING_END") > slices.Index(k, "TEXT_MESSAGE_START") {
			t.Errorf("%v", k)
		}
	})
	t.Run("the output of a tool adds up", func(t *testing.T) {
		g := newRig(t)
		list := g.say("t", `RUN_TOOL talk {"n":3}`)
		n := 0
		for _, e := range list {
			if e.kind() == "ACTIVITY_DELTA" {
				n++
				if p := e["patch"].([]any)[0].(map[string]any); p["path"] != "/output/-" {
					t.Errorf("%v", p)
				}
			}
		}
		if n != 3 {
			t.Errorf("%d pieces", n)
		}
	})
	t.Run("the history has files", func(t *testing.T) {
		g := newRig(t)
		g.ask(`{"threadId":"t","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"look"},{"type":"binary","mimeType":"image/png","data":"AA=="}]}]}`)
		_, msgs := g.history("t")
		if got := fmt.Sprint(msgs[0]["content"]); got != "[map[text:look type:text] map[source:map[mimeType:image/png type:data value:AA==] type:image]]" {
			t.Errorf("%s", got)
		}
	})
}

// runs returns the ids of a thread's runs.
func (g *rig) runs(thread string) (ids []string) {
	g.TB.Helper()
	resp := g.send(http.MethodGet, g.URL+"/v1/threads/"+thread+"/runs", "", "")
	defer resp.Body.Close()
	var list struct {
		Items []struct {
			RunID string `json:"run_id"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		g.TB.Fatal(err)
	}
	for _, r := range list.Items {
		ids = append(ids, r.RunID)
	}
	return ids
}

// The pages of past frames, put together, are the stream.
func TestPages_AreTheStream(t *testing.T) {
	g := newRig(t)
	var want strings.Builder
	for i, word := range []string{"scenario:reasoning", `RUN_TOOL talk {"n":3}`, "scenario:error", "hello"} {
		_, body := g.post(g.URL, "/run", fmt.Sprintf(`{"threadId":"t","protocolVersion":"1.0","messages":[{"id":"m%d","role":"user","content":%q}]}`, i, word))
		want.WriteString(body)
	}
	var got strings.Builder
	for id := ""; ; {
		resp := g.send(http.MethodGet, g.URL+"/v1/ag-ui/threads/t/replay?limit=7", "", id)
		page := protocoltest.ReadAll(resp)
		resp.Body.Close()
		if page == "" {
			break
		}
		got.WriteString(page)
		_, id = protocoltest.Whole(page)
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want.String())
	}
}

// A position in another log is refused before anything happens.
func TestRun_RefusesAForeignPosition(t *testing.T) {
	g := newRig(t)
	for id, want := range map[string]int{"9-9.1": http.StatusGone, "nonsense": http.StatusBadRequest} {
		resp := g.send(http.MethodPost, g.URL+"/v1/ag-ui/run", `{"threadId":"t","messages":[{"role":"user","content":"hello"}]}`, id)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", id, resp.Status, want)
		}
	}
	if status, _ := g.post(g.URL, "/threads/t/cancel", ""); status != http.StatusNotFound {
		t.Errorf("something was started: %d", status)
	}
}
