package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/config"
)

// failed is the body of an error.
type failed struct {
	Error, Code string
	Problems    []config.Problem
}

func (g *rig) fails(status int, method, path, body string) failed {
	g.t.Helper()
	got, text := g.ask(method, path, body, admin...)
	var out failed
	if err := json.Unmarshal([]byte(text), &out); got != status || err != nil {
		g.t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	return out
}

// Refused documents say what is wrong with each field, at once, and keep the text that clients know.
func TestProblems_OfEveryRefusedDocument(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const doc = `{"id":"new","model_id":"local-modl","system_promt":"x","max_rounds":"many"}`
	for _, r := range []struct{ method, path string }{{"POST", "/v1/config/agents"}, {"PUT", "/v1/config/agents/new"}, {"POST", "/v1/config/agents/validate"}, {"PUT", "/v1/config/agents/new?publish=false"}} {
		f := g.fails(400, r.method, r.path, doc)
		if f.Code != "invalid_request" || !strings.HasSuffix(f.Error, `unknown field "system_promt", did you mean "system_prompt"?`) {
			t.Errorf("%s %s: %+v, want the text of the first mistake", r.method, r.path, f)
		}
		var got []string
		for _, p := range f.Problems {
			got = append(got, p.Path+" "+p.Code+" "+p.Suggestion)
		}
		if want := []string{"/system_promt unknown_field system_prompt", "/max_rounds wrong_type ", "/model_id agent_missing_model local-model"}; !slices.Equal(got, want) {
			t.Errorf("%s %s: problems are %q, want %q", r.method, r.path, got, want)
		}
	}
}

// Every 400 and 422 has a problem, whatever the request is about.
func TestProblems_OfOtherRequests(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, c := range []struct {
		status                         int
		method, path, body, code, want string
	}{
		{400, "POST", "/v1/config/agents", `{`, "invalid_json", ""},
		{400, "POST", "/v1/config/agents", `{"model_id":"m"}`, "missing_field", "/id"},
		{400, "PUT", "/v1/config/agents/a", `{"id":"b","model_id":"m"}`, "invalid_request", "/id"},
		{422, "POST", "/v1/registry/publish", `{"note":7}`, "wrong_type", "/note"},
		{422, "POST", "/v1/registry/publish", `{"notes":""}`, "unknown_field", ""},
		{422, "PATCH", "/v1/config/agents/own/overrides", `{"max_rounds":3}`, "not_overridable", ""},
		{400, "PATCH", "/v1/config/agents/helper/overrides", `{"max_round":3}`, "unknown_field", ""},
		{400, "GET", "/v1/config/agents?limit=x", "", "invalid_request", ""},
	} {
		g.want(200, "PUT", "/v1/config/agents/own", `{"id":"own","model_id":"m"}`, admin...)
		f := g.fails(c.status, c.method, c.path, c.body)
		if len(f.Problems) == 0 || f.Problems[0].Code != c.code || f.Problems[0].Path != c.want || f.Problems[0].Severity != "error" {
			t.Errorf("%s %s %s: %+v, want %s at %q", c.method, c.path, c.body, f, c.code, c.want)
		}
	}
	if f := g.fails(404, "GET", "/v1/config/agents/none", ""); f.Problems != nil {
		t.Errorf("a 404 has problems: %+v", f)
	}
}
