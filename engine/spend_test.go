package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/file"
	"github.com/awaken-go/awaken/store/memory"
)

func TestCost(t *testing.T) {
	p := func(usd float64) *float64 { return &usd }
	plain := awaken.Prices{InputPrice: p(3), OutputPrice: p(15)}
	full := plain
	full.CacheReadPrice, full.CacheWritePrice, full.ReasoningPrice = p(0.3), p(3.75), p(20)
	u := llm.Usage{PromptTokens: 1000, CompletionTokens: 200, CacheReadTokens: 600, CacheCreationTokens: 100, ThinkingTokens: 50}
	for _, tt := range []struct {
		name   string
		prices awaken.Prices
		usage  llm.Usage
		want   money.Amount
		priced bool
	}{
		{"no prices", awaken.Prices{}, u, 0, false},
		{"no price for output", awaken.Prices{InputPrice: p(1)}, u, 0, false},
		{"input and output", plain, llm.Usage{PromptTokens: 1000, CompletionTokens: 200}, money.Dollars(0.006), true},
		{"cache and reasoning cost what input and output do", plain, u, money.Dollars(0.006), true},
		{"or have prices of their own", full, u, money.Dollars((300*3 + 600*0.3 + 100*3.75 + 150*15 + 50*20) / 1e6), true},
		{"a token of the cheapest model", awaken.Prices{InputPrice: p(0.01), OutputPrice: p(0)}, llm.Usage{PromptTokens: 1}, 10, true},
		{"rounded up", awaken.Prices{InputPrice: p(0.0001), OutputPrice: p(0)}, llm.Usage{PromptTokens: 1}, 1, true},
		{"more cache than input", full, llm.Usage{PromptTokens: 10, CacheReadTokens: 100}, money.Dollars(0.00003), true},
		{"nothing", full, llm.Usage{}, 0, true},
	} {
		if got, priced := tt.prices.Cost(tt.usage); got != tt.want || priced != tt.priced {
			t.Errorf("%s: %v, %t, want %v, %t", tt.name, got, priced, tt.want, tt.priced)
		}
	}
}

// prices gives the rig's model prices: a dollar for a million tokens of input, two for output.
func prices(c *engine.Config) {
	for i := range c.Models {
		c.Models[i].Prices = awaken.Prices{InputPrice: new(1.0), OutputPrice: new(2.0)}
	}
}

func used(text string, in, out int64) llmtest.Turn {
	turn := llmtest.Say(text)
	turn.Usage = &llm.Usage{PromptTokens: in, CompletionTokens: out}
	return turn
}

func (g *rig) balance(scope money.Scope, id string) money.Balance {
	g.t.Helper()
	b, err := g.store.Balances(g.t.Context(), money.Account{Scope: scope, ID: id})
	if err != nil {
		g.t.Fatal(err)
	}
	return b[0]
}

func TestCost_IsThatOfTheMemberThatAnswered(t *testing.T) {
	failing := llmtest.NewScript(llmtest.Turn{Error: &llmtest.Failure{Kind: llm.RateLimited}}).Loop()
	g := newRig(t, []llmtest.Turn{used("Hello.", 1000, 100)}, func(c *engine.Config) {
		c.Models = []awaken.ModelSpec{
			{ID: "cheap", ProviderID: "q", UpstreamModel: "cheap-1", Prices: awaken.Prices{InputPrice: new(1.0), OutputPrice: new(2.0)}},
			{ID: "dear", ProviderID: "p", UpstreamModel: "dear-1", Prices: awaken.Prices{InputPrice: new(10.0), OutputPrice: new(20.0)}}}
		c.Providers["q"] = failing
		c.Pools = []awaken.ModelPoolSpec{{ID: "pool", Members: []awaken.PoolMember{{ModelID: "cheap"}, {ModelID: "dear", Role: "failover_only"}}}}
		c.Agents[0].ModelID = "pool"
		c.Agents[0].Budget = &awaken.AgentBudget{RunBudget: awaken.RunBudget{Run: new(5.0)}}
	})
	res, p := g.run(say("Hello"))
	if res.CostUSD != 0.012 {
		t.Errorf("the run cost %v, want 0.012", res.CostUSD)
	}
	done := eventsOf[awaken.InferenceComplete](p)[0]
	if done.Model != "dear-1" || done.CostUSD != 0.012 {
		t.Errorf("the event says %s, %v", done.Model, done.CostUSD)
	}
	if got := g.balance(money.RunScope, res.RunID); got.Spent != money.Dollars(0.012) || got.Reserved != 0 {
		t.Errorf("the balance is %+v", got)
	}
}

