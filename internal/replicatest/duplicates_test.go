package replicatest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

// paying is some servers whose default agent calls the tool pay once for each message and then says [paid].
type paying struct {
	testing.TB
	urls  []string
	store mailbox.Handle

	made *payments
}

// payments counts the calls of pay.
type payments struct {
	mu       sync.Mutex
	byThread map[string]int
}

func (m *payments) add(thread string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byThread[thread]++
}

// reset returns how many calls there were since the last reset, in all and on one thread at most.
func (m *payments) reset() (all, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.byThread {
		all, most = all+n, max(most, n)
	}
	clear(m.byThread)
	return all, most
}

const paid = "It was paid, and this is the whole answer."

// serve starts a server that works on a queue.
func (p *paying) serve(db mailbox.Queue, relays *bus.Exchange) {
	p.Helper()
	pay := awaken.NewTool(awaken.ToolSpec{ID: "pay"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
		p.made.add(c.Run.ThreadID)
		return "done", nil
	})
	turn := func(r *llm.Request) llmtest.Turn {
		if msgs := r.Messages.Slice(); msgs[len(msgs)-1].Role != llm.ToolRole {
			return llmtest.Turn{ToolCalls: []llmtest.Call{{Name: "pay"}}, DelayMS: 8}
		}
		return llmtest.Turn{Text: llmtest.Text{paid}, DelayMS: 8}
	}
	rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": llmtest.NewRules(llmtest.Rule{Turn: turn})}, Tools: []awaken.Tool{pay}})
	if err != nil {
		p.Fatal(err)
	}
	cfg := mailbox.Config{Queue: db, Concurrency: 100}
	if relays != nil {
		cfg.Bus, cfg.Log.Relay = relays, eventlog.NewRelay(relays, nil)
		runExchange(p, relays, cfg.Log.Relay.Run)
	}
	box, err := mailbox.New(cfg, rt.With)
	if err != nil {
		p.Fatal(err)
	}
	tasks, err := a2a.Routes(a2a.Config{})
	if err != nil {
		p.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, ManualMailbox: true, Limits: server.Limits{Requests: 4000, Streams: 4000, KeyRate: -1},
		Routes: slices.Concat[[]protocol.Route](aisdk.Routes(), agui.Routes(), tasks, openai.Routes())})
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := box.Work(ctx); err != nil {
			p.Errorf("work: %v", err)
		}
	}()
	web := httptest.NewServer(srv.Handler())
	p.Cleanup(func() { srv.Stop(); web.CloseClientConnections(); web.Close(); cancel(); <-done })
	p.urls, p.store = append(p.urls, web.URL), db.Handle("")
}

// saying is a request, by the thread and the number of the message, and whether it is the first of its pair.
type saying struct {
	name, path string
	body       func(thread string, n int, first bool) string
	keyed      bool // with an Idempotency-Key
}

var sayings = []saying{
	{"AI SDK", "/v1/ai-sdk/chat", func(thread string, n int, _ bool) string {
		return fmt.Sprintf(`{"id":%q,"messages":[{"id":"m%d","role":"user","parts":[{"type":"text","text":"pay %[2]d"}]}]}`, thread, n)
	}, false},
	{"AI SDK, edits from A to B to A", "/v1/ai-sdk/chat", func(thread string, n int, _ bool) string {
		return fmt.Sprintf(`{"id":%q,"messageId":"m","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"pay %d"}]}]}`, thread, n%2)
	}, false},
	{"AG-UI", "/v1/ag-ui/run", func(thread string, n int, first bool) string {
		return fmt.Sprintf(`{"threadId":%q,"runId":"%[1]s-%d-%t","messages":[{"id":"m%[2]d","role":"user","content":"pay %[2]d"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`, thread, n, first)
	}, false},
	{"A2A", "/v1/a2a/message:send", func(thread string, n int, _ bool) string {
		return fmt.Sprintf(`{"message":{"messageId":"m%d","contextId":%q,"role":"ROLE_USER","parts":[{"text":"pay %[1]d"}]}}`, n, thread)
	}, false},
	{"A2A without a context", "/v1/a2a/message:stream", func(thread string, n int, _ bool) string {
		return fmt.Sprintf(`{"message":{"messageId":"%s-%d","role":"ROLE_USER","parts":[{"text":"pay %[2]d"}]}}`, thread, n)
	}, false},
	{"a run that waits", "/v1/runs", func(thread string, n int, _ bool) string {
		return fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"stream":false,"messages":[{"id":"m%d","role":"user","content":"pay %[2]d"}]}`, thread, n)
	}, false},
	{"a run that streams", "/v1/runs", func(thread string, n int, _ bool) string {
		return fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"messages":[{"id":"m%d","role":"user","content":"pay %[2]d"}]}`, thread, n)
	}, false},
	{"OpenAI with a key", "/openai/v1/chat/completions", func(_ string, n int, _ bool) string {
		return fmt.Sprintf(`{"model":"default","stream":%t,"messages":[{"role":"user","content":"pay %d"}]}`, n%2 == 0, n)
	}, true},
}

