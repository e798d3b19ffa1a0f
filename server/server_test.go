package server_test

import (
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/automation"
	"github.com/awaken-go/awaken/server/control"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/server/servertest"

	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/evals"
	"github.com/awaken-go/awaken/server/figures"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/rollup"
)

// rig is a server on an in-memory store, with the demo's scripted model.
type rig struct {
	idle   bool // no worker in this process
	t      testing.TB
	db     mailbox.Queue
	keys   *access.Keys
	box    *mailbox.Mailbox
	srv    *servertest.Assembly
	http   *httptest.Server
	config func(*registry.Config) // changes the program's code; may be nil
	free   bool                   // models without prices are allowed
	made   atomic.Int64           // threads
	tenant string                 // of dead letters

	conf      config.Store // nil is one in memory
	control   *config.Manager
	mcp       *configtest.MCP
	a2a       configtest.A2A
	stats     *figures.Stats
	hooks     *webhook.Memory
	router    *deliver.Router
	endpoints webhook.EndpointStore // nil means new ones
	judged    live.Store            // nil means a new one
	stop      func()                // the process

	restoration *awaken.Restoration // nil is one of long ago, which no run is of

	profiles sync.Map // tenant -> profile.Store
}

// profile returns the profile of a tenant.
func (g *rig) profile(tenant string) profile.Store {
	values, _ := g.profiles.LoadOrStore(tenant, memory.NewProfile())
	return values.(profile.Store)
}

const adminKey = "the-admin-key"

func runtime(t testing.TB, change ...func(*engine.Config)) *engine.Runtime {
	t.Helper()
	c := code()
	cfg := engine.Config{Agents: c.Agents, Models: c.Models, Providers: c.Providers, Backends: c.Backends, Tools: c.Tools, Plugins: c.Plugins}
	for _, c := range change {
		c(&cfg)
	}
	rt, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// code returns what the test program has beside documents.
func code() registry.Config {
	return registry.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", SystemPrompt: "Be good."}, {ID: "other", ModelID: "m"}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m", MaxOutputTokens: 1000,
			Prices: awaken.Prices{InputPrice: new(1.0), OutputPrice: new(2.0)}}},
		Providers: map[string]llm.Model{"p": llmtest.Demo()},
		Backends:  map[string]registry.RemoteBackend{"a2a": far{}},
		Tools: []awaken.Tool{
			awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, in struct {
				Path string `json:"path,omitempty"`
			}) (map[string]string, error) {
				if c.Resume != nil {
					return map[string]string{"did": in.Path}, nil
				}
				return nil, awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "tool:ask", Message: "May I?"}})
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "wait", Effect: awaken.ReadOnly, Timeout: time.Hour}, func(ctx context.Context, _ *awaken.ToolCall, _ struct{}) (string, error) {
				select {
				case <-time.After(time.Hour):
				case <-ctx.Done():
				}
				return "", context.Cause(ctx)
			}),
		},
	}
}

// openCell returns a runtime for a cell of an evaluation.
func openCell(s runner.Setup) (runner.Runtime, error) {
	return engine.New(engine.Config{Versions: s.Versions, Executor: s.Executor, Store: memory.New(), Profile: memory.NewProfile()})
}

// far is a backend whose agents are never run.
type far struct{}

func (far) Agent(*awaken.AgentSpec) (registry.RemoteAgent, error) { return far{}, nil }

func (far) Name() string { return "far" }

func (far) Register(*awaken.Registrar) error { return nil }

func (far) Exchange(context.Context, *registry.Exchange) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, errors.New("it is too far")) }
}

// newRig returns a running server.
func newRig(t testing.TB, change ...func(*servertest.Config)) *rig {
	t.Helper()
	g := &rig{t: t, db: memory.NewDB(), keys: access.NewKeys(memory.NewProfile())}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.start(change...)
	return g
}

