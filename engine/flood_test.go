package engine_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
)

// flooding is a model that repeats a delta until its reader leaves. It ignores the context.
func flooding(first, again llm.Delta) option {
	return func(c *engine.Config) {
		c.Providers["p"] = llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				for d := first; yield(d, nil); {
					d = again
				}
			}
		})
	}
}

// A reply beyond its limits ends its run with an error that names the limit, and nothing of it is stored.
func TestFlood_IsRefused(t *testing.T) {
	t.Parallel()
	text := llm.Delta{Kind: llm.TextDelta, Text: strings.Repeat("word ", 100)}
	thought := llm.Delta{Kind: llm.ReasoningDelta, Text: text.Text}
	opaque := llm.Delta{Kind: llm.OpaqueDelta, Opaque: &llm.Opaque{Provider: "p", Signature: text.Text}}
	call, args := llm.Delta{Kind: llm.ToolCallStart, Name: "add"}, llm.Delta{Kind: llm.ToolCallDelta, Text: text.Text}
	small := llm.ReplyLimits{Bytes: 1 << 20, ArgumentsBytes: 64 << 10, Calls: 8}
	for name, tt := range map[string]struct {
		first, again llm.Delta
		limits       llm.ReplyLimits
		maxTokens    int
		want         string
	}{
		"text":       {text, text, small, 0, "the reply has more than 1048576 bytes (limits.reply_bytes)"},
		"thinking":   {thought, thought, small, 0, "the reply has more than 1048576 bytes (limits.reply_bytes)"},
		"signatures": {opaque, opaque, small, 0, "the reply has more than 1048576 bytes (limits.reply_bytes)"},
		"usage":      {text, llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{TotalTokens: 1}}, small, 0, "the reply has more than 1048576 bytes (limits.reply_bytes)"},
		"arguments":  {call, args, small, 0, "the arguments of the reply have more than 65536 bytes (limits.reply_arguments_bytes)"},
		"calls":      {call, call, small, 0, "the reply has more than 8 calls (limits.reply_calls)"},
		"tokens":     {text, text, llm.ReplyLimits{}, 100, "far beyond max_tokens 100"},
		"defaults":   {call, call, llm.ReplyLimits{}, 0, "the reply has more than 256 calls (limits.reply_calls)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, nil, flooding(tt.first, tt.again), func(c *engine.Config) {
				c.Limits.Reply = tt.limits
				c.Models[0].MaxOutputTokens = tt.maxTokens
			})
			resets := 0
			res, err := g.rt.Run(t.Context(), say("hi"), awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
				if _, ok := e.Event.(*awaken.StreamReset); ok {
					resets++
				}
				return nil
			}))
			if res == nil {
				t.Fatal(err)
			}
			if res.Termination.Type != awaken.Failed || !strings.Contains(res.Termination.String(), tt.want) {
				t.Errorf("the run ended with %s, want an error that says %q", res.Termination, tt.want)
			}
			if resets != 1 {
				t.Errorf("clients got %d resets, want 1", resets)
			}
			for _, m := range g.log("t") {
				if m.Role == llm.Assistant {
					t.Errorf("the conversation has a message of %d bytes and %d calls", len(m.Text()), len(m.ToolCalls))
				}
			}
		})
	}
}

// A cancel takes effect in the middle of a flood, though the model ignores it.
func TestFlood_IsCancelled(t *testing.T) {
	t.Parallel()
	piece := llm.Delta{Kind: llm.TextDelta, Text: "word "}
	g := newRig(t, nil, flooding(piece, piece), func(c *engine.Config) { c.Limits.Reply = llm.ReplyLimits{Bytes: -1, ArgumentsBytes: -1, Calls: -1} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	res, err := g.rt.Run(ctx, say("hi"), awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		if _, ok := e.Event.(*awaken.TextDelta); ok {
			if n++; n == 100 {
				cancel()
			}
		}
		return nil
	}))
	if res == nil || res.Termination.Type != awaken.Cancelled {
		t.Fatalf("the run ended with %+v, %v, want that it was cancelled", res, err)
	}
	if n != 100 {
		t.Errorf("clients got %d deltas, want none after the cancel at 100", n)
	}
}
