// Package strict decodes JSON documents and says in plain words what is wrong
// with them.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Unmarshal decodes one JSON value into v. Unknown fields (also those that differ
// from a known one in case only), fields that appear twice, wrong types and trailing
// data are errors that name the field. The error of an unknown field names the known one
// that was probably meant.
func Unmarshal(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if strings.HasPrefix(err.Error(), "json: unknown field") {
			if better := checkNames(data, reflect.TypeOf(v)); better != nil {
				return better
			}
		}
		return explain(err, v)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("unexpected data after the JSON value")
	}
	return checkNames(data, reflect.TypeOf(v))
}

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

// Explain says in plain words what encoding/json found wrong.
func Explain(err error) error { return explain(err, nil) }

func explain(err error, v any) error {
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := path(te.Field, v)
		if field == "" {
			return fmt.Errorf("found a JSON %s, want %s", te.Value, kind(te.Type.Kind().String()))
		}
		return fmt.Errorf("field %q is a JSON %s, want %s", field, te.Value, kind(te.Type.Kind().String()))
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON: %w", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: unexpected end")
	}
	if rest, ok := strings.CutPrefix(err.Error(), "json: "); ok {
		return errors.New(rest)
	}
	return err
}

// path is a field's place in the document. The json package puts the names of
// embedded structs into it, which the document does not have.
func path(field string, v any) string {
	if v == nil {
		return field
	}
	t := reflect.TypeOf(v).Elem()
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

// kind says in JSON's words what a Go kind wants.
func kind(goKind string) string {
	switch goKind {
	case "struct", "map":
		return "an object"
	case "slice", "array":
		return "an array"
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "float32", "float64":
		return "a number"
	}
	if strings.HasPrefix(goKind, "int") || strings.HasPrefix(goKind, "uint") {
		return "a whole number"
	}
	return "a " + goKind
}
