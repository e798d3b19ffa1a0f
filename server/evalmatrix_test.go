package server_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
)

// newEchoRig returns a server with models "echo" and "echo2", which say what they were asked by.
func newEchoRig(t *testing.T) *rig {
	t.Helper()
	g := newRigOf(t)
	g.config = func(c *registry.Config) {
		for _, id := range []string{"echo", "echo2"} {
			c.Models = append(c.Models, awaken.ModelSpec{ID: id, ProviderID: id, UpstreamModel: id})
			c.Providers[id] = llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
				text := id + " " + req.System[0].Text
				if req.Temperature != nil {
					text += fmt.Sprint(" at ", *req.Temperature)
				}
				return llmtest.NewScript(llmtest.Say(text)).Stream(ctx, req)
			})
		}
	}
	g.start()
	return g
}

// cells runs a dataset and returns what each cell is and said.
func (g *rig) cells(id, rest string, headers ...string) []string {
	g.t.Helper()
	var out []string
	run := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"mode":"live",%s}`, id, rest), append(headers, admin...)...)["run"].(map[string]any)
	for _, it := range run["items"].([]any) {
		it := it.(map[string]any)
		cell := it["cell"].(map[string]any)
		names := []string{}
		for _, name := range []string{"agent_id", "version", "variant", "model_id"} {
			if v, ok := cell[name]; ok {
				names = append(names, fmt.Sprint(v))
			}
		}
		out = append(out, strings.Join(names, "/")+": "+it["report"].(map[string]any)["final_text"].(string))
	}
	slices.Sort(out)
	return out
}

// A run compares agents, versions, models, prompts and parameters, each with each.
func TestEvalRuns_CompareEverythingThatAnAgentIs(t *testing.T) {
	t.Parallel()
	g := newEchoRig(t)
	put := func(agent, prompt, query string) string {
		t.Helper()
		g.want(200, "PUT", "/v1/config/agents/"+agent+query, fmt.Sprintf(`{"id":%q,"model_id":"echo","system_prompt":%q}`, agent, prompt), admin...)
		return fmt.Sprint(g.want(200, "GET", "/v1/registry/versions?limit=1", "", admin...)["items"].([]any)[0].(map[string]any)["number"])
	}
	put("ann", "one", "")
	first := put("bob", "two", "")
	second := put("bob", "three", "")
	id := g.dataset(`{"id":"x","user_input":"x","expect":{}}`, admin...)
	for _, tt := range []struct {
		name, body string
		want       []string
	}{
		{"agents and models", `"agents":["ann","bob"],"models":["echo","echo2"]`, []string{"ann/echo2: echo2 one", "ann/echo: echo one", "bob/echo2: echo2 three", "bob/echo: echo three"}},
		{"versions", "", nil},
		{"prompts and parameters", `"agent_id":"ann","variants":[{"id":"as it is"},{"id":"calm","system_prompt":"be calm","agent_overrides":null,"parameters":{"temperature":0.25}},{"id":"other","agent_overrides":{"model_id":"echo2"}}]`,
			[]string{"as it is/echo: echo one", "calm/echo: echo be calm at 0.25", "other/echo2: echo2 one"}},
	} {
		if tt.want == nil {
			tt.body = `"agent_id":"bob","versions":["` + first + `","live"]`
			tt.want = []string{first + "/echo: echo two", second + "/echo: echo three"}
		}
		if diff := cmp.Diff(tt.want, g.cells(id, tt.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	put("bob", "four", "?publish=false")
	got := g.cells(id, `"agents":["bob"],"versions":["live","draft"],"variants":[{"id":"v"}],"models":["echo"]`)
	if len(got) != 2 || !strings.HasPrefix(got[0], "bob/"+second+"/v/echo: echo three") || !strings.HasSuffix(got[1], "/v/echo: echo four") {
		t.Errorf("live and draft: %q", got)
	}
	for body, says := range map[string]string{
		`"agent_id":"ann","agents":["bob"]`:                                        "agent_id and agents: want one of them",
		`"agents":["bob","bob"]`:                                                   `agents[1] is \"bob\", which is listed before`,
		`"agents":["none"]`:                                                        `agents[0] is \"none\"`,
		`"agent_id":"ann","variants":[{"id":""}]`:                                  "variants[0].id is",
		`"agent_id":"ann","variants":[{"id":"a"},{"id":"a"}]`:                      `variants[1] is \"a\", which is listed before`,
		`"agent_id":"ann","variants":[{"id":"a","agent_overrides":{"id":"x"}}]`:    "agent_overrides.id",
		`"agent_id":"ann","version":"1","versions":["2"]`:                          "version and versions: want one of them",
		`"agent_id":"ann","versions":["live","` + second + `"]`:                    `versions[1] is`,
		`"agent_id":"ann","versions":[]`:                                           "versions has 0 of them; want 1 to 20",
		`"models":["echo"],"versions":["1"]`:                                       "without an agent_id",
		`"agent_id":"ann","variants":[{"id":"a","parameters":{"heat":1}}]`:         "heat",
		`"agent_id":"ann","variants":[{"id":"a","parameters":{"temperature":99}}]`: `variant \"a\": parameters.temperature is 99, want 0 to 2`,
		`"agent_id":"ann","variants":[{"id":"a","parameters":{"max_tokens":-1}}]`:  `parameters.max_tokens is -1`,
	} {
		status, text := g.ask("POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"mode":"live",%s}`, id, body), admin...)
		if status/100 != 4 || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s, want %q", body, status, text, says)
		}
	}
	g.says(400, "variants is set, but the mode is scripted", "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"mode":"scripted","variants":[{"id":"a"}]}`, id), admin...)
}

