//go:build unix

package restoretest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/store/sqlite"
)

var server *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithPostgres(m, &server)) }

// restored returns the place of a database that is restored from a backup of an open one.
func restored(t *testing.T, db rigtest.Database, place rigtest.Store) rigtest.Store {
	t.Helper()
	if place.Kind == rigtest.Postgres {
		to, err := server.Copy(place.Where)
		if err != nil {
			t.Fatal(err)
		}
		return rigtest.Store{Kind: place.Kind, Where: to}
	}
	copied, to := place.Where+".backup", place.Where+".restored"
	if err := db.(*sqlite.DB).Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(t.Context(), copied, to); err != nil {
		t.Fatal(err)
	}
	return rigtest.Store{Kind: place.Kind, Where: to}
}

// world counts the effects of all processes, outside of their databases.
type world struct {
	mu     sync.Mutex
	paid   map[string]int // by order
	blind  []string       // orders that were paid again by a model that was not told of the restoration
	began  chan string    // orders whose call has begun and waits
	finish chan struct{}  // closed when calls may take effect
}

func (w *world) pay(order string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paid[order]++
}

func (w *world) effects() (total, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.paid {
		total, most = total+n, max(most, n)
	}
	return total, most
}

// process is a worker on a database.
type process struct {
	box  *mailbox.Mailbox
	stop func()
}