func TestSpending_OfAChildCountsForItsParent(t *testing.T) {
	g := newRig(t, []llmtest.Turn{used("One.", 1000, 1000), used("Two.", 1000, 100)}, prices, func(c *engine.Config) {
		c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "child", ModelID: "m"})
	})
	req := say("Go")
	req.RunID, req.ThreadID, req.Budget = "parent", "t", &awaken.RunBudget{Run: new(0.005)}
	g.run(req)
	for _, id := range []string{"c1", "c2"} { // the second is a grandchild
		child := say("Go")
		child.AgentID, child.RunID, child.ThreadID, child.ParentRunID = "child", id, "t-"+id, map[string]string{"c1": "parent", "c2": "c1"}[id]
		res, _ := g.run(child)
		if id == "c1" && res.Status != awaken.RunDone {
			t.Errorf("the child is %s", res.Status)
		}
		if id == "c2" && (res.Waiting == nil || res.Waiting.Budget == nil || res.Waiting.Budget.Account != money.Account{Scope: money.RunScope, ID: "parent"}) {
			t.Errorf("the grandchild is %s, %+v", res.Status, res.Waiting)
		}
	}
	if got := g.balance(money.RunScope, "parent").Spent; got != money.Dollars(0.003+0.0012) {
		t.Errorf("the parent has spent %v", got)
	}
	if got := g.balance(money.AgentScope, "child").Spent; got != money.Dollars(0.0012) {
		t.Errorf("the agent of the children has spent %v", got)
	}
	if got := g.balance(money.AgentScope, "default").Spent; got != money.Dollars(0.003+0.0012) {
		t.Errorf("the agent of the parent has spent %v", got)
	}
}

func TestSpending_OfACallWhoseOwnerWasLostCountsInFull(t *testing.T) {
	hang := llmtest.Say("half an")
	hang.Hang = true
	g := newRig(t, []llmtest.Turn{hang, used("A whole answer.", 1000, 100)}, prices)
	req := say("Go")
	req.RunID, req.ThreadID, req.Budget = "r", "t", &awaken.RunBudget{Run: new(1.0)}
	gone := make(chan struct{})
	first := make(chan error)
	go func() {
		_, err := g.rt.Run(context.Background(), req, awaken.SinkFunc(func(ctx context.Context, e awaken.Entry) error {
			if _, ok := e.Event.(*awaken.TextDelta); ok {
				close(gone)
			}
			return nil
		}))
		first <- err
	}()
	<-gone
	reserved := g.balance(money.RunScope, "r").Reserved
	if reserved < money.Dollars(0.03) { // 16,384 tokens of output
		t.Fatalf("%v are reserved while the model answers", reserved)
	}
	old := g.rt
	g.restart()
	res, err := g.rt.Run(t.Context(), awaken.RunRequest{Continue: "r"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := money.Balance{Account: money.Account{Scope: money.RunScope, ID: "r"}, Spent: reserved + money.Dollars(0.0012), InDoubt: reserved}
	if got := g.balance(money.RunScope, "r"); got != want {
		t.Errorf("the balance is %+v, want %+v", got, want)
	}
	if money.Dollars(res.CostUSD) != want.Spent {
		t.Errorf("the run says that it cost %v", res.CostUSD)
	}
	// The owner before comes back to life, and changes nothing.
	if err := old.Cancel(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if err := <-first; !errors.Is(err, awaken.ErrFenced) {
		t.Errorf("the first owner ended with %v", err)
	}
	if got := g.balance(money.RunScope, "r"); got != want {
		t.Errorf("the balance became %+v", got)
	}
}

func TestSpending_OfACancelledCallCountsInFull(t *testing.T) {
	hang := llmtest.Say("half an")
	hang.Hang = true
	g := newRig(t, []llmtest.Turn{hang}, prices)
	ctx, cancel := context.WithCancel(t.Context())
	req := say("Go")
	req.RunID, req.Budget = "r", &awaken.RunBudget{Run: new(1.0)}
	res, err := g.rt.Run(ctx, req, awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		if _, ok := e.Event.(*awaken.TextDelta); ok {
			cancel()
		}
		return nil
	}))
	if err != nil || res.Termination.Type != awaken.Cancelled {
		t.Fatal(res, err)
	}
	if got := g.balance(money.RunScope, "r"); got.Reserved != 0 || got.Spent != got.InDoubt || got.Spent != money.Dollars(res.CostUSD) || got.Spent < money.Dollars(0.03) {
		t.Errorf("the balance is %+v, and the run cost %v", got, res.CostUSD)
	}
}

func TestSpending_OfARefusedCallIsNothing(t *testing.T) {
	turns := []llmtest.Turn{{Error: &llmtest.Failure{Kind: llm.RateLimited}}, used("Hello.", 1000, 100)}
	g := newRig(t, turns, prices, withAgent(func(a *awaken.AgentSpec) {
		a.Sections = map[string]json.RawMessage{"retry": json.RawMessage(`{"max_retries":1,"backoff_base_ms":0}`)}
		a.Budget = &awaken.AgentBudget{Agent: new(1.0)}
	}))
	res, _ := g.run(say("Hello"))
	if got := g.balance(money.AgentScope, "default"); res.CostUSD != 0.0012 || got.Spent != money.Dollars(0.0012) || got.Reserved != 0 {
		t.Errorf("the run cost %v, the balance is %+v", res.CostUSD, got)
	}
}

func TestSpending_NeedsPricesAndAStoreThatKeepsBudgets(t *testing.T) {
	limited := func(c *engine.Config) { c.Agents[0].Budget = &awaken.AgentBudget{Agent: new(1.0)} }
	cfg := newRig(t, nil).cfg
	limited(&cfg)
	if _, err := engine.New(cfg); err == nil || !strings.Contains(err.Error(), "input_token_price_per_million_usd") {
		t.Errorf("an agent with a budget, and a model without prices: %v", err)
	}
	g := newRig(t, nil)
	req := say("Hello")
	req.Budget = &awaken.RunBudget{Run: new(1.0)}
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), "prices") {
		t.Errorf("a request with a budget, and a model without prices: %v", err)
	}
	files, err := file.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	g = newRig(t, nil, prices, func(c *engine.Config) { c.Store = files })
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), "store") {
		t.Errorf("a budget, and a store that keeps none: %v", err)
	}
	req.Budget = &awaken.RunBudget{Run: new(-1.0)}
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), "budget.run_usd is -1") {
		t.Errorf("a budget below zero: %v", err)
	}
}

