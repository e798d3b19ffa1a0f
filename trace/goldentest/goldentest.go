// Package goldentest makes a test of a recorded run: a file with the agent, what it was told, what its model answered and its tools returned, and
// what the run asked its model, called and answered.
//
//	awaken trace export RUN --as-test=go -o agents/support
//
// writes the file and a test that plays it, offline:
//
//	func TestRun(t *testing.T) { goldentest.Test(t, "testdata/run.txtar") }
//
// The real engine runs the agent. It fails if a request to the model is not the one of the file, because the prompt, a tool or a parameter has
// changed, or if calls or the answer are others. The file is a txtar archive that people can read and edit:
//
//	agent.json      the agent; [With] replaces it by one of your program
//	tools.json      the tools that it is offered, as the model sees them
//	input.json      the conversation before the run, and its input
//	cassette.jsonl  what the model answers, a turn on each line
//	results.jsonl   what calls return, in their order
//	requests.jsonl  what the model is asked
//	calls.jsonl     the calls
//	answer.json     the last answer
//
// Plugins of the agent and agents that it delegates to are not part of the test: calls have recorded results, whatever their tool is.
package goldentest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/trace"
)

// ErrUnfit is the error of a run of which no test can be made.
var ErrUnfit = errors.New("no test can be made of the run")

// TB is the part of testing.TB that a test needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// scene is what a file holds.
type scene struct {
	agent    *awaken.AgentSpec
	tools    []awaken.ToolSpec
	input    []*llm.Message
	override *awaken.InferenceOverride
	turns    []llmtest.Turn
	results  []result
}

// result is what a call returns.
type result struct {
	CallID string             `json:"call_id"`
	Tool   string             `json:"tool"`
	Result *awaken.ToolResult `json:"result"`
}

// played is what a run did.
type played struct {
	requests, calls, answer string
}

