package telemetry_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/awaken-go/awaken/server/telemetry"
)

// wire is a client that keeps what would be sent.
type wire struct{ sent tracepb.TracesData }

func (*wire) Start(context.Context) error { return nil }
func (*wire) Stop(context.Context) error  { return nil }
func (w *wire) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	data, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, &w.sent)
}

// sent returns what an exporter sends.
func sent(t *testing.T, of func(context.Context, otlptrace.Client) (sdktrace.SpanExporter, error), spans tracetest.SpanStubs) *tracepb.TracesData {
	t.Helper()
	var w wire
	e, err := of(t.Context(), &w)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second has the buffer of the first
		if err := e.ExportSpans(t.Context(), spans.Snapshots()); err != nil {
			t.Fatal(err)
		}
	}
	return &w.sent
}

func official(ctx context.Context, c otlptrace.Client) (sdktrace.SpanExporter, error) {
	return otlptrace.New(ctx, c)
}

func TestExporter_SendsWhatTheOfficialOneSends(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	about := resource.NewWithAttributes("https://example.org/schema", attribute.String("service.name", "awaken"), attribute.Int("n", 3))
	scopes := []instrumentation.Scope{{Name: "a", Version: "1", SchemaURL: "https://example.org/a", Attributes: attribute.NewSet(attribute.Bool("x", true))}, {Name: "b"}, {}}
	for range 300 {
		var spans tracetest.SpanStubs
		for range 1 + rnd.IntN(5) {
			spans = append(spans, randomSpan(rnd, about, scopes))
		}
		got, want := sent(t, telemetry.NewExporter, spans), sent(t, official, spans)
		if !proto.Equal(sorted(got), sorted(want)) {
			t.Fatalf("the exporter sends\n%v\nand the official one\n%v", got, want)
		}
	}
}

// sorted orders what the official exporter does not.
func sorted(d *tracepb.TracesData) *tracepb.TracesData {
	for _, r := range d.GetResourceSpans() {
		slices.SortFunc(r.ScopeSpans, func(a, b *tracepb.ScopeSpans) int {
			return strings.Compare(a.GetScope().GetName(), b.GetScope().GetName())
		})
	}
	return d
}

func randomSpan(rnd *rand.Rand, about *resource.Resource, scopes []instrumentation.Scope) tracetest.SpanStub {
	at := func() oteltrace.SpanContext {
		c := oteltrace.SpanContextConfig{TraceFlags: oteltrace.TraceFlags(rnd.IntN(2)), Remote: rnd.IntN(2) == 0}
		for i := range c.TraceID {
			c.TraceID[i] = byte(rnd.IntN(256))
		}
		for i := range c.SpanID {
			c.SpanID[i] = byte(rnd.IntN(256))
		}
		if rnd.IntN(2) == 0 {
			c.TraceState, _ = oteltrace.ParseTraceState("a=b,c=d")
		}
		return oteltrace.NewSpanContext(c)
	}
	text := func() string { return strings.Repeat("é", []int{0, 1, 40, 63, 64, 200, 9000}[rnd.IntN(7)]) }
	values := []func() attribute.Value{
		func() attribute.Value { return attribute.StringValue(text()) },
		func() attribute.Value { return attribute.BoolValue(rnd.IntN(2) == 0) },
		func() attribute.Value {
			return attribute.Int64Value([]int64{0, 1, -1, math.MinInt64, math.MaxInt64}[rnd.IntN(5)])
		},
		func() attribute.Value {
			return attribute.Float64Value([]float64{0, math.Copysign(0, -1), 1.5, math.Inf(1)}[rnd.IntN(4)])
		},
		func() attribute.Value { return attribute.StringSliceValue([]string{"a", "", text()}) },
		func() attribute.Value { return attribute.BoolSliceValue([]bool{true, false}) },
		func() attribute.Value { return attribute.Int64SliceValue([]int64{0, -5, 1 << 40}) },
		func() attribute.Value { return attribute.Float64SliceValue([]float64{}) },
		func() attribute.Value { return attribute.ByteSliceValue([]byte{0, 255}) },
		func() attribute.Value {
			return attribute.SliceValue(attribute.StringValue("x"), attribute.Int64Value(2))
		},
		func() attribute.Value {
			return attribute.MapValue(attribute.String("k", "v"), attribute.Bool("b", false))
		},
		func() attribute.Value { return attribute.Value{} },
	}
	attrs := func() (out []attribute.KeyValue) {
		for range rnd.IntN(6) {
			out = append(out, attribute.KeyValue{Key: attribute.Key("key" + text()), Value: values[rnd.IntN(len(values))]()})
		}
		return out
	}
	start := time.Unix(0, rnd.Int64N(2e18)-1e10)
	s := tracetest.SpanStub{Name: text(), SpanContext: at(), SpanKind: oteltrace.SpanKind(rnd.IntN(7)), StartTime: start, EndTime: start.Add(time.Duration(rnd.IntN(1e9))),
		Attributes: attrs(), DroppedAttributes: rnd.IntN(3), DroppedEvents: rnd.IntN(300), DroppedLinks: rnd.IntN(2), Resource: about, InstrumentationScope: scopes[rnd.IntN(len(scopes))],
		Status: sdktrace.Status{Code: codes.Code(rnd.IntN(3)), Description: text()}}
	if rnd.IntN(2) == 0 {
		s.Parent = at()
	}
	for range rnd.IntN(3) {
		s.Events = append(s.Events, sdktrace.Event{Name: text(), Attributes: attrs(), Time: start, DroppedAttributeCount: rnd.IntN(2)})
		s.Links = append(s.Links, sdktrace.Link{SpanContext: at(), Attributes: attrs(), DroppedAttributeCount: rnd.IntN(2)})
	}
	return s
}

// What a model or a tool says may be broken, and must not cost the spans beside it.
func TestExporter_SendsTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	got := sent(t, telemetry.NewExporter, tracetest.SpanStubs{{Name: "a\xffb", Attributes: []attribute.KeyValue{attribute.String("k\xfe", "v\xfd")}}})
	s := got.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0]
	if a := s.GetAttributes()[0]; s.GetName() != "a\uFFFDb" || a.GetKey() != "k\uFFFD" || a.GetValue().GetStringValue() != "v\uFFFD" {
		t.Errorf("the collector gets %v", s)
	}
}
