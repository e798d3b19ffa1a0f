package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/otlptest"
	"github.com/awaken-go/awaken/server/telemetry"
)

// wire is a client that keeps what would be sent.
type wire struct {
	mu       sync.Mutex
	requests []*tracepb.TracesData
	hold     chan struct{} // requests wait until it is closed; nil: they do not
	err      error
}

func (*wire) Start(context.Context) error { return nil }
func (*wire) Stop(context.Context) error  { return nil }
func (w *wire) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	data, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var got tracepb.TracesData
	if err := proto.Unmarshal(data, &got); err != nil {
		return err
	}
	if w.hold != nil {
		select {
		case <-w.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, &got)
	return w.err
}

// spans returns all spans, those of each scope in their order.
func (w *wire) spans() (out []*tracepb.Span) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.requests {
		for _, r := range d.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				out = append(out, s.GetSpans()...)
			}
		}
	}
	return out
}

var about = resource.NewWithAttributes("https://example.org/schema", attribute.String("service.name", "awaken"), attribute.Int("n", 3))

// open returns a provider and its client.
func open(t testing.TB, sampler sdktrace.Sampler, limits sdktrace.SpanLimits) (p oteltrace.TracerProvider, w *wire, flush func()) {
	t.Helper()
	w = new(wire)
	p, send, end, err := telemetry.NewProvider(t.Context(), w, about, sampler, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = end(context.WithoutCancel(t.Context())) })
	return p, w, func() {
		t.Helper()
		if err := send(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The same program with the provider of the SDK and its official exporter sends the same spans, except for the ids.
func TestProvider_SendsWhatTheSDKSends(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		limits := sdktrace.NewSpanLimits()
		if seed%4 == 0 {
			limits = sdktrace.SpanLimits{AttributeCountLimit: 3, AttributeValueLengthLimit: 5, EventCountLimit: 1, LinkCountLimit: 1, AttributePerEventCountLimit: 1, AttributePerLinkCountLimit: 1}
		}
		sampler := sdktrace.ParentBased(sdktrace.AlwaysSample())
		ours, got, flush := open(t, sampler, limits)
		var want wire
		exporter, err := otlptrace.New(t.Context(), &want)
		if err != nil {
			t.Fatal(err)
		}
		sdk := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithSampler(sampler), sdktrace.WithRawSpanLimits(limits))
		program(t.Context(), ours, rand.New(rand.NewPCG(seed, 2)))
		program(t.Context(), sdk, rand.New(rand.NewPCG(seed, 2)))
		flush()
		if err := sdk.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a, b := normal(got.requests[0]), normal(want.requests[0]); !proto.Equal(a, b) {
			t.Fatalf("seed %d: the provider sends\n%v\nand that of the SDK\n%v", seed, a, b)
		}
	}
}

// normal replaces ids by numbers, and orders what the official exporter does not.
func normal(d *tracepb.TracesData) *tracepb.TracesData {
	ids := map[string][]byte{"": nil}
	name := func(id []byte) []byte {
		if _, ok := ids[string(id)]; !ok {
			ids[string(id)] = fmt.Appendf(nil, "%d", len(ids))
		}
		return ids[string(id)]
	}
	for _, r := range d.GetResourceSpans() {
		slices.SortFunc(r.ScopeSpans, func(a, b *tracepb.ScopeSpans) int {
			return strings.Compare(a.GetScope().GetName(), b.GetScope().GetName())
		})
		for _, scope := range r.ScopeSpans {
			for _, s := range scope.Spans {
				s.TraceId, s.SpanId, s.ParentSpanId = name(s.TraceId), name(s.SpanId), name(s.ParentSpanId)
			}
		}
	}
	return d
}

