package server_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server/servertest"
)

// rulings returns the behavior of each call, with the rule that decides.
func rulings(reply map[string]any) (out []string) {
	for _, item := range reply["items"].([]any) {
		item := item.(map[string]any)
		line := fmt.Sprint(item["tool"], " ", item["behavior"])
		if rule, ok := item["rule"].(map[string]any); ok {
			line += fmt.Sprint(" ", rule["source"], " ", rule["tool"])
		}
		out = append(out, fmt.Sprintf("%s %d", line, len(item["others"].([]any))))
	}
	return out
}

// Rules that are not saved are tried on calls, with those that win and those that lose.
func TestTrial_OfUnsavedRules(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const agent = `{"id":"new","model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"ask","rules":[{"tool":"ask","behavior":"deny"},{"tool":"*","behavior":"allow"}]}}}`
	reply := g.want(200, "POST", "/v1/agents/permission-preview", `{"agent":`+agent+`,"calls":[{"tool":"ask"},{"tool":"other","arguments":{"x":1}}]}`, admin...)
	if got := strings.Join(rulings(reply), ", "); got != "ask deny agent ask 1, other allow agent * 0" {
		t.Errorf("rulings are %s", got)
	}
	if totals := reply["totals"].(map[string]any); totals["deny"] != 1.0 || totals["allow"] != 1.0 || totals["ask"] != 0.0 || reply["complete"] != true {
		t.Errorf("reply is %v", reply)
	}
	if status, _ := g.ask("GET", "/v1/config/agents/new", "", admin...); status != 404 {
		t.Errorf("the agent was saved: %d", status)
	}
	for body, want := range map[string]int{
		`{}`: 400, `{"agent":7}`: 400, `{"agent":"none"}`: 404, `{"agent":"helper","calls":[{"tool":""}]}`: 400, `{"agent":"helper","calls":[{"tool":"x"}],"recent":{}}`: 400,
		`{"agent":"helper","recent":{"limit":501}}`: 400, `{"agent":"helper","recent":{"since":"yesterday"}}`: 400, `{"agent":{"id":"x"}}`: 400,
		`{"agent":{"id":"x","model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"rules":[{"tool":"(","behavior":"deny"}]}}}}`: 400,
	} {
		if status, text := g.ask("POST", "/v1/agents/permission-preview", body, admin...); status != want || !strings.Contains(text, `"error"`) {
			t.Errorf("%s: %d %s, want %d", body, status, text, want)
		}
	}
}

// The calls that runs have made are tried: those of the agent, in the tenant of the request.
func TestTrial_OfRecentCalls(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for range 3 {
		g.waits()
	}
	reply := g.want(200, "POST", "/v1/agents/permission-preview", `{"agent":"default"}`, admin...)
	if got := rulings(reply); len(got) != 3 || got[0] != "ask allow 0" || reply["complete"] != true {
		t.Errorf("rulings are %q", got)
	}
	item := reply["items"].([]any)[0].(map[string]any)
	if item["run_id"] == "" || item["call_id"] == "" || item["at"] == 0.0 || item["arguments"].(map[string]any)["path"] != "a" {
		t.Errorf("the call is %v", item)
	}
	if reply := g.want(200, "POST", "/v1/agents/permission-preview", `{"agent":"default","recent":{"limit":2}}`, admin...); len(rulings(reply)) != 2 || reply["complete"] != false {
		t.Errorf("two of three: %v", reply)
	}
	if reply := g.want(200, "POST", "/v1/agents/permission-preview", `{"agent":"default","recent":{"since":"2100-01-01T00:00:00Z"}}`, admin...); len(rulings(reply)) != 0 {
		t.Errorf("since tomorrow: %v", reply)
	}
	for _, c := range []struct {
		body    string
		headers []string
	}{{`{"agent":"helper"}`, admin}, {`{"agent":"default"}`, append([]string{"X-Awaken-Tenant", "acme"}, admin...)}} {
		if reply := g.want(200, "POST", "/v1/agents/permission-preview", c.body, c.headers...); len(rulings(reply)) != 0 {
			t.Errorf("%s: %v, want no calls of others", c.body, reply)
		}
	}
}

// However many threads they are on, the latest calls are found: those of the newest runs, and of a run the last.
func TestTrial_FindsTheLatestCalls(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Limits.KeyRate = 1e6 })
	paths := func(body string) (out []string, complete bool) {
		t.Helper()
		reply := g.want(200, "POST", "/v1/agents/permission-preview", body, admin...)
		last := math.Inf(1)
		for _, item := range reply["items"].([]any) {
			item := item.(map[string]any)
			if at := item["at"].(float64); at > last {
				t.Errorf("a call of %v is after one of %v", at, last)
			} else {
				last = at
			}
			out = append(out, fmt.Sprint(item["arguments"].(map[string]any)["path"]))
		}
		return out, reply["complete"].(bool)
	}
	const threads = 230
	for i := range threads {
		if i%10 == 0 {
			g.done() // a run without calls
		}
		g.want(200, "POST", "/v1/runs", runBody("default", g.id(), fmt.Sprintf(`RUN_TOOL ask {"path":"%d"}`, i)), "Accept", "application/json")
	}
	got, complete := paths(`{"agent":"default"}`)
	slices.Sort(got)
	if len(slices.Compact(got)) != threads || !complete {
		t.Errorf("%d calls, complete is %v; want all %d", len(got), complete, threads)
	}
	thread := g.id()
	for i := range 3 { // every message cancels what waits, and makes the next run of the thread
		g.want(200, "POST", "/v1/runs", runBody("default", thread, fmt.Sprintf(`RUN_TOOL ask {"path":"last %d"}`, i)), "Accept", "application/json")
	}
	if got, complete := paths(`{"agent":"default","recent":{"limit":2}}`); fmt.Sprint(got) != "[last 2 last 1]" || complete {
		t.Errorf("the last two calls are %q, complete is %v", got, complete)
	}
}

// Without the plugin there is nothing to preview.
func TestTrial_NeedsThePlugin(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Plane.Permission = nil })
	for _, r := range [][2]string{{"POST", "/v1/agents/permission-preview"}, {"GET", "/v1/agents/helper/permission-preview"}} {
		if status, text := g.ask(r[0], r[1], `{"agent":"helper"}`, admin...); status != 503 {
			t.Errorf("%s: %d %s", r, status, text)
		}
	}
}

// A pattern is explained part by part, and one that cannot be read says why.
func TestPatterns_Match(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	reply := g.want(200, "POST", "/v1/patterns/match", `{"pattern":"Bash(rm *)","calls":[{"tool":"Bash","arguments":{"command":"rm x"}},{"tool":"Bash","arguments":{"cwd":"/","command":"ls","extra":"rm y"}},{"tool":"other"}]}`, admin...)
	var got []string
	for _, item := range reply["items"].([]any) {
		item := item.(map[string]any)
		got = append(got, fmt.Sprint(item["match"], item["restricts"], len(item["parts"].([]any))))
	}
	if want := "true true 2, false true 2, false false 2"; strings.Join(got, ", ") != want {
		t.Errorf("matches are %q, want %s", got, want)
	}
	if status, text := g.ask("POST", "/v1/patterns/match", `{"pattern":"Bash("}`, admin...); status != 400 || !strings.Contains(text, "is not closed") {
		t.Errorf("%d %s", status, text)
	}
}