// Export returns the file of a run. Spec is its agent, and tools what the agent is offered.
func Export(ctx context.Context, rec *trace.Recording, spec *awaken.AgentSpec, tools []awaken.ToolSpec) ([]byte, error) {
	s, err := read(rec, spec, tools)
	if err != nil {
		return nil, err
	}
	p, err := s.play(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	a := &txtar.Archive{Comment: fmt.Appendf(nil, "Run %s of agent %s, version %s. See package trace/goldentest.\n", rec.Run.RunID, rec.Run.AgentID, rec.Run.ResolutionID)}
	for _, f := range []struct {
		name string
		v    any
	}{{"agent.json", s.agent}, {"tools.json", s.tools}, {"input.json", s.input}, {"parameters.json", s.override}} {
		data, err := json.MarshalIndent(f.v, "", "  ")
		if err != nil {
			return nil, err
		}
		a.Files = append(a.Files, txtar.File{Name: f.name, Data: append(data, '\n')})
	}
	cassette, err := lines(s.turns)
	if err != nil {
		return nil, err
	}
	results, err := lines(s.results)
	if err != nil {
		return nil, err
	}
	for _, f := range [][2]string{{"cassette.jsonl", cassette}, {"results.jsonl", results}, {"requests.jsonl", p.requests}, {"calls.jsonl", p.calls}, {"answer.json", p.answer + "\n"}} {
		a.Files = append(a.Files, txtar.File{Name: f[0], Data: []byte(f[1])})
	}
	return txtar.Format(a), nil
}

// read takes what a scene needs from a recording.
func read(rec *trace.Recording, spec *awaken.AgentSpec, tools []awaken.ToolSpec) (*scene, error) {
	run := rec.Run
	if run.Status != awaken.RunDone || run.Termination.Type == awaken.Failed || run.Termination.Type == awaken.Cancelled || run.Call != nil {
		return nil, fmt.Errorf("%w: it is %s %s, want one that a model has brought to its end", ErrUnfit, run.Status, run.Termination)
	}
	own := *spec
	own.PluginIDs, own.Sections, own.Delegates, own.ModelID = nil, nil, nil, scripted
	own.AllowedTools, own.ExcludedTools = nil, nil // the file has those that it is offered
	s := &scene{agent: &own, tools: tools, override: run.Overrides}
	for _, m := range slices.Concat(rec.Before, rec.Input) {
		if md := m.Metadata; md != nil && (md.Rewind != nil || md.Compaction != nil) {
			return nil, fmt.Errorf("%w: its conversation was rewritten", ErrUnfit)
		}
		c := *m
		c.Metadata = nil
		s.input = append(s.input, &c)
	}
	for _, r := range rec.Messages {
		if r.Message.Role == llm.User && !r.Message.IsInternal() {
			return nil, fmt.Errorf("%w: a message arrived while it ran", ErrUnfit)
		}
	}
	for i := range rec.Turns {
		t := &rec.Turns[i]
		if !t.Answered {
			return nil, fmt.Errorf("%w: the model has not answered in step %d", ErrUnfit, t.Step)
		}
		turn := llmtest.Turn{Finish: t.Finish, Usage: t.Usage}
		if t.Reasoning != "" {
			turn.Reasoning = llmtest.Text{t.Reasoning}
		}
		if t.Text != "" {
			turn.Text = llmtest.Text{t.Text}
		}
		for _, c := range t.ToolCalls {
			turn.ToolCalls = append(turn.ToolCalls, llmtest.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		s.turns = append(s.turns, turn)
	}
	for _, c := range rec.Calls {
		if c.Result != nil && !c.IsHeld() {
			res := *c.Result
			res.ToolName = ""
			s.results = append(s.results, result{c.CallID, c.ToolName, &res})
			if !slices.ContainsFunc(tools, func(t awaken.ToolSpec) bool { return t.ID == c.ToolName }) {
				s.tools = append(s.tools, awaken.ToolSpec{ID: c.ToolName, Description: "recorded", Parameters: json.RawMessage(`{"type":"object"}`)})
			}
		}
	}
	return s, nil
}

// scripted is the model and its provider.
const scripted = "scripted"

// play runs the agent.
func (s *scene) play(ctx context.Context) (*played, error) {
	model := llmtest.NewScript(s.turns...).Record()
	var tools []awaken.Tool
	var made calls
	for _, spec := range s.tools {
		spec.Effect = awaken.ReadOnly // nothing happens
		tools = append(tools, &recorded{spec, s.results, &made})
	}
	var ids atomic.Int64
	var seen ledger
	rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{s.agent}, Models: []awaken.ModelSpec{{ID: scripted, ProviderID: scripted, UpstreamModel: scripted}},
		Providers: map[string]llm.Model{scripted: model}, Tools: tools, Now: func() time.Time { return time.UnixMilli(946684800000) },
		NewID: func() string { return fmt.Sprint("id-", ids.Add(1)) }})
	if err != nil {
		return nil, err
	}
	res, err := rt.Run(ctx, awaken.RunRequest{AgentID: s.agent.ID, ThreadID: "t", Messages: s.input, Overrides: s.override}, &seen)
	if err != nil {
		return nil, err
	}
	if left := len(s.turns) - model.Calls(); left > 0 {
		return nil, fmt.Errorf("%d answers of the model are left over", left)
	}
	answer, err := json.Marshal(res.Response)
	if err != nil {
		return nil, err
	}
	p := &played{answer: string(answer)}
	if p.requests, err = requestLines(model.Requests()); err != nil {
		return nil, err
	}
	p.calls, err = lines(seen.calls)
	return p, err
}

// ledger is a sink that notes the calls of a run, in the order of the model's.
type ledger struct {
	calls []madeCall
}

type madeCall struct {
	id        string
	Tool      string            `json:"tool"`
	Arguments json.RawMessage   `json:"arguments"`
	Status    awaken.CallStatus `json:"status"`
}

// Emit notes calls and their outcomes.
func (l *ledger) Emit(_ context.Context, e awaken.Entry) error {
	switch ev := e.Event.(type) {
	case *awaken.ToolCallReady:
		l.calls = append(l.calls, madeCall{ev.ID, ev.Name, slices.Clone(ev.Arguments), awaken.CallNew})
	case *awaken.ToolCallDone:
		for i := range l.calls {
			if l.calls[i].id == ev.ID {
				l.calls[i].Status = ev.Outcome
			}
		}
	}
	return nil
}

// requestLines returns what a model was asked, one request on each line.
func requestLines(list []*llmtest.Captured) (string, error) {
	type said struct {
		Role      llm.Role       `json:"role"`
		Text      string         `json:"text,omitempty"`
		ToolCalls []llm.ToolCall `json:"tool_calls,omitempty"`
		CallID    string         `json:"tool_call_id,omitempty"`
	}
	type request struct {
		System      string   `json:"system"`
		Tools       []string `json:"tools"`
		Temperature *float64 `json:"temperature,omitempty"`
		TopP        *float64 `json:"top_p,omitempty"`
		MaxTokens   *int     `json:"max_tokens,omitempty"`
		Messages    []said   `json:"messages"`
	}
	var out []request
	for _, c := range list {
		r := request{System: c.System, Tools: c.Tools, Temperature: c.Params.Temperature, TopP: c.Params.TopP, MaxTokens: c.Params.MaxTokens}
		for _, m := range c.Messages {
			r.Messages = append(r.Messages, said{m.Role, m.Text(), m.ToolCalls, m.ToolCallID})
		}
		out = append(out, r)
	}
	return lines(out)
}

// calls counts the calls that were made.
type calls struct {
	mu   sync.Mutex
	made map[string]bool
}

// recorded is a tool that returns what it returned.
type recorded struct {
	spec    awaken.ToolSpec
	results []result
	calls   *calls
}

func (r *recorded) Spec() awaken.ToolSpec { return r.spec }

// Call returns the result of the call with the same id, or else the first of the tool that was not used.
func (r *recorded) Call(_ context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	if r.calls.made == nil {
		r.calls.made = map[string]bool{}
	}
	for _, exact := range []bool{true, false} {
		for i := range r.results {
			x := &r.results[i]
			if x.Tool == r.spec.ID && !r.calls.made[x.CallID] && (!exact || x.CallID == call.ID) {
				r.calls.made[x.CallID] = true
				return x.Result, nil
			}
		}
	}
	return nil, fmt.Errorf("the file has no result of call %s", call.ID)
}

// lines returns values as JSON, one on each line.
func lines[T any](list []T) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return "", err
		}
	}
	return buf.String(), nil
}

