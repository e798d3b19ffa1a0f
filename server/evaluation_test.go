package server_test

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/evals"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/state/profile"
)

const (
	saysHi  = `{"id":"hi","user_input":"Hi","provider_script":[{"kind":"chat_response","content":"Hello!"}],"expect":{"final_answer_contains":["Hello"]}}`
	saysBye = `{"id":"bye","user_input":"Bye","provider_script":[{"kind":"chat_response","content":"Farewell"}],"expect":{"final_answer_contains":["Hello"]}}`
)

// dataset makes a dataset with fixtures and returns its id.
func (g *rig) dataset(fixtures string, headers ...string) string {
	g.t.Helper()
	id := "d-" + g.id()
	g.want(201, "POST", "/v1/eval/datasets", fmt.Sprintf(`{"id":%q,"spec":{"description":"tries","fixtures":[%s]}}`, id, fixtures), headers...)
	return id
}

// evaluated runs a dataset by its scripts and returns the id of the run.
func (g *rig) evaluated(dataset string, headers ...string) string {
	g.t.Helper()
	return g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q}`, dataset), headers...)["run"].(map[string]any)["id"].(string)
}

func TestDatasets_AreDocumentsWithRevisions(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	made := g.want(201, "POST", "/v1/eval/datasets?id=support", `{"spec":{"description":"tries","fixtures":[]}}`, admin...)
	if made["id"] != "support" || made["meta"].(map[string]any)["revision"] != 1.0 {
		t.Errorf("%v", made)
	}
	g.says(409, "already exists", "POST", "/v1/eval/datasets", `{"id":"support","spec":{"fixtures":[]}}`, admin...)
	g.want(201, "POST", "/v1/eval/datasets/support/fixtures", `{"expected_revision":1,"fixture":`+saysHi+`}`, admin...)
	g.says(409, "its revision is 2, not 1", "POST", "/v1/eval/datasets/support/fixtures", `{"expected_revision":1,"fixture":`+saysBye+`}`, admin...)
	g.says(400, `fixtures[1].id is \"hi\", the id of fixtures[0]`, "POST", "/v1/eval/datasets/support/fixtures", `{"expected_revision":2,"fixture":`+saysHi+`}`, admin...)
	g.says(400, "expected_revision is missing", "PUT", "/v1/eval/datasets/support", `{"spec":{"fixtures":[]}}`, admin...)
	g.says(400, "min_judge_score is 2; want 0 to 1", "PUT", "/v1/eval/datasets/support", `{"expected_revision":2,"spec":{"fixtures":[{"id":"a","user_input":"x","expect":{"min_judge_score":2}}]}}`, admin...)
	g.want(200, "PUT", "/v1/eval/datasets/support", `{"expected_revision":2,"spec":{"description":"more","fixtures":[`+saysHi+`,`+saysBye+`]}}`, admin...)
	list := g.want(200, "GET", "/v1/eval/datasets", "", admin...)["datasets"].([]any)[0].(map[string]any)
	delete(list, "updated_at")
	if diff := cmp.Diff(map[string]any{"id": "support", "description": "more", "fixture_count": 2.0, "revision": 3.0}, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	g.dataset("", admin...)
	all := g.want(200, "GET", "/v1/eval/datasets", "", admin...)
	if first, rest := g.want(200, "GET", "/v1/eval/datasets?limit=1", "", admin...), g.want(200, "GET", "/v1/eval/datasets?offset=1", "", admin...); len(all["datasets"].([]any)) != 2 || all["has_more"] != false ||
		first["has_more"] != true || rest["has_more"] != false || cmp.Diff(all["datasets"], append(first["datasets"].([]any), rest["datasets"].([]any)...)) != "" {
		t.Errorf("%v, %v, %v", all, first, rest)
	}
	g.says(409, "its revision is 3", "DELETE", "/v1/eval/datasets/support?expected_revision=2", "", admin...)
	g.want(204, "DELETE", "/v1/eval/datasets/support?expected_revision=3", "", admin...)
	g.want(404, "GET", "/v1/eval/datasets/support", "", admin...)
	for _, id := range []string{"_adhoc", "a/b", "user::x", "../x"} {
		g.says(400, "id is", "POST", "/v1/eval/datasets", fmt.Sprintf(`{"id":%q,"spec":{"fixtures":[]}}`, id), admin...)
	}
	if events := g.want(200, "GET", "/v1/audit-log?resource=eval-datasets/support", "", admin...)["items"].([]any); len(events) != 4 {
		t.Errorf("the audit log has %d events about the dataset, want 4", len(events))
	}
}

