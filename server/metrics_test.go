package server_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
)

// tell passes events to the metrics as a run would.
func tell(t *testing.T, m *server.Metrics, events ...*trace.Event) {
	t.Helper()
	sink := m.Observer()
	for _, ev := range events {
		ev.AgentID = "default"
		sink.Record(t.Context(), ev)
	}
}

func asked(model string) *trace.Event {
	return &trace.Event{Inference: &trace.Inference{Model: model, ResponseModel: model, Provider: "p", CostUSD: 1, InputTokens: 1, TotalTokens: 1}}
}

func calledTool(tool string) *trace.Event {
	return &trace.Event{Tool: &trace.Tool{Name: tool, Status: awaken.CallSucceeded}}
}

func suspendedTool(tool string) *trace.Event {
	return &trace.Event{Suspension: &trace.Suspension{ToolName: tool, Action: "tool:" + tool}}
}

func TestMetrics_CountSuspectsAndTakeovers(t *testing.T) {
	t.Parallel()
	m := server.NewMetrics()
	g := newRig(t, func(c *servertest.Config) { c.Metrics = m })
	m.Claimed(&mailbox.Dispatch{UpdatedAt: 5000}, 0)
	m.Claimed(&mailbox.Dispatch{Crashes: mailbox.SuspectCrashes, LostAt: 2000, UpdatedAt: 5000}, 0)
	_, text := g.ask("GET", "/metrics", "", admin...)
	for _, want := range []string{"awaken_mailbox_suspects_total 1\n", "awaken_mailbox_takeover_seconds_sum 3\n", "awaken_mailbox_takeover_seconds_count 1\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in the metrics", want)
		}
	}
}

func TestMetrics_LabelsAreWordsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	m := server.NewMetrics()
	g := newRig(t, func(c *servertest.Config) { c.Metrics = m })
	tell(t, m, asked("m"), asked("client-model"), calledTool("ask"), calledTool("client-tool"), suspendedTool("ask"), suspendedTool("client-tool"))
	_, text := g.ask("GET", "/metrics", "", admin...)
	if strings.Contains(text, "client-") {
		t.Error("a client's word is a label")
	}
	for _, want := range []string{`awaken_inference_requests_total{model="m",provider="p",status="success"} 1`, `awaken_inference_requests_total{model="other",provider="p",status="success"} 1`, `awaken_tool_calls_total{status="succeeded",tool="ask"} 1`,
		`awaken_tool_calls_total{status="succeeded",tool="other"} 1`, `awaken_agent_suspensions_total{action="tool:ask"`, `awaken_agent_suspensions_total{action="tool:other"`} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// The process is shown: memory, goroutines, garbage collection and, where the system says so, open files.
func TestMetrics_ShowTheProcess(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Metrics = server.NewMetrics() })
	_, text := g.ask("GET", "/metrics", "")
	want := []string{"\ngo_goroutines ", "\ngo_memstats_heap_alloc_bytes ", "\ngo_gc_duration_seconds_count "}
	if goruntime.GOOS == "linux" {
		want = append(want, "\nprocess_resident_memory_bytes ", "\nprocess_open_fds ", "\nprocess_cpu_seconds_total ", "\nprocess_start_time_seconds ")
	}
	for _, name := range want {
		if !strings.Contains(text, name) {
			t.Errorf("there is no %q in the metrics", name)
		}
	}
}

// What tenants do is not shown to everyone.
func TestMetrics_ThoseByModelAndToolNeedAnAdminKey(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{false, true} {
		m := server.NewMetrics()
		g := newRig(t, func(c *servertest.Config) { c.Metrics, c.PublicMetrics = m, public })
		tell(t, m, asked("m"), calledTool("ask"))
		_, text := g.ask("GET", "/metrics", "")
		if !strings.Contains(text, "awaken_active_runs") {
			t.Error("without a key, /metrics does not show what the process does")
		}
		if shown := strings.Contains(text, `"ask"`) || strings.Contains(text, `model="m"`); shown != public {
			t.Errorf("public is %v, but details are shown: %v", public, shown)
		}
		if _, text := g.ask("GET", "/metrics", "", admin...); !strings.Contains(text, `tool="ask"`) {
			t.Error("the admin does not see the tools")
		}
		if public {
			continue
		}
		g.want(401, "GET", "/metrics", "", "Authorization", "Bearer not-a-key")
		tenant := g.want(201, "POST", "/v1/keys", `{"kind":"admin","tenant":"acme"}`, admin...)["secret"].(string)
		g.want(403, "GET", "/metrics", "", "Authorization", "Bearer "+tenant)
	}
}

// Every process on a store shows the dead letters of all.
func TestMetrics_DeadLettersAreCountedByTheStore(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	var rigs []*rig
	for range 2 {
		m := server.NewMetrics()
		m.Depths(db)
		g := &rig{t: t, db: db, keys: adminKeys(t)}
		g.start(func(c *servertest.Config) { c.Metrics = m })
		rigs = append(rigs, g)
	}
	dead := &mailbox.Dispatch{ID: "d", ThreadID: "t", RunID: "r", Request: &awaken.RunRequest{AgentID: "default", ThreadID: "t", RunID: "r"}}
	if _, err := db.Store("").Enqueue(t.Context(), mailbox.Terms{}, dead); err != nil {
		t.Fatal(err)
	}
	if err := db.Join(t.Context(), "one", time.Minute); err != nil {
		t.Fatal(err)
	}
	ds, _, err := db.Claim(t.Context(), mailbox.ClaimRequest{Consumer: "one", Limit: 1, Lease: time.Minute})
	if err != nil || len(ds) != 1 {
		t.Fatalf("claimed %v, %v", ds, err)
	}
	if _, err := db.Settle(t.Context(), mailbox.Settlement{Claim: ds[0].Claim(), Status: mailbox.DeadLetter}); err != nil {
		t.Fatal(err)
	}
	for _, g := range rigs {
		g.eventually("the dead letter to be counted", func() bool {
			_, text := g.ask("GET", "/metrics", "", admin...)
			return strings.Contains(text, "awaken_mailbox_dead_letters_total 1\n")
		})
	}
}

// countingDB counts what probes ask it.
type countingDB struct {
	*memory.DB
	asked *atomic.Int64
}

func (d countingDB) Counts(ctx context.Context) (map[mailbox.Status]int, error) {
	d.asked.Add(1)
	return d.DB.Counts(ctx)
}

func (d countingDB) Handle(tenant string) mailbox.Handle {
	return countingStore{d.Store(tenant), d.asked}
}

type countingStore struct {
	*memory.Store
	asked *atomic.Int64
}

func (s countingStore) ListThreads(ctx context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	s.asked.Add(1)
	return s.Store.ListThreads(ctx, q)
}

func TestProbes_AskTheStoreOncePerSecond(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	db := countingDB{memory.NewDB(), &asked}
	m := server.NewMetrics()
	m.Depths(db)
	g := &rig{t: t, db: db, keys: adminKeys(t)}
	g.start(func(c *servertest.Config) { c.Metrics = m })
	start := time.Now()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { g.ask("GET", "/metrics", ""); g.ask("GET", "/health", "") })
	}
	wg.Wait()
	seconds := int64(time.Since(start).Seconds()) + 1 // one on an idle machine, many on a busy one
	if n := asked.Load(); n > 2*seconds+2 {
		t.Errorf("50 requests asked the store %d times in %d seconds", n, seconds)
	}
}
