package observe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// rig is a runtime whose agents are observed.
type rig struct {
	t      *testing.T
	spans  *tracetest.InMemoryExporter
	memory *observe.Memory
	rt     *engine.Runtime
}

// newRig returns a runtime with the agents default and helper, the tools read, fail, ask and work, and a model that follows a script.
func newRig(t *testing.T, section string, opts observe.Options, model llm.Model) *rig {
	t.Helper()
	g := &rig{t: t, spans: tracetest.NewInMemoryExporter(), memory: observe.NewMemory()}
	opts.Sinks = append(opts.Sinks, g.memory)
	opts.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(g.spans))
	type in struct {
		Path   string `json:"path,omitempty"`
		Secret string `json:"secret,omitempty"`
	}
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m", PluginIDs: []string{observe.Name}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{observe.Name: json.RawMessage(section)}
	}
	var err error
	g.rt, err = engine.New(engine.Config{
		Store:     memory.New(),
		Agents:    []*awaken.AgentSpec{spec, {ID: "helper", ModelID: "m", PluginIDs: []string{observe.Name}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": model},
		Plugins:   []awaken.Plugin{observe.New(opts)},
		Tools: []awaken.Tool{
			awaken.NewTool(awaken.ToolSpec{ID: "read", Effect: awaken.ReadOnly}, func(ctx context.Context, _ *awaken.ToolCall, in in) (map[string]any, error) {
				return map[string]any{"path": in.Path, "trace": tracecontext.Of(ctx).TraceID(), "token": "t0ken"}, nil
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "fail"}, func(context.Context, *awaken.ToolCall, in) (string, error) { return "", errors.New("no") }),
			awaken.NewTool(awaken.ToolSpec{ID: "doubt"}, func(context.Context, *awaken.ToolCall, in) (string, error) { return "", awaken.ErrInDoubt }),
			awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ in) (string, error) {
				if c.Resume != nil {
					return "thanks", nil
				}
				return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{ID: "s", Action: "tool:ask", Message: "may I?"}})
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "work", Effect: awaken.Idempotent}, func(ctx context.Context, c *awaken.ToolCall, _ in) (string, error) {
				return awaken.Step(ctx, c, "order", awaken.Idempotent, func(context.Context, string) (string, error) { return "done", nil })
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "agent_run_helper", Effect: awaken.Idempotent}, func(ctx context.Context, c *awaken.ToolCall, _ in) (string, error) {
				id := awaken.ChildID(c.Key)
				_, err := c.Host.Run(ctx, awaken.RunRequest{AgentID: "helper", ThreadID: id, RunID: id, ParentThreadID: c.Run.ThreadID, ParentRunID: c.Run.RunID, ParentToolCallID: c.ID,
					Origin: "subagent", Depth: 1, Attended: true, Messages: []*llm.Message{llm.UserText("help")}}, nil)
				return "helped", err
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "hand"}, func(_ context.Context, c *awaken.ToolCall, _ in) (string, error) {
				builtin.ActiveAgent.Update(c, "helper")
				return "ok", nil
			}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *rig) run(req awaken.RunRequest) (*awaken.RunResult, error) {
	g.t.Helper()
	if req.Continue == "" && len(req.Decisions) == 0 {
		req.Messages = []*llm.Message{llm.UserText("go")}
	}
	return g.rt.Run(g.t.Context(), req, nil)
}

// span returns the span with that name, and fails the test unless there is exactly one.
func (g *rig) span(name string) tracetest.SpanStub {
	g.t.Helper()
	var found []tracetest.SpanStub
	var names []string
	for _, s := range g.spans.GetSpans() {
		names = append(names, s.Name)
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		g.t.Fatalf("there are %d spans %q, want 1, in %q", len(found), name, names)
	}
	return found[0]
}

func attr(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if a.Key == attribute.Key(key) {
			return a.Value.String()
		}
	}
	return ""
}

