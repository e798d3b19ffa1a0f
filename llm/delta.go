package llm

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/internal/appendjson"
)

// DeltaKind tells the pieces of a streamed reply apart.
type DeltaKind uint8

const (
	TextDelta      DeltaKind = iota + 1 // Text
	ReasoningDelta                      // Text
	OpaqueDelta                         // Opaque, of the block that is open
	ToolCallStart                       // ID, Name, Opaque
	ToolCallDelta                       // ID, Text: a piece of the arguments' JSON
	UsageDelta                          // Usage: replaces what was reported before
	FinishDelta                         // Finish; the last delta of a stream
	ResponseDelta                       // ID: the provider's id of this response; Opaque
	MemberDelta                         // ID: of the pool's member that answers; before everything else it says
)

// Delta is one piece of a streamed reply.
type Delta struct {
	Kind   DeltaKind
	ID     string
	Name   string
	Text   string
	Finish FinishReason
	Usage  *Usage
	Opaque *Opaque
}

// FinishReason says why a model stopped. A content filter is not a reason but an
// error, so that no caller mistakes it for an answer.
type FinishReason string

const (
	EndTurn      FinishReason = "EndTurn"
	MaxTokens    FinishReason = "MaxTokens"
	ToolUse      FinishReason = "ToolUse"
	StopSequence FinishReason = "StopSequence"
)

// UnmarshalJSON rejects reasons that do not exist.
func (r *FinishReason) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	switch f := FinishReason(s); f {
	case EndTurn, MaxTokens, ToolUse, StopSequence:
		*r = f
		return nil
	}
	return fmt.Errorf("finish reason is %q, want EndTurn, MaxTokens, ToolUse or StopSequence", s)
}

// Usage counts tokens as the provider reported them. Zero means not reported.
type Usage struct {
	PromptTokens        int64 `json:"prompt_tokens,omitempty"`
	CompletionTokens    int64 `json:"completion_tokens,omitempty"`
	TotalTokens         int64 `json:"total_tokens,omitempty"`
	CacheReadTokens     int64 `json:"cache_read_tokens,omitempty"`
	CacheCreationTokens int64 `json:"cache_creation_tokens,omitempty"`
	ThinkingTokens      int64 `json:"thinking_tokens,omitempty"`
}

// AppendJSON appends what json.Marshal returns.
func (u *Usage) AppendJSON(buf []byte) []byte {
	start := len(buf)
	buf = appendjson.IntIf(buf, `,"prompt_tokens":`, u.PromptTokens)
	buf = appendjson.IntIf(buf, `,"completion_tokens":`, u.CompletionTokens)
	buf = appendjson.IntIf(buf, `,"total_tokens":`, u.TotalTokens)
	buf = appendjson.IntIf(buf, `,"cache_read_tokens":`, u.CacheReadTokens)
	buf = appendjson.IntIf(buf, `,"cache_creation_tokens":`, u.CacheCreationTokens)
	buf = appendjson.IntIf(buf, `,"thinking_tokens":`, u.ThinkingTokens)
	return appendjson.Close(buf, start)
}

// Add adds v to u; negative counts are taken as 0.
func (u *Usage) Add(v Usage) {
	u.PromptTokens += max(v.PromptTokens, 0)
	u.CompletionTokens += max(v.CompletionTokens, 0)
	u.TotalTokens += max(v.TotalTokens, 0)
	u.CacheReadTokens += max(v.CacheReadTokens, 0)
	u.CacheCreationTokens += max(v.CacheCreationTokens, 0)
	u.ThinkingTokens += max(v.ThinkingTokens, 0)
}
