package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

func TestMessageJSON_RoundTrips(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		message llm.Message
		wire    string
	}{
		{"shortest", llm.Message{Role: llm.User}, `{"role":"user","content":[]}`},
		{"system", *llm.NewText(llm.System, "Be brief."), `{"role":"system","content":[{"type":"text","text":"Be brief."}]}`},
		{"user", *llm.UserText("Hi"), `{"role":"user","content":[{"type":"text","text":"Hi"}]}`},
		{
			"assistant with a call",
			llm.Message{
				ID: "m2", Role: llm.Assistant,
				Content:   []llm.Block{llm.Thinking("hm", &llm.Opaque{Provider: "p", Signature: "s"}), llm.Text("Wait")},
				ToolCalls: []llm.ToolCall{{ID: "c1", Name: "add", Arguments: json.RawMessage(`{"a":1}`)}},
				Opaque:    &llm.Opaque{Provider: "openai", Data: json.RawMessage(`{"id":"resp_1"}`)},
			},
			`{"id":"m2","role":"assistant","content":[{"type":"thinking","thinking":"hm","opaque":{"provider":"p","signature":"s"}},{"type":"text","text":"Wait"}],` +
				`"tool_calls":[{"id":"c1","name":"add","arguments":{"a":1}}],"opaque":{"provider":"openai","data":{"id":"resp_1"}}}`,
		},
		{
			"tool, internal",
			llm.Message{ID: "m3", Role: llm.ToolRole, ToolCallID: "c1", Visibility: llm.Internal},
			`{"id":"m3","role":"tool","content":[],"tool_call_id":"c1","visibility":"internal"}`,
		},
		{
			"all metadata",
			llm.Message{Role: llm.User, Metadata: &llm.Metadata{
				RunID: "r1", StepIndex: new(0), SenderAgentID: "a",
				Compaction: &llm.Interval{FromSeq: 1, ToSeq: 9}, Rewind: &llm.Rewind{FromSeq: 4}, Interrupted: true,
			}},
			`{"role":"user","content":[],"metadata":{"run_id":"r1","step_index":0,"sender_agent_id":"a",` +
				`"compaction":{"from_seq":1,"to_seq":9},"rewind":{"from_seq":4},"interrupted":true}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkJSON(t, tt.message, tt.wire)
		})
	}
}

func TestMessageJSON_ReadsOtherSpellings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, wire string
		want       llm.Message
	}{
		{"string as content", `{"role":"user","content":"Hi"}`, *llm.UserText("Hi")},
		{"empty string as content", `{"role":"user","content":""}`, *llm.UserText("")},
		{"no content", `{"role":"user"}`, llm.Message{Role: llm.User}},
		{"null content", `{"role":"user","content":null}`, llm.Message{Role: llm.User}},
		{"default visibility", `{"role":"user","visibility":"all"}`, llm.Message{Role: llm.User}},
		{"no calls", `{"role":"assistant","tool_calls":[]}`, llm.Message{Role: llm.Assistant}},
		{
			"null arguments", `{"role":"assistant","tool_calls":[{"id":"c","name":"n","arguments":null}]}`,
			llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c", Name: "n"}}},
		},
		{
			"no arguments", `{"role":"assistant","tool_calls":[{"id":"c","name":"n"}]}`,
			llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c", Name: "n"}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got llm.Message
			if err := json.Unmarshal([]byte(tt.wire), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessageJSON_OmitsTheDefaultVisibility(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(llm.Message{Role: llm.User, Visibility: llm.VisibleAll})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(data), `{"role":"user","content":[]}`; got != want {
		t.Errorf("encoded %s, want %s", got, want)
	}
}

func TestMessageJSON_ErrorsNameTheProblem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, wire, why string }{
		{"no object", `["user"]`, `message: found a JSON array, want an object`},
		{"null", `null`, `message: role is missing, want system, user, assistant or tool`},
		{"unknown field", `{"role":"user","text":"a"}`, `message: unknown field "text"`},
		{"unknown field in metadata", `{"role":"user","metadata":{"run":"a"}}`, `message: unknown field "run", did you mean "run_id"?`},
		{"no role", `{"id":"m1"}`, `message "m1": role is missing, want system, user, assistant or tool`},
		{"unknown role", `{"id":"m1","role":"robot"}`, `message "m1": role is "robot", want system, user, assistant or tool`},
		{"unknown role without id", `{"role":"robot"}`, `message: role is "robot", want system, user, assistant or tool`},
		{"role of the wrong type", `{"role":1}`, `message: field "role" is a JSON number, want a string`},
		{"unknown visibility", `{"id":"m1","role":"user","visibility":"none"}`, `message "m1": visibility is "none", want all or internal`},
		{"nested field of the wrong type", `{"role":"user","metadata":{"step_index":"x"}}`, `message: field "metadata.step_index" is a JSON string, want a whole number`},
		{"fraction", `{"role":"user","metadata":{"step_index":1.5}}`, `message: field "metadata.step_index" is a JSON number 1.5, want a whole number`},
		{"flag of the wrong type", `{"role":"user","metadata":{"interrupted":1}}`, `message: field "metadata.interrupted" is a JSON number, want true or false`},
		{"content of the wrong type", `{"role":"user","content":3}`, `message: content: found a JSON number, want a string or an array of blocks`},
		{"content as object", `{"role":"user","content":{"type":"text"}}`, `message: content: found a JSON object, want a string or an array of blocks`},
		{"wrong block", `{"id":"m1","role":"user","content":[{"type":"text","txt":"a"}]}`, `message "m1": content: text block: unknown field "txt", did you mean "text"?`},
		{"unknown field in a call", `{"role":"assistant","tool_calls":[{"id":"c","args":{}}]}`, `message: tool call: unknown field "args"`},
		{"call of the wrong type", `{"role":"assistant","tool_calls":["add"]}`, `message: tool call: found a JSON string, want an object`},
		{"calls of the wrong type", `{"role":"assistant","tool_calls":{}}`, `message: field "tool_calls" is a JSON object, want an array`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkRejected[llm.Message](t, tt.wire, tt.why)
		})
	}
}

func TestMessageJSON_RejectsTrailingData(t *testing.T) {
	t.Parallel()
	var m llm.Message
	err := m.UnmarshalJSON([]byte(`{"role":"user"} {"role":"user"}`))
	if err == nil || err.Error() != "message: not JSON: unexpected data after the JSON value" {
		t.Errorf("error is %v", err)
	}
}

func TestToolCallJSON_RoundTrips(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		call llm.ToolCall
		wire string
	}{
		{"object", llm.ToolCall{ID: "c", Name: "n", Arguments: json.RawMessage(`{"a":[1,2]}`)}, `{"id":"c","name":"n","arguments":{"a":[1,2]}}`},
		{"string", llm.ToolCall{ID: "c", Name: "n", Arguments: json.RawMessage(`"x"`)}, `{"id":"c","name":"n","arguments":"x"}`},
		{"none", llm.ToolCall{ID: "c", Name: "n"}, `{"id":"c","name":"n","arguments":null}`},
		{
			"opaque", llm.ToolCall{ID: "c", Name: "n", Arguments: json.RawMessage(`1`), Opaque: &llm.Opaque{Provider: "gemini", Signature: "s"}},
			`{"id":"c","name":"n","arguments":1,"opaque":{"provider":"gemini","signature":"s"}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkJSON(t, tt.call, tt.wire)
		})
	}
}

