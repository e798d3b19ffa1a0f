package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/server/servertest"
)

func withAISDK(c *servertest.Config) { c.Routes = aisdkRoutes() }

// chat sends a message on a thread through an AI SDK route and returns the stream.
func (g *rig) chat(path, thread, more, text string, headers ...string) string {
	g.t.Helper()
	status, body := g.ask("POST", path, fmt.Sprintf(`{"id":%q,%s"messages":[{"role":"user","parts":[{"type":"text","text":%q}]}]}`, thread, more, text), headers...)
	if status != 200 {
		g.t.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}

// answers submits a decision on a call through an AI SDK route.
func (g *rig) answers(path, thread, more, tool, call string, yes bool, headers ...string) (int, string) {
	g.t.Helper()
	return g.ask("POST", path, fmt.Sprintf(`{"id":%q,%s"messages":[{"role":"assistant","parts":[{"type":"tool-%s","toolCallId":%q,"state":"approval-responded","approval":{"id":"suspend_%s","approved":%v}}]}]}`,
		thread, more, tool, call, call, yes), headers...)
}

const (
	previews = "/v1/ai-sdk/agent-previews/runs"
	assists  = "/v1/admin/assistant/runs"
)

// A client can chat with a draft without any effect on the live version.
func TestPreview(t *testing.T) {
	t.Parallel()
	g := newRig(t, withAISDK)
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"a","model_id":"m","system_prompt":"live"}`)
	before := g.documents()
	body := g.chat(previews, "t", `"agent":{"id":"a","model_id":"m","system_prompt":"draft of the scenario agent"},`, "scenario:text", admin...)
	if !strings.Contains(body, "a short ") {
		t.Errorf("the draft does not say what it should: %s", body)
	}
	if after := g.documents(); after != before {
		t.Errorf("a preview has changed\n%s\ninto\n%s", before, after)
	}
	if got := g.run("a", "scenario:text"); !strings.HasPrefix(got, "Scripted response") {
		t.Errorf("the agent that is live says %q", got)
	}
	run := g.lastPreview("t")
	if run["agent_id"] != "a" || run["resolution_id"] == "" {
		t.Errorf("the run is %v", run)
	}
	// A preview cannot be published by its number.
	g.says(400, "is a preview", "POST", "/v1/registry/versions/"+run["resolution_id"].(string)+"/rollback", "")
	g.says(400, "is a preview", "PUT", "/v1/registry/canary", fmt.Sprintf(`{"version":%s,"share":1}`, run["resolution_id"]))
	// Clients' threads are others, and use the live version.
	if got := g.want(200, "POST", "/v1/runs", runBody("a", "t", "scenario:text"), "Accept", "application/json")["response"].(string); !strings.HasPrefix(got, "Scripted response") {
		t.Errorf("afterwards the agent says %q", got)
	}
	g.chat(previews, "nameless", `"agent":{"model_id":"m"},`, "hello", admin...)
	if run := g.lastPreview("nameless"); run["agent_id"] != "draft-preview" {
		t.Errorf("an agent without an id is %v", run["agent_id"])
	}
	if status, text := g.ask("POST", "/v1/runs", runBody("draft-preview", "", "hello")); status != 400 {
		t.Errorf("others can run the draft: %d %s", status, text)
	}
	for agent, says := range map[string]string{
		`{}`:                     "model_id",
		`{"model_id":"missing"}`: "missing",
		`{"model_id":"m","x":1}`: "unknown field",
		`{"model_id":"m","endpoint":{"base_url":"https://x"}}`: "endpoint is set",
		`{"model_id":"m","registry":"far"}`:                    "registry is set",
		`{"id":"__admin_assistant","model_id":"m"}`:            "reserved for the server",
		`{"model_id":"m","plugin_ids":["admin-assistant"]}`:    "only agent __admin_assistant",
		`[]`: "agent",
	} {
		g.says(400, says, "POST", previews, `{"agent":`+agent+`,"messages":[{"role":"user","content":"x"}]}`)
	}
	g.says(400, "agent is missing", "POST", previews, `{"messages":[{"role":"user","content":"x"}]}`)
}

// lastPreview returns the newest run of a preview's thread.
func (g *rig) lastPreview(thread string) map[string]any {
	g.t.Helper()
	return g.want(200, "GET", "/v1/previews/runs?limit=1&thread_id="+thread, "", admin...)["items"].([]any)[0].(map[string]any)
}

// A call of a preview can wait for a decision, even in another process, and resumes as the draft.
func TestPreview_WaitsAcrossARestart(t *testing.T) {
	t.Parallel()
	g := newRig(t, withAISDK)
	const draft = `"agent":{"id":"d","model_id":"m","system_prompt":"draft"},`
	if body := g.chat(previews, "t", draft, `RUN_TOOL ask {"path":"x"}`, admin...); !strings.Contains(body, "tool-approval-request") {
		t.Fatalf("no approval was requested: %s", body)
	}
	was := g.lastPreview("t")
	g.stop()
	g.start(withAISDK)
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"other-agent","model_id":"m"}`) // another version is live
	status, body := g.answers(previews, "t", draft, "ask", "call_ask_1", true, admin...)
	if status != 200 || !strings.Contains(body, `tool-output-available`) {
		t.Fatalf("%d %s", status, body)
	}
	run := g.lastPreview("t")
	if run["run_id"] != was["run_id"] || run["status"] != "done" || run["agent_id"] != "d" || run["resolution_id"] != was["resolution_id"] {
		t.Errorf("the run is %v, was %v", run, was)
	}
}

