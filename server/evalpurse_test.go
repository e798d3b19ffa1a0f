package server_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
)

// Evaluations pay from the budget of their tenant, and stop when it is spent.
func TestEvalRuns_ArePaidFromTheBudgetOfTheTenant(t *testing.T) {
	t.Parallel()
	g := newRigOf(t)
	var asked atomic.Int32
	g.config = func(c *registry.Config) {
		c.Models = append(c.Models, awaken.ModelSpec{ID: "dear", ProviderID: "dear", UpstreamModel: "dear", MaxOutputTokens: 1000, Prices: awaken.Prices{InputPrice: new(1_000_000.0), OutputPrice: new(1_000_000.0)}})
		c.Providers["dear"] = llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			asked.Add(1)
			return llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{"Hello"}, Usage: &llm.Usage{PromptTokens: 1, CompletionTokens: 1, TotalTokens: 2}}).Stream(ctx, req)
		})
	}
	g.start()
	spent := func() float64 {
		t.Helper()
		return g.want(200, "GET", "/v1/budget", "", admin...)["spent_usd"].(float64)
	}
	var cases []string
	for i := range 6 {
		cases = append(cases, fmt.Sprintf(`{"id":"c%d","user_input":"say %d","expect":{}}`, i, i))
	}
	id := g.dataset(strings.Join(cases, ","), admin...)
	const body = `{"dataset_id":%q,"models":["dear"]}`
	g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(body, g.dataset(cases[0], admin...)), admin...)
	if got := spent(); got != 2 {
		t.Errorf("a cell of 2 dollars has cost the tenant %g", got)
	}
	g.want(200, "PUT", "/v1/budget", `{"limit_usd":7}`, admin...)
	asked.Store(0)
	run := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(body, id), async...)["run"].(map[string]any)["id"].(string)
	var done map[string]any
	g.eventually("the end of the run", func() bool {
		done = g.want(200, "GET", "/v1/eval/runs/"+run, "", admin...)["run"].(map[string]any)
		return done["status"] == "done"
	})
	refused := 0
	for _, it := range done["items"].([]any) {
		if report := it.(map[string]any)["report"].(map[string]any); strings.Contains(fmt.Sprint(report["runtime_failure"]), "the budget of the tenant, 7 US dollars, is spent") {
			refused++
		}
	}
	if n := asked.Load(); refused == 0 || n < 3 || len(done["items"].([]any)) != 6 { // 5 cells run at a time
		t.Errorf("the model was asked %d times, %d of %d cells say that the budget is spent", n, refused, len(done["items"].([]any)))
	}
	before := spent()
	asked.Store(0)
	out := g.want(200, "POST", "/v1/eval/online", `{"user_input":"x","models":["dear"],"persist":false}`, admin...)
	if report := out["run"].(map[string]any)["items"].([]any)[0].(map[string]any)["report"].(map[string]any); report["passed"] != false || asked.Load() != 0 || spent() != before {
		t.Errorf("with a budget that is spent the model was asked %d times: %v", asked.Load(), report)
	}
}

// A dataset that could not be written keeps no run, unless it did before.
func TestDatasets_AWriteThatFailsLeavesNoPins(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, kept := g.done(admin...)
	_, other := g.done(admin...)
	fixture := func(id, run string) string {
		return fmt.Sprintf(`{"id":%q,"user_input":"x","source_run_id":%q,"expect":{}}`, id, run)
	}
	id := g.dataset(fixture("a", kept), admin...)
	pins := func(run string) int {
		t.Helper()
		return len(g.want(200, "GET", "/v1/traces/"+run+"/pin", "", admin...)["pins"].([]any))
	}
	g.says(409, "already exists", "POST", "/v1/eval/datasets", fmt.Sprintf(`{"id":%q,"spec":{"fixtures":[%s,%s]}}`, id, fixture("a", kept), fixture("b", other)), admin...)
	if pins(kept) != 1 || pins(other) != 0 {
		t.Errorf("after a dataset that was refused, the run of the stored one has %d pins and the other %d", pins(kept), pins(other))
	}
	g.want(200, "PUT", "/v1/eval/datasets/"+id, fmt.Sprintf(`{"expected_revision":1,"spec":{"fixtures":[%s]}}`, fixture("b", other)), admin...)
	if pins(kept) != 0 || pins(other) != 1 {
		t.Errorf("after the dataset has another run, the first has %d pins and the other %d", pins(kept), pins(other))
	}
}

// What is made to try something is not among the versions, and takes none of their numbers.
func TestVersions_PreviewsAreNotListed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(200, "PUT", "/v1/config/agents/ann", `{"id":"ann","model_id":"m"}`, admin...)
	id := g.dataset(saysHi, admin...)
	for i := range 3 {
		g.want(200, "PUT", "/v1/config/agents/ann?publish=false", fmt.Sprintf(`{"id":"ann","model_id":"m","system_prompt":"%d"}`, i), admin...)
		g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"agent_id":"ann","mode":"live","version":"draft"}`, id), admin...)
	}
	g.want(200, "POST", "/v1/registry/publish", `{}`, admin...)
	numbers := func(query string) (out []any) {
		t.Helper()
		for before := ""; ; {
			page := g.want(200, "GET", "/v1/registry/versions?"+query+before, "", admin...)
			for _, v := range page["items"].([]any) {
				out = append(out, v.(map[string]any)["number"])
			}
			if page["next_before"] == nil {
				return out
			}
			before = fmt.Sprint("&before=", page["next_before"])
		}
	}
	for _, limit := range []string{"1", "2", "100"} {
		if got := fmt.Sprint(numbers("limit=" + limit)); got != "[3 2 1]" {
			t.Errorf("with pages of %s: %s", limit, got)
		}
	}
}
