package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
)

// says sends a request as an admin and checks the status and the body.
func (g *rig) says(status int, says, method, path, body string, headers ...string) string {
	g.t.Helper()
	got, text := g.ask(method, path, body, append(headers, admin...)...)
	if got != status || !strings.Contains(text, says) {
		g.t.Fatalf("%s %s %s: %d %s, want %d %q", method, path, body, got, text, status, says)
	}
	return text
}

// etag returns the ETag of a document.
func (g *rig) etag(path string) string {
	g.t.Helper()
	resp := g.do("GET", path, "", admin...)
	resp.Body.Close()
	return resp.Header.Get("ETag")
}

// run sends a message to an agent and returns the answer.
func (g *rig) run(agent, message string) string {
	g.t.Helper()
	out := g.want(200, "POST", "/v1/runs", runBody(agent, g.id(), message), "Accept", "application/json")
	text, _ := out["response"].(string)
	return text
}

func TestConfig_Documents(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const path = "/v1/config/agents/a"
	resp := g.do("POST", "/v1/config/agents", `{"id":"a","model_id":"m","system_prompt":"one"}`, admin...)
	resp.Body.Close()
	if resp.StatusCode != 201 || resp.Header.Get("ETag") != `"1"` {
		t.Fatalf("made: %d, etag %s", resp.StatusCode, resp.Header.Get("ETag"))
	}
	if got := g.run("a", "hello"); got != "Scripted response to: hello" {
		t.Errorf("the new agent says %q", got)
	}
	got := g.want(200, "GET", path, "", admin...)
	if got["system_prompt"] != "one" || got["max_rounds"] != 16.0 {
		t.Errorf("it is %v", got)
	}
	g.says(201, `"max_rounds":0`, "POST", "/v1/config/agents", `{"id":"endless","model_id":"m","max_rounds":0}`)
	g.says(200, `"max_rounds":0`, "GET", "/v1/config/agents/endless", "")
	g.says(409, "exists", "POST", "/v1/config/agents", `{"id":"a","model_id":"m"}`)
	g.says(412, "exists", "PUT", path, `{"id":"a","model_id":"m"}`, "If-None-Match", "*")
	g.says(200, `"two"`, "PUT", path, `{"id":"a","model_id":"m","system_prompt":"two"}`, "If-Match", `"1"`)
	g.says(412, "revision mismatch: expected 1, found 2", "PUT", path, `{"id":"a","model_id":"m"}`, "If-Match", `"1"`)
	g.says(412, "revision mismatch", "DELETE", path, "", "If-Match", `"1"`)
	g.says(412, "found none", "PUT", "/v1/config/agents/b", `{"id":"b","model_id":"m"}`, "If-Match", "*")
	g.says(400, "If-Match is", "PUT", path, `{"id":"a","model_id":"m"}`, "If-Match", "two")
	g.says(400, "If-None-Match is", "PUT", path, `{"id":"a","model_id":"m"}`, "If-None-Match", `"2"`)
	if etag := g.etag(path); etag != `"2"` {
		t.Errorf("the etag is %s", etag)
	}
	if meta := g.want(200, "GET", path+"/meta", "", admin...); meta["revision"] != 2.0 || meta["source"].(map[string]any)["kind"] != "user" || meta["hidden"] != false {
		t.Errorf("meta is %v", meta)
	}
	if resp := g.do("GET", path+"/meta", "", admin...); resp.Header.Get("ETag") != `"2"` {
		t.Errorf("the etag of meta is %s", resp.Header.Get("ETag"))
	}
	g.says(200, `"new"`, "PUT", "/v1/config/agents/b", `{"id":"b","model_id":"m","system_prompt":"new"}`, "If-None-Match", "*")
	list := g.want(200, "GET", "/v1/config/agents?offset=1&limit=1", "", admin...)
	if list["namespace"] != "agents" || list["offset"] != 1.0 || list["limit"] != 1.0 || len(list["items"].([]any)) != 1 || list["items"].([]any)[0].(map[string]any)["id"] != "b" {
		t.Errorf("listed %v", list)
	}
	if again := g.want(200, "GET", "/v1/agents?offset=1&limit=1", "", admin...); fmt.Sprint(again) != fmt.Sprint(list) {
		t.Errorf("agents are %v, want %v", again, list)
	}
	if one := g.want(200, "GET", "/v1/agents/b", "", admin...); one["system_prompt"] != "new" {
		t.Errorf("the agent is %v", one)
	}
	g.says(200, `"id":"helper","meta":{"source":{"kind":"builtin","binary_version":"1"}`, "GET", "/v1/config/agents/meta", "")
	g.says(200, `"properties"`, "GET", "/v1/config/agents/$schema", "")
	if out := g.want(200, "POST", "/v1/config/agents/validate", `{"id":"c","model_id":"m"}`, admin...); out["ok"] != true || out["normalized"].(map[string]any)["max_rounds"] != 16.0 {
		t.Errorf("validated %v", out)
	}
	g.says(404, "agents/c", "GET", "/v1/config/agents/c", "")
	g.says(204, "", "DELETE", path, "", "If-Match", `"2"`)
	g.says(404, "agents/a", "GET", path, "")
	g.says(404, "agents/a", "DELETE", path, "")
	g.says(404, "agents/a", "GET", path+"/meta", "")
	if status, text := g.ask("POST", "/v1/runs", runBody("a", "", "hello")); status != 400 || !strings.Contains(text, "agent not found: a") {
		t.Errorf("a run of an agent that is gone: %d %s", status, text)
	}
}

