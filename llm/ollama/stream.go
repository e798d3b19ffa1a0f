package ollama

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// chunk is one line of the response.
type chunk struct {
	Error     json.RawMessage `json:"error"`
	CreatedAt string          `json:"created_at"`
	Message   struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []call `json:"tool_calls"`
	} `json:"message"`
	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason"`

	PromptTokens     int64 `json:"prompt_eval_count"`
	CompletionTokens int64 `json:"eval_count"`
}

// answer converts the lines of one stream into deltas.
type answer struct {
	emit  provider.Emit
	names provider.Names
	ids   provider.CallIDs
	calls int
}

// take handles one line and reports whether it was the last.
func (a *answer) take(line []byte) (last bool, err error) {
	var c chunk
	if err := json.Unmarshal(line, &c); err != nil {
		return false, &llm.Error{Kind: llm.Interrupted, Provider: Name, Message: "a line of the stream is not a valid JSON chunk", Err: err}
	}
	if len(c.Error) > 0 {
		if e := provider.ErrorBody(Name, line); e != nil {
			return false, e
		}
	}
	a.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: c.Message.Thinking})
	a.emit(llm.Delta{Kind: llm.TextDelta, Text: c.Message.Content})
	for i := range c.Message.ToolCalls {
		a.call(&c, &c.Message.ToolCalls[i])
	}
	if !c.Done {
		return false, nil
	}
	return true, a.end(&c)
}

// call emits a call, which always arrives complete.
func (a *answer) call(c *chunk, own *call) {
	id := own.ID
	if id == "" { // from servers before 0.12; the same response gives the same id
		id = fmt.Sprintf("call_%s_%d", strings.Map(digits, c.CreatedAt), a.calls)
	}
	id = a.ids.Take(id)
	a.calls++
	args := string(own.Function.Arguments)
	if args == "" || args == "null" {
		args = "{}"
	}
	a.emit(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: a.names.In(own.Function.Name)})
	a.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: args})
}

func digits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// end emits the usage and the finish.
func (a *answer) end(c *chunk) error {
	if prompt, completion := c.PromptTokens, c.CompletionTokens; prompt+completion > 0 {
		a.emit(llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}})
	}
	finish := llm.EndTurn
	switch c.DoneReason {
	case "stop", "":
		if a.calls > 0 {
			finish = llm.ToolUse
		}
	case "length":
		finish = llm.MaxTokens
	default: // load and unload end requests without messages
		return &llm.Error{Kind: llm.Provider, Provider: Name, Message: fmt.Sprintf("unknown done reason %q", c.DoneReason)}
	}
	a.emit(llm.Delta{Kind: llm.FinishDelta, Finish: finish})
	return nil
}
