package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// chunk is an event of the stream.
type chunk struct {
	ResponseID string `json:"responseId"`
	Candidates []struct {
		Content       content `json:"content"`
		FinishReason  string  `json:"finishReason"`
		FinishMessage string  `json:"finishMessage"`
	} `json:"candidates"`
	PromptFeedback *struct {
		BlockReason        string `json:"blockReason"`
		BlockReasonMessage string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

// usage counts thinking separately from the reply, and cached input as part of the prompt.
type usage struct {
	Prompt     int64 `json:"promptTokenCount"`
	ToolPrompt int64 `json:"toolUsePromptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	Total      int64 `json:"totalTokenCount"`
}

// answer converts the chunks of one stream into deltas.
type answer struct {
	emit   provider.Emit
	names  provider.Names
	output string // the function whose arguments are the reply's text, or ""
	model  string

	response string // its id
	calls    int
	ids      provider.CallIDs
}

// take handles one chunk and reports whether it was the last.
func (a *answer) take(ev provider.Event) (last bool, err error) {
	var c chunk
	if err := json.Unmarshal(ev.Data, &c); err != nil {
		return false, fmt.Errorf("a chunk is not valid JSON: %w", err)
	}
	if len(c.Error) > 0 {
		if e := provider.ErrorBody(Name, ev.Data); e != nil {
			return false, e
		}
	}
	if a.response == "" && c.ResponseID != "" {
		a.response = c.ResponseID
		a.emit(llm.Delta{Kind: llm.ResponseDelta, ID: a.response})
	}
	if u := c.Usage; u != nil {
		a.emit(llm.Delta{Kind: llm.UsageDelta, Usage: u.tokens()})
	}
	if f := c.PromptFeedback; f != nil && f.BlockReason != "" {
		return false, filtered("the prompt was blocked", f.BlockReason, f.BlockReasonMessage)
	}
	if len(c.Candidates) == 0 {
		return false, nil
	}
	one := &c.Candidates[0]
	for i := range one.Content.Parts {
		a.part(&one.Content.Parts[i])
	}
	if one.FinishReason == "" || one.FinishReason == "FINISH_REASON_UNSPECIFIED" {
		return false, nil
	}
	return c.Usage != nil, a.finish(one.FinishReason, one.FinishMessage) // usage may come later
}

func (a *answer) part(p *part) {
	var opaque *llm.Opaque
	if p.ThoughtSignature != "" {
		opaque = signed(p.ThoughtSignature, a.model)
	}
	switch {
	case p.FunctionCall != nil:
		a.call(p.FunctionCall, opaque)
	case p.Thought:
		a.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: p.Text})
		if opaque != nil {
			a.emit(llm.Delta{Kind: llm.OpaqueDelta, Opaque: opaque})
		}
	default:
		a.emit(llm.Delta{Kind: llm.TextDelta, Text: p.Text})
		if opaque != nil {
			a.emit(llm.Delta{Kind: llm.ResponseDelta, ID: a.response, Opaque: opaque})
		}
	}
}

// call emits a call, which always arrives complete. Not every call has an id.
func (a *answer) call(f *functionCall, opaque *llm.Opaque) {
	args := string(f.Args)
	if args == "" || args == "null" {
		args = "{}"
	}
	if a.output != "" && f.Name == a.output {
		a.emit(llm.Delta{Kind: llm.TextDelta, Text: args})
		return
	}
	a.calls++
	id := f.ID
	if id == "" && a.response != "" { // the same response gives the same id
		id = fmt.Sprintf("call_%s_%d", a.response, a.calls)
	}
	id = a.ids.Take(id)
	a.emit(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: a.names.In(f.Name), Opaque: opaque})
	a.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: args})
}

func (u *usage) tokens() *llm.Usage {
	prompt, completion := u.Prompt+u.ToolPrompt, u.Candidates+u.Thoughts
	return &llm.Usage{
		PromptTokens:     prompt,
		CompletionTokens: completion,
		TotalTokens:      cmp.Or(u.Total, prompt+completion),
		CacheReadTokens:  u.Cached,
		ThinkingTokens:   u.Thoughts,
	}
}

// finish emits the finish, or returns an error for a reply that did not end well.
func (a *answer) finish(reason, message string) error {
	finish := llm.EndTurn
	switch reason {
	case "STOP": // also for a stop sequence and for calls
		if a.calls > 0 {
			finish = llm.ToolUse
		}
	case "MAX_TOKENS", "CONTINUATION": // the reply can be continued
		finish = llm.MaxTokens
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		return filtered("the response was blocked", reason, message)
	default: // a malformed call or an unknown reason: a retry may succeed
		return &llm.Error{Kind: llm.Provider, Provider: Name, Message: join("the response ended with finish reason", reason, message)}
	}
	a.emit(llm.Delta{Kind: llm.FinishDelta, Finish: finish})
	return nil
}

func filtered(what, reason, message string) error {
	return &llm.Error{Kind: llm.ContentFiltered, Provider: Name, Message: join(what+" for", reason, message)}
}

func join(what, reason, message string) string {
	if message != "" {
		return fmt.Sprintf("%s %s: %s", what, reason, message)
	}
	return what + " " + reason
}