// wellFormed fails the test unless every span has ended, in one trace if one is given, below a span that is there.
func (g *rig) wellFormed(traceID, outside string) {
	g.t.Helper()
	all := g.spans.GetSpans()
	known := map[string]bool{outside: true, "0000000000000000": true}
	for _, s := range all {
		known[s.SpanContext.SpanID().String()] = true
	}
	for _, s := range all {
		if traceID != "" && s.SpanContext.TraceID().String() != traceID {
			g.t.Errorf("span %q belongs to trace %s, want %s", s.Name, s.SpanContext.TraceID(), traceID)
		}
		if !known[s.Parent.SpanID().String()] {
			g.t.Errorf("the parent of span %q is unknown", s.Name)
		}
		if s.EndTime.Before(s.StartTime) || s.StartTime.IsZero() {
			g.t.Errorf("span %q lasts from %v to %v", s.Name, s.StartTime, s.EndTime)
		}
	}
}

func TestSpans_OfARunWithToolsAndADelegate(t *testing.T) {
	t.Parallel()
	g := newRig(t, "", observe.Options{}, llmtest.NewScript(llmtest.Use("read", `{"path":"a"}`), llmtest.Use("work", `{}`), llmtest.Use("agent_run_helper", `{}`), llmtest.Say("helped"), llmtest.Use("fail", `{}`), llmtest.Use("nothing", `{}`), llmtest.Say("ok")))
	res, err := g.run(awaken.RunRequest{Trace: parent})
	if err != nil {
		t.Fatal(err)
	}
	g.wellFormed("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
	root := g.span("invoke_agent default")
	if root.Parent.SpanID().String() != "b7ad6b7169203331" || attr(root, "awaken.run.id") != res.RunID || attr(root, "gen_ai.conversation.id") != res.ThreadID ||
		attr(root, "awaken.outcome") != "natural_end" || attr(root, "awaken.session.tool_failures") != "2" {
		t.Errorf("the span of the run is %+v", root)
	}
	step, tool := g.span("awaken.step 1"), g.span("execute_tool work")
	if step.Parent.SpanID() != root.SpanContext.SpanID() || tool.Parent.SpanID() != step.SpanContext.SpanID() {
		t.Error("a tool is not below its step, or a step not below its run")
	}
	if inner := g.span("awaken.tool_step order"); inner.Parent.SpanID() != tool.SpanContext.SpanID() {
		t.Error("the step of a tool is not below the tool")
	}
	child := g.span("invoke_agent helper")
	if child.Parent.SpanID() != g.span("awaken.delegation").SpanContext.SpanID() || attr(child, "awaken.parent_run.id") != res.RunID {
		t.Error("the run of a delegate is not below the call that began it")
	}
	if failed := g.span("execute_tool fail"); attr(failed, "error.type") != "tool_error" || failed.Status.Code != codes.Error {
		t.Errorf("the span of a call that failed is %+v", failed)
	}
	m := g.memory.Metrics()
	if len(m.Inferences) != 7 || m.ToolFailures() != 2 || len(m.Runs) != 2 || m.Others[0].Type != "delegation" || m.Others[0].Child.ChildAgentID != "helper" {
		t.Errorf("the memory has %d inferences, %d failures, %d runs and %+v", len(m.Inferences), m.ToolFailures(), len(m.Runs), m.Others)
	}
	if stats := m.ByModel(); len(stats) != 1 || stats[0].Model != "x" || stats[0].Provider != "p" || stats[0].Inferences != 7 {
		t.Errorf("the models are %+v", stats)
	}
	if stats := m.ByTool(); len(stats) != 5 || stats[1].Tool != "fail" || stats[1].Failures != 1 || stats[2].Tool != "nothing" || stats[2].Failures != 1 {
		t.Errorf("the tools are %+v", stats)
	}
}

// What a failed request, a retry and a cancelled run leave behind (L-60).
func TestSpans_FailuresAndCancelsEndWithTheirKind(t *testing.T) {
	t.Parallel()
	g := newRig(t, "", observe.Options{}, llmtest.NewScript(llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Unauthorized}}))
	if _, err := g.run(awaken.RunRequest{}); err == nil {
		t.Fatal("the run did not fail")
	}
	g.wellFormed("", "")
	for _, name := range []string{"chat x", "awaken.step 0", "invoke_agent default"} {
		if s := g.span(name); attr(s, "error.type") != string(llm.Unauthorized) || s.Status.Code != codes.Error {
			t.Errorf("the span %q has error.type %q", name, attr(s, "error.type"))
		}
	}
	if s := g.memory.Metrics().Runs[0]; s.Outcome != awaken.Failed || s.ErrorType != string(llm.Unauthorized) {
		t.Errorf("the summary is %+v", s)
	}

	ctx, cancel := context.WithCancel(t.Context())
	g = newRig(t, "", observe.Options{}, &cancelling{cancel: cancel})
	if res, err := g.rt.Run(ctx, awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil); err != nil || res.Termination.Type != awaken.Cancelled {
		t.Fatalf("the run ended with %v, %v", res, err)
	}
	g.wellFormed("", "")
	for _, name := range []string{"chat x", "invoke_agent default"} {
		if s := g.span(name); attr(s, "error.type") != "cancelled" {
			t.Errorf("the span %q of a cancelled run has error.type %q", name, attr(s, "error.type"))
		}
	}
}

