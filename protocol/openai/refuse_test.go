package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

var queryAll = awaken.RunQuery{Limit: 100}

// What the server does not accept is an error in OpenAI's shape that names the parameter, and no run.
func TestRefuses(t *testing.T) {
	g := newRig(t)
	user := `"messages":[{"role":"user","content":"x"}]`
	for _, tt := range []struct {
		path, body  string
		status      int
		param, code string
		says        string
	}{
		{"/chat/completions", `{"model":"unheard-of",` + user + `}`, 404, "model", "model_not_found", `model "unheard-of" not found; available: again, boss, careful, default`},
		{"/chat/completions", `{` + user + `}`, 400, "model", "missing_required_parameter", "model is missing"},
		{"/chat/completions", `{"model":"default"}`, 400, "messages", "missing_required_parameter", "messages is empty"},
		{"/chat/completions", `{"model":"default","n":2,` + user + `}`, 400, "n", "unsupported_parameter", "it is 2, want 1"},
		{"/chat/completions", `{"model":"default","logprobs":true,` + user + `}`, 400, "logprobs", "unsupported_parameter", ""},
		{"/chat/completions", `{"model":"default","top_logprobs":3,` + user + `}`, 400, "top_logprobs", "unsupported_parameter", ""},
		{"/chat/completions", `{"model":"default","stop":["a","b","c","d","e"],` + user + `}`, 400, "stop", "invalid_value", "up to 4"},
		{"/chat/completions", `{"model":"default","logit_bias":{"1":2},` + user + `}`, 400, "logit_bias", "unsupported_parameter", ""},
		{"/chat/completions", `{"model":"default","functions":[],` + user + `}`, 400, "functions", "unsupported_parameter", "use tools"},
		{"/chat/completions", `{"model":"default","modalities":["audio"],` + user + `}`, 400, "modalities", "unsupported_parameter", ""},
		{"/chat/completions", `{"model":"default","tool_choice":"required",` + user + `}`, 400, "tool_choice", "invalid_value", "the request has no tools"},
		{"/chat/completions", `{"model":"default","tool_choice":"always",` + user + `}`, 400, "tool_choice", "invalid_value", "want auto, none, required"},
		{"/chat/completions", `{"model":"default","tool_choice":7,` + user + `}`, 400, "tool_choice", "invalid_value", "want auto, none, required"},
		{"/chat/completions", `{"model":"default","tool_choice":{"type":"function","function":{"name":"g"}},"tools":[{"type":"function","function":{"name":"f"}}],` + user + `}`, 400, "tool_choice", "invalid_value", "which tools does not have; it has: f"},
		{"/chat/completions", `{"model":"default","tool_choice":{"type":"function"},"tools":[{"type":"function","function":{"name":"f"}}],` + user + `}`, 400, "tool_choice", "invalid_value", "no name"},
		{"/chat/completions", `{"model":"default","tool_choice":{"type":"custom"},` + user + `}`, 400, "tool_choice", "unsupported_parameter", "want function or allowed_tools"},
		{"/chat/completions", `{"model":"default","tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"never"}},` + user + `}`, 400, "tool_choice", "invalid_value", "want auto or required"},
		{"/chat/completions", `{"model":"default","temperature":3,` + user + `}`, 400, "temperature", "invalid_value", "want 0 to 2"},
		{"/chat/completions", `{"model":"default","max_tokens":0,` + user + `}`, 400, "max_tokens", "invalid_value", "at least 1"},
		{"/chat/completions", `{"model":"default","reasoning_effort":"huge",` + user + `}`, 400, "reasoning_effort", "invalid_value", "xhigh"},
		{"/chat/completions", `{"model":"default","response_format":{"type":"xml"},` + user + `}`, 400, "response_format.type", "invalid_value", "json_schema"},
		{"/chat/completions", `{"model":"default","tools":[{"type":"web_search"}],` + user + `}`, 400, "tools[0].type", "unsupported_parameter", "want function"},
		{"/chat/completions", `{"model":"default","messages":[{"role":"wizard","content":"x"}]}`, 400, "messages[0].role", "invalid_value", "want system, developer, user, assistant or tool"},
		{"/chat/completions", `{"model":"default","messages":[{"role":"user","content":[{"type":"video"}]}]}`, 400, "messages[0].content[0].type", "invalid_value", "video"},
		{"/chat/completions", `{"model":"default","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}`, 400, "messages[0].content[0].file_id", "unsupported_parameter", "keeps no files"},
		{"/chat/completions", `{"model":"default","messages":[{"role":"tool","tool_call_id":"call_none.suspend_x","content":"x"}]}`, 404, "messages[0].content", "not_found", "call not found"},
		{"/chat/completions", `{"model":7}`, 400, "", "invalid_body", "model"},
		{"/chat/completions", `{`, 400, "", "", ""},
		{"/responses", `{"model":"default"}`, 400, "input", "missing_required_parameter", "input is empty"},
		{"/responses", `{"model":"default","input":"x","previous_response_id":"resp_none"}`, 404, "previous_response_id", "previous_response_not_found", "resp_none"},
		{"/responses", `{"model":"default","input":"x","previous_response_id":"resp_unstored_none"}`, 404, "previous_response_id", "previous_response_not_found", ""},
		{"/responses", `{"model":"default","input":"x","previous_response_id":"resp_1","conversation":"c"}`, 400, "conversation", "invalid_value", "both set"},
		{"/responses", `{"model":"default","input":"x","background":true,"store":false}`, 400, "store", "invalid_value", ""},
		{"/responses", `{"model":"default","input":"x","prompt":{"id":"p"}}`, 400, "prompt", "unsupported_parameter", ""},
		{"/responses", `{"model":"default","input":[{"type":"item_reference","id":"i"}]}`, 400, "input[0].type", "unsupported_parameter", "previous_response_id"},
		{"/responses", `{"model":"default","input":[{"type":"computer_call"}]}`, 400, "input[0].type", "unsupported_parameter", ""},
		{"/responses", `{"model":"default","input":[{"role":"tool","content":"x"}]}`, 400, "input[0].role", "invalid_value", ""},
		{"/responses", `{"model":"default","input":[{"type":"mcp_approval_response","approval_request_id":"mcpr_none.x","approve":true}]}`, 404, "input[0]", "not_found", "call not found"},
	} {
		status, body := g.ask(tt.path, tt.body)
		e := parse(t, body)
		if status != tt.status || e.text("error", "param") != tt.param || tt.code != "" && e.text("error", "code") != tt.code || !strings.Contains(e.text("error", "message"), tt.says) ||
			e.text("error", "type") != "invalid_request_error" {
			t.Errorf("%s %s:\n%d %s", tt.path, tt.body, status, body)
		}
	}
	runs, err := g.Box.Tenant("").Store.ListRuns(t.Context(), queryAll)
	if err != nil || len(runs) > 0 {
		t.Errorf("%d runs were made, %v", len(runs), err)
	}
}

