package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Every form of tool_choice becomes a choice of the run, among the tools that it leaves.
func TestToolChoice(t *testing.T) {
	g := newRig(t)
	chat := `"model":"default","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}]`
	input := `"model":"default","input":"x","tools":[{"type":"function","name":"a"},{"type":"function","name":"b"}]`
	for _, tt := range []struct {
		path, body, choice string
		want               *llm.ToolChoice
		tools              string
		repeated           string // in the response
	}{
		{"/chat/completions", chat, `"auto"`, nil, "a b", ""},
		{"/chat/completions", chat, `null`, nil, "a b", ""},
		{"/chat/completions", chat, `"none"`, nil, "", ""},
		{"/chat/completions", chat, `"required"`, &llm.ToolChoice{Mode: "required"}, "a b", ""},
		{"/chat/completions", chat, `{"type":"function","function":{"name":"b"}}`, &llm.ToolChoice{Mode: "tool", Name: "b"}, "a b", ""},
		{"/chat/completions", chat, `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"b"}}]}}`, nil, "b", ""},
		{"/chat/completions", chat, `{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"b"}}]}}`, &llm.ToolChoice{Mode: "tool", Name: "b"}, "b", ""},
		{"/responses", input, `"required"`, &llm.ToolChoice{Mode: "required"}, "a b", `"required"`},
		{"/responses", input, `{"type":"function","name":"a"}`, &llm.ToolChoice{Mode: "tool", Name: "a"}, "a b", `{"name":"a","type":"function"}`},
		{"/responses", input, `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"a"}]}`, nil, "a", `"auto"`},
	} {
		t.Run(tt.choice, func(t *testing.T) {
			made := g.must(tt.path, fmt.Sprintf(`{%s,"tool_choice":%s}`, tt.body, tt.choice))
			run := g.latest()
			var got *llm.ToolChoice
			if run.Overrides != nil {
				got = run.Overrides.ToolChoice
			}
			var tools []string
			for _, s := range run.FrontendTools {
				tools = append(tools, s.ID)
			}
			if !cmp.Equal(got, tt.want) || strings.Join(tools, " ") != tt.tools {
				t.Errorf("choice %+v, tools %q, want %+v, %s", got, tools, tt.want, tt.tools)
			}
			if tt.repeated != "" {
				if said := jsonOf(t, made.at("tool_choice")); said != tt.repeated || len(made.at("tools").([]any)) != len(tools) {
					t.Errorf("the response says %s, tools %v", said, made.at("tools"))
				}
			}
		})
	}
}

