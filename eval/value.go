package eval

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// decode returns the JSON value in data, with numbers as they are written: a float64 has no room for all digits of an id.
func decode(data []byte) (value any, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err = dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, &json.SyntaxError{Offset: dec.InputOffset()}
	}
	return value, nil
}

// contains reports whether part is contained in whole: an object in one that has its members, an array in one of the same length
// whose elements contain its elements, any other value in itself. Without a part, or with null, it is.
func contains(whole, part json.RawMessage) bool {
	if len(part) == 0 || string(part) == "null" {
		return true
	}
	w, errWhole := decode(whole)
	p, errPart := decode(part)
	return errWhole == nil && errPart == nil && fits(w, p, false)
}

// fits reports whether whole has what part has; if exact, nothing else.
func fits(whole, part any, exact bool) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		if !ok || exact && len(w) != len(p) {
			return false
		}
		for name, value := range p {
			if member, has := w[name]; !has || !fits(member, value, exact) {
				return false
			}
		}
		return true
	case []any:
		w, ok := whole.([]any)
		if !ok || len(w) != len(p) {
			return false
		}
		for i := range p {
			if !fits(w[i], p[i], exact) {
				return false
			}
		}
		return true
	case json.Number:
		w, ok := whole.(json.Number)
		return ok && sameNumber(w, p)
	}
	return whole == part
}

// sameNumber reports whether two numbers are the same: 1 and 1.0 are, and whole numbers are compared by all their digits.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y && (x == 0 || !isWhole(a) || !isWhole(b))
}

// isWhole reports whether a number is written as a whole number.
func isWhole(n json.Number) bool { return !strings.ContainsAny(string(n), ".eE") }
