package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/trace/rollup"
)

// judges offers the runs that have ended, and judges them, as the server does in the background.
func (g *rig) judges() {
	g.t.Helper()
	w := g.srv.Evals.Judges()
	r := &rollup.Roller{Store: g.db.(interface{ Rollups() rollup.Store }).Rollups(), Runs: func(tenant string) rollup.Runs { return g.db.Handle(tenant) }, Ended: w.Offer}
	for n := 1; n > 0; {
		var err error
		if n, err = r.Round(g.t.Context()); err != nil {
			g.t.Fatal(err)
		}
	}
	for n := 1; n > 0; {
		var err error
		if n, err = w.Round(g.t.Context()); err != nil {
			g.t.Fatal(err)
		}
	}
}

// newJudgedRig returns a server with a model "grader", which finds answers good that have the word "good", and counts how often it is asked.
func newJudgedRig(t *testing.T, asked *atomic.Int32) *rig {
	t.Helper()
	g := newRigOf(t)
	g.config = withGrader(asked)
	g.start()
	return g
}

func withGrader(asked *atomic.Int32) func(*registry.Config) {
	return func(c *registry.Config) {
		c.Models = append(c.Models, awaken.ModelSpec{ID: "grader", ProviderID: "grader", UpstreamModel: "grader", Prices: awaken.Prices{InputPrice: new(1.0), OutputPrice: new(1.0)}})
		c.Providers["grader"] = llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			asked.Add(1)
			verdict := `{"score":0.2,"reasoning":"It is not good."}`
			if strings.Contains(req.Messages.Last().Text(), "good") {
				verdict = `{"score":0.9,"reasoning":"It is."}`
			}
			return llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{verdict}, Usage: &llm.Usage{PromptTokens: 100, CompletionTokens: 10, TotalTokens: 110}}).Stream(ctx, req)
		})
	}
}

// newRigOf returns a server that is not started.
func newRigOf(t *testing.T) *rig {
	t.Helper()
	g := newRig(t)
	g.stop()
	return &rig{t: t, db: g.db, keys: g.keys}
}

// says runs an agent on a text, and returns the run.
func (g *rig) told(agent, text string, headers ...string) string {
	g.t.Helper()
	return g.want(200, "POST", "/v1/runs", runBody(agent, g.id(), text), append([]string{"Accept", "application/json"}, headers...)...)["run_id"].(string)
}

func TestLive_RunsAreJudgedByThePolicyOfTheirAgent(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	g := newJudgedRig(t, &asked)
	const policy = `"sections":{"eval_live":{"share":1,"error_share":1,"judge":{"model_id":"grader"},"scorers":[{"kind":"no_tool"}]}}`
	g.says(400, "share is 3, want 0 to 1", "PUT", "/v1/config/agents/clerk", `{"id":"clerk","model_id":"m",`+strings.Replace(policy, `"share":1`, `"share":3`, 1)+`}`, admin...)
	g.want(200, "PUT", "/v1/config/agents/clerk", `{"id":"clerk","model_id":"m",`+policy+`}`, admin...)
	good, bad := g.told("clerk", "good morning", admin...), g.told("clerk", "bad morning", admin...)
	g.told("default", "hello", admin...) // which has no policy
	g.judges()
	g.judges()
	if asked.Load() != 2 {
		t.Errorf("the judge was asked %d times about 2 runs", asked.Load())
	}
	list := g.want(200, "GET", "/v1/eval/live?agent_id=clerk", "", admin...)["judgements"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["run_id"] != bad || list[1].(map[string]any)["run_id"] != good {
		t.Fatalf("%v", list)
	}
	one := g.want(200, "GET", "/v1/eval/live/"+bad, "", admin...)
	verdict := one["judge"].(map[string]any)
	if one["status"] != "done" || one["score"] != 0.2 || one["passed"] != false || one["agent_id"] != "clerk" || verdict["reasoning"] != "It is not good." || verdict["model_id"] != "grader" || one["cost_usd"].(float64) <= 0 {
		t.Errorf("%v", one)
	}
	g.says(404, "judgement of run", "GET", "/v1/eval/live/none", "", admin...)
	g.says(409, "it is done; want in_doubt, failed or skipped", "POST", "/v1/eval/live/"+bad+"/retry", "", admin...)

	// Bad answers are found among the traces, and the traces say why.
	low := g.want(200, "GET", "/v1/traces?max_score=0.5", "", admin...)["runs"].([]any)
	if len(low) != 1 || low[0].(map[string]any)["run_id"] != bad || low[0].(map[string]any)["judge_score"] != 0.2 {
		t.Errorf("low scores: %v", low)
	}
	all := g.want(200, "GET", "/v1/traces?agent_id=clerk", "", admin...)["runs"].([]any)
	if len(all) != 2 || all[1].(map[string]any)["judge_score"] != 0.9 || all[1].(map[string]any)["score"] != 0.9 {
		t.Errorf("all traces: %v", all)
	}
	g.says(400, "offset cannot be combined with max_score", "GET", "/v1/traces?max_score=0.5&offset=1", "", admin...)
	g.says(400, `max_score is \"2\", want 0 to 1`, "GET", "/v1/traces?max_score=2", "", admin...)
	_, text := g.ask("GET", "/v1/traces/"+bad, "", admin...)
	var last map[string]any
	for line := range strings.Lines(text) {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err)
		}
	}
	if last["type"] != "evaluation_result" || last["name"] != "judge" || last["score"] != 0.2 || last["passed"] != false || last["explanation"] != "It is not good." || last["run_id"] != bad {
		t.Errorf("the last event of the trace is %v", last)
	}
	days := g.want(200, "GET", "/v1/eval/live-budgets", "", admin...)["days"].([]any)
	if d := days[0].(map[string]any); len(days) != 1 || d["agent_id"] != "clerk" || d["judged"] != 2.0 || d["cost_usd"].(float64) <= 0 {
		t.Errorf("%v", days)
	}
}

