package telemetry

import (
	"math"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	oteltrace "go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields are those of opentelemetry/proto/trace/v1/trace.proto and of the files that it imports.

// resourceOf returns the message of what the spans are of.
func resourceOf(r *resource.Resource) *resourcepb.Resource {
	out := new(resourcepb.Resource)
	out.ProtoReflect().SetUnknown(appendAttributes(nil, 1, r.Attributes()))
	return out
}

// scopeOf returns the message of what has made spans.
func scopeOf(s instrumentation.Scope) *commonpb.InstrumentationScope {
	if s == (instrumentation.Scope{}) {
		return nil
	}
	out := &commonpb.InstrumentationScope{Name: s.Name, Version: s.Version}
	out.ProtoReflect().SetUnknown(appendAttributes(nil, 3, s.Attributes.ToSlice()))
	return out
}

// appendSpan appends a span that has ended, as a field of ScopeSpans.
func appendSpan(buf []byte, s *open) []byte {
	buf, mark := begin(buf, 2)
	buf = appendIDs(buf, s.at)
	buf = appendText(buf, 3, s.at.TraceState().String())
	if id := s.parent.SpanID(); id.IsValid() {
		buf = appendBytes(buf, 4, id[:])
	}
	buf = appendText(buf, 5, s.name)
	buf = appendUint(buf, 6, spanKind(s.kind))
	buf = appendFixed(buf, 7, s.began.UnixNano())
	buf = appendFixed(buf, 8, s.over.UnixNano())
	buf = appendAttributes(buf, 9, s.attrs)
	buf = appendUint(buf, 10, uint64(s.dropped))
	if s.extras != nil {
		buf = s.extras.append(buf)
	}
	buf, inner := begin(buf, 15)
	buf = appendText(buf, 2, s.why)
	switch s.status {
	case codes.Ok:
		buf = appendUint(buf, 3, uint64(tracepb.Status_STATUS_CODE_OK))
	case codes.Error:
		buf = appendUint(buf, 3, uint64(tracepb.Status_STATUS_CODE_ERROR))
	}
	buf = end(buf, inner)
	return end(appendFlags(buf, 16, s.at.TraceFlags(), s.parent), mark)
}

// append appends events and links.
func (x *extras) append(buf []byte) []byte {
	for _, e := range x.events {
		var mark int
		buf, mark = begin(buf, 11)
		buf = appendFixed(buf, 1, e.Time.UnixNano())
		buf = appendText(buf, 2, e.Name)
		buf = appendAttributes(buf, 3, e.Attributes)
		buf = end(appendUint(buf, 4, uint64(e.DroppedAttributeCount)), mark)
	}
	buf = appendUint(buf, 12, uint64(x.droppedEvents))
	for _, l := range x.links {
		var mark int
		buf, mark = begin(buf, 13)
		buf = appendIDs(buf, l.SpanContext)
		buf = appendAttributes(buf, 4, l.Attributes)
		buf = appendUint(buf, 5, uint64(l.DroppedAttributeCount))
		buf = end(appendFlags(buf, 6, l.SpanContext.TraceFlags(), l.SpanContext), mark)
	}
	return appendUint(buf, 14, uint64(x.droppedLinks))
}

// appendIDs appends the ids of a span.
func appendIDs(buf []byte, at oteltrace.SpanContext) []byte {
	id, span := at.TraceID(), at.SpanID()
	return appendBytes(appendBytes(buf, 1, id[:]), 2, span[:])
}

// appendFlags appends flags, and whether parent is of another process, which is always known.
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
		buf = end(appendValue(buf, 2, &attrs[i].Value), mark)
	}
	return buf
}

// appendValue appends a value as the given field.
func appendValue(buf []byte, field protowire.Number, v *attribute.Value) []byte {
	buf, mark := begin(buf, field)
	switch v.Type() {
	case attribute.BOOL:
		buf = protowire.AppendVarint(appendTag(buf, 2, protowire.VarintType), protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		buf = protowire.AppendVarint(appendTag(buf, 3, protowire.VarintType), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		buf = protowire.AppendFixed64(appendTag(buf, 4, protowire.Fixed64Type), math.Float64bits(v.AsFloat64()))
	case attribute.STRING:
		buf = appendString(buf, 1, v.AsString())
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
		buf = appendValue(buf, 1, new(of(v)))
	}
	return end(buf, mark)
}

// begin appends the beginning of a message with one byte for its length; end completes it.
func begin(buf []byte, field protowire.Number) (_ []byte, mark int) {
	buf = append(appendTag(buf, field, protowire.BytesType), 0)
	return buf, len(buf)
}

// appendTag is [protowire.AppendTag] for numbers below 16, which almost all are: one byte.
func appendTag(buf []byte, field protowire.Number, kind protowire.Type) []byte {
	return append(buf, byte(field)<<3|byte(kind))
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
	return appendString(buf, field, text)
}

func appendString(buf []byte, field protowire.Number, text string) []byte {
	text = valid(text)
	buf = appendTag(buf, field, protowire.BytesType)
	if len(text) < 0x80 {
		return append(append(buf, byte(len(text))), text...)
	}
	return protowire.AppendString(buf, text)
}

// valid returns a text that a message may have. Tools and models may say anything, and a collector refuses all spans of a request for one that is not UTF-8.
func valid(text string) string {
	if utf8.ValidString(text) { // much faster than what repairs a text
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

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
