package providertest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

// callCases test tool calls.
func callCases() []testCase { return slices.Concat(argumentCases(), whichCallCases()) }

// argumentCases test the arguments of one call.
func argumentCases() []testCase {
	// argsAre makes the provider send one call with some arguments, and expects others.
	argsAre := func(name, sent, want string, pieces int, needs ...Power) testCase {
		return testCase{name, needs, func(t *testing.T, a *Adapter) {
			r := a.say(t, calls(Call{"call_1", "look", inPieces(sent, pieces)})).whole(t)
			if len(r.Message.ToolCalls) != 1 {
				t.Fatalf("calls: %+v, incomplete: %v", r.Message.ToolCalls, r.Incomplete)
			}
			c := r.Message.ToolCalls[0]
			equal(t, "name", c.Name, "look")
			equal(t, "finish", r.Finish, llm.ToolUse)
			sameJSON(t, c.Arguments, want)
		}}
	}
	broken := func(name, sent string) testCase {
		return testCase{name, []Power{ArgumentText}, func(t *testing.T, a *Adapter) {
			r := a.say(t, calls(Call{"call_1", "look", inPieces(sent, 3)})).whole(t)
			equal(t, "calls", len(r.Message.ToolCalls), 0)
			equal(t, "incomplete", r.Incomplete, []string{"look"})
		}}
	}
	nested := `{"a":{"b":[1,2.5e3,-0.1,true,null,"x"]},"s":"日本 🙂 \"q\" \\ \n \u00e9","e":{},"l":[]}`
	large := `{"text":"` + strings.Repeat("lorem ipsum ", 8<<10) + `"}`
	return []testCase{
		argsAre("OnePiece", `{"city":"Paris"}`, `{"city":"Paris"}`, 1),
		argsAre("ManyPieces", nested, nested, 9),
		argsAre("OneCharacterEach", nested, nested, 1000),
		argsAre("NoArguments", `{}`, `{}`, 1),
		argsAre("Large", large, large, 50),
		argsAre("RepairedControlCharacters", "{\"s\":\"a\nb\tc\"}", `{"s":"a\nb\tc"}`, 5, ArgumentText),
		argsAre("RepairedTrailingComma", `{"l":[1,2,],"a":1,}`, `{"l":[1,2],"a":1}`, 6, ArgumentText),
		argsAre("RepairedMissingBrackets", `{"a":{"l":["x"`, `{"a":{"l":["x"]}}`, 4, ArgumentText),
		argsAre("RepairedBracketTooMany", `{"a":1}}`, `{"a":1}`, 3, ArgumentText),
		argsAre("RepairedEscape", `{"re":"\d+\s"}`, `{"re":"\\d+\\s"}`, 4, ArgumentText),
		argsAre("RepairedString", `"{\"a\":1}"`, `{"a":1}`, 4, ArgumentText),
		broken("NotRepairedHalfAString", `{"path":"/home/us`),
		broken("NotRepairedHalfANumber", `{"n":12`),
		broken("NotRepairedWords", `{"a": certainly}`),
		{"EmptyArguments", []Power{ArgumentText}, func(t *testing.T, a *Adapter) {
			r := a.say(t, calls(Call{"call_1", "look", []string{""}})).whole(t)
			equal(t, "calls", len(r.Message.ToolCalls), 1)
		}},
		{"CutEveryByte", nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(calls(Call{"call_1", "look", inPieces(nested, 20)}))
			r := a.sayFrames(t, cut(slices.Concat(parts, end), 1)).whole(t)
			equal(t, "calls", len(r.Message.ToolCalls), 1)
			sameJSON(t, r.Message.ToolCalls[0].Arguments, nested)
		}},
	}
}

