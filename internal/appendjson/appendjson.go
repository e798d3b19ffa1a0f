// Package appendjson appends JSON to buffers, byte for byte as json.Marshal writes it,
// but without reflection and without memory of its own.
//
// Objects are written field by field. A field's name is given as it is written, with a
// comma before it and a colon after it; [Close] then makes the first comma a brace:
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

// Close ends the object whose fields begin at start.
func Close(buf []byte, start int) []byte {
	if len(buf) == start {
		return append(buf, "{}"...)
	}
	buf[start] = '{'
	return append(buf, '}')
}

// Text appends a field that is a string.
func Text[S ~string](buf []byte, name string, s S) []byte {
	return String(append(buf, name...), string(s))
}

// TextIf appends a field that is a string, unless it is empty.
func TextIf[S ~string](buf []byte, name string, s S) []byte {
	if s == "" {
		return buf
	}
	return Text(buf, name, s)
}

// Int appends a field that is a whole number.
func Int[I ~int | ~int64](buf []byte, name string, n I) []byte {
	return strconv.AppendInt(append(buf, name...), int64(n), 10)
}

// IntIf appends a field that is a whole number, unless it is 0.
func IntIf[I ~int | ~int64](buf []byte, name string, n I) []byte {
	if n == 0 {
		return buf
	}
	return Int(buf, name, n)
}

// TrueIf appends a field that is true, unless it is false.
func TrueIf(buf []byte, name string, v bool) []byte {
	if !v {
		return buf
	}
	return append(append(buf, name...), "true"...)
}

// Uint appends a field that is a whole number and never negative.
func Uint(buf []byte, name string, n uint64) []byte {
	return strconv.AppendUint(append(buf, name...), n, 10)
}

// FloatIf appends a field that is a number, unless it is 0.
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

// Raw appends a field that is JSON already. It is checked and freed of white space on
// the way. Nil is null, as it is for encoding/json.
func Raw(buf []byte, name string, raw json.RawMessage) ([]byte, error) {
	start := len(buf)
	if buf = append(buf, name...); raw == nil {
		return append(buf, "null"...), nil
	}
	if out, ok := compact(buf, raw); ok {
		return out, nil
	}
	return Value(buf[:start], name, raw) // says what is wrong
}

// RawIf appends a field that is JSON already, unless it is empty.
func RawIf(buf []byte, name string, raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return buf, nil
	}
	return Raw(buf, name, raw)
}

// List appends a field that is an array; one appends an element. A list of none is [].
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

// Value appends a field that json.Marshal has to encode. It is for what is rare.
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

// plain are the bytes that stand for themselves in a string.
var plain = func() (set [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return set
}()

// String appends s as a JSON string. What is not UTF-8 becomes U+FFFD; what HTML or
// JavaScript would take for their own is escaped.
func String(buf []byte, s string) []byte {
	buf = append(buf, '"')
	from := 0 // what comes before is written
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

// escape appends a byte of ASCII that does not stand for itself.
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
