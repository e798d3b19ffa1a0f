package openai

import "github.com/awaken-go/awaken/llm"

// chatUsage is token usage, with the names of Chat Completions.
type chatUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	PromptDetails    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func newChatUsage(u *llm.Usage) (out chatUsage) {
	out.PromptTokens, out.CompletionTokens, out.TotalTokens = u.PromptTokens, u.CompletionTokens, u.TotalTokens
	out.PromptDetails.Cached, out.CompletionDetails.Reasoning = u.CacheReadTokens, u.ThinkingTokens
	return out
}

// responseUsage is token usage, with the names of Responses.
type responseUsage struct {
	InputTokens  int64 `json:"input_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens  int64 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int64 `json:"total_tokens"`
}

func newResponseUsage(u *llm.Usage) *responseUsage {
	out := &responseUsage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	out.InputDetails.Cached, out.OutputDetails.Reasoning = u.CacheReadTokens, u.ThinkingTokens
	return out
}