// The run gets the parameters of a request, and the response repeats them, also later.
func TestParameters(t *testing.T) {
	g := newRig(t)
	g.must("/chat/completions", `{"model":"default","messages":[{"role":"user","content":"x"}],"stop":["A","B"],"seed":7,"parallel_tool_calls":false}`)
	want := &awaken.InferenceOverride{StopSequences: []string{"A", "B"}, Seed: new(int64(7)), ParallelTools: new(false)}
	if diff := cmp.Diff(want, g.latest().Overrides); diff != "" {
		t.Errorf("overrides (-want +got):\n%s", diff)
	}
	g.must("/chat/completions", `{"model":"default","messages":[{"role":"user","content":"x"}],"stop":"END"}`)
	if o := g.latest().Overrides; o == nil || len(o.StopSequences) != 1 || o.StopSequences[0] != "END" {
		t.Errorf("overrides %+v", o)
	}
	first := g.must("/responses", `{"model":"default","input":"one"}`)
	made := g.must("/responses", fmt.Sprintf(`{"model":"default","input":"two","previous_response_id":%q,"temperature":0.5,"top_p":0.9,"max_output_tokens":99,"parallel_tool_calls":false,
		"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}}`, first.text("id")))
	status, body := g.Ask("GET", g.URL+"/openai/v1/responses/"+made.text("id"), "")
	if status != 200 {
		t.Fatal(body)
	}
	if made.text("previous_response_id") != first.text("id") {
		t.Errorf("%v", made)
	}
	for name, r := range map[string]object{"the response": made, "the response when it is read": parse(t, body)} {
		if r.at("temperature") != 0.5 || r.at("top_p") != 0.9 || r.at("max_output_tokens") != 99.0 || r.at("parallel_tool_calls") != false || r.text("tools", 0, "name") != "f" ||
			r.text("text", "format", "type") != "json_schema" {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// A response in the background says so whenever it is read.
func TestBackground(t *testing.T) {
	g := newRig(t)
	made := g.must("/responses", `{"model":"default","input":"x","background":true}`)
	if made.at("background") != true {
		t.Errorf("%v", made)
	}
	if status, body := g.Ask("GET", g.URL+"/openai/v1/responses/"+made.text("id")+"?stream=true", ""); status != 200 { // until its end
		t.Fatal(body)
	}
	status, body := g.Ask("GET", g.URL+"/openai/v1/responses/"+made.text("id"), "")
	if r := parse(t, body); status != 200 || r.at("background") != true || r.text("id") != made.text("id") || r.text("status") != "completed" {
		t.Errorf("%d %s", status, body)
	}
	next := g.must("/responses", fmt.Sprintf(`{"model":"default","input":"and?","previous_response_id":%q}`, made.text("id")))
	if next.at("background") != false || next.text("previous_response_id") != made.text("id") {
		t.Errorf("%v", next)
	}
}

// The input of a response can be listed: the messages that began its run, or the results that continued it.
func TestInputItems(t *testing.T) {
	g := newRig(t)
	made := g.must("/responses", `{"model":"default","input":[{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":"user","content":"two"}]}`)
	list := func(id, query string) object {
		t.Helper()
		status, body := g.Ask("GET", g.URL+"/openai/v1/responses/"+id+"/input_items"+query, "")
		if status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		return parse(t, body)
	}
	all := list(made.text("id"), "?order=asc")
	var texts []string
	for i := range all.at("data").([]any) {
		texts = append(texts, all.text("data", i, "role")+" "+all.text("data", i, "content", 0, "type")+" "+all.text("data", i, "content", 0, "text"))
	}
	if diff := cmp.Diff([]string{"user input_text one", "assistant output_text 1", "user input_text two"}, texts); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	page := list(made.text("id"), "?limit=1")
	if page.text("data", 0, "content", 0, "text") != "two" || page.at("has_more") != true || page.text("last_id") != page.text("data", 0, "id") {
		t.Errorf("page %v", page)
	}
	if rest := list(made.text("id"), "?after="+page.text("last_id")); len(rest.at("data").([]any)) != 2 || rest.at("has_more") != false {
		t.Errorf("rest %v", rest)
	}
	for _, query := range []string{"?order=up", "?limit=0", "?limit=101"} {
		if status, body := g.Ask("GET", g.URL+"/openai/v1/responses/"+made.text("id")+"/input_items"+query, ""); status != 400 {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	approved := g.must("/responses", `{"model":"default","input":"RUN_TOOL ask"}`)
	id := approved.text("output", 0, "id")
	after := g.must("/responses", fmt.Sprintf(`{"model":"default","input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]}`, id))
	if got := list(after.text("id"), ""); got.text("data", 0, "type") != "mcp_approval_response" || got.text("data", 0, "approval_request_id") != id || got.at("data", 0, "approve") != true {
		t.Errorf("items behind an approval: %v", got)
	}
	if status, body := g.Ask("GET", g.URL+"/openai/v1/responses/"+made.text("id")+"~9/input_items", ""); status != 404 {
		t.Errorf("of a response that does not exist: %d %s", status, body)
	}
	asked := g.must("/responses", `{"model":"default","input":"RUN_TOOL front","tools":[{"type":"function","name":"front"}]}`)
	call := asked.text("output", 0, "call_id")
	next := g.must("/responses", fmt.Sprintf(`{"model":"default","previous_response_id":%q,"input":[{"type":"function_call_output","call_id":%q,"output":"42"}]}`, asked.text("id"), call))
	if got := list(next.text("id"), ""); got.text("data", 0, "type") != "function_call_output" || got.text("data", 0, "call_id") != call || got.text("data", 0, "output") != "42" {
		t.Errorf("items of the next response: %v", got)
	}
}