// start starts a worker. Its model pays the order that the user names, and reads notes about restorations.
func (w *world) start(t *testing.T, db rigtest.Database, mark *awaken.Restoration, block bool) *process {
	t.Helper()
	pay := awaken.NewTool(awaken.ToolSpec{ID: "pay", Description: "Pays an order."},
		func(ctx context.Context, _ *awaken.ToolCall, in struct {
			Order string `json:"order"`
		}) (string, error) {
			if block && strings.HasPrefix(in.Order, "running") {
				w.began <- in.Order
				<-w.finish
			}
			w.pay(in.Order)
			return "paid", nil
		})
	model := llmtest.NewRules(
		llmtest.Rule{Match: func(r *llm.Request) bool { return r.Messages.At(r.Messages.Len()-1).Role == llm.ToolRole }, Turn: func(*llm.Request) llmtest.Turn { return llmtest.Say("done") }},
		llmtest.Rule{Turn: func(r *llm.Request) llmtest.Turn {
			var order string
			told := false
			for _, m := range r.Messages.All() {
				if text := m.Text(); m.Role == llm.User && strings.HasPrefix(text, "pay ") {
					order = strings.TrimPrefix(text, "pay ")
				} else if strings.Contains(text, "restored from a copy") {
					told = true
				}
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.paid[order] > 0 && !told {
				w.blind = append(w.blind, order)
			}
			if told { // a model that has read of it asks first
				return llmtest.Say("Was " + order + " paid?")
			}
			args, _ := json.Marshal(map[string]string{"order": order})
			return llmtest.Use("pay", string(args))
		}})
	agent := func(id string, rules ...string) *awaken.AgentSpec {
		spec := &awaken.AgentSpec{ID: id, ModelID: "m"}
		if len(rules) > 0 {
			spec.PluginIDs = []string{"permission"}
			spec.Sections = map[string]json.RawMessage{"permission": json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"pay","behavior":"ask"}]}`)}
		}
		return spec
	}
	rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{agent("free"), agent("asked", "ask")}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": model}, Tools: []awaken.Tool{pay}, Plugins: []awaken.Plugin{permission.New(permission.Config{})}, Restoration: mark})
	if err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: db, Poll: 20 * time.Millisecond, Drain: time.Second, Lease: 3 * time.Second, Concurrency: 40, Restoration: mark}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- box.Work(ctx) }()
	return &process{box: box, stop: func() { cancel(); <-done }}
}

func TestRestore_RepeatsNoEffectSilently(t *testing.T) {
	n := 5 // orders of each kind
	if testenv.Long() {
		n = 34
	}
	for _, kind := range rigtest.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := &world{paid: map[string]int{}, began: make(chan string, 3*n), finish: make(chan struct{})}
			place := rigtest.NewStore(t, kind, server)
			db := place.Use(t)
			first := w.start(t, db, nil, true)
			tenant := first.box.Tenant("")
			for i := range n {
				submit(t, tenant, "free", fmt.Sprintf("running%d", i), fmt.Sprintf("a%d", i))
				submit(t, tenant, "asked", fmt.Sprintf("waiting%d", i), fmt.Sprintf("b%d", i))
			}
			for i := range n {
				<-w.began
				submit(t, tenant, "free", fmt.Sprintf("queued%d", i), fmt.Sprintf("a%d", i)) // behind the run of its thread
			}
			await(t, "approvals", n, func() int { return count(t, tenant, awaken.RunQuery{Status: awaken.RunWaiting}) })

			copied := restored(t, db, place) // and now all effects are made
			close(w.finish)
			for i := range n {
				if _, err := tenant.Decide(t.Context(), fmt.Sprintf("waiting%d", i), awaken.Decision{Target: callOf(t, tenant, fmt.Sprintf("waiting%d", i)), Action: awaken.ActionResume}); err != nil {
					t.Fatal(err)
				}
			}
			await(t, "effects", 3*n, func() int { total, _ := w.effects(); return total })
			first.stop()

			checkRestored(t, w, copied, n)
		})
	}
}

// What a person had approved before the backup, and was then made, is not made again after the restore: neither if the call had
// begun in the backup, nor if no process had read the approval yet.
func TestRestore_DoesNotActOnAnOldApproval(t *testing.T) {
	for _, kind := range rigtest.Kinds {
		for _, order := range []string{"running", "unread"} {
			t.Run(kind+"/"+order, func(t *testing.T) {
				t.Parallel()
				w := &world{paid: map[string]int{}, began: make(chan string, 1), finish: make(chan struct{})}
				place := rigtest.NewStore(t, kind, server)
				db := place.Use(t)
				first := w.start(t, db, nil, true)
				tenant := first.box.Tenant("")
				submit(t, tenant, "asked", order, "a")
				await(t, "approvals", 1, func() int { return count(t, tenant, awaken.RunQuery{Status: awaken.RunWaiting}) })
				if order == "unread" {
					first.stop()
				}
				if _, err := tenant.Decide(t.Context(), order, awaken.Decision{Target: callOf(t, tenant, order), Action: awaken.ActionResume}); err != nil {
					t.Fatal(err)
				}
				if order == "running" {
					<-w.began
				}
				copied := restored(t, db, place) // and now the effect is made
				close(w.finish)
				if order == "unread" {
					first = w.start(t, db, nil, true)
				}
				await(t, "effects", 1, func() int { total, _ := w.effects(); return total })
				first.stop()

				checkOldApproval(t, w, copied, order)
			})
		}
	}
}

// checkOldApproval releases the only run of a restored database, and checks that it leaves its call in doubt.
func checkOldApproval(t *testing.T, w *world, place rigtest.Store, runID string) {
	t.Helper()
	db := place.Use(t)
	mark, _, err := mailbox.MarkRestored(t.Context(), db, []string{""}, time.Now(), ids.New)
	if err != nil {
		t.Fatal(err)
	}
	p := w.start(t, db, mark, false)
	defer p.stop()
	tenant := p.box.Tenant("")
	await(t, "parked runs", 1, func() int { return count(t, tenant, awaken.RunQuery{Waiting: awaken.WaitRestored}) })
	if _, err := tenant.Restored().Release(t.Context(), runID, nil); err != nil {
		t.Fatal(err)
	}
	await(t, "runs that are done", 1, func() int { return count(t, tenant, awaken.RunQuery{Status: awaken.RunDone}) })
	if total, _ := w.effects(); total != 1 {
		t.Errorf("%d effects, want the one of before the restore", total)
	}
	calls, err := tenant.Store.Calls(t.Context(), runID)
	if err != nil || len(calls) != 1 || calls[0].Outcome() != awaken.OutcomeInDoubt {
		t.Errorf("the ledger is %+v, want a call in doubt; %v", calls, err)
	}
}

// checkRestored starts a worker on a restored database, and checks that it waits, releases all runs, and checks that what they do is not
// silent.
func checkRestored(t *testing.T, w *world, place rigtest.Store, n int) {
	t.Helper()
	db := place.Use(t)
	tenants, err := db.Tenants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mark, found, err := mailbox.MarkRestored(t.Context(), db, tenants, time.Now(), ids.New)
	if err != nil {
		t.Fatal(err)
	}
	if want := (mailbox.Unfinished{Queued: n, Running: n, Waiting: n}); found != want {
		t.Fatalf("unfinished runs are %+v, want %+v", found, want)
	}
	p := w.start(t, db, mark, false)
	defer p.stop()
	tenant := p.box.Tenant("")
	await(t, "parked runs", 2*n, func() int { return count(t, tenant, awaken.RunQuery{Waiting: awaken.WaitRestored}) })
	total, _ := w.effects()
	if total != 3*n {
		t.Errorf("%d effects before the release, want %d", total, 3*n)
	}
	var waiting []*awaken.Run
	for run, err := range tenant.Restored().Waiting(t.Context(), awaken.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, run)
	}
	if len(waiting) != 3*n {
		t.Fatalf("%d runs wait for their release, want %d", len(waiting), 3*n)
	}
	for _, run := range waiting {
		if _, err := tenant.Restored().Release(t.Context(), run.RunID, nil); err != nil {
			t.Error(err)
		}
	}
	// Runs that were running or queued end with a question; those that waited for an approval wait again, in doubt.
	await(t, "runs that are done", 2*n, func() int { return count(t, tenant, awaken.RunQuery{Status: awaken.RunDone}) })
	await(t, "runs that wait for an approval", n, func() int { return count(t, tenant, awaken.RunQuery{Waiting: awaken.WaitToolPermission}) })
	if total, most := w.effects(); total != 3*n || most != 1 {
		t.Errorf("%d effects, %d of one order; want %d and 1", total, most, 3*n)
	}
	if len(w.blind) > 0 {
		t.Errorf("models that were not told of the restoration went on with %v", w.blind)
	}
	inDoubt := 0
	for i := range n {
		for _, kind := range []string{"running", "waiting"} {
			calls, err := tenant.Store.Calls(t.Context(), fmt.Sprintf("%s%d", kind, i))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				if c.Outcome() == awaken.OutcomeInDoubt {
					inDoubt++
				}
			}
		}
	}
	if inDoubt != 2*n {
		t.Errorf("%d calls are in doubt, want the %d that were open in the backup", inDoubt, 2*n)
	}
	t.Logf("%d effects after the backup, 0 repeated, %d calls in doubt, %d runs released", total, inDoubt, len(waiting))
}

func submit(t *testing.T, tenant *mailbox.Tenant, agent, order, thread string) {
	t.Helper()
	_, err := tenant.Submit(t.Context(), mailbox.Submission{Request: awaken.RunRequest{RunID: order, ThreadID: thread, AgentID: agent, Messages: []*llm.Message{llm.UserText("pay " + order)}}})
	if err != nil {
		t.Fatal(err)
	}
}

// callOf returns the call of a run that waits.
func callOf(t *testing.T, tenant *mailbox.Tenant, runID string) string {
	t.Helper()
	run, err := tenant.Store.LoadRun(t.Context(), runID)
	if err != nil || run.Waiting == nil || len(run.Waiting.Tickets) != 1 {
		t.Fatalf("run %s: %v, %v", runID, run, err)
	}
	return run.Waiting.TicketIDs[0]
}

func count(t *testing.T, tenant *mailbox.Tenant, q awaken.RunQuery) int {
	t.Helper()
	q.Limit = 1000
	runs, err := tenant.Store.ListRuns(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return len(runs)
}

// await waits until a number is reached.
func await(t *testing.T, what string, want int, now func() int) {
	t.Helper()
	rigtest.Until(t, fmt.Sprintf("%d %s", want, what), rigtest.Patience, func() bool { return now() == want })
}