func TestSpending_ASetBudgetOverridesTheConfiguredOne(t *testing.T) {
	g := newRig(t, []llmtest.Turn{used("One.", 1000, 100), used("Two.", 1000, 100)}, prices, func(c *engine.Config) { c.TenantBudget = new(0.0) })
	req := say("Go")
	req.RunID = "r"
	if res, _ := g.run(req); res.Waiting == nil || res.Waiting.Reason != awaken.WaitBudget || res.Waiting.Budget.Scope != money.TenantScope {
		t.Fatalf("the run is %s, %+v", res.Status, res.Waiting)
	}
	if err := money.SetBudget(t.Context(), g.store, money.Account{Scope: money.TenantScope}, new(money.Dollar)); err != nil {
		t.Fatal(err)
	}
	if res, _ := g.run(awaken.RunRequest{Continue: "r"}); res.Status != awaken.RunDone {
		t.Errorf("the run is %s", res.Status)
	}
}

func TestSpending_OnAModelOfUnknownPriceIsRefused(t *testing.T) {
	g := newRig(t, []llmtest.Turn{used("One.", 1000, 100)}, prices, func(c *engine.Config) { c.TenantBudget = new(1.0) })
	req := say("Go")
	req.Overrides = &awaken.InferenceOverride{UpstreamModel: "the-most-expensive"}
	res, err := g.rt.Run(t.Context(), req, nil)
	if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), `the price of model "the-most-expensive" is unknown`) {
		t.Errorf("%+v, error is %v", res, err)
	}
	if n := len(g.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// An estimate that leaves out the arguments of calls is too low for every agent that
// writes files.
func TestSpending_ReservesForTheArgumentsOfCalls(t *testing.T) { // L-42
	big := strings.Repeat("x", 50_000)
	call := llmtest.Turn{ToolCalls: []llmtest.Call{{Name: "echo", Arguments: []byte(fmt.Sprintf(`{"text":%q}`, big))}}, Usage: &llm.Usage{PromptTokens: 100, CompletionTokens: 15_000}}
	small := tool("echo", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return awaken.TextResult("ok"), nil
	})
	g := newRig(t, []llmtest.Turn{call, used("Done.", 100, 10)}, prices, withTools(small))
	req := say("Go")
	req.RunID, req.Budget = "r", &awaken.RunBudget{Run: new(1.0)}
	var held []money.Amount
	_, err := g.rt.Run(t.Context(), req, awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		switch e.Event.(type) {
		case *awaken.ToolCallStart, *awaken.TextDelta:
			held = append(held, g.balance(money.RunScope, "r").Reserved)
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if len(held) != 2 || held[1]-held[0] < 50_000*1000 {
		t.Errorf("%v were reserved; want so much more for the second call as its history has grown", held)
	}
}

// A provider that reports more than was reserved, and continues, is cut off.
func TestSpending_CutsAnAnswerThatCostsMoreThanWasReserved(t *testing.T) {
	g := newRig(t, nil, prices, func(c *engine.Config) {
		c.Models[0].MaxOutputTokens = 100
		c.Agents[0].MaxContinuationRetries = new(0)
		c.Providers["p"] = llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				for _, d := range []llm.Delta{{Kind: llm.TextDelta, Text: "one"}, {Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: 50_000, CompletionTokens: 1}}, {Kind: llm.TextDelta, Text: "two"}} {
					if !yield(d, nil) {
						return
					}
				}
				t.Error("the answer was not cut")
			}
		})
	})
	req := say("Go")
	req.RunID, req.Budget = "r", &awaken.RunBudget{Run: new(1.0)}
	res, err := g.rt.Run(t.Context(), req, nil)
	if err == nil || res.Termination.Type != awaken.Failed || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("the run ended with %v, %v", res.Termination, err)
	}
	if got := g.balance(money.RunScope, "r"); got.Spent != money.Dollars(0.050002) || got.Reserved != 0 {
		t.Errorf("the balance is %+v", got)
	}
}