func TestAssistant_Config(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const path = "/v1/admin/assistant/config"
	g.says(200, `{"id":"default","policy_prompt":"","revision":0}`, "GET", path, "")
	g.says(200, `{"id":"default","policy_prompt":"Be brief.","model_id":"m","revision":1}`, "PUT", path, `{"policy_prompt":"Be brief.","model_id":"m","revision":0}`)
	g.says(409, "", "PUT", path, `{"policy_prompt":"x","revision":0}`)
	g.says(409, "", "PUT", path, `{"policy_prompt":"x","revision":7}`)
	g.says(400, "8192", "PUT", path, fmt.Sprintf(`{"policy_prompt":%q,"revision":1}`, strings.Repeat("x", 8193)))
	g.says(400, "missing", "PUT", path, `{"policy_prompt":"","model_id":"missing","revision":1}`)
	g.says(400, "want default", "PUT", path, `{"id":"other","policy_prompt":"","revision":1}`)
	g.says(422, "policy_promt", "PUT", path, `{"policy_promt":"","revision":1}`)
	g.says(200, `"policy_prompt":"Be brief."`, "GET", path, "")
	g.says(200, `"resource":"admin-assistant/default"`, "GET", "/v1/audit-log?resource=admin-assistant", "")
	g.says(200, `"enabled":true,"disabled_reason":null,"model_id":"m"`, "GET", "/v1/capabilities", "")
}

