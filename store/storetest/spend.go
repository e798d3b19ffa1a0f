package storetest

import (
	"context"
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
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

// SpendTogether starts runs in several runtimes at once that together would spend many times
// the budget of their tenant, a dollar. A fifth of them is cancelled in the middle of an
// answer, and one runtime is lost while its runs are in flight. The provider counts what it
// bills, which must never exceed the dollar. Afterwards the parked runs are resumed with a
// larger budget, and all of them finish.
//
// Stores are handles of one tenant, one for each runtime.
func SpendTogether(t *testing.T, runs int, stores ...awaken.Store) {
	t.Helper()
	m := &meter{limit: money.Dollar}
	var lost atomic.Bool
	var runtimes []*engine.Runtime
	for i, s := range stores {
		if i == 0 {
			s = &mortal{Store: s, Budget: budget(t, s), dead: &lost}
		}
		runtimes = append(runtimes, spendRuntime(t, s, m, 1))
	}
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			deltas := 0
			sink := awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
				if _, ok := e.Event.(*awaken.TextDelta); !ok {
					return nil
				}
				switch deltas++; {
				case i%5 == 1 && deltas == 5:
					cancel()
				case i == 0 && deltas == 3:
					lost.Store(true) // as if the process had died
				}
				return nil
			})
			id := fmt.Sprint("spend-", i)
			_, err := runtimes[i%len(runtimes)].Run(ctx, awaken.RunRequest{ThreadID: id, RunID: id, Messages: []*llm.Message{llm.UserText("go")}}, sink)
			if err != nil && i%len(runtimes) != 0 { // the first is lost
				t.Errorf("run %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	b := budget(t, stores[len(stores)-1])
	t.Logf("%d calls, %v of %v, %v in doubt", m.calls.Load(), money.Amount(m.spent.Load()), m.limit, balances(t, b, theTenant)[0].InDoubt)
	if over := m.over.Load(); over > 0 {
		t.Errorf("the provider billed %v, want at most %v", money.Amount(over), m.limit)
	}
	if got := balances(t, b, theTenant)[0]; got.Spent+got.Reserved > m.limit {
		t.Errorf("%v were spent and %v are reserved, want at most %v", got.Spent, got.Reserved, m.limit)
	}
	// Another process recovers the lost runs and resumes the parked ones.
	after := spendRuntime(t, stores[len(stores)-1], m, 1)
	resumeAll(t, stores[len(stores)-1], after, awaken.RunRunning)
	if got := balances(t, b, theTenant)[0]; got.Reserved != 0 || got.Spent > m.limit {
		t.Errorf("%v are spent and %v reserved after everything was recovered, want none reserved", got.Spent, got.Reserved)
	}
	// Reservations of the lost runtime count as spent, since their outcome is unknown. The
	// rest was billed.
	if doubt := balances(t, b, theTenant)[0].InDoubt; money.Amount(m.spent.Load())+doubt < m.limit/2 {
		t.Errorf("only %v of %v were spent, and %v are in doubt: the test proves nothing", money.Amount(m.spent.Load()), m.limit, doubt)
	}
	m.limit = 1000 * money.Dollar
	if err := money.SetBudget(t.Context(), b, theTenant, new(m.limit)); err != nil {
		t.Fatal(err)
	}
	waited := resumeAll(t, stores[len(stores)-1], after, awaken.RunWaiting)
	if waited == 0 {
		t.Error("no run was parked for lack of budget")
	}
	total := 0.0
	for r, err := range awaken.Pages(t.Context(), 100, func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
		return stores[len(stores)-1].ListRuns(ctx, awaken.RunQuery{Offset: offset, Limit: limit})
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if total += r.CostUSD; r.Status != awaken.RunDone {
			t.Errorf("run %s is %s, want done", r.RunID, r.Status)
		}
		if r.Termination.Type == awaken.NaturalEnd && r.FinalOutput == "" {
			t.Errorf("run %s has lost its answer", r.RunID)
		}
	}
	// The lost runtime may not have recorded what it settled.
	if spent := balances(t, b, theTenant)[0].Spent.USD(); total > spent+1e-6 {
		t.Errorf("the runs cost %v, but the budget has %v", total, spent)
	}
	t.Logf("%d runs waited for money; in the end %v were spent", waited, balances(t, b, theTenant)[0].Spent)
}

// resumeAll resumes the runs with a status and returns how many there were.
func resumeAll(t *testing.T, s awaken.Store, rt *engine.Runtime, status awaken.RunStatus) int {
	t.Helper()
	var ids []string
	for r, err := range awaken.Pages(t.Context(), 100, func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
		return s.ListRuns(ctx, awaken.RunQuery{Status: status, Offset: offset, Limit: limit})
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if status == awaken.RunWaiting && r.Waiting.Reason != awaken.WaitBudget {
			t.Errorf("run %s waits for %s", r.RunID, r.Waiting.Reason)
		}
		ids = append(ids, r.RunID)
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, 32)
	for _, id := range ids {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if _, err := rt.Run(t.Context(), awaken.RunRequest{Continue: id}, nil); err != nil {
				t.Errorf("continue %s: %v", id, err)
			}
		})
	}
	wg.Wait()
	return len(ids)
}

