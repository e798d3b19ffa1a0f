package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// shaped checks that a reply has the fields of a shape, with their types: text, number, flag, any, a list with the shape of its
// items, or an object. The name of a field that may be missing ends with a question mark; a type that may be null does too. Further fields
// do not disturb the original's console.
func shaped(t *testing.T, at string, want, got any) {
	t.Helper()
	kind, _ := want.(string)
	if strings.HasSuffix(kind, "?") {
		if got == nil {
			return
		}
		kind = strings.TrimSuffix(kind, "?")
	}
	ok := true
	switch want := want.(type) {
	case string:
		switch kind {
		case "text":
			_, ok = got.(string)
		case "number":
			_, ok = got.(float64)
		case "flag":
			_, ok = got.(bool)
		}
	case []any:
		list, isList := got.([]any)
		if ok = isList && len(list) > 0; ok {
			for i, item := range list {
				shaped(t, fmt.Sprintf("%s[%d]", at, i), want[0], item)
			}
		}
	case map[string]any:
		fields, isObject := got.(map[string]any)
		ok = isObject
		for name, field := range want {
			bare := strings.TrimSuffix(name, "?")
			if v, has := fields[bare]; has || bare == name {
				if !has {
					t.Errorf("%s.%s is missing", at, name)
					continue
				}
				shaped(t, at+"."+bare, field, v)
			}
		}
	}
	if !ok {
		t.Errorf("%s is %v, want %v", at, got, want)
	}
}

// calls sends a request of the original's console, and checks the status and the shape of the reply, which it returns.
func (g *rig) calls(status int, shape, method, path, body string) map[string]any {
	g.t.Helper()
	got := g.want(status, method, path, body, admin...)
	var want any
	if err := json.Unmarshal([]byte(shape), &want); err != nil {
		g.t.Fatal(err)
	}
	shaped(g.t.(*testing.T), method+" "+path, want, got)
	return got
}

const (
	originalRecord = `{"spec":{"description?":"text","fixtures":"any"},"meta":{"source":{"kind":"text"},"hidden":"flag","created_at":"number","updated_at":"number","revision":"number"}}`
	originalReport = `{"fixture_id":"text","passed":"flag","failures":"any","final_text":"text","inference_count":"number","tool_count":"number","tool_failures":"number","total_input_tokens":"number",
		"total_output_tokens":"number","total_tokens":"number","session_duration_ms":"number","tool_calls_by_agent?":"any","error_type?":"text","inference_error_count?":"number","runtime_failure?":"any",
		"cost_usd?":"number","revision_count?":"number","judge_score?":"number","judge_reasoning?":"text"}`
	originalRun = `{"id":"text","dataset_id":"text","dataset_revision":"number","execution_mode":"text","started_at_secs":"number","ended_at_secs":"number",
		"items":[{"fixture_id":"text","cell?":{"model_id":"text"},"trace_run_id?":"text","sample_index?":"number","report":` + originalReport + `}]}`
	originalError = `{"error":"text"}`
)