// start starts a server on the rig's store, as a new process would.
func (g *rig) start(change ...func(*servertest.Config)) {
	g.t.Helper()
	g.hooks = new(webhook.Memory)
	cfg := servertest.Config{Config: server.Config{Keys: g.keys, Limits: server.Limits{WrongKeys: -1}, // tests send wrong keys on purpose
		Settings: []server.Setting{{Name: "log.level", Value: "info", Source: "default"}}},
		Runs:       runs.Config{Traces: true},
		Plane:      control.Config{Limiter: limit.New(limit.Config{})},
		Automation: automation.Config{Hooks: g.hooks, Schedules: contestedSchedules{new(schedule.Memory)}},
		Figures:    figures.Config{Replicas: figures.NewReplicas(memory.NewProfile())}}
	g.t.Cleanup(cfg.Plane.Limiter.Close)
	if log, ok := g.db.(interface{ Changes() changelog.Store }); ok {
		cfg.Runs.Changes = log.Changes()
	}
	g.openControl(&cfg)
	var err error
	mark := cmp.Or(g.restoration, &awaken.Restoration{ID: "long ago", At: 1})
	rt := runtime(g.t, func(c *engine.Config) {
		*c = engine.Config{Versions: g.control, Budgets: true, AllowUnpriced: g.free, Restoration: mark}
	})
	if g.box, err = mailbox.New(mailbox.Config{Queue: g.db, Profile: g.profile, Restoration: mark,
		Sink: func(string) awaken.Sink { return g.stats.Sink(nil) }, Poll: 50 * time.Millisecond, Drain: 100 * time.Millisecond}, rt.With); err != nil {
		g.t.Fatal(err)
	}
	cfg.Mailbox = g.box
	g.openWebhooks(&cfg)
	if g.judged == nil {
		g.judged = new(live.Memory)
	}
	cfg.Evals = &evals.Config{Open: openCell, Live: g.judged, Limits: evals.Limits{Revisions: 3}}
	if db, ok := g.db.(interface{ Rollups() rollup.Store }); ok {
		cfg.Figures.Rollups = db.Rollups()
	}
	for _, c := range change {
		c(&cfg)
	}
	if g.srv, err = cfg.Assemble(); err != nil {
		g.t.Fatal(err)
	}
	g.http = httptest.NewServer(g.srv.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !g.idle {
			_ = g.box.Work(ctx)
		}
	}()
	srv, web := g.srv, g.http
	g.stop = sync.OnceFunc(func() {
		srv.Stop()
		web.Close()
		cancel()
		<-done
	})
	g.t.Cleanup(g.stop)
}

// ask sends a request and returns the status and the body.
func (g *rig) ask(method, path, body string, headers ...string) (int, string) {
	g.t.Helper()
	resp := g.do(method, path, body, headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(data))
}

func (g *rig) do(method, path, body string, headers ...string) *http.Response {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.http.URL+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp
}

// want sends a request and checks the status; it returns the body as JSON.
func (g *rig) want(status int, method, path, body string, headers ...string) map[string]any {
	g.t.Helper()
	got, text := g.ask(method, path, body, headers...)
	if got != status {
		g.t.Fatalf("%s %s: status is %d, want %d: %s", method, path, got, status, text)
	}
	var out map[string]any
	if text != "" {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			g.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return out
}

// frame is one event of a stream.
type frame struct{ id, event, data string }

// readFrames reads a stream until it ends or stop says so.
func readFrames(t testing.TB, body io.Reader, stop func(frame) bool) (out []frame) {
	t.Helper()
	var f frame
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return out
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			if f.data != "" {
				out = append(out, f)
				if stop != nil && stop(f) {
					return out
				}
			}
			f = frame{}
		case strings.HasPrefix(line, ":"):
		default:
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				f.id = value
			case "event":
				f.event = value
			case "data":
				f.data = value
			}
		}
	}
}

func is(kind string) func(frame) bool {
	return func(f frame) bool { return strings.Contains(f.data, `"event_type":"`+kind+`"`) }
}