// Admins of a tenant change prompts and parameters of agents, and give them nothing that the administrators of the server have not.
func TestEvalRuns_TenantsOverrideNoAuthority(t *testing.T) {
	t.Parallel()
	g := newEchoRig(t)
	g.want(200, "PUT", "/v1/config/agents/bob", `{"id":"bob","model_id":"echo","system_prompt":"one"}`, admin...)
	acme := g.as("the-key-of-acme", server.Key{ID: "acme", Kind: server.AdminKey, Tenant: "acme"})
	id := g.dataset(`{"id":"x","user_input":"x","expect":{}}`, acme...)
	for _, field := range []string{`"plugin_ids":["basics"]`, `"sections":{}`, `"delegates":["bob"]`, `"allowed_tools":["ask"]`, `"excluded_tools":[]`, `"budget":{}`, `"trust_clients":true`} {
		for route, body := range map[string]string{
			"/v1/eval/runs":   fmt.Sprintf(`{"dataset_id":%q,"mode":"live","agent_id":"bob","agent_overrides":{%s}}`, id, field),
			"/v1/eval/runs?":  fmt.Sprintf(`{"dataset_id":%q,"mode":"live","agent_id":"bob","variants":[{"id":"v","agent_overrides":{%s}}]}`, id, field),
			"/v1/eval/online": fmt.Sprintf(`{"user_input":"x","agent_id":"bob","agent_overrides":{%s}}`, field),
		} {
			if status, text := g.ask("POST", route, body, acme...); status != 403 || !strings.Contains(text, "only administrators of the server override it") {
				t.Errorf("%s %s: %d %s", route, body, status, text)
			}
		}
	}
	g.want(200, "POST", "/v1/eval/online", `{"user_input":"x","agent_id":"bob","agent_overrides":{"system_prompt":"two","max_rounds":2,"model_id":"echo2"}}`, acme...)
	g.want(200, "POST", "/v1/eval/online", `{"user_input":"x","agent_id":"bob","agent_overrides":{"plugin_ids":[]}}`, admin...)
}

// A run over several versions that another process continues has the versions that it began with.
func TestEvalRuns_ContinueWithTheirVersions(t *testing.T) {
	t.Parallel()
	g := newEchoRig(t)
	g.want(200, "PUT", "/v1/config/agents/bob", `{"id":"bob","model_id":"echo","system_prompt":"one"}`, admin...)
	g.want(200, "PUT", "/v1/config/agents/bob?publish=false", `{"id":"bob","model_id":"echo","system_prompt":"two"}`, admin...)
	id := g.dataset(`{"id":"x","user_input":"x","expect":{}}`, admin...)
	made := g.want(202, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"mode":"live","agent_id":"bob","versions":["draft","live"],"in_doubt":"retry"}`, id), async...)["run"].(map[string]any)["id"].(string)
	g.srv.Evals.Jobs().Stop()
	g.want(200, "PUT", "/v1/config/agents/bob?publish=false", `{"id":"bob","model_id":"echo","system_prompt":"three"}`, admin...)
	g.stop()
	next := &rig{t: t, db: g.db, keys: g.keys, conf: g.conf, config: g.config}
	g.profiles.Range(func(k, v any) bool { next.profiles.Store(k, v); return true })
	next.start()
	next.srv.Evals.Jobs().Sweep(t.Context())
	var run map[string]any
	next.eventually("the end of the run", func() bool {
		run = next.want(200, "GET", "/v1/eval/runs/"+made, "", admin...)["run"].(map[string]any)
		return run["status"] == "done"
	})
	var said []string
	for _, it := range run["items"].([]any) {
		said = append(said, it.(map[string]any)["report"].(map[string]any)["final_text"].(string))
	}
	if diff := cmp.Diff([]string{"echo two", "echo one"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