func TestConfig_Mistakes(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	before := g.documents()
	for _, c := range []struct {
		status             int
		says               string
		method, path, body string
	}{
		{404, "namespace not found: nothing", "GET", "nothing", ""},
		{404, "namespace not found: admin-assistant", "GET", "admin-assistant/default", ""},
		{404, "namespace not found: _audit", "POST", "_audit", `{"id":"x"}`},
		{400, "id is missing", "POST", "agents", `{"model_id":"m"}`},
		{400, "id is missing", "POST", "agents", `{"id":" ","model_id":"m"}`},
		{400, "id is missing", "PUT", "agents/x", ``},
		{400, "id is missing", "PUT", "agents/x", `{"id":null}`},
		{400, "not an object", "PUT", "agents/x", `{"id":7}`},
		{400, "not an object", "PUT", "agents/x", `["x"]`},
		{400, `id is \"y\" in the body, want \"x\", as in the path`, "PUT", "agents/x", `{"id":"y","model_id":"m"}`},
		{400, "the body is not JSON", "PUT", "agents/x", `{"id":`},
		{400, "reserved for a route", "POST", "agents", `{"id":"meta","model_id":"m"}`},
		{400, "reserved for the server", "POST", "agents", `{"id":"__admin_assistant","model_id":"m"}`},
		{400, "defined in code", "PUT", "agents/default", `{"id":"default","model_id":"m"}`},
		{400, "defined in code", "DELETE", "models/m", ""},
		{400, `unknown field \"system_promt\", did you mean \"system_prompt\"?`, "POST", "agents", `{"id":"x","model_id":"m","system_promt":"hi"}`},
		{400, `model_id`, "POST", "agents", `{"id":"x","model":"m"}`},
		{400, "max_rounds", "POST", "agents", `{"id":"x","model_id":"m","max_rounds":"many"}`},
		{400, "missing", "POST", "agents", `{"id":"x","model_id":"missing"}`},
		{400, "missing", "POST", "agents", `{"id":"x","model_id":"m","plugin_ids":["missing"]}`},
		{400, "only agent __admin_assistant can load this plugin", "POST", "agents", `{"id":"x","model_id":"m","plugin_ids":["admin-assistant"]}`},
		{400, "missing", "POST", "models", `{"id":"x","provider_id":"missing","upstream_model":"x"}`},
		{400, `upstream_model`, "POST", "models", `{"id":"x","provider_id":"local","model":"x"}`},
		{400, `adapter is \"magic\", want openai or scripted`, "POST", "providers", `{"id":"x","adapter":"magic"}`},
		{400, "base_url", "POST", "a2a-servers", `{"id":"x","base_url":"ftp://x"}`},
		{400, "command", "POST", "mcp-servers", `{"id":"x","transport":"stdio"}`},
		{400, "lower-case", "POST", "skills", `{"id":"X","name":"n","description":"d","instructions_md":"i"}`},
		{400, "tools namespace is read-only; use PATCH /v1/config/tools/:id/overrides", "PUT", "tools/ask", `{"id":"ask","name":"ask","description":"x"}`},
		{400, "tools namespace is read-only", "POST", "tools", `{"id":"new","name":"n","description":"x"}`},
		{400, "tools namespace is read-only", "DELETE", "tools/ask", ""},
		{400, "tools namespace is read-only", "POST", "tools/validate", `{"id":"ask"}`},
		{400, `publish is \"maybe\", want true, false`, "PUT", "agents/x?publish=maybe", `{"id":"x","model_id":"m"}`},
		{400, `unknown field \"max_round\", did you mean \"max_rounds\"?`, "POST", "agents/validate", `{"id":"x","model_id":"m","max_round":3}`},
		{400, "missing 'id'", "POST", "agents/validate", `{"model_id":"m"}`},
	} {
		g.says(c.status, c.says, c.method, "/v1/config/"+c.path, c.body)
	}
	if after := g.documents(); after != before {
		t.Errorf("something was written:\n%s\nwas\n%s", after, before)
	}
	if failed := g.want(200, "GET", "/v1/audit-log?action=apply_failed", "", admin...)["items"].([]any); len(failed) == 0 || failed[0].(map[string]any)["error"] == "" {
		t.Error("no write that was refused is in the audit log")
	}
}

// A rule that means no tool is a warning in the response of the write, and in the metadata of the document.
func TestDocuments_NamesThatMeanNoToolAreWarnings(t *testing.T) {
	g := newRig(t)
	res := g.do("POST", "/v1/config/agents", `{"id":"stray","model_id":"m","excluded_tools":["mcp__gone__x"]}`, admin...)
	defer res.Body.Close()
	if got := res.Header.Values("X-Awaken-Warning"); res.StatusCode != 201 || len(got) != 1 || !strings.HasPrefix(got[0], `catalog_literal_matches_nothing: excluded_tools has "mcp__gone__x", which is not a registered tool`) {
		t.Errorf("%d, warnings %q", res.StatusCode, got)
	}
	if status, text := g.ask("GET", "/v1/config/agents/stray/meta", "", admin...); status != 200 || !strings.Contains(text, `"code":"catalog_literal_matches_nothing"`) {
		t.Errorf("%d %s", status, text)
	}
}

