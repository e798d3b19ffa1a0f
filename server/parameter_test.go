package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

func TestRuns_RefuseOverridesOutOfRange(t *testing.T) {
	t.Parallel()
	g := &rig{t: t, db: memory.NewDB(), keys: adminKeys(t), config: func(c *registry.Config) {
		c.Pools = []awaken.ModelPoolSpec{{ID: "pool", Members: []awaken.PoolMember{{ModelID: "m"}}}}
		c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "pooled", ModelID: "pool"})
	}}
	g.start(func(c *servertest.Config) { c.Routes = aisdkRoutes() })
	for _, tt := range []struct{ agent, overrides, want string }{
		{"default", `{"temperature":9e9}`, "overrides.temperature is 9e+09, want 0 to 2"},
		{"default", `{"temperature":-0.1}`, "overrides.temperature"},
		{"default", `{"top_p":1.5}`, "overrides.top_p is 1.5, want 0 to 1"},
		{"default", `{"max_tokens":1099511627776}`, "overrides.max_tokens is 1099511627776, want 1 to 1048576"},
		{"default", `{"max_tokens":0}`, "overrides.max_tokens is 0"},
		{"default", `{"max_tokens":-1}`, "overrides.max_tokens is -1"},
		{"default", `{"upstream_model":"  "}`, "overrides.upstream_model is blank"},
		{"default", `{"upstream_model":"a\u0001"}`, "overrides.upstream_model"},
		{"pooled", `{"upstream_model":"m2"}`, "is a pool"},
		{"default", `{"temperature":2,"top_p":1,"max_tokens":1,"upstream_model":"m2"}`, ""},
		{"pooled", `{"temperature":0}`, ""},
	} {
		raw := json.RawMessage(tt.overrides)
		own, err := json.Marshal(map[string]any{"agent_id": tt.agent, "stream": false, "messages": []map[string]string{{"role": "user", "content": "hello"}}, "overrides": raw})
		if err != nil {
			t.Fatal(err)
		}
		chat, err := json.Marshal(map[string]any{"id": "chat of " + tt.agent, "overrides": raw,
			"messages": []map[string]any{{"id": "u", "role": "user", "parts": []map[string]string{{"type": "text", "text": "hello"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		for path, body := range map[string][]byte{"/v1/runs": own, "/v1/ai-sdk/agents/" + tt.agent + "/runs": chat} {
			status, text := g.ask("POST", path, string(body))
			if want := map[bool]int{true: 200, false: 400}[tt.want == ""]; status != want || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), tt.want) {
				t.Errorf("%s %s: %d %.300s, want %d with %q", path, tt.overrides, status, text, want, tt.want)
			}
		}
	}
}

// A filter that a list does not have is refused, so that a misspelt one does not list everything. What the list has
// works under each of its names.
func TestLists_RefuseUnknownParameters(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, _ := g.done()
	for path, want := range map[string]string{
		"/v1/runs?agent=default":                     `did you mean \"agent_id\"?`,
		"/v1/runs?colour=red":                        `unknown parameter \"colour\", want`,
		"/v1/runs?stauts=done":                       `did you mean \"status\"?`,
		"/v1/runs?status=done&ofset=1":               `did you mean \"offset\"?`,
		"/v1/runs/summary?user=ada":                  `did you mean \"user_id\"?`,
		"/v1/threads?resourceid=x":                   `did you mean \"resourceId\"?`,
		"/v1/threads/summaries?cursr=x":              `did you mean \"cursor\"?`,
		"/v1/threads/" + thread + "/runs?statu=done": `did you mean \"status\"?`,
		"/v1/threads?%FF=1":                          "unknown parameter",
		"/v1/runs?user_id=ada;status=done":           "the query is not valid",
		"/v1/runs?status=%zz":                        "the query is not valid",
	} {
		if status, text := g.ask("GET", path, ""); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want 400 with %s", path, status, text, want)
		}
	}
	for _, path := range []string{"/v1/runs?status=done&offset=0&limit=1&user_id=", "/v1/threads?resourceId=x&root=true", "/v1/threads/summaries?resource_id=x&parentThreadId=&limit=1", "/v1/threads?offset=1"} {
		g.want(200, "GET", path, "")
	}
}
