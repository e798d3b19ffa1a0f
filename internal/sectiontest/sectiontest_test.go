package sectiontest

import (
	"reflect"
	"slices"
	"testing"
)

type inner struct {
	A int `json:"a"`
	B int `json:"b,omitempty"`
}

type section struct {
	inner
	List []inner          `json:"list"`
	Map  map[string]inner `json:"map"`
	Ptr  *struct {
		C string
	} `json:"ptr"`
	Out string `json:"-"`
}

func TestUncovered_FindsFieldsAtAnyDepth(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		docs []string
		want []string
	}{
		{nil, []string{"a", "b", "list", "list.a", "list.b", "map", "map.a", "map.b", "ptr", "ptr.C"}},
		{[]string{`{"a":1,"b":2}`, `{"list":[{"a":1},{"b":2}]}`}, []string{"map", "map.a", "map.b", "ptr", "ptr.C"}},
		{[]string{`{"map":{"x":{"a":1},"y":{"b":2}},"ptr":{"C":""}}`, `not JSON`}, []string{"a", "b", "list", "list.a", "list.b"}},
	} {
		if got := uncovered(reflect.TypeFor[section](), tt.docs); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.docs, got, tt.want)
		}
	}
}
