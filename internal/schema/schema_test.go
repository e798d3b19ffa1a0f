package schema_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/internal/schema"
)

type trip struct {
	City  string          `json:"city" jsonschema:"where to"`
	Days  int             `json:"days,omitempty"`
	Class *string         `json:"class,omitempty"`
	Tags  []string        `json:"tags,omitempty"`
	Pace  time.Duration   `json:"pace,omitzero"`
	When  time.Time       `json:"when,omitzero"`
	Any   json.RawMessage `json:"any,omitempty"`
}

func (*trip) DescribeSchema(s *schema.Node) {
	s.Property("days").Range(1, 30)
	s.Property("city").Enum("Paris", "Rome")
	s.Describe("A trip.")
}

func compileFor(t *testing.T, typ reflect.Type) *schema.Schema {
	t.Helper()
	raw, err := schema.For(typ)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFor_InfersTheGoTypeAndAppliesItsDescriber(t *testing.T) {
	t.Parallel()
	s := compileFor(t, reflect.TypeFor[trip]())
	for doc, want := range map[string]string{
		`{"city":"Paris"}`: "",
		`{"city":"Rome","days":3,"class":"first","tags":["a"],"pace":5,"when":"2026-01-02T03:04:05Z","any":{"x":[1]}}`: "",
		`{"city":"Rome","class":null,"tags":null}`: "",
		`{}`:                               `/: missing "city"`,
		`{"city":"London"}`:                `/city: value must be one of`,
		`{"city":"Paris","days":31}`:       `/days: maximum`,
		`{"city":"Paris","days":1.5}`:      `/days: got number, want integer`,
		`{"city":"Paris","town":"x"}`:      `/: unknown field "town"`,
		`{"city":"Paris","when":"monday"}`: `/when: `,
		`{"city":"Paris","tags":[1]}`:      `/tags/0: got number, want string`,
		`[]`:                               `/: got array, want object`,
		`{"city":`:                         `not JSON`,
	} {
		err := s.Check([]byte(doc))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", doc, err, want)
		}
	}
}

func TestCheck_ReportsEveryViolation(t *testing.T) {
	t.Parallel()
	s := compileFor(t, reflect.TypeFor[trip]())
	err := s.Check([]byte(`{"days":99,"town":"x","class":5}`))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`/: missing "city"`, "/days: ", `/: unknown field "town"`, "/class: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

// The validator computes with exact numbers. Small documents must not make it
// compute with large ones.
func TestCheck_RejectsExponentsOutOfRange(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile([]byte(`{"type":"array","items":{"type":["integer","string","boolean"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for doc, want := range map[string]string{
		"[" + strings.Repeat("1e999999,", 100_000) + "1]": "number 1e999999 is out of range",
		`[1, -2.5E-00401]`:                 "number -2.5E-00401 is out of range",
		`[1e99999999999999999999]`:         "is out of range",
		`["1e999999",true,false,1e2,"\\"]`: "",
		`[1e400]`:                          "",
	} {
		err := s.Check([]byte(doc))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error is %v, want %q", doc, err, want)
		}
	}
}

func TestCompile_RejectsInvalidSchemas(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `{"type":"strng"}`, `{"required":"x"}`, `{"properties":[]}`, `7`, `{"type":`, `{"$ref":"https://example.com/x.json"}`} {
		if _, err := schema.Compile([]byte(raw)); err == nil {
			t.Errorf("%s is taken for a schema", raw)
		}
	}
}

func TestClean_WritesTheSubsetThatProvidersAccept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, raw, want string }{
		{"nothing", ``, `{"type":"object","properties":{}}`},
		{"a boolean", `true`, `true`},
		{"$schema", `{"$schema":"x","type":"string"}`, `{"type":"string"}`},
		{"const", `{"const":1}`, `{"enum":[1]}`},
		{"const beside the same enum", `{"const":1,"enum":[1,2]}`, `{"enum":[1]}`},
		{"const beside another enum", `{"const":1,"enum":[2]}`, `false`},
		{"type or null", `{"type":["string","null"]}`, `{"type":"string"}`},
		{"null alone", `{"type":["null"]}`, `{"type":"null"}`},
		{"anyOf with null", `{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}],"title":"n"}`, `{"type":"integer","minimum":1,"title":"n"}`},
		{"anyOf of null alone", `{"anyOf":[{"type":"null"}]}`, `{"anyOf":[{"type":"null"}]}`},
		{"anyOf with null and a const", `{"anyOf":[{"const":1},{"type":"null"}]}`, `{"enum":[1]}`},
		{"anyOf with null and an array", `{"anyOf":[{"type":"array"},{"type":"null"}]}`, `{"type":"array","items":{}}`},
		{"anyOf of two", `{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"integer"},{"type":"string"}]}`},
		{"oneOf with null", `{"oneOf":[{"type":"null"},{"type":"object"}]}`, `{"type":"object","properties":{}}`},
		{"array", `{"type":"array"}`, `{"type":"array","items":{}}`},
		{"nested", `{"type":"object","properties":{"a":{"type":["null","array"]},"b":{"const":"x"}},"$defs":{"d":{"type":"object"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"enum":["x"]}},"$defs":{"d":{"type":"object","properties":{}}}}`},
		{"a property called const", `{"type":"object","properties":{"const":{"type":"string"},"type":{"type":"array"}}}`,
			`{"type":"object","properties":{"const":{"type":"string"},"type":{"type":"array","items":{}}}}`},
	} {
		got, err := schema.Clean(json.RawMessage(tt.raw))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(decode(t, tt.want), decode(t, string(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for raw, want := range map[string]string{`7`: "neither an object nor a boolean", `"x"`: "neither an object nor a boolean", `{`: "not JSON"} {
		if _, err := schema.Clean(json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", raw, err, want)
		}
	}
}

func decode(t testing.TB, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return v
}

// Clean does not panic. Its result is JSON, does not change when it is cleaned again, and
// compiles if the original does.
func FuzzClean(f *testing.F) {
	for _, s := range []string{
		``, `true`, `{}`, `{"type":["null"]}`, `{"anyOf":[]}`, `{"anyOf":[{"type":"null"}]}`, `{"type":"object","properties":{"a":{"const":1}}}`,
		`{"oneOf":[true,{"type":"null"}]}`, `{"type":["string","null"],"enum":[1],"const":2}`, `{"allOf":[{"items":{"not":{}}}]}`, `{"const":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := schema.Clean(raw)
		if err != nil {
			return
		}
		twice, err := schema.Clean(once)
		if err != nil {
			t.Fatalf("cannot clean what was cleaned: %v\n%s", err, once)
		}
		if diff := cmp.Diff(decode(t, string(once)), decode(t, string(twice))); diff != "" {
			t.Errorf("cleaning %q twice changes it (-once +twice):\n%s", raw, diff)
		}
		if bytes.Contains(raw, []byte("$schema")) {
			return // another draft may have other rules
		}
		if _, err := schema.Compile(raw); err == nil {
			if _, err := schema.Compile(once); err != nil {
				t.Errorf("%q compiles, but cleaned it does not: %v\n%s", raw, err, once)
			}
		}
	})
}
