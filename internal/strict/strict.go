// Package strict decodes JSON. It refuses what encoding/json lets through: names that are
// unknown, that differ from a known one in case only, or that appear twice in an object. Its
// errors speak of the document: the field, what it holds and what it takes.
//
// Data is scanned once for its structure and then decoded once with encoding/json.
package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Malformed is the error of data that cannot be decoded into anything.
type Malformed struct {
	Reason string // such as "not UTF-8"
}

func (e *Malformed) Error() string { return e.Reason }

// Into decodes data as Unmarshal does, into a new T that replaces *to. After an error, which
// names the document by what, *to is as it was.
func Into[T any](to *T, what string, data []byte) error {
	var v T
	if err := Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	*to = v
	return nil
}

// Unmarshal decodes one JSON value into v. Unknown and repeated fields, wrong types and trailing
// data are errors that name the field. The error of an unknown field suggests the known one that
// was probably meant. Types with an UnmarshalJSON of their own check their own fields.
func Unmarshal(data []byte, v any) error { return decode(data, maxDepth, v) }

// UnmarshalBody is [Unmarshal] for data that a client sent: it must also be UTF-8, and nested no
// deeper than depth levels. A depth of 0 or less means no limit beyond that of encoding/json.
func UnmarshalBody(data []byte, depth int, v any) error {
	if !utf8.Valid(data) {
		return &Malformed{"not UTF-8"}
	}
	if depth <= 0 || depth > maxDepth {
		depth = maxDepth
	}
	return decode(data, depth, v)
}

// UnmarshalKnown decodes one JSON value into v and ignores fields that v does not have. Its
// errors are those of [Unmarshal].
func UnmarshalKnown(data []byte, v any) error {
	return explain(json.Unmarshal(data, v), v)
}

func decode(data []byte, depth int, v any) error {
	s := scanner{data: data, depth: depth}
	wrong := s.value(reflect.TypeOf(v), 0)
	if wrong == nil {
		return UnmarshalKnown(data, v)
	}
	// A mistake in the document as a whole is reported before one in a name.
	if err := UnmarshalKnown(data, new(json.RawMessage)); err != nil {
		return err
	}
	s.pos = 0
	if err := s.value(rawMessage, 0); err != nil {
		return err
	}
	return wrong
}

// explain rewords an error of encoding/json.
func explain(err error, v any) error {
	if err == nil {
		return nil
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := path(te.Field, reflect.TypeOf(v).Elem())
		if field == "" {
			return fmt.Errorf("found a JSON %s, want %s", te.Value, want(te.Type.Kind()))
		}
		return &FieldError{Path: field, problem: fmt.Sprintf("is a JSON %s, want %s", te.Value, want(te.Type.Kind()))}
	}
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		reason := se.Error()
		switch {
		case reason == "unexpected end of JSON input":
			reason = "unexpected end"
		case strings.HasSuffix(reason, "after top-level value"):
			reason = "unexpected data after the JSON value"
		case strings.HasSuffix(reason, "exceeded max depth"):
			return tooDeep(maxDepth)
		}
		return &Malformed{"not JSON: " + reason}
	}
	if rest, ok := strings.CutPrefix(err.Error(), "json: "); ok {
		return errors.New(rest)
	}
	return err
}

// path returns a field's place in the document. encoding/json puts the names of embedded
// structs into it, which the document does not have.
func path(field string, t reflect.Type) string {
	for t.Kind() == reflect.Struct {
		head, rest, more := strings.Cut(field, ".")
		f, ok := t.FieldByName(head)
		if !more || !ok || !f.Anonymous {
			break
		}
		field, t = rest, f.Type
	}
	return field
}

// want says in JSON's words what a Go kind takes.
func want(k reflect.Kind) string {
	switch {
	case k == reflect.Struct || k == reflect.Map:
		return "an object"
	case k == reflect.Slice || k == reflect.Array:
		return "an array"
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k >= reflect.Int && k <= reflect.Uintptr:
		return "a whole number"
	}
	return "a " + k.String()
}