// documents summarizes everything stored and live, without audit events.
func (g *rig) documents() string {
	g.t.Helper()
	var sb strings.Builder
	for _, ns := range config.Namespaces {
		for v, err := range g.control.All(g.t.Context(), ns) {
			if err != nil {
				g.t.Fatal(err)
			}
			fmt.Fprintf(&sb, "%s %d %v %s %s\n", v.Key, v.Meta.Revision, v.Live, v.Spec, v.Meta.UserOverrides)
		}
	}
	head, err := g.control.Versions().Head(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	own, err := g.control.Assistant().Settings(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	now, err := json.Marshal(head)
	if err != nil {
		g.t.Fatal(err)
	}
	fmt.Fprintf(&sb, "head %s assistant %+v\n", now, *own)
	_, made := g.mcp.Open()
	fmt.Fprintf(&sb, "%d connections\n", made)
	for _, id := range []string{"files", "down"} {
		if c, err := g.control.Connections().MCP(id); err == nil {
			fmt.Fprintf(&sb, "%s %d\n", id, c.Status().SessionGeneration)
		}
	}
	return sb.String()
}

func TestConfig_Secrets(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const secret = "sk-very-secret"
	provider := func(fields string) string {
		return fmt.Sprintf(`{"id":"p1","adapter":"openai","base_url":"http://127.0.0.1:9/v1"%s}`, fields)
	}
	g.says(201, `"has_api_key":true`, "POST", "/v1/config/providers", provider(`,"api_key":"`+secret+`"`))
	g.says(200, `"has_api_key":true`, "GET", "/v1/config/providers/p1", "")
	g.says(200, `"has_api_key":false`, "GET", "/v1/config/providers/local", "")
	g.says(200, `"has_api_key":true`, "PUT", "/v1/config/providers/p1", g.says(200, "", "GET", "/v1/config/providers/p1", "")) // what was got, put back
	g.says(200, `"has_api_key":true`, "PUT", "/v1/config/providers/p1", provider(``))
	g.says(200, `"has_env":true`, "GET", "/v1/config/mcp-servers/files", "")
	g.says(200, `"env_keys":["FILES_TOKEN"]`, "GET", "/v1/config/mcp-servers/files", "")
	g.says(200, `"has_auth":false`, "GET", "/v1/config/a2a-servers/peer", "")
	g.says(201, `"has_auth":true`, "POST", "/v1/config/a2a-servers", `{"id":"p2","base_url":"https://peer.example","auth":{"type":"bearer","token":"`+secret+`"}}`)

	g.says(201, `"token":"***"`, "POST", "/v1/config/agents", `{"id":"remote","endpoint":{"base_url":"https://far.example","auth":{"type":"bearer","token":"`+secret+`"}},"sections":{}}`)
	got := g.says(200, `"token":"***"`, "GET", "/v1/config/agents/remote", "")
	edited := strings.Replace(got, `"timeout_ms":300000`, `"timeout_ms":1000`, 1)
	g.says(200, `"timeout_ms":1000`, "PUT", "/v1/config/agents/remote", edited)
	if agent := g.control.Registry().Agent("remote"); agent == nil || agent.Endpoint.Auth.Token.Expose() != secret || agent.Endpoint.TimeoutMS != 1000 {
		t.Errorf("after it was got, edited and put back the agent is %+v", agent)
	}
	g.says(400, "***", "POST", "/v1/config/agents", `{"id":"fresh","endpoint":{"base_url":"https://far.example","auth":{"type":"bearer","token":"***"}}}`)

	for _, path := range []string{"/v1/config/providers", "/v1/config/agents", "/v1/agents/remote", "/v1/config/a2a-servers", "/v1/config/mcp-servers", "/v1/audit-log", "/v1/registry/versions", "/v1/registry/drafts", "/v1/capabilities", "/v1/config/agents/meta"} {
		if text := g.says(200, "", "GET", path, ""); strings.Contains(text, secret) || strings.Contains(text, "env-secret") {
			t.Errorf("%s has a secret: %s", path, text)
		}
	}
	g.says(200, `"has_api_key":false`, "PUT", "/v1/config/providers/p1", `{"id":"p1","adapter":"scripted","api_key":""}`)
	g.says(200, `"has_auth":false`, "PUT", "/v1/config/a2a-servers/p2", `{"id":"p2","base_url":"https://peer.example","auth":null}`)
}

func TestConfig_Dependants(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	status, text := g.ask("DELETE", "/v1/config/providers/local", "", admin...)
	if want := `{"error":"cannot delete: other records depend on this resource","code":"in_use","used_by":[{"namespace":"models","id":"local-model"}]}`; status != 409 || text != want {
		t.Errorf("%d %s, want 409 %s", status, text, want)
	}
	g.says(409, `"used_by":[{"namespace":"agents","id":"helper"}]`, "DELETE", "/v1/config/models/local-model", "")
	g.says(409, `"used_by":[{"namespace":"models","id":"local-model"}]`, "DELETE", "/v1/config/providers/local?force=true", "")
	preview := g.want(200, "GET", "/v1/config/providers/local/removal-preview", "", admin...)
	if fmt.Sprint(preview) != "map[affected:[map[id:helper namespace:agents] map[id:local-model namespace:models]] agent_ids:[helper] allowed:false block_if_referenced_allowed:false "+
		"cascade_unused_models_allowed:false model_ids:[local-model] open_runs:0 provider_id:local resource:map[id:local namespace:providers] runs:[] used_by:[map[id:local-model namespace:models]]]" {
		t.Errorf("the preview is %v", preview)
	}
	g.says(404, "providers/missing", "GET", "/v1/config/providers/missing/removal-preview", "")
	g.says(201, "", "POST", "/v1/config/providers", `{"id":"p9","adapter":"scripted"}`)
	g.says(201, "", "POST", "/v1/config/models", `{"id":"unused","provider_id":"p9","upstream_model":"x"}`)
	g.says(409, "unused", "DELETE", "/v1/config/providers/p9", "")
	g.says(200, `"cascade_unused_models_allowed":true`, "GET", "/v1/config/providers/p9/removal-preview", "")
	g.says(204, "", "DELETE", "/v1/config/providers/p9?force=true", "")
	g.says(404, "", "GET", "/v1/config/models/unused", "")
	g.says(201, "", "POST", "/v1/config/model-pools", `{"id":"pool","members":[{"model_id":"local-model"}]}`)
	g.says(409, `{"namespace":"model-pools","id":"pool"}`, "DELETE", "/v1/config/models/local-model", "")
}

func TestConfig_Overrides(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const path = "/v1/config/agents/helper/overrides"
	before := g.documents()
	g.says(200, `"system_prompt":"Dry."`, "POST", path, `{"system_prompt":"Dry."}`)
	g.says(400, `did you mean \"system_prompt\"?`, "POST", path, `{"system_promt":"x"}`)
	g.says(400, "missing", "POST", path, `{"model_id":"missing"}`)
	if after := g.documents(); after != before {
		t.Errorf("the check has changed\n%s\ninto\n%s", before, after)
	}
	g.says(200, `"system_prompt":"Other."`, "PATCH", path, `{"system_prompt":"Other."}`)
	g.says(200, `"max_rounds":3`, "PATCH", path, `{"max_rounds":3}`, "If-Match", g.etag("/v1/config/agents/helper"))
	if got := g.want(200, "GET", "/v1/config/agents/helper", "", admin...); got["system_prompt"] != "Other." || got["max_rounds"] != 3.0 {
		t.Errorf("patches are not merged: %v", got)
	}
	g.says(200, `"user_overrides":{"max_rounds":3,"system_prompt":"Other."}`, "GET", "/v1/config/agents/helper/meta", "")
	g.says(412, "revision mismatch", "PATCH", path, `{"max_rounds":4}`, "If-Match", `"1"`)
	g.says(200, `"system_prompt":"Help."`, "DELETE", path+"/system_prompt", "")
	g.says(400, "no_such_field", "DELETE", path+"/no_such_field", "")
	g.says(200, `"max_rounds":16`, "PATCH", path, `{"_clear":["max_rounds"]}`)
	g.says(200, `"description":"d"`, "PATCH", path, `{"description":"d"}`)
	if text := g.says(200, `"system_prompt":"Help."`, "DELETE", path, ""); strings.Contains(text, "description") {
		t.Errorf("not all overrides are gone: %s", text)
	}
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"mine","model_id":"m"}`)
	for _, method := range []string{"POST", "PATCH"} {
		g.says(422, "only builtin documents can be overridden", method, "/v1/config/agents/mine/overrides", `{"max_rounds":3}`)
	}
	g.says(422, "only builtin", "DELETE", "/v1/config/agents/mine/overrides", "")
	g.says(404, "agents/missing", "PATCH", "/v1/config/agents/missing/overrides", `{"max_rounds":3}`)
	// Who writes back what they have got, with the override in it, keeps it.
	g.says(200, "", "PATCH", path, `{"system_prompt":"Kept."}`)
	g.says(200, `"system_prompt":"Kept."`, "PUT", "/v1/config/agents/helper", g.says(200, "", "GET", "/v1/config/agents/helper", ""))

	g.says(200, `"name":"Hail"`, "PATCH", "/v1/config/skills/greet/overrides", `{"name":"Hail"}`)
	g.says(200, `"name":"Hail"`, "GET", "/v1/capabilities", "")
	g.says(200, `"name":"Greet"`, "DELETE", "/v1/config/skills/greet/overrides/name", "")
}

// An override of a tool's description reaches the model in the next run.
func TestConfig_ToolDescription(t *testing.T) {
	t.Parallel()
	told := make(chan string, 16)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Tools []struct {
				Function struct{ Name, Description string }
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		for _, tool := range body.Tools {
			if tool.Function.Name == "ask" {
				told <- tool.Function.Description
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer web.Close()
	g := newRig(t)
	g.says(201, "", "POST", "/v1/config/providers", fmt.Sprintf(`{"id":"real","adapter":"openai","api_key":"k-1234","base_url":%q}`, web.URL))
	g.says(201, "", "POST", "/v1/config/models", `{"id":"real-model","provider_id":"real","upstream_model":"gpt","input_token_price_per_million_usd":1,"output_token_price_per_million_usd":1}`)
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"real-agent","model_id":"real-model"}`)
	g.says(200, `"description":"Asks nicely"`, "PATCH", "/v1/config/tools/ask/overrides", `{"description":"Asks nicely"}`)
	if got := g.want(200, "POST", "/v1/runs", runBody("real-agent", "", "hello"), "Accept", "application/json"); got["response"] != "ok" {
		t.Fatalf("the agent says %v", got)
	}
	if got := <-told; got != "Asks nicely" {
		t.Errorf("the model is told %q", got)
	}
	g.says(200, `"id":"ask","name":"ask","description":"Asks nicely"`, "GET", "/v1/capabilities", "")
	g.says(200, `"description":"Asks nicely"`, "GET", "/v1/config/tools/ask", "")
	g.says(200, "", "DELETE", "/v1/config/tools/ask/overrides", "")
	g.run("real-agent", "hello")
	if got := <-told; got != "" {
		t.Errorf("without the override the model is told %q", got)
	}
	g.says(404, "tools/missing", "PATCH", "/v1/config/tools/missing/overrides", `{"description":"x"}`)
	g.says(400, "name", "PATCH", "/v1/config/tools/ask/overrides", `{"name":"x"}`)
	g.says(400, "4096", "PATCH", "/v1/config/tools/ask/overrides", fmt.Sprintf(`{"description":%q}`, strings.Repeat("x", 4097)))
}

