package a2a_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// hostile are bodies that are no good, or that ask for what the caller may not have.
var hostile = []string{
	``, `{`, `[]`, `null`, `7`, `"x"`, `{}`, "{\"message\":{\"messageId\":\"\xff\"}}", `{"message":{"messageId":"a\u0000b","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
	`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a\u0000b"}]}}`,
	`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
	`{"message":{"messageId":"m2","messageId":"m3","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
	`{"message":{"messageId":"..","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
	`{"message":{"messageId":"m4","contextId":"../../x","taskId":"..","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
	`{"message":{"messageId":"m5","taskId":"unknown","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
	`{"message":{"messageId":"m6","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`,
	`{"message":{"messageId":"m7","role":"ROLE_USER","parts":[{"data":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}]}}`,
	`{"message":{"messageId":"m8","role":"ROLE_USER","parts":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`,
	`{"message":{"messageId":"m9","role":"ROLE_USER","parts":[{"raw":"!!","mediaType":"image/png"}]}}`,
	`{"message":{"messageId":"m10","role":"ROLE_USER","parts":[{"url":"http://169.254.169.254/","mediaType":"image/png"}]}}`,
	`{"tenant":"no-such-agent","message":{"messageId":"m11","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
	`{"tenant":"again","message":{"messageId":"m12","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"historyLength":-5}}`,
	`{"message":{"messageId":"m13","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"historyLength":1e99,"returnImmediately":"yes"}}`,
	`{"message":{"messageId":"m14","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("long ", 4000) + `"}]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"r1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"r2","role":"ROLE_USER","parts":[{"text":"RUN_TOOL ask"}]}}}`,
	`[{"jsonrpc":"2.0","id":1,"method":"ListTasks"},{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]`,
	`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}`, `{"jsonrpc":"2.0","id":1e400,"method":"ListTasks"}`,
	`{"jsonrpc":"2.0","id":"\u0000","method":"ListTasks","params":{"pageToken":"\u0000"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","tenant":"slow","historyLength":99999999999999999999}}`,
	`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageToken":"MXxhYmM","pageSize":100,"status":"TASK_STATE_UNSPECIFIED"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"t","url":"http://127.0.0.1/"}}`,
}

// Whatever the body of a request is, the server answers with a result, with a stream that ends, or with a client error in
// the protocol's shape.
func FuzzRequest(f *testing.F) {
	paths := []string{"", "/message:send", "/message:stream", "/again/message:send", "/slow", "/tasks/t:cancel", "/tasks/t:subscribe", "/tasks/t/pushNotificationConfigs"}
	newRig(f).Fuzz(f, len(paths), hostile, func(kind int, body string) protocoltest.Request {
		return protocoltest.Request{Method: http.MethodPost, Path: "/v1/a2a" + paths[kind], Body: body}
	}, func(t *testing.T, resp *http.Response, got string) {
		if resp.Header.Get("Content-Type") == "text/event-stream" {
			list := events(t, got)
			if end := seen(t, list); !end.Status.State.Terminal() && !end.Status.State.Interrupted() {
				t.Errorf("the stream does not end: %s", got)
			}
			return
		}
		if resp.StatusCode < 200 || resp.StatusCode > 499 {
			t.Errorf("%s: %s", resp.Status, got)
		}
		g := &rig{Rig: &protocoltest.Rig{TB: t}}
		if r := g.parse(resp.StatusCode, resp.Header, got); resp.StatusCode >= 400 && r.reason == "" {
			t.Errorf("%s: %s", resp.Status, got)
		}
	})
}

// Whatever the query of a list is, the same holds.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "pageSize=5", "pageSize=-1", "pageToken=MXxhYmM", "pageToken=%00", "status=TASK_STATE_WORKING", "contextId=%ff", "contextId=..", "historyLength=x", "statusTimestampAfter=2026-01-31T12:00:00%2B14:00", "includeArtifacts=perhaps", "A2A-Version=0.3", "tenant=slow", "tenant=%00"} {
		f.Add(seed)
	}
	all := newRig(f)
	f.Fuzz(func(t *testing.T, query string) {
		if strings.ContainsAny(query, " #\x7f") || strings.ContainsFunc(query, func(r rune) bool { return r < ' ' }) {
			t.Skip("no client can send it")
		}
		g := &rig{Rig: &protocoltest.Rig{TB: t, URL: all.URL}}
		for _, path := range []string{"/tasks", "/again/tasks", "/tasks/t", "/tasks/t:subscribe"} {
			resp := g.Send(http.MethodGet, g.URL+"/v1/a2a"+path+"?"+query, "")
			got := protocoltest.ReadAll(resp)
			resp.Body.Close()
			if r := g.parse(resp.StatusCode, resp.Header, got); resp.StatusCode > 499 || resp.StatusCode >= 400 && r.reason == "" {
				t.Errorf("%s: %s", resp.Status, got)
			}
		}
	})
}

// A request that is refused leaves the thread as it was.
func TestHostile_ChangesNothing(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.say("RUN_TOOL ask", nil)
		before, err := g.Box.Tenant("").Store.Thread(t.Context(), task.ContextID)
		if err != nil {
			t.Fatal(err)
		}
		was, _ := json.Marshal(before)
		for _, change := range []func(m *a2a.Message){
			func(m *a2a.Message) { m.Role = "ROLE_AGENT" },
			func(m *a2a.Message) { m.MessageID = "" },
			func(m *a2a.Message) { m.Parts = nil },
			func(m *a2a.Message) { m.Parts = []a2a.Part{{}} },
			func(m *a2a.Message) { m.ContextID = "another" },
			func(m *a2a.Message) { m.Parts = []a2a.Part{{Data: json.RawMessage(`{"approved":7}`)}} },
			func(m *a2a.Message) {
				m.Parts = []a2a.Part{{Data: json.RawMessage(`{"ticketId":"x","approved":true}`)}}
			},
			func(m *a2a.Message) { m.Parts = []a2a.Part{{Raw: "AA", MediaType: "application/zip"}} },
		} {
			m := message("approve")
			m.TaskID = task.ID
			change(&m)
			if r := g.ask("SendMessage", body(m, nil, "")); r.reason == "" {
				t.Errorf("%+v was accepted", m)
			}
		}
		after, err := g.Box.Tenant("").Store.Thread(t.Context(), task.ContextID)
		if err != nil {
			t.Fatal(err)
		}
		if is, _ := json.Marshal(after); string(is) != string(was) || g.get(task.ID).Status.State != a2a.InputRequired {
			t.Errorf("%s, was %s", is, was)
		}
	})
}
