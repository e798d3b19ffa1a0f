package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
)

// as returns the headers of a new fixed key.
func (g *rig) as(secret string, key server.Key) []string {
	g.t.Helper()
	key.ID = secret
	if err := g.keys.Fix(secret, key); err != nil {
		g.t.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + secret}
}

// hold opens streams until one is refused, and returns how many are open.
func (g *rig) hold(most int, open func() *http.Response) (n int, refused *http.Response) {
	g.t.Helper()
	for range most {
		resp := open()
		if resp.StatusCode != 200 {
			resp.Body.Close()
			return n, resp
		}
		g.t.Cleanup(func() { resp.Body.Close() })
		n++
	}
	return n, nil
}

// Streams are shared out: none can hold them all, and there is room for the next one.
func TestShares_OfStreams(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Limits.Streams = 100 })
	thread, _ := g.done()
	watch := func(as []string) func() *http.Response {
		return func() *http.Response { return g.do("GET", "/v1/threads/"+thread+"/events/stream", "", as...) }
	}
	first, refused := g.hold(101, watch(g.as("reads-all-it-can", server.Key{Kind: server.ReadKey})))
	if first != 80 || refused == nil || refused.StatusCode != 429 || refused.Header.Get("Retry-After") == "" {
		t.Fatalf("the first key has %d of 100 streams, and then %v; want 80 and a 429 with Retry-After", first, refused)
	}
	second, _ := g.hold(101, watch(g.as("comes-second", server.Key{Kind: server.ReadKey})))
	third, _ := g.hold(101, watch(g.as("comes-third", server.Key{Kind: server.ReadKey})))
	if second != 16 || third < 1 {
		t.Errorf("the second key has %d, the third %d, want 16 and at least one", second, third)
	}
}

// A tenant with many keys has the share of one.
func TestShares_OfATenant(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Limits.Streams = 50 })
	n := 0
	for i := range 10 {
		as := g.as(fmt.Sprint("a-key-of-the-tenant-", i), server.Key{Kind: server.RunKey, Tenant: "greedy"})
		made, _ := g.hold(10, func() *http.Response {
			return g.do("POST", "/v1/runs", runBody("default", "", "RUN_TOOL wait {}"), as...)
		})
		n += made
	}
	if n != 40 {
		t.Errorf("ten keys of one tenant have %d of 50 streams, want 40", n)
	}
	other := g.as("a-key-of-another", server.Key{Kind: server.RunKey, Tenant: "modest"})
	g.want(200, "POST", "/v1/runs", strings.Replace(runBody("default", "", "hello"), "{", `{"stream":false,`, 1), other...)
}

// The workers are shared out: runs that one tenant has queued, and that last, do not hold up the
// others.
func TestShares_OfRuns(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	greedy := g.as("queues-many-runs", server.Key{Kind: server.RunKey, Tenant: "greedy"})
	for range 500 {
		thread := g.want(201, "POST", "/v1/threads", "{}", greedy...)["id"].(string)
		g.want(202, "POST", "/v1/threads/"+thread+"/messages", `{"messages":[{"role":"user","content":"RUN_TOOL wait {}"}]}`, greedy...)
	}
	g.eventually("the runs of the first tenant have all slots that it may have", func() bool { return g.box.Active() == 205 })
	modest := g.as("has-one-run", server.Key{Kind: server.RunKey, Tenant: "modest"})
	from := time.Now()
	g.want(200, "POST", "/v1/runs", strings.Replace(runBody("default", "", "hello"), "{", `{"stream":false,`, 1), modest...)
	if took := time.Since(from); took > time.Second {
		t.Errorf("the run of another tenant took %s, want less than a second", took)
	}
}

// A request that waits for its run counts as a stream does.
func TestShares_CountRequestsThatWaitForTheirRun(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Limits.Streams = 10 })
	as := g.as("waits-for-runs", server.Key{Kind: server.RunKey})
	for range 8 {
		go func() {
			body := strings.Replace(runBody("default", "", "RUN_TOOL wait {}"), "{", `{"stream":false,`, 1)
			for status := 429; status == 429; { // which a request below may cause
				req, _ := http.NewRequestWithContext(t.Context(), "POST", g.http.URL+"/v1/runs", strings.NewReader(body))
				req.Header.Set(as[0], as[1])
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return
				}
				resp.Body.Close()
				status = resp.StatusCode
			}
		}()
	}
	g.eventually("a full share", func() bool {
		status, _ := g.ask("POST", "/v1/runs", strings.Replace(runBody("default", "", "hello"), "{", `{"stream":false,`, 1), as...)
		return status == 429
	})
}