// The assistant writes drafts by itself and publishes only what a person has approved.
func TestAssistant_PublishesWhatIsApproved(t *testing.T) {
	t.Parallel()
	g := newRig(t, withAISDK)
	g.says(409, "no model", "POST", assists, `{"messages":[{"role":"user","content":"hello"}]}`)
	g.says(200, "", "PUT", "/v1/admin/assistant/config", `{"policy_prompt":"Be brief.","model_id":"m","revision":0}`)
	const doc = `{"agent":{"id":"made","model_id":"m","system_prompt":"made by it"}}`

	if body := g.chat(assists, "draft", "", "RUN_TOOL admin_create_agent_draft "+doc, admin...); !strings.Contains(body, "tool-output-available") || strings.Contains(body, "approval-request") {
		t.Fatalf("no draft: %s", body)
	}
	if g.control.Registry().Agent("made") != nil {
		t.Fatal("a draft is live")
	}
	g.says(200, `"id":"made"`, "GET", "/v1/registry/drafts", "")
	if body := g.chat(assists, "check", "", `RUN_TOOL admin_validate_agent {"agent":{"id":"x","model_id":"missing"}}`, admin...); !strings.Contains(body, "missing") {
		t.Errorf("what is wrong with an agent is not said: %s", body)
	}
	if body := g.chat(assists, "look", "", "RUN_TOOL admin_get_platform_capabilities {}", admin...); !strings.Contains(body, "local-model") {
		t.Errorf("it does not know what there is: %s", body)
	}
	// It has no other tools, whatever it is told.
	g.chat(assists, "else", "", `RUN_TOOL ask {"path":"x"}`, admin...)
	if _, err := g.db.Handle("awaken.admin").Thread(t.Context(), "else"); err != nil {
		t.Fatal(err)
	}
	if run := g.ownRun("else"); run.Waiting != nil {
		t.Errorf("it called a tool that is not its own: %+v", run.Waiting)
	}

	if body := g.chat(assists, "no", "", "RUN_TOOL admin_publish_agent "+doc, admin...); !strings.Contains(body, "tool-approval-request") || !strings.Contains(body, `Publish agent`) {
		t.Fatalf("no approval was requested: %s", body)
	}
	if g.control.Registry().Agent("made") != nil {
		t.Fatal("the change is live before it was approved")
	}
	if status, body := g.answers(assists, "no", "", "admin_publish_agent", "call_admin_publish_agent_1", false, admin...); status != 200 || g.control.Registry().Agent("made") != nil {
		t.Fatalf("the change is live without approval: %d %s", status, body)
	}
	g.chat(assists, "yes", "", "RUN_TOOL admin_publish_agent "+doc, admin...)

	// Other callers can neither see it, nor decide on it, nor start one.
	foreign := map[string][]string{"missing": nil}
	for kind, body := range map[string]string{"read": `{"kind":"read"}`, "run": `{"kind":"run"}`, "tenant": `{"kind":"admin","tenant":"acme"}`} {
		foreign[kind] = []string{"Authorization", "Bearer " + g.want(201, "POST", "/v1/keys", body, admin...)["secret"].(string)}
	}
	own := g.ownRun("yes")
	ticket := own.Waiting.Tickets[0].TicketID
	for name, as := range foreign {
		if status, text := g.ask("POST", assists, `{"id":"mine","messages":[{"role":"user","content":"hello"}]}`, as...); status != 401 && status != 403 {
			t.Errorf("%s can begin a conversation: %d %s", name, status, text)
		}
		if status, text := g.answers(assists, "yes", "", "admin_publish_agent", "call_admin_publish_agent_1", true, as...); status != 401 && status != 403 {
			t.Errorf("%s can approve: %d %s", name, status, text)
		}
		for _, path := range []string{"GET /v1/threads/yes", "GET /v1/runs/" + own.RunID, "GET /v1/ai-sdk/threads/yes/messages", "GET /v1/runs/" + own.RunID + "/events",
			"POST /v1/runs/" + own.RunID + "/decision", "POST /v1/threads/yes/decision", "POST /v1/approvals/" + own.RunID + "/" + ticket, "POST /v1/runs/" + own.RunID + "/cancel"} {
			method, path, _ := strings.Cut(path, " ")
			body := ""
			if method == "POST" {
				body = fmt.Sprintf(`{"tool_call_id":%q,"action":"resume"}`, ticket)
				if strings.HasPrefix(path, "/v1/approvals") || strings.HasSuffix(path, "cancel") {
					body = `{"action":"resume"}`
				}
			}
			if status, text := g.ask(method, path, body, as...); status != 404 && status != 403 && status != 401 {
				t.Errorf("%s: %s %s: %d %s", name, method, path, status, text)
			}
		}
		if status, text := g.ask("GET", "/v1/approvals", "", as...); strings.Contains(text, own.RunID) {
			t.Errorf("%s sees what waits: %d %s", name, status, text)
		}
		if status, text := g.ask("POST", "/v1/runs", runBody("__admin_assistant", g.id(), "hello"), as...); status < 400 {
			t.Errorf("%s can run it otherwise: %d %s", name, status, text)
		}
	}
	if g.control.Registry().Agent("made") != nil {
		t.Fatal("another caller has approved it")
	}
	status, body := g.answers(assists, "yes", "", "admin_publish_agent", "call_admin_publish_agent_1", true, admin...)
	if a := g.control.Registry().Agent("made"); status != 200 || a == nil || a.SystemPrompt != "made by it" {
		t.Fatalf("what was approved is not live: %d %s", status, body)
	}
	// Who asked for it and who decided is known.
	g.says(200, `"actor":"admin-assistant/admin","action":"update","resource":"agents/made"`, "GET", "/v1/audit-log?resource=agents/made", "")
	g.says(200, `"actor":"admin","action":"approve","resource":"admin-assistant/yes"`, "GET", "/v1/audit-log?action=approve", "")
	g.says(200, `"actor":"admin","action":"reject","resource":"admin-assistant/no"`, "GET", "/v1/audit-log?action=reject", "")
	if items := g.want(200, "GET", "/v1/audit-log?action=approve", "", admin...)["items"].([]any); len(items) != 1 {
		t.Errorf("approvals are %v", items)
	}
}

