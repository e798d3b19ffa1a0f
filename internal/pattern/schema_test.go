package pattern

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestMissing_FindsPathsThatCannotExist(t *testing.T) {
	t.Parallel()
	const edit = `{"type":"object","properties":{"file_path":{"type":"string"},"lines":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}},
		"env":{"type":["object","null"],"properties":{"name":{"type":"string"}},"additionalProperties":false},"any":{},"map":{"type":"object","additionalProperties":{"type":"object","properties":{"id":{}}}}}}`
	for _, tt := range []struct {
		name, schema, args string
		want               []string
	}{
		{"a field that is there", edit, `file_path ~ "x"`, nil},
		{"a typo", edit, `filepath ~ "x"`, []string{"filepath"}},
		{"one of two", edit, `file_path ~ "x", nope != "y"`, []string{"nope"}},
		{"into a string", edit, `file_path.name = "x"`, []string{"file_path.name"}},
		{"an element of a string", edit, `file_path[0] = "x"`, []string{"file_path[0]"}},
		{"elements", edit, `lines[*].n = "1", lines[3].n = "1"`, nil},
		{"a typo in elements", edit, `lines[*].m = "1"`, []string{"lines[*].m"}},
		{"a field of a list", edit, `lines.n = "1"`, []string{"lines.n"}},
		{"inside, with several types", edit, `env.name = "prod"`, nil},
		{"inside, closed", edit, `env.host = "prod"`, []string{"env.host"}},
		{"inside what is not described", edit, `any.thing[0].at.all = "x"`, nil},
		{"fields of any name", edit, `map.k.id = "x", map.*.id = "x"`, nil},
		{"fields of any name, a typo", edit, `map.k.di = "x"`, []string{"map.k.di"}},
		{"any field", edit, `*.name = "x"`, nil},
		{"any field, one may", edit, `*[0].x = "x", *.unknown.has = "x"`, nil},
		{"any field, none has it", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"c":{}}}}}`, `*.c = "x", *.d = "x", *[0] = "x"`, []string{"*.d", "*[0]"}},
		{"no schema", `{}`, `a = "x"`, nil},
		{"an object of nothing", `{"type":"object"}`, `a = "x"`, nil},
		{"explicitly open", `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, `b = "x"`, nil},
		{"pattern properties", `{"type":"object","properties":{"a":{}},"patternProperties":{"^x":{}}}`, `xy = "x"`, nil},
		{"references", `{"$defs":{"env":{"type":"object","properties":{"name":{"type":"string"}}}},"type":"object","properties":{"env":{"$ref":"#/$defs/env"}}}`,
			`env.name = "x", env.host = "x"`, []string{"env.host"}},
		{"a circle", `{"$ref":"#"}`, `a.b = "x"`, nil},
		{"a reference elsewhere", `{"$ref":"https://example.com/x"}`, `a = "x"`, nil},
		{"a reference to nothing", `{"$ref":"#/$defs/none"}`, `a = "x"`, nil},
		{"any of", `{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object","properties":{"b":{}}}]}`, `a = "x", b = "x", c = "x"`, []string{"c"}},
		{"all of", `{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{}}}]}`, `a = "x", b = "x", c = "x"`, []string{"c"}},
		{"then and else", `{"type":"object","properties":{"a":{}},"if":{},"then":{"properties":{"b":{}}},"else":{"properties":{"c":{}}}}`, `b = "x", c = "x", d = "x"`, []string{"d"}},
		{"a tuple", `{"type":"object","properties":{"t":{"type":"array","prefixItems":[{"type":"string"},{"type":"object","properties":{"x":{}}}],"items":false}}}`,
			`t[1].x = "1", t[0].x = "1", t[2] = "1"`, []string{"t[0].x", "t[2]"}},
		{"never", `{"type":"object","properties":{"a":false}}`, `a = "x"`, []string{"a"}},
		{"not a schema", `[1]`, `a = "x"`, nil},
		{"the primary argument", edit, `src/*`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Compile("Edit(" + tt.args + ")")
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Missing(json.RawMessage(tt.schema)); !slices.Equal(got, tt.want) {
				t.Errorf("missing are %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReview_ReportsArgumentsThatNoToolHas(t *testing.T) {
	t.Parallel()
	tools := map[string]json.RawMessage{
		"Edit":  json.RawMessage(`{"type":"object","properties":{"file_path":{},"text":{}}}`),
		"Read":  json.RawMessage(`{"type":"object","properties":{"file_path":{}}}`),
		"Other": json.RawMessage(`{}`),
	}
	for text, want := range map[string]string{
		`Edit(file_path ~ "x")`:      "",
		`Edit(file ~ "x")`:           `pattern "Edit(file ~ \"x\")" names argument "file", which tool "Edit" does not have; available: ["file_path" "text"]`,
		`/Edit|Read/(text ~ "x")`:    "", // one of them has it
		`/Edit|Read/(unknown ~ "x")`: `names argument "unknown", which none of the 2 matching tools has`,
		`*(unknown ~ "x")`:           "", // Other may
		`Gone(unknown ~ "x")`:        "", // no such tool
		`Edit(*)`:                    "",
	} {
		p, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		got := Review([]*Pattern{p}, func(p *Pattern) *Pattern { return p }, nil, tools)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Whatever the schema is, the search ends, and reports at most the given path.
func FuzzMissing(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#"}}}}`, "a[0].a[*].*.b-c")
	f.Add(`{"anyOf":[{"$ref":"#"},{"$ref":"#/anyOf/0"}],"$defs":{"~0":{}}}`, "x")
	f.Fuzz(func(t *testing.T, schema, path string) {
		c, err := NewCondition(path, "exact", "x")
		if err != nil {
			t.Skip()
		}
		p := &Pattern{fields: []Condition{*c}}
		if got := p.Missing(json.RawMessage(schema)); len(got) > 1 || len(got) == 1 && got[0] != path {
			t.Errorf("%q in %s: %q", path, schema, got)
		}
	})
}