// A restored document is a draft: the live version does not change until it is published.
func TestConfig_Restore(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	live := func() string { return g.control.Registry().Agent("a").SystemPrompt }
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"a","model_id":"m","system_prompt":"one"}`)
	first := g.event("agents/a")
	g.says(200, "", "PUT", "/v1/config/agents/a", `{"id":"a","model_id":"m","system_prompt":"two"}`)
	restore := func(event string) string { return fmt.Sprintf(`{"version":%q}`, event) }
	g.says(200, `"system_prompt":"one"`, "POST", "/v1/config/agents/a/restore", restore(first), "If-Match", `"2"`)
	if got := live(); got != "two" {
		t.Errorf("what runs is %q before it was published", got)
	}
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"b","model_id":"m"}`) // takes no draft along
	if got := live(); got != "two" {
		t.Errorf("what runs is %q, because something else was published", got)
	}
	g.says(200, `"revision":3,"live":true,"draft":true,"base_revision":2},"live":false}`, "GET", "/v1/config/agents/meta", "")
	g.says(200, `"restored_from":"`+first, "GET", "/v1/audit-log?action=restore", "")
	g.says(200, `"kind":"publish"`, "POST", "/v1/registry/publish", `{"records":[{"namespace":"agents","id":"a"}]}`)
	if got := live(); got != "one" {
		t.Errorf("what runs is %q after it was published", got)
	}
	status, text := g.ask("POST", "/v1/config/agents/a/restore", restore("missing"), admin...)
	if status != 404 || text != `{"error":"version not found","code":"not_found","reason":"unknown"}` {
		t.Errorf("%d %s", status, text)
	}
	g.says(422, "its resource is agents/a, want agents/b", "POST", "/v1/config/agents/b/restore", restore(first))
	g.says(202, "", "POST", "/v1/mcp-servers/files/restart", "")
	g.says(422, "its action is restart", "POST", "/v1/config/mcp-servers/files/restore", restore(g.event("mcp-servers/files")))
	g.says(412, "revision mismatch", "POST", "/v1/config/agents/a/restore", restore(first), "If-Match", `"1"`)
	g.says(400, "version is missing", "POST", "/v1/config/agents/a/restore", `{}`)
	// What was deleted comes back.
	g.says(204, "", "DELETE", "/v1/config/agents/b", "")
	g.says(200, `"id":"b"`, "POST", "/v1/config/agents/b/restore", restore(g.event("agents/b")))
	if g.control.Registry().Agent("b") != nil {
		t.Error("it is live at once")
	}
}