func texts(frames []frame) string {
	var sb strings.Builder
	for _, f := range frames {
		var ev struct {
			Type  string `json:"event_type"`
			Delta string `json:"delta"`
		}
		if json.Unmarshal([]byte(f.data), &ev) == nil && ev.Type == "text_delta" {
			sb.WriteString(ev.Delta)
		}
	}
	return sb.String()
}

func runBody(agent, thread, message string) string {
	data, err := json.Marshal(map[string]any{"agent_id": agent, "thread_id": thread, "messages": []map[string]string{{"role": "user", "content": message}}})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestRuns_Stream(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	resp := g.do("POST", "/v1/runs", runBody("default", "", "hello"))
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" || resp.Header.Get("X-Run-Id") == "" || resp.Header.Get("X-Thread-Id") == "" {
		t.Errorf("headers are %v", resp.Header)
	}
	frames := readFrames(t, resp.Body, nil)
	if got := texts(frames); got != "Scripted response to: hello" {
		t.Errorf("the text is %q", got)
	}
	seen := map[string]bool{}
	for _, f := range frames {
		if f.id == "" || seen[f.id] {
			t.Errorf("frame %q has the id %q", f.data, f.id)
		}
		seen[f.id] = true
	}
	if !is("run_start")(frames[0]) || !is("run_finish")(frames[len(frames)-1]) {
		t.Errorf("the stream goes from %s to %s", frames[0].data, frames[len(frames)-1].data)
	}
}

func TestRuns_WaitForTheResult(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, how := range []string{"accept", "stream"} {
		body, headers := runBody("default", "", "hello"), []string{"Accept", "application/json"}
		if how == "stream" {
			body, headers = strings.Replace(body, `"messages"`, `"stream":false,"messages"`, 1), nil
		}
		out := g.want(200, "POST", "/v1/runs", body, headers...)
		if out["response"] != "Scripted response to: hello" || out["status"] != "done" || out["run_id"] == "" || out["thread_id"] == "" {
			t.Errorf("%s: got %v", how, out)
		}
		if term := out["termination"].(map[string]any); term["type"] != "natural_end" {
			t.Errorf("%s: termination is %v", how, term)
		}
		if usage := out["usage"].(map[string]any); usage["prompt_tokens"] != 10.0 {
			t.Errorf("%s: usage is %v", how, usage)
		}
	}
}

func TestRuns_ResumeAnywhere(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	resp := g.do("POST", "/v1/runs", runBody("default", "t", "tell me something that has several words in it"))
	all := readFrames(t, resp.Body, nil)
	resp.Body.Close()
	id := resp.Header.Get("X-Run-Id")
	g.start() // another process
	for i := range all[:len(all)-1] {
		how := []string{"Last-Event-ID", all[i].id}
		path := "/v1/runs/" + id + "/events/stream"
		if i%2 == 0 {
			how, path = nil, path+"?cursor="+all[i].id
		}
		resp := g.do("GET", path, "", how...)
		rest := readFrames(t, resp.Body, nil)
		resp.Body.Close()
		if len(rest) != len(all)-i-1 {
			t.Fatalf("after frame %d of %d come %d", i+1, len(all), len(rest))
		}
		for j, f := range rest {
			if f.id != all[i+1+j].id {
				t.Fatalf("after frame %d comes %s, want %s", i+1, f.id, all[i+1+j].id)
			}
		}
	}
}

