// Package otlptest has a collector for tests: it takes spans and metrics over HTTP and gRPC, on the official messages, and refuses what a strict one
// would.
package otlptest

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metricservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Collector has what it was sent.
type Collector struct {
	URL string // for OTLP over HTTP
	// Target is the same for OTLP over gRPC.
	Target string

	mu       sync.Mutex
	answers  []Answer // of the next requests
	requests int
	spans    []*trace.Span
	metrics  []*metrics.Metric
	problems []error
}

// Answer is what a collector says to a request, instead of taking all of it.
type Answer struct {
	Busy     time.Duration // it takes nothing; the client is asked to come back later
	Broken   bool          // it takes nothing, and says that the request is at fault
	Rejected int64         // it takes all but so many spans
}

// Next says how the next requests are answered. Those after them are taken.
func (c *Collector) Next(answers ...Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = answers
}

// Requests returns how many requests there were.
func (c *Collector) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

func (c *Collector) answer() (a Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests++; len(c.answers) > 0 {
		a, c.answers = c.answers[0], c.answers[1:]
	}
	return a
}

// rejects returns the response to spans of which some are rejected.
func rejects(a Answer) *traceservice.ExportTraceServiceResponse {
	out := new(traceservice.ExportTraceServiceResponse)
	if a.Rejected > 0 {
		out.PartialSuccess = &traceservice.ExportTracePartialSuccess{RejectedSpans: a.Rejected, ErrorMessage: "too many"}
	}
	return out
}

// Start starts a collector that ends with the test.
func Start(tb testing.TB) *Collector {
	tb.Helper()
	c := new(Collector)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		a := c.answer()
		switch {
		case a.Busy > 0:
			w.Header().Set("Retry-After", strconv.Itoa(int(a.Busy.Seconds())))
			w.WriteHeader(http.StatusTooManyRequests)
		case a.Broken:
			w.WriteHeader(http.StatusBadRequest)
		default:
			receive(c, w, r, new(traceservice.ExportTraceServiceRequest), rejects(a), c.takeTraces)
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		receive(c, w, r, new(metricservice.ExportMetricsServiceRequest), new(metricservice.ExportMetricsServiceResponse), c.takeMetrics)
	})
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { c.problem("a request for %s %s", r.Method, r.URL.Path) })
	hs := httptest.NewServer(mux)
	tb.Cleanup(hs.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	gs := grpc.NewServer()
	traceservice.RegisterTraceServiceServer(gs, &traceServer{c: c})
	metricservice.RegisterMetricsServiceServer(gs, &metricServer{c: c})
	var done sync.WaitGroup
	done.Go(func() { _ = gs.Serve(l) }) // until Stop
	tb.Cleanup(func() { gs.Stop(); done.Wait() })
	c.URL, c.Target = hs.URL, "http://"+l.Addr().String()
	return c
}

type traceServer struct {
	traceservice.UnimplementedTraceServiceServer
	c *Collector
}

func (s *traceServer) Export(_ context.Context, r *traceservice.ExportTraceServiceRequest) (*traceservice.ExportTraceServiceResponse, error) {
	a := s.c.answer()
	switch {
	case a.Busy > 0:
		st, err := status.New(codes.Unavailable, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(a.Busy)})
		if err != nil {
			s.c.problem("%w", err)
		}
		return nil, st.Err()
	case a.Broken:
		return nil, status.Error(codes.InvalidArgument, "broken")
	}
	s.c.takeTraces(r)
	return rejects(a), nil
}

type metricServer struct {
	metricservice.UnimplementedMetricsServiceServer
	c *Collector
}

func (s *metricServer) Export(_ context.Context, r *metricservice.ExportMetricsServiceRequest) (*metricservice.ExportMetricsServiceResponse, error) {
	s.c.takeMetrics(r)
	return new(metricservice.ExportMetricsServiceResponse), nil
}