func TestDatasets_TakeRecordedRuns(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, run := g.done(admin...)
	id := g.dataset("", admin...)
	made := g.want(201, "POST", "/v1/eval/datasets/"+id+"/items", fmt.Sprintf(`{"from_run_id":%q,"fixture_id":"one","provider_script_mode":"require","expected":{"final_answer_contains":["Scripted"]}}`, run), admin...)
	fixture := made["spec"].(map[string]any)["fixtures"].([]any)[0].(map[string]any)
	if fixture["source_run_id"] != run || fixture["user_input"] == "" || len(fixture["provider_script"].([]any)) != 1 {
		t.Errorf("%v", fixture)
	}
	g.says(400, "expected is empty", "POST", "/v1/eval/datasets/"+id+"/items", fmt.Sprintf(`{"from_run_id":%q,"expected":{}}`, run), admin...)
	g.says(404, "run", "POST", "/v1/eval/datasets/"+id+"/items", `{"from_run_id":"none"}`, admin...)
	_, waiting, _ := g.waits(admin...)
	g.says(400, "it has not ended", "POST", "/v1/eval/datasets/"+id+"/items", fmt.Sprintf(`{"from_run_id":%q,"provider_script_mode":"require"}`, waiting), admin...)
	out := g.want(200, "POST", "/v1/eval/datasets/"+id+"/import-traces", `{"expected_revision":2,"max_count":5}`, admin...)
	if out["imported_count"] != 1.0 || out["dataset_revision"] != 3.0 {
		t.Errorf("%v", out)
	}
	g.says(400, "since_secs is 9223372036854775807; want 0 to", "POST", "/v1/eval/datasets/"+id+"/import-traces", `{"expected_revision":3,"since_secs":9223372036854775807}`, admin...)
	again := g.want(200, "POST", "/v1/eval/datasets/"+id+"/import-traces", `{"expected_revision":3}`, admin...)
	if again["imported_count"] != 0.0 || again["skipped_count"] != 1.0 || again["dataset_revision"] != 3.0 {
		t.Errorf("imported again: %v", again)
	}
	if events := g.want(200, "GET", "/v1/audit-log?resource=eval-datasets/"+id, "", admin...)["items"].([]any); len(events) != 3 {
		t.Errorf("the audit log has %d events about the dataset, want 3", len(events))
	}
	if pins := g.want(200, "GET", "/v1/traces/"+run+"/pin", "", admin...)["pins"].([]any); len(pins) != 1 {
		t.Error("an import of nothing unpinned the run")
	}
	g.want(200, "POST", "/v1/eval/datasets/"+id+"/import-dialogue", fmt.Sprintf(`{"expected_revision":3,"fixture_id":"both","run_ids":[%q,%q]}`, run, run), admin...)
	_ = thread

	// What was recorded runs at once, and passes.
	reply := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q}`, id), admin...)
	for _, it := range reply["run"].(map[string]any)["items"].([]any) {
		if report := it.(map[string]any)["report"].(map[string]any); report["passed"] != true {
			t.Errorf("%v", report)
		}
	}
}

func TestEvalRuns_CompareWithABaseline(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	id := g.dataset(saysHi+","+saysBye, admin...)
	first := g.evaluated(id, admin...)
	reply := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"baseline_run_id":%q}`, id, first), admin...)
	run := reply["run"].(map[string]any)
	if run["status"] != "done" || run["execution_mode"] != "scripted" || run["dataset_revision"] != 1.0 || len(run["items"].([]any)) != 2 {
		t.Errorf("%v", run)
	}
	var kinds []string
	for _, c := range reply["diff"].([]any) {
		kinds = append(kinds, c.(map[string]any)["kind"].(string))
	}
	if diff := cmp.Diff([]string{"unchanged", "still_failing"}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := g.want(200, "GET", fmt.Sprintf("/v1/eval/runs/%s?baseline=%s&aggregate=samples", run["id"], first), "", admin...)
	if diff := cmp.Diff(reply["diff"], got["diff"]); diff != "" || len(got["aggregates"].([]any)) != 2 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	summary := g.want(200, "GET", "/v1/eval/runs?limit=1&dataset_id="+id, "", admin...)["runs"].([]any)
	if s := summary[0].(map[string]any); len(summary) != 1 || s["id"] != run["id"] || s["passed_count"] != 1.0 || s["failed_count"] != 1.0 || s["item_count"] != 2.0 {
		t.Errorf("%v", summary)
	}
	g.says(400, "cursor must be", "GET", "/v1/eval/runs?cursor=x", "", admin...)
	g.says(400, "unknown parameter", "GET", "/v1/eval/runs?offset=1", "", admin...)
	page := g.want(200, "GET", "/v1/eval/runs?limit=1", "", admin...)
	if page["has_more"] != true {
		t.Errorf("%v", page)
	}
	g.says(400, "other filters", "GET", fmt.Sprintf("/v1/eval/runs?dataset_id=x&cursor=%s", page["next_cursor"]), "", admin...)
	page = g.want(200, "GET", fmt.Sprintf("/v1/eval/runs?limit=1&cursor=%s", page["next_cursor"]), "", admin...)
	if runs := page["runs"].([]any); len(runs) != 1 || runs[0].(map[string]any)["id"] != first || page["has_more"] != false || page["next_cursor"] != nil {
		t.Errorf("%v", page)
	}
	g.want(204, "DELETE", "/v1/eval/runs/"+first, "", admin...)
	g.want(404, "GET", "/v1/eval/runs/"+first, "", admin...)
}

