package specfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/specfile"
	"github.com/awaken-go/awaken/internal/document"
)

const inYAML = `
agents:
  - id: a
    description: 2024-01-01
    system_prompt: |
      Be brief.
      Be right.
    model_id: &m "123"
    max_rounds: 0x10
    allowed_tools: [no, on, y, "null"]
    sections: {retry: {max: 1e3, at: 12:30, none: ~, yes: true, big: 18446744073709551615}}
    stop_conditions:
      - {type: token_budget, max_total: 1000}
models:
  - {id: *m, provider_id: p, upstream_model: u, knowledge_cutoff: 2024-06, input_token_price_per_million_usd: 0.25}
providers:
  - {id: p, adapter: scripted}
`

const inJSON = `{
  "agents": [{
    "id": "a", "description": "2024-01-01", "system_prompt": "Be brief.\nBe right.\n", "model_id": "123", "max_rounds": 16,
    "allowed_tools": ["no", "on", "y", "null"],
    "sections": {"retry": {"max": 1000, "at": "12:30", "none": null, "yes": true, "big": 18446744073709551615}},
    "stop_conditions": [{"type": "token_budget", "max_total": 1000}]
  }],
  "models": [{"id": "123", "provider_id": "p", "upstream_model": "u", "knowledge_cutoff": "2024-06", "input_token_price_per_million_usd": 0.25}],
  "providers": [{"id": "p", "adapter": "scripted"}]
}`

func TestParse_BothFormatsMeanTheSame(t *testing.T) {
	y, err := specfile.Parse("x.yaml", []byte(inYAML))
	if err != nil {
		t.Fatal(err)
	}
	j, err := specfile.Parse("x.yaml", []byte(inJSON)) // JSON is YAML too
	if err != nil {
		t.Fatal(err)
	}
	k, err := specfile.Parse("\t", []byte("\ufeff"+inJSON))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []*specfile.File{j, k} {
		if diff := cmp.Diff(asJSON(t, y), asJSON(t, other)); diff != "" {
			t.Errorf("YAML and JSON differ:\n%s", diff)
		}
	}
	if got := y.Agents[0]; got.Description != "2024-01-01" || got.Rounds() != 16 || got.ModelID != "123" || got.AllowedTools[0] != "no" {
		t.Errorf("agent is %+v", got)
	}
}

