package replicatest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/nats"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/postgres"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithPostgres(m, &postgresServer)) }

// patience is how long something may take before a test fails.
const patience = time.Minute

// fleet is some replicas. Only the first works; the others accept runs and serve streams.
type fleet struct {
	testing.TB
	urls  []string
	store *postgres.Store
	box   *mailbox.Mailbox // of the first
}

// engines are the buses that replicas can have.
var engines = []struct {
	name string
	join func(t testing.TB, db *postgres.DB) bus.Bus
}{
	{"postgres", func(_ testing.TB, db *postgres.DB) bus.Bus { return db.Bus() }},
	{"nats", func(t testing.TB, _ *postgres.DB) bus.Bus {
		b, err := nats.Open(natsServer(t), "awaken."+natsFleet(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}},
}

// natsServer returns the URL of a NATS server that lasts as long as the tests.
func natsServer(t testing.TB) string {
	t.Helper()
	p, err := startNATS()
	if err != nil {
		t.Fatal(err)
	}
	return "nats://" + p.Address
}

var startNATS = sync.OnceValues(func() (*testenv.Program, error) { return testenv.StartProgram("nats", "-p", "-1") })

// natsFleet returns the subject of the replicas of a test.
func natsFleet(t testing.TB) string {
	sum := sha256.Sum256([]byte(t.Name()))
	return hex.EncodeToString(sum[:8])
}

// newFleet starts n replicas of which each has a bus from join, or none if join is nil. The
// delegate "worker" of the agent "boss" has the model, as has the default agent.
func newFleet(t testing.TB, n int, model llm.Model, join func(t testing.TB, db *postgres.DB) bus.Bus, change ...func(*engine.Config, *mailbox.Config)) *fleet {
	t.Helper()
	return newFleetAt(t, postgresServer.Database(), n, model, join, change...)
}

// newFleetAt is newFleet for a database.
func newFleetAt(t testing.TB, database string, n int, model llm.Model, join func(t testing.TB, db *postgres.DB) bus.Bus, change ...func(*engine.Config, *mailbox.Config)) *fleet {
	t.Helper()
	f := &fleet{TB: t}
	for i := range n {
		db, err := postgres.Open(t.Context(), database+"&pool_max_conns=8", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		f.store = db.Store("")
		config := engine.Config{
			Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}, {ID: "boss", ModelID: "b", Delegates: []string{"worker"}}, {ID: "worker", ModelID: "m"}, {ID: "quick", ModelID: "q"}},
			Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}, {ID: "b", ProviderID: "b", UpstreamModel: "m"}, {ID: "q", ProviderID: "q", UpstreamModel: "m"}},
			Providers: map[string]llm.Model{"p": model, "q": llmtest.Demo(), "b": llmtest.NewScript(llmtest.Turn{ToolCalls: []llmtest.Call{{Name: "agent_run_worker", Arguments: []byte(`{"prompt":"go"}`)}}},
				llmtest.Turn{Text: llmtest.Text{"the boss is done"}})},
			Plugins: []awaken.Plugin{delegate.New(delegate.Options{})},
		}
		cfg := mailbox.Config{Queue: db, Concurrency: 1000}
		for _, fn := range change {
			fn(&config, &cfg)
		}
		rt, err := engine.New(config)
		if err != nil {
			t.Fatal(err)
		}
		if join != nil {
			cfg.Bus = bus.NewExchange(join(t, db))
			cfg.Log.Relay = eventlog.NewRelay(cfg.Bus, nil)
			runExchange(t, cfg.Bus, cfg.Log.Relay.Run)
		}
		box, err := mailbox.New(cfg, rt.With)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			f.box = box
		}
		srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, ManualMailbox: i > 0, Routes: append(aisdk.Routes(), agui.Routes()...),
			Limits: server.Limits{Requests: 4000, Streams: 4000, ShutdownTime: 10 * time.Second, KeyRate: -1}})
		if err != nil {
			t.Fatal(err)
		}
		f.urls = append(f.urls, rigtest.Listen(t, srv))
	}
	return f
}