// The rules that tests of the original pin.
func TestEvalRuns_RefuseWhatCannotBeRun(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) {
		c.Evals.Limits = evals.Limits{SyncCells: 4, AsyncCells: 6, Samples: 3, OnlineCells: 2, Revisions: 1}
	})
	id, empty := g.dataset(saysHi+","+saysBye, admin...), g.dataset("", admin...)
	judged := g.dataset(`{"id":"a","user_input":"x","provider_script":[{"kind":"chat_response","content":"x"}],"expect":{"min_judge_score":0.5}}`, admin...)
	other := g.evaluated(g.dataset(saysHi, admin...), admin...)
	sampled := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"],"samples":1}`, id), admin...)["run"].(map[string]any)["id"]
	online := g.want(200, "POST", "/v1/eval/online", `{"user_input":"x","models":["m"]}`, admin...)["run"].(map[string]any)["id"]
	for _, tt := range []struct {
		status     int
		body, says string
	}{
		{400, `{}`, "dataset_id is missing"},
		{404, `{"dataset_id":"none"}`, "not found"},
		{400, fmt.Sprintf(`{"dataset_id":%q}`, empty), "has no fixtures"},
		{400, `{"dataset_id":"ID","mode":"both"}`, `mode is \"both\"`},
		{400, `{"dataset_id":"ID","mode":"live"}`, "models is empty"},
		{400, `{"dataset_id":"ID","mode":"scripted","models":["m"]}`, "models is set, but the mode is scripted"},
		{400, `{"dataset_id":"ID","samples":2}`, "samples is set, but the mode is scripted"},
		{400, `{"dataset_id":"ID","agent_id":"default"}`, "agent_id is set"},
		{400, `{"dataset_id":"ID","max_walltime_secs":5}`, "max_walltime_secs is set"},
		{400, `{"dataset_id":"ID","max_total_tokens":5}`, "max_total_tokens is set"},
		{400, `{"dataset_id":"ID","judge":{"model_id":"m"}}`, "judge is set"},
		{400, `{"dataset_id":"ID","models":[]}`, "models is empty"},
		{400, `{"dataset_id":"ID","models":["m","m"]}`, "which is listed before"},
		{400, `{"dataset_id":"ID","models":["m"],"samples":0}`, "samples is 0; want 1 to 3"},
		{400, `{"dataset_id":"ID","models":["m"],"samples":4}`, "samples is 4; want 1 to 3"},
		{400, `{"dataset_id":"ID","mode":"live","samples":1}`, "samples is set without models"},
		{400, `{"dataset_id":"ID","models":["m"],"max_walltime_secs":0}`, "max_walltime_secs is 0"},
		{400, `{"dataset_id":"ID","models":["m"],"max_total_tokens":0}`, "max_total_tokens is 0"},
		{400, `{"dataset_id":"ID","models":["m"],"samples":3}`, "the run has 6 cells; want at most 4, or the header Prefer: respond-async"},
		{400, `{"dataset_id":"ID","models":["m"],"judge":{"model_id":"m","revise_max_retries":2}}`, "revise_max_retries is 2; want 0 to 1"},
		{400, fmt.Sprintf(`{"dataset_id":%q}`, judged), "min_judge_score; want a judge"},
		{400, fmt.Sprintf(`{"dataset_id":%q,"models":["m"]}`, judged), "min_judge_score; want a judge"},
		{400, `{"dataset_id":"ID","models":["m"],"agent_id":"default","agent_overrides":{"id":"x"}}`, "agent_overrides.id"},
		{404, `{"dataset_id":"ID","baseline_run_id":"none"}`, `baseline \"none\": not found; want`},
		{404, `{"dataset_id":"ID","models":["m","none"]}`, `models[1] is \"none\", which`},
		{404, `{"dataset_id":"ID","mode":"live","agent_id":"none"}`, `agent_id is \"none\", which`},
		{404, `{"dataset_id":"ID","mode":"live","agents":["default","none"]}`, `agents[1] is \"none\", which`},
		{404, `{"dataset_id":"ID","models":["m"],"judge":{"model_id":"none"}}`, `judge.model_id is \"none\", which`},
		{404, `{"dataset_id":"ID","mode":"live","agent_id":"default","version":"99999"}`, `version is \"99999\", which does not exist; want`},
		{400, fmt.Sprintf(`{"dataset_id":"ID","baseline_run_id":%q}`, other), "has dataset_id"},
		{400, fmt.Sprintf(`{"dataset_id":"ID","baseline_run_id":%q}`, sampled), "has execution_mode live"},
		{400, fmt.Sprintf(`{"dataset_id":"ID","models":["m"],"baseline_run_id":%q}`, sampled), "has samples 1; want 0"},
		{400, fmt.Sprintf(`{"dataset_id":"ID","models":["m"],"baseline_run_id":%q}`, online), "no dataset"},
	} {
		g.says(tt.status, tt.says, "POST", "/v1/eval/runs", strings.ReplaceAll(tt.body, `"ID"`, `"`+id+`"`), admin...)
	}
	for _, tt := range []struct {
		status     int
		body, says string
	}{
		{400, `{"models":["m"]}`, "user_input is empty"},
		{400, `{"user_input":"x"}`, "models is empty"},
		{400, `{"user_input":"x","models":["m"],"samples":3}`, "has 3 cells; want at most 2"},
		{400, `{"user_input":"x","models":["m"],"expectations":{"min_judge_score":7}}`, "expectations.min_judge_score is 7"},
		{404, `{"user_input":"x","models":["none"]}`, "none"},
	} {
		g.says(tt.status, tt.says, "POST", "/v1/eval/online", tt.body, admin...)
	}
	revision := g.evaluated(id, admin...)
	g.want(201, "POST", "/v1/eval/datasets/"+id+"/fixtures", `{"expected_revision":1,"fixture":{"id":"more","user_input":"x","expect":{}}}`, admin...)
	g.says(400, "has dataset_revision 1; want 2", "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"baseline_run_id":%q}`, id, revision), admin...)
	g.says(400, "the run has 9 cells; want at most 6", "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"],"samples":3}`, id), append([]string{"Prefer", "respond-async"}, admin...)...)
}

func TestEvalRuns_AskModels(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	id := g.dataset(`{"id":"echo","user_input":"hello you","expect":{"final_answer_contains":["Scripted response to: hello"]}}`, admin...)
	reply := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"],"agent_id":"default","agent_overrides":{"system_prompt":"New."},"samples":2}`, id), admin...)
	a := reply["aggregates"].([]any)[0].(map[string]any)
	if a["samples"] != 2.0 || a["pass_rate"] != 1.0 || a["pass_pow_k"] != true || a["cell"].(map[string]any)["model_id"] != "m" {
		t.Errorf("%v", a)
	}
	if s := reply["statistics"].([]any)[0].(map[string]any); s["count"] != 2.0 || s["flake_rate"] != 0.0 || s["cost_usd"] == nil {
		t.Errorf("%v", s)
	}
	online := g.want(200, "POST", "/v1/eval/online", `{"user_input":"hello","models":["m"],"persist":false}`, admin...)
	run := online["run"].(map[string]any)
	if online["persisted"] != false || run["dataset_id"] != "_adhoc" || run["items"].([]any)[0].(map[string]any)["report"].(map[string]any)["final_text"] != "Scripted response to: hello" {
		t.Errorf("%v", online)
	}
	g.want(404, "GET", "/v1/eval/runs/"+run["id"].(string), "", admin...)
	kept := g.want(200, "POST", "/v1/eval/online", `{"user_input":"hello","models":["m"]}`, admin...)
	if kept["persisted"] != true {
		t.Errorf("%v", kept)
	}
	g.want(200, "GET", "/v1/eval/runs/"+kept["run"].(map[string]any)["id"].(string), "", admin...)
}