func TestRegistry_Versions(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"a","model_id":"m","system_prompt":"one"}`)
	g.says(200, `"drafted"`, "PUT", "/v1/config/agents/a?publish=false", `{"id":"a","model_id":"m","system_prompt":"drafted"}`)
	g.says(201, "", "POST", "/v1/config/agents?publish=false", `{"id":"b","model_id":"m"}`)
	drafts := g.want(200, "GET", "/v1/registry/drafts", "", admin...)["items"].([]any)
	if len(drafts) != 2 || drafts[0].(map[string]any)["spec"].(map[string]any)["system_prompt"] != "drafted" {
		t.Fatalf("drafts are %v", drafts)
	}
	if got := g.control.Registry().Agent("a").SystemPrompt; got != "one" {
		t.Errorf("a draft runs: %s", got)
	}
	made := g.want(200, "POST", "/v1/registry/publish", `{"note":"both"}`, admin...)
	if made["number"] != 3.0 || made["note"] != "both" || len(made["entries"].([]any)) != 2 || made["actor"] != "admin" {
		t.Errorf("published %v", made)
	}
	g.says(400, "nothing to publish", "POST", "/v1/registry/publish", `{}`)
	g.says(422, "did you mean", "POST", "/v1/registry/publish", `{"record":[]}`)
	list := g.want(200, "GET", "/v1/registry/versions?limit=2", "", admin...)
	if list["live"] != 3.0 || list["next_before"] != 2.0 || len(list["items"].([]any)) != 2 {
		t.Errorf("versions are %v", list)
	}
	rest := g.want(200, "GET", "/v1/registry/versions?before=2", "", admin...)
	if items := rest["items"].([]any); len(items) != 1 || items[0].(map[string]any)["kind"] != "seed" || rest["next_before"] != nil {
		t.Errorf("the rest is %v", rest)
	}
	if v := g.want(200, "GET", "/v1/registry/versions/3", "", admin...); len(v["manifest"].([]any)) != len(seeds)+2 {
		t.Errorf("version 3 is %v", v)
	}
	for _, bad := range []string{"0", "99", "x", "-1"} {
		g.says(404, "version", "GET", "/v1/registry/versions/"+bad, "")
		g.says(404, "version", "POST", "/v1/registry/versions/"+bad+"/rollback", "")
	}
	run := g.want(200, "POST", "/v1/runs", runBody("a", "t", "RUN_TOOL ask {}"), "Accept", "application/json")
	back := g.want(200, "POST", "/v1/registry/versions/2/rollback", "", admin...)
	if back["number"] != 4.0 || back["kind"] != "rollback" {
		t.Errorf("rolled back to %v", back)
	}
	if got := g.want(200, "GET", "/v1/config/agents/a", "", admin...); got["system_prompt"] != "one" {
		t.Errorf("the record is %v", got)
	}
	g.says(404, "agents/b", "GET", "/v1/config/agents/b", "")
	// A run keeps the version that it started with.
	if got := g.want(200, "GET", "/v1/runs/"+run["run_id"].(string), "")["resolution_id"]; got != "3" {
		t.Errorf("the run is pinned to %v", got)
	}
}

func TestRegistry_Canary(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.says(200, `"canary":null,"live":1`, "GET", "/v1/registry/canary", "")
	g.says(404, "canary", "POST", "/v1/registry/canary/promote", "")
	g.says(404, "canary", "DELETE", "/v1/registry/canary", "")
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"b","model_id":"m"}`)
	g.says(201, "", "POST", "/v1/config/agents?publish=false", `{"id":"a","model_id":"m","system_prompt":"canary"}`)
	g.says(400, "share is 0", "POST", "/v1/registry/publish", `{"canary":{"share":0}}`)
	g.says(200, `"kind":"canary"`, "POST", "/v1/registry/publish", `{"canary":{"share":1,"rule":{"min_runs":5,"max_error_rate":0.2}}}`)
	g.says(200, `"version":3,"share":1`, "GET", "/v1/registry/canary", "")
	if g.control.Registry().Agent("a") != nil {
		t.Error("the canary is live")
	}
	if got := g.run("a", "hello"); got == "" {
		t.Error("a new thread does not get the canary")
	}
	g.says(400, "max_error_rate is 2", "PUT", "/v1/registry/canary", `{"version":3,"share":0.5,"rule":{"min_runs":5,"max_error_rate":2}}`)
	g.says(404, "version 77", "PUT", "/v1/registry/canary", `{"version":77,"share":0.5}`)
	g.says(409, "promote or drop it first", "PUT", "/v1/registry/canary", `{"version":1,"share":0.5}`)
	g.says(200, `"share":0.25`, "PUT", "/v1/registry/canary", `{"version":3,"share":0.25}`)
	g.says(200, `"live":3`, "POST", "/v1/registry/canary/promote", "")
	if g.control.Registry().Agent("a") == nil {
		t.Error("what was promoted is not live")
	}
	g.says(200, `"live":3`, "PUT", "/v1/registry/canary", `{"version":1,"share":0.5}`)
	g.says(200, `"live":3`, "DELETE", "/v1/registry/canary", "")
	for _, action := range []string{"promote", "rollback"} {
		g.says(200, `"resource":"canary/`, "GET", "/v1/audit-log?resource=canary&action="+action, "")
	}
}