func TestDecision_ByEveryRoute(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for i, route := range []string{"/v1/threads/THREAD/decision", "/v1/runs/RUN/decision", "/v1/approvals/RUN/TICKET"} {
		thread := fmt.Sprint("t", i)
		out := g.want(200, "POST", "/v1/runs", runBody("default", thread, `RUN_TOOL ask {"path":"a"}`), "Accept", "application/json")
		if out["status"] != "waiting" || out["termination"].(map[string]any)["type"] != "suspended" {
			t.Fatalf("got %v", out)
		}
		id := out["run_id"].(string)
		list := g.want(200, "GET", "/v1/approvals", "")["items"].([]any)
		if len(list) != 1 {
			t.Fatalf("%d approvals wait: %v", len(list), list)
		}
		ticket := list[0].(map[string]any)
		if ticket["run_id"] != id || ticket["thread_id"] != thread || ticket["tool_name"] != "ask" {
			t.Errorf("the approval is %v", ticket)
		}
		active := g.want(200, "GET", "/v1/threads/"+thread+"/runs/active", "")["active_run"].(map[string]any)
		if active["status"] != "waiting" || active["waiting"] == nil {
			t.Errorf("the active run is %v", active)
		}
		path := strings.NewReplacer("THREAD", thread, "RUN", id, "TICKET", ticket["ticket_id"].(string)).Replace(route)
		g.want(400, "POST", path, fmt.Sprintf(`{"tool_call_id":%q,"action":"maybe"}`, ticket["tool_call_id"]))
		done := g.want(202, "POST", path, fmt.Sprintf(`{"toolCallId":%q,"action":"resume","arguments":{"path":"b"}}`, ticket["tool_call_id"]))
		if done["status"] != "decision_submitted" {
			t.Errorf("got %v", done)
		}
		resp := g.do("GET", "/v1/runs/"+id+"/events/stream?cursor=0-0", "")
		frames := readFrames(t, resp.Body, nil)
		resp.Body.Close()
		if last := frames[len(frames)-1].data; !strings.Contains(last, "RunFinished") || !strings.Contains(last, `\"did\":\"b\"`) && !strings.Contains(last, "b") {
			t.Errorf("the last event is %s", last)
		}
		g.want(409, "POST", path, fmt.Sprintf(`{"toolCallId":%q,"action":"cancel"}`, ticket["tool_call_id"]))
	}
}

func TestThreads(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	made := g.want(201, "POST", "/v1/threads", `{"title":" Trip ","resourceId":"r1"}`)
	id := made["id"].(string)
	if made["resource_id"] != "r1" || made["metadata"].(map[string]any)["title"] != "Trip" {
		t.Errorf("made %v", made)
	}
	child := g.want(201, "POST", "/v1/threads", fmt.Sprintf(`{"parent_thread_id":%q}`, id))["id"].(string)
	g.want(400, "POST", "/v1/threads", `{"parent_thread_id":"missing"}`)
	g.want(400, "PATCH", "/v1/threads/"+id, fmt.Sprintf(`{"parent_thread_id":%q}`, child))
	g.want(200, "PATCH", "/v1/threads/"+id, `{"title":"New","custom":{"a":1},"resource_id":null}`)
	got := g.want(200, "PATCH", "/v1/threads/"+id+"/metadata", `{"custom":{"b":2}}`)
	if md := got["metadata"].(map[string]any); md["title"] != "New" || fmt.Sprint(md["custom"]) != "map[a:1 b:2]" || got["resource_id"] != nil {
		t.Errorf("patched %v", got)
	}
	list := g.want(200, "GET", "/v1/threads?limit=1", "")
	if list["total"] != 2.0 || list["has_more"] != true || len(list["items"].([]any)) != 1 {
		t.Errorf("listed %v", list)
	}
	next := g.want(200, "GET", "/v1/threads?limit=1&cursor="+list["next_cursor"].(string), "")
	if next["has_more"] != false || next["items"].([]any)[0] == list["items"].([]any)[0] {
		t.Errorf("the next page is %v", next)
	}
	g.want(400, "GET", "/v1/threads?root=true&cursor="+list["next_cursor"].(string), "")
	g.want(400, "GET", "/v1/threads?cursor=nonsense", "")
	if roots := g.want(200, "GET", "/v1/threads/summaries?root=true", "")["items"].([]any); len(roots) != 1 || roots[0].(map[string]any)["title"] != "New" {
		t.Errorf("roots are %v", roots)
	}
	g.want(400, "DELETE", "/v1/threads/"+id+"?child_strategy=reject", "")
	g.want(204, "DELETE", "/v1/threads/"+id+"?childStrategy=cascade", "")
	g.want(404, "GET", "/v1/threads/"+child, "")
}

