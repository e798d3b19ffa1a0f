package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

func text(s string) llm.Delta      { return llm.Delta{Kind: llm.TextDelta, Text: s} }
func reasoning(s string) llm.Delta { return llm.Delta{Kind: llm.ReasoningDelta, Text: s} }
func opaque(sig string) llm.Delta {
	return llm.Delta{Kind: llm.OpaqueDelta, Opaque: signature(sig)}
}
func start(id, name string) llm.Delta {
	return llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: name}
}
func args(id, s string) llm.Delta { return llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: s} }
func usage(in, out int64) llm.Delta {
	return llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: in, CompletionTokens: out}}
}
func finish(r llm.FinishReason) llm.Delta { return llm.Delta{Kind: llm.FinishDelta, Finish: r} }

func signature(s string) *llm.Opaque { return &llm.Opaque{Provider: "p", Signature: s} }

func call(id, name, arguments string) llm.ToolCall {
	c := llm.ToolCall{ID: id, Name: name}
	if arguments != "" {
		c.Arguments = json.RawMessage(arguments)
	}
	return c
}

func TestCollector_AssemblesTheReply(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		deltas []llm.Delta
		want   llm.Reply
	}{
		{"nothing", nil, llm.Reply{Message: &llm.Message{Role: llm.Assistant}}},
		{
			"text",
			[]llm.Delta{text("Hel"), text(""), text("lo"), usage(1, 2), finish(llm.EndTurn)},
			llm.Reply{
				Message: llm.NewText(llm.Assistant, "Hello"),
				Usage:   llm.Usage{PromptTokens: 1, CompletionTokens: 2}, Finish: llm.EndTurn,
			},
		},
		{
			"thinking and text by turns",
			[]llm.Delta{reasoning("a"), reasoning("b"), opaque("1"), text("c"), reasoning("d"), opaque("2"), text("e"), text("f")},
			llm.Reply{Message: &llm.Message{Role: llm.Assistant, Content: []llm.Block{
				llm.Thinking("ab", signature("1")), llm.Text("c"), llm.Thinking("d", signature("2")), llm.Text("ef"),
			}}},
		},
		{
			"thinking blocks that follow each other",
			[]llm.Delta{reasoning("a"), opaque("1"), reasoning("b"), opaque("2")},
			llm.Reply{Message: &llm.Message{Role: llm.Assistant, Content: []llm.Block{
				llm.Thinking("a", signature("1")), llm.Thinking("b", signature("2")),
			}}},
		},
		{
			"encrypted thinking without text",
			[]llm.Delta{opaque("1"), opaque("2"), text("a"), opaque("3")},
			llm.Reply{Message: &llm.Message{Role: llm.Assistant, Content: []llm.Block{
				llm.Thinking("", signature("1")), llm.Thinking("", signature("2")), llm.Text("a"), llm.Thinking("", signature("3")),
			}}},
		},
		{
			"calls whose arguments are mixed",
			[]llm.Delta{
				start("c1", "add"), start("c2", "sub"), args("c1", `{"a"`), args("c2", `[`), args("c1", `:1}`), args("c2", `]`),
				finish(llm.ToolUse),
			},
			llm.Reply{
				Message: &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call("c1", "add", `{"a":1}`), call("c2", "sub", `[]`)}},
				Finish:  llm.ToolUse,
			},
		},
		{
			"arguments without an id go to the newest call",
			[]llm.Delta{start("c1", "add"), args("", `1`), start("c2", "sub"), args("", `2`)},
			llm.Reply{Message: &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call("c1", "add", `1`), call("c2", "sub", `2`)}}},
		},
		{
			"arguments of a call that never started",
			[]llm.Delta{args("c1", `{}`), start("c2", "add"), args("c3", `{}`)},
			llm.Reply{Message: &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call("c2", "add", "")}}},
		},
		{
			"a call that broke off",
			[]llm.Delta{text("a"), start("c1", "add"), args("c1", `{"a":`), start("c2", "sub"), args("c2", `{}`), finish(llm.MaxTokens)},
			llm.Reply{
				Message: &llm.Message{
					Role: llm.Assistant, Content: []llm.Block{llm.Text("a")},
					ToolCalls: []llm.ToolCall{call("c2", "sub", `{}`)},
				},
				Finish: llm.MaxTokens, Incomplete: []string{"add"},
			},
		},
		{
			"only calls that broke off",
			[]llm.Delta{start("c1", "add"), args("c1", `{`), start("c2", "sub"), args("c2", ` `)},
			llm.Reply{Message: &llm.Message{Role: llm.Assistant}, Incomplete: []string{"add", "sub"}},
		},
		{
			"the last usage counts",
			[]llm.Delta{usage(5, 1), {Kind: llm.UsageDelta}, usage(5, 9), finish(llm.StopSequence)},
			llm.Reply{
				Message: &llm.Message{Role: llm.Assistant},
				Usage:   llm.Usage{PromptTokens: 5, CompletionTokens: 9}, Finish: llm.StopSequence,
			},
		},
		{
			"what the provider wants back",
			[]llm.Delta{
				{Kind: llm.ResponseDelta, ID: "resp", Opaque: signature("response")},
				{Kind: llm.ToolCallStart, ID: "c1", Name: "add", Opaque: signature("call")},
			},
			llm.Reply{Message: &llm.Message{
				Role: llm.Assistant, Opaque: signature("response"),
				ToolCalls: []llm.ToolCall{{ID: "c1", Name: "add", Opaque: signature("call")}},
			}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var c llm.Collector
			for _, d := range tt.deltas {
				c.Add(d)
			}
			if diff := cmp.Diff(&tt.want, c.Reply()); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCollector_ReportsWhatHasArrived(t *testing.T) {
	t.Parallel()
	var c llm.Collector
	check := func(step string, hasText, finished bool) {
		t.Helper()
		if c.HasText() != hasText || c.Finished() != finished {
			t.Errorf("after %s: HasText is %v and Finished %v, want %v and %v", step, c.HasText(), c.Finished(), hasText, finished)
		}
	}
	check("nothing", false, false)
	c.Add(reasoning("hm"))
	check("thinking", false, false)
	c.Add(text(""))
	check("an empty chunk", false, false)
	c.Add(text("a"))
	check("text", true, false)
	c.Add(usage(3, 4))
	c.Add(finish(llm.EndTurn))
	check("the finish", true, true)
	if c.Finish() != llm.EndTurn || c.Usage() != (llm.Usage{PromptTokens: 3, CompletionTokens: 4}) {
		t.Errorf("finish is %q and usage %+v", c.Finish(), c.Usage())
	}
}

func TestCollectorContinue_ExtendsTheSameBlock(t *testing.T) {
	t.Parallel()
	var c llm.Collector
	for _, d := range []llm.Delta{
		text("Hel"), start("c1", "add"), args("c1", `{}`), start("c2", "sub"), args("c2", `{"a`), usage(1, 1), finish(llm.MaxTokens),
	} {
		c.Add(d)
	}
	c.Continue()
	if c.Finished() || c.Usage() != (llm.Usage{}) {
		t.Errorf("after Continue the finish is %q and the usage %+v, want neither", c.Finish(), c.Usage())
	}
	for _, d := range []llm.Delta{text("lo"), start("c3", "sub"), args("c3", `{"a":1}`), usage(2, 2), finish(llm.ToolUse)} {
		c.Add(d)
	}
	want := &llm.Reply{
		Message: &llm.Message{
			Role: llm.Assistant, Content: []llm.Block{llm.Text("Hello")},
			ToolCalls: []llm.ToolCall{call("c1", "add", `{}`), call("c3", "sub", `{"a":1}`)},
		},
		Usage: llm.Usage{PromptTokens: 2, CompletionTokens: 2}, Finish: llm.ToolUse,
	}
	if diff := cmp.Diff(want, c.Reply()); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

func TestCollectorMessage_IsNotChangedByLaterChunks(t *testing.T) {
	t.Parallel()
	var c llm.Collector
	for _, d := range []llm.Delta{text("a"), start("c1", "add"), args("c1", `1`)} {
		c.Add(d)
	}
	early := c.Message()
	for range 100 {
		c.Add(args("c1", `2`))
	}
	c.Add(text("b"))
	want := &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Text("a")}, ToolCalls: []llm.ToolCall{call("c1", "add", `1`)}}
	if diff := cmp.Diff(want, early); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if got, want := string(c.Calls(nil)[0].Arguments), "1"+strings.Repeat("2", 100); got != want {
		t.Errorf("arguments are %s, want %s", got, want)
	}
}

// The text is equally long in both runs, and short enough for one buffer, so the buffer grows equally often.
// The difference is the cost of a chunk.
func TestCollectorAdd_AllocatesNothingPerChunk(t *testing.T) {
	whole := strings.Repeat("0123456789", 3200)
	collect := func(chunks int, delta func(string) llm.Delta) float64 {
		size := len(whole) / chunks
		return testing.AllocsPerRun(20, func() {
			var c llm.Collector
			c.Add(start("c1", "add"))
			c.Add(delta(whole))
			for i := 0; i < len(whole); i += size {
				c.Add(delta(whole[i : i+size]))
			}
		})
	}
	for name, delta := range map[string]func(string) llm.Delta{
		"text":      text,
		"reasoning": reasoning,
		"arguments": func(s string) llm.Delta { return args("c1", s) },
	} {
		if few, many := collect(64, delta), collect(6400, delta); few != many {
			t.Errorf("%s: 64 chunks take %v allocations and 6400 take %v, want the same", name, few, many)
		}
	}
}

func BenchmarkCollector(b *testing.B) {
	chunk := text("a few words ")
	b.ReportAllocs()
	for b.Loop() {
		var c llm.Collector
		for range 1000 {
			c.Add(chunk)
		}
		c.Add(finish(llm.EndTurn))
		c.Reply()
	}
}