func spendRuntime(t *testing.T, s awaken.Store, m *meter, tenantUSD float64) *engine.Runtime {
	t.Helper()
	in, out := 10.0, 100.0
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "metered", MaxOutputTokens: 300,
			Prices: awaken.Prices{InputPrice: &in, OutputPrice: &out}}},
		Providers: map[string]llm.Model{"p": m},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "look", Effect: awaken.ReadOnly}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
			return "seen", nil
		})},
		Store:        s,
		TenantBudget: &tenantUSD,
		Limits:       engine.Limits{BudgetWait: 2 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// meter is a model that counts what it bills, as a provider would: all tokens that it has
// generated, whether or not the client received them.
type meter struct {
	limit money.Amount
	spent atomic.Int64
	over  atomic.Int64
	calls atomic.Int64
}

func (m *meter) bill(in, out int) {
	if now := m.spent.Add(int64(in)*10_000 + int64(out)*100_000); now > int64(m.limit) {
		m.over.Store(now)
	}
}

func (m *meter) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		n := m.calls.Add(1)
		in := 20
		for _, msg := range req.Messages.All() {
			in += len(msg.Text()) / 2
		}
		m.bill(in, 0)
		length := min(100+int(n*37%150), *req.MaxTokens)
		for i := range length {
			m.bill(0, 1)
			if !yield(llm.Delta{Kind: llm.TextDelta, Text: fmt.Sprintf("w%02d ", i%100)}, nil) {
				m.bill(0, min(5, length-i-1)) // generated before it noticed the cancellation
				return
			}
		}
		finish := llm.EndTurn
		if !strings.Contains(req.Messages.At(req.Messages.Len()-1).Text(), "seen") && answers(req) < 2 {
			finish = llm.ToolUse
			if !yield(llm.Delta{Kind: llm.ToolCallStart, ID: fmt.Sprint("c", n), Name: "look"}, nil) {
				return
			}
		}
		u := &llm.Usage{PromptTokens: int64(in), CompletionTokens: int64(length), TotalTokens: int64(in + length)}
		if yield(llm.Delta{Kind: llm.UsageDelta, Usage: u}, nil) {
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: finish}, nil)
		}
	}
}

var errLost = errors.New("the process is gone")

// mortal is a store whose process can die.
type mortal struct {
	awaken.Store
	money.Budget
	dead *atomic.Bool
}

func (s *mortal) alive() error {
	if s.dead.Load() {
		return errLost
	}
	return nil
}

func (s *mortal) Commit(ctx context.Context, c *awaken.Commit) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, c)
}

func (s *mortal) UpdateBudget(ctx context.Context, run string, accounts []money.Account, fn func(*money.Book) error) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.Budget.UpdateBudget(ctx, run, accounts, fn)
}