func TestMessages(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(404, "POST", "/v1/threads/missing/messages", `{"messages":[{"role":"user","content":"hi"}]}`)
	id := g.want(201, "POST", "/v1/threads", "")["id"].(string)
	g.want(400, "POST", "/v1/threads/"+id+"/messages", `{"messages":[]}`)
	g.want(400, "POST", "/v1/threads/"+id+"/messages", `{"messages":[{"role":"tool","content":"hi"}]}`)
	g.want(422, "POST", "/v1/threads/"+id+"/messages", `{"massages":[]}`)
	g.want(400, "POST", "/v1/threads/"+id+"/messages", `{`)
	sent := g.want(202, "POST", "/v1/threads/"+id+"/messages", `{"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}]}`)
	resp := g.do("GET", "/v1/runs/"+sent["run_id"].(string)+"/events/stream?cursor=0-0", "")
	readFrames(t, resp.Body, nil)
	resp.Body.Close()
	list := g.want(200, "GET", "/v1/threads/"+id+"/messages", "")
	msgs := list["messages"].([]any)
	if len(msgs) != 2 || len(msgs[0].(map[string]any)["content"].([]any)) != 2 {
		t.Errorf("messages are %v", msgs)
	}
	if desc := g.want(200, "GET", "/v1/threads/"+id+"/messages?order=desc&limit=1", ""); desc["has_more"] != true || desc["messages"].([]any)[0].(map[string]any)["role"] != "assistant" {
		t.Errorf("backwards they are %v", desc)
	}
	runs := g.want(200, "GET", "/v1/threads/"+id+"/runs?status=done", "")
	if runs["total"] != 1.0 {
		t.Errorf("runs are %v", runs)
	}
	if latest := g.want(200, "GET", "/v1/threads/"+id+"/runs/latest", ""); latest["run_id"] != sent["run_id"] {
		t.Errorf("the latest is %v", latest)
	}
	events := g.want(200, "GET", "/v1/threads/"+id+"/events?limit=2", "")
	if len(events["items"].([]any)) != 2 || events["has_more"] != true {
		t.Errorf("events are %v", events)
	}
}

