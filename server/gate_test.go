package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
)

// guarded is a rig with a live agent that requires an evaluation. Its model is polite if the agent's prompt says so.
type guarded struct {
	*rig
	agent, dataset string
}

func newGuarded(t *testing.T, requirement string) *guarded {
	t.Helper()
	first := newRig(t)
	g := &guarded{rig: &rig{t: t, db: first.db, keys: first.keys}, agent: "support"}
	g.config = func(c *registry.Config) {
		c.Providers["p"] = llmtest.NewRules(llmtest.Rule{Turn: func(req *llm.Request) llmtest.Turn {
			text := "No."
			if slices.ContainsFunc(req.System, func(b llm.Block) bool { return strings.Contains(b.Text, "polite") }) {
				text = "Certainly!"
			}
			return llmtest.Turn{Text: llmtest.Text{text}, Usage: &llm.Usage{PromptTokens: 1, CompletionTokens: 1, TotalTokens: 2}}
		}})
	}
	g.start()
	g.dataset = g.rig.dataset(`{"id":"a","user_input":"May I?","expect":{"final_answer_contains":["Certainly"]}},{"id":"b","user_input":"Hello","expect":{}}`, admin...)
	g.want(200, "PUT", "/v1/config/agents/"+g.agent, fmt.Sprintf(`{"id":%q,"model_id":"m","system_prompt":"Be brief."}`, g.agent), admin...)
	g.write("Be brief.", requirement, "", 200)
	return g
}

// write writes the agent with a prompt.
func (g *guarded) write(prompt, requirement, query string, status int, headers ...string) string {
	g.t.Helper()
	got, text := g.ask("PUT", "/v1/config/agents/"+g.agent+query, fmt.Sprintf(`{"id":%q,"model_id":"m","system_prompt":%q,"sections":{"eval_gate":{"require":[{"dataset":%q%s}]}}}`, g.agent, prompt, g.dataset, requirement), append(headers, admin...)...)
	if got != status {
		g.t.Fatalf("%d %s, want %d", got, text, status)
	}
	return text
}

// evaluate evaluates a version of the agent and returns the id of the run.
func (g *guarded) evaluate(version string) string {
	g.t.Helper()
	r := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"agent_id":%q,"mode":"live","version":%q}`, g.dataset, g.agent, version), admin...)
	return r["run"].(map[string]any)["id"].(string)
}

// audited returns the newest event of an action about the agent.
func (g *guarded) audited(action string) map[string]any {
	g.t.Helper()
	items := g.want(200, "GET", "/v1/audit-log?limit=1&action="+action+"&resource=agents/"+g.agent, "", admin...)["items"].([]any)
	if len(items) == 0 {
		g.t.Fatalf("the audit log has no %s", action)
	}
	return items[0].(map[string]any)
}

func TestGates_StopAVersionUntilItsEvaluationIsPassed(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "")
	canary := fmt.Sprintf(`{"records":[{"namespace":"agents","id":%q}],"canary":{"share":0.5}}`, g.agent)

	// Neither a write nor a canary nor a publication passes without a run.
	text := g.write("Be curt.", "", "", 409)
	if !strings.Contains(text, `"code":"gate_closed"`) || !strings.Contains(text, "there is no eval run of the agent") || !strings.Contains(text, `"gates":[`) {
		t.Errorf("%s", text)
	}
	g.write("Be curt.", "", "?publish=false", 200)
	g.says(409, "gate_closed", "POST", "/v1/registry/publish", canary)

	// A run that fails is named.
	bad := g.evaluate("draft")
	g.says(409, fmt.Sprintf(`in eval run \"%s\" over dataset \"%s\", 1 of 2 cells passed`, bad, g.dataset), "POST", "/v1/registry/publish", canary)
	if e := g.audited("apply_failed"); !strings.Contains(e["error"].(string), bad) {
		t.Errorf("%v", e)
	}
	report := g.want(200, "GET", "/v1/registry/gates", "", admin...)
	check := report["items"].([]any)[0].(map[string]any)["checks"].([]any)[0].(map[string]any)
	if report["passed"] != false || check["eval_run_id"] != bad || check["figures"].(map[string]any)["pass_rate"] != 0.5 {
		t.Errorf("%v", report)
	}

	// The run of another draft is no evidence, that of this one is.
	g.write("Be polite.", "", "?publish=false", 200)
	g.says(409, "has another version of the agent", "POST", "/v1/registry/publish", canary)
	good := g.evaluate("draft")
	made := g.want(200, "POST", "/v1/registry/publish", canary, admin...)
	e := g.audited("gate_passed")
	evidence := e["after"].(map[string]any)["checks"].([]any)[0].(map[string]any)
	if e["version"] != made["number"] || evidence["eval_run_id"] != good || evidence["dataset_revision"] != 1.0 || evidence["figures"].(map[string]any)["passed"] != 2.0 {
		t.Errorf("%v", e)
	}

	// What is true for the canary is true for its promotion, and the live version has the same agent then.
	g.want(200, "POST", "/v1/registry/canary/promote", "", admin...)
	if live := g.want(200, "GET", "/v1/registry/gates?version="+fmt.Sprint(made["number"]), "", admin...); live["passed"] != true || live["items"].([]any)[0].(map[string]any)["changed"] != false {
		t.Errorf("%v", live)
	}
}