// ownRun returns the latest run of one of the server's own threads.
func (g *rig) ownRun(thread string) *awaken.Run {
	g.t.Helper()
	runs, err := g.db.Handle("awaken.admin").ListRuns(g.t.Context(), awaken.RunQuery{ThreadID: thread, Limit: 1})
	if err != nil || len(runs) != 1 {
		g.t.Fatalf("%v %v", runs, err)
	}
	return runs[0]
}

// adminBodies are requests of the protocols' admin routes that succeed.
var adminBodies = map[string]string{
	"POST " + previews: `{"id":"preview-thread","agent":{"model_id":"m"},"messages":[{"role":"user","content":"hello"}]}`,
	"POST " + assists:  `{"id":"assistant-thread","messages":[{"role":"user","content":"hello"}]}`,
}

// TestAttack_Admin calls every admin route with insufficient credentials: none has an effect. With an
// admin key, each succeeds.
func TestAttack_Admin(t *testing.T) {
	t.Parallel()
	g := newRig(t, withAISDK)
	g.says(200, "", "PUT", "/v1/admin/assistant/config", `{"policy_prompt":"","model_id":"m","revision":0}`)
	creds := map[string][]string{"missing": nil, "wrong": {"Authorization", "Bearer wrong"}, "basic": {"Authorization", "Basic " + adminKey}}
	for kind, body := range map[string]string{"read": `{"kind":"read"}`, "run": `{"kind":"run"}`, "tenant": `{"kind":"admin","tenant":"acme"}`, "tenant run": `{"kind":"run","tenant":"acme"}`} {
		creds[kind] = []string{"Authorization", "Bearer " + g.want(201, "POST", "/v1/keys", body, admin...)["secret"].(string)}
	}
	state := func() string {
		events := g.want(200, "GET", "/v1/audit-log?limit=1000", "", admin...)["items"].([]any)
		return fmt.Sprint(g.documents(), len(events), "events\n", g.shape(""), g.shape("acme"), g.shape("awaken.admin"))
	}
	routes, cases := 0, 0
	readDocument(t, g).operations(func(method, path string, op map[string]any) {
		if op["x-access"] != "admin" {
			return
		}
		routes++
		name := method + " " + path
		q := request{path: path, body: adminBodies[name]}
		if q.body == "" {
			ok := successes[name]
			if ok == nil {
				t.Fatalf("%s: the test has no request for it", name)
			}
			q = ok(g, nil)
		}
		g.eventually("rest", func() bool { return g.rests("") && g.rests("awaken.admin") })
		before := state()
		for k, who := range slices.Sorted(maps.Keys(creds)) {
			as := creds[who]
			if who == "tenant" && op["x-scope"] != "server" {
				continue // it may, on its own
			}
			want := 403
			if who == "missing" || who == "wrong" || who == "basic" {
				want = 401
			}
			for i, body := range []string{q.body, "{", ""} { // what is wrong with a request is not for them
				if !testenv.Long() && i != (k+routes)%3 {
					continue // each route gets each body, each from another caller
				}
				cases++
				if status, text := g.ask(method, q.path, body, as...); status != want {
					t.Errorf("%s by %s: %d %s, want %d", name, who, status, text, want)
				}
			}
		}
		if after := state(); after != before {
			t.Errorf("%s has changed\n%s\ninto\n%s", name, before, after)
		}
		if status, text := g.ask(method, q.path, q.body, admin...); status >= 300 {
			t.Errorf("%s by an admin: %d %s", name, status, text)
		}
	})
	t.Logf("%d routes, %d cases", routes, cases)
	if routes < 60 {
		t.Errorf("there are %d admin routes only", routes)
	}
}