// Option changes a test.
type Option func(s *scene)

// With replaces the agent of the file by one of the program that is tested. Its plugins and delegates are left out, as those of the file are.
func With(spec *awaken.AgentSpec) Option {
	return func(s *scene) {
		own := *spec
		own.PluginIDs, own.Sections, own.Delegates, own.ModelID = nil, nil, nil, scripted
		s.agent = &own
	}
}

// Test plays a file, and fails if the run is another one.
func Test(t TB, file string, options ...Option) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	s, want, err := parse(data)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
		return
	}
	for _, o := range options {
		o(s)
	}
	got, err := s.play(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", file, err)
		return
	}
	compare(t, file+": requests.jsonl", want.requests, got.requests)
	compare(t, file+": calls.jsonl", want.calls, got.calls)
	compare(t, file+": answer.json", want.answer, got.answer)
}

// parse reads a file.
func parse(data []byte) (*scene, *played, error) {
	s, want := &scene{}, &played{}
	for _, f := range txtar.Parse(data).Files {
		var err error
		switch f.Name {
		case "agent.json":
			err = json.Unmarshal(f.Data, &s.agent)
		case "tools.json":
			err = json.Unmarshal(f.Data, &s.tools)
		case "input.json":
			err = json.Unmarshal(f.Data, &s.input)
		case "parameters.json":
			err = json.Unmarshal(f.Data, &s.override)
		case "cassette.jsonl":
			s.turns, err = llmtest.ParseScript(bytes.NewReader(f.Data))
		case "results.jsonl":
			for line := range bytes.Lines(f.Data) {
				var r result
				if err = json.Unmarshal(line, &r); err != nil {
					break
				}
				s.results = append(s.results, r)
			}
		case "requests.jsonl":
			want.requests = string(f.Data)
		case "calls.jsonl":
			want.calls = string(f.Data)
		case "answer.json":
			want.answer = strings.TrimSuffix(string(f.Data), "\n")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if s.agent == nil || len(s.turns) == 0 {
		return nil, nil, errors.New("agent.json and cassette.jsonl are missing, want the file of awaken trace export --as-test")
	}
	return s, want, nil
}

// compare reports the first line that differs.
func compare(t TB, what, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Errorf("%s, line %d: the file has\n%s\nand the run\n%s", what, i+1, a, b)
			return
		}
	}
}
