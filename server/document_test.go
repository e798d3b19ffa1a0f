package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/schema"
)

const everything = `map[config:map[] kind:awaken version:1]`

// A client sees the defaults of an agent's tools and backend. Writing them back changes nothing.
func TestAgent_IsShownWithItsDefaults(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	shown := g.want(200, "GET", "/v1/config/agents/helper", "", admin...)
	if fmt.Sprint(shown["allowed_tool_patterns"]) != "[*]" || fmt.Sprint(shown["backend"]) != everything {
		t.Errorf("shown is %v", shown)
	}
	g.want(201, "POST", "/v1/config/agents", `{"id":"own","model_id":"local-model"}`, admin...)
	own := g.want(200, "GET", "/v1/agents/own", "", admin...)
	if fmt.Sprint(own["allowed_tool_patterns"]) != "[*]" || fmt.Sprint(own["backend"]) != everything {
		t.Errorf("shown is %v", own)
	}
	live := g.want(200, "GET", "/v1/registry/versions", "", admin...)
	body, _ := json.Marshal(own)
	g.want(200, "PUT", "/v1/config/agents/own", string(body), admin...)
	if now := g.want(200, "GET", "/v1/registry/versions", "", admin...); fmt.Sprint(now) != fmt.Sprint(live) {
		t.Errorf("versions are %v, were %v", now, live)
	}
	for _, doc := range []string{`{"id":"own","model_id":"local-model","allowed_tools":["read"]}`, `{"id":"own","model_id":"local-model","allowed_tool_patterns":[]}`} {
		if got := g.want(200, "PUT", "/v1/config/agents/own", doc, admin...); fmt.Sprint(got["allowed_tool_patterns"]) == "[*]" {
			t.Errorf("%s is shown as %v", doc, got)
		}
	}
}

// A list has the time of each document's latest change, which a client may write back.
func TestList_HasTimeOfChanges(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, path := range []string{"/v1/agents", "/v1/config/providers"} {
		item := g.want(200, "GET", path, "", admin...)["items"].([]any)[0].(map[string]any)
		if at, _ := item["updated_at"].(float64); at < 1e12 {
			t.Errorf("%s has %v", path, item)
		}
		body, _ := json.Marshal(item)
		g.want(200, "PUT", strings.Replace(path, "/v1/agents", "/v1/config/agents", 1)+"/"+item["id"].(string), string(body), admin...)
	}
}

