package llm

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/internal/appendjson"
)

// DeltaKind is the kind of a [Delta]. The comments name the fields that each kind sets.
type DeltaKind uint8

// The kinds of deltas.
const (
	TextDelta      DeltaKind = iota + 1 // Text
	ReasoningDelta                      // Text
	OpaqueDelta                         // Opaque, of the current block
	ToolCallStart                       // ID, Name, Opaque
	ToolCallDelta                       // ID, Text: the next piece of the arguments' JSON
	UsageDelta                          // Usage: replaces earlier reports
	FinishDelta                         // Finish; the last delta of a stream
	ResponseDelta                       // ID: the provider's id of this response; Opaque
	MemberDelta                         // ID: the pool member that replies; its first delta
	OmittedDelta                        // Name: a parameter that was not sent as the request has it; Text: see [Omission]
)

// Delta is one piece of a streamed reply. Its [DeltaKind] says which fields are set.
type Delta struct {
	Kind   DeltaKind
	ID     string
	Name   string
	Text   string
	Finish FinishReason
	Usage  *Usage
	Opaque *Opaque
}

// FinishReason says why a model stopped. A content filter is not a finish reason but
// an error, so that no caller mistakes it for a complete reply.
type FinishReason string

// The finish reasons.
const (
	EndTurn      FinishReason = "EndTurn"      // the reply is complete
	MaxTokens    FinishReason = "MaxTokens"    // the reply was cut at a token limit
	ToolUse      FinishReason = "ToolUse"      // the model waits for the results of its calls
	StopSequence FinishReason = "StopSequence" // the model produced one of Params.StopSequences
)

// UnmarshalJSON rejects unknown reasons.
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

// Usage counts tokens as the provider reported them. A zero field was not reported.
type Usage struct {
	PromptTokens        int64 `json:"prompt_tokens,omitempty"`         // of the request, including cache reads and writes
	CompletionTokens    int64 `json:"completion_tokens,omitempty"`     // of the reply, including thinking
	TotalTokens         int64 `json:"total_tokens,omitempty"`          // of both
	CacheReadTokens     int64 `json:"cache_read_tokens,omitempty"`     // prompt tokens read from the provider's cache
	CacheCreationTokens int64 `json:"cache_creation_tokens,omitempty"` // prompt tokens written to the provider's cache
	ThinkingTokens      int64 `json:"thinking_tokens,omitempty"`       // completion tokens spent on thinking
}

// AppendJSON appends the usage's JSON to buf.
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

// Add adds v to u. Negative counts count as 0.
func (u *Usage) Add(v Usage) {
	u.PromptTokens += max(v.PromptTokens, 0)
	u.CompletionTokens += max(v.CompletionTokens, 0)
	u.TotalTokens += max(v.TotalTokens, 0)
	u.CacheReadTokens += max(v.CacheReadTokens, 0)
	u.CacheCreationTokens += max(v.CacheCreationTokens, 0)
	u.ThinkingTokens += max(v.ThinkingTokens, 0)
}
