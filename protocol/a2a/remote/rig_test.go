package remote_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/a2a/remote"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// front is a proxy before a server, which counts and can break connections.
type front struct {
	*httptest.Server
	mu    sync.Mutex
	sends []string // ids of the messages that arrived
	down  bool
	// on, if set, is called before a request is passed on. If it reports false, the connection is cut.
	on func(r *http.Request, method string) bool
}

func newFront(t testing.TB, to string) *front {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(data))), int64(len(data))
		method := methodOf(r, data)
		f.mu.Lock()
		down, on := f.down, f.on
		f.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		if id := messageID(data); id != "" {
			f.mu.Lock()
			f.sends = append(f.sends, id)
			f.mu.Unlock()
		}
		if on != nil && !on(r, method) {
			panic(http.ErrAbortHandler)
		}
		r.Header["X-Forwarded-For"] = nil // the server is not behind a proxy
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// methodOf names the operation of a request in both bindings.
func methodOf(r *http.Request, body []byte) string {
	var rpc struct{ Method string }
	if json.Unmarshal(body, &rpc) == nil && rpc.Method != "" {
		return rpc.Method
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "message:send"):
		return "SendMessage"
	case strings.HasSuffix(path, "message:stream"):
		return "SendStreamingMessage"
	case strings.HasSuffix(path, ":cancel"):
		return "CancelTask"
	case strings.HasSuffix(path, ":subscribe"):
		return "SubscribeToTask"
	case strings.HasSuffix(path, "/tasks"):
		return "ListTasks"
	case strings.Contains(path, "/tasks/"):
		return "GetTask"
	}
	return "card"
}

func messageID(body []byte) string {
	type message struct{ MessageID string }
	var in struct {
		Message *message
		Params  struct{ Message *message }
	}
	if json.Unmarshal(body, &in) != nil {
		return ""
	}
	for _, m := range []*message{in.Message, in.Params.Message} {
		if m != nil {
			return m.MessageID
		}
	}
	return ""
}

func (f *front) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// sent returns the ids of the messages that reached the server.
func (f *front) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.sends...)
}

// side is the program whose agents are elsewhere.
type side struct {
	t      testing.TB
	db     *memory.DB
	agents []*awaken.AgentSpec
	models []awaken.ModelSpec
	llms   map[string]llm.Model
}

func newSide(t testing.TB) *side {
	return &side{t: t, db: memory.NewDB(), llms: map[string]llm.Model{}}
}

// far adds an agent that is on a server.
func (s *side) far(id, base, target, options string) *awaken.AgentSpec {
	s.t.Helper()
	a := &awaken.AgentSpec{ID: id, Endpoint: &awaken.RemoteEndpoint{BaseURL: base, Target: target, TimeoutMS: 60_000}}
	if options != "" {
		if err := json.Unmarshal([]byte(options), &a.Endpoint.Options); err != nil {
			s.t.Fatal(err)
		}
	}
	s.agents = append(s.agents, a)
	return a
}

// boss adds an agent that delegates to another and then says that all is done.
func (s *side) boss(to string) {
	s.agents = append(s.agents, &awaken.AgentSpec{ID: "boss", ModelID: "boss", Delegates: []string{to}})
	s.models = append(s.models, awaken.ModelSpec{ID: "boss", ProviderID: "boss", UpstreamModel: "boss"})
	s.llms["boss"] = llmtest.NewScript(llmtest.Use("agent_run_"+to, `{"prompt":"go"}`), llmtest.Say("all done"))
}

// config returns the configuration of a new process.
func (s *side) config() engine.Config {
	return engine.Config{Agents: s.agents, Models: s.models, Providers: s.llms, Store: s.db.Store(""),
		Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}, Backends: map[string]registry.RemoteBackend{"a2a": remote.New(remote.Options{Allow: loopback})}}
}

// runtime returns the runtime of a new process.
func (s *side) runtime() *engine.Runtime {
	s.t.Helper()
	rt, err := engine.New(s.config())
	if err != nil {
		s.t.Fatal(err)
	}
	return rt
}

func say(agent, thread, text string) awaken.RunRequest {
	return awaken.RunRequest{AgentID: agent, ThreadID: thread, Messages: []*llm.Message{llm.UserText(text)}}
}

// heard collects the text of a run, or of the delegates' output, as it arrives.
type heard struct {
	mu     sync.Mutex
	text   string
	pieces int
	events []awaken.Event
	each   func(awaken.Event)
}

func (h *heard) Emit(_ context.Context, e awaken.Entry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e.Event)
	switch ev := e.Event.(type) {
	case *awaken.TextDelta:
		h.text += ev.Delta
		h.pieces++
	case *awaken.ToolCallStreamDelta:
		h.text += ev.Delta
		h.pieces++
	case *awaken.StreamReset:
		h.text = ""
	}
	if h.each != nil {
		h.each(e.Event)
	}
	return nil
}

// theirs is a server of this project, behind a front.
type theirs struct {
	*front
	rig *protocoltest.Rig
}

func newTheirs(t testing.TB, slow <-chan struct{}) *theirs {
	t.Helper()
	routes, err := a2a.Routes(a2a.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := protocoltest.Idle(t, routes)
	g.Slow = slow
	g.Box, g.URL = g.Start(true)
	return &theirs{newFront(t, g.URL), g}
}

// runs returns the runs of the server.
func (s *theirs) runs() []*awaken.Run {
	s.rig.TB.Helper()
	all, err := s.rig.Box.Tenant("").Store.ListRuns(context.Background(), awaken.RunQuery{Limit: 100})
	if err != nil {
		s.rig.TB.Fatal(err)
	}
	return all
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so after 30 s: %s", what)
		}
	}
}

// both runs a test in both bindings.
func both(t *testing.T, test func(t *testing.T, options string)) {
	for _, binding := range []string{"HTTP+JSON", "JSONRPC"} {
		t.Run(binding, func(t *testing.T) { test(t, `{"binding":"`+binding+`"}`) })
	}
}