// A summary is made beside the run, and is paid for like an answer.
func TestSpending_OnSummaries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit float64
		made  int
		says  string
	}{
		"there is money for it": {1, 1, "They went five steps."},
		"there is not":          {0.019, 0, "the budget of tenant is used up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				sum := llmtest.NewScript(slowly(paid(llmtest.Say("They went five steps."), 3000, 50), 50))
				turns := []llmtest.Turn{paid(llmtest.Say(words(1200)), 400, 1200)}
				for _, turn := range talk(4, 10, 100) {
					turns = append(turns, paid(turn, 1700, 10))
				}
				g := newRig(t, turns, within(20_000, 1500, compactAt(1500)), summaries(sum), withTools(readOnlyEcho()), summaryPriced, prices, func(c *engine.Config) { c.TenantBudget = &tt.limit })
				first, _ := g.run(say("hello " + words(400)))
				second, p := g.run(say("go on"))
				if s := compactions(t, p); s.Total != tt.made || len(sum.Requests()) != tt.made || !strings.Contains(s.LastError+strings.Join(outline(g.log("t")), "\n"), tt.says) {
					t.Errorf("%d summaries were asked for, the state is %s", len(sum.Requests()), toJSON(t, s))
				}
				b, err := g.store.Balances(t.Context(), money.Account{Scope: money.TenantScope})
				if want := money.Dollars(first.CostUSD) + money.Dollars(second.CostUSD); err != nil || b[0].Spent != want || b[0].Reserved != 0 || b[0].InDoubt != 0 {
					t.Errorf("the balance is %s, %v, want %s spent", toJSON(t, b), err, want)
				}
			})
		})
	}
}

// summaryPriced registers the model of summaries, so that it has prices.
func summaryPriced(c *engine.Config) {
	c.Models = append(c.Models, awaken.ModelSpec{ID: "summaries", ProviderID: "p", UpstreamModel: summaryModel})
}

