// Package sectiontest checks that a table of tests covers every field of a section.
package sectiontest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Covers fails the test unless every field of the section C, at any depth, occurs in one of
// the documents.
func Covers[C any](tb testing.TB, docs ...string) {
	tb.Helper()
	if missing := uncovered(reflect.TypeFor[C](), docs); len(missing) > 0 {
		tb.Errorf("no case covers these fields of the section: %s", strings.Join(missing, ", "))
	}
}

func uncovered(section reflect.Type, docs []string) []string {
	want := map[string]bool{}
	fields(section, "", func(path string, _ reflect.Type) { want[path] = true })
	for _, doc := range docs {
		var v any
		if json.Unmarshal([]byte(doc), &v) == nil {
			remove(want, section, "", v)
		}
	}
	return slices.Sorted(maps.Keys(want))
}

// fields calls f for the fields of t, at any depth. Elements of lists and values of maps have
// the path of the list or the map.
func fields(t reflect.Type, at string, f func(path string, t reflect.Type)) {
	t = plain(t)
	if t.Kind() != reflect.Struct {
		return
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			fields(field.Type, at, f)
		case field.IsExported() && name != "-":
			if name == "" {
				name = field.Name
			}
			f(at+name, field.Type)
			fields(field.Type, at+name+".", f)
		}
	}
}

// plain returns the element type of a list, a map or a pointer.
func plain(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// remove deletes the paths that occur in v, a value of type t.
func remove(from map[string]bool, t reflect.Type, at string, v any) {
	if list, ok := v.([]any); ok {
		for _, e := range list {
			remove(from, t, at, e)
		}
		return
	}
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	if t.Kind() == reflect.Map {
		for _, e := range object {
			remove(from, t.Elem(), at, e)
		}
		return
	}
	fields(t, at, func(path string, inner reflect.Type) {
		name := strings.TrimPrefix(path, at)
		if e, ok := object[name]; ok {
			delete(from, path)
			remove(from, inner, path+".", e)
		}
	})
}