// Neither forks nor previews are judged, nor are evaluations, although their agent has a policy.
func TestLive_ExperimentsAreNotJudged(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	g := newJudgedRig(t, &asked)
	g.want(200, "PUT", "/v1/config/agents/clerk", `{"id":"clerk","model_id":"m","sections":{"eval_live":{"share":1,"error_share":1,"judge":{"model_id":"grader"}}}}`, admin...)
	run := g.told("clerk", "hello", admin...)
	fork := g.want(202, "POST", "/v1/runs/"+run+"/fork", `{"from_step":0,"system_prompt":"Be better."}`, admin...)
	forked := fork["run_id"].(string)
	g.eventually("the end of the fork", func() bool {
		r, err := g.db.Handle("").LoadRun(t.Context(), forked)
		return err == nil && r.Status == awaken.RunDone
	})
	further := g.want(200, "POST", "/v1/runs", runBody("clerk", fork["thread_id"].(string), "and then?"), append([]string{"Accept", "application/json"}, admin...)...)["run_id"].(string)
	id := g.dataset(`{"id":"a","user_input":"hello","expect":{}}`, admin...)
	g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"agent_id":"clerk","mode":"live"}`, id), admin...)
	g.judges()
	if list := g.want(200, "GET", "/v1/eval/live", "", admin...)["judgements"].([]any); len(list) != 1 || list[0].(map[string]any)["run_id"] != run || asked.Load() != 1 {
		t.Errorf("of the run, fork %s, its continuation %s and an evaluation are judged: %v", forked, further, list)
	}
}

func TestLive_PagesHaveEachOnce(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for i := range 7 {
		score := float64(i) / 10
		if ok, err := g.judged.SwapJudgement(t.Context(), &live.Judgement{RunID: fmt.Sprint("r", i), CreatedAt: int64(100 + i/2), AgentID: "a", Status: live.Done, Score: &score, Wait: -1}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	var got []string
	query := "max_score=0.5&limit=2"
	for cursor := ""; ; {
		page := g.want(200, "GET", "/v1/eval/live?"+query+cursor, "", admin...)
		for _, j := range page["judgements"].([]any) {
			got = append(got, j.(map[string]any)["run_id"].(string))
		}
		if page["has_more"] == false {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(page["next_cursor"].(string))
		g.says(400, "cursor is of a list with other filters", "GET", "/v1/eval/live?max_score=0.4&limit=2"+cursor, "", admin...)
	}
	if strings.Join(got, " ") != "r4 r3 r2 r1 r0" {
		t.Errorf("%v", got)
	}
}

func TestLive_LowScoresCombineWithTheFiltersOfTraces(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	var runs []string
	for i, text := range []string{"one", "two", "three", "four", "five"} {
		id := g.told("default", text, admin...)
		runs = append([]string{id}, runs...)
		run, err := g.db.Handle("").LoadRun(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		score := 0.1
		if i == 1 {
			score = 0.9
		}
		if ok, err := g.judged.SwapJudgement(t.Context(), &live.Judgement{RunID: id, CreatedAt: run.CreatedAt, AgentID: "default", Status: live.Done, Score: &score, Wait: -1}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	g.want(204, "POST", "/v1/traces/"+runs[2]+"/pin", "", admin...)
	listed := func(filters string) (out []string) {
		for cursor := ""; ; {
			page := g.want(200, "GET", "/v1/traces?max_score=0.5"+filters+cursor, "", admin...)
			for _, r := range page["runs"].([]any) {
				r := r.(map[string]any)
				if out = append(out, r["run_id"].(string)); (r["pinned"] == true) != (r["run_id"] == runs[2]) {
					t.Errorf("%v: want only the third to be pinned", r)
				}
			}
			if page["has_more"] == false {
				return out
			}
			cursor = "&cursor=" + url.QueryEscape(page["next_cursor"].(string))
			g.says(400, "cursor is of a list with other filters", "GET", "/v1/traces?max_score=0.5&tool=other"+filters+cursor, "", admin...)
		}
	}
	low := slices.Delete(slices.Clone(runs), 3, 4)
	for filters, want := range map[string][]string{
		"":                            low,
		"&limit=1":                    low,
		"&limit=3&status=done":        low,
		"&outcome=error":              nil,
		"&tool=none":                  nil,
		"&pinned=true":                runs[2:3],
		"&q=" + runs[4]:               runs[4:],
		"&limit=1&agent_id=default":   low,
		"&min_cost_usd=1000&limit=2":  nil,
		"&prompt_id=x":                nil,
		"&status=done&agent_id=other": nil,
	} {
		if got := listed(filters); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", filters, got, want)
		}
	}
}

// A judgement of another version changes nothing about the evidence of a gate.
func TestLive_ThePolicyIsNotPartOfTheAgentsDigest(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	id := g.dataset(saysHi, admin...)
	digest := func(sections string) any {
		t.Helper()
		g.want(200, "PUT", "/v1/config/agents/clerk", `{"id":"clerk","model_id":"m"`+sections+`}`, admin...)
		return g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"agent_id":"clerk","mode":"live"}`, id), admin...)["run"].(map[string]any)["agent_digest"]
	}
	without, with := digest(""), digest(`,"sections":{"eval_live":{"share":1,"scorers":[{"kind":"no_tool"}]}}`)
	if without != with || without == nil {
		t.Errorf("the digest is %v without the policy and %v with it", without, with)
	}
}

