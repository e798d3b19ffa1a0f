package jury_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// court is an agent whose runs are judged, and the judge.
type court struct {
	t       *testing.T
	store   *memory.Store
	values  profile.Store
	judged  live.Store
	reg     *registry.Registry
	agent   *engine.Runtime
	asked   atomic.Int32
	verdict func(n int32) (string, error) // nil says 0.75
	hold    chan struct{}                 // unless nil, the judge answers when it is closed
}

// always is a policy that judges every run with the model.
const always = `{"share":1,"error_share":1,"judge":{"model_id":"grader","rubric":"It is polite."}}`

func newCourt(t *testing.T, policy string) *court {
	t.Helper()
	c := &court{t: t, store: memory.New(), values: memory.NewProfile(), judged: new(live.Memory)}
	grader := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
		n := c.asked.Add(1)
		if c.hold != nil {
			select {
			case <-c.hold:
			case <-ctx.Done():
				return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, ctx.Err()) }
			}
		}
		text, err := `{"score": 0.75, "reasoning": "polite"}`, error(nil)
		if c.verdict != nil {
			text, err = c.verdict(n)
		}
		if err != nil {
			return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, err) }
		}
		return llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{text}, Usage: &llm.Usage{PromptTokens: 100, CompletionTokens: 10, TotalTokens: 110}}).Stream(ctx, req)
	})
	answers := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
		last := req.Messages.Last().Text()
		if strings.Contains(last, "fail") {
			return func(yield func(llm.Delta, error) bool) {
				yield(llm.Delta{}, &llm.Error{Kind: llm.Unauthorized, Message: "no key"})
			}
		}
		return llmtest.NewScript(llmtest.Say("I heard: "+last)).Stream(ctx, req)
	})
	spec := &awaken.AgentSpec{ID: "a", ModelID: "m"}
	if policy != "" {
		spec.Sections = map[string]json.RawMessage{jury.Name: json.RawMessage(policy)}
	}
	var err error
	c.reg, err = registry.New(registry.Config{Builtin: builtin.For, Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{jury.New()},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "m", UpstreamModel: "m"}, {ID: "grader", ProviderID: "grader", UpstreamModel: "grader", Prices: awaken.Prices{InputPrice: new(1000.0), OutputPrice: new(1000.0)}}},
		Providers: map[string]llm.Model{"m": answers, "grader": grader}})
	if err != nil {
		t.Fatal(err)
	}
	if c.agent, err = engine.New(engine.Config{Versions: only{c.reg}, Store: c.store, Profile: c.values}); err != nil {
		t.Fatal(err)
	}
	return c
}

type only struct{ reg *registry.Registry }

func (o only) Registry() *registry.Registry                               { return o.reg }
func (o only) Choose(*awaken.Thread) *registry.Registry                   { return o.reg }
func (o only) Pinned(context.Context, string) (*registry.Registry, error) { return o.reg, nil }

// worker returns the worker of a process.
func (c *court) worker() *jury.Worker {
	return &jury.Worker{Store: c.judged, Budgets: c.values, Registry: func() *registry.Registry { return c.reg }, Lease: time.Minute,
		Runs: func(string) jury.Runs { return c.store }, Ours: func(t *awaken.Thread) bool { return t.ID == "experiment" },
		Ask: func(ctx context.Context, q jury.Question) (jury.Opinion, error) {
			g := &runner.Judge{Registry: q.Registry, ModelID: q.ModelID, Rubric: q.Rubric, Votes: q.Votes}
			o, err := (&runner.Runner{Open: func(s runner.Setup) (runner.Runtime, error) {
				return engine.New(engine.Config{Versions: s.Versions, Executor: s.Executor, Store: memory.New(), Profile: memory.NewProfile()})
			}}).Judge(ctx, g, q.Said, q.Answer)
			return jury.Opinion{Verdict: live.Verdict{ModelID: q.ModelID, Score: o.Score, Reasoning: o.Reasoning, Revision: g.Revision()}, Tokens: o.Tokens, CostUSD: o.CostUSD}, err
		}}
}