// cancelling is a model that is cancelled while it answers.
type cancelling struct{ cancel func() }

func (m *cancelling) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if !yield(llm.Delta{Kind: llm.TextDelta, Text: "hm"}, nil) {
			return
		}
		m.cancel()
		<-ctx.Done()
		yield(llm.Delta{}, context.Cause(ctx))
	}
}

func TestTrace_OneThroughAWaitOnAnotherReplica(t *testing.T) {
	t.Parallel()
	g := newRig(t, "", observe.Options{}, llmtest.NewScript(llmtest.Use("ask", `{}`), llmtest.Say("ok")))
	res, err := g.run(awaken.RunRequest{ThreadID: "t"})
	if err != nil || res.Termination.Type != awaken.Suspended {
		t.Fatalf("the run ended with %v, %v", res, err)
	}
	first := g.span("invoke_agent default")
	g.spans.Reset()
	decision := awaken.Decision{Target: "s", Action: awaken.ActionResume, UpdatedAt: time.Now().Add(90 * time.Minute).UnixMilli(), Actor: &awaken.Actor{User: "ann"}, Reason: "a s3cret reason"}
	if _, err := g.run(awaken.RunRequest{Continue: res.RunID, Decisions: []awaken.Decision{decision}, Trace: parent}); err != nil {
		t.Fatal(err)
	}
	second := g.span("invoke_agent default")
	if second.SpanContext.TraceID() != first.SpanContext.TraceID() || second.Parent.SpanID() != first.SpanContext.SpanID() {
		t.Error("the second activation does not continue the trace of the first")
	}
	s := g.span("awaken.suspension")
	if attr(s, "awaken.suspension.action") != "tool:ask" || attr(s, "awaken.suspension.decision") != "resume" || attr(s, "awaken.suspension.decided_by") != "user ann" || s.Parent.SpanID() != first.SpanContext.SpanID() {
		t.Errorf("the span of the question is %+v", s)
	}
	if took := s.EndTime.Sub(s.StartTime); took < 89*time.Minute || took > 91*time.Minute || s.StartTime.Before(first.StartTime.Add(-time.Millisecond)) {
		t.Errorf("the wait took %v from %v, want 90 minutes from the question", took, s.StartTime)
	}
	if strings.Contains(fmt.Sprintf("%+v %+v", g.spans.GetSpans(), g.memory.Metrics().Others), "s3cret") {
		t.Error("what a person said is recorded")
	}
	if o := g.memory.Metrics().Others; len(o) != 2 || o[0].Suspension.Decision != nil || o[1].Suspension.Decision.Actor.User != "ann" || o[1].DurationMS < 89*60_000 {
		t.Errorf("the memory has %+v", o)
	}
	if len(second.Links) != 1 || second.Links[0].SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("the second activation has no link to what decided: %v", second.Links)
	}
}

