package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

func TestLimits_RateIsPerKey(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Limits.KeyRate, c.Limits.KeyBurst = 1e-6, 3 })
	if err := g.keys.Fix("another-key", server.Key{ID: "another", Kind: server.ReadKey}); err != nil {
		t.Fatal(err)
	}
	for _, as := range [][]string{admin, {"Authorization", "Bearer another-key"}, nil} {
		for range 3 {
			g.want(200, "GET", "/v1/runs", "", as...)
		}
		resp := g.do("GET", "/v1/runs", "", as...)
		resp.Body.Close()
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%v: status is %d, Retry-After %q", as, resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
	g.want(200, "GET", "/health", "") // it is asked by machines
}

// Requests that only wait, for the end of a run or for a client that does not read its answer, keep no turn from others.
func TestLimits_ThoseThatWaitKeepNoTurn(t *testing.T) {
	t.Parallel()
	n := 8 * goruntime.GOMAXPROCS(0) // how many have a turn at once
	entered, over := make(chan struct{}, 2*n), make(chan struct{})
	defer close(over)
	route := protocol.Route{Method: "POST", Needs: permit.StartRuns, Scope: protocol.ByCaller, Body: struct{}{}, Replies: map[int]any{200: ""}, Stream: true}
	answers, waits := route, route
	answer := strings.Repeat("x", 6<<20) // more than a connection buffers
	answers.Path, answers.Handle = "/v1/test/answer", func(c protocol.Call) error {
		entered <- struct{}{}
		return c.Reply(200, answer)
	}
	waits.Path, waits.Handle = "/v1/test/wait", func(c protocol.Call) error {
		c.Release()
		entered <- struct{}{}
		<-over
		return c.Reply(200, "")
	}
	g := newRig(t, func(c *servertest.Config) { c.Routes = []protocol.Route{answers, waits} })
	for i := range 2 * n {
		conn, err := net.Dial("tcp", g.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", []string{answers.Path, waits.Path}[i%2])
	}
	for i := range 2 * n {
		select {
		case <-entered:
		case <-time.After(30 * time.Second):
			t.Fatalf("%d of %d requests have begun", i, 2*n)
		}
	}
	g.want(200, "POST", "/v1/runs", `{"agent_id":"default","stream":false,"messages":[{"role":"user","content":"hello"}]}`)
}

func TestLimits_RequestTime(t *testing.T) {
	t.Parallel()
	slow := slowDB{memory.NewDB()}
	g := &rig{t: t, db: slow, keys: access.NewKeys(nil)}
	g.start(func(c *servertest.Config) { c.Limits.RequestTime = 5 * time.Second }) // the answer has as long again
	out := g.want(503, "GET", "/v1/threads", "")
	if out["code"] != "timeout" {
		t.Errorf("got %v", out)
	}
}

// slowDB never answers some calls.
type slowDB struct{ *memory.DB }

func (s slowDB) Handle(tenant string) mailbox.Handle {
	return slowStore{brokenStore{Store: s.Store(tenant)}}
}

type slowStore struct{ brokenStore }

func (s slowStore) CountThreads(ctx context.Context, _ awaken.ThreadQuery) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestLimits_StopEndsStreams(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, run := g.runs()
	waiting := make(chan int, 1)
	go func() {
		resp := g.do("POST", "/v1/runs", runBody("default", "other", "RUN_TOOL wait {}"), "Accept", "application/json")
		resp.Body.Close()
		waiting <- resp.StatusCode
	}()
	g.eventually("the other run", func() bool {
		status, _ := g.ask("GET", "/v1/threads/other", "")
		return status == 200
	})
	a := g.do("GET", "/v1/threads/"+thread+"/events/stream", "")
	defer a.Body.Close()
	b := g.do("GET", "/v1/runs/"+run+"/events/stream?cursor=0-0", "")
	defer b.Body.Close()
	g.srv.Stop()
	readFrames(t, a.Body, nil) // they end
	readFrames(t, b.Body, nil)
	if status := <-waiting; status != 503 {
		t.Errorf("who waited for a run was told %d", status)
	}
	if status := g.want(200, "GET", "/v1/runs/"+run, "")["status"]; status != "running" {
		t.Errorf("the run is %v", status)
	}
	g.want(503, "GET", "/health", "")
}

func TestLimits_DisconnectCancelsNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const n = 20
	var ids []string
	for i := range n {
		resp := g.do("POST", "/v1/runs", runBody("default", fmt.Sprint("t", i), `RUN_TOOL ask {"path":"a"}`))
		ids = append(ids, resp.Header.Get("X-Run-Id"))
		if i%2 == 0 {
			readFrames(t, resp.Body, is("run_start"))
		}
		resp.Body.Close() // and gone
	}
	for _, id := range ids {
		g.eventually("run "+id, func() bool { return g.want(200, "GET", "/v1/runs/"+id, "")["status"] == "waiting" })
	}
}

func TestLimits_ManyWatchersOfOneRun(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, run, ticket := g.waits()
	var all sync.WaitGroup
	got := make(chan string, 100)
	for i := range 100 {
		path := "/v1/runs/" + run + "/events/stream?cursor=0-0"
		if i%2 == 0 {
			path = "/v1/threads/" + thread + "/events/stream?cursor=0-0"
		}
		resp := g.do("GET", path, "")
		all.Go(func() {
			defer resp.Body.Close()
			var sb strings.Builder
			for _, f := range readFrames(t, resp.Body, func(f frame) bool { return strings.Contains(f.data, "RunFinished") }) {
				sb.WriteString(f.id + " ")
			}
			got <- sb.String()
		})
	}
	g.want(202, "POST", "/v1/runs/"+run+"/decision", fmt.Sprintf(`{"tool_call_id":%q,"action":"resume"}`, ticket))
	all.Wait()
	first := <-got
	if strings.Count(first, " ") < 10 {
		t.Errorf("a watcher saw %s", first)
	}
	for range 99 {
		if s := <-got; s != first {
			t.Errorf("one saw\n%s\nanother\n%s", first, s)
		}
	}
}

