package llmtest_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// parse reads a valid script.
func parse(t *testing.T, script string) []llmtest.Turn {
	t.Helper()
	turns, err := llmtest.ParseScript(strings.NewReader(script))
	if err != nil {
		t.Fatal(err)
	}
	return turns
}

// listen returns everything that m streams in reply to req.
func listen(t *testing.T, m llm.Model, req *llm.Request) ([]llm.Delta, error) {
	t.Helper()
	var deltas []llm.Delta
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			return deltas, err
		}
		deltas = append(deltas, d)
	}
	return deltas, nil
}

func TestTurn_StreamsItsPartsInOrder(t *testing.T) {
	t.Parallel()
	finish := func(r llm.FinishReason) llm.Delta { return llm.Delta{Kind: llm.FinishDelta, Finish: r} }
	text := func(s string) llm.Delta { return llm.Delta{Kind: llm.TextDelta, Text: s} }
	reasoning := func(s string) llm.Delta { return llm.Delta{Kind: llm.ReasoningDelta, Text: s} }
	for _, tt := range []struct {
		name, turn string
		want       []llm.Delta
	}{
		{"empty", `{}`, []llm.Delta{finish(llm.EndTurn)}},
		{"empty string", `{"text":""}`, []llm.Delta{finish(llm.EndTurn)}},
		{"one chunk", `{"text":"Hello"}`, []llm.Delta{text("Hello"), finish(llm.EndTurn)}},
		{"chunks", `{"text":["Hel","","lo"]}`, []llm.Delta{text("Hel"), text(""), text("lo"), finish(llm.EndTurn)}},
		{
			"chunks of runes", `{"reasoning":"äöü","text":["Hello","!"],"chunk":2}`,
			[]llm.Delta{reasoning("äö"), reasoning("ü"), text("He"), text("ll"), text("o"), text("!"), finish(llm.EndTurn)},
		},
		{
			"all parts",
			`{"tool_calls":[{"id":"c1","name":"add","arguments":{"a": 1},"opaque":{"provider":"p","signature":"2"}},{"id":"c2","name":"sub"}],` +
				`"usage":{"prompt_tokens":3},"text":"b","opaque":{"provider":"p","signature":"1"},"reasoning":"a"}`,
			[]llm.Delta{
				reasoning("a"),
				{Kind: llm.OpaqueDelta, Opaque: &llm.Opaque{Provider: "p", Signature: "1"}},
				text("b"),
				{Kind: llm.ToolCallStart, ID: "c1", Name: "add", Opaque: &llm.Opaque{Provider: "p", Signature: "2"}},
				{Kind: llm.ToolCallDelta, ID: "c1", Text: `{"a": 1}`},
				{Kind: llm.ToolCallStart, ID: "c2", Name: "sub"},
				{Kind: llm.ToolCallDelta, ID: "c2", Text: `{}`},
				{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: 3}},
				finish(llm.ToolUse),
			},
		},
		{
			"arguments in chunks", `{"tool_calls":[{"id":"c1","name":"add","arguments":[1,2]}],"chunk":3}`,
			[]llm.Delta{
				{Kind: llm.ToolCallStart, ID: "c1", Name: "add"},
				{Kind: llm.ToolCallDelta, ID: "c1", Text: `[1,`},
				{Kind: llm.ToolCallDelta, ID: "c1", Text: `2]`},
				finish(llm.ToolUse),
			},
		},
		{
			"arguments that are not JSON", `{"tool_calls":[{"id":"c1","name":"add","raw":"{\"a\":"},{"id":"c2","name":"add","raw":""}],"finish":"MaxTokens"}`,
			[]llm.Delta{
				{Kind: llm.ToolCallStart, ID: "c1", Name: "add"},
				{Kind: llm.ToolCallDelta, ID: "c1", Text: `{"a":`},
				{Kind: llm.ToolCallStart, ID: "c2", Name: "add"},
				{Kind: llm.ToolCallDelta, ID: "c2", Text: ""},
				finish(llm.MaxTokens),
			},
		},
		{
			"null arguments", `{"tool_calls":[{"id":"c1","name":"add","arguments":null}]}`,
			[]llm.Delta{
				{Kind: llm.ToolCallStart, ID: "c1", Name: "add"},
				{Kind: llm.ToolCallDelta, ID: "c1", Text: "null"},
				finish(llm.ToolUse),
			},
		},
		{"cut", `{"text":"Hel","cut":true}`, []llm.Delta{text("Hel")}},
		{"finish of its own", `{"text":"Hel","finish":"StopSequence"}`, []llm.Delta{text("Hel"), finish(llm.StopSequence)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := listen(t, llmtest.NewScript(parse(t, tt.turn)...), &llm.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("deltas (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTurn_FailsAfterItsContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, turn string
		want       llm.Error
	}{
		{"default", `{"text":"Hel","error":{}}`, llm.Error{Kind: llm.Provider}},
		{
			"all fields", `{"text":"Hel","error":{"kind":"rate_limited","message":"slow down","status":429,"retry_after_ms":1500}}`,
			llm.Error{Kind: llm.RateLimited, Message: "slow down", Status: 429, RetryAfter: 1500 * time.Millisecond},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := llmtest.NewScript(parse(t, tt.turn)...).Loop()
			for range 2 {
				deltas, err := listen(t, m, &llm.Request{})
				if diff := cmp.Diff([]llm.Delta{{Kind: llm.TextDelta, Text: "Hel"}}, deltas); diff != "" {
					t.Errorf("deltas (-want +got):\n%s", diff)
				}
				e, _ := errors.AsType[*llm.Error](err)
				if diff := cmp.Diff(&tt.want, e); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				e.Provider = "changed by the caller"
			}
		})
	}
}

func TestTurn_RejectsContradictions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		turn llmtest.Turn
		why  string
	}{
		{llmtest.Turn{Cut: true, Hang: true}, "a turn has only one of finish, error, cut and hang, but this one has cut and hang"},
		{
			llmtest.Turn{ToolCalls: []llmtest.Call{{Name: "add", Arguments: json.RawMessage("{")}}},
			`tool_calls[0]: field "arguments" is "{", want JSON (or use "raw")`,
		},
	} {
		_, err := listen(t, llmtest.NewScript(tt.turn), &llm.Request{})
		checkError(t, err, llm.InvalidRequest, "the turn is wrong: "+tt.why)
	}
}