func TestSpending_OnSummariesOfUnknownPriceIsRefused(t *testing.T) {
	t.Parallel()
	policy := []option{within(20_000, 1500, compactAt(1500)), summaries(llmtest.NewScript())}
	cfg := newRig(t, nil, policy...).cfg
	prices(&cfg)
	cfg.Agents[0].Budget = &awaken.AgentBudget{Agent: new(1.0)}
	if _, err := engine.New(cfg); err == nil || !strings.Contains(err.Error(), `summary_model "summary" has no input_token_price_per_million_usd`) {
		t.Errorf("an agent with a budget, and a summary model without prices: %v", err)
	}
	for name, tt := range map[string]struct {
		model option
		says  string
	}{
		"it is not registered": {func(*engine.Config) {}, `summary_model "summary" of agent "default" has no prices`},
		"it has none":          {func(c *engine.Config) { summaryPriced(c); prices(c); c.Models[1].Prices = awaken.Prices{} }, `summary_model "summary" of agent "default" has no prices`},
		"it has some":          {summaryPriced, ""},
	} {
		opts := append(policy, tt.model, func(c *engine.Config) {
			c.TenantBudget = new(1.0)
			c.Models[0].InputPrice, c.Models[0].OutputPrice = new(1.0), new(2.0)
			if tt.says == "" {
				prices(c)
			}
		})
		g := newRig(t, []llmtest.Turn{used("Hello.", 10, 1)}, opts...)
		_, err := g.rt.Run(t.Context(), say("Hello"), nil)
		if tt.says == "" && err != nil || tt.says != "" && (!errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: error is %v, want %q", name, err, tt.says)
		}
	}
}

func TestSpending_OfVariantsCountsForTheirAgent(t *testing.T) {
	t.Parallel()
	fast := plug{"fast", func(r *awaken.Registrar) { r.Variant("fast", awaken.Overlay{}) }}
	g := newRig(t, []llmtest.Turn{used("One.", 1000, 100), used("Two.", 1000, 100)}, prices, withPlugins(fast), withAgent(func(a *awaken.AgentSpec) {
		a.Budget = &awaken.AgentBudget{Agent: new(0.038)} // an answer may have 16,384 tokens, so the third call is too much
	}))
	for i, agent := range []string{"default", "default:fast", "default:fast"} {
		req := say("Go")
		req.AgentID, req.ThreadID, req.RunID = agent, fmt.Sprint("t", i), fmt.Sprint("r", i)
		res, _ := g.run(req)
		if i < 2 && res.Status != awaken.RunDone {
			t.Errorf("run %d is %s, %+v", i, res.Status, res.Waiting)
		}
		if i == 1 {
			if err := money.SetBudget(t.Context(), g.store, money.Account{Scope: money.AgentScope, ID: "default"}, new(money.Dollars(0.0025))); err != nil {
				t.Fatal(err)
			}
		}
		if i == 2 && (res.Waiting == nil || res.Waiting.Budget == nil || res.Waiting.Budget.Account != money.Account{Scope: money.AgentScope, ID: "default"}) {
			t.Errorf("the last run is %s, %+v", res.Status, res.Waiting)
		}
	}
	if got := g.balance(money.AgentScope, "default"); got.Spent != money.Dollars(0.0024) {
		t.Errorf("the agent has spent %v, want 0.0024", got.Spent)
	}
	if got := g.balance(money.AgentScope, "default:fast"); got.Spent != 0 {
		t.Errorf("the variant has an account of its own, with %v", got.Spent)
	}
}

// handing is a tool that hands the thread to another agent.
func handing(to string) awaken.Tool {
	return tool("hand_over", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		builtin.ActiveAgent.Update(c, to)
		return awaken.TextResult("handed to " + to), nil
	})
}

func TestSpending_KeepsTheLimitsThatTheRunBeganWith(t *testing.T) {
	t.Parallel()
	hand := uses("hand_over")
	hand.Usage = &llm.Usage{PromptTokens: 1000, CompletionTokens: 100}
	g := newRig(t, []llmtest.Turn{hand, used("Done.", 1000, 100)}, prices, withTools(handing("rich")), func(c *engine.Config) {
		c.Agents[0].Budget = &awaken.AgentBudget{Agent: new(5.0), RunBudget: awaken.RunBudget{Run: new(0.002)}}
		c.Agents[0].MaxContinuationRetries = new(0)
		c.Models[0].MaxOutputTokens = 300
		c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "rich", ModelID: "m"})
	})
	req := say("Go")
	req.RunID = "r"
	waits := func(res *awaken.RunResult) {
		t.Helper()
		if res.AgentID != "rich" || res.Waiting == nil || res.Waiting.Budget == nil || res.Waiting.Budget.Account != (money.Account{Scope: money.RunScope, ID: "r"}) {
			t.Fatalf("the run of %s is %s, %+v, want it to wait for its own budget", res.AgentID, res.Status, res.Waiting)
		}
	}
	res, _ := g.run(req)
	waits(res)
	g.restart()
	res, _ = g.run(awaken.RunRequest{Continue: "r"})
	waits(res)
	if err := money.SetBudget(t.Context(), g.store, money.Account{Scope: money.RunScope, ID: "r"}, new(money.Dollar)); err != nil {
		t.Fatal(err)
	}
	if res, _ = g.run(awaken.RunRequest{Continue: "r"}); res.Status != awaken.RunDone {
		t.Fatalf("the run is %s, %+v", res.Status, res.Waiting)
	}
	// It is a run of the one, and the other has worked for it.
	for agent, want := range map[string]money.Amount{"default": money.Dollars(0.0024), "rich": money.Dollars(0.0012)} {
		if got := g.balance(money.AgentScope, agent); got.Spent != want || got.Reserved != 0 {
			t.Errorf("agent %s has the balance %+v, want %v spent", agent, got, want)
		}
	}
}

