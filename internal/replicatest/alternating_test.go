package replicatest

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// alternate returns the fleet as clients see it behind a load balancer that sends every request to another
// replica than the one before.
func (f *fleet) alternate() *fleet {
	g := *f
	g.urls = []string{newBalancer(f, f.urls)}
	return &g
}

// newBalancer returns the URL of a load balancer that sends every request to another server than the one
// before.
func newBalancer(t testing.TB, urls []string) string {
	t.Helper()
	var to []*url.URL
	for _, s := range urls {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		to = append(to, u)
	}
	var n atomic.Uint64
	balancer := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to[n.Add(1)%uint64(len(to))])
		r.Out.Host = r.In.Host // servers name the address that clients use
		// If the proxy still reads the request when the response begins, it cuts off one response in some hundred.
		if data, err := io.ReadAll(r.In.Body); err == nil {
			r.Out.Body = io.NopCloser(bytes.NewReader(data))
		}
	}})
	t.Cleanup(func() { balancer.CloseClientConnections(); balancer.Close() })
	return balancer.URL
}

// A client whose every request is served by another replica reads a run to its end, although its connection
// is cut after every few events.
func TestAlternating_AStreamIsResumedByAnyReplica(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, paced{60, 20 * time.Millisecond}, engine.join)
			g := f.alternate()
			g.open(0, "/v1/runs", say).body.Close()
			tr, cursor := &transcript{}, "0-0"
			for !tr.done {
				s := g.open(0, "/v1/threads/t/events/stream?cursor="+cursor, "")
				tr.opened++
				for range 5 {
					id, data := s.frame()
					if err := tr.take(id, data); err != nil {
						t.Fatal(err)
					}
					if cursor = id; tr.done {
						break
					}
				}
				s.body.Close()
			}
			if want := f.logged("t"); tr.text() != want || tr.opened < 10 {
				t.Errorf("after %d connections the client has %d bytes, the log %d", tr.opened, len(tr.text()), len(want))
			}
		})
	}
}

// frame reads the next event of a stream.
func (s *stream) frame() (id, data string) {
	s.f.Helper()
	late := time.AfterFunc(patience, func() { s.body.Close() })
	defer late.Stop()
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.f.Fatal(err)
		}
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			return id, v
		}
	}
}

// A question that one replica shows is answered by another, of a run that waits and of one in progress,
// and the chat of AI SDK is continued by a third.
func TestAlternating_ApprovalsAndChats(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			f, h := newCallers(t, engine.join)
			g := f.alternate()
			for i, tools := range []string{"ask", "ask hold"} {
				thread := fmt.Sprint("t", i)
				s := g.open(0, "/v1/runs", fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"messages":[{"role":"user","content":%q}]}`, thread, tools))
				s.until(`"outcome":"suspended"`)
				run := s.head.Get("X-Run-Id")
				s.body.Close()
				for late := time.Now().Add(patience); i == 0 && !strings.Contains(g.get("/v1/approvals"), run); { // once the run waits
					if time.Now().After(late) {
						t.Fatalf("the list of approvals lacks run %s", run)
					}
				}
				g.post(0, "/v1/runs/"+run+"/decision", `{"tool_call_id":"ask","action":"resume"}`)
				<-h.of(thread, "resumed")
				if strings.Contains(tools, "hold") {
					<-h.of(thread, "begun")
					g.post(0, "/v1/runs/"+run+"/cancel", "")
					<-h.of(thread, "stopped")
				}
				g.open(0, "/v1/threads/"+thread+"/events/stream?cursor=0-0", "").until(map[bool]string{false: "RunFinished", true: "RunCancelled"}[i == 1])
			}
			chat := g.open(0, "/v1/ai-sdk/chat", `{"id":"c","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"ask"}]}]}`)
			chat.until("[DONE]")
			g.post(0, "/v1/threads/c/decision", `{"tool_call_id":"ask","action":"resume"}`)
			<-h.of("c", "resumed")
			late := g.open(0, "/v1/threads/c/events/stream?cursor=0-0", "")
			late.until("RunFinished")
		})
	}
}

// get returns the body of a response.
func (f *fleet) get(path string) string {
	f.Helper()
	s := f.open(0, path, "")
	defer s.body.Close()
	line, err := s.in.ReadString('\x00')
	if line == "" {
		f.Errorf("%s: %v", path, err)
	}
	return line
}
