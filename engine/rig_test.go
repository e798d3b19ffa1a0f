package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// rig is a runtime around a scripted model and a store in memory, with one agent
// called default.
type rig struct {
	t     *testing.T
	cfg   engine.Config
	rt    *engine.Runtime
	store *memory.Store
	model *llmtest.Script
}

// option changes what a rig is made of.
type option func(*engine.Config)

// newRig returns a rig whose model plays turns.
func newRig(t *testing.T, turns []llmtest.Turn, opts ...option) *rig {
	t.Helper()
	g := &rig{t: t, store: memory.New(), model: llmtest.NewScript(turns...).Record()}
	g.cfg = engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", SystemPrompt: "Be good."}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "upstream"}},
		Providers: map[string]llm.Model{"p": g.model},
		Store:     g.store,
		NewID:     counter("id-"),
	}
	for _, o := range opts {
		o(&g.cfg)
	}
	for _, a := range g.cfg.Agents {
		once(a)
	}
	g.rt = mustNew(t, g.cfg)
	return g
}

// once lets an agent ask its model once, unless it says otherwise: what a test is about
// is then what happens.
func once(a *awaken.AgentSpec) {
	if a.Sections["retry"] != nil {
		return
	}
	if a.Sections == nil {
		a.Sections = map[string]json.RawMessage{}
	}
	a.Sections["retry"] = json.RawMessage(`{"max_retries":0,"max_stream_retries":0}`)
}

func mustNew(t *testing.T, cfg engine.Config) *engine.Runtime {
	t.Helper()
	rt, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func counter(prefix string) func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprint(prefix, n.Add(1)) }
}

// restart gives the rig a new runtime on the same store, as another process would have.
func (g *rig) restart() {
	g.t.Helper()
	g.cfg.NewID = counter("again-")
	g.rt = mustNew(g.t, g.cfg)
}

// Options.

func withAgent(change func(*awaken.AgentSpec)) option {
	return func(c *engine.Config) { change(c.Agents[0]) }
}

func withTools(tools ...awaken.Tool) option {
	return func(c *engine.Config) { c.Tools = append(c.Tools, tools...) }
}

// withPlugins adds plugins and lets the default agent load them.
func withPlugins(plugins ...awaken.Plugin) option {
	return func(c *engine.Config) {
		for _, p := range plugins {
			c.Plugins = append(c.Plugins, p)
			c.Agents[0].PluginIDs = append(c.Agents[0].PluginIDs, p.Name())
		}
	}
}

func withMode(m awaken.ExecutionMode) option {
	return withAgent(func(s *awaken.AgentSpec) { s.ToolExecutionMode = m })
}

func withStore(wrap func(awaken.Store) awaken.Store) option {
	return func(c *engine.Config) { c.Store = wrap(c.Store) }
}

// plug is a plugin made of a name and a function.
type plug struct {
	name     string
	register func(r *awaken.Registrar)
}

func (p plug) Name() string { return p.name }

func (p plug) Register(r *awaken.Registrar) error {
	p.register(r)
	return nil
}

// at returns a plugin that calls h at one phase.
func at(p awaken.Phase, h awaken.Hook) plug {
	return plug{"at-" + p.String(), func(r *awaken.Registrar) { r.On(p, h) }}
}

// gate returns a plugin of one gate.
func gate(g awaken.Gate) plug {
	return plug{"gate", func(r *awaken.Registrar) { r.Gate(g) }}
}

// askAbout is a gate that suspends the calls of one tool.
func askAbout(tool string, ticket awaken.Ticket) plug {
	return gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		if h.Tool.Tool == tool {
			return awaken.SuspendCall(ticket), nil
		}
		return awaken.Allow(), nil
	})
}

type args map[string]any

// tool returns a tool that takes any object.
func tool(id string, fn func(ctx context.Context, c *awaken.ToolCall, in args) (*awaken.ToolResult, error)) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: id}, fn)
}

// echo returns a tool that says its name and its arguments.
func echo(id string) awaken.Tool {
	return tool(id, func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		return awaken.TextResult(id + " " + string(c.Args)), nil
	})
}

// uses is a turn that asks for several tools. The nth call is called c<n>.
func uses(names ...string) llmtest.Turn {
	var turn llmtest.Turn
	for i, name := range names {
		turn.ToolCalls = append(turn.ToolCalls, llmtest.Call{ID: fmt.Sprintf("c%d", i+1), Name: name})
	}
	return turn
}

// Running.

// tape is a sink that keeps what it gets.
type tape struct {
	entries []awaken.Entry
	on      func(awaken.Event) // called for each event, if set
}

func (p *tape) Emit(_ context.Context, e awaken.Entry) error {
	p.entries = append(p.entries, e)
	if p.on != nil {
		p.on(e.Event)
	}
	return nil
}

// types lists the events' types.
func (p *tape) types() []string {
	out := make([]string, len(p.entries))
	for i, e := range p.entries {
		out[i] = e.Event.Type()
	}
	return out
}

// text is the text the model streamed.
func (p *tape) text() string {
	var sb strings.Builder
	for _, d := range eventsOf[awaken.TextDelta](p) {
		sb.WriteString(d.Delta)
	}
	return sb.String()
}

// eventsOf returns the events of one type.
func eventsOf[E any](p *tape) []*E {
	var out []*E
	for _, e := range p.entries {
		if ev, ok := any(e.Event).(*E); ok {
			out = append(out, ev)
		}
	}
	return out
}

func say(text string) awaken.RunRequest {
	return awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText(text)}}
}