// The write deadline of a stream does not apply to the next request on its connection.
func TestLimits_ConnectionIsReusable(t *testing.T) {
	t.Parallel()
	const write = time.Second // a stream that takes longer for a write is cut off
	g := listen(t, func(c *servertest.Config) { c.Limits.StreamWrite = write })
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(conn)
	body := runBody("default", "", "hello")
	for i, request := range []string{
		fmt.Sprintf("POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"GET /v1/threads HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%s: %v", request[:20], err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %s %v", request[:20], resp.Status, err)
		}
		if i == 0 {
			<-time.After(write + 100*time.Millisecond) // the deadline passes
		}
	}
}

// TestTwoServers: clients can watch, decide and cancel through one server what another accepted, and
// it takes over the runs of one that dies.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	a, b := newPeer(t, db, "a"), newPeer(t, db, "b")
	b.pause() // so that A has the runs

	thread, run, ticket := a.waits()
	resp := b.do("GET", "/v1/runs/"+run+"/events/stream?cursor=0-0", "")
	defer resp.Body.Close()
	readFrames(t, resp.Body, func(f frame) bool { return strings.Contains(f.data, "RunSuspended") })
	if list := b.want(200, "GET", "/v1/approvals", "")["items"].([]any); len(list) != 1 {
		t.Errorf("B knows of %v", list)
	}
	b.want(202, "POST", "/v1/threads/"+thread+"/decision", fmt.Sprintf(`{"tool_call_id":%q,"action":"resume"}`, ticket))
	rest := readFrames(t, resp.Body, nil)
	if len(rest) == 0 || !strings.Contains(rest[len(rest)-1].data, "RunFinished") {
		t.Errorf("B's watcher saw %v", rest)
	}
	a.want(409, "POST", "/v1/threads/"+thread+"/decision", fmt.Sprintf(`{"tool_call_id":%q,"action":"cancel"}`, ticket))

	_, run = a.runs()
	b.want(202, "POST", "/v1/runs/"+run+"/cancel", "")
	a.ends(run)
	if term := b.want(200, "GET", "/v1/runs/"+run, "")["termination_reason"].(map[string]any); term["type"] != "cancelled" {
		t.Errorf("the run ended as %v", term)
	}

	thread, run = a.runs()
	resp = b.do("GET", "/v1/runs/"+run+"/events/stream?cursor=0-0", "")
	defer resp.Body.Close()
	b.resume()
	a.die()
	b.eventually("B to go on with it", func() bool { return b.box.Active() == 1 })
	b.want(202, "POST", "/v1/threads/"+thread+"/cancel", "")
	rest = readFrames(t, resp.Body, nil)
	if len(rest) == 0 || !strings.Contains(rest[len(rest)-1].data, "RunCancelled") {
		t.Errorf("B's watcher saw %v", rest)
	}
}

// peer is a server and a mailbox that share a database with others.
type peer struct {
	*rig
	queue *mortal
	stop  context.CancelFunc
	done  chan struct{}
}

// mortal is a connection to a database that can be cut.
type mortal struct {
	*memory.DB
	mu   sync.Mutex
	dead bool
}

func (m *mortal) cut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) Renew(ctx context.Context, lease time.Duration, held ...mailbox.Claim) ([]mailbox.Renewal, error) {
	if m.cut() {
		return nil, context.DeadlineExceeded
	}
	return m.DB.Renew(ctx, lease, held...)
}

func (m *mortal) Claim(ctx context.Context, c mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	if m.cut() {
		return nil, 0, context.DeadlineExceeded
	}
	return m.DB.Claim(ctx, c)
}

func (m *mortal) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	if m.cut() {
		return nil, context.DeadlineExceeded
	}
	return m.DB.Settle(ctx, s...)
}

func newPeer(t *testing.T, db *memory.DB, name string) *peer {
	t.Helper()
	p := &peer{queue: &mortal{DB: db}}
	p.rig = &rig{t: t, db: p.queue, keys: access.NewKeys(memory.NewProfile())}
	var err error
	if p.box, err = mailbox.New(mailbox.Config{Queue: p.queue, Poll: 10 * time.Millisecond, Lease: time.Second, Drain: 50 * time.Millisecond, Consumer: name}, runtime(t).With); err != nil {
		t.Fatal(err)
	}
	if p.srv, err = (&servertest.Config{Config: server.Config{Mailbox: p.box, Keys: p.keys}}).Assemble(); err != nil {
		t.Fatal(err)
	}
	p.http = httptest.NewServer(p.srv.Handler())
	p.resume()
	t.Cleanup(func() {
		p.srv.Stop()
		p.http.Close()
		p.pause()
	})
	return p
}

// resume lets the peer work.
func (p *peer) resume() {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.done = cancel, make(chan struct{})
	go func() {
		defer close(p.done)
		_ = p.box.Work(ctx)
	}()
}

// pause stops the peer's work gracefully.
func (p *peer) pause() {
	p.stop()
	<-p.done
}

// die cuts the peer off from the database: it can neither renew nor settle its claims.
func (p *peer) die() {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.queue.dead = true
}
