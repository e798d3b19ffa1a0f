package telemetry

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// provider makes spans for a collector, in place of the provider of the SDK. A span of the SDK is six objects of 2 KB until it is sent, and its exporter makes
// four more for each attribute; with those, recording every run of a busy server cost half as much CPU as the runs. A span of this provider is one object, and its bytes
// in the message that is sent. Samplers and limits are those of the SDK; the client that sends is that of the official exporters.
type provider struct {
	embedded.TracerProvider
	sampler sdktrace.Sampler
	limits  sdktrace.SpanLimits
	queue   *queue
	tracers sync.Map // of *tracer by instrumentation.Scope
}

// Tracer implements [oteltrace.TracerProvider].
func (p *provider) Tracer(name string, opts ...oteltrace.TracerOption) oteltrace.Tracer {
	c := oteltrace.NewTracerConfig(opts...)
	scope := instrumentation.Scope{Name: name, Version: c.InstrumentationVersion(), SchemaURL: c.SchemaURL(), Attributes: c.InstrumentationAttributes()}
	t, _ := p.tracers.LoadOrStore(scope, &tracer{p: p, scope: scope})
	return t.(*tracer)
}

// tracer makes the spans of one scope.
type tracer struct {
	embedded.Tracer
	p     *provider
	scope instrumentation.Scope
}

// Start implements [oteltrace.Tracer].
func (t *tracer) Start(ctx context.Context, name string, opts ...oteltrace.SpanStartOption) (context.Context, oteltrace.Span) {
	c := oteltrace.NewSpanStartConfig(opts...)
	if c.NewRoot() {
		ctx = oteltrace.ContextWithSpanContext(ctx, oteltrace.SpanContext{})
	}
	parent := oteltrace.SpanContextFromContext(ctx)
	at := oteltrace.SpanContextConfig{TraceID: parent.TraceID()}
	for !at.TraceID.IsValid() {
		binary.NativeEndian.PutUint64(at.TraceID[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(at.TraceID[8:], rand.Uint64())
	}
	for !at.SpanID.IsValid() {
		binary.NativeEndian.PutUint64(at.SpanID[:], rand.Uint64())
	}
	said := t.p.sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: ctx, TraceID: at.TraceID, Name: name, Kind: c.SpanKind(), Attributes: c.Attributes(), Links: c.Links()})
	at.TraceState = said.Tracestate
	if said.Decision != sdktrace.RecordAndSample {
		at.TraceFlags = parent.TraceFlags() &^ oteltrace.FlagsSampled
		ctx = oteltrace.ContextWithSpanContext(ctx, oteltrace.NewSpanContext(at))
		return ctx, oteltrace.SpanFromContext(ctx)
	}
	at.TraceFlags = parent.TraceFlags() | oteltrace.FlagsSampled
	s := &span{t: t, at: oteltrace.NewSpanContext(at), open: opens.Get().(*open)}
	s.parent, s.kind, s.name, s.began = parent, oteltrace.ValidateSpanKind(c.SpanKind()), name, c.Timestamp()
	if s.began.IsZero() {
		s.began = time.Now()
	}
	for _, l := range c.Links() {
		s.AddLink(l)
	}
	s.SetAttributes(said.Attributes...)
	s.SetAttributes(c.Attributes()...)
	return oteltrace.ContextWithSpan(ctx, s), s
}

// samplerOf returns the sampler that the environment names.
func samplerOf() (sdktrace.Sampler, error) {
	const name, argument = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	share := sdktrace.AlwaysSample()
	which := strings.ToLower(strings.TrimSpace(os.Getenv(name)))
	if text := strings.TrimSpace(os.Getenv(argument)); text != "" && strings.HasSuffix(which, "traceidratio") {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("%s is %q, want a number from 0 to 1", argument, text)
		}
		share = sdktrace.TraceIDRatioBased(v)
	}
	switch which {
	case "", "parentbased_always_on":
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), nil
	case "always_on":
		return sdktrace.AlwaysSample(), nil
	case "always_off":
		return sdktrace.NeverSample(), nil
	case "parentbased_always_off":
		return sdktrace.ParentBased(sdktrace.NeverSample()), nil
	case "traceidratio":
		return share, nil
	case "parentbased_traceidratio":
		return sdktrace.ParentBased(share), nil
	}
	return nil, fmt.Errorf("%s is %q, want always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio", name, which)
}
