package llmtest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// demo returns the reply of the demo model.
func demo(t *testing.T, system string, messages ...*llm.Message) *llm.Reply {
	t.Helper()
	req := &llm.Request{Messages: llm.NewMessages(messages...)}
	if system != "" {
		req.System = []llm.Block{llm.Text(system)}
	}
	reply, err := llm.Generate(t.Context(), llmtest.Demo(), req)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// toolResult returns the result of a call.
func toolResult(call llm.ToolCall, text string) *llm.Message {
	m := llm.NewText(llm.ToolRole, text)
	m.ToolCallID = call.ID
	return m
}

const scenarioPrompt = "You are the " + llmtest.ScenarioMarker + " of the demo."

func TestDemo_CallsTheToolAUserNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		message, name, arguments string
		out                      int64
	}{
		{"please RUN_WEATHER_TOOL now", "get_weather", `{"location":"Tokyo"}`, 5},
		{"RUN_STOCK_TOOL", "get_stock_price", `{"symbol":"AAPL"}`, 5},
		{"RUN_TOOL_SEARCH_WEATHER", "ToolSearch", `{"query":"select:get_weather","max_results":5}`, 5},
		{"RUN_TOOL add {\"a\": {\"b\": 1}}", "add", `{"a": {"b": 1}}`, 5},
		{"First: RUN_TOOL add {\"a\": 1} and then rest.", "add", `{"a": 1}`, 5},
		{"RUN_TOOL add{}", "add", `{}`, 5},
		{"RUN_TOOL finish", "finish", `{}`, 5},
		{"RUN_TOOL finish\nand say so", "finish", `{}`, 5},
		{"RUN_STOCK_TOOL RUN_WEATHER_TOOL", "get_weather", `{"location":"Tokyo"}`, 5}, // the first row wins, not the first word
	} {
		reply := demo(t, "", llm.UserText(tt.message))
		want := &llm.Reply{
			Message: &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{
				ID: "call_" + tt.name + "_1", Name: tt.name, Arguments: json.RawMessage(tt.arguments),
			}}},
			Usage:  llm.Usage{PromptTokens: 10, CompletionTokens: tt.out, TotalTokens: 10 + tt.out},
			Finish: llm.ToolUse,
		}
		if diff := cmp.Diff(want, reply); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.message, diff)
		}
	}
}

func TestDemo_EchoesTheBeginningOfOtherMessages(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Hi":                     "Scripted response to: Hi",
		"run_weather_tool":       "Scripted response to: run_weather_tool",
		"RUN_TOOL":               "Scripted response to: RUN_TOOL",
		"RUN_TOOL ":              "Scripted response to: RUN_TOOL ",
		"scenario:tool":          "Scripted response to: scenario:tool", // not the scenario agent
		"":                       "Scripted response to: ",
		strings.Repeat("ä", 50):  "Scripted response to: " + strings.Repeat("ä", 50),
		strings.Repeat("äö", 50): "Scripted response to: " + strings.Repeat("äö", 25),
	} {
		reply := demo(t, "Be brief.", llm.UserText(message))
		if got := reply.Message.Text(); got != want {
			t.Errorf("%q: reply is %q, want %q", message, got, want)
		}
		if reply.Usage != (llm.Usage{PromptTokens: 10, CompletionTokens: 20, TotalTokens: 30}) || reply.Finish != llm.EndTurn {
			t.Errorf("%q: usage is %+v and finish %s", message, reply.Usage, reply.Finish)
		}
	}
}

