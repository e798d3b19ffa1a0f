package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server"
)

// What a cell did can be looked at, as the trace of any run, until its evaluation is deleted.
func TestEvalRuns_KeepTheTracesOfTheirCells(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	if err := g.keys.Fix("the-key-of-another-tenant", server.Key{ID: "other", Kind: server.AdminKey, Tenant: "other"}); err != nil {
		t.Fatal(err)
	}
	id := g.dataset(`{"id":"a","user_input":"RUN_TOOL ask {}","continued_turns":[{"user_input":"and then?"}],"decide":"approve","tool_results":[{"name":"ask","result":"recorded"}],"expect":{"final_answer_contains":["never"]}}`, admin...)
	run := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"],"agent_id":"default"}`, id), admin...)["run"].(map[string]any)
	traced, _ := run["items"].([]any)[0].(map[string]any)["trace_run_id"].(string)
	status, text := g.ask("GET", "/v1/traces/"+traced, "", admin...)
	if status != 200 || strings.Count(text, `"type":"inference"`) != 3 || !strings.Contains(text, `"type":"tool"`) || !strings.Contains(text, "recorded") || !strings.Contains(text, "and then?") {
		t.Fatalf("%d %s", status, text)
	}
	resp := g.do("GET", "/v1/traces/"+traced+"?offset=1&limit=2", "", admin...)
	resp.Body.Close()
	if got := resp.Header.Get("X-Trace-Total-Events") + " " + resp.Header.Get("X-Trace-Next-Offset"); got != "4 3" {
		t.Errorf("events and next offset are %s", got)
	}
	g.want(404, "GET", "/v1/traces/"+traced, "", "Authorization", "Bearer the-key-of-another-tenant")
	if kept := g.want(200, "GET", "/v1/eval/runs/"+run["id"].(string), "", admin...)["run"].(map[string]any)["items"].([]any)[0].(map[string]any)["trace_run_id"]; kept != traced {
		t.Errorf("the stored item has trace %v, want %s", kept, traced)
	}
	if list := g.want(200, "GET", "/v1/traces", "", admin...)["runs"].([]any); len(list) != 0 {
		t.Errorf("cells are among the runs: %v", list)
	}
	g.want(204, "DELETE", "/v1/eval/runs/"+run["id"].(string), "", admin...)
	g.says(404, "run not found", "GET", "/v1/traces/"+traced, "", admin...)

	without := g.want(200, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"models":["m"],"agent_id":"default","traces":false}`, id), admin...)["run"].(map[string]any)
	if v, has := without["items"].([]any)[0].(map[string]any)["trace_run_id"]; has {
		t.Errorf("a run without traces has trace %v", v)
	}
}