// The test of a provider sends a real request.
func TestProvider_Test(t *testing.T) {
	t.Parallel()
	const right, wrong = "sk-right-key", "sk-wrong-key"
	asked := make(chan string, 16)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer "+right {
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s, or X-Secret %s","type":"invalid_request_error"}}`, r.Header.Get("Authorization"), r.Header.Get("X-Secret"))
			return
		}
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"OK"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"gpt","object":"model"}]}`)
	}))
	defer web.Close()
	g := newRig(t)
	put := func(id, key, url string) {
		g.says(200, "", "PUT", "/v1/config/providers/"+id, fmt.Sprintf(`{"id":%q,"adapter":"openai","api_key":%q,"base_url":%q}`, id, key, url))
	}
	put("good", right, web.URL)
	put("bad", wrong, web.URL)
	gone := httptest.NewServer(nil)
	gone.Close()
	put("gone", right, gone.URL)

	if out := g.want(200, "POST", "/v1/providers/good/test", "", admin...); out["ok"] != true || out["network_tested"] != true || out["error"] != nil || out["latency_ms"] == nil {
		t.Errorf("the good one: %v", out)
	}
	if len(asked) == 0 {
		t.Error("no provider was asked")
	}
	out := g.want(200, "POST", "/v1/providers/bad/test", "", admin...)
	if text := fmt.Sprint(out["error"]); out["ok"] != false || out["network_tested"] != true || strings.Contains(text, wrong) || !strings.Contains(text, "***") {
		t.Errorf("the one with a wrong key: %v", out)
	}
	if out := g.want(200, "POST", "/v1/providers/gone/test", "", admin...); out["ok"] != false || out["network_tested"] != true || strings.Contains(fmt.Sprint(out["error"]), right) {
		t.Errorf("the one that is gone: %v", out)
	}
	g.says(404, "missing", "POST", "/v1/providers/missing/test", "")
}

func TestConnections(t *testing.T) {
	t.Parallel()
	g := &rig{t: t, a2a: configtestDown("gone", "no route"), db: newDB(), keys: adminKeys(t)}
	g.start()
	status := g.want(200, "GET", "/v1/mcp-servers/files/status", "", admin...)
	for _, field := range []string{"connected", "tools", "consecutive_failures", "last_attempt_at", "last_success_at", "reconnecting", "permanently_failed", "session_generation", "transport_reconnect_count", "last_init_at"} {
		if _, ok := status[field]; !ok {
			t.Errorf("the status has no %s: %v", field, status)
		}
	}
	if status["connected"] != true || status["session_generation"] != 1.0 {
		t.Errorf("the status is %v", status)
	}
	g.says(200, `"last_error":"connection refused"`, "GET", "/v1/mcp-servers/down/status", "")
	g.says(200, `"prompts":[],"resources":[]`, "GET", "/v1/mcp-servers/files/inventory", "")
	g.says(502, "connection refused", "GET", "/v1/mcp-servers/down/inventory", "")
	if status, text := g.ask("POST", "/v1/mcp-servers/files/restart", "", admin...); status != 202 || text != "" {
		t.Errorf("restart: %d %s", status, text)
	}
	g.says(200, `"session_generation":2`, "GET", "/v1/mcp-servers/files/status", "")
	g.says(502, "connection refused", "POST", "/v1/mcp-servers/down/restart", "")
	for _, path := range []string{"GET status", "GET inventory", "POST restart"} {
		method, what, _ := strings.Cut(path, " ")
		g.says(404, "missing", method, "/v1/mcp-servers/missing/"+what, "")
	}
	if items := g.want(200, "GET", "/v1/audit-log?action=restart", "", admin...)["items"].([]any); len(items) != 2 || items[1].(map[string]any)["resource"] != "mcp-servers/files" {
		t.Errorf("restarts in the audit log: %v", items)
	}
	g.says(200, `"mcp_unavailable"`, "GET", "/v1/config/diagnostics", "")
	g.says(200, `"resource":{"namespace":"mcp-servers","id":"down"}`, "GET", "/v1/config/diagnostics", "")

	g.says(200, `{"connected":true,"last_error":null,"card_url":"https://peer.example/.well-known/agent-card.json","card":{"name":"peer"}}`, "GET", "/v1/a2a-servers/peer/status", "")
	g.says(201, "", "POST", "/v1/config/a2a-servers", `{"id":"gone","base_url":"https://gone.example"}`)
	g.says(200, `"connected":false,"last_error":"no route"`, "GET", "/v1/a2a-servers/gone/status", "")
	g.says(404, "missing", "GET", "/v1/a2a-servers/missing/status", "")
}

// Without connectors, documents are kept, and the servers' status is unavailable.
func TestConnections_None(t *testing.T) {
	t.Parallel()
	m, err := config.Open(t.Context(), config.Options{Store: newDB().Config(), Code: code(), Provider: openProvider})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g := newRig(t, func(c *servertest.Config) { c.Control, c.Plane.Assistant, c.Plane.Permission = m, nil, nil })
	g.says(201, "", "POST", "/v1/config/mcp-servers", `{"id":"s","transport":"stdio","command":"c"}`)
	g.says(201, "", "POST", "/v1/config/a2a-servers", `{"id":"s","base_url":"https://x.example"}`)
	for _, path := range []string{"GET /v1/mcp-servers/s/status", "GET /v1/mcp-servers/s/inventory", "POST /v1/mcp-servers/s/restart", "GET /v1/a2a-servers/s/status", "GET /v1/agents/default/permission-preview"} {
		method, path, _ := strings.Cut(path, " ")
		resp := g.do(method, path, "", admin...)
		resp.Body.Close()
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, want 503 with Retry-After", path, resp.StatusCode)
		}
	}
	g.says(200, "", "GET", "/v1/capabilities", "")
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	made := g.want(201, "POST", "/v1/keys", `{"kind":"admin","label":"ci"}`, admin...)
	ci := []string{"Authorization", "Bearer " + made["secret"].(string)}
	g.want(201, "POST", "/v1/config/agents", `{"id":"a","model_id":"m"}`, append([]string{"X-Awaken-Actor", "ada", "X-Forwarded-For", "6.6.6.6"}, admin...)...)
	g.want(200, "PUT", "/v1/config/agents/a", `{"id":"a","model_id":"m","system_prompt":"x"}`, ci...)
	g.want(201, "POST", "/v1/config/agents", `{"id":"ab","model_id":"m"}`, append([]string{"X-Awaken-Actor", strings.Repeat("x", 65)}, admin...)...)
	g.want(204, "DELETE", "/v1/config/agents/ab", "", admin...)

	list := func(query string) (out []string) {
		t.Helper()
		for _, e := range g.want(200, "GET", "/v1/audit-log?"+query, "", admin...)["items"].([]any) {
			e := e.(map[string]any)
			out = append(out, fmt.Sprint(e["action"], " ", e["resource"]))
		}
		return out
	}
	for query, want := range map[string]string{
		"resource=agents/a":                      "[update agents/a create agents/a]",
		"resource=agents":                        "[delete agents/ab create agents/ab update agents/a create agents/a]",
		"resource=agent":                         "[]",
		"action=delete":                          "[delete agents/ab]",
		"actor=admin/ada":                        "[create agents/a]",
		"actor=" + made["id"].(string):           "[update agents/a]",
		"until=2001-01-01T00:00:00Z":             "[]",
		"since=2001-01-01T00:00:00Z&limit=1":     "[delete agents/ab]",
		"resource=agents/&action=create&limit=5": "[create agents/ab create agents/a]",
	} {
		if got := fmt.Sprint(list(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	first := g.want(200, "GET", "/v1/audit-log?resource=agents/a&action=create", "", admin...)["items"].([]any)[0].(map[string]any)
	if first["actor"] != "admin/ada" || first["ip"] != "127.0.0.1" || first["request_id"] == nil || first["before"] != nil || first["after"].(map[string]any)["id"] != "a" || first["version"] != 2.0 {
		t.Errorf("the event is %v", first)
	}
	if labelled := g.want(200, "GET", "/v1/audit-log?actor="+made["id"].(string), "", admin...)["items"].([]any)[0].(map[string]any); labelled["actor"] != made["id"].(string)+"/ci" {
		t.Errorf("the actor is %v", labelled["actor"])
	}
	// Pages.
	var all []string
	cursor := ""
	for range 10 {
		page := g.want(200, "GET", "/v1/audit-log?resource=agents&limit=3&cursor="+cursor, "", admin...)
		for _, e := range page["items"].([]any) {
			all = append(all, e.(map[string]any)["id"].(string))
		}
		if page["next_cursor"] == nil {
			break
		}
		cursor = page["next_cursor"].(string)
	}
	if len(all) != 4 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != 4 {
		t.Errorf("pages have %v", all)
	}
	g.says(400, "cursor", "GET", "/v1/audit-log?cursor=!!", "")
	g.says(400, "other filters", "GET", "/v1/audit-log?resource=agents/a&cursor="+cursor, "")
	g.says(400, "other filters", "GET", "/v1/audit-log?resource=agents&actor=x&cursor="+cursor, "")
	g.says(400, "since is", "GET", "/v1/audit-log?since=now", "")
	g.says(400, "limit is", "GET", "/v1/audit-log?limit=x", "")
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.says(201, "", "POST", "/v1/config/model-pools", `{"id":"pool","members":[{"model_id":"local-model"}]}`)
	out := g.want(200, "GET", "/v1/capabilities", "", admin...)
	if got := fmt.Sprint(out["agents"]); got != "[default helper other]" {
		t.Errorf("agents are %s", got)
	}
	tools := fmt.Sprint(out["tools"])
	for _, want := range []string{"id:ask", "source:map[kind:builtin]", "id:mcp__files__read", "source:map[id:files kind:mcp]", "parameters_schema:"} {
		if !strings.Contains(tools, want) {
			t.Errorf("tools have no %s: %s", want, tools)
		}
	}
	var plugins []string
	for _, p := range out["plugins"].([]any) {
		p := p.(map[string]any)
		plugins = append(plugins, p["id"].(string))
		for _, s := range p["config_schemas"].([]any) {
			s := s.(map[string]any)
			if s["key"] == nil || s["schema"] == nil || s["json_schema"] == nil || s["default_value"] == nil {
				t.Errorf("the section of plugin %v is %v", p["id"], s)
			}
		}
	}
	if !slices.Equal(plugins, []string{"eval_live", "permission"}) {
		t.Errorf("plugins are %v", plugins)
	}
	if got := fmt.Sprint(out["providers"]); got != "[map[id:local] map[id:p]]" {
		t.Errorf("providers are %s", got)
	}
	if len(out["models"].([]any)) != 2 || len(out["model_pools"].([]any)) != 1 || len(out["skills"].([]any)) != 1 || len(out["supported_adapters"].([]any)) != 2 {
		t.Errorf("capabilities are %v", out)
	}
	if b := out["backends"].([]any)[0].(map[string]any); b["kind"] != "awaken" || b["version"] != 1.0 || b["schema"] == nil || b["display_name"] == nil || b["default_config"] == nil {
		t.Errorf("the backend is %v", b)
	}
	var namespaces []string
	for _, n := range out["namespaces"].([]any) {
		n := n.(map[string]any)
		if namespaces = append(namespaces, n["namespace"].(string)); n["schema"] == nil {
			t.Errorf("namespace %v has no schema", n["namespace"])
		}
	}
	if slices.Sort(namespaces); !slices.Equal(namespaces, []string{"a2a-servers", "agents", "mcp-servers", "model-pools", "models", "providers", "skills", "tools"}) {
		t.Errorf("namespaces are %v", namespaces)
	}
	own := out["admin_assistant"].(map[string]any)
	if own["enabled"] != false || own["disabled_reason"] == nil || own["visibility"] != "admin_only" || own["tools_locked"] != true || len(own["bound_tools"].([]any)) != 4 || own["endpoint"] != "/v1/admin/assistant/runs" {
		t.Errorf("the assistant is %v", own)
	}
}

func TestSystem(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	info := g.want(200, "GET", "/v1/system/info", "", admin...)
	if info["config_store_enabled"] != true || info["audit_log_enabled"] != true || info["runtime_stats_enabled"] != true || info["scope_id"] != "default" || info["version"] != "dev" {
		t.Errorf("info is %v", info)
	}
	if got := fmt.Sprint(g.want(200, "GET", "/v1/system/modules", "", admin...)["modules"]); got != "[run admin protocol config events trace]" {
		t.Errorf("modules are %s", got)
	}
	g.waits()
	g.done()
	if got := g.want(200, "GET", "/v1/runs/summary", "", admin...); got["waiting"] != 1.0 || got["running"] != 0.0 {
		t.Errorf("the summary is %v", got)
	}
}

func TestPermissionPreview(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"careful","model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"ask","rules":[{"tool":"ask","behavior":"deny"},{"tool":"wait(now)","behavior":"allow"}]}}}`)
	got := g.want(200, "GET", "/v1/agents/careful/permission-preview", "", admin...)
	if got["agent_id"] != "careful" || got["permission_plugin_enabled"] != true || got["default_behavior"] != "ask" || fmt.Sprint(got["unconditionally_denied"]) != "[ask]" ||
		fmt.Sprint(got["effective_tools"]) != "[mcp__files__read wait]" || fmt.Sprint(got["args_conditional_rules"]) != "[map[behavior:allow pattern:wait(now) tool:wait]]" {
		t.Errorf("the preview is %v", got)
	}
	if got := g.want(200, "GET", "/v1/agents/default/permission-preview", "", admin...); got["permission_plugin_enabled"] != false || got["default_behavior"] != "allow" {
		t.Errorf("the preview of an agent without rules is %v", got)
	}
	g.says(404, "missing", "GET", "/v1/agents/missing/permission-preview", "")
}