// program makes a few spans.
func program(ctx context.Context, p oteltrace.TracerProvider, rnd *rand.Rand) {
	at := func() oteltrace.SpanContext {
		c := oteltrace.SpanContextConfig{TraceFlags: oteltrace.FlagsSampled, Remote: rnd.IntN(2) == 0}
		for i := range c.TraceID {
			c.TraceID[i] = byte(1 + rnd.IntN(255))
		}
		for i := range c.SpanID {
			c.SpanID[i] = byte(1 + rnd.IntN(255))
		}
		if rnd.IntN(2) == 0 {
			c.TraceState, _ = oteltrace.ParseTraceState("a=b,c=d")
		}
		return oteltrace.NewSpanContext(c)
	}
	text := func() string {
		return strings.Repeat([]string{"x", "ä", "漢", "x漢"}[rnd.IntN(4)], []int{0, 1, 3, 5, 40, 127, 128, 200, 20000}[rnd.IntN(9)])
	}
	values := []func() attribute.Value{
		func() attribute.Value { return attribute.StringValue(text()) },
		func() attribute.Value { return attribute.BoolValue(rnd.IntN(2) == 0) },
		func() attribute.Value {
			return attribute.Int64Value([]int64{0, 1, -1, math.MinInt64, math.MaxInt64}[rnd.IntN(5)])
		},
		func() attribute.Value {
			return attribute.Float64Value([]float64{0, math.Copysign(0, -1), 1.5, math.Inf(1)}[rnd.IntN(4)])
		},
		func() attribute.Value { return attribute.BoolSliceValue([]bool{true, false}) },
		func() attribute.Value { return attribute.Int64SliceValue([]int64{0, -5, 1 << 40}) },
		func() attribute.Value { return attribute.Float64SliceValue([]float64{}) },
		func() attribute.Value { return attribute.StringSliceValue([]string{"a", "", text()}) },
		func() attribute.Value { return attribute.ByteSliceValue([]byte(text())) },
		func() attribute.Value {
			return attribute.SliceValue(attribute.StringValue(text()), attribute.StringSliceValue([]string{text()}), attribute.IntValue(1))
		},
		func() attribute.Value {
			return attribute.MapValue(attribute.String("a", text()), attribute.Slice("b", attribute.StringValue(text())))
		},
	}
	attrs := func() (out []attribute.KeyValue) {
		for range rnd.IntN(6) {
			out = append(out, attribute.KeyValue{Key: attribute.Key(fmt.Sprint("key", rnd.IntN(8))), Value: values[rnd.IntN(len(values))]()})
		}
		if rnd.IntN(5) == 0 {
			out = append(out, attribute.String("", "not valid"))
		}
		return out
	}
	now := time.Unix(1_700_000_000, 5)
	for range 1 + rnd.IntN(4) {
		opts := []oteltrace.SpanStartOption{oteltrace.WithTimestamp(now), oteltrace.WithSpanKind(oteltrace.SpanKind(rnd.IntN(7))), oteltrace.WithAttributes(attrs()...)}
		if rnd.IntN(3) == 0 {
			ctx = oteltrace.ContextWithSpanContext(ctx, at())
		}
		if rnd.IntN(5) == 0 {
			opts = append(opts, oteltrace.WithNewRoot())
		}
		for range rnd.IntN(3) {
			opts = append(opts, oteltrace.WithLinks(oteltrace.Link{SpanContext: at(), Attributes: attrs()}))
		}
		inner, span := p.Tracer([]string{"a", "b"}[rnd.IntN(2)], oteltrace.WithInstrumentationVersion("1"), oteltrace.WithSchemaURL("https://example.org/a")).Start(ctx, "name", opts...)
		span.SetAttributes(attrs()...)
		span.SetAttributes(attrs()...)
		for range rnd.IntN(3) {
			span.AddEvent("event", oteltrace.WithTimestamp(now), oteltrace.WithAttributes(attrs()...))
		}
		if rnd.IntN(3) == 0 {
			span.RecordError(errors.New("no"), oteltrace.WithTimestamp(now))
		}
		if rnd.IntN(3) == 0 {
			span.SetName(text())
		}
		span.SetStatus(codes.Code(rnd.IntN(3)), "why")
		span.SetStatus(codes.Code(rnd.IntN(3)), "or not")
		span.End(oteltrace.WithTimestamp(now.Add(time.Duration(rnd.IntN(1e9)))))
		span.SetName("too late")
		span.SetAttributes(attribute.String("too", "late"))
		span.AddEvent("too late")
		span.End()
		ctx = inner
	}
}

