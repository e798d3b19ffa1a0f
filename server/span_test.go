package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken/internal/otlptest"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/servertest"
)

const (
	clientTrace  = "0af7651916cd43dd8448eb211c80319c"
	clientParent = "00-" + clientTrace + "-b7ad6b7169203331-01"
)

// tracedRig is a server that makes spans. A strict collector gets them too, and must accept all.
type tracedRig struct {
	*rig
	spans   *tracetest.InMemoryExporter
	metrics *server.Metrics
	plugin  *observe.Plugin
}

func newTracedRig(t *testing.T, change ...func(*registry.Config)) *tracedRig {
	t.Helper()
	g := &tracedRig{rig: newRigOf(t), spans: tracetest.NewInMemoryExporter(), metrics: server.NewMetrics()}
	collector := otlptest.Start(t)
	sent, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(collector.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(g.spans), sdktrace.WithBatcher(sent), sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "awaken"))))
	t.Cleanup(func() {
		g.stop()
		if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := collector.Check("b7ad6b7169203331"); err != nil || len(collector.Spans()) == 0 {
			t.Errorf("the collector has %d spans, %v", len(collector.Spans()), err)
		}
	})
	plugin := observe.New(observe.Options{Tracer: provider, Sinks: []observe.Sink{g.metrics.Observer()}, Labels: g.metrics.Labels(), Always: true})
	g.plugin = plugin
	g.config = func(c *registry.Config) {
		c.Plugins = append(c.Plugins, plugin)
		for _, f := range change {
			f(c)
		}
	}
	g.start(func(c *servertest.Config) {
		c.Metrics, c.Observer = g.metrics, plugin
		c.Routes = append(c.Routes, protocol.Route{Method: "GET", Path: "/v1/panics", Needs: permit.Public, Handle: func(protocol.Call) error { panic("oh") }})
	})
	return g
}

// span waits for the span with that name, and fails the test unless there is exactly one.
func (g *tracedRig) span(name string) tracetest.SpanStub {
	g.t.Helper()
	var found []tracetest.SpanStub
	g.eventually("the span "+name, func() bool {
		found = nil
		for _, s := range g.spans.GetSpans() {
			if s.Name == name {
				found = append(found, s)
			}
		}
		return len(found) > 0
	})
	if len(found) != 1 {
		g.t.Fatalf("there are %d spans %q, want 1", len(found), name)
	}
	return found[0]
}

func attributeOf(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if a.Key == attribute.Key(key) {
			return a.Value.String()
		}
	}
	return ""
}