// A question that gets no decision has a span too, which says what came instead.
func TestSpans_OfQuestionsThatAreWithdrawn(t *testing.T) {
	t.Parallel()
	for want, instead := range map[string]func(g *rig, run string) error{
		"superseded": func(g *rig, run string) error {
			_, err := g.rt.Run(g.t.Context(), awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("never mind")}}, nil)
			return err
		},
		"cancelled": func(g *rig, run string) error { return g.rt.Cancel(g.t.Context(), run) },
		"rewound": func(g *rig, run string) error {
			_, err := g.rt.Run(g.t.Context(), awaken.RunRequest{ThreadID: "t", Rewind: "first", Messages: []*llm.Message{llm.UserText("again")}}, nil)
			return err
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, "", observe.Options{}, llmtest.NewScript(llmtest.Use("ask", `{}`), llmtest.Say("ok")))
			input := llm.UserText("go")
			input.ID = "first"
			res, err := g.rt.Run(t.Context(), awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{input}}, nil)
			if err != nil || res.Termination.Type != awaken.Suspended {
				t.Fatalf("the run ended with %v, %v", res, err)
			}
			first := g.span("invoke_agent default")
			if err := instead(g, res.RunID); err != nil {
				t.Fatal(err)
			}
			s := g.span("awaken.suspension")
			if attr(s, "awaken.suspension.withdrawn") != want || attr(s, "awaken.suspension.decision") != "" || attr(s, "gen_ai.tool.name") != "ask" || s.Parent.SpanID() != first.SpanContext.SpanID() {
				t.Errorf("the span of the question is %+v", s)
			}
			if o := g.memory.Metrics().Others; len(o) != 2 || o[1].Suspension.Withdrawn != want || o[1].Suspension.Decision != nil {
				t.Errorf("the memory has %+v", o)
			}
		})
	}
}