// A tenant's admin sees and runs only what belongs to the tenant.
func TestEvals_BelongToATenant(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	acme, rival := g.as("the-key-of-acme", server.Key{ID: "acme", Kind: server.AdminKey, Tenant: "acme"}), g.as("the-key-of-rival", server.Key{ID: "rival", Kind: server.AdminKey, Tenant: "rival"})
	id := g.dataset(saysHi, acme...)
	run := g.evaluated(id, acme...)
	_, recorded := g.done(acme...)
	mine := g.dataset(saysHi, rival...)
	for _, q := range [][2]string{{"GET /v1/eval/datasets/" + id, ""}, {"DELETE /v1/eval/datasets/" + id, ""}, {"PUT /v1/eval/datasets/" + id, `{"expected_revision":1,"spec":{"fixtures":[]}}`},
		{"POST /v1/eval/datasets/" + id + "/fixtures", `{"expected_revision":1,"fixture":` + saysBye + `}`}, {"POST /v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q}`, id)},
		{"POST /v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"baseline_run_id":%q}`, mine, run)}, {"GET /v1/eval/runs/" + run, ""}, {"DELETE /v1/eval/runs/" + run, ""},
		{"POST /v1/eval/runs/" + run + "/cancel", ""}, {"GET /v1/eval/runs/" + run + "/events", ""}, {"GET /v1/eval/runs/" + g.evaluated(mine, rival...) + "?baseline=" + run, ""},
		{"POST /v1/eval/datasets/" + mine + "/items", fmt.Sprintf(`{"from_run_id":%q}`, recorded)}, {"POST /v1/eval/datasets/" + mine + "/import-dialogue", fmt.Sprintf(`{"expected_revision":1,"run_ids":[%q]}`, recorded)}} {
		method, path, _ := strings.Cut(q[0], " ")
		g.want(404, method, path, q[1], rival...)
	}
	if out := g.want(200, "POST", "/v1/eval/datasets/"+mine+"/import-traces", `{"expected_revision":1}`, rival...); out["imported_count"] != 0.0 {
		t.Errorf("a rival imported %v", out)
	}
	for path, list := range map[string]string{"/v1/eval/datasets": "datasets", "/v1/eval/runs": "runs"} {
		for _, it := range g.want(200, "GET", path, "", rival...)[list].([]any) {
			if got := it.(map[string]any)["id"]; got == id || got == run {
				t.Errorf("%s shows a rival %v", path, got)
			}
		}
	}
	if d := g.want(200, "GET", "/v1/eval/datasets/"+id, "", acme...); d["meta"].(map[string]any)["revision"] != 1.0 {
		t.Errorf("a rival changed %v", d)
	}
}

// turnstile is a model whose requests wait, and are counted.
type turnstile struct {
	llm.Model
	asked atomic.Int64
}

// hanging returns a rig whose model m answers "go" at once, and hangs otherwise until it is open.
func hanging(t *testing.T) (*rig, *turnstile, *atomic.Bool) {
	m, open := &turnstile{}, new(atomic.Bool)
	m.Model = llmtest.NewRules(llmtest.Rule{Turn: func(req *llm.Request) llmtest.Turn {
		m.asked.Add(1)
		if said := req.Messages.At(req.Messages.Len() - 1).Text(); !open.Load() && !strings.HasPrefix(said, "go") {
			return llmtest.Turn{Hang: true}
		}
		return llmtest.Turn{Text: llmtest.Text{"yes"}, Usage: &llm.Usage{PromptTokens: 1, CompletionTokens: 1, TotalTokens: 2}}
	}})
	g := &rig{t: t, db: newRig(t).db, keys: newRig(t).keys}
	g.config = func(c *registry.Config) { c.Providers["p"] = m }
	g.start()
	return g, m, open
}

var async = append([]string{"Prefer", "respond-async"}, admin...)

// status returns the status of an eval run, and how many of its cells are done.
func (g *rig) status(run string) (string, int) {
	r := g.want(200, "GET", "/v1/eval/runs/"+run, "", admin...)["run"].(map[string]any)
	return r["status"].(string), len(r["items"].([]any))
}

const fourCases = `{"id":"a","user_input":"go a","expect":{}},{"id":"b","user_input":"go b","expect":{}},{"id":"c","user_input":"stop c","expect":{}},{"id":"d","user_input":"stop d","expect":{}}`

func TestEvalRuns_ContinueAfterARestartWithoutPayingTwice(t *testing.T) {
	t.Parallel()
	g, m, open := hanging(t)
	id := g.dataset(fourCases, admin...)
	reply := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"],"agent_id":"default","in_doubt":"retry"}`, id), async...)
	run := reply["run"].(map[string]any)["id"].(string)
	for range 3 {
		g.eventually("two cells are done and two hang", func() bool { _, n := g.status(run); return n == 2 && m.asked.Load() >= 4 })
		g.srv.Evals.Jobs().Stop()
		if status, n := g.status(run); status != "running" || n != 2 {
			t.Fatalf("%s with %d cells", status, n)
		}
		g.stop()
		m.asked.Store(2) // those that hung are asked again
		g.start()
		g.srv.Evals.Jobs().Sweep(t.Context())
	}
	g.eventually("the rest is asked", func() bool { return m.asked.Load() >= 4 })
	g.srv.Evals.Jobs().Stop()
	g.stop()
	open.Store(true)
	m.asked.Store(0)
	g.start()
	g.srv.Evals.Jobs().Sweep(t.Context())
	g.eventually("all are done", func() bool { status, n := g.status(run); return status == "done" && n == 4 })
	if n := m.asked.Load(); n != 2 {
		t.Errorf("the model was asked %d times after the last restart, want 2: a cell that is done is not run again", n)
	}
	for _, it := range g.want(200, "GET", "/v1/eval/runs/"+run, "", admin...)["run"].(map[string]any)["items"].([]any) {
		if r := it.(map[string]any)["report"].(map[string]any); r["passed"] != true {
			t.Errorf("%v", r)
		}
	}
	g.srv.Evals.Jobs().Sweep(t.Context())
	if n := m.asked.Load(); n != 2 {
		t.Errorf("a run that is done was run again: %d", n)
	}
}

func TestEvalRuns_CellsInDoubtAreReportedAndRunAgainOnDemand(t *testing.T) {
	t.Parallel()
	g, m, open := hanging(t)
	id := g.dataset(fourCases+`,{"id":"e","user_input":"go e","expect":{}},{"id":"f","user_input":"stop f","expect":{}},{"id":"g","user_input":"stop g","expect":{}},{"id":"h","user_input":"stop h","expect":{}},{"id":"i","user_input":"go i","expect":{}}`, admin...)
	run := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"]}`, id), async...)["run"].(map[string]any)["id"].(string)
	g.eventually("three cells are done and five hang", func() bool { _, n := g.status(run); return n == 3 && m.asked.Load() == 8 })
	g.says(409, "is running; want a completed run", "POST", "/v1/eval/runs/"+run+"/resume", `{"in_doubt":"retry"}`)
	g.srv.Evals.Jobs().Stop()
	g.stop()
	g.start()
	g.srv.Evals.Jobs().Sweep(t.Context())
	g.eventually("the rest is done", func() bool { status, n := g.status(run); return status == "done" && n == 4 })
	if n := m.asked.Load(); n != 9 {
		t.Errorf("the model was asked %d times, want 9: what may have been paid for is not asked again", n)
	}
	reply := g.want(200, "GET", "/v1/eval/runs/"+run, "", admin...)
	var doubts []any
	for _, d := range reply["run"].(map[string]any)["in_doubt"].([]any) {
		doubts = append(doubts, d.(map[string]any)["fixture_id"])
	}
	count := reply["statistics"].([]any)[0].(map[string]any)["count"]
	if diff := cmp.Diff([]any{[]any{"c", "d", "f", "g", "h"}, 5.0, 4.0}, []any{doubts, reply["run"].(map[string]any)["in_doubt_count"], count}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list := g.want(200, "GET", "/v1/eval/runs?limit=1", "", admin...)["runs"].([]any)[0].(map[string]any); list["in_doubt_count"] != 5.0 || list["status"] != "done" {
		t.Errorf("%v", list)
	}
	g.says(400, "in_doubt is", "POST", "/v1/eval/runs/"+run+"/resume", `{"in_doubt":"report"}`)
	open.Store(true)
	g.want(202, "POST", "/v1/eval/runs/"+run+"/resume", `{"in_doubt":"retry"}`, admin...)
	g.eventually("all are done", func() bool { status, n := g.status(run); return status == "done" && n == 9 })
	if n := m.asked.Load(); n != 14 || g.want(200, "GET", "/v1/eval/runs/"+run, "", admin...)["run"].(map[string]any)["in_doubt"] != nil {
		t.Errorf("the model was asked %d times, want 14", n)
	}
	g.says(400, "has no cell in doubt", "POST", "/v1/eval/runs/"+run+"/resume", `{"in_doubt":"retry"}`)
	g.says(400, `in_doubt is \"x\"; want report or retry`, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"in_doubt":"x"}`, id))
}

func TestEvalRuns_AreCancelled(t *testing.T) {
	t.Parallel()
	g, m, _ := hanging(t)
	id := g.dataset(fourCases, admin...)
	run := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"]}`, id), async...)["run"].(map[string]any)["id"].(string)
	g.eventually("two cells are done and two hang", func() bool { _, n := g.status(run); return n == 2 && m.asked.Load() == 4 })
	g.says(409, "cancel it first", "DELETE", "/v1/eval/runs/"+run, "", admin...)
	g.want(200, "POST", "/v1/eval/runs/"+run+"/cancel", "", admin...)
	g.eventually("it is cancelled", func() bool { status, n := g.status(run); return status == "cancelled" && n == 2 })
	g.want(200, "POST", "/v1/eval/runs/"+run+"/cancel", "", admin...)
	g.srv.Evals.Jobs().Sweep(t.Context())
	if n := m.asked.Load(); n != 4 {
		t.Errorf("the model was asked %d times, want 4: a run that was cancelled does not continue", n)
	}
	g.want(204, "DELETE", "/v1/eval/runs/"+run, "", admin...)
}

// A run whose process is gone is cancelled by the one that would continue it.
func TestEvalRuns_AreCancelledWithoutTheirProcess(t *testing.T) {
	t.Parallel()
	g, m, _ := hanging(t)
	id := g.dataset(fourCases, admin...)
	run := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"]}`, id), async...)["run"].(map[string]any)["id"].(string)
	g.eventually("two cells are done and two hang", func() bool { _, n := g.status(run); return n == 2 && m.asked.Load() == 4 })
	a := archive.New(g.profile(""))
	g.srv.Evals.Jobs().Stop()
	if _, err := a.Update(t.Context(), run, func(h *archive.Header) error { h.Cancel = true; return nil }); err != nil {
		t.Fatal(err)
	}
	g.stop()
	g.start()
	g.srv.Evals.Jobs().Sweep(t.Context())
	if status, n := g.status(run); status != "cancelled" || n != 2 || m.asked.Load() != 4 {
		t.Errorf("%s with %d cells after %d requests", status, n, m.asked.Load())
	}
	g.srv.Evals.Jobs().Sweep(t.Context())
	if list, err := g.profile("").List(t.Context(), "eval_active"); err != nil || len(list) > 0 {
		t.Errorf("%d runs are active, %v; want none", len(list), err)
	}
}

func TestEvalRuns_StreamTheirProgress(t *testing.T) {
	t.Parallel()
	g, m, _ := hanging(t)
	id := g.dataset(`{"id":"a","user_input":"stop","expect":{}}`, admin...)
	run := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"]}`, id), async...)["run"].(map[string]any)["id"].(string)
	g.eventually("it hangs", func() bool { return m.asked.Load() == 1 })
	resp := g.do("GET", "/v1/eval/runs/"+run+"/events", "", admin...)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	var seen []string
	for lines.Scan() { // until the server ends the stream
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if seen = append(seen, data); len(seen) == 1 {
			g.want(200, "POST", "/v1/eval/runs/"+run+"/cancel", "", admin...)
		}
	}
	want := []string{`{"done":0,"total":1,"passed":0,"failed":0,"status":"running"}`, `{"done":0,"total":1,"passed":0,"failed":0,"status":"cancelled","in_doubt":1}`}
	if diff := cmp.Diff(want, seen); diff != "" || resp.StatusCode != http.StatusOK {
		t.Errorf("%d (-want +got):\n%s", resp.StatusCode, diff)
	}
}

// orAdmin returns the headers of a caller, or those of the admin.
func orAdmin(as []string) []string {
	if len(as) == 0 {
		return admin
	}
	return as
}

// ofDataset makes a dataset with a fixture, for a request about it.
func ofDataset(rest, body string) func(g *rig, as []string) request {
	return func(g *rig, as []string) request {
		as = orAdmin(as)
		_, run := g.done(as...)
		return request{path: "/v1/eval/datasets/" + g.dataset(saysHi, as...) + rest, body: strings.ReplaceAll(body, "RUN", run)}
	}
}

// ofEvalRun makes a run over a dataset, for a request about it.
func ofEvalRun(rest string) func(g *rig, as []string) request {
	return func(g *rig, as []string) request {
		as = orAdmin(as)
		return request{path: "/v1/eval/runs/" + g.evaluated(g.dataset(saysHi, as...), as...) + rest}
	}
}

// stale makes a request about a revision of a dataset that is not the latest.
func stale(rest, body string) func(g *rig) request {
	return func(g *rig) request { return ofDataset(rest, body)(g, admin) }
}

// hangs returns the id of an eval run that does not end.
func (g *rig) hangs() string {
	g.t.Helper()
	id := g.dataset(`{"id":"a","user_input":"RUN_TOOL wait {}","expect":{}}`, admin...)
	return g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"],"agent_id":"default"}`, id), async...)["run"].(map[string]any)["id"].(string)
}

func init() {
	const put = `{"expected_revision":REV,"spec":{"fixtures":[]}}`
	at := func(revision, body string) string { return strings.ReplaceAll(body, "REV", revision) }
	const one, fixture, item = "/v1/eval/datasets/{id}", `{"expected_revision":REV,"fixture":` + saysBye + `}`, `{"from_run_id":"RUN","expected_revision":REV}`
	const traces, dialogue = `{"expected_revision":REV,"max_count":1}`, `{"expected_revision":REV,"run_ids":["RUN"]}`
	maps.Copy(successes, map[string]func(*rig, []string) request{
		"GET /v1/eval/datasets": plainly("/v1/eval/datasets?limit=2", ""),
		"POST /v1/eval/datasets": func(g *rig, _ []string) request {
			return request{path: "/v1/eval/datasets", body: fmt.Sprintf(`{"id":%q,"spec":{"fixtures":[%s]}}`, g.id(), saysHi)}
		},
		"GET " + one:                       ofDataset("", ""),
		"PUT " + one:                       ofDataset("", at("1", put)),
		"DELETE " + one:                    ofDataset("?expected_revision=1", ""),
		"POST " + one + "/fixtures":        ofDataset("/fixtures", at("1", fixture)),
		"POST " + one + "/items":           ofDataset("/items", at("1", item)),
		"POST " + one + "/import-traces":   ofDataset("/import-traces", at("1", traces)),
		"POST " + one + "/import-dialogue": ofDataset("/import-dialogue", at("1", dialogue)),
		"GET /v1/eval/runs":                plainly("/v1/eval/runs?limit=2", ""),
		"POST /v1/eval/runs/{id}/resume": func(g *rig, as []string) request {
			as = orAdmin(as)
			id := g.evaluated(g.dataset(saysHi, as...), as...)
			g.profiles.Range(func(_, values any) bool {
				_, err := archive.New(values.(profile.Store)).Update(g.t.Context(), id, func(h *archive.Header) error { h.InDoubtCount = 1; return nil })
				return err != nil // it is in the profile of another tenant
			})
			return request{path: "/v1/eval/runs/" + id + "/resume", body: `{"in_doubt":"retry"}`}
		},
		"GET /v1/eval/runs/{id}":         ofEvalRun("?aggregate=samples"),
		"DELETE /v1/eval/runs/{id}":      ofEvalRun(""),
		"POST /v1/eval/runs/{id}/cancel": ofEvalRun("/cancel"),
		"GET /v1/eval/runs/{id}/events":  ofEvalRun("/events"),
		"POST /v1/eval/online":           plainly("/v1/eval/online", `{"user_input":"Hi","models":["m"],"expectations":{"final_answer_contains":["Hi"]},"samples":2}`),
		"POST /v1/eval/compare":          plainly("/v1/eval/compare", `{"items":[{"fixture_id":"a","report":{"passed":true}}],"baseline":[{"fixture_id":"a","report":{"passed":false}}]}`),
		"POST /v1/eval/runs/estimate": func(g *rig, as []string) request {
			return request{path: "/v1/eval/runs/estimate", body: fmt.Sprintf(`{"dataset_id":%q,"models":["m"]}`, g.dataset(saysHi, orAdmin(as)...))}
		},
		"POST /v1/eval/runs": func(g *rig, as []string) request {
			return request{path: "/v1/eval/runs", body: fmt.Sprintf(`{"dataset_id":%q}`, g.dataset(saysHi+","+saysBye, orAdmin(as)...))}
		},
	})
	maps.Copy(conflicts, map[string]func(*rig) request{
		"POST /v1/eval/datasets": func(g *rig) request {
			return request{path: "/v1/eval/datasets", body: fmt.Sprintf(`{"id":%q,"spec":{"fixtures":[]}}`, g.dataset("", admin...))}
		},
		"PUT " + one:                       stale("", at("9", put)),
		"DELETE " + one:                    stale("?expected_revision=9", ""),
		"POST " + one + "/fixtures":        stale("/fixtures", at("9", fixture)),
		"POST " + one + "/items":           stale("/items", at("9", item)),
		"POST " + one + "/import-traces":   stale("/import-traces", at("9", traces)),
		"POST " + one + "/import-dialogue": stale("/import-dialogue", at("9", dialogue)),
		"POST /v1/eval/runs/{id}/resume": func(g *rig) request {
			return request{path: "/v1/eval/runs/" + g.hangs() + "/resume", body: `{"in_doubt":"retry"}`}
		},
		"DELETE /v1/eval/runs/{id}": func(g *rig) request { return request{path: "/v1/eval/runs/" + g.hangs()} },
	})
	maps.Copy(others, map[string][]other{
		"GET /v1/eval/runs":              {about(400, "/v1/eval/runs?cursor=x", "")},
		"GET /v1/eval/datasets":          {about(400, "/v1/eval/datasets?limit=x", "")},
		"POST /v1/eval/runs/{id}/resume": {about(404, "/v1/eval/runs/none/resume", `{"in_doubt":"retry"}`)},
		"GET /v1/eval/runs/{id}":         {about(400, "/v1/eval/runs/x?aggregate=x", "")},
		"POST /v1/eval/runs": {about(404, "/v1/eval/runs", `{"dataset_id":"none"}`), {202, func(g *rig) request {
			return request{path: "/v1/eval/runs", body: fmt.Sprintf(`{"dataset_id":%q}`, g.dataset(saysHi, admin...)), headers: []string{"Prefer", "respond-async"}}
		}}},
		"DELETE " + one:        {about(400, "/v1/eval/datasets/x?expected_revision=x", "")},
		"POST /v1/eval/online": {about(404, "/v1/eval/online", `{"user_input":"x","models":["none"]}`)},
	})
	for _, op := range []string{"GET /v1/eval/datasets", "GET " + one, "PUT " + one, "DELETE " + one, "POST " + one + "/fixtures", "GET /v1/eval/runs", "POST /v1/eval/runs",
		"GET /v1/eval/runs/{id}", "DELETE /v1/eval/runs/{id}", "POST /v1/eval/runs/{id}/cancel", "POST /v1/eval/runs/{id}/resume", "GET /v1/eval/runs/{id}/events", "POST /v1/eval/runs/estimate", "POST /v1/eval/compare"} {
		never[op+" 500"] = true // the test breaks no profile of a tenant
	}
}