func TestGates_AVersionCannotLiftItsOwnGate(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "")
	lifted := fmt.Sprintf(`{"id":%q,"model_id":"m","system_prompt":"Be curt."}`, g.agent)
	g.says(409, "gate_closed", "PUT", "/v1/config/agents/"+g.agent, lifted)
	// The gate itself can be edited: that changes nothing that the agent does.
	g.write("Be brief.", `,"min_pass_rate":0.5`, "", 200)
	g.write("Be curt.", "", "", 409)
	// A change of the model is a change of the agent.
	g.want(200, "PUT", "/v1/config/models/other", `{"id":"other","provider_id":"local","upstream_model":"x"}`, admin...)
	g.says(409, "gate_closed", "PUT", "/v1/config/agents/"+g.agent, fmt.Sprintf(`{"id":%q,"model_id":"other","system_prompt":"Be brief."}`, g.agent))
	// An agent that is deleted needs no evidence, nor does one without a gate.
	g.want(200, "PUT", "/v1/config/agents/free", `{"id":"free","model_id":"m"}`, admin...)
	g.want(200, "PUT", "/v1/config/agents/free", `{"id":"free","model_id":"m","system_prompt":"Be curt."}`, admin...)
	g.want(204, "DELETE", "/v1/config/agents/"+g.agent, "", admin...)
}

func TestGates_AnOverrideNeedsAReasonAndIsAudited(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "")
	g.says(400, "X-Awaken-Gate-Override", "POST", "/v1/registry/publish", `{}`, "X-Awaken-Gate-Override", "%20")
	g.says(400, "X-Awaken-Gate-Override", "POST", "/v1/registry/publish", `{}`, "X-Awaken-Gate-Override", strings.Repeat("x", 501))
	g.write("Be curt.", "", "", 200, "X-Awaken-Gate-Override", "the provider is down: caf%C3%A9")
	e := g.audited("gate_overridden")
	after := e["after"].(map[string]any)
	if after["override"] != "the provider is down: café" || after["passed"] != false || e["version"] == nil {
		t.Errorf("%v", e)
	}
	// A way back is always open.
	before := int(e["version"].(float64)) - 1
	g.want(200, "POST", fmt.Sprintf("/v1/registry/versions/%d/rollback", before), "", admin...)
}

func TestGates_CompareWithWhatIsLive(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "")
	g.write("Be polite.", "", "?publish=false", 200)
	g.evaluate("draft")
	g.want(200, "POST", "/v1/registry/publish", "", admin...)
	requirement := `,"min_pass_rate":0,"baseline":"live"`
	g.write("Be polite.", requirement, "", 200)
	g.write("Be curt.", requirement, "?publish=false", 200)
	g.want(201, "POST", "/v1/eval/datasets/"+g.dataset+"/fixtures", `{"expected_revision":1,"fixture":{"id":"c","user_input":"x","expect":{}}}`, admin...)
	bad := g.evaluate("draft")
	g.says(409, "there is no eval run of the agent as it is live", "POST", "/v1/registry/publish", `{}`)
	base := g.evaluate("live")
	text := g.says(409, "1 of 3 cells fail that pass in baseline", "POST", "/v1/registry/publish", `{}`)
	if !strings.Contains(text, bad) || !strings.Contains(text, base) || !strings.Contains(text, `\"a\"`) {
		t.Errorf("%s", text)
	}
	// One case is too few to say that it is worse.
	g.write("Be polite.", requirement+`,"significance":0.05`, "", 200)
	g.write("Be curt.", requirement+`,"significance":0.05`, "?publish=false", 200)
	g.want(200, "POST", "/v1/registry/publish", `{}`, admin...)
	figures := g.audited("gate_passed")["after"].(map[string]any)["checks"].([]any)[0].(map[string]any)["figures"].(map[string]any)
	if figures["lost"] != 1.0 || figures["won"] != 0.0 || figures["passed_p_value"] != 1.0 {
		t.Errorf("%v", figures)
	}
}

func TestEvalRuns_SayWhichAgentTheyTried(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "")
	run := func(body string) map[string]any {
		return g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(body, g.dataset, g.agent), admin...)["run"].(map[string]any)
	}
	one := run(`{"dataset_id":%q,"agent_id":%q,"mode":"live"}`)
	two := run(`{"dataset_id":%q,"agent_id":%q,"models":["m"],"version":"live"}`)
	other := run(`{"dataset_id":%q,"agent_id":%q,"mode":"live","agent_overrides":{"system_prompt":"Be polite."}}`)
	if diff := cmp.Diff([]any{g.agent, g.agent, one["agent_digest"], one["version"], nil}, []any{one["agent_id"], other["agent_id"], two["agent_digest"], two["version"], other["agent_digest"]}); diff != "" || one["agent_digest"] == nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
	g.says(400, "there is no draft", "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"agent_id":%q,"mode":"live","version":"draft"}`, g.dataset, g.agent))
	g.says(400, `version is \"x\"; want a number, live or draft`, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"agent_id":%q,"mode":"live","version":"x"}`, g.dataset, g.agent))
	g.says(400, "version is \\\"1\\\" without an agent_id", "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"],"version":"1"}`, g.dataset))
	g.says(400, "version is set, but the mode is scripted", "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"version":"draft"}`, g.dataset))
	g.says(404, "version", "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"agent_id":%q,"mode":"live","version":"999"}`, g.dataset, g.agent))
	g.says(404, "version", "GET", "/v1/registry/gates?version=999", "")
}
