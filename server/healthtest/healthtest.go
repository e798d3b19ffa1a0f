// Package healthtest tests what a server says about a store that cannot serve.
package healthtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
)

// Server is a server on a store, with no worker.
type Server struct {
	*testing.T
	url string
}

// Serve starts a server and checks that it is healthy.
func Serve(t *testing.T, queue mailbox.Queue) *Server {
	t.Helper()
	if _, err := queue.Handle("").Acquire(t.Context(), "t"); err != nil { // creates the thread
		t.Fatal(err)
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": llmtest.Demo()},
	})
	if err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: queue}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() { srv.Stop(); web.Close() })
	s := &Server{t, web.URL}
	s.Healthy()
	return s
}

// Healthy waits until /health says that the store is fine, and checks that runs are accepted.
func (s *Server) Healthy() {
	s.Helper()
	s.becomes(200, "ok")
	if status, _, body := s.submit(); status != 202 {
		s.Errorf("a run was answered with %d: %s; want 202", status, body)
	}
}

// Unavailable waits until runs are refused because the store cannot serve, and checks that /health
// tells the reason.
func (s *Server) Unavailable(reason string) {
	s.Helper()
	status, header, body := s.submit()
	for deadline := time.Now().Add(10 * time.Second); status == 202 && time.Now().Before(deadline); status, header, body = s.submit() {
		time.Sleep(50 * time.Millisecond)
	}
	if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(body, `"code":"store_unavailable"`) || !strings.Contains(body, reason) {
		s.Errorf("a run was answered with %d, Retry-After %q, %s; want 503: %s", status, header.Get("Retry-After"), body, reason)
	}
	s.becomes(503, reason)
}

// submit submits a run with a long message, which needs space.
func (s *Server) submit() (status int, header http.Header, body string) {
	s.Helper()
	resp, err := http.Post(s.url+"/v1/threads/t/messages", "application/json",
		strings.NewReader(`{"agent_id":"default","messages":[{"role":"user","content":"`+strings.Repeat("hello ", 8<<10)+`"}]}`))
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// becomes waits until /health has a status and says so of the store.
func (s *Server) becomes(status int, store string) {
	s.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got, said := s.health()
		if got == status && said == store {
			return
		}
		if time.Now().After(deadline) {
			s.Errorf("/health is %d, store: %s; want %d, %s", got, said, status, store)
			return
		}
	}
}

func (s *Server) health() (status int, store string) {
	s.Helper()
	resp, err := http.Get(s.url + "/health")
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Components map[string]string `json:"components"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, body.Components["store"]
}
