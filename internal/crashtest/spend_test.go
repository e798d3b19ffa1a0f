//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// spendStory is many runs, in several processes at the same time, on the one dollar of a
// tenant.
const spendStory = "spend"

const (
	spenders    = 4 // processes at a time
	runsOfEach  = 6
	wordPrice   = 300 // US dollars for a million tokens of an answer
	answerWords = 200
)

// spendPoints is where processes that spend are killed, most of them while a model answers.
var spendPoints = []string{"budget.reserving", "budget.reserved", "inference.delta", "inference.delta", "inference.delta", "inference.after",
	"budget.settling", "budget.settled", "commit.before", "commit.after", "finish.after"}

// TestKill_Spending kills processes that spend the same dollar. The provider keeps its own
// count, outside: it never comes to more than the dollar, nor to more than the tenant is
// charged for. What dead processes had reserved is settled by those that go on.
func TestKill_Spending(t *testing.T) {
	rounds := testenv.Times(4, 60)
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := crashSeed()
			rng := rand.New(rand.NewPCG(seed, 0))
			dir := t.ArtifactDir()
			j := job{Store: name, Where: backends[name].place(dir), Dir: dir, Story: spendStory}
			open := func() (store, money.Budget) {
				t.Helper()
				s, err := backends[name].open(j.Where)
				if err != nil {
					t.Fatal(err)
				}
				return s, s.(money.Budget)
			}
			s, b := open()
			defer func() { _ = s.Close() }()
			tenant := money.Account{Scope: money.TenantScope}
			look := func() money.Balance {
				t.Helper()
				list, err := b.Balances(t.Context(), tenant)
				if err != nil {
					t.Fatal(err)
				}
				if asked := j.world().bill(); asked > money.Dollar || list[0].Spent+list[0].Reserved > money.Dollar || asked > list[0].Spent+list[0].Reserved {
					t.Fatalf("%s=%d: the provider made words for %v; %v are spent and %v reserved, of %v", seedVar, seed, asked, list[0].Spent, list[0].Reserved, money.Dollar)
				}
				return list[0]
			}
			kills, held := 0, 0
			for round := range rounds {
				var wg sync.WaitGroup
				var mu sync.Mutex
				for i := range spenders {
					own := j
					own.Number = round*spenders + i
					spec := fmt.Sprintf("%s:%d", spendPoints[rng.IntN(len(spendPoints))], 1+int(3*rng.ExpFloat64()))
					wg.Go(func() {
						killed, err := testenv.RunJob(t.Context(), own, spec)
						if err != nil {
							t.Errorf("%s=%d: %v", seedVar, seed, err)
						}
						mu.Lock()
						defer mu.Unlock()
						if killed {
							kills++
						}
					})
				}
				wg.Wait()
				if look().Reserved > 0 {
					held++
				}
			}
			if t.Failed() {
				return
			}
			// The last one resumes what all others have left.
			own := j
			own.Number = -1
			if _, err := testenv.RunJob(t.Context(), own, ""); err != nil {
				t.Fatal(err)
			}
			if got := look(); got.Reserved != 0 {
				t.Errorf("%s=%d: %v are still reserved", seedVar, seed, got.Reserved)
			} else {
				t.Logf("%s=%d: %d processes killed on %s; the provider made words for %v, the tenant is charged %v, %v of it in doubt", seedVar, seed, kills, name, j.world().bill(), got.Spent, got.InDoubt)
			}
			if held == 0 || kills < rounds {
				t.Errorf("%s=%d: %d processes were killed, and after %d rounds something was reserved: that proves nothing", seedVar, seed, kills, held)
			}
			waits, followed, taken := 0, 0, 0
			idle := world(t.TempDir())
			for r, err := range awaken.Pages(t.Context(), 100, func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
				return s.ListRuns(ctx, awaken.RunQuery{Offset: offset, Limit: limit})
			}) {
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case r.Status == awaken.RunDone:
				case r.Status == awaken.RunWaiting && r.Waiting.Reason == awaken.WaitBudget:
					waits++
				default:
					t.Errorf("%s=%d: run %s is %s", seedVar, seed, r.RunID, r.Status)
				}
				if r.StartedAt == 0 {
					continue
				}
				res, err := replaytest.Play(t.Context(), spending(idle), s, r.RunID)
				switch {
				case err != nil:
					t.Errorf("%s=%d: replay of run %s: %v", seedVar, seed, r.RunID, err)
				case res.Events > 0:
					followed++
				default:
					taken++
				}
			}
			t.Logf("%s=%d: %d runs replay event by event, and %d that other processes took over", seedVar, seed, followed, taken)
			if asked := idle.bill(); asked > 0 {
				t.Errorf("%s=%d: replays asked the provider for words for %v", seedVar, seed, asked)
			}
			if waits == 0 {
				t.Errorf("%s=%d: no run waits for money: that proves nothing", seedVar, seed)
			}
		})
	}
}

// bill is what the provider's words cost.
func (w world) bill() money.Amount {
	return money.Amount(w.read()["word"]) * wordPrice * 1000
}

// spending is the agent that spends.
func spending(w world) engine.Config {
	return engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "metered", MaxOutputTokens: answerWords,
			Prices: awaken.Prices{InputPrice: new(0.0), OutputPrice: new(float64(wordPrice))}}},
		Providers:    map[string]llm.Model{"p": w},
		TenantBudget: new(1.0),
		Limits:       engine.Limits{BudgetWait: 1}, // no time to lose
	}
}

// spend continues or starts the runs of its number. Number -1 continues all.
func spend(j job, store store) error {
	cfg := spending(j.world())
	cfg.Store = store
	rt, err := engine.New(cfg)
	if err != nil {
		return err
	}
	ctx := context.Background()
	var reqs []awaken.RunRequest
	if j.Number < 0 {
		for r, err := range awaken.Pages(ctx, 100, func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
			return store.ListRuns(ctx, awaken.RunQuery{Status: awaken.RunRunning, Offset: offset, Limit: limit})
		}) {
			if err != nil {
				return err
			}
			reqs = append(reqs, awaken.RunRequest{Continue: r.RunID})
		}
	} else {
		for i := range runsOfEach {
			id := fmt.Sprintf("%d-%d", j.Number, i)
			reqs = append(reqs, awaken.RunRequest{ThreadID: id, RunID: id, Messages: []*llm.Message{llm.UserText("go")}})
		}
	}
	errs := make([]error, len(reqs))
	var wg sync.WaitGroup
	for i, req := range reqs {
		wg.Go(func() { _, errs[i] = rt.Run(ctx, req, nil) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Stream is a provider that writes down every word before it says it.
func (w world) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		n := min(30+rand.IntN(60), *req.MaxTokens)
		for range n {
			if err := w.mark("word", ""); err != nil {
				yield(llm.Delta{}, err)
				return
			}
			if !yield(llm.Delta{Kind: llm.TextDelta, Text: "word "}, nil) {
				return
			}
		}
		if yield(llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: int64(n)}}, nil) {
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
		}
	}
}