func TestMailbox_Pending(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	first := g.want(201, "POST", "/v1/threads/t/mailbox", `{"payload":{"text":"RUN_TOOL wait {}"}}`)
	tail := g.do("GET", "/v1/runs/"+first["run_id"].(string)+"/events/stream?cursor=0-0", "")
	defer tail.Body.Close()
	readFrames(t, tail.Body, func(f frame) bool { return strings.Contains(f.data, "tool_call_start") })
	g.want(201, "POST", "/v1/threads/t/mailbox", `{"payload":{"a": 1}}`)
	g.want(201, "POST", "/v1/threads/t/mailbox", `{"payload":"two"}`)
	list := g.want(200, "GET", "/v1/threads/t/pending", "")
	items := list["items"].([]any)
	if len(items) != 2 {
		t.Fatalf("pending are %v", items)
	}
	a, b := items[0].(map[string]any)["pending_id"].(string), items[1].(map[string]any)["pending_id"].(string)
	g.want(409, "PATCH", "/v1/threads/t/pending/"+a, `{"revision":7,"messages":[{"role":"user","content":"x"}]}`)
	list = g.want(200, "PATCH", "/v1/threads/t/pending/"+a, `{"revision":0,"messages":[{"role":"user","content":"edited"}]}`)
	list = g.want(200, "POST", "/v1/threads/t/pending/reorder", fmt.Sprintf(`{"revision":%q,"order":[%q,%q]}`, list["revision"], b, a))
	if got := list["items"].([]any)[0].(map[string]any)["pending_id"]; got != b {
		t.Errorf("first is %v, want %s", got, b)
	}
	g.want(204, "DELETE", "/v1/threads/t/pending/"+b+"?revision=1", "")
	g.want(202, "POST", "/v1/runs/"+first["run_id"].(string)+"/cancel", "")
	run := items[0].(map[string]any)["run_id"].(string)
	g.ask("GET", "/v1/runs/"+run+"/events/stream?cursor=0-0", "") // to its end
	if got := g.want(200, "GET", "/v1/runs/"+run, ""); got["status"] != "done" || got["final_output"] != "Scripted response to: edited" {
		t.Errorf("the run of the edited input is %v", got)
	}
	idle := g.want(201, "POST", "/v1/threads", `{}`)
	g.want(404, "POST", "/v1/threads/"+idle["id"].(string)+"/interrupt", "")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/nowhere", "", 404, "no route for /nowhere"},
		{"PUT", "/v1/runs", "", 405, "allowed: GET, POST"},
		{"POST", "/v1/runs", `{"messages":[{"role":"user","content":"x"}]}`, 422, "agent_id is missing"},
		{"POST", "/v1/runs", `{}`, 422, "agent_id is missing"},
		{"POST", "/v1/runs", `{"agent_id":"default"}`, 422, "messages is missing"},
		{"POST", "/v1/runs", `{"agent_id":" ","messages":[{"role":"user","content":"x"}]}`, 400, "agent_id is empty"},
		{"POST", "/v1/runs", runBody("missing", "", "x"), 400, "agent not found: missing"},
		{"POST", "/v1/runs", `{"agent_id":"default","messages":[{"role":"user","content":5}]}`, 422, "messages[0]"},
		{"POST", "/v1/runs", `{"agent_id":7}`, 422, "agent_id"},
		{"POST", "/v1/runs", strings.Repeat("[", 1000) + strings.Repeat("]", 1000), 400, "nested deeper than 64"},
		{"POST", "/v1/runs", "\xff", 400, "not UTF-8"},
		{"GET", "/v1/runs/missing", "", 404, "run not found: missing"},
		{"GET", "/v1/runs?status=odd", "", 400, `status is "odd", want created, running, waiting, done`},
		{"GET", "/v1/threads/x/events?cursor=zzz", "", 404, "thread not found: x"},
		{"POST", "/v1/runs/missing/cancel", "", 404, "run not found: missing"},
		{"GET", "/v1/threads/a%00b", "", 404, "thread not found"},
		{"GET", "/v1/keys", "", 401, "authentication required"},
	} {
		status, body := g.ask(c.method, c.path, c.body)
		var e struct{ Error, Code string }
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != c.status || !strings.Contains(e.Error, c.says) || e.Code == "" {
			t.Errorf("%s %s: %d %s, want %d %q", c.method, c.path, status, body, c.status, c.says)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	a := g.want(200, "POST", "/v1/runs", runBody("default", "", "hello"), "Accept", "application/json", "Idempotency-Key", "k")
	b := g.want(200, "POST", "/v1/runs", runBody("default", "", "hello"), "Accept", "application/json", "Idempotency-Key", "k")
	if a["run_id"] != b["run_id"] {
		t.Errorf("the same request made runs %v and %v", a["run_id"], b["run_id"])
	}
	g.want(409, "POST", "/v1/runs", runBody("default", "", "other"), "Idempotency-Key", "k")
}

// commitOnlyDB settles no dispatch, except in commits.
type commitOnlyDB struct{ *memory.DB }

func (commitOnlyDB) Settle(context.Context, ...mailbox.Settlement) ([]error, error) {
	return nil, errors.New("this queue does not settle")
}

// A client that has seen a run end can delete its thread: the commit that ended the run has settled
// its dispatch.
func TestThread_CanBeDeletedOnceItsRunHasEnded(t *testing.T) {
	t.Parallel()
	g := &rig{t: t, db: commitOnlyDB{memory.NewDB()}, keys: access.NewKeys(memory.NewProfile())}
	g.start()
	g.want(200, "POST", "/v1/runs", runBody("default", "t", "hello"), "Accept", "application/json")
	g.want(204, "DELETE", "/v1/threads/t", "")
	g.want(404, "GET", "/v1/threads/t", "")
}
