package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// ScenarioMarker is the part of a system prompt that enables the "scenario:" keywords of
// [Demo].
const ScenarioMarker = "scenario agent"

// Demo returns the model that is used without a provider. Keywords in the last user message
// choose the reply; the first row that matches wins:
//
//	the system prompt names OpenUI Lang   an OpenUI Lang card about the weather
//	a tool has returned in this turn      a sentence with its result
//	RUN_A2UI_TOOL                         render_a2ui with one card
//	RUN_WEATHER_TOOL                      get_weather {"location":"Tokyo"}
//	RUN_STOCK_TOOL                        get_stock_price {"symbol":"AAPL"}
//	RUN_TOOL_SEARCH_WEATHER               ToolSearch {"query":"select:get_weather","max_results":5}
//	RUN_TOOL name {json}                  that call; without an object, {}
//	DRAW_JSON_UI                          lines of JSON Patch: a form of JSON Render
//	<ui_action>                           a sentence with the action of a user interface
//	scenario:word                         see below
//	anything else                         "Scripted response to: " and 50 characters of the message
//
// If the system prompt contains [ScenarioMarker], these keywords choose a scenario:
//
//	scenario:text            text in several deltas
//	scenario:reasoning       reasoning, then text
//	scenario:tool            get_weather {"city":"Paris"}
//	scenario:tool-error      fail_tool {}
//	scenario:approval        delete_file {"path":"/tmp/x"}
//	scenario:frontend-tool   get_user_location {}
//	scenario:data            emit_data {}
//	scenario:state           emit_state {}
//	scenario:activity        emit_activity {}
//	scenario:messages        emit_messages {}
//	scenario:parallel        get_weather {"city":"Paris"} and get_stock_price {"symbol":"AAPL"} at once
//	scenario:approvals       delete_file twice at once, for /tmp/x and /tmp/y
//	scenario:media           emit_media {}
//	scenario:slow            tick0 to tick19, 100 ms apart
//	scenario:hang            tick0 to tick2, then nothing until it is cancelled
//	scenario:hang-tool       the arguments of write_report, then nothing until it is cancelled
//	scenario:slow-tool       write_report, its arguments in 20 pieces, 100 ms apart
//	scenario:error           an *llm.Error of kind Provider with the message boom
func Demo() *Rules {
	return NewRules(
		Rule{inSystem("OpenUI Lang"), always(talk(openUICard))},
		Rule{toolAnswered, func(req *llm.Request) Turn { return talk(aboutResults(req)) }},
		Rule{saying("RUN_A2UI_TOOL"), always(use("render_a2ui", a2uiCard, 15))},
		Rule{saying("RUN_WEATHER_TOOL"), always(use("get_weather", `{"location":"Tokyo"}`, 5))},
		Rule{saying("RUN_STOCK_TOOL"), always(use("get_stock_price", `{"symbol":"AAPL"}`, 5))},
		Rule{saying("RUN_TOOL_SEARCH_WEATHER"), always(use("ToolSearch", `{"query":"select:get_weather","max_results":5}`, 5))},
		Rule{namesTool, func(req *llm.Request) Turn { return runTool(said(req)) }},
		Rule{saying("DRAW_JSON_UI"), always(lines(jsonRenderForm))},
		Rule{saying("<ui_action>"), func(req *llm.Request) Turn { return talk(aboutAction(said(req))) }},
		Rule{scenario("text"), always(talk("This is a short text that arrives in a few pieces."))},
		Rule{scenario("reasoning"), always(thinkAloud())},
		Rule{scenario("tool"), always(use("get_weather", `{"city":"Paris"}`, 5))},
		Rule{scenario("tool-error"), always(use("fail_tool", `{}`, 5))},
		Rule{scenario("approval"), always(use("delete_file", `{"path":"/tmp/x"}`, 5))},
		Rule{scenario("frontend-tool"), always(use("get_user_location", `{}`, 5))},
		Rule{scenario("data"), always(use("emit_data", `{}`, 5))},
		Rule{scenario("state"), always(use("emit_state", `{}`, 5))},
		Rule{scenario("activity"), always(use("emit_activity", `{}`, 5))},
		Rule{scenario("messages"), always(use("emit_messages", `{}`, 5))},
		Rule{scenario("parallel"), always(both(use("get_weather", `{"city":"Paris"}`, 10), use("get_stock_price", `{"symbol":"AAPL"}`, 0)))},
		Rule{scenario("approvals"), always(both(use("delete_file", `{"path":"/tmp/x"}`, 10), use("delete_file", `{"path":"/tmp/y"}`, 0)))},
		Rule{scenario("media"), always(use("emit_media", `{}`, 5))},
		Rule{scenario("slow"), always(tick())},
		Rule{scenario("hang"), always(Turn{Text: Text{"tick0 ", "tick1 ", "tick2 "}, Hang: true})},
		Rule{scenario("hang-tool"), always(Turn{ToolCalls: Use("write_report", `{"report":"never made"}`).ToolCalls, Chunk: 10, Hang: true})},
		Rule{scenario("slow-tool"), always(typeSlowly())},
		Rule{scenario("error"), always(Turn{Error: &Failure{Kind: llm.Provider, Status: 500, Message: "boom"}})},
		Rule{Turn: func(req *llm.Request) Turn { return talk("Scripted response to: " + firstRunes(said(req), 50)) }},
	)
}

