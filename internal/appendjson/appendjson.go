// Package appendjson appends JSON to buffers, byte for byte as json.Marshal writes it, but
// without reflection or allocations of its own.
//
// Objects are written field by field. The caller passes a field's name as it appears in the
// output, with a comma before it and a colon after it; [Close] turns the first comma into a
// brace:
//
//	start := len(buf)
//	buf = appendjson.Text(buf, `,"id":`, call.ID)
//	buf = appendjson.TextIf(buf, `,"title":`, call.Title)
//	return appendjson.Close(buf, start)
package appendjson

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// Close ends the object whose fields start at buf[start].
func Close(buf []byte, start int) []byte {
	if len(buf) == start {
		return append(buf, "{}"...)
	}
	buf[start] = '{'
	return append(buf, '}')
}

// Text appends a string field.
func Text[S ~string](buf []byte, name string, s S) []byte {
	return String(append(buf, name...), string(s))
}

// TextIf appends a string field unless it is empty.
func TextIf[S ~string](buf []byte, name string, s S) []byte {
	if s == "" {
		return buf
	}
	return Text(buf, name, s)
}

// Int appends an integer field.
func Int[I ~int | ~int64](buf []byte, name string, n I) []byte {
	return strconv.AppendInt(append(buf, name...), int64(n), 10)
}

// IntIf appends an integer field unless it is 0.
func IntIf[I ~int | ~int64](buf []byte, name string, n I) []byte {
	if n == 0 {
		return buf
	}
	return Int(buf, name, n)
}

// TrueIf appends a boolean field unless it is false.
func TrueIf(buf []byte, name string, v bool) []byte {
	if !v {
		return buf
	}
	return append(append(buf, name...), "true"...)
}

// Uint appends an unsigned integer field.
func Uint(buf []byte, name string, n uint64) []byte {
	return strconv.AppendUint(append(buf, name...), n, 10)
}

// FloatIf appends a number field unless it is 0. It fails for values that JSON cannot express.
func FloatIf(buf []byte, name string, f float64) ([]byte, error) {
	abs := math.Abs(f)
	switch {
	case f == 0:
		return buf, nil
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(append(buf, name...), f, 'f', -1, 64), nil
	}
	return Value(buf, name, f)
}

// Raw appends a field that is already JSON, without its white space. It fails if raw is not
// valid JSON. Nil is null, as in encoding/json.
func Raw(buf []byte, name string, raw json.RawMessage) ([]byte, error) {
	start := len(buf)
	if buf = append(buf, name...); raw == nil {
		return append(buf, "null"...), nil
	}
	if out, ok := compact(buf, raw); ok {
		return out, nil
	}
	return Value(buf[:start], name, raw) // for the error, or for deep nesting
}

// RawIf appends a field that is already JSON unless it is empty.
func RawIf(buf []byte, name string, raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return buf, nil
	}
	return Raw(buf, name, raw)
}

// List appends an array field; one appends an element. An empty list is []. On an error List
// returns buf unchanged.
func List[T any](buf []byte, name string, list []T, one func(*T, []byte) ([]byte, error)) (_ []byte, err error) {
	out := append(append(buf, name...), '[')
	for i := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = one(&list[i], out); err != nil {
			return buf, err
		}
	}
	return append(out, ']'), nil
}

// Value appends a field that json.Marshal encodes. It is for rare fields.
func Value(buf []byte, name string, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	switch {
	case err != nil:
		return buf, err
	case buf == nil && name == "":
		return data, nil
	}
	return append(append(buf, name...), data...), nil
}

const hex = "0123456789abcdef"

// plain holds the bytes that need no escaping in a string.
var plain = func() (set [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return set
}()

// String appends s as a JSON string. Invalid UTF-8 becomes U+FFFD. Characters that are
// special in HTML or JavaScript are escaped.
func String(buf []byte, s string) []byte {
	buf = append(buf, '"')
	from := 0 // s[:from] is written
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			buf = escape(append(buf, s[from:i]...), c)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			buf = append(append(buf, s[from:i]...), `\ufffd`...)
			from = i + size
		case r == '\u2028' || r == '\u2029':
			buf = append(append(buf, s[from:i]...), `\u202`...)
			buf = append(buf, hex[r&0xF])
			from = i + size
		}
		i += size
	}
	return append(append(buf, s[from:]...), '"')
}

// escape appends an ASCII byte that needs escaping.
func escape(buf []byte, c byte) []byte {
	switch c {
	case '\\', '"':
		return append(buf, '\\', c)
	case '\b':
		return append(buf, '\\', 'b')
	case '\f':
		return append(buf, '\\', 'f')
	case '\n':
		return append(buf, '\\', 'n')
	case '\r':
		return append(buf, '\\', 'r')
	case '\t':
		return append(buf, '\\', 't')
	}
	return append(buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
}
