package aisdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/plugin/guard"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

// rig is one or several servers on a store in memory, with the demo's scripted model.
type rig struct {
	tb   testing.TB
	db   mailbox.Queue
	slow slowly
	box  *mailbox.Mailbox
	url  string
}

func newRig(tb testing.TB) *rig { return newRigWith(tb, slowly{}) }

// newRigWith returns a rig whose slow agent has a model of the test's.
func newRigWith(tb testing.TB, slow slowly) *rig {
	tb.Helper()
	g := &rig{tb: tb, db: memory.NewDB(), slow: slow}
	g.box, g.url = g.start(true)
	return g
}

// start starts a server on the rig's store, as another process would. One that does not
// work only answers.
func (g *rig) start(works bool) (*mailbox.Mailbox, string) {
	g.tb.Helper()
	box, err := mailbox.New(mailbox.Config{Queue: g.db, Runtime: newRuntime(g.tb, g.slow), Poll: 10 * time.Millisecond, Log: eventlog.Options{Poll: 5 * time.Millisecond}, Drain: 100 * time.Millisecond, Lease: time.Minute})
	if err != nil {
		g.tb.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Routes: aisdk.Routes(), ManualMailbox: true})
	if err != nil {
		g.tb.Fatal(err)
	}
	ts := httptest.NewServer(srv.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if works {
			if err := box.Work(ctx); err != nil {
				g.tb.Errorf("work: %v", err)
			}
		}
	}()
	g.tb.Cleanup(func() {
		cancel()
		srv.Stop()
		<-done
		ts.CloseClientConnections()
		ts.Close()
	})
	return box, ts.URL
}

func newRuntime(tb testing.TB, slow slowly) *awaken.Runtime {
	tb.Helper()
	ask := func(ctx context.Context, c *awaken.ToolCall, in struct {
		Path string `json:"path,omitempty"`
	}) (map[string]string, error) {
		if c.Resume != nil {
			return map[string]string{"did": in.Path}, nil
		}
		return nil, awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "tool:ask", Message: "May I?"}})
	}
	talk := func(ctx context.Context, c *awaken.ToolCall, in struct {
		N int `json:"n,omitempty"`
	}) (string, error) {
		for i := range in.N {
			c.Output(fmt.Sprintf("line %d\n", i))
		}
		return "said it all", nil
	}
	// form asks for an answer of the form that its arguments name.
	form := func(ctx context.Context, c *awaken.ToolCall, in struct {
		Schema json.RawMessage   `json:"schema,omitempty"`
		Mode   awaken.ResumeMode `json:"mode,omitempty"`
	}) (string, error) {
		if c.Resume != nil {
			return "made with " + string(c.Resume.Result), nil
		}
		return "", awaken.Suspend(awaken.Ticket{ResumeMode: in.Mode, Suspension: awaken.Suspension{Action: "tool:form", Message: "How?", ResponseSchema: in.Schema}})
	}
	// again calls a tool whenever it is spoken to, always with the same id.
	again := func(r *llm.Request) llmtest.Turn {
		if msgs := r.Messages.Slice(); msgs[len(msgs)-1].Role == llm.ToolRole {
			return llmtest.Turn{Text: llmtest.Text{"done"}}
		}
		return llmtest.Turn{ToolCalls: []llmtest.Call{{ID: "call_0", Name: "ask"}}}
	}
	rt, err := awaken.New(awaken.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", ToolExecutionMode: awaken.ParallelStreaming,
			SystemPrompt: "You are the " + llmtest.ScenarioMarker + "."}, {ID: "slow", ModelID: "slow"}, {ID: "again", ModelID: "again"},
			{ID: "careful", ModelID: "m", PluginIDs: []string{"permission"}, Sections: map[string]json.RawMessage{"permission": json.RawMessage(`{"default_behavior":"ask"}`)}},
			guarded("input"), guarded("output"), {ID: "boss", ModelID: "boss", Delegates: []string{"again"}}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}, {ID: "slow", ProviderID: "slow", UpstreamModel: "m"}, {ID: "again", ProviderID: "again", UpstreamModel: "m"},
			{ID: "boss", ProviderID: "boss", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": llmtest.Demo(), "slow": slow,
			"again": llmtest.NewRules(llmtest.Rule{Turn: again}), "boss": llmtest.NewScript(llmtest.Use("agent_run_again", `{"prompt":"go"}`), llmtest.Say("all done"))},
		Plugins: []awaken.Plugin{permission.New(permission.Config{}), guard.Rails(), delegate.New(delegate.Options{})},
		Tools: []awaken.Tool{
			awaken.NewTool(awaken.ToolSpec{ID: "ask"}, ask),
			awaken.NewTool(awaken.ToolSpec{ID: "delete_file"}, ask),
			awaken.NewTool(awaken.ToolSpec{ID: "form", Parameters: json.RawMessage(`{"type":"object"}`)}, form),
			awaken.NewTool(awaken.ToolSpec{ID: "talk", Effect: awaken.ReadOnly}, talk),
			awaken.NewTool(awaken.ToolSpec{ID: "fail", Effect: awaken.ReadOnly}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "", errors.New("no") }),
			awaken.FrontendTool(awaken.ToolSpec{ID: "where", Parameters: json.RawMessage(`{"type":"object"}`)}),
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