func TestDemo_StreamsTextInSeveralChunks(t *testing.T) {
	t.Parallel()
	for system, message := range map[string]string{
		"":                     "Hi",
		"Write OpenUI Lang.":   "Hi",
		scenarioPrompt:         "scenario:text",
		scenarioPrompt + " 1":  "no scenario at all",
		scenarioPrompt + " 2 ": "scenario:reasoning",
	} {
		deltas, err := listen(t, llmtest.Demo(), &llm.Request{
			System: []llm.Block{llm.Text(system)}, Messages: llm.NewMessages(llm.UserText(message)),
		})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, d := range deltas {
			if d.Kind == llm.TextDelta {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%q to %q: text came in %d deltas, want 2 and more", message, system, n)
		}
	}
}

func TestDemo_ReportsTheResultInsteadOfCallingAgain(t *testing.T) {
	t.Parallel()
	user := llm.UserText("RUN_WEATHER_TOOL")
	called := demo(t, "", user).Message
	result := `{"temperature_f": 70, "condition": "Sunny"}`
	said := demo(t, "", user, called, toolResult(called.ToolCalls[0], result))
	if got, want := said.Message.Text(), "get_weather answered: "+result; got != want {
		t.Errorf("reply is %q, want %q", got, want)
	}
	if len(said.Message.ToolCalls) != 0 {
		t.Errorf("it calls again: %+v", said.Message.ToolCalls)
	}

	// The next turn of the same conversation calls again, with another id.
	again := demo(t, "", user, called, toolResult(called.ToolCalls[0], result), said.Message, user).Message
	if len(again.ToolCalls) != 1 || again.ToolCalls[0].ID == called.ToolCalls[0].ID {
		t.Errorf("the second turn calls %+v, the first called %+v", again.ToolCalls, called.ToolCalls)
	}
}

func TestDemo_ReportsEveryResultOfTheTurn(t *testing.T) {
	t.Parallel()
	calls := &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "add"}, {ID: "2", Name: "sub"}, {ID: "3", Name: "mul"}}}
	retracted := toolResult(llm.ToolCall{ID: "3"}, "never mind")
	retracted.Visibility = llm.Internal
	reminder := llm.NewText(llm.User, "A hook put me here.")
	reminder.Visibility = llm.Internal
	reply := demo(t, "", llm.UserText("Hi"), calls,
		toolResult(calls.ToolCalls[0], "3"), toolResult(calls.ToolCalls[1], ""), toolResult(llm.ToolCall{ID: "gone"}, "4"), retracted, reminder)
	if got, want := reply.Message.Text(), "add answered: 3; sub answered: nothing; the tool answered: 4"; got != want {
		t.Errorf("reply is %q, want %q", got, want)
	}
}

func TestDemo_ReportsArgumentsThatAreNotJSON(t *testing.T) {
	t.Parallel()
	reply := demo(t, "", llm.UserText(`RUN_TOOL add {"a": `))
	if got := reply.Message.Text(); !strings.HasPrefix(got, "I cannot call add, because its arguments are not JSON: ") {
		t.Errorf("reply is %q", got)
	}
}

func TestDemo_WritesOpenUILang(t *testing.T) {
	t.Parallel()
	for _, reply := range []*llm.Reply{
		demo(t, "You write OpenUI Lang.", llm.UserText("RUN_WEATHER_TOOL")),
		demo(t, "", llm.NewText(llm.System, "You write OpenUI Lang."), llm.UserText("Hi")),
	} {
		for line := range strings.Lines(reply.Message.Text()) {
			if _, call, ok := strings.Cut(line, " = "); !ok || !strings.HasSuffix(call, ")\n") {
				t.Errorf("line %q is not of the form id = Type(args)", line)
			}
		}
		if !strings.HasPrefix(reply.Message.Text(), "root = Card(") {
			t.Errorf("reply is %q, want a card", reply.Message.Text())
		}
		if text := reply.Message.Text(); !strings.Contains(text, `CardHeader("Weather in Tokyo", "Sunny")`) || !strings.Contains(text, "70 °F") {
			t.Errorf("reply is %q, want the weather", text)
		}
		if reply.Usage.CompletionTokens != 20 {
			t.Errorf("usage is %+v", reply.Usage)
		}
	}
}

func TestDemo_RendersAnA2UICard(t *testing.T) {
	t.Parallel()
	reply := demo(t, "", llm.UserText("RUN_A2UI_TOOL: a card"))
	if len(reply.Message.ToolCalls) != 1 || reply.Message.ToolCalls[0].Name != "render_a2ui" {
		t.Fatalf("calls are %+v", reply.Message.ToolCalls)
	}
	var args struct {
		Messages []map[string]struct {
			SurfaceID  string
			Components []struct {
				ID        string
				Component map[string]json.RawMessage
			}
			Contents []json.RawMessage
			Root     string
		}
	}
	if err := json.Unmarshal(reply.Message.ToolCalls[0].Arguments, &args); err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]string) // id -> type
	var kinds []string
	for _, m := range args.Messages {
		for kind, body := range m {
			kinds = append(kinds, kind)
			if body.SurfaceID != "demo" {
				t.Errorf("%s is of surface %q", kind, body.SurfaceID)
			}
			for _, c := range body.Components {
				for typ := range c.Component {
					ids[c.ID] = typ
				}
			}
			if kind == "dataModelUpdate" && len(body.Contents) == 0 {
				t.Error("the data model update is empty")
			}
			if kind == "beginRendering" && ids[body.Root] != "Card" {
				t.Errorf("the root is %q, a %q, want a Card", body.Root, ids[body.Root])
			}
		}
	}
	if diff := cmp.Diff([]string{"surfaceUpdate", "dataModelUpdate", "beginRendering"}, kinds); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if reply.Usage.CompletionTokens != 15 {
		t.Errorf("usage is %+v", reply.Usage)
	}
}