// A path that the server does not have is an error in OpenAI's shape too.
func TestRefuses_UnknownPaths(t *testing.T) {
	g := newRig(t)
	for _, tt := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"POST", "/embeddings", 404, "not_found"}, {"GET", "/files/x", 404, "not_found"}, {"GET", "/responses/x/input_items", 404, "not_found"},
		{"PUT", "/models", 405, "method_not_allowed"}, {"GET", "/chat/completions", 405, "method_not_allowed"},
	} {
		status, body := g.Ask(tt.method, g.URL+"/openai/v1"+tt.path, "")
		if e := parse(t, body); status != tt.status || e.text("error", "code") != tt.code || e.text("error", "type") != "invalid_request_error" || e.text("error", "message") == "" {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, status, body)
		}
	}
	if status, body := g.Ask("GET", g.URL+"/v1/nothing", ""); status != 404 || parse(t, body).text("error") == "" {
		t.Errorf("elsewhere: %d %s", status, body)
	}
}

// An error does not repeat a long text of the request.
func TestRefuses_WithShortErrors(t *testing.T) {
	g := newRig(t)
	long := strings.Repeat("x", 1<<20)
	for path, body := range map[string]string{
		"/responses":        `{"model":"default","input":"x","previous_response_id":"resp_` + long + `"}`,
		"/chat/completions": `{"model":"default","messages":[{"role":"tool","tool_call_id":"call_` + long + `.t","content":"x"}]}`,
	} {
		if status, text := g.ask(path, body); status != 404 || len(text) > 1000 {
			t.Errorf("%s: %d, %d bytes: %.200s", path, status, len(text), text)
		}
	}
}