func TestProvider_RecordsWhatTheSamplerSays(t *testing.T) {
	t.Parallel()
	p, w, flush := open(t, sdktrace.ParentBased(sdktrace.NeverSample()), sdktrace.NewSpanLimits())
	ctx, span := p.Tracer("t").Start(t.Context(), "not recorded")
	if span.IsRecording() || span.SpanContext().IsSampled() || !span.SpanContext().IsValid() {
		t.Errorf("a span that is not recorded is %v", span.SpanContext())
	}
	_, below := p.Tracer("t").Start(ctx, "below")
	if below.IsRecording() || below.SpanContext().TraceID() != span.SpanContext().TraceID() {
		t.Error("what is below it is recorded, or in another trace")
	}
	below.End()
	span.End()
	flush()
	if got := w.spans(); len(got) != 0 {
		t.Errorf("the collector gets %v", got)
	}
}

// What a model or a tool says may be broken, and must not cost the spans beside it.
func TestProvider_SendsTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	p, w, flush := open(t, sdktrace.AlwaysSample(), sdktrace.NewSpanLimits())
	_, span := p.Tracer("t").Start(t.Context(), "a\xffb", oteltrace.WithAttributes(attribute.String("k\xfe", "v\xfd")))
	span.End()
	flush()
	s := w.spans()[0]
	if a := s.GetAttributes()[0]; s.GetName() != "a\uFFFDb" || a.GetKey() != "k\uFFFD" || a.GetValue().GetStringValue() != "v\uFFFD" {
		t.Errorf("the collector gets %v", s)
	}
}

// The limit is of characters, in lists too, as the SDK counts.
func TestProvider_LimitsTheLengthOfTexts(t *testing.T) {
	t.Parallel()
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = 3
	p, w, flush := open(t, sdktrace.AlwaysSample(), limits)
	_, span := p.Tracer("t").Start(t.Context(), "x", oteltrace.WithAttributes(
		attribute.String("text", "äöüß"), attribute.String("whole", "äöü"), attribute.String("broken", "a\xffbcd"), attribute.StringSlice("list", []string{"漢字漢字", "ab"})))
	span.End()
	flush()
	got := w.spans()[0].GetAttributes()
	for i, want := range []string{"äöü", "äöü", "abc"} {
		if text := got[i].GetValue().GetStringValue(); text != want {
			t.Errorf("%s is %q, want %q", got[i].GetKey(), text, want)
		}
	}
	if list := got[3].GetValue().GetArrayValue().GetValues(); list[0].GetStringValue() != "漢字漢" || list[1].GetStringValue() != "ab" {
		t.Errorf("the list is %v", list)
	}
}

func TestQueue_SendsFullRequestsAtOnceAndOthersAfterTheDelay(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		p, w, _ := open(t, sdktrace.AlwaysSample(), sdktrace.NewSpanLimits())
		make1 := func(n int) {
			for range n {
				_, span := p.Tracer("t").Start(t.Context(), "x")
				span.End()
			}
			synctest.Wait()
		}
		make1(511)
		if n := len(w.spans()); n != 0 {
			t.Errorf("%d of 511 spans were sent at once", n)
		}
		make1(1)
		if n := len(w.spans()); n != 512 {
			t.Errorf("%d of 512 spans were sent", n)
		}
		make1(3)
		time.Sleep(6 * time.Second)
		if n := len(w.spans()); n != 515 {
			t.Errorf("%d of 515 spans were sent after the delay", n)
		}
	})
}

