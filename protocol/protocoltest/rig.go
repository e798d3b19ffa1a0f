package protocoltest

import (
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
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/plugin/genui"
	"github.com/awaken-go/awaken/plugin/guard"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// Rig is one or several servers on an in-memory store, with the demo's scripted model.
//
// Its agents are default; slow, which answers [SlowText]; again, which calls ask on every message, and
// twice, which does so twice in each run, always with the id call_0; careful, whose every call needs
// permission; shared, which is like careful but lets any user have approvals remembered for all users;
// guarded_input and guarded_output, which hold every message or answer for approval; trusting, which
// lets clients instruct it; and boss, which delegates to again.
type Rig struct {
	TB    testing.TB
	DB    mailbox.Queue
	Model *Model
	Box   *mailbox.Mailbox // of the first server
	URL   string           // of the first server
	// Slow, if set, blocks the answer of slow after [FirstPieces] until it is closed.
	Slow <-chan struct{}

	routes  []protocol.Route
	profile profile.Store
}

// UserHeader is the header from which the servers of a rig take the user.
const UserHeader = "X-User"

// New returns a rig with one server that works on the queue.
func New(tb testing.TB, routes []protocol.Route) *Rig {
	tb.Helper()
	g := Idle(tb, routes)
	g.Box, g.URL = g.Start(true)
	return g
}

// Idle returns a rig without a server.
func Idle(tb testing.TB, routes []protocol.Route) *Rig {
	return &Rig{TB: tb, DB: memory.NewDB(), Model: &Model{Model: llmtest.Demo()}, routes: routes, profile: memory.NewProfile()}
}

// Model is the default model of the agents. A test can replace it and observe its requests.
type Model struct {
	llm.Model
	Asked chan *llm.Request // if set, receives every request first
}

func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	if m.Asked != nil {
		m.Asked <- req
	}
	return m.Model.Stream(ctx, req)
}

// Start starts a server on the rig's store, as another process would. If works is false, it answers
// requests but runs nothing.
func (g *Rig) Start(works bool) (*mailbox.Mailbox, string) {
	g.TB.Helper()
	box, err := mailbox.New(mailbox.Config{Queue: g.DB, Profile: func(string) profile.Store { return g.profile },
		Poll: 10 * time.Millisecond, Log: eventlog.Options{Poll: 5 * time.Millisecond}, Drain: 100 * time.Millisecond, Lease: time.Minute}, g.Runtime().With)
	if err != nil {
		g.TB.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Routes: g.routes, ManualMailbox: true, Users: server.Users{Header: UserHeader}})
	if err != nil {
		g.TB.Fatal(err)
	}
	ts := httptest.NewServer(srv.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if works {
			if err := box.Work(ctx); err != nil {
				g.TB.Errorf("work: %v", err)
			}
		}
	}()
	g.TB.Cleanup(func() {
		cancel()
		srv.Stop()
		<-done
		ts.CloseClientConnections()
		ts.Close()
	})
	return box, ts.URL
}

// Runtime returns the runtime of the rig's servers.
func (g *Rig) Runtime() *engine.Runtime {
	g.TB.Helper()
	cfg := engine.Config{Plugins: []awaken.Plugin{permission.New(permission.Config{}), guard.Rails(), delegate.New(delegate.Options{}), genui.New()}, Tools: tools(), Providers: map[string]llm.Model{}}
	model := func(id string, m llm.Model) {
		cfg.Models = append(cfg.Models, awaken.ModelSpec{ID: id, ProviderID: id, UpstreamModel: "m"})
		cfg.Providers[id] = m
	}
	agent := func(id, model, section string) *awaken.AgentSpec {
		a := &awaken.AgentSpec{ID: id, ModelID: model}
		if section != "" {
			a.PluginIDs, a.Sections = []string{permission.Name}, map[string]json.RawMessage{permission.Name: json.RawMessage(section)}
		}
		cfg.Agents = append(cfg.Agents, a)
		return a
	}
	model("m", g.Model)
	model("slow", slowly{g.Slow})
	model("again", says(Calls("ask", 1)))
	model("twice", says(Calls("ask", 2)))
	d := agent("default", "m", "")
	d.ToolExecutionMode, d.SystemPrompt = awaken.ParallelStreaming, "You are the "+llmtest.ScenarioMarker+"."
	agent("slow", "slow", "")
	agent("again", "again", "")
	agent("twice", "twice", "")
	agent("trusting", "m", "").TrustClients = new(true)
	agent("painter", "m", "").PluginIDs = []string{genui.Name}
	agent("careful", "m", `{"default_behavior":"ask"}`)
	agent("lenient", "m", `{"default_behavior":"allow"}`)
	agent("shared", "m", `{"default_behavior":"ask","remember":["project"]}`)
	for _, border := range []string{"input", "output"} {
		a := agent("guarded_"+border, "again", "")
		a.PluginIDs = []string{guard.Name}
		a.Sections = map[string]json.RawMessage{guard.Name: json.RawMessage(`{"rules":[{"name":"all","on":["` + border + `"],"pattern":".","action":"suspend"}]}`)}
	}
	model("boss", llmtest.NewScript(llmtest.Use("agent_run_again", `{"prompt":"go"}`), llmtest.Say("all done")))
	agent("boss", "boss", "").Delegates = []string{"again"}
	rt, err := engine.New(cfg)
	if err != nil {
		g.TB.Fatal(err)
	}
	return rt
}