// hello is the input of a short run.
func hello() []*llm.Message { return []*llm.Message{llm.UserText("hello")} }

// runExchange runs the bus of a replica until the end of the test.
func runExchange(t testing.TB, x *bus.Exchange, parts ...func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { x.Run(ctx, parts...) })
	t.Cleanup(func() { cancel(); done.Wait() })
}

// newHandler returns a server that accepts keys, for threads in memory.
func newHandler(t testing.TB, keys *access.Keys) http.Handler {
	t.Helper()
	rt, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Keys: keys, Open: new(false), Limits: server.Limits{KeyRate: -1, WrongKeys: -1}})
	if err != nil {
		t.Fatal(err)
	}
	return srv.Handler()
}

// ask returns the status of a request with a key.
func ask(h http.Handler, secret awaken.Secret) int {
	req := httptest.NewRequest(http.MethodGet, "/v1/threads", nil)
	req.Header.Set("Authorization", "Bearer "+secret.Expose())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code
}

// stream is an open response.
type stream struct {
	f    *fleet
	body io.ReadCloser
	in   *bufio.Reader
	head http.Header
	all  strings.Builder
}

// open sends a request to a replica. A body makes it a POST.
func (f *fleet) open(replica int, path, body string) *stream {
	f.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	f.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, f.urls[replica]+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		f.Fatalf("%s: %s: %s", path, resp.Status, text)
	}
	return &stream{f: f, body: resp.Body, in: bufio.NewReader(resp.Body), head: resp.Header}
}

// until reads until a text has arrived.
func (s *stream) until(text string) {
	s.f.Helper()
	late := time.AfterFunc(patience, func() { s.body.Close() })
	defer late.Stop()
	for !strings.Contains(s.all.String(), text) {
		line, err := s.in.ReadString('\n')
		s.all.WriteString(line)
		if err != nil {
			s.f.Fatalf("%q has not arrived: %v; what has:\n%s", text, err, s.all.String())
		}
	}
}

// child waits for the thread of a delegate.
func (f *fleet) child(parent string) string {
	f.Helper()
	child := ""
	rigtest.Until(f, "there is another thread", patience, func() bool {
		list, err := f.store.ListThreads(context.Background(), awaken.ThreadQuery{Limit: 10})
		if err != nil {
			f.Fatal(err)
		}
		for _, th := range list {
			if th.ID != parent {
				child = th.ID
			}
		}
		return child != ""
	})
	return child
}

// gated is a model that stops in the middle of its answer until it is let go on.
type gated struct {
	begun chan struct{}
	pass  chan struct{}
}

func newGated() *gated { return &gated{make(chan struct{}, 100), make(chan struct{})} }

func (g *gated) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if !yield(llm.Delta{Kind: llm.TextDelta, Text: "the first half, "}, nil) {
			return
		}
		g.begun <- struct{}{}
		select {
		case <-g.pass:
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return
		}
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "the second half"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// paced is a model whose answers are deltas at a rate, each with the time at which it was made.
type paced struct {
	deltas int
	every  time.Duration
}

func (p paced) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for range p.deltas {
			select {
			case <-tick.C:
			case <-ctx.Done():
				yield(llm.Delta{}, ctx.Err())
				return
			}
			if !yield(llm.Delta{Kind: llm.TextDelta, Text: fmt.Sprintf("@%d ", time.Now().UnixMicro())}, nil) {
				return
			}
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// event is an event of a raw stream.
type event struct {
	Type   string `json:"event_type"`
	Delta  string `json:"delta"`
	Cursor string `json:"cursor"` // of a stream_reset
	id     string // of its frame
}

// next reads the next event of a raw stream, or returns false at its end.
func (s *stream) next() (e event, ok bool) {
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return event{}, false
		}
		if id, found := strings.CutPrefix(line, "id: "); found {
			e.id = strings.TrimSpace(id)
		}
		if data, found := strings.CutPrefix(line, "data: "); found {
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				s.f.Error(err)
				return event{}, false
			}
			return e, true
		}
	}
}
