package server_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
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
	if status != 200 || len(text) > 5<<18 {
		t.Errorf("the document has %d bytes, want at most 1.25 MiB", len(text))
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

// Every parameter of every operation that reads is answered with no 5xx, whatever its value, on every store: also those whose
// paths name something that exists.
func TestOpenAPI_HostileParametersAreNoServerError(t *testing.T) {
	t.Parallel()
	pg, err := testenv.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop() })
	for _, store := range []string{"memory", "sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			var db mailbox.Queue = memory.NewDB()
			switch store {
			case "sqlite":
				d, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = d.Close() })
				db = d
			case "postgres":
				d, err := postgres.Open(t.Context(), pg.Database(), nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(d.Close)
				db = d
			}
			g := &rig{t: t, db: db, keys: adminKeys(t)}
			g.start()
			g.askEachParameter(rand.New(rand.NewPCG(3, 19)))
		})
	}
}

// askEachParameter sends each parameter of each operation that reads with some hostile values, alone and among others.
func (g *rig) askEachParameter(rnd *rand.Rand) {
	g.t.Helper()
	asked := 0
	ask := func(path string, query url.Values) {
		asked++
		if status, answer := g.ask("GET", path+"?"+query.Encode(), "", admin...); status >= 500 {
			g.t.Errorf("GET %s?%s: %d %s", path, query.Encode(), status, answer)
		}
	}
	parameters := map[string][]string{} // by operation
	readDocument(g.t.(*testing.T), g).operations(func(method, path string, op map[string]any) {
		for _, p := range op["parameters"].([]any) {
			if p := p.(map[string]any); p["in"] == "query" && method == "GET" && !strings.HasSuffix(path, "/stream") {
				parameters[method+" "+path] = append(parameters[method+" "+path], p["name"].(string))
			}
		}
	})
	for _, operation := range slices.Sorted(maps.Keys(parameters)) { // so that a failure can be repeated
		names := parameters[operation]
		at, _, _ := strings.Cut(successes[operation](g, admin).path, "?")
		for _, name := range names {
			for range testenv.Times(1, 5) {
				ask(at, url.Values{name: {hostile[rnd.IntN(len(hostile))]}})
			}
		}
		for range testenv.Times(1, 5) {
			query := url.Values{}
			for _, name := range names {
				if rnd.IntN(3) == 0 {
					query.Set(name, hostile[rnd.IntN(len(hostile))])
				}
			}
			ask(at, query)
		}
	}
	if asked < testenv.Times(100, 500) {
		g.t.Errorf("the test sent %d requests, want more: does the document have the parameters?", asked)
	}
}
