package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
)

// newWordyRig returns a server with models "good" and "bad", whose requests take 3,000 tokens each: the second answers only every third question.
func newWordyRig(t *testing.T) *rig {
	t.Helper()
	g := newRigOf(t)
	g.config = func(c *registry.Config) {
		for _, id := range []string{"good", "bad"} {
			c.Models = append(c.Models, awaken.ModelSpec{ID: id, ProviderID: id, UpstreamModel: id, Prices: awaken.Prices{InputPrice: new(1.0), OutputPrice: new(10.0)}})
			c.Providers[id] = llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
				text, say := req.Messages.Last().Text(), "yes"
				if id == "bad" && !strings.HasSuffix(text, "3") && !strings.HasSuffix(text, "6") {
					say = "no"
				}
				return llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{say}, Usage: &llm.Usage{PromptTokens: 2000, CompletionTokens: 1000, TotalTokens: 3000}}).Stream(ctx, req)
			})
		}
	}
	g.start()
	return g
}

// questions makes a dataset of questions that want a yes.
func (g *rig) questions(n int) string {
	g.t.Helper()
	var cases []string
	for i := range n {
		cases = append(cases, fmt.Sprintf(`{"id":"q%d","user_input":"question %d","expect":{"final_answer_contains":["yes"]}}`, i, i))
	}
	return g.dataset(strings.Join(cases, ","), admin...)
}

// evalEnded waits for a run over a dataset that no request waits for, and returns its reply.
func (g *rig) evalEnded(id string) (reply map[string]any) {
	g.t.Helper()
	g.eventually("the end of the evaluation", func() bool {
		reply = g.want(200, "GET", "/v1/eval/runs/"+id, "", admin...)
		return reply["run"].(map[string]any)["status"] == "done"
	})
	return reply
}