// openUICard shows what the demo's get_weather returns for the location of RUN_WEATHER_TOOL.
const openUICard = `root = Card([header, now, air, source])
header = CardHeader("Weather in Tokyo", "Sunny")
now = TextContent("70 °F")
air = TextContent("Humidity 45 %")
source = TextContent("From the scripted model: no provider is configured.")
`

const a2uiCard = `{"messages":[` +
	`{"surfaceUpdate":{"surfaceId":"demo","components":[` +
	`{"id":"card","component":{"Card":{"child":"greeting"}}},` +
	`{"id":"greeting","component":{"Text":{"text":{"path":"/greeting"},"usageHint":"h2"}}}]}},` +
	`{"dataModelUpdate":{"surfaceId":"demo","contents":[{"key":"greeting","valueString":"Hello from the scripted model"}]}},` +
	`{"beginRendering":{"surfaceId":"demo","root":"card"}}]}`

// jsonRenderForm asks for a name and a number of seats.
const jsonRenderForm = `{"op":"add","path":"/root","value":"card"}
{"op":"add","path":"/elements/card","value":{"type":"Card","props":{"title":"Book a table"},"children":["about","name","seats","send"]}}
{"op":"add","path":"/elements/about","value":{"type":"Text","props":{"text":"From the scripted model: no provider is configured."},"children":[]}}
{"op":"add","path":"/elements/name","value":{"type":"Input","props":{"label":"Name","value":{"$bindState":"/name"}},"children":[]}}
{"op":"add","path":"/elements/seats","value":{"type":"Input","props":{"label":"Seats","value":{"$bindState":"/seats"}},"children":[]}}
{"op":"add","path":"/elements/send","value":{"type":"Button","props":{"label":"Book"},"on":{"press":{"action":"book","params":{"name":{"$state":"/name"},"seats":{"$state":"/seats"}}}},"children":[]}}
{"op":"add","path":"/state","value":{"name":"","seats":"2"}}
`

// Conditions of rules.

func said(req *llm.Request) string {
	_, m := lastUser(req)
	return text(m)
}

func saying(word string) func(*llm.Request) bool {
	return func(req *llm.Request) bool { return strings.Contains(said(req), word) }
}

func inSystem(words string) func(*llm.Request) bool {
	return func(req *llm.Request) bool { return strings.Contains(systemText(req), words) }
}

func toolAnswered(req *llm.Request) bool { return len(results(req)) > 0 }

// results returns the tool results since the last user message. An internal tool message
// retracts a call and is not a result.
func results(req *llm.Request) []*llm.Message {
	var out []*llm.Message
	at, _ := lastUser(req)
	for i := at + 1; i < req.Messages.Len(); i++ {
		if m := req.Messages.At(i); m.Role == llm.ToolRole && !m.IsInternal() {
			out = append(out, m)
		}
	}
	return out
}

func namesTool(req *llm.Request) bool {
	name, _ := toolOrder(said(req))
	return name != ""
}

// toolOrder finds "RUN_TOOL name rest" in a message.
func toolOrder(message string) (name, rest string) {
	_, order, ok := strings.Cut(message, "RUN_TOOL ")
	if !ok {
		return "", ""
	}
	order = strings.TrimSpace(order)
	end := strings.IndexAny(order, " \t\r\n{")
	if end < 0 {
		return order, ""
	}
	return order[:end], strings.TrimSpace(order[end:])
}

