// Package servertest assembles servers for tests: [Config] one with all wings, [Start] one that serves an agent from a queue
// under test, so that a store can count what a request costs it.
package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
)

// Chunks is the number of pieces of every answer.
const Chunks = 64

// Server is a server in this process, and its client.
type Server struct {
	tb  testing.TB
	url string
}

// answers is a model that answers every request at once, in pieces.
type answers struct{}

func (answers) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for i := range Chunks {
			if !yield(llm.Delta{Kind: llm.TextDelta, Text: fmt.Sprintf("%08d|x", i)}, nil) {
				return
			}
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// Start serves an agent without tools until the test ends.
func Start(tb testing.TB, queue mailbox.Queue) *Server {
	tb.Helper()
	return StartTapped(tb, queue, nil)
}

// StartTapped is Start with a tap.
func StartTapped(tb testing.TB, queue mailbox.Queue, tap engine.Tap) *Server {
	tb.Helper()
	rt, err := engine.New(engine.Config{
		Tap:       tap,
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": answers{}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: queue}, rt.With)
	if err != nil {
		tb.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Routes: slices.Concat(aisdk.Routes(), agui.Routes())})
	if err != nil {
		tb.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	tb.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				tb.Error(err)
			}
		case <-time.After(time.Minute):
			tb.Error("the server does not stop")
		}
	})
	return &Server{tb, "http://" + l.Addr().String()}
}

// Run sends a message to a thread with POST /v1/runs and reads the stream to its end.
func (s *Server) Run(thread string) {
	s.tb.Helper()
	body, err := json.Marshal(map[string]any{"agent_id": "default", "thread_id": thread, "messages": []map[string]string{{"role": "user", "content": "hello"}}})
	if err != nil {
		s.tb.Fatal(err)
	}
	s.check(s.ask("POST", "/v1/runs", string(body)), `"event_type":"text_delta"`)
}

// Chat does the same with the AI SDK's protocol.
func (s *Server) Chat(thread string) {
	s.tb.Helper()
	body := fmt.Sprintf(`{"threadId":%q,"messages":[{"role":"user","parts":[{"type":"text","text":"hello"}]}]}`, thread)
	s.check(s.ask("POST", "/v1/ai-sdk/chat", body), `"text-delta"`)
}

// ChatAs does the same as a page: the message has an id.
func (s *Server) ChatAs(thread, id string) {
	s.tb.Helper()
	body := fmt.Sprintf(`{"id":%q,"messages":[{"id":%q,"role":"user","parts":[{"type":"text","text":"hello"}]}],"trigger":"submit-message"}`, thread, id)
	s.check(s.ask("POST", "/v1/ai-sdk/chat", body), `"text-delta"`)
}

// Agent does the same as an AG-UI client.
func (s *Server) Agent(thread, run, id string) {
	s.tb.Helper()
	body := fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[{"id":%q,"role":"user","content":"hello"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`, thread, run, id)
	s.check(s.ask("POST", "/v1/ag-ui/run", body), `"TEXT_MESSAGE_CONTENT"`)
}

// Page reads the last n messages of a thread.
func (s *Server) Page(thread string, n int) {
	s.tb.Helper()
	var page struct {
		Messages []json.RawMessage `json:"messages"`
	}
	data := s.ask("GET", fmt.Sprintf("/v1/threads/%s/messages?order=desc&limit=%d", thread, n), "")
	if err := json.Unmarshal(data, &page); err != nil || len(page.Messages) != n {
		s.tb.Fatalf("the page has %d messages, want %d: %v", len(page.Messages), n, err)
	}
}

func (s *Server) check(stream []byte, piece string) {
	s.tb.Helper()
	if n := bytes.Count(stream, []byte(piece)); n != Chunks {
		s.tb.Fatalf("the stream has %d pieces, want %d:\n%s", n, Chunks, stream)
	}
}

func (s *Server) ask(method, path, body string) []byte {
	s.tb.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.tb.Fatalf("%s %s: %s %s %v", method, path, resp.Status, data, err)
	}
	return data
}