func TestDemoScenario_CallsItsTool(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"tool":          `get_weather {"city":"Paris"}`,
		"tool-error":    `fail_tool {}`,
		"approval":      `delete_file {"path":"/tmp/x"}`,
		"frontend-tool": `get_user_location {}`,
		"data":          `emit_data {}`,
		"state":         `emit_state {}`,
		"activity":      `emit_activity {}`,
		"messages":      `emit_messages {}`,
	} {
		user := llm.UserText("Please show scenario:" + word + ".")
		called := demo(t, scenarioPrompt, user).Message
		if len(called.ToolCalls) != 1 {
			t.Errorf("%s: calls are %+v", word, called.ToolCalls)
			continue
		}
		c := called.ToolCalls[0]
		if got := fmt.Sprintf("%s %s", c.Name, c.Arguments); got != want {
			t.Errorf("%s: call is %s, want %s", word, got, want)
		}
		said := demo(t, scenarioPrompt, user, called, toolResult(c, "the 21 results")).Message
		if !strings.Contains(said.Text(), "the 21 results") || len(said.ToolCalls) != 0 {
			t.Errorf("%s: after the result it says %q and calls %+v", word, said.Text(), said.ToolCalls)
		}
	}
}

// Protocol tests look for the word in the text to see whether the call was approved.
func TestDemoScenario_DeniedDeletionIsNotCalledDeleted(t *testing.T) {
	t.Parallel()
	user := llm.UserText("scenario:approval")
	called := demo(t, scenarioPrompt, user).Message
	said := demo(t, scenarioPrompt, user, called, toolResult(called.ToolCalls[0], "denied by the user")).Message
	if strings.Contains(said.Text(), "deleted") {
		t.Errorf("reply is %q", said.Text())
	}
}

func TestDemoScenario_Reasoning(t *testing.T) {
	t.Parallel()
	reply := demo(t, scenarioPrompt, llm.UserText("scenario:reasoning"))
	var types []llm.BlockType
	for _, b := range reply.Message.Content {
		types = append(types, b.Type)
	}
	if diff := cmp.Diff([]llm.BlockType{llm.ThinkingBlock, llm.TextBlock}, types); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestDemoScenario_Error(t *testing.T) {
	t.Parallel()
	deltas, err := listen(t, llmtest.Demo(), &llm.Request{
		System: []llm.Block{llm.Text(scenarioPrompt)}, Messages: llm.NewMessages(llm.UserText("scenario:error")),
	})
	checkError(t, err, llm.Provider, "boom")
	if len(deltas) != 0 {
		t.Errorf("it said something first: %v", deltas)
	}
}

func TestDemoScenario_SlowTicksEvery100Milliseconds(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		began, n := time.Now(), 0
		for d, err := range llmtest.Demo().Stream(t.Context(), &llm.Request{
			System: []llm.Block{llm.Text(scenarioPrompt)}, Messages: llm.NewMessages(llm.UserText("scenario:slow")),
		}) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Kind != llm.TextDelta {
				continue
			}
			if want := fmt.Sprintf("tick%d ", n); d.Text != want {
				t.Errorf("chunk is %q, want %q", d.Text, want)
			}
			n++
			if got, want := time.Since(began), time.Duration(n)*100*time.Millisecond; got != want {
				t.Errorf("%q came after %v, want %v", d.Text, got, want)
			}
		}
		if n != 20 {
			t.Errorf("there were %d ticks, want 20", n)
		}
	})
}

func TestDemoScenario_UnknownKeywordIsOrdinaryText(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"tool-", "tools", "", "TOOL"} {
		reply := demo(t, scenarioPrompt, llm.UserText("scenario:"+word))
		if got, want := reply.Message.Text(), "Scripted response to: scenario:"+word; got != want {
			t.Errorf("reply is %q, want %q", got, want)
		}
	}
}
