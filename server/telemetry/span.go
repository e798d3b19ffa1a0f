package telemetry

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// span is a span that is recorded. It is safe for concurrent use. After its end it has only its position.
type span struct {
	embedded.Span
	t  *tracer
	at oteltrace.SpanContext

	mu    sync.Mutex
	*open // nil after the end
}

// open holds a span until it is sent. Its memory is reused.
type open struct {
	t           *tracer
	at, parent  oteltrace.SpanContext
	kind        oteltrace.SpanKind
	name        string
	began, over time.Time
	attrs       []attribute.KeyValue
	dropped     int
	status      codes.Code
	why         string
	extras      *extras
}

// extras has the fields that few spans have.
type extras struct {
	events                      []sdktrace.Event
	links                       []sdktrace.Link
	droppedEvents, droppedLinks int
}

var opens = sync.Pool{New: func() any { return new(open) }}

// keptAttributes is the length of a list of attributes that is used again, at most.
const keptAttributes = 64

// End implements [oteltrace.Span].
func (s *span) End(opts ...oteltrace.SpanEndOption) {
	c := oteltrace.NewSpanEndConfig(opts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return
	}
	if s.over = c.Timestamp(); s.over.IsZero() {
		s.over = time.Now()
	}
	was := s.open
	s.open = nil
	was.t, was.at = s.t, s.at
	s.t.p.queue.add(was)
}

// release gives the memory to others.
func (o *open) release() {
	if clear(o.attrs); cap(o.attrs) > keptAttributes {
		o.attrs = nil
	}
	*o = open{attrs: o.attrs[:0]}
	opens.Put(o)
}

// SetAttributes implements [oteltrace.Span]. It does not keep list.
func (s *span) SetAttributes(list ...attribute.KeyValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil || len(list) == 0 {
		return
	}
	var dropped int
	s.attrs, dropped = with(slices.Grow(s.attrs, len(list)), list, s.t.p.limits.AttributeCountLimit, s.t.p.limits.AttributeValueLengthLimit)
	s.dropped += dropped
}

// with adds attributes to those that a span has: one replaces another of the same key, and those beyond the limit are dropped. A limit below 0 is none.
func with(attrs, list []attribute.KeyValue, limit, length int) (_ []attribute.KeyValue, dropped int) {
	for i := range list {
		if !list[i].Valid() {
			dropped++
			continue
		}
		at := 0
		for at < len(attrs) && attrs[at].Key != list[i].Key {
			at++
		}
		switch {
		case at < len(attrs):
			attrs[at] = list[i]
		case limit >= 0 && len(attrs) >= limit:
			dropped++
			continue
		default:
			attrs = append(attrs, list[i])
		}
		if length >= 0 {
			attrs[at].Value = shortened(list[i].Value, length)
		}
	}
	return attrs, dropped
}

// AddEvent implements [oteltrace.Span].
func (s *span) AddEvent(name string, opts ...oteltrace.EventOption) {
	c := oteltrace.NewEventConfig(opts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, limits := s.more(), &s.t.p.limits; x != nil {
		attrs, dropped := cut(c.Attributes(), limits.AttributePerEventCountLimit)
		x.events = latest(x.events, sdktrace.Event{Name: name, Time: c.Timestamp(), Attributes: attrs, DroppedAttributeCount: dropped}, limits.EventCountLimit, &x.droppedEvents)
	}
}

// AddLink implements [oteltrace.Span].
func (s *span) AddLink(l oteltrace.Link) {
	if !l.SpanContext.IsValid() && len(l.Attributes) == 0 && l.SpanContext.TraceState().Len() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, limits := s.more(), &s.t.p.limits; x != nil {
		attrs, dropped := cut(l.Attributes, limits.AttributePerLinkCountLimit)
		x.links = latest(x.links, sdktrace.Link{SpanContext: l.SpanContext, Attributes: attrs, DroppedAttributeCount: dropped}, limits.LinkCountLimit, &x.droppedLinks)
	}
}

// latest appends to a list that keeps its latest elements. A limit below 0 is none.
func latest[T any](list []T, v T, limit int, dropped *int) []T {
	if limit == 0 {
		*dropped++
		return list
	}
	if limit > 0 && len(list) == limit {
		list = append(list[:0], list[1:]...)
		*dropped++
	}
	return append(list, v)
}

// cut returns a copy of the first attributes.
func cut(list []attribute.KeyValue, limit int) (_ []attribute.KeyValue, dropped int) {
	if limit >= 0 && len(list) > limit {
		dropped = len(list) - limit
		list = list[:limit]
	}
	return slices.Clone(list), dropped
}

// more returns the extras of a span that has not ended, or nil.
func (s *span) more() *extras {
	if s.open == nil {
		return nil
	}
	if s.extras == nil {
		s.extras = new(extras)
	}
	return s.extras
}

// RecordError implements [oteltrace.Span].
func (s *span) RecordError(err error, opts ...oteltrace.EventOption) {
	if err == nil {
		return
	}
	kind := reflect.TypeOf(err)
	name := kind.String()
	if kind.PkgPath() != "" {
		name = fmt.Sprintf("%s.%s", kind.PkgPath(), kind.Name())
	}
	c := oteltrace.NewEventConfig(opts...)
	opts = append(opts, oteltrace.WithAttributes(semconv.ExceptionType(name), semconv.ExceptionMessage(err.Error())))
	if c.StackTrace() {
		opts = append(opts, oteltrace.WithAttributes(semconv.ExceptionStacktrace(string(debug.Stack()))))
	}
	s.AddEvent(semconv.ExceptionEventName, opts...)
}

// SetStatus implements [oteltrace.Span].
func (s *span) SetStatus(code codes.Code, description string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil || s.status > code {
		return
	}
	if s.status, s.why = code, ""; code == codes.Error {
		s.why = description
	}
}

// SetName implements [oteltrace.Span].
func (s *span) SetName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		s.name = name
	}
}

// IsRecording implements [oteltrace.Span].
func (s *span) IsRecording() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open != nil
}

// SpanContext implements [oteltrace.Span].
func (s *span) SpanContext() oteltrace.SpanContext { return s.at }

// TracerProvider implements [oteltrace.Span].
func (s *span) TracerProvider() oteltrace.TracerProvider { return s.t.p }
