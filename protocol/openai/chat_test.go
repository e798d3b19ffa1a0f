package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// hello is the body of a chat completion.
func hello(agent, text, more string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]%s}`, agent, text, more)
}

// content returns the concatenated content of chunks.
func content(list []object) (out string) {
	for _, c := range list {
		out += c.text("choices", 0, "delta", "content")
	}
	return out
}

// A chat completion has the agent's answer, streamed or not.
func TestChat_Answers(t *testing.T) {
	g := newRig(t)
	whole := g.must("/chat/completions", hello("slow", "hi", ""))
	if whole.text("object") != "chat.completion" || whole.text("choices", 0, "message", "content") != slowText || whole.text("choices", 0, "finish_reason") != "stop" || whole.text("model") != "slow" {
		t.Errorf("%v", whole)
	}
	status, body := g.ask("/chat/completions", hello("slow", "hi", `,"stream":true,"stream_options":{"include_usage":true}`))
	list := frames(t, body)
	if status != 200 || content(list) != slowText || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("%d %s", status, body)
	}
	n := len(list)
	if list[0].text("choices", 0, "delta", "role") != "assistant" || list[n-2].text("choices", 0, "finish_reason") != "stop" || list[n-1].at("usage", "prompt_tokens") == nil || list[0].at("usage") != nil {
		t.Errorf("%v … %v", list[0], list[n-2:])
	}
}

const slowText = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"

// The history that a client sends reaches the model, in its roles.
func TestChat_SendsTheHistory(t *testing.T) {
	g := newRig(t)
	g.Model.Asked = make(chan *llm.Request, 1)
	g.must("/chat/completions", `{"model":"trusting","messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_x","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"call_x","content":"a cat"},
		{"role":"assistant","content":"A cat."},{"role":"user","content":"Sure?"}]}`)
	req := <-g.Model.Asked
	var got []string
	for _, m := range req.Messages.All() {
		got = append(got, string(m.Role)+":"+m.Text())
	}
	if want := `user:Look assistant:(I called look with {"a":1}, which returned: a cat) assistant:A cat. user:Sure?`; !strings.HasSuffix(strings.Join(got, " "), want) {
		t.Errorf("the model sees %q", got)
	}
}

// A call of a tool that the client executes ends the completion. The next request, which names nothing but
// the call, continues the run; sent again, it has no second effect.
func TestChat_ClientExecutesTools(t *testing.T) {
	for _, stream := range []bool{false, true} {
		g := newRig(t)
		tools := `,"tools":[{"type":"function","function":{"name":"lookup","description":"d","parameters":{"type":"object"}}}]`
		asked := g.must("/chat/completions", hello("default", `RUN_TOOL lookup {"q":"x"}`, tools))
		call := asked.text("choices", 0, "message", "tool_calls", 0, "id")
		if asked.text("choices", 0, "finish_reason") != "tool_calls" || asked.text("choices", 0, "message", "tool_calls", 0, "function", "name") != "lookup" ||
			asked.text("choices", 0, "message", "tool_calls", 0, "function", "arguments") != `{"q":"x"}` {
			t.Fatalf("%v", asked)
		}
		answer := fmt.Sprintf(`{"model":"default","stream":%v,"messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":"lookup","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":%q,"content":"forty-two"}]}`, stream, call, call)
		var said []string
		for range 2 {
			status, body := g.ask("/chat/completions", answer)
			if status != 200 {
				t.Fatalf("%d %s", status, body)
			}
			if stream {
				said = append(said, body)
			} else {
				said = append(said, parse(t, body).text("choices", 0, "message", "content"))
			}
		}
		if said[0] != said[1] || !strings.Contains(said[0], "forty-two") {
			t.Errorf("%q, then %q", said[0], said[1])
		}
		runs, err := g.Box.Tenant("").Store.ListRuns(t.Context(), queryAll)
		if err != nil || len(runs) != 1 {
			t.Errorf("%d runs, %v", len(runs), err)
		}
		if status, body := g.ask("/chat/completions", strings.Replace(answer, "forty-two", "another", 1)); status != 409 {
			t.Errorf("another answer to the same call: %d %s", status, body)
		}
	}
}

// A call that needs approval is a call of request_approval. Only a clear yes approves it.
func TestChat_Approvals(t *testing.T) {
	g := newRig(t)
	for _, tt := range []struct {
		said   string
		status int
		want   string
	}{
		{`{"approved":true}`, 200, "told"},
		{`{"approved":false,"reason":"too risky"}`, 200, "too risky"},
		{`Invalid tool_call: "request_approval".`, 400, "waits for approval"},
		{`{}`, 400, "waits for approval"},
		{`true`, 400, "waits for approval"},
	} {
		asked := g.must("/chat/completions", hello("default", `RUN_TOOL ask {"path":"/x"}`, ""))
		call := asked.text("choices", 0, "message", "tool_calls", 0, "id")
		var args struct {
			Tool, Message string
			Arguments     map[string]string
		}
		if err := json.Unmarshal([]byte(asked.text("choices", 0, "message", "tool_calls", 0, "function", "arguments")), &args); err != nil {
			t.Fatal(err)
		}
		if asked.text("choices", 0, "message", "tool_calls", 0, "function", "name") != "request_approval" || args.Tool != "ask" || args.Message != "May I?" || args.Arguments["path"] != "/x" {
			t.Fatalf("%v", asked)
		}
		status, body := g.ask("/chat/completions", fmt.Sprintf(`{"model":"default","messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":"request_approval","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":%q,"content":%s}]}`, call, call, quote(tt.said)))
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.said, status, body)
		}
	}
}

// With a schema, the content is the valid answer and nothing else.
func TestChat_StructuredOutput(t *testing.T) {
	g := newRig(t)
	g.Model.Model = llmtest.NewRules(llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn {
		return llmtest.Turn{Text: llmtest.Text{"Here it is."}, ToolCalls: []llmtest.Call{{Name: "final_output", Arguments: json.RawMessage(`{"city":"Rome"}`)}}}
	}})
	format := `,"response_format":{"type":"json_schema","json_schema":{"name":"city","strict":true,"schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`
	if got := g.must("/chat/completions", hello("default", "Where?", format)).text("choices", 0, "message", "content"); got != `{"city":"Rome"}` {
		t.Errorf("%q", got)
	}
	_, body := g.ask("/chat/completions", hello("default", "Where?", format+`,"stream":true`))
	if got := content(frames(t, body)); got != `{"city":"Rome"}` {
		t.Errorf("%q", got)
	}
}

// A failed run is an error, and one that SDKs must not retry: the run was made.
func TestChat_Failures(t *testing.T) {
	g := newRig(t)
	resp := g.Send("POST", g.URL+"/openai/v1/chat/completions", hello("default", "scenario:error", ""))
	defer resp.Body.Close()
	var body struct {
		Error struct{ Message, Type, Code string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || resp.StatusCode != 500 || !strings.Contains(body.Error.Message, "boom") || body.Error.Code != "run_failed" || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%s %v %+v, %v", resp.Status, resp.Header, body, err)
	}
	_, streamed := newRig(t).ask("/chat/completions", hello("default", "scenario:error", `,"stream":true`))
	list := frames(t, streamed)
	if got := list[len(list)-1].text("error", "message"); !strings.Contains(got, "boom") {
		t.Errorf("%s", streamed)
	}
}

// A request with an Idempotency-Key counts once.
func TestChat_SentTwice(t *testing.T) {
	g := newRig(t)
	a := g.must("/chat/completions", hello("default", "hello", ""), "Idempotency-Key", "k")
	b := g.must("/chat/completions", hello("default", "hello", ""), "Idempotency-Key", "k")
	if a.text("id") != b.text("id") || a.text("choices", 0, "message", "content") != b.text("choices", 0, "message", "content") {
		t.Errorf("%v, then %v", a, b)
	}
	if status, body := g.ask("/chat/completions", hello("default", "other", ""), "Idempotency-Key", "k"); status != 409 {
		t.Errorf("%d %s", status, body)
	}
}
