package server_test

import (
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

// deaf is a model that ignores its context until the test ends.
type deaf struct {
	asked chan struct{}
	end   <-chan struct{}
}

func (d deaf) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {
		d.asked <- struct{}{}
		<-d.end
	}
}

// What runs in a run must not keep the process: an operator stops a server with one signal.
func TestServe_ReturnsAlthoughARunDoesNotStop(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	m := deaf{make(chan struct{}, 1), end}
	rt := runtime(t, func(c *engine.Config) { c.Providers = map[string]llm.Model{"p": m} })
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB(), Poll: 10 * time.Millisecond, Drain: 50 * time.Millisecond}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Limits: server.Limits{ShutdownTime: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	hello := mailbox.Submission{Request: awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText("hello")}}}
	if _, err := box.Tenant("").Submit(ctx, hello); err != nil {
		t.Fatal(err)
	}
	<-m.asked
	began := time.Now()
	stop()
	select {
	case err = <-done:
	case <-time.After(20 * time.Second):
		t.Error("the server has not returned after 20 seconds")
	}
	if err == nil || !strings.Contains(err.Error(), "1 runs did not stop in time") {
		t.Errorf("after %s: %v, want an error that counts the runs", time.Since(began), err)
	}
	close(end)
}

// halting is a model that stops in the middle of its answer until the test lets it continue.
type halting struct {
	begun chan struct{}
	goOn  <-chan struct{}
}

func (h halting) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if !yield(llm.Delta{Kind: llm.TextDelta, Text: "first half, "}, nil) {
			return
		}
		h.begun <- struct{}{}
		<-h.goOn
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "second half"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// A server that stops lets its runs finish their step, and the clients that follow them see it.
func TestServe_StreamsLastUntilTheStepIsOver(t *testing.T) {
	t.Parallel()
	resume := make(chan struct{})
	m := halting{make(chan struct{}, 1), resume}
	rt := runtime(t, func(c *engine.Config) { c.Providers = map[string]llm.Model{"p": m} })
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB(), Poll: 10 * time.Millisecond}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Routes: aisdk.Routes(), Limits: server.Limits{ShutdownTime: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	at := "http://" + l.Addr().String()
	page, err := http.Post(at+"/v1/ai-sdk/chat", "application/json", strings.NewReader(`{"id":"t","agentId":"default","messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	<-m.begun
	raw, err := http.Get(at + "/v1/runs/" + page.Header.Get("X-Run-Id") + "/events/stream?cursor=0-0")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Body.Close()
	stop()
	for ; ; time.Sleep(5 * time.Millisecond) { // until it has stopped accepting
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			break
		}
		c.Close()
	}
	close(resume)
	for name, want := range map[string]struct {
		from  io.Reader
		parts []string
	}{
		"AI SDK":     {page.Body, []string{"first half, ", "second half", `"finish"`, "[DONE]"}},
		"raw events": {raw.Body, []string{"first half, ", "second half", `"run_finish"`}},
	} {
		got, err := io.ReadAll(want.from)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range want.parts {
			if !strings.Contains(string(got), part) {
				t.Errorf("%s: no %s in %s", name, part, got)
			}
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// lateDB is a store whose logs are not read in time once late is set.
type lateDB struct {
	*memory.DB
	late *atomic.Bool
}

func (d lateDB) Handle(tenant string) mailbox.Handle { return lateStore{d.Store(tenant), d.late} }

type lateStore struct {
	*memory.Store
	late *atomic.Bool
}

func (s lateStore) Entries(ctx context.Context, id string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	if s.late.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Entries(ctx, id, q)
}

// A server that stops while its store is slow cuts streams off. It does not send an error: the run goes on, and the
// client has the rest of it from another process.
func TestStop_ASlowStoreIsNoErrorOfAStream(t *testing.T) {
	t.Parallel()
	db := lateDB{memory.NewDB(), new(atomic.Bool)}
	g := &rig{t: t, db: db, keys: access.NewKeys(memory.NewProfile())}
	g.start(func(c *servertest.Config) { c.Routes = aisdk.Routes() })
	thread, run := g.runs()
	streams := map[string]*http.Response{}
	for _, path := range []string{"/v1/threads/" + thread + "/events/stream?cursor=0-0", "/v1/runs/" + run + "/events/stream?cursor=0-0",
		"/v1/ai-sdk/runs/" + run + "/stream"} {
		streams[path] = g.do("GET", path, "")
	}
	db.late.Store(true)
	g.srv.Stop()
	for path, resp := range streams {
		got, _ := io.ReadAll(resp.Body) // the stream may be cut off
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %s", path, resp.Status, got)
		}
		if strings.Contains(string(got), "error") {
			t.Errorf("%s ends with an error: %s", path, got)
		}
	}
	db.late.Store(false)
}
