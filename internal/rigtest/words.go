package rigtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// Words is a model that does what the words of the last user message say, one after the other: a word calls the tool of that name, "a+b"
// calls two at once, and "forever a" calls a without an end. Words that begin with "#" are ignored. The model sees from the conversation
// how far it is, so that it says the same again to another owner of the run.
type Words struct {
	// Pieces is how many pieces of text it says in every step, with Pace between them. Without pieces it says "done" at the end alone.
	Pieces int
	Pace   time.Duration
	// Tagged says to follow only messages that begin with "#": others are answers to questions, or notes.
	Tagged bool
	// Asked, if not nil, gets every request first.
	Asked func(req *llm.Request) error
}

// Stream answers a request.
func (w Words) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if w.Asked != nil {
			if err := w.Asked(req); err != nil {
				yield(llm.Delta{}, err)
				return
			}
		}
		calls, step := w.next(req)
		if !w.say(ctx, calls, step, yield) {
			return
		}
		for i, name := range calls {
			id := fmt.Sprintf("call-%d-%d", step, i)
			if !yield(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: name}, nil) || !yield(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: "{}"}, nil) {
				return
			}
		}
		finish := llm.ToolUse
		if len(calls) == 0 {
			finish = llm.EndTurn
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: finish}, nil)
	}
}

// next returns the tools to call now, and which step of the answer this is.
func (w Words) next(req *llm.Request) (calls []string, step int) {
	var words []string
	for _, m := range req.Messages.All() {
		switch {
		case m.Role == llm.User && (!w.Tagged || strings.HasPrefix(m.Text(), "#")):
			words = slices.DeleteFunc(strings.Fields(m.Text()), func(word string) bool { return strings.HasPrefix(word, "#") })
			step = 0
		case m.Role == llm.Assistant:
			step++
		}
	}
	switch {
	case len(words) == 2 && words[0] == "forever":
		return words[1:], step
	case step < len(words):
		return strings.Split(words[step], "+"), step
	}
	return nil, step
}

// say says the text of a step, and reports whether the reader goes on.
func (w Words) say(ctx context.Context, calls []string, step int, yield func(llm.Delta, error) bool) bool {
	if w.Pieces == 0 {
		return len(calls) > 0 || yield(llm.Delta{Kind: llm.TextDelta, Text: "done"}, nil)
	}
	text := fmt.Sprint("step", step)
	if len(calls) == 0 {
		text = "end"
	}
	for i := range w.Pieces {
		select {
		case <-time.After(w.Pace):
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return false
		}
		if !yield(llm.Delta{Kind: llm.TextDelta, Text: fmt.Sprintf("%s-%d ", text, i)}, nil) {
			return false
		}
	}
	return true
}
