package providertest

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

const mixed = "naïve café — 日本語テキスト 🙂👩‍👩‍👧 \u2028 \"quoted\" \\back\\ \t tab\nline\r\nend"

// streamCases test text, thinking, usage and the finish.
func streamCases() []testCase {
	textIs := func(name string, want string, frames func(parts, end [][]byte) [][]byte, pieces ...string) testCase {
		return testCase{name, nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says(pieces...))
			r := a.sayFrames(t, frames(parts, end)).whole(t)
			equal(t, "text", r.Message.Text(), want)
			equal(t, "finish", r.Finish, llm.EndTurn)
		}}
	}
	plain := func(parts, end [][]byte) [][]byte { return slices.Concat(parts, end) }
	cutting := func(n int) func(parts, end [][]byte) [][]byte {
		return func(parts, end [][]byte) [][]byte { return cut(slices.Concat(parts, end), n) }
	}
	var runes []string
	for _, r := range mixed {
		runes = append(runes, string(r))
	}
	long := strings.Repeat("0123456789abcdef", 16<<10) // 256 KiB
	cases := []testCase{
		textIs("OnePiece", "Hello.", plain, "Hello."),
		textIs("ManyPieces", strings.Repeat("word ", 300), plain, strings.SplitAfter(strings.Repeat("word ", 300), " ")...),
		textIs("Unicode", mixed, plain, runes...),
		textIs("CutEveryByte", mixed, cutting(1), runes...),
		textIs("CutEveryThreeBytes", mixed, cutting(3), runes...),
		textIs("CutEverySevenBytes", mixed, cutting(7), mixed),
		textIs("AllAtOnce", mixed, cutting(1<<20), runes...),
		textIs("LongPiece", long, plain, long),
		textIs("LongPieceInSmallChunks", long, cutting(1000), long),
		textIs("WindowsLineEnds", mixed, func(parts, end [][]byte) [][]byte {
			return [][]byte{bytes.ReplaceAll(slices.Concat(slices.Concat(parts, end)...), []byte("\n"), []byte("\r\n"))}
		}, runes...),
		textIs("NoLastEmptyLine", "Hello.", func(parts, end [][]byte) [][]byte {
			return [][]byte{bytes.TrimRight(slices.Concat(slices.Concat(parts, end)...), "\n")}
		}, "Hello."),
		textIs("EmptyPieces", "ab", plain, "", "a", "", "b", ""),
		{"NoText", nil, func(t *testing.T, a *Adapter) {
			r := a.say(t, Reply{Finish: llm.EndTurn}).whole(t)
			equal(t, "text", r.Message.Text(), "")
		}},
		{"PiecesAreNotHeldBack", nil, func(t *testing.T, a *Adapter) {
			parts, _ := a.Speak(says("first", "second"))
			s := newServer(t, script{frames: parts, end: stall})
			for d, err := range a.open(t, s).Stream(t.Context(), a.request()) {
				if err != nil {
					t.Fatal(err)
				}
				if d.Kind == llm.TextDelta && d.Text == "first" {
					return // although the rest never comes
				}
			}
			t.Error("there was no first piece")
		}},
		{"Comments", []Power{Comments}, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("one ", "two"))
			var frames [][]byte
			for _, f := range slices.Concat(parts, end) {
				frames = append(frames, []byte(": keep-alive\n\n"), []byte(":\n\n"), f)
			}
			equal(t, "text", a.sayFrames(t, frames).whole(t).Message.Text(), "one two")
		}},
		{"UnknownFields", []Power{Comments}, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("one"))
			frames := slices.Concat([][]byte{[]byte("id: 1\nretry: 100\n\n")}, parts, end)
			equal(t, "text", a.sayFrames(t, frames).whole(t).Message.Text(), "one")
		}},
		{"MaxTokens", nil, func(t *testing.T, a *Adapter) {
			r := a.say(t, Reply{Parts: []Part{text("Once upon a")}, Finish: llm.MaxTokens}).whole(t)
			equal(t, "finish", r.Finish, llm.MaxTokens)
			equal(t, "text", r.Message.Text(), "Once upon a")
		}},
		{"ContentFilterIsAnError", []Power{Filter}, func(t *testing.T, a *Adapter) {
			o := a.say(t, Reply{Parts: []Part{text("I will tell you how to")}})
			equal(t, "kind", o.kind(), llm.ContentFiltered)
		}},
		{"ConcurrentStreams", nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("one ", "two ", "three"))
			m := a.open(t, newServer(t, script{frames: slices.Concat(parts, end)}))
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					o := ask(t, m, a.request())
					if o.err != nil || o.reply.Message.Text() != "one two three" {
						t.Errorf("%q, %v", o.reply.Message.Text(), o.err)
					}
				})
			}
			wg.Wait()
		}},
	}
	return slices.Concat(cases, usageCases(), reasoningCases())
}