// drip begins a request and never ends its body. It returns the connection.
func (l *served) drip(as []string, length int, begin string) net.Conn {
	l.t.Helper()
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	head := fmt.Sprintf("POST /v1/threads HTTP/1.1\r\nHost: localhost\r\n%s: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", as[0], as[1], length)
	if _, err := io.WriteString(conn, head+begin); err != nil {
		l.t.Fatal(err)
	}
	return conn
}

// A client that sends its body slowly keeps no other client out, and is cut off.
func TestBodies_SlowOnesHoldNoSlot(t *testing.T) {
	t.Parallel()
	g := listen(t, func(c *servertest.Config) {
		c.Limits.Requests, c.Limits.BodyGrace = 2, 2*time.Second
	})
	as := g.as("sends-slowly", server.Key{Kind: server.RunKey})
	var conns []net.Conn
	for range 50 {
		conns = append(conns, g.drip(as, 1000, `{"title":"`))
	}
	for range 20 {
		if status, text := g.raw(message("POST", "/v1/threads", `{"title":"quick"}`, as[0]+": "+as[1])); status != 201 {
			t.Fatalf("a quick client of the same key: %d %s", status, text)
		}
	}
	for _, conn := range conns {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 408 || !strings.Contains(string(text), "want at least 1024 bytes per second") {
			t.Fatalf("a slow client got %d %s, want 408", resp.StatusCode, text)
		}
	}
}

// A body that is not complete when the server stops is refused.
func TestBodies_UnfinishedOnesDelayNoStop(t *testing.T) {
	t.Parallel()
	var conn net.Conn // is open until the server has stopped
	var began time.Time
	t.Run("server", func(t *testing.T) {
		g := listen(t)
		var err error
		if conn, err = net.Dial("tcp", g.addr); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, "POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"+strings.Repeat(" ", 100_000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // the server waits for more
		began = time.Now()
	})
	defer conn.Close()
	if took := time.Since(began); took > 4*time.Second { // a client that is too slow is cut off after 5
		t.Errorf("the server stopped after %s", took)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 503 || !strings.Contains(string(text), `"stopping"`) {
		t.Errorf("the client got %d %s, want 503 stopping", resp.StatusCode, text)
	}
}

// The memory of bodies is shared out as they arrive.
func TestBodies_ShareTheirMemory(t *testing.T) {
	t.Parallel()
	g := listen(t, func(c *servertest.Config) { c.Limits.BodyMemory = 1 << 20 })
	greedy, modest := g.as("sends-much", server.Key{Kind: server.RunKey}), g.as("sends-little", server.Key{Kind: server.RunKey})
	answers := make(chan int, 40)
	for range 40 {
		conn := g.drip(greedy, 10<<20, `{"title":"`+strings.Repeat("x", 100_000))
		go func() {
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				answers <- resp.StatusCode
			}
		}()
	}
	for range 20 { // the others hold their memory
		if status := <-answers; status != 429 {
			t.Fatalf("status is %d, want 429", status)
		}
	}
	if status, text := g.raw(message("POST", "/v1/threads", `{"title":"`+strings.Repeat("x", 200)+`"}`, modest[0]+": "+modest[1])); status != 201 {
		t.Errorf("another key: %d %s", status, text)
	}
}

func TestBodies_RefuseTooManyValues(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Limits.Values = 1000 })
	list := func(n int) string {
		return `{"agent_id":"default","messages":[` + strings.TrimSuffix(strings.Repeat("{},", n), ",") + `]}`
	}
	if out := g.want(413, "POST", "/v1/runs", list(1000)); out["code"] != "too_large" || !strings.Contains(out["error"].(string), "want at most 1000") {
		t.Errorf("got %v", out)
	}
	g.want(400, "POST", "/v1/runs", list(400))
	text := `"` + strings.Repeat(`,[{\"`, 2000) + `"` // one value
	g.want(200, "POST", "/v1/runs", `{"agent_id":"default","stream":false,"messages":[{"role":"user","content":`+text+`}]}`)
}
