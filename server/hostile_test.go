package server_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hostile are values that no operation expects.
var hostile = []string{"", " ", "0", "-1", "99999999999999999999", "1e400", "true", "null", "live", "draft", "../x", "%2e%2e", "a/b", "$schema", "meta", "日本", "\u202e", "x\x00y", "'; DROP TABLE x; --",
	`{"$secret":"providers/p#/api_key"}`, "***", strings.Repeat("a", 600), strings.Repeat("9", 40), "2026-13-45T99:99:99Z", "agents", "none", "1", "(", "Bash(", "*"}

// mutate returns a JSON value with a part replaced, removed or repeated.
func mutate(rnd *rand.Rand, v any) any {
	odd := []any{nil, true, -1, 1e300, "", strings.Repeat("x", 300), "***", []any{}, map[string]any{}, []any{[]any{map[string]any{"id": 7}}}, map[string]any{"$secret": "x"}}
	if rnd.IntN(4) == 0 {
		return odd[rnd.IntN(len(odd))]
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			switch rnd.IntN(5) {
			case 0:
			case 1:
				out[name+"x"] = e
			case 2:
				out[name] = mutate(rnd, e)
			default:
				out[name] = e
			}
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = mutate(rnd, out[i])
		}
		return append(out, out...)
	}
	return v
}

// The operations of the control plane that the OpenAPI document lists answer hostile parameters and bodies with no 5xx.
func TestOpenAPI_HostileInputIsNoServerError(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	d := readDocument(t, g)
	rnd := rand.New(rand.NewPCG(7, 11))
	asked := 0
	var names []string
	operations := map[string]map[string]any{}
	d.operations(func(method, path string, op map[string]any) {
		names = append(names, method+" "+path)
		operations[method+" "+path] = op
	})
	slices.Sort(names) // so that a failure can be repeated
	for _, name := range names {
		method, path, _ := strings.Cut(name, " ")
		op := operations[name]
		if !slices.ContainsFunc([]string{"/v1/config", "/v1/registry", "/v1/agents", "/v1/patterns", "/v1/memories", "/v1/remembered"}, func(p string) bool { return strings.HasPrefix(path, p) }) {
			continue
		}
		body := successes[name](g, nil).body
		for range 12 {
			at := regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(path, func(name string) string {
				if name == "{namespace}" && rnd.IntN(4) > 0 {
					return []string{"agents", "models", "providers", "tools", "skills", "mcp-servers"}[rnd.IntN(6)]
				}
				return url.PathEscape(hostile[rnd.IntN(len(hostile))])
			})
			query := url.Values{}
			for _, p := range op["parameters"].([]any) {
				if p := p.(map[string]any); p["in"] == "query" && rnd.IntN(2) == 0 {
					query.Set(p["name"].(string), hostile[rnd.IntN(len(hostile))])
				}
			}
			text := ""
			if op["requestBody"] != nil {
				var v any
				if err := json.Unmarshal([]byte(body), &v); err != nil {
					t.Fatal(err)
				}
				data, err := json.Marshal(mutate(rnd, v))
				if err != nil {
					t.Fatal(err)
				}
				text = string(data)
			}
			asked++
			if status, answer := g.ask(method, at+"?"+query.Encode(), text, admin...); status >= 500 && !strings.Contains(answer, `"code":"unavailable"`) && status != 502 {
				t.Errorf("%s %s?%s %s: %d %s", method, at, query.Encode(), text, status, answer)
			}
		}
	}
	if asked < 400 {
		t.Errorf("the test sent %d requests, want more: are the paths still right?", asked)
	}
}

// The documents of the control plane are typed, by the schemas that the server itself serves.
func TestOpenAPI_DocumentsAreTyped(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	status, text := g.ask("GET", "/openapi.json", "")
	if status != 200 || len(text) > 1<<20 {
		t.Errorf("the document has %d bytes, want at most 1 MiB", len(text))
	}
	var doc struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for ns, name := range map[string]string{"agents": "AgentDocument", "models": "ModelDocument", "model-pools": "ModelPoolDocument", "providers": "ProviderDocument", "mcp-servers": "McpServerDocument",
		"a2a-servers": "A2aServerDocument", "skills": "SkillDocument", "tools": "ToolDocument"} {
		served := g.want(200, "GET", "/v1/config/"+ns+"/$schema", "", admin...)
		delete(served, "$schema")
		a, _ := json.Marshal(served)
		b, _ := json.Marshal(doc.Components.Schemas[name])
		if string(a) != string(b) {
			t.Errorf("%s differs from the schema of %s", name, ns)
		}
		if strings.Contains(string(b), `"$defs"`) || strings.Contains(string(b), `"#/$defs`) {
			t.Errorf("%s refers to definitions that the document does not have", name)
		}
	}
	t.Logf("the document has %d bytes", len(text))
}