// whichCallCases test which calls a reply contains.
func whichCallCases() []testCase {
	return []testCase{
		{"IDs", []Power{CallIDs}, func(t *testing.T, a *Adapter) {
			r := a.say(t, calls(Call{"call_abc", "look", []string{`{}`}})).whole(t)
			equal(t, "id", r.Message.ToolCalls[0].ID, "call_abc")
		}},
		{"Several", nil, func(t *testing.T, a *Adapter) {
			r := a.say(t, calls(Call{"call_1", "look", []string{`{"n":1}`}}, Call{"call_2", "take", []string{`{"n":`, `2}`}}, Call{"call_3", "look", []string{`{"n":3}`}})).whole(t)
			equal(t, "calls", len(r.Message.ToolCalls), 3)
			for i, c := range r.Message.ToolCalls {
				equal(t, "name", c.Name, []string{"look", "take", "look"}[i])
				sameJSON(t, c.Arguments, []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}[i])
			}
		}},
		{"Mixed", []Power{Interleaved}, func(t *testing.T, a *Adapter) {
			r := a.say(t, Reply{Parts: []Part{{Mixed: []Call{{"call_1", "look", inPieces(`{"n":1,"s":"one"}`, 5)}, {"call_2", "take", inPieces(`{"n":2,"s":"two"}`, 5)}}}}, Finish: llm.ToolUse}).whole(t)
			equal(t, "calls", len(r.Message.ToolCalls), 2)
			sameJSON(t, r.Message.ToolCalls[0].Arguments, `{"n":1,"s":"one"}`)
			sameJSON(t, r.Message.ToolCalls[1].Arguments, `{"n":2,"s":"two"}`)
		}},
		{"SameIDTwice", []Power{CallIDs}, func(t *testing.T, a *Adapter) {
			r := a.say(t, calls(Call{"call_1", "look", []string{`{"n":1}`}}, Call{"call_1", "take", []string{`{"n":2}`}})).whole(t)
			if c := r.Message.ToolCalls; len(c) != 2 || c[0].ID == c[1].ID || c[1].ID == "" {
				t.Fatalf("calls: %+v", c)
			}
			sameJSON(t, r.Message.ToolCalls[1].Arguments, `{"n":2}`)
		}},
		{"AfterText", nil, func(t *testing.T, a *Adapter) {
			r := a.say(t, Reply{Parts: []Part{text("I will ", "look."), {Call: &Call{"call_1", "look", []string{`{}`}}}}, Finish: llm.ToolUse}).whole(t)
			equal(t, "text", r.Message.Text(), "I will look.")
			equal(t, "calls", len(r.Message.ToolCalls), 1)
		}},
		{"AfterReasoning", []Power{Reasoning}, func(t *testing.T, a *Adapter) {
			r := a.say(t, Reply{Parts: []Part{{Reasoning: []string{"I should look."}}, {Call: &Call{"call_1", "look", []string{`{}`}}}}, Finish: llm.ToolUse}).whole(t)
			equal(t, "thinking", r.Message.Content[0].Text, "I should look.")
			equal(t, "calls", len(r.Message.ToolCalls), 1)
		}},
		{"CutOffByMaxTokens", []Power{ArgumentText}, func(t *testing.T, a *Adapter) {
			reply := calls(Call{"call_1", "look", []string{`{"l":["x"`}})
			reply.Finish = llm.MaxTokens
			r := a.say(t, reply).whole(t)
			equal(t, "finish", r.Finish, llm.MaxTokens)
			equal(t, "incomplete", r.Incomplete, []string{"look"})
		}},
		{"NamesAreTranslated", nil, func(t *testing.T, a *Adapter) {
			const name = "weather.v2/look up é"
			req := a.request()
			req.Tools = []llm.Tool{{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}}
			parts, end := a.Speak(says("ok"))
			s := newServer(t, script{frames: slices.Concat(parts, end)})
			ask(t, a.open(t, s), req).whole(t)
			sent := a.read(t, s).Tools[0].Name
			if sent == name {
				return // the provider accepts any name
			}
			parts, end = a.Speak(calls(Call{"call_1", sent, []string{`{}`}}))
			r := ask(t, a.open(t, newServer(t, script{frames: slices.Concat(parts, end)})), req).whole(t)
			equal(t, "name", r.Message.ToolCalls[0].Name, name)
		}},
	}
}

// inPieces splits a text into at most n pieces, without splitting characters.
func inPieces(s string, n int) []string {
	runes := []rune(s)
	size := max(1, (len(runes)+n-1)/n)
	var out []string
	for c := range slices.Chunk(runes, size) {
		out = append(out, string(c))
	}
	return out
}

func sameJSON(t testing.TB, got json.RawMessage, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Errorf("%q is not JSON: %v", got, err)
		return
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	equal(t, "JSON", a, b)
}
