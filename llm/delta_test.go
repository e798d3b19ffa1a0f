package llm_test

import (
	"testing"

	"github.com/awaken-go/awaken/llm"
)

func TestUsageJSON_RoundTrips(t *testing.T) {
	t.Parallel()
	checkJSON(t, llm.Usage{}, `{}`)
	checkJSON(t, llm.Usage{
		PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3, CacheReadTokens: 4, CacheCreationTokens: 5, ThinkingTokens: 6,
	}, `{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"cache_read_tokens":4,"cache_creation_tokens":5,"thinking_tokens":6}`)
}

func TestUsageAdd_TreatsNegativeCountsAsZero(t *testing.T) {
	t.Parallel()
	u := llm.Usage{PromptTokens: 1, CompletionTokens: 1, TotalTokens: 1, CacheReadTokens: 1, CacheCreationTokens: 1, ThinkingTokens: 1}
	u.Add(llm.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3, CacheReadTokens: 4, CacheCreationTokens: 5, ThinkingTokens: 6})
	u.Add(llm.Usage{PromptTokens: -9, CompletionTokens: -9, TotalTokens: -9, CacheReadTokens: -9, CacheCreationTokens: -9, ThinkingTokens: -9})
	want := llm.Usage{PromptTokens: 2, CompletionTokens: 3, TotalTokens: 4, CacheReadTokens: 5, CacheCreationTokens: 6, ThinkingTokens: 7}
	if u != want {
		t.Errorf("usage is %+v, want %+v", u, want)
	}
}

func TestFinishReasonJSON_RoundTrips(t *testing.T) {
	t.Parallel()
	for _, r := range []llm.FinishReason{llm.EndTurn, llm.MaxTokens, llm.ToolUse, llm.StopSequence} {
		checkJSON(t, r, `"`+string(r)+`"`)
	}
}

func TestFinishReasonJSON_RejectsUnknownReasons(t *testing.T) {
	t.Parallel()
	const want = `, want EndTurn, MaxTokens, ToolUse or StopSequence`
	checkRejected[llm.FinishReason](t, `"stop"`, `finish reason is "stop"`+want)
	checkRejected[llm.FinishReason](t, `""`, `finish reason is ""`+want)
	checkRejected[llm.FinishReason](t, `"end_turn"`, `finish reason is "end_turn"`+want)
}
