package telemetry

import (
	"context"
	"fmt"
	"math"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// exporter sends spans with a client of OpenTelemetry's exporters, which connects, retries and reads the environment. It encodes the
// spans itself: the exporter of that client makes four objects for each attribute, which are more than the span itself
// and are garbage at once. The messages are handed over with the encoded spans as fields that their types do not know, which are encoded as they are.
//
// ExportSpans is not called concurrently, as the interface promises.
type exporter struct {
	client otlptrace.Client
	buf    []byte // of the encoded spans
}

// keptBuffer is the size of a buffer that is kept for the next spans.
const keptBuffer = 1 << 20

// newExporter starts the client.
func newExporter(ctx context.Context, client otlptrace.Client) (*exporter, error) {
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return &exporter{client: client}, nil
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	about := spans[0].Resource() // all spans of a provider have the same
	out := &tracepb.ResourceSpans{Resource: resourceOf(about), SchemaUrl: about.SchemaURL()}
	buf := e.buf[:0]
	done := make(map[instrumentation.Scope]bool, 2)
	for _, first := range spans {
		scope := first.InstrumentationScope()
		if done[scope] {
			continue
		}
		done[scope] = true
		from := len(buf)
		for _, s := range spans {
			if s.InstrumentationScope() == scope {
				buf = appendSpan(buf, s)
			}
		}
		of := &tracepb.ScopeSpans{Scope: scopeOf(scope), SchemaUrl: scope.SchemaURL}
		of.ProtoReflect().SetUnknown(buf[from:len(buf):len(buf)])
		out.ScopeSpans = append(out.ScopeSpans, of)
	}
	err := e.client.UploadTraces(ctx, []*tracepb.ResourceSpans{out})
	if e.buf = buf; cap(buf) > keptBuffer {
		e.buf = nil
	}
	if err != nil {
		return fmt.Errorf("traces export: %w", err)
	}
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (e *exporter) Shutdown(ctx context.Context) error { return e.client.Stop(ctx) }

func resourceOf(r *resource.Resource) *resourcepb.Resource {
	out := new(resourcepb.Resource)
	out.ProtoReflect().SetUnknown(appendAttributes(nil, 1, r.Attributes()))
	return out
}

func scopeOf(s instrumentation.Scope) *commonpb.InstrumentationScope {
	if s.Name == "" && s.Version == "" && s.Attributes.Len() == 0 {
		return nil
	}
	out := &commonpb.InstrumentationScope{Name: s.Name, Version: s.Version}
	out.ProtoReflect().SetUnknown(appendAttributes(nil, 3, s.Attributes.ToSlice()))
	return out
}

// appendSpan appends a span as a field of ScopeSpans. The numbers are those of opentelemetry/proto/trace/v1/trace.proto.
func appendSpan(buf []byte, s sdktrace.ReadOnlySpan) []byte {
	buf, mark := begin(buf, 2)
	at, parent, status := s.SpanContext(), s.Parent(), s.Status()
	buf = appendPosition(buf, at)
	if id := parent.SpanID(); id.IsValid() {
		buf = appendBytes(buf, 4, id[:])
	}
	buf = appendText(buf, 5, s.Name())
	buf = appendUint(buf, 6, spanKind(s.SpanKind()))
	buf = appendFixed(buf, 7, s.StartTime().UnixNano())
	buf = appendFixed(buf, 8, s.EndTime().UnixNano())
	buf = appendAttributes(buf, 9, s.Attributes())
	buf = appendUint(buf, 10, clamp(s.DroppedAttributes()))
	for _, e := range s.Events() {
		var event int
		buf, event = begin(buf, 11)
		buf = appendFixed(buf, 1, e.Time.UnixNano())
		buf = appendText(buf, 2, e.Name)
		buf = appendAttributes(buf, 3, e.Attributes)
		buf = end(appendUint(buf, 4, clamp(e.DroppedAttributeCount)), event)
	}
	buf = appendUint(buf, 12, clamp(s.DroppedEvents()))
	for _, l := range s.Links() {
		var link int
		buf, link = begin(buf, 13)
		id, span := l.SpanContext.TraceID(), l.SpanContext.SpanID()
		buf = appendBytes(appendBytes(buf, 1, id[:]), 2, span[:])
		buf = appendAttributes(buf, 4, l.Attributes)
		buf = appendUint(buf, 5, clamp(l.DroppedAttributeCount))
		buf = end(appendFlags(buf, 6, l.SpanContext.TraceFlags(), l.SpanContext), link)
	}
	buf = appendUint(buf, 14, clamp(s.DroppedLinks()))
	buf, inner := begin(buf, 15)
	buf = appendText(buf, 2, status.Description)
	switch status.Code {
	case codes.Ok:
		buf = appendUint(buf, 3, uint64(tracepb.Status_STATUS_CODE_OK))
	case codes.Error:
		buf = appendUint(buf, 3, uint64(tracepb.Status_STATUS_CODE_ERROR))
	}
	buf = end(buf, inner)
	return end(appendFlags(buf, 16, at.TraceFlags(), parent), mark)
}

// appendPosition appends the ids and the state of a span.
func appendPosition(buf []byte, at oteltrace.SpanContext) []byte {
	id, span := at.TraceID(), at.SpanID()
	buf = appendBytes(appendBytes(buf, 1, id[:]), 2, span[:])
	return appendText(buf, 3, at.TraceState().String())
}

// appendFlags appends flags with the note whether that is known which they are about is remote: it is.
func appendFlags(buf []byte, field protowire.Number, flags oteltrace.TraceFlags, parent oteltrace.SpanContext) []byte {
	v := uint32(flags) | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if parent.IsRemote() {
		v |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	return protowire.AppendFixed32(protowire.AppendTag(buf, field, protowire.Fixed32Type), v)
}

func spanKind(k oteltrace.SpanKind) uint64 {
	switch k {
	case oteltrace.SpanKindInternal:
		return uint64(tracepb.Span_SPAN_KIND_INTERNAL)
	case oteltrace.SpanKindClient:
		return uint64(tracepb.Span_SPAN_KIND_CLIENT)
	case oteltrace.SpanKindServer:
		return uint64(tracepb.Span_SPAN_KIND_SERVER)
	case oteltrace.SpanKindProducer:
		return uint64(tracepb.Span_SPAN_KIND_PRODUCER)
	case oteltrace.SpanKindConsumer:
		return uint64(tracepb.Span_SPAN_KIND_CONSUMER)
	}
	return uint64(tracepb.Span_SPAN_KIND_UNSPECIFIED)
}

// appendAttributes appends each attribute as the given field.
func appendAttributes(buf []byte, field protowire.Number, attrs []attribute.KeyValue) []byte {
	for i := range attrs {
		var mark int
		buf, mark = begin(buf, field)
		buf = appendText(buf, 1, string(attrs[i].Key))
		buf = end(appendValue(buf, 2, attrs[i].Value), mark)
	}
	return buf
}

// appendValue appends a value as the given field.
func appendValue(buf []byte, field protowire.Number, v attribute.Value) []byte {
	buf, mark := begin(buf, field)
	switch v.Type() {
	case attribute.BOOL:
		buf = protowire.AppendVarint(protowire.AppendTag(buf, 2, protowire.VarintType), protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		buf = protowire.AppendVarint(protowire.AppendTag(buf, 3, protowire.VarintType), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		buf = protowire.AppendFixed64(protowire.AppendTag(buf, 4, protowire.Fixed64Type), math.Float64bits(v.AsFloat64()))
	case attribute.STRING:
		buf = protowire.AppendString(protowire.AppendTag(buf, 1, protowire.BytesType), valid(v.AsString()))
	case attribute.BYTESLICE:
		buf = protowire.AppendBytes(protowire.AppendTag(buf, 7, protowire.BytesType), v.AsByteSlice())
	case attribute.BOOLSLICE:
		buf = appendList(buf, v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		buf = appendList(buf, v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		buf = appendList(buf, v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		buf = appendList(buf, v.AsStringSlice(), attribute.StringValue)
	case attribute.SLICE:
		buf = appendList(buf, v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.MAP:
		var list int
		buf, list = begin(buf, 6)
		buf = end(appendAttributes(buf, 1, v.AsMap()), list)
	}
	return end(buf, mark)
}

// appendList appends a list of values.
func appendList[T any](buf []byte, list []T, of func(T) attribute.Value) []byte {
	buf, mark := begin(buf, 5)
	for _, v := range list {
		buf = appendValue(buf, 1, of(v))
	}
	return end(buf, mark)
}

// begin appends the beginning of a message with one byte for its length; end completes it.
func begin(buf []byte, field protowire.Number) (_ []byte, mark int) {
	buf = append(protowire.AppendTag(buf, field, protowire.BytesType), 0)
	return buf, len(buf)
}

// end writes the length of the message that began at mark. One that is longer than a byte can say is moved.
func end(buf []byte, mark int) []byte {
	n := len(buf) - mark
	if n < 0x80 {
		buf[mark-1] = byte(n)
		return buf
	}
	var length [10]byte
	prefix := protowire.AppendVarint(length[:0], uint64(n))
	buf = append(buf, prefix[1:]...) // room
	copy(buf[mark+len(prefix)-1:], buf[mark:mark+n])
	copy(buf[mark-1:], prefix)
	return buf
}

// The functions below leave out zero values, as encodings of proto3 do.

func appendBytes(buf []byte, field protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(buf, field, protowire.BytesType), b)
}

func appendText(buf []byte, field protowire.Number, text string) []byte {
	if text == "" {
		return buf
	}
	return protowire.AppendString(protowire.AppendTag(buf, field, protowire.BytesType), valid(text))
}

// valid returns a text that a message may have. Tools and models may say anything, and a collector refuses all spans of a request for one that is not UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func appendUint(buf []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return buf
	}
	return protowire.AppendVarint(protowire.AppendTag(buf, field, protowire.VarintType), v)
}

func appendFixed(buf []byte, field protowire.Number, v int64) []byte {
	if v <= 0 {
		return buf
	}
	return protowire.AppendFixed64(protowire.AppendTag(buf, field, protowire.Fixed64Type), uint64(v))
}

func clamp(n int) uint64 { return uint64(min(max(n, 0), math.MaxUint32)) }