func asJSON(t *testing.T, f *specfile.File) string {
	t.Helper()
	data, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestParse_OneAgent(t *testing.T) {
	for name, text := range map[string]string{
		"x.yaml": "id: a\nmax_rounds: 2\n",
		"x.YML":  "{id: a, max_rounds: 2}",
		"x.json": `{"id":"a","max_rounds":2}`,
		"x":      "id: a\nmax_rounds: 2",
		"-":      ` {"id":"a","max_rounds":2} `,
		"x.txt":  "---\nid: a\nmax_rounds: 2\n...\n",
	} {
		f, err := specfile.Parse(name, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(f.Agents) != 1 || f.Agents[0].ID != "a" || f.Agents[0].Rounds() != 2 {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}

func TestParse_MergeKeys(t *testing.T) {
	f, err := specfile.Parse("x.yaml", []byte(`
agents:
  - &a {id: a, max_rounds: 2, description: of a}
  - &b {<<: *a, id: b, description: of b}
  - {<<: [*b, *a], id: c}
  - {id: d, <<: {max_rounds: 5}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range f.Agents {
		got = append(got, fmt.Sprintf("%s %d %s", a.ID, a.Rounds(), a.Description))
	}
	if diff := cmp.Diff([]string{"a 2 of a", "b 2 of b", "c 2 of b", "d 5 "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParse_Mistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f: is empty"},
		{" \n\t\n", "f: is empty"},
		{"# nothing\n", "f: is empty"},
		{"id: a\xff", "f: is not UTF-8 text"},
		{"id: a\n  b: c", "f:2: not YAML: mapping values are not allowed in this context"},
		{"id: *x", "f: not YAML: unknown anchor 'x' referenced"},
		{"{\"id\": \"a\",\n\"x\" 1}", "f:2: not JSON: invalid character '1' after object key"},
		{"id: a\n---\nid: b", "f:2: contains a second document"},
		{"- id: a", "f:1: got an array, want one agent or an object with agents, models, providers"},
		{"hello", "f:1: got a single value, want one agent or an object with agents, models, providers"},
		{"null", "f:1: got a single value, want one agent or an object with agents, models, providers"},
		{"{}", "f:1: id is missing or empty"},
		{"id: ' '", "f:1: id is missing or empty"},
		{"agents:\n- id: a\n- max_rounds: 1", "f:3: agents[1].id is missing or empty"},
		{"agents: []", "f: agents is missing or empty: there is nothing to run"},
		{"agents: ~\nmodels: [{id: a}]", "f: agents is missing or empty: there is nothing to run"},
		{"agents: {id: a}", `f:1: field "agents" is an object, want an array`},
		{"agents:\n- a", "f:2: agents[0] is a single value, want an object"},
		{"agents: [{id: a}]\nagent: a", `f:2: unknown field "agent", want agents, models, providers`},

		{"id: a\nmodle_id: x", `f:2: unknown field "modle_id", did you mean "model_id"?`},
		{"id: a\nID: b", `f:2: unknown field "ID"`},
		{"id: a\nmax_rounds: three", `f:2: field "max_rounds" is a JSON string, want a whole number, got "three"`},
		{"id: a\nmax_rounds: 1.5", `f:2: field "max_rounds" is a JSON number 1.5, want a whole number, got 1.5`},
		{"id: 5", `f:1: field "id" is a JSON number, want a string, got 5`},
		{"id: 2024-01-01\nallowed_tools: get_weather", `f:2: field "allowed_tools" is a JSON string, want an array, got "get_weather"`},
		{"id: a\nsystem_prompt: [1]", `f:2: field "system_prompt" is a JSON array, want a string`},
		{"id: a\ncontext_policy:\n  max_context_tokens: lots", `f:3: context_policy: field "max_context_tokens" is a JSON string, want a whole number, got "lots"`},
		{"agents: [{id: a}]\nmodels:\n- id: m\n  price: 1", `f:4: models[0]: unknown field "price"`},
		{"agents: [{id: a}]\nproviders:\n- id: m\n  timeout_secs: soon", `f:4: providers[0]: field "timeout_secs" is a JSON string, want a whole number, got "soon"`},
		{"id: a\nmax_rounds: " + strings.Repeat("x", 100), `f:2: field "max_rounds" is a JSON string, want a whole number, got "` + strings.Repeat("x", 59) + "…"},

		{"id: a\nid: b", `f:2: field "id" is given twice, first on line 1`},
		{`{"id":"a","id":"b"}`, `f:1: field "id" is given twice, first on line 1`},
		{"agents:\n- id: a\n  sections:\n    x: 1\n    'x': 2", `f:5: field "agents[0].sections.x" is given twice, first on line 4`},
		{"{\"agents\":[{\"id\":\"a\"},\n{\"sections\":{\"x\":1,\n\"\\u0078\":2}}]}", `f:3: field "agents[1].sections.x" is given twice, first on line 2`},

		{"1: a", `f:1: key "1" is not a string, put it in quotes`},
		{"id: a\nsections:\n  true: 1", `f:3: sections.key "true" is not a string, put it in quotes`},
		{"[a]: b", `f:1: key that is a list or a mapping is not a string, put it in quotes`},
		{"id: a\nmax_rounds: .inf", "f:2: .inf cannot be represented in JSON"},
		{"id: !secret a", "f:1: tag !secret is not supported"},
		{"id: !!binary aGk=", "f:1: tag !!binary is not supported"},
		{"id: a\nallowed_tools: !!set {a}", "f:2: tag !!set is not supported"},
		{"id: a\nmax_rounds: !!int x", `f:2: "x" is not int`},
		{"id: &a [*a]", `f:1: alias "a" contains itself`},
		{"<<: 5\nid: a", "f:1: << is a single value, want a mapping or a list of mappings"},
		{"id: a\nsections: {<<: [x]}", "f:2: sections.<< is a single value, want a mapping or a list of mappings"},
		{"id: " + strings.Repeat("[", 70) + strings.Repeat("]", 70), "f:1: is nested deeper than 64 levels"},
		{`{"id": ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}", "f:1: is nested deeper than 64 levels"},
	} {
		f, err := specfile.Parse("f", []byte(c.text))
		if err == nil {
			t.Errorf("%q: got %+v, want the error %q", c.text, f, c.want)
			continue
		}
		if diff := cmp.Diff(c.want, err.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
		if e, ok := errors.AsType[*document.Error](err); !ok || e.File != "f" {
			t.Errorf("%q: %#v is not an *Error of the file", c.text, err)
		}
	}
}

func TestParse_NeverShowsSecrets(t *testing.T) {
	for _, text := range []string{
		"agents: [{id: a}]\nproviders: [{id: p, adapter: x, api_key: 123456}]",
		"agents: [{id: a, endpoint: {backend: a2a, base_url: x, auth: {type: bearer, token: 123456}}}]",
	} {
		_, err := specfile.Parse("f.yaml", []byte(text))
		if err == nil || strings.Contains(err.Error(), "123456") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A small file must not become a large document.
func TestParse_Bombs(t *testing.T) {
	var aliases strings.Builder
	aliases.WriteString("id: a\nsections:\n  x0: &x0 [1]\n")
	for i := range 60 {
		fmt.Fprintf(&aliases, "  x%d: &x%d [*x%d, *x%d]\n", i+1, i+1, i, i)
	}
	var deep strings.Builder
	deep.WriteString("id: a\nsections:\n  x0: &x0 [1]\n")
	for i := range 5000 {
		fmt.Fprintf(&deep, "  x%d: &x%d [*x%d]\n", i+1, i+1, i)
	}
	var merges strings.Builder
	merges.WriteString("id: a\nsections:\n  x: &x {")
	for i := range 20_000 {
		fmt.Fprintf(&merges, "k%d: 1, ", i)
	}
	merges.WriteString("}\n  list:\n")
	for range 20_000 {
		merges.WriteString("  - <<: *x\n")
	}
	for name, c := range map[string]struct{ text, want string }{
		"aliases":  {aliases.String(), "is too large with its aliases expanded"},
		"strings":  {"id: a\nsystem_prompt: &p " + strings.Repeat("x", 500_000) + "\nallowed_tools: [*p, *p, *p, *p, *p, *p, *p, *p]", "is too large with its aliases expanded"},
		"depth":    {deep.String(), "is nested deeper than 64 levels"},
		"merges":   {merges.String(), "is too large with its aliases expanded"},
		"elements": {"id: a\nallowed_tools: [" + strings.Repeat("1,", 300_000) + "]", "is too large with its aliases expanded"},
		"long":     {"id: " + strings.Repeat("x", document.MaxBytes), "is longer than 1048576 bytes"},
		"flow":     {strings.Repeat("[", 500_000), "not YAML: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := specfile.Parse("f.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.200v, want %q", err, c.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	f, err := specfile.Read("f", strings.NewReader("id: a"))
	if err != nil || f.Agents[0].ID != "a" {
		t.Errorf("got %+v, %v", f, err)
	}
	if _, err := specfile.Read("f", iotest.ErrReader(os.ErrPermission)); !errors.Is(err, os.ErrPermission) || !strings.HasPrefix(err.Error(), "f: ") {
		t.Errorf("got %v", err)
	}
	endless := iotest.OneByteReader(strings.NewReader(strings.Repeat("#", document.MaxBytes+10)))
	if _, err := specfile.Read("f", endless); err == nil || !strings.Contains(err.Error(), "is longer than") {
		t.Errorf("got %v", err)
	}
}

// FuzzSpecFile checks that every file is either rejected with an error that names it, or
// survives a round trip through JSON unchanged.
func FuzzSpecFile(f *testing.F) {
	f.Add([]byte(inYAML))
	f.Add([]byte(inJSON))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"x.yaml", "x.json", "x"} {
			checkParse(t, name, data)
		}
	})
}

func checkParse(t *testing.T, name string, data []byte) {
	file, err := specfile.Parse(name, data)
	if err != nil {
		if e, ok := errors.AsType[*document.Error](err); !ok || e.File != name || e.Err == nil || strings.TrimSpace(e.Err.Error()) == "" {
			t.Fatalf("error %#v does not name the file", err)
		}
		return
	}
	if len(file.Agents) == 0 {
		t.Fatal("no agent and no error")
	}
	doc, err := json.Marshal(struct {
		Agents    []*awaken.AgentSpec   `json:"agents"`
		Models    []awaken.ModelSpec    `json:"models"`
		Providers []awaken.ProviderSpec `json:"providers"`
	}{file.Agents, file.Models, file.Providers})
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	again, err := specfile.Parse("again.json", doc)
	if err != nil {
		if len(doc) > document.MaxBytes/2 {
			return // escapes make it longer
		}
		t.Fatalf("what was written cannot be read: %v\n%s", err, doc)
	}
	second, err := json.Marshal(struct {
		Agents    []*awaken.AgentSpec   `json:"agents"`
		Models    []awaken.ModelSpec    `json:"models"`
		Providers []awaken.ProviderSpec `json:"providers"`
	}{again.Agents, again.Models, again.Providers})
	if err != nil || !bytes.Equal(doc, second) {
		t.Fatalf("first\n%s\nthen\n%s\n%v", doc, second, err)
	}
}