func TestSampling_ByTheIdOfTheRunAndFailuresAlways(t *testing.T) {
	t.Parallel()
	g := newRig(t, `{"sample_rate":0}`, observe.Options{}, llmtest.NewScript(llmtest.Say("ok"), llmtest.Use("read", `{}`), llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Unauthorized}}, llmtest.Use("read", `{}`), llmtest.Say("ok")))
	if _, err := g.run(awaken.RunRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := len(g.spans.GetSpans()); n != 0 {
		t.Errorf("a rate of 0 records %d spans", n)
	}
	if n := len(g.memory.Metrics().Inferences); n != 1 {
		t.Errorf("a sink was told of %d requests, want 1: it is not sampled", n)
	}
	if _, err := g.run(awaken.RunRequest{}); err == nil {
		t.Fatal("the run did not fail")
	}
	g.wellFormed("", "")
	if g.span("invoke_agent default"); g.span("execute_tool read").Name == "" {
		t.Error("a failure is not recorded")
	}
	g.spans.Reset()
	if _, err := g.run(awaken.RunRequest{Trace: parent}); err != nil {
		t.Fatal(err)
	}
	g.wellFormed("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
	if g.span("invoke_agent default").Name == "" {
		t.Error("a run in a trace that is recorded is not")
	}

	sink := observe.NewMemory()
	part := observe.Sampled(sink, .1)
	for i := range 1000 {
		s := &observe.Summary{}
		s.RunID = fmt.Sprint("run-", i)
		part.RunEnd(t.Context(), s)
		part.RunEnd(t.Context(), s)
	}
	if n := len(sink.Metrics().Runs); n < 100 || n > 300 || n%2 != 0 {
		t.Errorf("a rate of 0.1 chose %d activations of 1,000 runs with two each, want about 200, both of a run or none", n)
	}
	failed := &observe.Summary{Outcome: awaken.Failed}
	failed.RunID = "failed"
	none := observe.NewMemory()
	observe.Sampled(none, 0).RunEnd(t.Context(), failed)
	if len(none.Metrics().Runs) != 1 {
		t.Error("a failed run was left out")
	}
}

// Two runs of one agent at the same time do not see each other (L-60).
func TestRecorder_OfEachRunItsOwn(t *testing.T) {
	t.Parallel()
	turns := []llmtest.Turn{}
	for range 40 {
		turns = append(turns, llmtest.Say("ok"))
	}
	g := newRig(t, "", observe.Options{}, llmtest.NewScript(turns...))
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if _, err := g.run(awaken.RunRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	traces := map[string]int{}
	for _, s := range g.spans.GetSpans() {
		traces[s.SpanContext.TraceID().String()]++
	}
	if len(traces) != 40 {
		t.Errorf("40 runs made %d traces", len(traces))
	}
	for id, n := range traces {
		if n != 3 {
			t.Errorf("trace %s has %d spans, want 3", id, n)
		}
	}
	for _, s := range g.memory.Metrics().Runs {
		if s.Inferences != 1 {
			t.Errorf("run %s counted %d requests, want 1", s.RunID, s.Inferences)
		}
	}
}

func TestHandoff_IsFollowed(t *testing.T) {
	t.Parallel()
	for _, section := range []string{"", `{"sample_rate":0}`} {
		g := newRig(t, section, observe.Options{}, llmtest.NewScript(llmtest.Use("hand", `{}`), llmtest.Say("ok")))
		if _, err := g.run(awaken.RunRequest{}); err != nil {
			t.Fatal(err)
		}
		if section == "" && attr(g.span("awaken.handoff helper"), "awaken.handoff.to") != "helper" {
			t.Error("the handoff has no span")
		}
		if o := g.memory.Metrics().Others; len(o) != 1 || o[0].Type != "handoff" || o[0].Child.ChildAgentID != "helper" {
			t.Errorf("the memory has %+v", o)
		}
	}
}

// Every field of the section, and what it changes.
func TestSection_EveryField(t *testing.T) {
	t.Parallel()
	var docs []string
	long := strings.Repeat("y", 9000)
	for _, tt := range []struct {
		name, section, args string
		want, not           []string // in what was recorded of the run
	}{
		{"nothing by default", `{}`, `{"path":"p4th","secret":"s3cret"}`, []string{`"name":"read"`}, []string{"p4th", "s3cret", "t0ken", "answ3r", `"go"`}},
		{"disabled", `{"disabled":true}`, `{}`, nil, []string{`"name":"read"`}},
		{"sample_rate", `{"sample_rate":0.5}`, `{}`, []string{`"name":"read"`}, nil},
		{"content", `{"content":true}`, `{"secret":"s3cret"}`, []string{"answ3r", `"text":"go"`}, []string{"t0ken"}},
		{"arguments", `{"tool_io":"arguments"}`, `{"path":"p4th"}`, []string{"p4th"}, []string{"t0ken", "answ3r"}},
		{"results", `{"tool_io":"results"}`, `{"secret":"s3cret"}`, []string{"t0ken"}, []string{"s3cret"}},
		{"both", `{"tool_io":"both"}`, `{"secret":"s3cret"}`, []string{"t0ken", "s3cret"}, nil},
		{"max_bytes", `{"tool_io":"both","max_bytes":20}`, `{"path":"p4th","secret":"0123456789abcdef"}`, []string{"__awaken_payload_truncated", "p4th"}, []string{"9abcdef"}},
		{"8 KiB by default", `{"tool_io":"both"}`, `{"path":"` + long + `"}`, []string{"__awaken_payload_truncated", long[:8000]}, []string{long[:8200]}},
		{"fields", `{"tool_io":"both","fields":["path"]}`, `{"path":"p4th","secret":"s3cret"}`, []string{"p4th"}, []string{"s3cret", "t0ken"}},
		{"redact", `{"tool_io":"both","redact":["secret","token"]}`, `{"path":"p4th","secret":"s3cret"}`, []string{"p4th", `"secret":"***"`, `"token":"***"`}, []string{"s3cret", "t0ken"}},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, tt.section, observe.Options{}, llmtest.NewScript(llmtest.Use("read", tt.args), llmtest.Say("answ3r")))
			if _, err := g.run(awaken.RunRequest{}); err != nil {
				t.Fatal(err)
			}
			m := g.memory.Metrics()
			data, err := json.Marshal(append(slices.Clone(m.Tools), m.Inferences...))
			if err != nil {
				t.Fatal(err)
			}
			spans := fmt.Sprintf("%+v", g.spans.GetSpans())
			for _, want := range tt.want {
				if !strings.Contains(string(data), want) {
					t.Errorf("%.200s is not recorded in %.400s", want, data)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(string(data), not) || strings.Contains(spans, not) {
					t.Errorf("%.200s is recorded", not)
				}
			}
		})
	}
	sectiontest.Covers[observe.Config](t, docs...)
	for section, want := range map[string]string{
		`{"sample_rate":2}`: "sample_rate is 2, want 0 to 1", `{"tool_io":"all"}`: `tool_io is "all", want disabled, arguments, results or both`,
		`{"max_bytes":-1}`: "max_bytes is -1, want 1 to 1048576", `{"fields":[" "]}`: "fields[0] is blank", `{"redact":[""]}`: "redact[0] is blank", `{"rate":1}`: `unknown field "rate"`,
	} {
		_, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{observe.Name}, Sections: map[string]json.RawMessage{observe.Name: json.RawMessage(section)}}},
			Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}}, Providers: map[string]llm.Model{"p": llmtest.Demo()}, Plugins: []awaken.Plugin{observe.New(observe.Options{})}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("section %s: %v, want %q", section, err, want)
		}
	}
}