// With HideConfig, the routes of documents do not exist.
func TestHideConfig(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.HideConfig, c.Routes = true, aisdkRoutes() })
	d := readDocument(t, g)
	for _, path := range []string{"/v1/config/agents", "/v1/config/agents/helper", "/v1/config/diagnostics", "/v1/registry/versions", "/v1/registry/drafts", "/v1/registry/canary", "/v1/audit-log",
		"/v1/mcp-servers/files/status", "/v1/mcp-servers/files/inventory", "/v1/a2a-servers/peer/status", "/v1/agents/helper/permission-preview", "/v1/admin/assistant/config",
		"/v1/runs/summary", "/v1/agents/runtime-stats", "/v1/agents/helper/runtime-stats", "/v1/agents", "/v1/agents/helper",
		"/v1/runs/x/steps/0/request"} {
		if status, text := g.ask("GET", path, "", admin...); status != 404 && status != 405 {
			t.Errorf("GET %s: %d %s", path, status, text)
		}
	}
	for _, path := range []string{"/v1/providers/local/test", "/v1/mcp-servers/files/restart", "/v1/registry/publish", "/v1/config/agents", "/v1/admin/assistant/runs", "/v1/ai-sdk/agent-previews/runs"} {
		if status, text := g.ask("POST", path, `{"id":"x"}`, admin...); status != 404 && status != 405 {
			t.Errorf("POST %s: %d %s", path, status, text)
		}
	}
	for path := range d.doc["paths"].(map[string]any) {
		if strings.HasPrefix(path, "/v1/config") || strings.HasPrefix(path, "/v1/registry") || strings.HasPrefix(path, "/v1/admin") || strings.HasSuffix(path, "/request") {
			t.Errorf("the document has %s", path)
		}
	}
	g.says(200, `"helper"`, "GET", "/v1/capabilities", "")
	if got := fmt.Sprint(g.want(200, "GET", "/v1/system/modules", "", admin...)["modules"]); got != "[run admin protocol events trace]" {
		t.Errorf("modules are %s", got)
	}
	g.done() // agents still run
}

