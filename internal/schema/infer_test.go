package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/schema"
)

type constrained struct {
	Unit  string   `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit,description=unit, as in the result"`
	Days  int      `json:"days,omitempty" jsonschema:"minimum=1,maximum=14"`
	Parts []string `json:"parts,omitempty" jsonschema:"enum=wind,enum=rain"`
	Level *int     `json:"level,omitempty" jsonschema:"enum=1,enum=2"`
}

func TestFor_TagsConstrain(t *testing.T) {
	t.Parallel()
	s := compileFor(t, reflect.TypeFor[constrained]())
	for doc, want := range map[string]string{
		`{"unit":"celsius","days":14,"parts":["wind","rain"],"level":2}`: "",
		`{"level":null,"parts":null}`:                                    "",
		`{"unit":"kelvin"}`:                                              "/unit: value must be one of",
		`{"days":0}`:                                                     "/days: minimum",
		`{"days":15}`:                                                    "/days: maximum",
		`{"parts":["wind","snow"]}`:                                      "/parts/1: value must be one of",
		`{"level":3}`:                                                    "/level: value must be one of",
	} {
		checkDoc(t, s, doc, want)
	}
	raw, err := schema.For(reflect.TypeFor[constrained]())
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = schema.Clean(raw); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"description":"unit, as in the result"`, `"enum":[1,2]`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the schema for models lacks %s:\n%s", want, raw)
		}
	}
}

func TestFor_MistakesInTagsNameTheFieldAndTheKeyword(t *testing.T) {
	t.Parallel()
	for want, typ := range map[string]reflect.Type{
		`field A: tag jsonschema:"pattern=x": unknown keyword "pattern", want enum, minimum, maximum or description`: reflect.TypeFor[struct {
			A string `jsonschema:"pattern=x"`
		}](),
		`minimum is "1" on a value of type string`: reflect.TypeFor[struct {
			A string `jsonschema:"minimum=1"`
		}](),
		`maximum is "many"`: reflect.TypeFor[struct {
			A int `jsonschema:"maximum=many"`
		}](),
		`enum has "one" on a value of type integer`: reflect.TypeFor[struct {
			A int `jsonschema:"enum=one"`
		}](),
		`enum is set on a value of type "object"`: reflect.TypeFor[struct {
			A int
			B struct{} `jsonschema:"enum=one"`
		}](),
		"type chan int has no JSON form": reflect.TypeFor[struct{ A chan int }](),
		"are not strings":                reflect.TypeFor[map[int]string](),
	} {
		if _, err := schema.For(typ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

type tree struct {
	Name     string          `json:"name"`
	Children []tree          `json:"children,omitempty"`
	Next     *tree           `json:"next,omitempty"`
	Named    map[string]list `json:"named,omitempty"`
}

type list []list

func TestFor_RecursiveTypes(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{reflect.TypeFor[tree](), reflect.TypeFor[*tree]()} {
		s := compileFor(t, typ)
		for doc, want := range map[string]string{
			`{"name":"a","children":[{"name":"b","children":[{"name":"c"}]}],"next":{"name":"d"},"named":{"x":[[],[[]]]}}`: "",
			`{"name":"a","next":null}`:                                      "",
			`{"name":"a","children":[{"name":"b","children":[{"nam":1}]}]}`: "/children/0/children/0",
			`{"name":"a","next":{"next":{"name":1},"name":"b"}}`:            "/next/next/name",
			`{"name":"a","named":{"x":[["y"]]}}`:                            "/named/x/0/0",
		} {
			checkDoc(t, s, doc, want)
		}
		raw, err := schema.ForObject(typ)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := schema.Clean(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Compile(shown); err != nil {
			t.Error(err)
		}
		var top struct{ Type string }
		if err := json.Unmarshal(shown, &top); err != nil || top.Type != "object" {
			t.Errorf("models see no object: %s", shown)
		}
	}
}

// checkDoc checks that a document is valid, or that the error says want.
func checkDoc(t *testing.T, s *schema.Schema, doc, want string) {
	t.Helper()
	err := s.Check([]byte(doc))
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: error is %v, want %q", doc, err, want)
	}
}
