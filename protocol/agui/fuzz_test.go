package agui_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// Whatever the body of a request is, the server answers with a stream that ends, or with a
// client error that names the problem.
func FuzzRequest(f *testing.F) {
	paths := []string{"/run", "/agent/default/run", "/agent/default/connect", "/agent/default/stop/t", "", "/threads/t/runs", "/agents/default/runs"}
	seeds := []string{
		``, `{`, `[]`, `null`, `7`, `{}`, `{"threadId":1}`, "{\"threadId\":\"\xff\"}",
		`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}},{"type":"binary","mimeType":"a/b","url":"data:,x"}]}]}`,
		`{"messages":[{"role":"assistant","toolCalls":[{"id":"c"}]},{"role":"tool","toolCallId":"c","content":"x"},{"role":"user","content":"RUN_TOOL where"}]}`,
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a","parameters":{"type":"object","properties":{"a":{"$ref":"#/x"}}}}]}`,
		`{"threadId":"t","resume":[{"interruptId":"i","status":"resolved","payload":{"approved":1}}]}`,
		`{"threadId":"t","resume":[{"interruptId":"i","status":"cancelled"}],"messages":null}`,
		`{"messages":[{"role":"user","content":"x"}],"context":{"a":1},"state":[1],"forwardedProps":"x","protocolVersion":"9"}`,
		`{"method":"info"}`, `{"method":"agent/run","params":{"agentId":"default"},"body":{"messages":[{"role":"user","content":"x"}]}}`,
		`{"method":"agent/connect","body":{"threadId":"t"}}`, `{"method":"agent/stop","params":{"threadId":"t"},"body":{"runId":"r"}}`, `{"method":"agent/stop","params":7}`,
	}
	newRig(f).Fuzz(f, len(paths), seeds, func(kind int, body string) protocoltest.Request {
		return protocoltest.Request{Method: http.MethodPost, Path: "/v1/ag-ui" + paths[kind], Body: body}
	}, func(t *testing.T, resp *http.Response, got string) {
		if resp.StatusCode == 200 {
			if ct := resp.Header.Get("Content-Type"); ct == "text/event-stream" {
				list := eventsIn(t, got)
				if n := len(list); n > 0 && list[n-1].kind() != "RUN_FINISHED" && list[n-1].kind() != "RUN_ERROR" {
					t.Errorf("the stream does not end: %v", kinds(list))
				}
			}
			return
		}
		var said struct{ Error, Code string }
		if err := json.Unmarshal([]byte(got), &said); err != nil || said.Error == "" || said.Code == "" || resp.StatusCode < 400 || resp.StatusCode > 499 {
			t.Errorf("%s: %s", resp.Status, got)
		}
	})
}