// A request cannot answer a call more than once: each answer takes work, and only one can count.
func TestRefuses_AnswersToOneCall(t *testing.T) {
	g := newRig(t)
	made := g.must("/responses", `{"model":"default","input":"RUN_TOOL ask"}`)
	approve := fmt.Sprintf(`{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}`, made.text("output", 0, "id"))
	status, body := g.ask("/responses", fmt.Sprintf(`{"model":"default","input":[%s,%s]}`, approve, approve))
	if e := parse(t, body); status != 400 || e.text("error", "param") != "input[1]" || !strings.Contains(e.text("error", "message"), "want one answer") {
		t.Errorf("%d %s", status, body)
	}
	if g.Open(made.text("conversation", "id")) == nil {
		t.Error("the run does not wait any more")
	}
}

// Agents are models.
func TestModels(t *testing.T) {
	g := newRig(t)
	status, body := g.Ask(http.MethodGet, g.URL+"/openai/v1/models", "")
	if status != 200 || !strings.Contains(body, `{"id":"default","object":"model"`) || parse(t, body).text("object") != "list" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := g.Ask(http.MethodGet, g.URL+"/openai/v1/models/careful", ""); status != 200 || parse(t, body).text("id") != "careful" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := g.Ask(http.MethodGet, g.URL+"/openai/v1/models/none", ""); status != 404 || parse(t, body).text("error", "code") != "model_not_found" {
		t.Errorf("%d %s", status, body)
	}
}

// A user can neither read, continue, answer, cancel nor delete a response of another one.
func TestUsers_AreKeptApart(t *testing.T) {
	g := newRig(t)
	made := g.must("/responses", `{"model":"default","input":"RUN_TOOL ask"}`, "X-User", "alice")
	id, approval := made.text("id"), made.text("output", 0, "id")
	if !strings.HasPrefix(approval, "mcpr_") {
		t.Fatalf("%v", made)
	}
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/responses/" + id, ""},
		{"GET", "/responses/" + id + "?stream=true", ""},
		{"POST", "/responses/" + id + "/cancel", ""},
		{"DELETE", "/responses/" + id, ""},
		{"POST", "/responses", fmt.Sprintf(`{"model":"default","input":"x","previous_response_id":%q}`, id)},
		{"POST", "/responses", fmt.Sprintf(`{"model":"default","input":"x","conversation":%q}`, made.text("conversation", "id"))},
		{"POST", "/responses", fmt.Sprintf(`{"model":"default","input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]}`, approval)},
		{"POST", "/chat/completions", fmt.Sprintf(`{"model":"default","messages":[{"role":"tool","tool_call_id":%q,"content":"{\"approved\":true}"}]}`, strings.Replace(approval, "mcpr_", "call_", 1))},
	} {
		for _, user := range []string{"bob", ""} {
			if status, body := g.Ask(r.method, g.URL+"/openai/v1"+r.path, r.body, "X-User", user); status != 404 || parse(t, body).text("error", "type") != "invalid_request_error" {
				t.Errorf("%s %s by %q: %d %s", r.method, r.path, user, status, body)
			}
		}
	}
	if g.Open(made.text("conversation", "id")) == nil {
		t.Error("the run does not wait any more")
	}
}