func TestRedact_SeesEveryText(t *testing.T) {
	t.Parallel()
	g := newRig(t, `{"tool_io":"both","content":true}`, observe.Options{Redact: func(_, text string) string {
		return strings.NewReplacer("s3cret", "[gone]", "answ3r", "[gone]").Replace(text)
	}}, llmtest.NewScript(llmtest.Use("read", `{"path":"a s3cret place"}`), llmtest.Say("the answ3r")))
	if _, err := g.run(awaken.RunRequest{}); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%+v", g.spans.GetSpans())
	if strings.Contains(all, "s3cret") || strings.Contains(all, "answ3r") || !strings.Contains(all, "[gone]") {
		t.Errorf("what must be changed is recorded")
	}
}

func TestAgents_OnlyThoseThatListItUnlessAlways(t *testing.T) {
	t.Parallel()
	for _, always := range []bool{false, true} {
		sink := observe.NewMemory()
		rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
			Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Say("ok"))}, Plugins: []awaken.Plugin{observe.New(observe.Options{Sinks: []observe.Sink{sink}, Always: always})}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rt.Run(t.Context(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil); err != nil {
			t.Fatal(err)
		}
		if seen := len(sink.Metrics().Runs) == 1; seen != always {
			t.Errorf("always is %v, but the run is observed: %v", always, seen)
		}
	}
}

// naming is a model whose answers have ids.
type naming struct {
	llm.Model
	ids []string
}

func (n *naming) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	id := n.ids[0]
	n.ids = n.ids[1:]
	return func(yield func(llm.Delta, error) bool) {
		if id != "" && !yield(llm.Delta{Kind: llm.ResponseDelta, ID: id}, nil) {
			return
		}
		n.Model.Stream(ctx, req)(yield)
	}
}

// Spans and events name the answer as its provider does, and the version of the configuration.
func TestSpans_HaveTheIDOfTheAnswerAndTheVersion(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	g := newRig(t, "", observe.Options{}, &naming{Model: llmtest.NewScript(llmtest.Use("read", `{}`), llmtest.Use("work", `{}`), llmtest.Say("ok")), ids: []string{"resp_1", "", long}})
	res, err := g.run(awaken.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range g.spans.GetSpans() {
		if s.Name == "chat x" {
			ids = append(ids, attr(s, "gen_ai.response.id"))
		}
	}
	if want := []string{"resp_1", "", long[:256]}; !slices.Equal(ids, want) {
		t.Errorf("the answers are %q, want %q", ids, want)
	}
	run, err := g.rt.Store().LoadRun(t.Context(), res.RunID)
	if err != nil || run.ResolutionID == "" {
		t.Fatal(run, err)
	}
	if tag := attr(g.span("invoke_agent default"), "awaken.release.tag"); tag != run.ResolutionID {
		t.Errorf("the version is %q, want %q", tag, run.ResolutionID)
	}
	if in := g.memory.Metrics().Inferences[0]; in.Inference.ResponseID != "resp_1" || in.ReleaseTag != run.ResolutionID {
		t.Errorf("the event is %+v", in)
	}
}
