package llmtest_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// conversation returns a request with something to check for every field.
func conversation() *llm.Request {
	result := &llm.Message{Role: llm.ToolRole, ToolCallID: "c1", Content: []llm.Block{{
		Type: llm.ToolResultBlock,
		Tool: &llm.ToolPart{ID: "c1", Content: []llm.Block{llm.Text("21 "), llm.Text("degrees")}},
	}}}
	reminder := llm.NewText(llm.User, "Remember to be kind.")
	reminder.Visibility = llm.Internal
	return &llm.Request{
		Model:  "small",
		System: []llm.Block{llm.Text("Be "), llm.Text("brief.")},
		Messages: llm.NewMessages(
			llm.NewText(llm.System, "Speak French."),
			llm.UserText("Hello"),
			llm.UserText("Weather?"),
		).Append(reminder, result),
		Tools:  []llm.Tool{{Name: "add"}, {Name: "get_weather"}},
		Params: llm.Params{MaxTokens: new(100), Temperature: new(0.5)},
	}
}

func TestExpect_PassesMatchingRequests(t *testing.T) {
	t.Parallel()
	for _, expect := range []string{
		`{}`,
		`{"model":"small"}`,
		`{"system":"Be brief."}`,
		`{"system":"French"}`,
		`{"last_user":"Weather"}`,
		`{"last":"21 degrees"}`,
		`{"messages":5}`,
		`{"contains":["Hello","kind","21","French"]}`,
		`{"not_contains":["hello","22"]}`,
		`{"tools":["get_weather"]}`,
		`{"tools":["get_weather","add"]}`,
		`{"no_tools":["sub","ad"]}`,
		`{"max_tokens":100}`,
		`{"temperature":0.5}`,
	} {
		m := llmtest.NewScript(parse(t, `{"text":"ok","expect":`+expect+`}`)...)
		if _, err := listen(t, m, conversation()); err != nil {
			t.Errorf("%s: %v", expect, err)
		}
	}
}

func TestExpect_ErrorsNameFieldExpectationAndFinding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ expect, why string }{
		{`{"model":"large"}`, `expect model: want "large", found "small"`},
		{`{"system":"Be long."}`, `expect system: want "Be long.", found "Be brief.\nSpeak French."`},
		{`{"last_user":"Hello"}`, `expect last_user: want "Hello", found "Weather?"`},
		{`{"last":"22"}`, `expect last: want "22", found "21 degrees"`},
		{`{"messages":4}`, `expect messages: want 4, found 5`},
		{`{"contains":["Hello","22"]}`, `expect contains: want "22", found "Speak French.\nHello\nWeather?\nRemember to be kind.\n21 degrees"`},
		{`{"not_contains":["22","ell"]}`, `expect not_contains: want no "ell", found "Hello" in message 1`},
		{`{"tools":["add","sub"]}`, `expect tools: want "sub", found ["add" "get_weather"]`},
		{`{"no_tools":["sub","add"]}`, `expect no_tools: want no "add", found ["add" "get_weather"]`},
		{`{"max_tokens":50}`, `expect max_tokens: want 50, found 100`},
		{`{"temperature":0}`, `expect temperature: want 0, found 0.5`},
	} {
		m := llmtest.NewScript(parse(t, `{"text":"ok","expect":`+tt.expect+`}`)...)
		deltas, err := listen(t, m, conversation())
		checkError(t, err, llm.InvalidRequest, tt.why)
		if len(deltas) != 0 {
			t.Errorf("%s: the model spoke before it looked: %v", tt.expect, deltas)
		}
	}
}

func TestExpect_OfAnEmptyRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ expect, why string }{
		{`{"last_user":"Hello"}`, `expect last_user: want "Hello", found ""`},
		{`{"last":"Hello"}`, `expect last: want "Hello", found ""`},
		{`{"max_tokens":50}`, `expect max_tokens: want 50, found none`},
		{`{"temperature":1}`, `expect temperature: want 1, found none`},
	} {
		m := llmtest.NewScript(parse(t, `{"expect":`+tt.expect+`}`)...)
		_, err := listen(t, m, &llm.Request{})
		checkError(t, err, llm.InvalidRequest, tt.why)
	}
}

func TestExpect_ShortensLongConversationsInErrors(t *testing.T) {
	t.Parallel()
	req := &llm.Request{Messages: llm.NewMessages(llm.UserText(strings.Repeat("ä", 100_000)))}
	_, err := listen(t, llmtest.NewScript(parse(t, `{"expect":{"last":"b"}}`)...), req)
	if n := len(err.Error()); n > 2000 {
		t.Errorf("the error has %d bytes", n)
	}
	if strings.Contains(err.Error(), `\x`) {
		t.Errorf("the error cuts a character in half: %v", err)
	}
}