func TestMessageText_JoinsTextBlocksOnly(t *testing.T) {
	t.Parallel()
	m := llm.Message{Role: llm.Assistant, Content: []llm.Block{
		llm.Thinking("hm", nil), llm.Text("a"), llm.Image(llm.URL("u")), llm.Text("b"),
	}}
	if got := m.Text(); got != "ab" {
		t.Errorf("text is %q, want ab", got)
	}
	if got := llm.UserText("Hi").Text(); got != "Hi" {
		t.Errorf("text is %q, want Hi", got)
	}
}

func TestMessageIsInternal_OnlyForVisibilityInternal(t *testing.T) {
	t.Parallel()
	for v, want := range map[llm.Visibility]bool{"": false, llm.VisibleAll: false, llm.Internal: true} {
		if got := (&llm.Message{Visibility: v}).IsInternal(); got != want {
			t.Errorf("visibility %q: internal is %v, want %v", v, got, want)
		}
	}
}

func TestMessageEmpty_MeansNoContentAndNoCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		m    llm.Message
		want bool
	}{
		{"nothing", llm.Message{}, true},
		{"empty text", llm.Message{Content: []llm.Block{llm.Text(""), llm.Thinking("", nil)}}, true},
		{"text", llm.Message{Content: []llm.Block{llm.Text("a")}}, false},
		{"encrypted thinking", llm.Message{Content: []llm.Block{llm.Thinking("", &llm.Opaque{})}}, false},
		{"image", llm.Message{Content: []llm.Block{llm.Image(llm.URL("u"))}}, false},
		{"call", llm.Message{ToolCalls: []llm.ToolCall{{}}}, false},
	} {
		if got := tt.m.Empty(); got != tt.want {
			t.Errorf("%s: empty is %v, want %v", tt.name, got, tt.want)
		}
	}
}