// scenario matches the first "scenario:" keyword of the message as a whole, because
// "scenario:tool" is a prefix of "scenario:tool-error".
func scenario(word string) func(*llm.Request) bool {
	marked := inSystem(ScenarioMarker)
	return func(req *llm.Request) bool {
		_, rest, ok := strings.Cut(said(req), "scenario:")
		if !ok {
			return false
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' })
		if end >= 0 {
			rest = rest[:end]
		}
		return rest == word && marked(req)
	}
}

// Turns of rules.

func always(t Turn) func(*llm.Request) Turn {
	return func(*llm.Request) Turn { return t }
}

func tokens(in, out int64) *llm.Usage {
	return &llm.Usage{PromptTokens: in, CompletionTokens: out, TotalTokens: in + out}
}

// talk returns a turn that streams s in chunks of two words.
func talk(s string) Turn { return Turn{Text: words(s, 2), Usage: tokens(10, 20)} }

func use(name, arguments string, out int64) Turn {
	t := Use(name, arguments)
	t.Usage = tokens(10, out)
	return t
}

// both returns a turn with the calls of two turns.
func both(t, o Turn) Turn {
	t.ToolCalls = append(t.ToolCalls, o.ToolCalls...)
	return t
}

// typeSlowly returns a turn with a call whose arguments take two seconds.
func typeSlowly() Turn {
	report := strings.Repeat("word ", 36)
	t := use("write_report", `{"report":"`+report+`"}`, 40)
	t.DelayMS, t.Chunk = 100, 10
	return t
}

func thinkAloud() Turn {
	t := talk("Here is the answer, after some thought.")
	t.Reasoning = words("The user wants to see me think, so I think about that first.", 2)
	return t
}

func tick() Turn {
	t := Turn{DelayMS: 100, Usage: tokens(10, 20)}
	for i := range 20 {
		t.Text = append(t.Text, fmt.Sprintf("tick%d ", i))
	}
	return t
}

func runTool(message string) Turn {
	name, rest := toolOrder(message)
	if !strings.HasPrefix(rest, "{") {
		return use(name, "{}", 5)
	}
	var arguments json.RawMessage
	if err := json.NewDecoder(strings.NewReader(rest)).Decode(&arguments); err != nil {
		return talk(fmt.Sprintf("I cannot call %s, because its arguments are not JSON: %v", name, err))
	}
	return use(name, string(arguments), 5)
}

// aboutResults returns a sentence with the text of each result.
func aboutResults(req *llm.Request) string {
	names := make(map[string]string)
	for _, m := range req.Messages.All() {
		for i := range m.ToolCalls {
			names[m.ToolCalls[i].ID] = m.ToolCalls[i].Name
		}
	}
	var sb strings.Builder
	for i, m := range results(req) {
		if i > 0 {
			sb.WriteString("; ")
		}
		name, answer := names[m.ToolCallID], text(m)
		if name == "" {
			name = "the tool"
		}
		if answer == "" {
			answer = "nothing"
		}
		fmt.Fprintf(&sb, "%s answered: %s", name, answer)
	}
	return sb.String()
}

// lines returns a turn that streams s line by line.
func lines(s string) Turn {
	t := Turn{Usage: tokens(10, 20)}
	for line := range strings.Lines(s) {
		t.Text = append(t.Text, line)
	}
	return t
}

// aboutAction returns a sentence about the action of a user interface.
func aboutAction(message string) string {
	_, rest, _ := strings.Cut(message, "<ui_action>")
	body, _, _ := strings.Cut(rest, "</ui_action>")
	var a struct {
		Name      string          `json:"name"`
		SurfaceID string          `json:"surfaceId"`
		Context   json.RawMessage `json:"context"`
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		return "I cannot read the action: " + err.Error()
	}
	return fmt.Sprintf("You chose %s in %s, with %s.", a.Name, a.SurfaceID, a.Context)
}

// words splits s after every nth word and keeps all characters.
func words(s string, n int) Text {
	var out Text
	start, count := 0, 0
	for i := 1; i < len(s); i++ {
		if s[i-1] == ' ' && s[i] != ' ' {
			if count++; count == n {
				out = append(out, s[start:i])
				start, count = i, 0
			}
		}
	}
	return append(out, s[start:])
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
