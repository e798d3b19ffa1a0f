package gemini

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/internal/ids"
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

// usage counts thinking apart from the answer, and what the cache had as part of the prompt.
type usage struct {
	Prompt     int64 `json:"promptTokenCount"`
	ToolPrompt int64 `json:"toolUsePromptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	Total      int64 `json:"totalTokenCount"`
}

// answer turns the chunks of one stream into deltas.
type answer struct {
	emit   provider.Emit
	names  functions
	output string // the function whose arguments are the answer's text, or ""
	model  string

	response string // its id
	calls    int
	ids      provider.CallIDs
}

// take handles one chunk. Done says that it was the last.
func (a *answer) take(data []byte) (done bool, err error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, fmt.Errorf("a chunk is not valid JSON: %w", err)
	}
	if len(c.Error) > 0 {
		if e := provider.ErrorBody(Name, data); e != nil {
			return false, e
		}
	}
	if a.response == "" && c.ResponseID != "" {
		a.response = c.ResponseID
		if err := a.emit(llm.Delta{Kind: llm.ResponseDelta, ID: a.response}); err != nil {
			return false, err
		}
	}
	if u := c.Usage; u != nil {
		if err := a.emit(llm.Delta{Kind: llm.UsageDelta, Usage: u.tokens()}); err != nil {
			return false, err
		}
	}
	if f := c.PromptFeedback; f != nil && f.BlockReason != "" {
		return false, filtered("the prompt was blocked", f.BlockReason, f.BlockReasonMessage)
	}
	if len(c.Candidates) == 0 {
		return false, nil
	}
	one := &c.Candidates[0]
	for i := range one.Content.Parts {
		if err := a.part(&one.Content.Parts[i]); err != nil {
			return false, err
		}
	}
	if one.FinishReason == "" || one.FinishReason == "FINISH_REASON_UNSPECIFIED" {
		return false, nil
	}
	return c.Usage != nil, a.finish(one.FinishReason, one.FinishMessage) // usage may come later
}

func (a *answer) part(p *part) error {
	switch {
	case p.FunctionCall != nil:
		return a.call(p)
	case p.Thought:
		if err := a.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: p.Text}); err != nil || p.ThoughtSignature == "" {
			return err
		}
		return a.emit(llm.Delta{Kind: llm.OpaqueDelta, Opaque: signed(p.ThoughtSignature, a.model)})
	}
	if err := a.emit(llm.Delta{Kind: llm.TextDelta, Text: p.Text}); err != nil || p.ThoughtSignature == "" {
		return err
	}
	return a.emit(llm.Delta{Kind: llm.ResponseDelta, ID: a.response, Opaque: signed(p.ThoughtSignature, a.model)})
}

// call passes on a call, which comes whole. Not every one has an id.
func (a *answer) call(p *part) error {
	f := p.FunctionCall
	args := string(f.Args)
	if args == "" || args == "null" {
		args = "{}"
	}
	if a.output != "" && f.Name == a.output {
		return a.emit(llm.Delta{Kind: llm.TextDelta, Text: args})
	}
	a.calls++
	if f.ID == "" {
		if a.response == "" {
			a.response = ids.New()
		}
		f.ID = fmt.Sprintf("call_%s_%d", a.response, a.calls)
	}
	f.ID = a.ids.Take(f.ID)
	start := llm.Delta{Kind: llm.ToolCallStart, ID: f.ID, Name: a.names.In(f.Name)}
	if p.ThoughtSignature != "" {
		start.Opaque = signed(p.ThoughtSignature, a.model)
	}
	if err := a.emit(start); err != nil {
		return err
	}
	return a.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: f.ID, Text: args})
}

func (u *usage) tokens() *llm.Usage {
	out := &llm.Usage{
		PromptTokens:     u.Prompt + u.ToolPrompt,
		CompletionTokens: u.Candidates + u.Thoughts,
		TotalTokens:      u.Total,
		CacheReadTokens:  u.Cached,
		ThinkingTokens:   u.Thoughts,
	}
	if out.TotalTokens == 0 {
		out.TotalTokens = out.PromptTokens + out.CompletionTokens
	}
	return out
}

// finish emits the last delta, or returns the error that stands for it.
func (a *answer) finish(reason, message string) error {
	finish := llm.EndTurn
	switch reason {
	case "STOP": // also for a stop sequence and for calls
		if a.calls > 0 {
			finish = llm.ToolUse
		}
	case "MAX_TOKENS", "CONTINUATION": // there is more to say
		finish = llm.MaxTokens
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		return filtered("the answer was stopped", reason, message)
	default: // a malformed call, or what is not known: another try may do better
		return &llm.Error{Kind: llm.Provider, Provider: Name, Message: join("the answer ended for the reason", reason, message)}
	}
	return a.emit(llm.Delta{Kind: llm.FinishDelta, Finish: finish})
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