func TestQueue_DropsSpansInsteadOfMakingRunsWait(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		p, w, flush := open(t, sdktrace.AlwaysSample(), sdktrace.NewSpanLimits())
		w.hold = make(chan struct{})
		for range 10_000 {
			_, span := p.Tracer("t").Start(t.Context(), "x", oteltrace.WithAttributes(attribute.String("k", strings.Repeat("v", 100))))
			span.End()
		}
		synctest.Wait()
		close(w.hold)
		flush()
		if n := len(w.spans()); n < 2048 || n > 2048+2*512 {
			t.Errorf("%d of 10,000 spans were kept for a collector that hangs, want 2,048 and those of the requests that had begun", n)
		}
		for _, r := range w.requests {
			if size := proto.Size(r); size > 2<<20 {
				t.Errorf("a request has %d bytes", size)
			}
		}
	})
}

func TestQueue_EndsWithWhatItHas(t *testing.T) {
	t.Parallel()
	var w wire
	p, _, end, err := telemetry.NewProvider(t.Context(), &w, about, sdktrace.AlwaysSample(), sdktrace.NewSpanLimits())
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.Tracer("t").Start(t.Context(), "x")
	span.End()
	w.err = errors.New("refused")
	if err := end(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the end says %v", err)
	}
	_, late := p.Tracer("t").Start(t.Context(), "late")
	late.End()
	if err := end(t.Context()); err != nil || len(w.spans()) != 1 {
		t.Errorf("a second end says %v, and %d spans were sent", err, len(w.spans()))
	}
}

// The end of the program does not wait for a collector that hangs, and leaves no goroutine behind: the bubble would not end.
func TestQueue_EndsAlthoughTheCollectorHangs(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		w := wire{hold: make(chan struct{})}
		p, _, end, err := telemetry.NewProvider(t.Context(), &w, about, sdktrace.AlwaysSample(), sdktrace.NewSpanLimits())
		if err != nil {
			t.Fatal(err)
		}
		for range 600 { // a request, which hangs, and a rest
			_, span := p.Tracer("t").Start(t.Context(), "x")
			span.End()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := end(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the end says %v", err)
		}
		close(w.hold)
		synctest.Wait()
		if n := len(w.spans()); n != 600 {
			t.Errorf("%d of 600 spans were sent when the collector answered", n)
		}
	})
}

// not parallel: the environment belongs to the process.
func TestOpen_ReadsSamplersAndSizes(t *testing.T) {
	c := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	for _, tt := range []struct{ name, value, want string }{
		{"OTEL_TRACES_SAMPLER", "sometimes", `OTEL_TRACES_SAMPLER is "sometimes", want always_on, always_off, traceidratio`},
		{"OTEL_TRACES_SAMPLER_ARG", "1.5", `OTEL_TRACES_SAMPLER_ARG is "1.5", want a number from 0 to 1`},
		{"OTEL_TRACES_SAMPLER_ARG", "NaN", `OTEL_TRACES_SAMPLER_ARG is "NaN", want a number from 0 to 1`},
		{"OTEL_BSP_SCHEDULE_DELAY", "0", `OTEL_BSP_SCHEDULE_DELAY is "0", want a number above 0`},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "many", `OTEL_BSP_MAX_QUEUE_SIZE is "many"`},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
		t.Setenv(tt.name, tt.value)
		if _, err := telemetry.Open(t.Context(), "1", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v, want %q", tt.name, tt.value, err, tt.want)
		}
		t.Setenv(tt.name, "")
	}
	for sampler, want := range map[string]bool{"": true, "always_on": true, "always_off": false, "traceidratio": false, "parentbased_always_on": true, "parentbased_always_off": false, "parentbased_traceidratio": false} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
		tel, err := telemetry.Open(t.Context(), "1", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, span := tel.Tracer.Tracer("t").Start(t.Context(), "x"); span.IsRecording() != want {
			t.Errorf("with the sampler %q a span is recorded: %v, want %v", sampler, span.IsRecording(), want)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