func TestSayAndUse_AreShortForATurn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		turn llmtest.Turn
		json string
	}{
		{llmtest.Say("a", "b"), `{"text":["a","b"]}`},
		{llmtest.Use("add", `{"a":1}`), `{"tool_calls":[{"name":"add","arguments":{"a":1}}]}`},
		{llmtest.Use("add", `{"a":`), `{"tool_calls":[{"name":"add","raw":"{\"a\":"}]}`},
	} {
		if diff := cmp.Diff(parse(t, tt.json), []llmtest.Turn{tt.turn}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.json, diff)
		}
	}
}

func TestParseScript_SkipsBlanksAndComments(t *testing.T) {
	t.Parallel()
	got := parse(t, "\n# {\n  {\"text\":\"a\"}\r\n\t\n\t# more\n{\"text\":[\"b\",\"c\"]}")
	want := []llmtest.Turn{{Text: llmtest.Text{"a"}}, {Text: llmtest.Text{"b", "c"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	if turns := parse(t, ""); len(turns) != 0 {
		t.Errorf("an empty script has turns: %+v", turns)
	}
}

func TestParseScript_ErrorsNameTheLineAndTheProblem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, line, why string }{
		{"unknown field", `{"txt":"a"}`, `unknown field "txt"`},
		{"unknown field of a call", `{"tool_calls":[{"name":"a","args":{}}]}`, `unknown field "args"`},
		{"unknown field of an error", `{"error":{"code":1}}`, `unknown field "code"`},
		{"unknown field of a demand", `{"expect":{"first":"a"}}`, `unknown field "first"`},
		{"unknown field of usage", `{"usage":{"prompt":1}}`, `unknown field "prompt"`},
		{"unknown field of opaque", `{"opaque":{"data":{},"sig":""}}`, `unknown field "sig"`},
		{"no object", `["a"]`, `a turn is a JSON array, want an object`},
		{"not JSON", `{"text":`, `unexpected EOF`},
		{"two turns", `{} {}`, `unexpected data after the JSON object`},
		{"an end too many", `{}}`, `unexpected data after the JSON object`},
		{"text of the wrong type", `{"text":1}`, `field "text" is a JSON number, want a string or an array of strings`},
		{"piece of the wrong type", `{"reasoning":["a",true]}`, `field "reasoning" is a JSON bool, want a string or an array of strings`},
		{"chunk of the wrong type", `{"chunk":"2"}`, `field "chunk" is a JSON string, want a whole number`},
		{"flag of the wrong type", `{"cut":1}`, `field "cut" is a JSON number, want true or false`},
		{"finish of the wrong type", `{"finish":1}`, `field "finish" is a JSON number, want a string`},
		{"object of the wrong type", `{"usage":1}`, `field "usage" is a JSON number, want an object`},
		{"name of the wrong type", `{"tool_calls":[{"name":1}]}`, `field "tool_calls.name" is a JSON number, want a string`},
		{"list of the wrong type", `{"expect":{"tools":"a"}}`, `field "expect.tools" is a JSON string, want an array`},
		{"number of the wrong type", `{"expect":{"temperature":"hot"}}`, `field "expect.temperature" is a JSON string, want a number`},
		{"negative chunk", `{"chunk":-1}`, `field "chunk" is -1, want 0 or more`},
		{"negative delay", `{"delay_ms":-1}`, `field "delay_ms" is -1, want 0 or more`},
		{"negative wait", `{"error":{"retry_after_ms":-1}}`, `field "error.retry_after_ms" is -1, want 0 or more`},
		{"call without a name", `{"tool_calls":[{"name":"a"},{"id":"c"}]}`, `tool_calls[1]: field "name" is missing`},
		{"two arguments", `{"tool_calls":[{"name":"a","arguments":{},"raw":"{}"}]}`, `tool_calls[0]: fields "raw" and "arguments" exclude each other`},
		{"unknown finish", `{"finish":"stop"}`, `finish reason is "stop", want EndTurn, MaxTokens, ToolUse or StopSequence`},
		{"two ends", `{"finish":"EndTurn","error":{}}`, `a turn has only one of finish, error, cut and hang, but this one has finish and error`},
		{
			"unknown kind", `{"error":{"kind":"bad_luck"}}`,
			`error kind is "bad_luck", want one of ["provider" "rate_limited" "overloaded" "timeout" "interrupted" "context_overflow" ` +
				`"invalid_request" "unauthorized" "quota_exceeded" "model_not_found" "content_filtered" "reply_too_large" "circuit_open" "all_models_unavailable" "pool_attempts_exhausted" "cancelled"]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			turns, err := llmtest.ParseScript(strings.NewReader("# A comment.\n\n{}\n" + tt.line + "\n{}\n"))
			if err == nil {
				t.Fatalf("parsed %+v", turns)
			}
			if diff := cmp.Diff("script line 4: "+tt.why, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseScript_ReturnsTheReadersError(t *testing.T) {
	t.Parallel()
	_, err := llmtest.ParseScript(iotest.ErrReader(io.ErrUnexpectedEOF))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", err)
	}
}

// FuzzTurn checks that a script can be written and read again to the same turns, and that
// all of them can be played.
func FuzzTurn(f *testing.F) {
	f.Add("# comment\n\n{\"text\":\"a\"}\n{\"text\":[\"b\",\"c\"],\"chunk\":1}\n")
	f.Add(`{"reasoning":"r","tool_calls":[{"id":"c","name":"n","arguments":{"a":[1]}},{"name":"n","raw":"{"}],"usage":{"total_tokens":1}}`)
	f.Add(`{"error":{"kind":"timeout","message":"m","status":504,"retry_after_ms":1}}`)
	f.Fuzz(func(t *testing.T, script string) {
		turns, err := llmtest.ParseScript(strings.NewReader(script))
		if err != nil {
			return
		}
		written := write(t, turns)
		again, err := llmtest.ParseScript(strings.NewReader(written))
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, written)
		}
		if diff := cmp.Diff(written, write(t, again)); diff != "" {
			t.Errorf("%q changes when it is read again (-before +after):\n%s", script, diff)
		}
		for i := range turns {
			turns[i].DelayMS, turns[i].Hang = 0, false
		}
		model := llmtest.NewScript(turns...)
		for range turns {
			_, _ = listen(t, model, &llm.Request{}) // must not panic
		}
	})
}

// write is the inverse of ParseScript.
func write(t *testing.T, turns []llmtest.Turn) string {
	t.Helper()
	var sb strings.Builder
	enc := json.NewEncoder(&sb)
	for _, turn := range turns {
		if err := enc.Encode(turn); err != nil {
			t.Fatalf("cannot write %+v: %v", turn, err)
		}
	}
	return sb.String()
}