// forgetful is a store that fails to settle.
type forgetful struct {
	*memory.Store
	fails func(key string) bool
}

func (s *forgetful) UpdateBudget(ctx context.Context, key string, accounts []money.Account, fn func(*money.Book) error) error {
	if accounts == nil && s.fails(key) {
		return errors.New("the network is down")
	}
	return s.Store.UpdateBudget(ctx, key, accounts, fn)
}

func forgetting(fails func(key string) bool) option {
	return withStore(func(s awaken.Store) awaken.Store { return &forgetful{s.(*memory.Store), fails} })
}

func TestSpending_IsSettledBeforeTheRunParksOrEnds(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]llmtest.Turn{"done": used("Hello.", 1000, 100), "waiting": paid(uses("ask"), 1000, 100)} {
		failed := 0
		g := newRig(t, []llmtest.Turn{turn}, prices, withTools(awaken.FrontendTool(awaken.ToolSpec{ID: "ask"})), forgetting(func(string) bool { failed++; return failed == 1 }))
		req := say("Go")
		req.RunID, req.Budget = "r", &awaken.RunBudget{Run: new(1.0)}
		res, _ := g.run(req)
		if string(res.Status) != name || failed < 2 {
			t.Errorf("the run is %s, want it %s; it settled %d times", res.Status, name, failed)
		}
		if got := g.balance(money.RunScope, "r"); got.Reserved != 0 || got.Spent != money.Dollars(0.0012) || got.InDoubt != 0 {
			t.Errorf("%s: the balance is %+v", name, got)
		}
	}
}

// A lost reservation does not block other runs for ever, and counts in full.
func TestSpending_ALostReservationIsSettledWhenItIsInTheWay(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]string{"of a run that is over": "r", "of a summary whose process is gone": "compaction of t"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				sum := llmtest.NewScript(slowly(paid(llmtest.Say("Sum."), 3000, 50), 50)).Loop()
				g := newRig(t, []llmtest.Turn{paid(llmtest.Say(words(1200)), 400, 1200), paid(llmtest.Say("Two."), 1700, 10), paid(llmtest.Say("Three."), 1700, 10)},
					within(20_000, 1500, compactAt(1500)), summaries(sum), summaryPriced, prices,
					func(c *engine.Config) { c.TenantBudget = new(1.0) }, forgetting(func(key string) bool { return key == lost }))
				g.run(say("hello " + words(400)))
				req := say("go on")
				req.RunID = "r"
				g.run(req)
				time.Sleep(time.Second)
				held := g.balance(money.TenantScope, "").Reserved
				if held == 0 {
					t.Fatal("nothing is reserved: that proves nothing")
				}
				settle := func() {
					t.Helper()
					if err := g.rt.SettleLost(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				settle()
				if got := g.balance(money.TenantScope, "").Reserved; got != held {
					t.Errorf("%v of %v are reserved at once: it may still be settled", got, held)
				}
				g.cfg.Store = g.store // which can settle
				g.restart()
				time.Sleep(6 * time.Minute)
				spent := g.balance(money.TenantScope, "").Spent
				if err := money.SetBudget(t.Context(), g.store, money.Account{Scope: money.TenantScope}, new(spent+held)); err != nil {
					t.Fatal(err)
				}
				other, began := say("hello"), time.Now()
				other.ThreadID = "other"
				if res, _ := g.run(other); res.Waiting == nil || res.Waiting.Reason != awaken.WaitBudget || time.Since(began) > time.Second {
					t.Errorf("the other run is %s, %+v after %v", res.Status, res.Waiting, time.Since(began))
				}
				if got := g.balance(money.TenantScope, ""); got.Reserved != 0 || got.Spent != spent+held || got.InDoubt != held {
					t.Errorf("the balance is %+v, want the %v that was reserved in doubt", got, held)
				}
			})
		})
	}
}