// The JSON Schema of a namespace accepts what clients are shown.
func TestSchema_AcceptsWhatIsShown(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(201, "POST", "/v1/config/providers", `{"id":"with-key","adapter":"openai","api_key":"k"}`, admin...)
	for _, ns := range config.Namespaces {
		_, raw := g.ask("GET", "/v1/config/"+string(ns)+"/$schema", "", admin...)
		s, err := schema.Compile(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range g.want(200, "GET", "/v1/config/"+string(ns), "", admin...)["items"].([]any) {
			doc, _ := json.Marshal(item)
			if err := s.Check(doc); err != nil {
				t.Errorf("%s: %s: %v", ns, doc, err)
			}
		}
	}
}

// An override that equals the builtin's value is not stored, so that a client that sends a whole
// form overrides only what was changed.
func TestOverride_EqualToTheBuiltinIsNotStored(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const path = "/v1/config/agents/helper"
	stored := func() string {
		return fmt.Sprint(g.want(200, "GET", path+"/meta", "", admin...)["user_overrides"])
	}
	form := `{"system_prompt":%q,"model_id":"local-model","max_rounds":16,"backend":{"kind":"awaken","version":1,"config":{"max_rounds":16}},
		"allowed_tool_patterns":["*"],"allowed_tools":null,"reasoning_effort":null,"sections":{"nothing":null}}`
	g.want(200, "PATCH", path+"/overrides", fmt.Sprintf(form, "Help more."), admin...)
	if got := stored(); got != "map[system_prompt:Help more.]" {
		t.Errorf("overrides are %s", got)
	}
	g.want(200, "PATCH", path+"/overrides", fmt.Sprintf(form, "Help."), admin...)
	if got := stored(); got != "<nil>" {
		t.Errorf("overrides are %s", got)
	}
	got := g.want(200, "PATCH", path+"/overrides", `{"allowed_tools":["read"],"allowed_tool_patterns":["*"]}`, admin...)
	if fmt.Sprint(got["allowed_tool_patterns"]) != "[*]" {
		t.Errorf("the agent is %v: a pattern that is not implied was dropped", got)
	}
}

// User interfaces get the assistant's tools with all that they show of a tool.
func TestCapabilities_DescribeTheToolsOfTheAssistant(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	tools := g.want(200, "GET", "/v1/capabilities", "", admin...)["admin_assistant"].(map[string]any)["bound_tools"].([]any)
	for _, v := range tools {
		tool, _ := v.(map[string]any)
		for _, name := range []string{"id", "label", "description"} {
			if s, _ := tool[name].(string); s == "" {
				t.Errorf("%v has no %s", tool, name)
			}
		}
		if tool["visibility"] != "admin_only" || tool["selectable_by_agents"] != false || tool["exposable_to_protocols"] != false ||
			tool["requires_confirmation"] != (tool["id"] == "admin_publish_agent") {
			t.Errorf("the tool is %v", tool)
		}
	}
}

// A server that only answers chats is asked for a few tokens: of a configured model, or of any.
func TestProvider_WithoutAModelListIsAskedForTokens(t *testing.T) {
	t.Parallel()
	names := make(chan string, 16)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(404)
			return
		}
		if names <- body.Model; r.Header.Get("Authorization") == "Bearer picky" && body.Model != "mine" {
			w.WriteHeader(404)
			fmt.Fprint(w, `{"error":{"message":"no such model","code":"model_not_found"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"OK"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer web.Close()
	g := newRig(t)
	test := func(id, key, want string, ok bool) {
		t.Helper()
		g.want(200, "PUT", "/v1/config/providers/"+id, fmt.Sprintf(`{"id":%q,"adapter":"openai","api_key":%q,"base_url":%q}`, id, key, web.URL), admin...)
		out := g.want(200, "POST", "/v1/providers/"+id+"/test", "", admin...)
		if out["ok"] != ok || out["network_tested"] != true {
			t.Errorf("%s: %v", id, out)
		}
		select {
		case got := <-names:
			if got != want {
				t.Errorf("%s: asked for %s, want %s", id, got, want)
			}
		default:
			t.Errorf("%s: not asked: %v", id, out)
		}
		if text := fmt.Sprint(out["error"]); !ok && !strings.Contains(text, "add a model") {
			t.Errorf("%s: the error is %s", id, text)
		}
	}
	test("any", "k", "default", true)
	test("picky", "picky", "default", false)
	g.want(201, "POST", "/v1/config/models", `{"id":"of-picky","provider_id":"picky","upstream_model":"mine"}`, admin...)
	test("picky", "picky", "mine", true)
}

// network_tested says whether a request was sent: a scripted provider sends none.
func TestProvider_TestSaysWhetherARequestWasSent(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	if out := g.want(200, "POST", "/v1/providers/local/test", "", admin...); out["ok"] != true || out["network_tested"] != false {
		t.Errorf("the test says %v", out)
	}
}

// A document of a tool has the JSON Schema of its arguments, as capabilities have it.
func TestTool_HasTheSchemaOfItsArguments(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	items := g.want(200, "GET", "/v1/config/tools", "", admin...)["items"].([]any)
	if len(items) == 0 {
		t.Fatal("no tools are listed")
	}
	for _, v := range items {
		tool := v.(map[string]any)
		got := g.want(200, "GET", "/v1/config/tools/"+tool["id"].(string), "", admin...)
		if s, _ := got["parameters_schema"].(map[string]any); s["type"] != "object" || fmt.Sprint(s) != fmt.Sprint(tool["parameters_schema"]) {
			t.Errorf("%v: the schema is %v, in the list %v", tool["id"], s, tool["parameters_schema"])
		}
	}
	id := items[0].(map[string]any)["id"].(string)
	if got := g.want(200, "PATCH", "/v1/config/tools/"+id+"/overrides", `{"description":"Other words."}`, admin...); got["parameters_schema"] == nil {
		t.Errorf("an overridden tool is %v", got)
	}
}

// Everything that a run of an agent depends on can be overridden.
func TestOverride_TakesOutputSchemaBudgetAndExecutionMode(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const path = "/v1/config/agents/helper/overrides"
	got := g.want(200, "PATCH", path, `{"output_schema":{"type":"object"},"max_output_repairs":1,"tool_execution_mode":"parallel_streaming"}`, admin...)
	if fmt.Sprint(got["output_schema"]) != "map[type:object]" || got["max_output_repairs"] != 1.0 || got["tool_execution_mode"] != "parallel_streaming" {
		t.Errorf("the agent is %v", got)
	}
	g.says(400, "tool_execution_mode", "PATCH", path, `{"tool_execution_mode":"at once"}`)
	got = g.want(200, "PATCH", path, `{"output_schema":null,"max_output_repairs":null,"tool_execution_mode":null}`, admin...)
	if got["output_schema"] != nil || got["max_output_repairs"] != nil || got["tool_execution_mode"] != nil {
		t.Errorf("the agent is %v", got)
	}
}

// A message that nothing has to wait for is not queued.
func TestMessages_OnAnIdleThreadAreRunning(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, _ := g.done()
	out := g.want(202, "POST", "/v1/threads/"+thread+"/messages", `{"messages":[{"role":"user","content":"again"}]}`, admin...)
	if out["status"] != "running" {
		t.Errorf("accepted as %v", out)
	}
}

// The request id of a client is used in the reply, if it can be one.
func TestRequestID_IsTheClients(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for id, used := range map[string]bool{"req-1.A_b": true, strings.Repeat("x", 128): true, "": false, "a b": false, "a\"b": false, strings.Repeat("x", 129): false, "ü": false} {
		res := g.do("GET", "/health", "", "X-Request-Id", id)
		_ = res.Body.Close()
		if got := res.Header.Get("X-Request-Id"); got == "" || (got == id) != used {
			t.Errorf("%q: the reply has %q", id, got)
		}
	}
}

// Diagnostics have one shape, wherever they are.
func TestDiagnostics_HaveOneShape(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	out := g.want(200, "POST", "/v1/config/agents/validate", `{"id":"x","model_id":"local-model","sections":{"permission":{"default_behavior":"allow"}}}`, admin...)
	list := out["diagnostics"].([]any)
	if len(list) == 0 {
		t.Fatal("there is no diagnostic")
	}
	for _, d := range list {
		if d := d.(map[string]any); fmt.Sprint(d["resource"]) != "map[id:x namespace:agents]" || d["namespace"] != nil {
			t.Errorf("the diagnostic is %v", d)
		}
	}
}