// The drawer of recent runs: a list of traces, a trace in pages, and the run as a fixture of a dataset, which is removed again if that fails.
func TestOriginalConsole_RecentRuns(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run, ticket := g.waits(admin...)
	g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"resume"}`, admin...)
	g.eventually("the end of the run", func() bool { return g.want(200, "GET", "/v1/runs/"+run, "", admin...)["status"] == "done" })

	g.calls(200, `{"runs":[{"run_id":"text","agent_id":"text","started_at":"text?","ended_at":"text?","prompt_ids":"any","experiment_id?":"text","variant_name?":"text","final_status?":"text","judge_score?":"number"}]}`,
		"GET", "/v1/traces?agent_id=default&limit=20", "")
	g.calls(400, originalError, "GET", "/v1/traces?since=yesterday", "")
	g.calls(400, originalError, "GET", "/v1/traces?unknown=1", "")

	var lines []map[string]any
	for offset := "0"; offset != ""; {
		resp := g.do("GET", "/v1/traces/"+run+"?limit=2&offset="+offset, "", admin...)
		head := resp.Header
		dec := json.NewDecoder(resp.Body)
		for dec.More() {
			var line map[string]any
			if err := dec.Decode(&line); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		resp.Body.Close()
		if head.Get("Content-Type") != "application/x-ndjson" || head.Get("x-trace-total-events") != "4" {
			t.Fatalf("%v", head)
		}
		offset = head.Get("x-trace-next-offset")
	}
	kinds := map[string]string{
		"inference": `{"model":"text","operation":"text","response_model?":"text","finish_reasons":"any","input_tokens":"number","output_tokens":"number","total_tokens":"number","duration_ms":"number",
			"started_at_ms":"number","ended_at_ms":"number","response_content?":"text","response_tool_calls?":"any","request_messages?":"any"}`,
		"tool":       `{"name":"text","operation":"text","call_id":"text","call_arguments":"any","call_result":"any","duration_ms":"number"}`,
		"suspension": `{"tool_call_id":"text","tool_name":"text","action":"text"}`,
	}
	for _, line := range lines {
		shape := kinds[line["type"].(string)]
		var want any
		if err := json.Unmarshal([]byte(shape), &want); err != nil {
			t.Fatalf("an event of type %s: %v", line["type"], err)
		}
		shaped(t, "event", want, line)
		shaped(t, "event", map[string]any{"type": "text", "run_id": "text", "thread_id": "text", "agent_id": "text", "parent_run_id?": "text", "step_index?": "number"}, line)
	}
	if len(lines) != 4 {
		t.Errorf("the pages have %d events", len(lines))
	}
	g.calls(404, originalError, "GET", "/v1/traces/none?offset=0&limit=10", "")

	// "+ Fixture": into a new dataset, from which a failure rolls back, and into one that exists.
	made := g.calls(201, originalRecord, "POST", "/v1/eval/datasets", `{"id":"support","spec":{"description":"Support","fixtures":[]}}`)
	if made["meta"].(map[string]any)["revision"] != 1.0 || made["meta"].(map[string]any)["source"].(map[string]any)["kind"] != "user" {
		t.Errorf("%v", made)
	}
	g.calls(400, originalError, "POST", "/v1/eval/datasets/support/items", fmt.Sprintf(`{"from_run_id":%q,"provider_script_mode":"odd"}`, run))
	g.want(204, "DELETE", "/v1/eval/datasets/support?expected_revision=1", "", admin...)
	g.calls(404, originalError, "POST", "/v1/eval/datasets/support/items", fmt.Sprintf(`{"from_run_id":%q}`, run))
	g.calls(201, originalRecord, "POST", "/v1/eval/datasets?id=support", `{"spec":{"fixtures":[]}}`)
	for _, mode := range []string{"optional", "require", "skip"} {
		g.calls(201, originalRecord, "POST", "/v1/eval/datasets/support/items",
			fmt.Sprintf(`{"from_run_id":%q,"fixture_id":%q,"description":"x","user_input":"May I?","allow_unused_provider_script":true,"provider_script_mode":%q,"expected":{"final_answer_contains":["a"]}}`, run, mode, mode))
	}
	one := g.calls(200, originalRecord, "GET", "/v1/eval/datasets/support", "")["spec"].(map[string]any)["fixtures"].([]any)
	for i, scripted := range []bool{true, true, false} {
		f := one[i].(map[string]any)
		shaped(t, "fixture", map[string]any{"id": "text", "description?": "text", "user_input": "text", "provider_script?": []any{map[string]any{"kind": "text"}}, "source_run_id": "text", "source_model_id?": "text", "expect": "any"}, f)
		if _, has := f["provider_script"]; has != scripted {
			t.Errorf("fixture %s has a script: %t", f["id"], has)
		}
	}
}

func TestOriginalConsole_Datasets(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	made := g.calls(201, originalRecord, "POST", "/v1/eval/datasets", `{"spec":{"fixtures":[`+saysHi+`]}}`) // which gets an id
	id, _ := made["id"].(string)
	if id == "" {
		t.Fatalf("%v", made)
	}
	g.calls(200, `{"datasets":[{"id":"text","description":"text","fixture_count":"number","revision":"number"}]}`, "GET", "/v1/eval/datasets?offset=0&limit=100", "")
	g.calls(409, originalError, "POST", "/v1/eval/datasets", fmt.Sprintf(`{"id":%q,"spec":{"fixtures":[]}}`, id))
	g.calls(200, originalRecord, "GET", "/v1/eval/datasets/"+id, "")
	g.calls(404, originalError, "GET", "/v1/eval/datasets/none", "")
	if put := g.calls(200, originalRecord, "PUT", "/v1/eval/datasets/"+id, `{"expected_revision":1,"spec":{"description":"x","fixtures":[`+saysHi+`,`+saysBye+`]}}`); put["meta"].(map[string]any)["revision"] != 2.0 {
		t.Errorf("%v", put)
	}
	g.calls(409, originalError, "PUT", "/v1/eval/datasets/"+id, `{"expected_revision":1,"spec":{"fixtures":[]}}`)
	g.calls(400, originalError, "PUT", "/v1/eval/datasets/"+id, `{"expected_revision":2,"spec":{"fixtures":[{"id":"","user_input":"x","expect":{}}]}}`)
	g.calls(201, originalRecord, "POST", "/v1/eval/datasets/"+id+"/fixtures", `{"expected_revision":2,"fixture":{"id":"old","user_input":"x","mock_response":{"kind":"text","text":"y"},"expect":{}}}`)
	_, run := g.done(admin...)
	g.calls(200, `{"imported_count":"number","skipped_count":"number","dataset_revision":"number"}`, "POST", "/v1/eval/datasets/"+id+"/import-traces",
		`{"expected_revision":3,"agent_id":"default","since_secs":0,"max_count":50,"skip_uncuratable":true,"provider_script_mode":"optional"}`)
	g.calls(200, `{"fixture_id":"text","dataset_revision":"number"}`, "POST", "/v1/eval/datasets/"+id+"/import-dialogue", fmt.Sprintf(`{"expected_revision":4,"run_ids":[%q],"fixture_id":"talk"}`, run))
	g.calls(409, originalError, "DELETE", "/v1/eval/datasets/"+id+"?expected_revision=1", "")
	g.want(204, "DELETE", "/v1/eval/datasets/"+id+"?expected_revision=5", "", admin...)
}

func TestOriginalConsole_EvalRuns(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	id := g.dataset(saysHi+","+saysBye, admin...)
	first := g.calls(200, `{"run":`+originalRun+`}`, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q}`, id))["run"].(map[string]any)
	if first["execution_mode"] != "scripted" || first["items"].([]any)[0].(map[string]any)["cell"] != nil {
		t.Errorf("%v", first)
	}
	const diff = `"diff":[{"kind":"text","fixture_id":"text","cell?":{"model_id":"text"},"sample_index?":"number","new_failures?":"any","fields?":"any","passed?":"flag"}]`
	const aggregates = `"aggregates":[{"fixture_id":"text","cell?":{"model_id":"text"},"samples":"number","passed":"number","pass_rate":"number","pass_at_k":"flag","pass_pow_k":"flag"}]`
	g.calls(200, `{"run":`+originalRun+`,`+diff+`}`, "POST", "/v1/eval/runs", fmt.Sprintf(`{"dataset_id":%q,"mode":"scripted","baseline_run_id":%q}`, id, first["id"]))
	live := g.calls(200, `{"run":`+originalRun+`,`+aggregates+`}`, "POST", "/v1/eval/runs",
		fmt.Sprintf(`{"dataset_id":%q,"mode":"live","models":["m"],"agent_id":"default","agent_overrides":{"system_prompt":"Be kind."},"samples":2,"max_walltime_secs":60,"max_total_tokens":10000}`, id))["run"].(map[string]any)
	item := live["items"].([]any)[0].(map[string]any)
	if live["execution_mode"] != "live" || item["cell"].(map[string]any)["model_id"] != "m" || item["sample_index"] == nil {
		t.Errorf("%v", item)
	}
	g.calls(200, `{"runs":[{"id":"text","dataset_id":"text","dataset_revision":"number","execution_mode":"text","started_at_secs":"number","item_count":"number","passed_count":"number","failed_count":"number"}]}`,
		"GET", "/v1/eval/runs?limit=50&since_secs=0&until_secs=99999999999&dataset_id="+id, "")
	g.calls(400, originalError, "GET", "/v1/eval/runs?cursor=x", "")
	g.calls(200, `{"run":`+originalRun+`}`, "GET", fmt.Sprintf("/v1/eval/runs/%s", live["id"]), "")
	g.calls(200, `{"run":`+originalRun+`,`+diff+`}`, "GET", fmt.Sprintf("/v1/eval/runs/%s?baseline=%s", first["id"], first["id"]), "")
	g.calls(200, `{"run":`+originalRun+`,`+aggregates+`}`, "GET", fmt.Sprintf("/v1/eval/runs/%s?aggregate=samples", live["id"]), "")
	g.calls(400, originalError, "GET", fmt.Sprintf("/v1/eval/runs/%s?baseline=%s", live["id"], first["id"]), "")
	g.calls(404, originalError, "GET", "/v1/eval/runs/none", "")
	g.calls(404, originalError, "POST", "/v1/eval/runs", `{"dataset_id":"none"}`)
}

