package eval

import (
	"unicode/utf8"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// Turn returns the reply as a turn of a scripted model. Without a number of tokens it has one for every four characters.
// The reply must be valid.
func (r *Reply) Turn() llmtest.Turn {
	if r.Kind == ReplyError {
		kind, _ := errorKind(r.ErrorType)
		return llmtest.Turn{Error: &llmtest.Failure{Kind: kind, Message: r.Message}}
	}
	var t llmtest.Turn
	size := 0
	add := func(id, name string, args []byte) {
		if len(args) == 0 {
			args = []byte("{}")
		}
		size += utf8.RuneCountInString(name) + utf8.RuneCount(args)
		t.ToolCalls = append(t.ToolCalls, llmtest.Call{ID: id, Name: name, Arguments: args})
	}
	if r.Kind == ToolCall {
		add(r.ID, r.Name, r.Arguments)
	} else {
		if r.Content != "" {
			t.Text = llmtest.Text{r.Content}
		}
		size += utf8.RuneCountInString(r.Content)
		for i := range r.ToolCalls {
			add(r.ToolCalls[i].ID, r.ToolCalls[i].Name, r.ToolCalls[i].Arguments)
		}
		t.Finish, _ = finishReason(r.FinishReason)
		if t.Finish == llm.EndTurn && len(t.ToolCalls) > 0 {
			t.Finish = llm.ToolUse
		}
	}
	tokens := int64(size+3) / 4
	if r.Tokens != nil {
		tokens = int64(*r.Tokens)
	}
	t.Usage = &llm.Usage{CompletionTokens: tokens, TotalTokens: tokens}
	return t
}

// Said is a part of a conversation, as a judge sees it.
type Said struct {
	Role string // user, assistant, or what else it is
	Text string
}
