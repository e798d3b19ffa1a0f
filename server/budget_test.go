package server_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

// with adds fields to the body of a request.
func with(body, fields string) string { return strings.Replace(body, "{", "{"+fields+",", 1) }

var asJSON = []string{"Accept", "application/json"}

// The demo's model calls any tool that the message names, including the one for the answer.
const final = `RUN_TOOL final_output {"city":"Rome"}`

func TestRuns_AnswerWithStructuredOutput(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	schema := `"output_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	out := g.want(200, "POST", "/v1/runs", with(runBody("default", "", final), schema), asJSON...)
	if got := fmt.Sprint(out["structured_output"]); got != "map[city:Rome]" || out["status"] != "done" {
		t.Errorf("the answer is %v", out)
	}
	run := g.want(200, "GET", "/v1/runs/"+out["run_id"].(string), "")
	if got := fmt.Sprint(run["structured_output"]); got != "map[city:Rome]" {
		t.Errorf("the run has %v", got)
	}
	resp := g.do("POST", "/v1/runs", with(runBody("default", "", final), schema))
	defer resp.Body.Close()
	frames := readFrames(t, resp.Body, is("run_finish"))
	if last := frames[len(frames)-1].data; !strings.Contains(last, `"structured_output":{"city":"Rome"}`) {
		t.Errorf("the stream ends with %s", last)
	}
	for body, want := range map[string]string{
		with(runBody("default", "", "x"), `"output_schema":{"type":"odd"}`):  "output_schema",
		with(runBody("default", "", "x"), `"output_schema":[]`):              "output_schema",
		with(runBody("default", "", "x"), `"budget":{"run_usd":-1}`):         "budget.run_usd is -1",
		with(runBody("default", "", "x"), `"budget":{"thread_usd":1000e10}`): "budget.thread_usd",
	} {
		if status, text := g.ask("POST", "/v1/runs", body); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if status, text := g.ask("POST", "/v1/runs", with(runBody("default", "", "x"), `"budget":{"agent_usd":1}`)); status != 422 || !strings.Contains(text, "agent_usd") {
		t.Errorf("a budget of the agent in a request: %d %s", status, text)
	}
}

func TestSpending_RunContinuesWhenLimitIsRaised(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	run := g.poor()
	w := g.want(200, "GET", "/v1/runs/"+run, "")["waiting"].(map[string]any)["budget"].(map[string]any)
	if w["scope"] != "run" || w["id"] != run || w["limit_usd"] != 0.0 || w["needed_usd"].(float64) <= 0 {
		t.Errorf("the run waits for %v", w)
	}
	g.want(202, "POST", "/v1/runs/"+run+"/continue", "") // still nothing there
	g.eventually("waiting again", func() bool {          // no dispatch is live: one that is could find the raised limit
		live, err := g.db.Handle("").Dispatches(t.Context(), mailbox.Query{RunID: run, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
		return err == nil && len(live) == 0 && g.want(200, "GET", "/v1/runs/"+run, "")["status"] == "waiting"
	})
	if got := g.want(200, "PUT", "/v1/runs/"+run+"/budget", `{"limit_usd":1}`, admin...); got["limit_usd"] != 1.0 || got["spent_usd"] != 0.0 {
		t.Errorf("the budget is %v", got)
	}
	g.want(202, "POST", "/v1/runs/"+run+"/continue", "")
	g.ends(run)
	done := g.want(200, "GET", "/v1/runs/"+run, "")
	spent := g.want(200, "GET", "/v1/runs/"+run+"/budget", "")
	if done["final_output"] == "" || done["cost_usd"] == nil || spent["spent_usd"] != done["cost_usd"] || spent["reserved_usd"] != 0.0 {
		t.Errorf("the run is %v, its budget %v", done, spent)
	}
}

func TestSpending_OfATenantIsSetByOperators(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Open = new(bool) })
	keys := map[string][]string{}
	for _, tenant := range []string{"a", "b"} {
		if err := g.keys.Fix("the-key-of-"+tenant, server.Key{ID: tenant, Kind: server.AdminKey, Tenant: tenant}); err != nil {
			t.Fatal(err)
		}
		keys[tenant] = []string{"Authorization", "Bearer the-key-of-" + tenant, "Accept", "application/json"}
	}
	g.want(200, "PUT", "/v1/budget?tenant=a", `{"limit_usd":0.000001}`, admin...)
	g.want(403, "POST", "/v1/keys", `{"kind":"run","budget_usd":5}`, keys["a"]...)
	g.want(400, "POST", "/v1/keys", `{"kind":"run","tenant":"c","budget_usd":-5}`, admin...)
	g.want(201, "POST", "/v1/keys", `{"kind":"run","tenant":"c","budget_usd":5}`, admin...)
	if got := g.want(200, "GET", "/v1/budget?tenant=c", "", admin...); got["limit_usd"] != 5.0 {
		t.Errorf("the budget of the key's tenant is %v", got)
	}
	g.want(403, "PUT", "/v1/budget", `{"limit_usd":100}`, keys["a"]...)
	g.want(403, "PUT", "/v1/budget?tenant=b", `{"limit_usd":100}`, keys["a"]...)
	g.want(403, "GET", "/v1/budget?tenant=b", "", keys["a"]...)
	if got := g.want(200, "GET", "/v1/budget", "", keys["a"]...); got["limit_usd"] != 0.000001 {
		t.Errorf("the budget is %v", got)
	}
	if out := g.want(200, "POST", "/v1/runs", runBody("default", "t", "hello"), keys["a"]...); out["status"] != "waiting" {
		t.Errorf("the run is %v", out)
	}
	if out := g.want(200, "POST", "/v1/runs", runBody("default", "t", "hello"), keys["b"]...); out["status"] != "done" {
		t.Errorf("the run of the other tenant is %v", out)
	}
	// An agent's limit is its tenant's to set.
	g.want(200, "PUT", "/v1/agents/default/budget", `{"limit_usd":0}`, keys["b"]...)
	if out := g.want(200, "POST", "/v1/runs", runBody("default", "t2", "hello"), keys["b"]...); out["status"] != "waiting" {
		t.Errorf("the run is %v", out)
	}
	g.want(404, "PUT", "/v1/agents/missing/budget", `{"limit_usd":0}`, keys["b"]...)
	g.want(400, "PUT", "/v1/agents/default/budget", `{"limit_usd":-1}`, keys["b"]...)
}

func TestUsage_TotalsByAgentAndThread(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	sum := 0.0
	for i, agent := range []string{"default", "other", "default"} {
		out := g.want(200, "POST", "/v1/runs", runBody(agent, fmt.Sprint("t", i), "hello"), asJSON...)
		sum += out["cost"].(float64)
	}
	got := g.want(200, "GET", "/v1/usage", "")
	if items := got["items"].([]any); len(items) != 2 || got["runs"] != 3.0 || got["cost_usd"].(float64) < sum-1e-9 || got["cost_usd"].(float64) > sum+1e-9 || sum == 0 {
		t.Errorf("the usage is %v, want a cost of %v", got, sum)
	}
	if got := g.want(200, "GET", "/v1/usage?thread_id=t1", ""); got["runs"] != 1.0 {
		t.Errorf("the usage of the thread is %v", got)
	}
	if got := g.want(200, "GET", "/v1/usage?agent_id=other", ""); got["runs"] != 1.0 {
		t.Errorf("the usage of the agent is %v", got)
	}
}

// A server whose runs have no budget says so, and does not accept limits.
func TestSpending_RoutesSayThatThereIsNone(t *testing.T) {
	t.Parallel()
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, runtime(t).With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := (&servertest.Config{Config: server.Config{Mailbox: box}}).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]int{"GET /v1/budget": 200, "PUT /v1/budget": 405, "GET /v1/usage": 200, "GET /v1/runs/missing/budget": 404} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, nil))
		if w.Code != want {
			t.Errorf("%s: status is %d, want %d", request, w.Code, want)
		}
		if request == "GET /v1/budget" && strings.TrimSpace(w.Body.String()) != `{"enabled":false,"scope":"tenant","limit_usd":null,"spent_usd":0,"reserved_usd":0,"in_doubt_usd":0}` {
			t.Errorf("%s: %s", request, w.Body)
		}
	}
}