// guarded is an agent that puts everything at a border to a person.
func guarded(border string) *awaken.AgentSpec {
	return &awaken.AgentSpec{ID: "guarded_" + border, ModelID: "again", PluginIDs: []string{guard.Name},
		Sections: map[string]json.RawMessage{guard.Name: json.RawMessage(`{"rules":[{"name":"all","on":["` + border + `"],"pattern":".","action":"suspend"}]}`)}}
}

// slowly is a model whose answer takes a while. It says no more than the first pieces
// before goOn is closed, if that is set.
type slowly struct{ goOn <-chan struct{} }

const firstPieces = 8

func (s slowly) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		said := 0
		for d, err := range slowAnswer.Stream(ctx, req) {
			if d.Kind == llm.TextDelta {
				said++
			}
			if s.goOn != nil && said > firstPieces {
				select {
				case <-s.goOn:
				case <-ctx.Done():
				}
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

var slowAnswer = llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{slowText}, Chunk: 5, DelayMS: 4}).Loop()

const slowText = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"

// post sends a request to the chat, and returns the answer.
func (g *rig) post(url, body string) (int, string) {
	g.tb.Helper()
	resp, err := http.Post(url+"/v1/ai-sdk/chat", "application/json", strings.NewReader(body))
	if err != nil {
		g.tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		g.tb.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// say says something in a chat, and returns the chunks of the answer.
func (g *rig) say(thread, text string) []chunk {
	g.tb.Helper()
	status, body := g.post(g.url, fmt.Sprintf(`{"id":%q,"messages":[{"role":"user","parts":[{"type":"text","text":%q}]}]}`, thread, text))
	if status != 200 {
		g.tb.Fatalf("%d: %s", status, body)
	}
	return chunksOf(g.tb, body)
}

// get returns what a path answers.
func (g *rig) get(url, path, lastEventID string) (int, string) {
	g.tb.Helper()
	req, err := http.NewRequestWithContext(g.tb.Context(), http.MethodGet, url+path, nil)
	if err != nil {
		g.tb.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		g.tb.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// chunk is a chunk of a stream.
type chunk map[string]any

func (c chunk) kind() string { return c["type"].(string) }

// chunksOf reads a stream, which has to end with [DONE].
func chunksOf(tb testing.TB, body string) (out []chunk) {
	tb.Helper()
	done := false
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if !ok {
			continue
		}
		if done {
			tb.Fatalf("something comes after [DONE]: %s", data)
		}
		if done = data == "[DONE]"; done {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			tb.Fatalf("%v: %s", err, data)
		}
		out = append(out, c)
	}
	if !done {
		tb.Fatalf("the stream does not end with [DONE]: %s", body)
	}
	return out
}

func kinds(list []chunk) (out []string) {
	for _, c := range list {
		out = append(out, c.kind())
	}
	return out
}

func find(list []chunk, kind string) chunk {
	for _, c := range list {
		if c.kind() == kind {
			return c
		}
	}
	return nil
}

// history returns the messages of a chat.
func (g *rig) history(url, thread string) (out struct {
	Messages []struct {
		ID, Role string
		Parts    []chunk
		Metadata map[string]any
	}
	Total       int
	ActiveRunID string
}) {
	g.tb.Helper()
	status, body := g.get(url, "/v1/ai-sdk/threads/"+thread+"/messages", "")
	if status != 200 {
		g.tb.Fatalf("%d: %s", status, body)
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&out); err != nil {
		g.tb.Fatal(err)
	}
	return out
}
