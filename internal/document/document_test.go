package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

type agent struct {
	ID     string            `json:"id"`
	Rounds int               `json:"max_rounds"`
	Tools  []string          `json:"tools"`
	Key    int               `json:"api_key"`
	Labels map[string]string `json:"labels"`
}

// YAML and JSON of the same content are the same document.
func TestDecode_ReadsYAMLAndJSONAlike(t *testing.T) {
	want := agent{ID: "2024-01-01", Rounds: 4, Tools: []string{"a", "b"}, Labels: map[string]string{"on": "yes"}}
	for name, text := range map[string]string{
		"a.yaml":  "id: 2024-01-01\nmax_rounds: 4\ntools: [a, b]\nlabels: {on: \"yes\"}\n",
		"a.yml":   "base: &b {on: \"yes\"}\n",
		"a.json":  `{"id":"2024-01-01","max_rounds":4,"tools":["a","b"],"labels":{"on":"yes"}}`,
		"a":       `{"id":"2024-01-01","max_rounds":4,"tools":["a","b"],"labels":{"on":"yes"}}`,
		"bom.yml": "\ufeffid: 2024-01-01\nmax_rounds: 0x4\ntools:\n- a\n- b\nlabels:\n  on: \"yes\"\n",
	} {
		var got agent
		err := Decode(name, []byte(text), &got)
		if name == "a.yml" { // an unknown field is a mistake in both
			if err == nil || !strings.Contains(err.Error(), `a.yml:1: unknown field "base"`) {
				t.Errorf("%s: error is %v", name, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// Anchors, aliases and merge keys are expanded.
func TestDecode_ExpandsAliasesAndMergeKeys(t *testing.T) {
	var got map[string]agent
	text := "one: &one {id: x, max_rounds: 1, tools: &t [a]}\ntwo: {<<: *one, max_rounds: 2}\nthree: {id: y, tools: *t}\n"
	if err := Decode("a.yaml", []byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]agent{"one": {ID: "x", Rounds: 1, Tools: []string{"a"}}, "two": {ID: "x", Rounds: 2, Tools: []string{"a"}}, "three": {ID: "y", Tools: []string{"a"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// An error names the file, the line, the field and the value, but no value of a secret.
func TestDecode_ErrorsNameFileLineFieldAndValue(t *testing.T) {
	for _, tt := range []struct{ name, text, want, not string }{
		{"a.yaml", "id: x\nmax_rounds: three\n", `a.yaml:2: field "max_rounds" is a JSON string, want a whole number, got "three"`, ""},
		{"a.json", "{\"id\":\"x\",\n\"max_rounds\":\"three\"}", `a.json:2: field "max_rounds" is a JSON string, want a whole number, got "three"`, ""},
		{"a.yaml", "id: x\napi_key: sk-secret\n", `a.yaml:2: field "api_key"`, "sk-secret"},
		{"a.yaml", "id: x\nid: y\n", "a.yaml:2:", ""},
		{"a.json", `{"id":"x","id":"y"}`, "a.json:1:", ""},
		{"a.yaml", "id: [x\n", "not YAML", ""},
		{"a.json", "{\"id\":\n}", "a.json:2:", ""},
		{"a.yaml", "id: x\n---\nid: y\n", "a.yaml:2: contains a second document", ""},
		{"a.json", `{"id":"x"} {}`, "a.json:1:", ""},
		{"a.yaml", "id: !include other.yaml\n", "a.yaml:1:", ""},
		{"a.yaml", "a: &a [*a]\n", "a.yaml:1:", ""},
		{"a.yaml", "id: \xff\n", "is not UTF-8 text", ""},
		{"a.yaml", " \n", "is empty", ""},
		{"a.yaml", "# only a comment\n", "is empty", ""},
		{"a.yaml", strings.Repeat("x", MaxBytes+1), "is longer than 1048576 bytes", ""},
		{"a.json", strings.Repeat("[", 100) + strings.Repeat("]", 100), "is nested deeper than 64 levels", ""},
		{"a", `{"id":"x" "max_rounds":1}`, "not JSON", ""},
	} {
		var got agent
		err := Decode(tt.name, []byte(tt.text), &got)
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.not != "" && strings.Contains(err.Error(), tt.not) {
			t.Errorf("%s %.40q: error is %v, want it to contain %q and not %q", tt.name, tt.text, err, tt.want, tt.not)
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.File != tt.name {
			t.Errorf("%s %.40q: error is a %T", tt.name, tt.text, err)
		}
	}
}

// A short file that stands for a huge document is refused before it is built.
func TestParse_RefusesDocumentsThatGrowWithTheirAliases(t *testing.T) {
	var sb strings.Builder
	sb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&sb, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9)+fmt.Sprintf("*a%d", i-1))
	}
	root, err := Parse("a.yaml", []byte(sb.String()))
	if err == nil {
		_, err = root.JSON()
	}
	if !errors.Is(err, errTooLarge) {
		t.Errorf("error is %v, want %v", err, errTooLarge)
	}
}

func TestLoad_NamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(name, []byte("id: x\nrounds: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got agent
	if err := Load(name, &got); err == nil || !strings.Contains(err.Error(), name+`:2: unknown field "rounds"`) {
		t.Errorf("error is %v", err)
	}
	if err := Load(name+".missing", &got); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v, want ErrNotExist", err)
	}
}

// What is JSON has the value that encoding/json reads, and no input makes the parser panic.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,null,true,"x"]}`, "a: 1\nb: [x, 'y']\n", "a: &x {b: 1}\nc: *x\n", "- |\n  text\n- >-\n  folded\n", "? [a]\n: b\n", "a: .inf\n", "a: 0o17\n", "{", "\ufeff[]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"a", "a.json", "a.yaml"} {
			root, err := Parse(name, []byte(text))
			if err != nil {
				continue
			}
			data, err := root.JSON()
			if err != nil {
				continue
			}
			var got, want any
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatalf("%s: the JSON of %q is %q: %v", name, text, data, err)
			}
			if name == "a.json" && json.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &want) == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%q is read as %q", text, data)
			}
		}
	})
}