func says(turn func(*llm.Request) llmtest.Turn) llm.Model {
	return llmtest.NewRules(llmtest.Rule{Turn: turn})
}

// Calls returns a model turn that calls a tool n times in a row, always with the id call_0, and then
// says that it is done. It starts over on the next user message.
func Calls(tool string, times int) func(*llm.Request) llmtest.Turn {
	return func(r *llm.Request) llmtest.Turn {
		msgs := r.Messages.Slice()
		results := 0
		for i := len(msgs) - 1; i >= 0 && msgs[i].Role != llm.User; i-- {
			if msgs[i].Role == llm.ToolRole {
				results++
			}
		}
		if results >= times {
			return llmtest.Turn{Text: llmtest.Text{"done"}}
		}
		return llmtest.Turn{ToolCalls: []llmtest.Call{{ID: "call_0", Name: tool}}}
	}
}

// slowly is a model with a slow answer. If goOn is set, it sends only the first pieces until goOn is
// closed.
type slowly struct{ resume <-chan struct{} }

// FirstPieces is how many pieces of its answer slow sends before [Rig.Slow] is closed.
const FirstPieces = 8

func (s slowly) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		said := 0
		for d, err := range slowAnswer.Stream(ctx, req) {
			if d.Kind == llm.TextDelta {
				said++
			}
			if s.resume != nil && said > FirstPieces {
				select {
				case <-s.resume:
				case <-ctx.Done():
				}
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

var slowAnswer = llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{SlowText}, Chunk: 5, DelayMS: 4}).Loop()

// SlowText is the answer of slow.
const SlowText = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"

func tools() []awaken.Tool {
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
		for kind, content := range map[string]any{"custom:greeting": map[string]int{"n": in.N}, "raw:elsewhere": []int{in.N}, "note": "just a text"} {
			if err := c.Activity(kind, content); err != nil {
				return "", err
			}
		}
		return "said it all", nil
	}
	// form suspends with the response schema that its arguments name.
	form := func(_ context.Context, c *awaken.ToolCall, in struct {
		Schema json.RawMessage   `json:"schema,omitempty"`
		Mode   awaken.ResumeMode `json:"mode,omitempty"`
	}) (string, error) {
		if c.Resume != nil {
			return "made with " + string(c.Resume.Result), nil
		}
		return "", awaken.Suspend(awaken.Ticket{ResumeMode: in.Mode, Suspension: awaken.Suspension{Action: "tool:form", Message: "How?", ResponseSchema: in.Schema}})
	}
	props := func(_ context.Context, c *awaken.ToolCall, _ struct{}) (map[string]json.RawMessage, error) {
		return map[string]json.RawMessage{"props": builtin.ClientProps.Get(c), "state": builtin.ClientState.Get(c)}, nil
	}
	return []awaken.Tool{
		awaken.NewTool(awaken.ToolSpec{ID: "ask"}, ask),
		awaken.NewTool(awaken.ToolSpec{ID: "delete_file"}, ask),
		awaken.NewTool(awaken.ToolSpec{ID: "form", Parameters: json.RawMessage(`{"type":"object"}`)}, form),
		awaken.NewTool(awaken.ToolSpec{ID: "talk", Effect: awaken.ReadOnly}, talk),
		awaken.NewTool(awaken.ToolSpec{ID: "props", Effect: awaken.ReadOnly}, props),
		awaken.NewTool(awaken.ToolSpec{ID: "fail", Effect: awaken.ReadOnly}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "", errors.New("no") }),
		awaken.NewTool(awaken.ToolSpec{ID: "lose", Effect: awaken.Effectful}, func(context.Context, *awaken.ToolCall, struct{}) (*awaken.ToolResult, error) {
			return awaken.InDoubtResult("the connection was lost, and whether it took effect is not known"), nil
		}),
		awaken.FrontendTool(awaken.ToolSpec{ID: "where", Parameters: json.RawMessage(`{"type":"object"}`)}),
	}
}

// Send sends a request. Headers are alternating names and values.
func (g *Rig) Send(method, url, body string, headers ...string) *http.Response {
	g.TB.Helper()
	req, err := http.NewRequestWithContext(g.TB.Context(), method, url, strings.NewReader(body))
	if err != nil {
		g.TB.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.TB.Fatal(err)
	}
	return resp
}

// Ask sends a request and returns the status and the body of the response.
func (g *Rig) Ask(method, url, body string, headers ...string) (int, string) {
	g.TB.Helper()
	resp := g.Send(method, url, body, headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		g.TB.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// Open returns the open run of a thread, or nil.
func (g *Rig) Open(thread string) *awaken.Run {
	g.TB.Helper()
	store := g.Box.Tenant("").Store
	th, err := store.Thread(g.TB.Context(), thread)
	if err != nil {
		g.TB.Fatal(err)
	}
	if th.OpenRunID == "" {
		return nil
	}
	run, err := store.LoadRun(g.TB.Context(), th.OpenRunID)
	if err != nil {
		g.TB.Fatal(err)
	}
	return run
}

// ReadAll reads a response, even if it breaks off.
func ReadAll(resp *http.Response) string {
	data, _ := io.ReadAll(resp.Body) // an error only means that it broke off
	return string(data)
}