// judgement stores what is said about a run.
func (g *rig) judgement(status live.Status) string {
	g.t.Helper()
	id, score, passed := g.id(), 0.5, true
	j := &live.Judgement{Tenant: g.tenant, RunID: id, CreatedAt: 1, AgentID: "default", Version: "1", Status: status, Score: &score, Wait: -1,
		State: live.State{ThreadID: "t", Outcome: "natural_end", Passed: &passed, Scores: []live.Score{{Scorer: "s", Score: 1, Passed: true, Reason: "x"}}, Judge: &live.Verdict{ModelID: "m", Score: 0.5, Reasoning: "x", Revision: "x"},
			Reason: "x", Attempts: 1, JudgedAt: 1, Tokens: 1, CostUSD: 1}}
	if ok, err := g.judged.SwapJudgement(g.t.Context(), j); !ok || err != nil {
		g.t.Fatal(ok, err)
	}
	return id
}

func init() {
	const one, again = "GET /v1/eval/live/{run_id}", "POST /v1/eval/live/{run_id}/retry"
	maps.Copy(successes, map[string]func(*rig, []string) request{
		"GET /v1/eval/live": func(g *rig, _ []string) request {
			if _, broken := g.judged.(brokenJudgements); !broken {
				g.judgement(live.Done)
			}
			return request{path: "/v1/eval/live?limit=1"}
		},
		one: func(g *rig, _ []string) request { return request{path: "/v1/eval/live/" + g.judgement(live.Done)} },
		again: func(g *rig, _ []string) request {
			return request{path: "/v1/eval/live/" + g.judgement(live.InDoubt) + "/retry"}
		},
		"GET /v1/eval/live-budgets": plainly("/v1/eval/live-budgets", ""),
	})
	maps.Copy(conflicts, map[string]func(*rig) request{
		again: func(g *rig) request { return request{path: "/v1/eval/live/" + g.judgement(live.Done) + "/retry"} },
	})
	maps.Copy(mistakes, map[string]string{"GET /v1/eval/live": "/v1/eval/live?max_score=x"})
	never["GET /v1/eval/live-budgets 500"] = true // the test breaks no profile of a tenant
}