// The page of models tries one with a single question.
func TestOriginalConsole_ModelTest(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	out := g.calls(200, `{"run":`+originalRun+`,"persisted":"flag"}`, "POST", "/v1/eval/online", `{"user_input":"Say hello.","models":["m"],"persist":false,"max_walltime_secs":30,"max_total_tokens":500}`)
	if run := out["run"].(map[string]any); run["dataset_id"] != "_adhoc" || out["persisted"] != false || run["items"].([]any)[0].(map[string]any)["cell"].(map[string]any)["model_id"] != "m" {
		t.Errorf("%v", out)
	}
	kept := g.calls(200, `{"run":`+originalRun+`,"persisted":"flag"}`, "POST", "/v1/eval/online", `{"user_input":"Say hello.","models":["m"],"samples":2,"expectations":{"final_answer_contains":["hello"]}}`)
	g.calls(200, `{"run":`+originalRun+`}`, "GET", "/v1/eval/runs/"+kept["run"].(map[string]any)["id"].(string), "")
	g.calls(404, originalError, "POST", "/v1/eval/online", `{"user_input":"x","models":["none"]}`)
	g.calls(400, originalError, "POST", "/v1/eval/online", `{"user_input":"x","models":[]}`)
	resp := g.do("POST", "/v1/eval/online", `{"user_input":"x","models":["m"]}`, "Authorization", "Bearer wrong")
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("with a wrong token the status is %d; the console asks for another one at 401", resp.StatusCode)
	}
}