// post sends a request and returns the run that it got, and its whole response.
func (p *paying) post(url string, s saying, thread string, n int, first bool) (run, body string, err error) {
	req, err := http.NewRequestWithContext(p.Context(), http.MethodPost, url+s.path, strings.NewReader(s.body(thread, n, first)))
	if err != nil {
		return "", "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.keyed {
		req.Header.Set("Idempotency-Key", fmt.Sprint(thread, "-", n))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != 200 || !strings.Contains(string(data), paid)) {
		err = fmt.Errorf("%s, want the whole answer: %s", resp.Status, data)
	}
	return resp.Header.Get("X-Run-Id"), string(data), err
}

// pair sends the nth message of a thread twice, gap apart, to two servers.
func (p *paying) pair(s saying, thread string, n int, gap time.Duration) {
	p.Helper()
	var runs [2]string
	var errs [2]error
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * gap)
			runs[i], _, errs[i] = p.post(p.urls[(n+i)%len(p.urls)], s, thread, n, i == 0)
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			p.Errorf("%s, thread %s, message %d, request %d, %s apart: %v", s.name, thread, n, i, gap, err)
		}
	}
	if runs[0] != runs[1] {
		p.Errorf("%s, thread %s, message %d, %s apart: runs %s and %s, want one", s.name, thread, n, gap, runs[0], runs[1])
	}
}

// pairs sends messages to many threads, each of them twice.
func (p *paying) pairs(s saying) {
	p.Helper()
	const said = 4 // messages of a thread
	threads, turns := testenv.Times(4, 2000)/said, make(chan struct{}, 4)
	before, err := p.store.CountRuns(p.Context(), awaken.RunQuery{})
	if err != nil {
		p.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range threads {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			for n := range said {
				p.pair(s, fmt.Sprint(strings.ReplaceAll(s.name, " ", "-"), i), n, time.Duration((i*said+n)*13%51)*time.Millisecond)
			}
		})
	}
	wg.Wait()
	runs, err := p.store.CountRuns(p.Context(), awaken.RunQuery{})
	if err != nil {
		p.Fatal(err)
	}
	calls, most := p.made.reset()
	p.Logf("%d pairs, %d calls, %d runs", threads*said, calls, runs-before)
	if calls != threads*said || most > said || runs-before != threads*said {
		p.Errorf("%d runs, and the tool was called %d times in all and up to %d times on a thread, want %d, %[4]d and %d", runs-before, calls, most, threads*said, said)
	}
}

// The same message, sent twice within 50 ms, is one run: its tools are called once, and both clients get its whole answer. So it is
// on a new thread and on one that has a conversation.
func TestDuplicates_AMessageThatIsSentTwiceIsOneRun(t *testing.T) {
	stores := map[string]func(p *paying){
		"SQLite": func(p *paying) {
			db, err := sqlite.Open(p.Context(), filepath.Join(p.TempDir(), "db"), nil)
			if err != nil {
				p.Fatal(err)
			}
			p.Cleanup(func() { _ = db.Close() })
			p.serve(db, nil)
		},
		"three replicas": func(p *paying) {
			database := postgresServer.Database()
			for range 3 {
				db, err := postgres.Open(p.Context(), database+"&pool_max_conns=8", nil)
				if err != nil {
					p.Fatal(err)
				}
				p.Cleanup(db.Close)
				p.serve(db, bus.NewExchange(db.Bus()))
			}
		},
	}
	for name, start := range stores {
		t.Run(name, func(t *testing.T) {
			p := &paying{TB: t, made: &payments{byThread: map[string]int{}}}
			start(p)
			for _, s := range sayings {
				t.Run(s.name, func(t *testing.T) {
					sub := &paying{TB: t, urls: p.urls, store: p.store, made: p.made}
					sub.pairs(s)
				})
			}
		})
	}
}