func TestSpans_OfRequests(t *testing.T) {
	t.Parallel()
	g := newTracedRig(t)
	run := g.told("default", "hello", "traceparent", clientParent)
	http, agent := g.span("POST /v1/runs"), g.span("invoke_agent default")
	if http.SpanKind != oteltrace.SpanKindServer || http.Parent.SpanID().String() != "b7ad6b7169203331" || http.SpanContext.TraceID().String() != clientTrace {
		t.Errorf("the span of the request is %+v", http)
	}
	for key, want := range map[string]string{"http.request.method": "POST", "http.route": "/v1/runs", "http.response.status_code": "200", "url.path": "/v1/runs", "url.scheme": "http", "network.protocol.version": "1.1"} {
		if got := attributeOf(http, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if agent.Parent.SpanID() != http.SpanContext.SpanID() || !strings.HasPrefix(g.stored(run).Trace, "00-"+clientTrace+"-"+agent.SpanContext.SpanID().String()) {
		t.Errorf("the run is below %s and has the trace %q, want one below the request %s", agent.Parent.SpanID(), g.stored(run).Trace, http.SpanContext.SpanID())
	}

	g.spans.Reset()
	g.told("default", "hello")
	if http, agent := g.span("POST /v1/runs"), g.span("invoke_agent default"); http.Parent.IsValid() || agent.Parent.SpanID() != http.SpanContext.SpanID() || agent.SpanContext.TraceState().Len() != 0 {
		t.Error("a request without a trace does not begin one, or its run does not belong to it")
	}

	g.spans.Reset()
	g.want(404, "GET", "/v1/runs/none?secret=s3cret", "")
	s := g.span("GET /v1/runs/{run_id}")
	if attributeOf(s, "http.response.status_code") != "404" || s.Status.Code == codes.Error || attributeOf(s, "error.type") != "" {
		t.Errorf("a client's mistake is %+v", s)
	}
	for _, a := range s.Attributes {
		if strings.Contains(a.Value.String(), "s3cret") {
			t.Errorf("the query is recorded in %s", a.Key)
		}
	}
	g.want(500, "GET", "/v1/panics", "")
	if s := g.span("GET /v1/panics"); attributeOf(s, "error.type") != "panic" || s.Status.Code != codes.Error {
		t.Errorf("a panic is %+v", s)
	}

	g.spans.Reset()
	g.ask("GET", "/metrics", "")
	g.ask("GET", "/health", "")
	g.ask("GET", "/health/live", "")
	if n := len(g.spans.GetSpans()); n != 0 {
		t.Errorf("probes have %d spans", n)
	}
}

// The line about a request names its trace, whether the client or the server has begun it.
func TestLog_ARequestNamesItsTrace(t *testing.T) {
	t.Parallel()
	g := newTracedRig(t)
	g.stop()
	var log safeBuffer
	g.start(func(c *servertest.Config) {
		c.Metrics, c.Observer = g.metrics, g.plugin
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	g.told("default", "hello")
	began := g.span("POST /v1/runs").SpanContext.TraceID().String()
	g.want(200, "GET", "/v1/agents", "", "traceparent", clientParent)
	for route, trace := range map[string]string{"/v1/runs": began, "/v1/agents": clientTrace} {
		g.eventually("the line about "+route, func() bool {
			return slices.ContainsFunc(strings.Split(log.String(), "\n"), func(line string) bool {
				return strings.Contains(line, "msg=request") && strings.Contains(line, "route="+route+" ") && strings.Contains(line, "trace="+trace)
			})
		})
	}
}

// A trace that the server begins does not take the decision from the agent whether its runs are recorded; that of a client does.
func TestSpans_OfRequestsLeaveTheRunToItsSampleRate(t *testing.T) {
	t.Parallel()
	g := newTracedRig(t)
	g.want(200, "PUT", "/v1/config/agents/quiet", `{"id":"quiet","model_id":"m","sections":{"observability":{"sample_rate":0}}}`, admin...)
	g.spans.Reset()
	run := g.told("quiet", "hello", admin...)
	if g.span("POST /v1/runs"); len(g.spans.GetSpans()) != 1 || g.stored(run).Trace != "" {
		t.Errorf("a run that is not to be recorded has the trace %q, and there are %d spans", g.stored(run).Trace, len(g.spans.GetSpans()))
	}
	g.spans.Reset()
	g.told("quiet", "hello", append([]string{"traceparent", clientParent}, admin...)...)
	if s := g.span("invoke_agent quiet"); s.SpanContext.TraceID().String() != clientTrace {
		t.Errorf("the run of a client that records its trace is in %s", s.SpanContext.TraceID())
	}
}

// A run that continues because of a decision links to the request that made it, by whichever route and in whichever trace, and so does the span of the question.
func TestSpans_LinkToTheRequestThatDecided(t *testing.T) {
	t.Parallel()
	g := newTracedRig(t)
	for _, route := range []string{"/v1/threads/{thread_id}/decision", "/v1/runs/{run_id}/decision", "/v1/approvals/{run_id}/{ticket_id}", "/v1/approvals"} {
		for _, headers := range [][]string{{"traceparent", clientParent}, nil} {
			g.spans.Reset()
			thread, run, ticket := g.waits(admin...)
			g.span("invoke_agent default") // it ends after the run is stored
			g.spans.Reset()
			path := strings.NewReplacer("{thread_id}", thread, "{run_id}", run, "{ticket_id}", ticket).Replace(route)
			body := fmt.Sprintf(`{"tool_call_id":%q,"action":"resume"}`, ticket)
			if route == "/v1/approvals" {
				body = fmt.Sprintf(`{"decisions":[{"run_id":%q,"ticket_id":%q,"action":"resume"}]}`, run, ticket)
			}
			if status, text := g.ask("POST", path, body, append(headers, admin...)...); status/100 != 2 {
				t.Fatalf("%s: %d %s", path, status, text)
			}
			request, agent, wait := g.span("POST "+route), g.span("invoke_agent default"), g.span("awaken.suspension")
			if headers != nil && request.SpanContext.TraceID().String() != clientTrace {
				t.Errorf("%s: the request is in %s", route, request.SpanContext.TraceID())
			}
			for _, s := range []tracetest.SpanStub{agent, wait} {
				if len(s.Links) != 1 || s.Links[0].SpanContext.SpanID() != request.SpanContext.SpanID() || s.Links[0].SpanContext.TraceID() != request.SpanContext.TraceID() {
					t.Errorf("%s: the span %q has the links %v, want one to %v", route, s.Name, s.Links, request.SpanContext)
				}
			}
			if agent.SpanContext.TraceID() != wait.SpanContext.TraceID() || agent.SpanContext.TraceID() == request.SpanContext.TraceID() || wait.SpanContext.TraceState().Len() != 0 {
				t.Errorf("%s: the run is in %s, the wait in %s", route, agent.SpanContext.TraceID(), wait.SpanContext.TraceID())
			}
		}
	}
}

// Without a tracer a request has no span, and the client's trace arrives all the same.
func TestSpans_NoneWithoutATracer(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	if run := g.stored(g.told("default", "hello", "traceparent", clientParent)); run.Trace != clientParent {
		t.Errorf("the run has the trace %q, want that of the client", run.Trace)
	}
}

// What starts runs by itself passes the trace of its request on: a trigger, a schedule that is run now, a fork.
func TestTrace_ThroughTriggersSchedulesAndForks(t *testing.T) {
	t.Parallel()
	g := newTracedRig(t)
	_, door := g.trigger("")
	traced := append([]string{"traceparent", clientParent}, admin...)
	fired := g.want(202, "POST", door, "", traced...)["run_id"].(string)
	firing := g.want(200, "POST", "/v1/schedules/"+g.schedule(`"cron":"@yearly"`, admin...)+"/run", "", traced...)
	started := firing["run_id"].(string)
	origin := g.told("default", "hello", admin...)
	forked := g.want(202, "POST", "/v1/runs/"+origin+"/fork", `{"from_step":0}`, traced...)["run_id"].(string)
	for what, run := range map[string]string{"trigger": fired, "schedule": started, "fork": forked} {
		g.eventually("done", func() bool { return g.want(200, "GET", "/v1/runs/"+run, "", admin...)["status"] == "done" })
		if at := g.stored(run).Trace; !strings.HasPrefix(at, "00-"+clientTrace) {
			t.Errorf("the run of a %s has the trace %q, want that of the client", what, at)
		}
	}
}

// What is said about a run after it has ended is part of the run's trace, and of the metrics.
func TestLive_ScoresArePartOfTheTrace(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	g := newTracedRig(t, withGrader(&asked))
	g.want(200, "PUT", "/v1/config/agents/clerk", `{"id":"clerk","model_id":"m","sections":{"eval_live":{"share":1,"judge":{"model_id":"grader"},"scorers":[{"kind":"no_tool","name":"quiet"}]}}}`, admin...)
	g.told("clerk", "bad morning", append([]string{"traceparent", clientParent}, admin...)...)
	g.judges()
	g.judges()
	agent := g.span("invoke_agent clerk")
	scores := map[string]string{}
	for _, s := range g.spans.GetSpans() {
		if s.Name != "gen_ai.evaluation.result" {
			continue
		}
		if s.Parent.SpanID() != agent.SpanContext.SpanID() || s.SpanContext.TraceID().String() != clientTrace || attributeOf(s, "gen_ai.evaluation.explanation") != "" {
			t.Errorf("a score is %+v, want it below the run, without what the judge said", s)
		}
		scores[attributeOf(s, "gen_ai.evaluation.name")] += attributeOf(s, "gen_ai.evaluation.score.value") + " " + attributeOf(s, "gen_ai.evaluation.score.label") + " " + attributeOf(s, "awaken.evaluation.model")
	}
	if len(scores) != 2 || scores["judge"] != "0.2 failed grader" || scores["quiet"] != "1 passed " {
		t.Errorf("the scores are %q", scores)
	}
	_, text := g.ask("GET", "/metrics", "", admin...)
	for _, want := range []string{`awaken_eval_live_score_sum{agent="clerk",scorer="judge"} 0.2`, `awaken_eval_live_score_count{agent="clerk",scorer="quiet"} 1`, `awaken_eval_live_score_bucket{agent="clerk",scorer="judge",le="0.1"} 0`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}