func usageCases() []testCase {
	is := func(name string, u *llm.Usage, needs ...Power) testCase {
		return testCase{name, needs, func(t *testing.T, a *Adapter) {
			r := says("Hi")
			r.Usage = u
			got := a.say(t, r).whole(t).Usage
			equal(t, "usage", got, *u)
		}}
	}
	return []testCase{
		is("Usage", &llm.Usage{PromptTokens: 12, CompletionTokens: 34, TotalTokens: 46}),
		is("UsageCached", &llm.Usage{PromptTokens: 1200, CompletionTokens: 34, TotalTokens: 1234, CacheReadTokens: 1024}, CachedTokens),
		is("UsageThinking", &llm.Usage{PromptTokens: 12, CompletionTokens: 340, TotalTokens: 352, ThinkingTokens: 300}, ThinkingTokens),
		{"UsageComesBeforeTheFinish", nil, func(t *testing.T, a *Adapter) {
			r := says("Hi")
			r.Usage = &llm.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}
			o := a.say(t, r)
			o.whole(t)
			n := len(o.deltas)
			if n < 2 || !slices.ContainsFunc(o.deltas[:n-1], func(d llm.Delta) bool { return d.Kind == llm.UsageDelta }) {
				t.Errorf("deltas: %+v", o.deltas)
			}
		}},
	}
}

func reasoningCases() []testCase {
	return []testCase{
		{"ReasoningThenText", []Power{Reasoning}, func(t *testing.T, a *Adapter) {
			r := a.say(t, Reply{Parts: []Part{{Reasoning: []string{"Let me ", "think."}}, text("42")}, Finish: llm.EndTurn}).whole(t)
			if len(r.Message.Content) != 2 {
				t.Fatalf("content: %+v", r.Message.Content)
			}
			equal(t, "thinking", [2]any{r.Message.Content[0].Type, r.Message.Content[0].Text}, [2]any{llm.ThinkingBlock, "Let me think."})
			equal(t, "text", [2]any{r.Message.Content[1].Type, r.Message.Content[1].Text}, [2]any{llm.TextBlock, "42"})
		}},
		{"ReasoningInEveryByte", []Power{Reasoning}, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(Reply{Parts: []Part{{Reasoning: []string{mixed}}, text("ok")}, Finish: llm.EndTurn})
			r := a.sayFrames(t, cut(slices.Concat(parts, end), 1)).whole(t)
			equal(t, "thinking", r.Message.Content[0].Text, mixed)
		}},
		{"OpaqueIsKept", []Power{Opaque}, func(t *testing.T, a *Adapter) {
			r := a.say(t, Reply{Parts: []Part{{Reasoning: []string{"Hm."}}, {Opaque: "b3BhcXVl"}, text("42")}, Finish: llm.EndTurn}).whole(t)
			b := r.Message.Content[0]
			if b.Type != llm.ThinkingBlock || b.Opaque == nil || b.Opaque.Provider != a.Provider {
				t.Errorf("content: %+v", r.Message.Content)
			}
		}},
		{"OpaqueIsSentBack", []Power{Opaque}, func(t *testing.T, a *Adapter) {
			first := a.say(t, Reply{Parts: []Part{{Reasoning: []string{"Hm."}}, {Opaque: "b3BhcXVl"}, {Call: &Call{"call_1", "look", []string{`{"at":"it"}`}}}}, Finish: llm.ToolUse}).whole(t)
			asked := a.asked(t, a.conversation(llm.UserText("What?"), first.Message, answer("call_1", "seen")))
			var got []string
			for _, turn := range asked.Turns {
				got = append(got, turn.Opaque...)
			}
			equal(t, "opaque", got, []string{"b3BhcXVl"})
		}},
		{"OpaqueOfOthersIsNotSent", []Power{Opaque}, func(t *testing.T, a *Adapter) {
			first := a.say(t, Reply{Parts: []Part{{Reasoning: []string{"Hm."}}, {Opaque: "b3BhcXVl"}, text("42")}, Finish: llm.EndTurn}).whole(t)
			m := *first.Message
			m.Content = slices.Clone(m.Content)
			o := *m.Content[0].Opaque
			o.Provider = "another-provider"
			m.Content[0].Opaque = &o
			for _, turn := range a.asked(t, a.conversation(llm.UserText("What?"), &m, llm.UserText("Why?"))).Turns {
				if len(turn.Opaque) > 0 || strings.Contains(turn.Text, "Hm.") {
					t.Errorf("sent: %+v", turn)
				}
			}
		}},
		{"OpaqueWithoutText", []Power{Opaque}, func(t *testing.T, a *Adapter) {
			first := a.say(t, Reply{Parts: []Part{{Opaque: "b3BhcXVl"}, {Call: &Call{"call_1", "look", []string{`{}`}}}}, Finish: llm.ToolUse}).whole(t)
			asked := a.asked(t, a.conversation(llm.UserText("What?"), first.Message, answer("call_1", "seen")))
			var got []string
			for _, turn := range asked.Turns {
				got = append(got, turn.Opaque...)
			}
			equal(t, "opaque", got, []string{"b3BhcXVl"})
		}},
	}
}