// run runs a request that must not fail.
func (g *rig) run(req awaken.RunRequest) (*awaken.RunResult, *tape) {
	g.t.Helper()
	p := &tape{}
	res, err := g.rt.Run(g.t.Context(), req, p)
	if err != nil {
		g.t.Fatalf("run: %v", err)
	}
	return res, p
}

func (g *rig) resume(runID string, ds ...awaken.Decision) (*awaken.RunResult, *tape) {
	g.t.Helper()
	p := &tape{}
	res, err := g.rt.Resume(g.t.Context(), runID, p, ds...)
	if err != nil {
		g.t.Fatalf("resume: %v", err)
	}
	return res, p
}

func approve(target string) awaken.Decision {
	return awaken.Decision{Target: target, ID: "d-" + target, Action: awaken.ActionResume}
}

// Looking.

// log returns the messages stored on a thread.
func (g *rig) log(threadID string) []*llm.Message {
	g.t.Helper()
	recs, err := g.store.Messages(context.Background(), threadID, awaken.MessageQuery{})
	if err != nil {
		g.t.Fatal(err)
	}
	out := make([]*llm.Message, len(recs))
	for i, r := range recs {
		out[i] = r.Message
	}
	return out
}

// record returns the stored record of a run.
func (g *rig) record(runID string) *awaken.Run {
	g.t.Helper()
	run, err := g.store.LoadRun(context.Background(), runID)
	if err != nil {
		g.t.Fatal(err)
	}
	return run
}

// calls returns the ledger of a run.
func (g *rig) calls(runID string) []*awaken.CallState {
	g.t.Helper()
	calls, err := g.store.Calls(context.Background(), runID)
	if err != nil {
		g.t.Fatal(err)
	}
	return calls
}

// request returns what the model was asked, the nth time from 1.
func (g *rig) request(n int) *llmtest.Captured {
	g.t.Helper()
	reqs := g.model.Requests()
	if n > len(reqs) {
		g.t.Fatalf("the model was asked %d times, want at least %d", len(reqs), n)
	}
	return reqs[n-1]
}

// outline writes messages one a line: role, text, calls, the call that is answered.
func outline(msgs []*llm.Message) []string {
	out := make([]string, len(msgs))
	for i, m := range msgs {
		s := string(m.Role)
		if m.IsInternal() {
			s += "(internal)"
		}
		if m.ToolCallID != "" {
			s += " to " + m.ToolCallID
		}
		if t := m.Text(); t != "" {
			s += ": " + t
		}
		for _, c := range m.ToolCalls {
			s += " -> " + c.Name + "#" + c.ID
		}
		out[i] = s
	}
	return out
}

// checkValid checks that messages are what strict providers accept: every call is
// answered once, right after its message and in order, and nothing else is answered.
func checkValid(t testing.TB, msgs []*llm.Message) {
	t.Helper()
	for i := 0; i < len(msgs); {
		m := msgs[i]
		i++
		if m.Role == llm.ToolRole {
			t.Errorf("message %d answers %q, which nothing before it asked for:\n%s", i-1, m.ToolCallID, strings.Join(outline(msgs), "\n"))
			continue
		}
		for _, c := range m.ToolCalls {
			if i >= len(msgs) || msgs[i].Role != llm.ToolRole || msgs[i].ToolCallID != c.ID || msgs[i].IsInternal() {
				t.Errorf("call %q is not answered in its place:\n%s", c.ID, strings.Join(outline(msgs), "\n"))
				break
			}
			i++
		}
	}
}

// checkBalanced checks the shape that every activation's events have: run_start
// first, exactly one run_finish last, and each step closed before the next.
func checkBalanced(t testing.TB, p *tape) {
	t.Helper()
	types := p.types()
	if len(types) == 0 || types[0] != "run_start" || types[len(types)-1] != "run_finish" {
		t.Errorf("events do not go from run_start to run_finish: %q", types)
	}
	steps, finishes := 0, 0
	for _, ty := range types {
		switch ty {
		case "step_start":
			steps++
		case "step_end":
			steps--
		case "run_finish":
			finishes++
		}
		if steps < 0 || steps > 1 {
			break
		}
	}
	if steps != 0 {
		t.Errorf("step_start and step_end do not pair up: %q", types)
	}
	if finishes != 1 {
		t.Errorf("%d run_finish, want 1: %q", finishes, types)
	}
	for i := range p.entries[1:] {
		if p.entries[i+1].Seq != p.entries[i].Seq+1 {
			t.Errorf("event %d has number %d after %d", i+1, p.entries[i+1].Seq, p.entries[i].Seq)
		}
	}
}

func checkTermination(t testing.TB, res *awaken.RunResult, p *tape, want awaken.TerminationType) {
	t.Helper()
	if res.Termination.Type != want {
		t.Errorf("the run ended with %s, want %s", res.Termination, want)
	}
	if p == nil {
		return
	}
	fin := eventsOf[awaken.RunFinish](p)
	if len(fin) == 0 || fin[len(fin)-1].Termination != res.Termination {
		t.Errorf("run_finish does not say %s: %+v", res.Termination, fin)
	}
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// count returns how often s is in list.
func count(list []string, s string) int {
	n := 0
	for _, v := range list {
		if v == s {
			n++
		}
	}
	return n
}

// before checks that a comes before b in list, and that both are there.
func before(t testing.TB, list []string, a, b string) {
	t.Helper()
	i, j := slices.Index(list, a), slices.Index(list, b)
	if i < 0 || j < 0 || i > j {
		t.Errorf("%s does not come before %s: %q", a, b, list)
	}
}