func TestNew_ControlNeedsKeys(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	if _, err := server.New(server.Config{Mailbox: g.box, Control: g.control}); err == nil || !strings.Contains(err.Error(), "keys") {
		t.Errorf("error is %v", err)
	}
	// Without a control plane there is none of its routes.
	srv, err := (&servertest.Config{Config: server.Config{Mailbox: g.box, Keys: g.keys, Routes: aisdkRoutes()}}).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"GET /v1/config/agents", "GET /v1/capabilities", "POST /v1/admin/assistant/runs", "POST /v1/ai-sdk/agent-previews/runs"} {
		method, path, _ := strings.Cut(path, " ")
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+adminKey)
		w := httptest.NewRecorder()
		if srv.Handler().ServeHTTP(w, r); w.Code != 404 && w.Code != 405 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// A tool without overrides has the ETag "0", which If-Match accepts like any other.
func TestControl_FirstOverrideOfAToolCanBeConditional(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	as := append([]string{"If-Match", `"0"`}, admin...)
	for i, want := range []int{200, 412} {
		if status, body := g.ask("PATCH", "/v1/config/tools/ask/overrides", fmt.Sprintf(`{"description":"it is %d"}`, i), as...); status != want {
			t.Errorf("override %d: %d %s, want %d", i, status, body, want)
		}
	}
}
