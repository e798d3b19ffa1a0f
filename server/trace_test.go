package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server"
)

func TestTraces_ARunIsReadAsEvents(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run, ticket := g.waits(admin...)
	g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"resume"}`, admin...)
	g.ended(run)
	req, err := http.NewRequestWithContext(t.Context(), "GET", g.http.URL+"/v1/traces/"+run+"?limit=2", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type") + " " + resp.Header.Get("X-Trace-Next-Offset"); got != "application/x-ndjson 2" {
		t.Errorf("type and next offset are %s", got)
	}
	var total int
	if _, err := fmt.Sscan(resp.Header.Get("X-Trace-Total-Events"), &total); err != nil || total < 4 {
		t.Errorf("%d events, %v", total, err)
	}
	_, text := g.ask("GET", "/v1/traces/"+run, "", admin...)
	var kinds []string
	for line := range strings.Lines(text) {
		var ev map[string]any
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev["run_id"] != run || ev["agent_id"] != "default" {
			t.Errorf("an event is %s", line)
		}
		kinds = append(kinds, ev["type"].(string))
	}
	if got := strings.Join(kinds, " "); got != "inference suspension tool inference" {
		t.Errorf("the events are %s", got)
	}
	if !strings.Contains(text, `"call_result":{"tool_name":"ask"`) || !strings.Contains(text, `"request_messages"`) {
		t.Errorf("the trace has no bodies: %s", text)
	}
	g.want(404, "GET", "/v1/traces/none", "", admin...)
}

func TestTraces_AreListedWithTheFiltersOfRuns(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run := g.done(admin...)
	g.done(admin...)
	list := g.want(200, "GET", "/v1/traces?agent_id=default&limit=1", "", admin...)
	runs := list["runs"].([]any)
	if len(runs) != 1 || list["has_more"] != true {
		t.Fatalf("the list is %v", list)
	}
	next := g.want(200, "GET", "/v1/traces?agent_id=default&limit=1&cursor="+url.QueryEscape(list["next_cursor"].(string)), "", admin...)["runs"].([]any)
	first := next[0].(map[string]any)
	if first["run_id"] != run || first["final_status"] != "natural_end" || first["started_at"] == nil || first["ended_at"] == nil || len(first["prompt_ids"].([]any)) != 0 {
		t.Errorf("the run is %v", first)
	}
	for query, want := range map[string]int{"agent_id=other": 0, "outcome=error": 0, "min_cost_usd=1000": 0, "experiment_id=x": 0, "root=true": 2, "since=2001-01-01T00:00:00Z": 2} {
		if got := len(g.want(200, "GET", "/v1/traces?"+query, "", admin...)["runs"].([]any)); got != want {
			t.Errorf("%s: %d runs, want %d", query, got, want)
		}
	}
	for _, query := range []string{"agent=default", "since=yesterday", "outcome=odd"} {
		g.want(400, "GET", "/v1/traces?"+query, "", admin...)
	}
}

func TestTraces_AreOffUnlessAskedFor(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *server.Config) { c.Traces = false })
	_, run := g.done(admin...)
	g.want(404, "GET", "/v1/traces", "", admin...)
	g.want(404, "GET", "/v1/traces/"+run, "", admin...)
}