// run runs the agent and offers the run.
func (c *court) run(w *jury.Worker, req awaken.RunRequest) string {
	c.t.Helper()
	req.AgentID = "a"
	if req.Messages == nil {
		req.Messages = []*llm.Message{llm.UserText("Hello")}
	}
	res, _ := c.agent.Run(c.t.Context(), req, nil)
	if res == nil {
		c.t.Fatal("no run")
	}
	run, err := c.store.LoadRun(c.t.Context(), res.RunID)
	if err != nil {
		c.t.Fatal(err)
	}
	for range 2 { // as a process does that died before it counted the run
		if err := w.Offer(c.t.Context(), "t", run); err != nil {
			c.t.Fatal(err)
		}
	}
	return res.RunID
}

func (c *court) round(w *jury.Worker) {
	c.t.Helper()
	if _, err := w.Round(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// all returns the judgements, by run.
func (c *court) all() map[string]*live.Judgement {
	c.t.Helper()
	list, err := c.judged.Judgements(c.t.Context(), live.Query{Tenant: "t"})
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]*live.Judgement{}
	for _, j := range list {
		out[j.RunID] = j
	}
	return out
}

func TestWorker_ARunIsJudgedOnce(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		c := newCourt(t, `{"share":1,"scorers":[{"kind":"contains","text":"heard"}],"judge":{"model_id":"grader","rubric":"It is polite."}}`)
		w := c.worker()
		id := c.run(w, awaken.RunRequest{})
		before, err := c.store.LoadRun(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		others := c.worker()
		var all sync.WaitGroup
		for _, w := range []*jury.Worker{w, others, w, others} {
			all.Go(func() { c.round(w) })
		}
		all.Wait()
		j := c.all()[id]
		if j == nil || j.Status != live.Done || *j.Score != 0.75 || !*j.Passed || len(j.Scores) != 1 || j.Scores[0].Scorer != "contains" || j.Judge.Reasoning != "polite" || j.Judge.Revision == "" || j.CostUSD <= 0 || j.Attempts != 1 {
			t.Errorf("%+v", j)
		}
		if n := c.asked.Load(); n != 1 {
			t.Errorf("the judge was asked %d times", n)
		}
		if after, err := c.store.LoadRun(t.Context(), id); err != nil || after.UpdatedAt != before.UpdatedAt || after.CostUSD != before.CostUSD {
			t.Errorf("the run was changed: %+v", after)
		}
		days, err := w.Days(t.Context())
		if err != nil || len(days) != 1 || days[0].AgentID != "a" || days[0].Judged != 1 || days[0].CostUSD != j.CostUSD {
			t.Errorf("%+v, %v", days, err)
		}
	})
}

// Only runs that users started, and not to try something, are judged.
func TestWorker_SelectsRunsOfUsers(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		c := newCourt(t, always)
		w := c.worker()
		c.run(w, awaken.RunRequest{ThreadID: "experiment"})
		c.run(w, awaken.RunRequest{Origin: "internal"})
		if len(c.all()) != 0 {
			t.Errorf("judged: %v", c.all())
		}
		failed := c.run(w, awaken.RunRequest{Messages: []*llm.Message{llm.UserText("fail")}})
		c.round(w)
		if j := c.all()[failed]; len(c.all()) != 1 || j.Status != live.Done || *j.Score != 0 || *j.Passed || j.Scores[0].Scorer != "outcome" || c.asked.Load() != 0 {
			t.Errorf("a run that failed: %+v, the judge was asked %d times", j, c.asked.Load())
		}
		none := newCourt(t, "")
		none.run(none.worker(), awaken.RunRequest{})
		if len(none.all()) != 0 {
			t.Error("a run of an agent without a policy is judged")
		}
	})
}