// receive reads a request over HTTP.
func receive[Q, R proto.Message](c *Collector, w http.ResponseWriter, r *http.Request, in Q, out R, take func(Q)) {
	if t := r.Header.Get("Content-Type"); t != "application/x-protobuf" {
		c.problem("content type is %q", t)
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, in)
	}
	if err != nil {
		c.problem("a body cannot be read: %w", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	take(in)
	data, err := proto.Marshal(out)
	if err != nil {
		c.problem("%w", err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(data) // the client may be gone
}

func (c *Collector) problem(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

func (c *Collector) takeTraces(r *traceservice.ExportTraceServiceRequest) {
	for _, rs := range r.GetResourceSpans() {
		c.checkResource(rs.GetResource())
		for _, ss := range rs.GetScopeSpans() {
			if ss.GetScope().GetName() == "" {
				c.problem("spans have no scope")
			}
			c.mu.Lock()
			c.spans = append(c.spans, ss.GetSpans()...)
			c.mu.Unlock()
		}
	}
}

func (c *Collector) takeMetrics(r *metricservice.ExportMetricsServiceRequest) {
	for _, rm := range r.GetResourceMetrics() {
		c.checkResource(rm.GetResource())
		for _, sm := range rm.GetScopeMetrics() {
			if sm.GetScope().GetName() == "" {
				c.problem("metrics have no scope")
			}
			c.mu.Lock()
			c.metrics = append(c.metrics, sm.GetMetrics()...)
			c.mu.Unlock()
		}
	}
}

func (c *Collector) checkResource(r *resource.Resource) {
	if Attribute(r.GetAttributes(), "service.name") == "" {
		c.problem("the resource has no service.name")
	}
}

// Spans returns the spans so far, by their start.
func (c *Collector) Spans() []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(slices.Values(c.spans), func(a, b *trace.Span) int { return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano()) })
}

// Metrics returns the metrics so far.
func (c *Collector) Metrics() []*metrics.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.metrics)
}

// Attribute returns the text of an attribute, or "".
func Attribute(list []*common.KeyValue, key string) string {
	for _, a := range list {
		if a.GetKey() == key {
			if s, ok := a.GetValue().GetValue().(*common.AnyValue_StringValue); ok {
				return s.StringValue
			}
			return a.GetValue().String()
		}
	}
	return ""
}

// Check returns everything that is wrong with what has arrived. Outside are the ids of spans of others, in hexadecimal.
func (c *Collector) Check(outside ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems := slices.Clone(c.problems)
	known := map[string]bool{}
	for _, id := range outside {
		known[id] = true
	}
	for _, s := range c.spans {
		id := hex.EncodeToString(s.GetSpanId())
		if known[id] {
			problems = append(problems, fmt.Errorf("two spans have the id %s", id))
		}
		known[id] = true
	}
	for _, s := range c.spans {
		problems = append(problems, checkSpan(s, known)...)
	}
	for _, m := range c.metrics {
		problems = append(problems, checkMetric(m)...)
	}
	return errors.Join(problems...)
}

