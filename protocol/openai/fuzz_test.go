package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// Whatever the body of a request is, the server answers with a response, a stream that ends, or an error of
// the client in OpenAI's shape.
func FuzzRequest(f *testing.F) {
	paths := []string{"/chat/completions", "/responses", "/responses/resp_x/cancel"}
	seeds := []string{
		``, `{`, `[]`, `null`, `7`, `{}`, `{"model":1}`, "{\"model\":\"\xff\"}", `{"model":"default\u0000"}`,
		`{"model":"default","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"default","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}]}`,
		`{"model":"default","messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{"}}]},{"role":"tool","tool_call_id":"c","content":"x"},{"role":"user","content":"RUN_TOOL where"}]}`,
		`{"model":"default","messages":[{"role":"tool","tool_call_id":"call_r.t","content":[{"type":"text","text":"x"}]}]}`,
		`{"model":"default","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a","parameters":{"$ref":"#"}}}],"tool_choice":"none"}`,
		`{"model":"default","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object"}}},"max_completion_tokens":5}`,
		`{"model":"default","input":"hi","stream":true,"store":false,"instructions":"x","reasoning":{"effort":"minimal"}}`,
		`{"model":"default","input":[{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,AA==","filename":"a"}]}],"conversation":{"id":"c"}}`,
		`{"model":"default","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"7"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"x"}]}]}`,
		`{"input":[{"type":"mcp_approval_response","approval_request_id":"mcpr_a.b","approve":false}],"conversation":"c"}`,
		`{"model":"default","input":[],"previous_response_id":"resp_a~2"}`, `{"model":"default","background":true,"input":"x","text":{"format":{"type":"json_object"}}}`,
	}
	newRig(f).Fuzz(f, len(paths), seeds, func(kind int, body string) protocoltest.Request {
		return protocoltest.Request{Method: http.MethodPost, Path: "/openai/v1" + paths[kind], Body: body}
	}, func(t *testing.T, resp *http.Response, got string) {
		if resp.StatusCode == 200 {
			if resp.Header.Get("Content-Type") != "text/event-stream" {
				parse(t, got)
				return
			}
			list := frames(t, got)
			if n := len(list); n == 0 || !strings.HasSuffix(got, "data: [DONE]\n\n") && list[n-1].at("response", "status") == nil {
				t.Errorf("the stream does not end: %s", got)
			}
			return
		}
		var said struct {
			Error struct{ Message, Type, Code string }
		}
		if resp.StatusCode == 500 && strings.Contains(got, `"run_failed"`) {
			return // the scripted model fits no schema
		}
		if err := json.Unmarshal([]byte(got), &said); err != nil || said.Error.Message == "" || said.Error.Type == "" || resp.StatusCode < 400 || resp.StatusCode > 499 {
			t.Errorf("%s: %s", resp.Status, got)
		}
	})
}