// The share of runs that is judged follows from their ids.
func TestPolicy_SelectsAShare(t *testing.T) {
	t.Parallel()
	c := newCourt(t, `{"share":0.25,"scorers":[{"kind":"no_tool"}],"max_per_day":100000}`)
	w := c.worker()
	w.Ours = nil
	for i := range 4000 {
		run := &awaken.Run{RunID: fmt.Sprint("run-", i), ThreadID: "t", AgentID: "a", Origin: "user", Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.NaturalEnd}}
		if err := w.Offer(t.Context(), "t", run); err != nil {
			t.Fatal(err)
		}
	}
	first := c.all()
	if n := len(first); n < 850 || n > 1150 {
		t.Errorf("%d of 4000 were selected, want about a quarter", n)
	}
}

// A judge that may have been paid is not asked again, unless a client wants that.
func TestWorker_AProcessThatDiesLeavesADoubt(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		c := newCourt(t, always)
		w := c.worker()
		id := c.run(w, awaken.RunRequest{})
		c.hold = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		dead := *w
		dead.Store = &deaf{Store: c.judged, swaps: 1} // its process dies before it can say what the judge said
		go func() { _, _ = dead.Round(ctx) }()
		time.Sleep(time.Second)
		close(c.hold)
		c.round(w)
		if j := c.all()[id]; j.Status != live.Judging {
			t.Fatalf("while a process has it: %+v", j)
		}
		time.Sleep(time.Minute)
		c.round(w)
		if j := c.all()[id]; j.Status != live.InDoubt || j.Reason == "" || c.asked.Load() != 1 {
			t.Fatalf("after its process was gone: %+v, asked %d times", j, c.asked.Load())
		}
		c.round(w)
		if _, err := w.Retry(t.Context(), "t", id); err != nil {
			t.Fatal(err)
		}
		c.round(w)
		if j := c.all()[id]; j.Status != live.Done || c.asked.Load() != 2 {
			t.Errorf("after a retry: %+v, asked %d times", j, c.asked.Load())
		}
		if _, err := w.Retry(t.Context(), "t", id); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("retry of what is done: %v", err)
		}
		if _, err := w.Retry(t.Context(), "t", "none"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("retry of nothing: %v", err)
		}
		cancel()
	})
}

// deaf is a store that a process can write to only a few times.
type deaf struct {
	live.Store
	swaps int
}

func (d *deaf) SwapJudgement(ctx context.Context, j *live.Judgement) (bool, error) {
	if d.swaps--; d.swaps < 0 {
		return false, errors.New("the process is dead")
	}
	return d.Store.SwapJudgement(ctx, j)
}

// Scorers cost nothing, so what a process that died did not say another one says.
func TestWorker_ScorersAreAskedAgain(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		c := newCourt(t, `{"share":1,"scorers":[{"kind":"contains","text":"nothing"}]}`)
		w := c.worker()
		id := c.run(w, awaken.RunRequest{})
		dead := *w
		dead.Store = &deaf{Store: c.judged, swaps: 1}
		_, _ = dead.Round(t.Context())
		time.Sleep(2 * time.Minute)
		c.round(w)
		if j := c.all()[id]; j.Status != live.Done || *j.Score != 0 || *j.Passed {
			t.Errorf("%+v", j)
		}
	})
}

func TestWorker_AJudgeThatFailsIsAskedThreeTimes(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		c := newCourt(t, always)
		c.verdict = func(n int32) (string, error) { return "I refuse.", nil }
		w := c.worker()
		id := c.run(w, awaken.RunRequest{})
		for range 10 {
			c.round(w)
			time.Sleep(5 * time.Minute)
		}
		if j := c.all()[id]; j.Status != live.Failed || !strings.Contains(j.Reason, "the judge replied") || j.Attempts != 3 || c.asked.Load() != 3 {
			t.Errorf("%+v, asked %d times", j, c.asked.Load())
		}
		c.verdict = nil
		if _, err := w.Retry(t.Context(), "t", id); err != nil {
			t.Fatal(err)
		}
		c.round(w)
		if j := c.all()[id]; j.Status != live.Done || j.Reason != "" {
			t.Errorf("%+v", j)
		}
	})
}