// required lists the attributes of spans, by the beginning of their names.
var required = map[string][]string{
	"invoke_agent ": {"gen_ai.operation.name", "gen_ai.agent.id", "gen_ai.conversation.id", "awaken.run.id", "awaken.thread.id", "awaken.outcome"},
	"chat ":         {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
	"execute_tool ": {"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id"},
	"gen_ai.eval":   {"gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"},
}

func checkSpan(s *trace.Span, known map[string]bool) (problems []error) {
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("span %q: "+format, append([]any{s.GetName()}, args...)...))
	}
	if len(s.GetTraceId()) != 16 || strings.Trim(hex.EncodeToString(s.GetTraceId()), "0") == "" {
		bad("trace id is %x", s.GetTraceId())
	}
	if len(s.GetSpanId()) != 8 || strings.Trim(hex.EncodeToString(s.GetSpanId()), "0") == "" {
		bad("span id is %x", s.GetSpanId())
	}
	if p := s.GetParentSpanId(); len(p) > 0 && !known[hex.EncodeToString(p)] {
		bad("its parent %x is unknown", p)
	}
	from, to := time.Unix(0, int64(s.GetStartTimeUnixNano())), time.Unix(0, int64(s.GetEndTimeUnixNano()))
	if to.Before(from) || time.Since(from).Abs() > time.Hour {
		bad("it lasts from %v to %v", from, to)
	}
	if s.GetName() == "" || s.GetKind() == trace.Span_SPAN_KIND_UNSPECIFIED {
		bad("name or kind is missing")
	}
	if s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR && Attribute(s.GetAttributes(), "error.type") == "" {
		bad("it has failed, and has no error.type")
	}
	problems = append(problems, checkAttributes(s.GetName(), s.GetAttributes())...)
	for begin, keys := range required {
		for _, key := range keys {
			if strings.HasPrefix(s.GetName(), begin) && Attribute(s.GetAttributes(), key) == "" {
				bad("it has no %s", key)
			}
		}
	}
	if s.GetKind() == trace.Span_SPAN_KIND_SERVER {
		keys := []string{"http.request.method", "http.route", "url.scheme", "url.path"}
		if Attribute(s.GetAttributes(), keys[0]) == "" { // a message within a request
			keys = []string{"mcp.method.name", "jsonrpc.request.id", "mcp.protocol.version"}
		}
		for _, key := range keys {
			if Attribute(s.GetAttributes(), key) == "" {
				bad("it has no %s", key)
			}
		}
	}
	for _, l := range s.GetLinks() {
		if len(l.GetTraceId()) != 16 || len(l.GetSpanId()) != 8 {
			bad("a link has ids %x and %x", l.GetTraceId(), l.GetSpanId())
		}
	}
	return problems
}

func checkAttributes(of string, list []*common.KeyValue) (problems []error) {
	seen := map[string]bool{}
	for _, a := range list {
		if a.GetKey() == "" || a.GetValue().GetValue() == nil || seen[a.GetKey()] {
			problems = append(problems, fmt.Errorf("%s: attribute %q is empty or there twice", of, a.GetKey()))
		}
		seen[a.GetKey()] = true
	}
	return problems
}

// units lists the metrics of the conventions.
var units = map[string]string{"gen_ai.client.operation.duration": "s", "gen_ai.client.token.usage": "{token}"}

func checkMetric(m *metrics.Metric) (problems []error) {
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("metric %q: "+format, append([]any{m.GetName()}, args...)...))
	}
	if unit, ok := units[m.GetName()]; !ok || m.GetUnit() != unit {
		bad("its unit is %q", m.GetUnit())
	}
	h := m.GetHistogram()
	if len(h.GetDataPoints()) == 0 || h.GetAggregationTemporality() == metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED {
		bad("it is no histogram with points and a temporality")
	}
	for _, p := range h.GetDataPoints() {
		var n uint64
		for _, c := range p.GetBucketCounts() {
			n += c
		}
		if n != p.GetCount() || len(p.GetBucketCounts()) != len(p.GetExplicitBounds())+1 || !slices.IsSorted(p.GetExplicitBounds()) {
			bad("a point has count %d, buckets %v and bounds %v", p.GetCount(), p.GetBucketCounts(), p.GetExplicitBounds())
		}
		if p.GetTimeUnixNano() < p.GetStartTimeUnixNano() || p.GetStartTimeUnixNano() == 0 {
			bad("a point lasts from %d to %d", p.GetStartTimeUnixNano(), p.GetTimeUnixNano())
		}
		problems = append(problems, checkAttributes(m.GetName(), p.GetAttributes())...)
		for _, key := range []string{"gen_ai.operation.name", "gen_ai.provider.name"} {
			if Attribute(p.GetAttributes(), key) == "" {
				bad("a point has no %s", key)
			}
		}
		for _, e := range p.GetExemplars() {
			if len(e.GetTraceId()) != 16 || len(e.GetSpanId()) != 8 {
				bad("an exemplar has ids %x and %x", e.GetTraceId(), e.GetSpanId())
			}
		}
	}
	return problems
}
