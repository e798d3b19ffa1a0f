package specfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/config"
)

// Written documents are read back exactly, whatever their texts.
func FuzzDocuments_RoundTrip(f *testing.F) {
	for _, s := range []string{"hello", "", "a\nb\n", "a\n", "\n", " x", "x ", "yes", "null", "0x10", "1_000", "2020-01-01", "~", "- a", "a: b", "#", "'", `"`, "|", "\t\n",
		"a\n\n\n", "a \nb", "é\u2028", "\x00", "\u0085", "=", "<<", "y", "1e3", ".5", "${X}", "\ufeffa", "\r\n", "[", "{", "!x", "&a", "*a", "%", "@", "`", "key: |\n  x"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		spec, err := json.Marshal(map[string]any{"id": "a", "n": json.Number("1136.0"), "big": json.Number("12345678901234567890"), "t": true, "z": nil, "l": []any{}, "o": map[string]any{},
			"sections": map[string]any{"x" + name: text, "deep": []any{map[string]any{text: []any{text}}}}})
		if err != nil {
			t.Skip()
		}
		var want, got any
		_ = json.Unmarshal(spec, &want)
		var buf bytes.Buffer
		docs := []config.Document{{Key: config.Key{Namespace: config.Agents, ID: "a"}, Spec: spec}}
		if err := WriteLists(&buf, docs); err != nil {
			t.Fatal(err)
		}
		text1 := buf.String()
		read, err := ReadDocuments("f.yaml", &buf, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatalf("%v\n%s", err, text1)
		}
		_ = json.Unmarshal(read[0].Spec, &got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %v\nwant %v", text1, got, want)
		}
	})
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func env(name string) (string, bool) {
	v, ok := map[string]string{"KEY": "s3cret"}[name]
	return v, ok
}

func TestDocuments_Folder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "agents/helper.yaml", "id: helper\nsystem_prompt: ${KEY}\nsections: {x: {password: '${KEY}'}}\n")
	write(t, dir, "agents/a%3Ab.json", `{"id": "a:b"}`)
	write(t, dir, "agents/notes.txt", "not a document")
	write(t, dir, ".git/config", "x")
	write(t, dir, "README.md", "x")
	write(t, dir, "secret", "from a file\n")
	write(t, dir, "more.yaml", "providers:\n  - {id: p, adapter: openai, api_key: '${file:"+filepath.Join(dir, "secret")+"}'}\ntools: []\nskills:\n")
	docs, err := Documents(dir, env)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range docs {
		got[d.Key.String()] = string(d.Spec)
	}
	want := map[string]string{"agents/a:b": `{"id":"a:b"}`, "agents/helper": `{"id":"helper","sections":{"x":{"password":"s3cret"}},"system_prompt":"${KEY}"}`,
		"providers/p": `{"adapter":"openai","api_key":"from a file","id":"p"}`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for key, want := range map[config.Key]string{{Namespace: config.Agents, ID: "a:b"}: "agents/a%3Ab.yaml", {Namespace: config.Tools, ID: ".x"}: "tools/%2Ex.yaml", {Namespace: config.Skills, ID: "s"}: "skills/s.yaml"} {
		if got := filepath.ToSlash(FileName(key)); got != want || unescape(strings.TrimSuffix(filepath.Base(got), ".yaml")) != key.ID {
			t.Errorf("file of %s is %s, want %s", key, got, want)
		}
	}
}

func TestDocuments_Mistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"agents/a.yaml", "id: b", `DIR/agents/a.yaml:1: id is "b", want "a" as in the file name`},
		{"agents/a.yaml", "x: 1", `DIR/agents/a.yaml:1: id is missing or empty`},
		{"agents/a.yaml", "- id: a", `DIR/agents/a.yaml:1: got an array, want an object`},
		{"agents/a.yaml", "", `DIR/agents/a.yaml: is empty`},
		{"agnts/a.yaml", "id: a", `DIR/agnts: unknown namespace "agnts", want a2a-servers, agents, mcp-servers, model-pools, models, providers, skills or tools`},
		{"x.yaml", "agents:\n- id: a\nmodles: []", `DIR/x.yaml:3: unknown field "modles", want a2a-servers, agents, mcp-servers, model-pools, models, providers, skills or tools`},
		{"x.yaml", "agents: {id: a}", `DIR/x.yaml:1: field "agents" is an object, want an array`},
		{"x.yaml", "agents:\n- id: a\n- id: a", `DIR/x.yaml:3: agents[1]: agents/a is defined twice, first in DIR/x.yaml:2`},
		{"x.yaml", "agents:\n- id: a/b", `DIR/x.yaml:2: agents[0]: invalid request: id of agents is "a/b", want none of / \ # ? %`},
		{"x.yaml", "providers:\n- id: p\n  adapter: openai\n  api_key: ${NONE}", `DIR/x.yaml:4: providers/p: api_key: environment variable NONE is not set`},
		{"x.yaml", "providers:\n- id: p\n  adapter_options:\n    headers:\n      X-Key: ${not a name}", `DIR/x.yaml:5: providers/p: adapter_options.headers.X-Key: ${not a name} is not a valid reference, want ${NAME} or ${file:PATH}`},
		{"mcp-servers/m.yaml", "id: m\nenv:\n  T: ${file:/nowhere/x}", `DIR/mcp-servers/m.yaml:3: mcp-servers/m: env.T: open /nowhere/x: no such file or directory`},
	} {
		dir := t.TempDir()
		write(t, dir, c.name, c.text)
		_, err := Documents(dir, env)
		if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != c.want {
			t.Errorf("%s: %q:\n got %v\nwant %s", c.name, c.text, err, c.want)
		}
	}
}

// Errors of the control plane get file and line.
func TestLocate(t *testing.T) {
	docs, err := ReadDocuments("f.yaml", strings.NewReader("agents:\n- id: a\n  max_rounds: -1\n  endpoint:\n    base_url: x\n- id: b\n  model_id: none\n"), env)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"invalid request: agents/a: max_rounds is -1, want more\nendpoint.base_url is x": "f.yaml:3: agents/a: max_rounds is -1, want more\nf.yaml:5: endpoint.base_url is x",
		"agent \"b\": model \"none\" is not there":                                       "f.yaml:6: agent \"b\": model \"none\" is not there",
		"agent \"b\": model_id is \"none\"":                                              "f.yaml:7: agent \"b\": model_id is \"none\"",
		"the database is gone":                                                           "the database is gone",
	} {
		if got := Locate(docs, errors.New(text)).Error(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// Records in the form {spec, meta}, in which the original stores documents, are read as the
// documents that they stand for: with their overrides, and without the hidden ones.
func TestDocuments_ReadsRecordsOfTheOriginal(t *testing.T) {
	const file = `{"agents":[
		{"spec":{"id":"a","model_id":"m","max_rounds":3,"sections":{"x":{"n":1},"y":{}}},"meta":{"source":{"kind":"builtin","binary_version":"0.6.0"},"hidden":false,
			"user_overrides":{"max_rounds":5,"sections":{"y":null,"z":{}}},"created_at":1,"updated_at":2,"revision":3}},
		{"spec":{"id":"b"},"meta":{"source":{"kind":"builtin"},"hidden":true,"revision":1}}]}`
	docs, err := ReadDocuments("f.json", strings.NewReader(file), func(string) (string, bool) { return "", false })
	if err != nil || len(docs) != 1 || docs[0].Key.ID != "a" {
		t.Fatalf("%v, %v", docs, err)
	}
	if got, want := string(docs[0].Spec), `{"id":"a","max_rounds":5,"model_id":"m","sections":{"x":{"n":1},"z":{}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