func TestWorker_KeepsItsBudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, limit string }{{"runs", `"max_per_day":2`}, {"cost", `"max_cost_usd_per_day":0.0001`}} {
		t.Run(tt.name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				c := newCourt(t, `{"share":1,"judge":{"model_id":"grader"},`+tt.limit+`}`)
				w := c.worker()
				for range 4 {
					c.run(w, awaken.RunRequest{})
				}
				for range 4 {
					c.round(w)
				}
				c.run(w, awaken.RunRequest{}) // the budget is known to be used up
				counts := map[live.Status]int{}
				for _, j := range c.all() {
					counts[j.Status]++
				}
				days, err := w.Days(t.Context())
				if err != nil || len(days) != 1 {
					t.Fatal(days, err)
				}
				if tt.name == "runs" && (counts[live.Done] != 2 || counts[live.Skipped] != 2 || c.asked.Load() != 2 || days[0].Skipped == 0) {
					t.Errorf("%v, asked %d times, %+v", counts, c.asked.Load(), days)
				}
				if tt.name == "cost" && (counts[live.Done] == 0 || c.asked.Load() > 4 || days[0].Skipped == 0) { // those that began together were not stopped
					t.Errorf("%v, asked %d times, %+v", counts, c.asked.Load(), days)
				}
				time.Sleep(24 * time.Hour)
				id := c.run(w, awaken.RunRequest{})
				c.round(w)
				if j := c.all()[id]; j == nil || j.Status != live.Done {
					t.Errorf("the next day: %+v", j)
				}
			})
		})
	}
}

func TestPolicy_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{
		`{"share":2,"scorers":[{"kind":"no_tool"}]}`:      "share is 2, want 0 to 1",
		`{"error_share":-1}`:                              "error_share is -1, want 0 to 1",
		`{"share":0.5}`:                                   "neither scorers nor a judge",
		`{"share":1,"scorers":[{"kind":"x"}]}`:            "scorers[0].kind is",
		`{"share":1,"judge":{"model_id":""}}`:             "judge.model_id",
		`{"share":1,"judge":{"model_id":"m","votes":10}}`: "judge.votes is 10, want 1 to 9",
		`{"max_per_day":0}`:                               "max_per_day is 0",
		`{"max_cost_usd_per_day":0}`:                      "max_cost_usd_per_day is 0",
		`{"x":1}`:                                         "x",
	} {
		_, err := jury.Of(&awaken.AgentSpec{ID: "a", Sections: map[string]json.RawMessage{jury.Name: json.RawMessage(policy)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", policy, err, want)
		}
	}
}

// What is told of judgements is told once, however many processes judge, and not of those without scores.
func TestJudged_IsToldOnceOfEachJudgementWithScores(t *testing.T) {
	t.Parallel()
	c := newCourt(t, always)
	c.verdict = func(n int32) (string, error) {
		if n > 1 {
			return "", errors.New("no")
		}
		return `{"score": 0.75, "reasoning": "polite"}`, nil
	}
	var told []string
	var mu sync.Mutex
	judged := func(_ context.Context, run *awaken.Run, j *live.Judgement) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprintf("%s %s %v", run.RunID, j.Status, *j.Score))
	}
	first, second := c.worker(), c.worker()
	first.Judged, second.Judged = judged, judged
	run := c.run(first, awaken.RunRequest{})
	var all sync.WaitGroup
	for _, w := range []*jury.Worker{first, second} {
		all.Go(func() { c.round(w) })
	}
	all.Wait()
	c.run(first, awaken.RunRequest{})
	c.round(first)
	if len(told) != 1 || told[0] != run+" done 0.75" {
		t.Errorf("told %q, want one judgement of run %s", told, run)
	}
}
