package agui_test

import (
	"context"
	"encoding/json"
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
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

// rig is one or several servers on a store in memory, with the demo's scripted model.
type rig struct {
	tb    testing.TB
	db    mailbox.Queue
	model *model
	slow  slowly
	box   *mailbox.Mailbox
	url   string
}

func newRig(tb testing.TB) *rig { return newRigWith(tb, slowly{}) }

// newRigWith returns a rig whose slow agent has a model of the test's.
func newRigWith(tb testing.TB, slow slowly) *rig {
	tb.Helper()
	g := &rig{tb: tb, db: memory.NewDB(), model: &model{Model: llmtest.Demo()}, slow: slow}
	g.box, g.url = g.start(true)
	return g
}

// model remembers what it was last asked.
type model struct {
	llm.Model
	asked chan *llm.Request
}

func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	if m.asked != nil {
		m.asked <- req
	}
	return m.Model.Stream(ctx, req)
}

// start starts a server on the rig's store, as another process would. One that does not
// work only answers.
func (g *rig) start(works bool) (*mailbox.Mailbox, string) {
	g.tb.Helper()
	box, err := mailbox.New(mailbox.Config{Queue: g.db, Runtime: newRuntime(g.tb, g.model, g.slow), Poll: 10 * time.Millisecond, Log: eventlog.Options{Poll: 5 * time.Millisecond}, Drain: 100 * time.Millisecond, Lease: time.Minute})
	if err != nil {
		g.tb.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Routes: agui.Routes(), ManualMailbox: true})
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

func newRuntime(tb testing.TB, m llm.Model, slow slowly) *awaken.Runtime {
	tb.Helper()
	ask := func(_ context.Context, c *awaken.ToolCall, in struct {
		Path string            `json:"path,omitempty"`
		Mode awaken.ResumeMode `json:"mode,omitempty"`
	}) (map[string]string, error) {
		if c.Resume != nil {
			return map[string]string{"did": in.Path, "told": string(c.Resume.Result)}, nil
		}
		return nil, awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask", Message: "May I?"}, ResumeMode: in.Mode})
	}
	talk := func(_ context.Context, c *awaken.ToolCall, in struct {
		N int `json:"n,omitempty"`
	}) (string, error) {
		for i := range in.N {
			c.Output(fmt.Sprintf("line %d\n", i))
		}
		if err := c.Activity("custom:greeting", map[string]int{"n": in.N}); err != nil {
			return "", err
		}
		if err := c.Activity("raw:elsewhere", []int{in.N}); err != nil {
			return "", err
		}
		return "said it all", c.Activity("note", "just a text")
	}
	props := func(_ context.Context, c *awaken.ToolCall, _ struct{}) (map[string]json.RawMessage, error) {
		return map[string]json.RawMessage{"props": awaken.ClientProps.Get(c), "state": awaken.ClientState.Get(c)}, nil
	}
	rt, err := awaken.New(awaken.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", ToolExecutionMode: awaken.ParallelStreaming,
			SystemPrompt: "You are the " + llmtest.ScenarioMarker + "."}, {ID: "slow", ModelID: "slow"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}, {ID: "slow", ProviderID: "slow", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": m, "slow": slow},
		Tools: []awaken.Tool{
			awaken.NewTool(awaken.ToolSpec{ID: "ask"}, ask),
			awaken.NewTool(awaken.ToolSpec{ID: "talk", Effect: awaken.ReadOnly}, talk),
			awaken.NewTool(awaken.ToolSpec{ID: "props", Effect: awaken.ReadOnly}, props),
			awaken.FrontendTool(awaken.ToolSpec{ID: "where", Parameters: json.RawMessage(`{"type":"object"}`)}),
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rt
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

// send sends a request, with the id of the last frame it has, if it has one.
func (g *rig) send(method, url, body, lastEventID string) *http.Response {
	g.tb.Helper()
	req, err := http.NewRequestWithContext(g.tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		g.tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.tb.Fatal(err)
	}
	return resp
}

// post posts to a path below /v1/ag-ui, and returns the answer.
func (g *rig) post(url, path, body string) (int, string) {
	g.tb.Helper()
	resp := g.send(http.MethodPost, url+"/v1/ag-ui"+path, body, "")
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		g.tb.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// ask posts a run, which has to be accepted, and returns its events.
func (g *rig) ask(body string) []event {
	g.tb.Helper()
	status, got := g.post(g.url, "/run", body)
	if status != 200 {
		g.tb.Fatalf("%d: %s", status, got)
	}
	return eventsIn(g.tb, got)
}

// say says something on a thread.
func (g *rig) say(thread, text string) []event {
	g.tb.Helper()
	return g.ask(fmt.Sprintf(`{"threadId":%q,"protocolVersion":"1.0","messages":[{"role":"user","content":%q}]}`, thread, text))
}

type event map[string]any

func (e event) kind() string { return e["type"].(string) }

func eventsIn(tb testing.TB, body string) (out []event) {
	tb.Helper()
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			tb.Fatalf("%v: %s", err, data)
		}
		out = append(out, e)
	}
	return out
}

func kinds(list []event) (out []string) {
	for _, e := range list {
		out = append(out, e.kind())
	}
	return out
}

// find returns the only event of a type.
func find(tb testing.TB, list []event, kind string) event {
	tb.Helper()
	var found []event
	for _, e := range list {
		if e.kind() == kind {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		tb.Fatalf("%d %s in %v", len(found), kind, kinds(list))
	}
	return found[0]
}

// twoAsks asks two questions at once.
var twoAsks = llmtest.NewRules(llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn {
	return llmtest.Turn{ToolCalls: []llmtest.Call{{Name: "ask"}, {Name: "ask"}}}
}})
