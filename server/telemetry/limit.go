package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// shortened returns a value whose texts have at most n characters, at any depth. A limit below 0 is none.
func shortened(v attribute.Value, n int) attribute.Value {
	if n < 0 {
		return v
	}
	switch v.Type() {
	case attribute.STRING:
		return attribute.StringValue(first(v.AsString(), n))
	case attribute.BYTESLICE:
		data := v.AsByteSlice()
		return attribute.ByteSliceValue(data[:min(n, len(data))])
	case attribute.STRINGSLICE:
		list := v.AsStringSlice()
		for i := range list {
			list[i] = first(list[i], n)
		}
		return attribute.StringSliceValue(list)
	case attribute.SLICE:
		list := v.AsSlice()
		for i := range list {
			list[i] = shortened(list[i], n)
		}
		return attribute.SliceValue(list...)
	case attribute.MAP:
		list := v.AsMap()
		for i := range list {
			list[i].Value = shortened(list[i].Value, n)
		}
		return attribute.MapValue(list...)
	}
	return v
}

// first returns the first n characters of a text. One that may be too long loses what is not UTF-8.
func first(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text, "")
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