// FuzzConfig: no document makes the server fail with a 5xx.
func FuzzConfig(f *testing.F) {
	paths := []string{"PUT /v1/config/agents/x", "POST /v1/config/agents", "PUT /v1/config/models/x", "PUT /v1/config/model-pools/x", "PUT /v1/config/providers/x", "PUT /v1/config/mcp-servers/x",
		"PUT /v1/config/a2a-servers/x", "PUT /v1/config/skills/x", "PUT /v1/config/tools/ask", "POST /v1/config/agents/validate", "POST /v1/config/agents/x/restore",
		"PATCH /v1/config/agents/helper/overrides", "POST /v1/config/agents/helper/overrides", "PATCH /v1/config/tools/ask/overrides", "PATCH /v1/config/skills/greet/overrides",
		"POST /v1/registry/publish", "PUT /v1/registry/canary", "PUT /v1/admin/assistant/config", "PUT /v1/config/agents/x?publish=false"}
	bodies := []string{`{"id":"x","model_id":"m"}`, `{"id":"x"}`, `{}`, `[]`, `null`, `"x"`, `{"id":"x","model_id":"m","sections":{"permission":null,"retry":{}}}`,
		`{"id":"x","provider_id":"local","upstream_model":"u","modalities":{"input":["text"]}}`, `{"id":"x","members":[{"model_id":"local-model","weight":-1}]}`,
		`{"id":"x","adapter":"scripted","api_key":{"$secret":"providers/x#/api_key"},"adapter_options":{"headers":{"a":"***"}}}`, `{"id":"x","transport":"stdio","command":"c","env":{"A":null}}`,
		`{"id":"x","base_url":"https://x","auth":{"type":"bearer","token":"***"}}`, `{"id":"x","name":"n","description":"d","instructions_md":"i","paths":["a"]}`,
		`{"system_prompt":null,"_clear":["max_rounds","sections.x"],"sections":{"a":null}}`, `{"_clear":7}`, `{"description":"d"}`, `{"version":"x"}`, `{"version":1,"share":0.5}`,
		`{"records":[{"namespace":"agents","id":"x"}],"canary":{"share":1}}`, `{"policy_prompt":"x","model_id":"m","revision":0}`, `{"id":"x","id":"y"}`, `{"id":"x","backend":{"kind":"a2a","config":null}}`,
		`{"id":"x","model_id":"m","stop_conditions":[{"type":"loop_detection","window":1e9}]}`, `{"id":"\u0000"}`, `{"id":"x","max_rounds":1e400}`}
	for i := range paths {
		for _, b := range bodies {
			f.Add(i, b)
		}
	}
	g := newRig(f)
	f.Fuzz(func(t *testing.T, i int, body string) {
		method, path, _ := strings.Cut(paths[uint(i)%uint(len(paths))], " ")
		status, text := (&rig{t: t, http: g.http}).ask(method, path, body, admin...)
		if status >= 500 {
			t.Errorf("%s %s %q: %d %s", method, path, body, status, text)
		}
		var e struct{ Error, Code string }
		if status >= 400 && (json.Unmarshal([]byte(text), &e) != nil || e.Error == "" || e.Code == "") {
			t.Errorf("%s %s %q: %d %q is no error", method, path, body, status, text)
		}
	})
}