// Two models are compared by case: in one run, and in two of which the second remembers its baseline.
func TestEvalRuns_CompareTwoModels(t *testing.T) {
	t.Parallel()
	g := newWordyRig(t)
	id := g.questions(8)
	figures := func(reply map[string]any) string {
		t.Helper()
		var out []string
		for _, c := range reply["comparisons"].([]any) {
			c := c.(map[string]any)
			pass := c["pass_rate"].(map[string]any)
			out = append(out, fmt.Sprintf("%v against %v: %v cases, %v pairs, %v lost, %v won, %.3f, p %.3f, interval %t", c["cell"].(map[string]any)["model_id"], c["baseline"].(map[string]any)["model_id"], c["cases"], c["pairs"],
				c["lost"], c["won"], pass["difference"], pass["p_value"], pass["interval"] != nil))
		}
		return strings.Join(out, "; ")
	}
	const want = "bad against good: 8 cases, 8 pairs, 6 lost, 0 won, -0.750, p 0.031, interval true"
	both := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["good","bad"]}`, id), admin...)
	if got := figures(both); got != want {
		t.Errorf("one run: %s\nwant %s", got, want)
	}
	run := both["run"].(map[string]any)["id"].(string)
	if got := figures(g.want(200, "GET", "/v1/eval/runs/"+run+"?reference=1", "", admin...)); got != "good against bad: 8 cases, 8 pairs, 0 lost, 6 won, 0.750, p 0.031, interval true" {
		t.Errorf("the other way: %s", got)
	}
	g.says(400, "reference is 2, but eval run", "GET", "/v1/eval/runs/"+run+"?reference=2", "", admin...)

	good := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["good"]}`, id), admin...)["run"].(map[string]any)["id"].(string)
	began := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["bad"],"baseline_run_id":%q}`, id, good), async...)["run"].(map[string]any)
	reply := g.evalEnded(began["id"].(string))
	if got := figures(reply); got != want || reply["run"].(map[string]any)["baseline_run_id"] != good {
		t.Errorf("two runs: %s\nwant %s", got, want)
	}
	kinds := map[string]int{}
	for _, c := range reply["diff"].([]any) {
		kinds[c.(map[string]any)["kind"].(string)]++
	}
	if diff := cmp.Diff(map[string]int{"regression": 6, "unchanged": 2}, kinds); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	// Reports of files have the same figures.
	items := func(id string) string {
		t.Helper()
		data, err := json.Marshal(g.want(200, "GET", "/v1/eval/runs/"+id, "", admin...)["run"].(map[string]any)["items"])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	files := g.want(200, "POST", "/v1/eval/compare", fmt.Sprintf(`{"items":%s,"baseline":%s}`, items(began["id"].(string)), items(good)), admin...)
	for _, name := range []string{"diff", "statistics", "comparisons"} {
		if diff := cmp.Diff(reply[name], files[name]); diff != "" {
			t.Errorf("%s of files (-run +files):\n%s", name, diff)
		}
	}
	g.says(400, "baseline[0].report is missing", "POST", "/v1/eval/compare", `{"items":[],"baseline":[{"fixture_id":"a"}]}`, admin...)
	g.want(204, "DELETE", "/v1/eval/runs/"+good, "", admin...)
	if reply := g.want(200, "GET", "/v1/eval/runs/"+began["id"].(string), "", admin...); reply["diff"] != nil || reply["comparisons"] != nil {
		t.Errorf("without its baseline: %v", reply)
	}
}

// A live run over a dataset has limits that fit it, which are known before it starts, and is repeated as it was.
func TestEvalRuns_LimitsFitTheDataset(t *testing.T) {
	t.Parallel()
	g := newWordyRig(t)
	id := g.questions(20)
	body := fmt.Sprintf(`{"dataset_id":%q,"models":["good"],"samples":2}`, id)
	guess := g.want(200, "POST", "/v1/eval/runs/estimate", body, admin...)
	limits := guess["limits"].(map[string]any)
	if guess["cells"] != 40.0 || guess["measured_cells"] != 0.0 || limits["max_total_tokens"].(float64) < 200_000 || limits["max_cost_usd"].(float64) < 1 || limits["max_walltime_secs"].(float64) < 60 {
		t.Errorf("%v", guess)
	}
	if runs := g.want(200, "GET", "/v1/eval/runs", "", admin...)["runs"].([]any); len(runs) != 0 {
		t.Errorf("an estimate started %d runs", len(runs))
	}
	reply := g.want(200, "POST", "/v1/eval/runs", body, admin...)
	run := reply["run"].(map[string]any)
	if s := reply["statistics"].([]any)[0].(map[string]any); s["passed"] != 40.0 || s["cases"] != 20.0 {
		t.Errorf("%v of %v cells passed: %v", s["passed"], s["count"], run["items"].([]any)[39])
	}
	request := reply["request"].(map[string]any)
	for name, v := range limits {
		if request[name] != v {
			t.Errorf("%s is %v, and was announced as %v", name, request[name], v)
		}
	}
	known := g.want(200, "POST", "/v1/eval/runs/estimate", body, admin...)
	if known["measured_cells"] != 40.0 || known["input_tokens"] != 80_000.0 || known["output_tokens"] != 40_000.0 || fmt.Sprintf("%.3f", known["cost_usd"]) != "0.480" {
		t.Errorf("after a run: %v", known)
	}

	// Repeated, it is the same plan, though the dataset has changed.
	g.want(201, "POST", "/v1/eval/datasets/"+id+"/fixtures", `{"expected_revision":1,"fixture":{"id":"more","user_input":"x","expect":{}}}`, admin...)
	again := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"repeat_of":%q,"baseline_run_id":%q}`, run["id"], run["id"]), async...)["run"].(map[string]any)
	repeated := g.evalEnded(again["id"].(string))
	second := repeated["request"].(map[string]any)
	delete(second, "repeat_of")
	delete(second, "baseline_run_id")
	if diff := cmp.Diff(request, second); diff != "" {
		t.Errorf("repeated (-want +got):\n%s", diff)
	}
	if c := repeated["comparisons"].([]any)[0].(map[string]any); c["cases"] != 20.0 || c["pairs"] != 40.0 || c["lost"] != 0.0 {
		t.Errorf("%v", c)
	}
	g.says(400, "with other fields", "POST", "/v1/eval/runs", fmt.Sprintf(`{"repeat_of":%q,"models":["bad"]}`, run["id"]), admin...)
	g.says(404, `repeat_of is \"none\"`, "POST", "/v1/eval/runs", `{"repeat_of":"none"}`, admin...)
}
