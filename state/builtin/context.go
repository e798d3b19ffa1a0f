package builtin

import (
	"strings"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Compactions is the state of summarising a thread's conversation. Only the runtime writes it.
var Compactions = state.NewValue[CompactionState]("__context_compaction", state.Options{Scope: state.Thread})

// CompactionState is the state of summarising a conversation.
type CompactionState struct {
	Total      int                  `json:"total_compactions"`
	Boundaries []CompactionBoundary `json:"boundaries,omitempty"` // the latest, at most 8
	// InFlight is the current attempt, in this process or another. There is at most one.
	// It times out, so that an attempt lost in a crash does not block later ones.
	InFlight *CompactionTask `json:"in_flight,omitempty"`

	Failures  int    `json:"failures,omitempty"` // in a row
	LastError string `json:"last_error,omitempty"`
	NotBefore int64  `json:"not_before_ms,omitempty"` // Unix ms; no attempt before that, after a failure
	// Skipped counts summaries that would have saved too little. The next attempt waits
	// until the part to summarise has grown to 1.5 times SkippedTokens.
	Skipped       int `json:"skipped,omitempty"`
	SkippedTokens int `json:"skipped_tokens,omitempty"`
}

// CompactionTask is an attempt to summarise.
type CompactionTask struct {
	TaskID            string `json:"task_id"`
	BoundaryMessageID string `json:"boundary_message_id"` // the last summarised message
	StartedAt         int64  `json:"started_at_ms"`
}

// CompactionLease is the time after which an attempt without a result counts as lost.
const CompactionLease = 5*time.Minute + 30*time.Second

// Lost reports whether the attempt counts as lost at a time, in Unix ms.
func (t *CompactionTask) Lost(now int64) bool {
	return now >= t.StartedAt+CompactionLease.Milliseconds()
}

// CompactionBoundary is a summary that became part of the conversation.
type CompactionBoundary struct {
	MessageID         string `json:"message_id"` // of the summary
	BoundaryMessageID string `json:"boundary_message_id"`
	PreTokens         int    `json:"pre_tokens"`
	PostTokens        int    `json:"post_tokens"`
	At                int64  `json:"timestamp_ms"`
}

// ContextWindow is the size of a thread's conversation in its model's context window. Agents
// with a context policy have this key. Only the runtime writes it.
var ContextWindow = state.NewValue[WindowState]("__runtime.context_window", state.Options{Scope: state.Thread})

// WindowState holds the size of a conversation, and how the model's token counts differ from
// estimates. Tokens are estimates by llm.Message.Tokens.
type WindowState struct {
	Messages      int    `json:"messages"`                  // number of messages counted so far
	LastMessageID string `json:"last_message_id,omitempty"` // the last of them
	Tokens        int    `json:"tokens"`                    // of them, as shown to the model
	Previews      int    `json:"previews,omitempty"`        // number of tool results that are shortened
	LeftOut       int    `json:"left_out,omitempty"`        // number of messages that the last request left out

	Model string `json:"model,omitempty"` // model of the last request
	// Ratio is the number of tokens that the model counts per estimated token.
	Ratio float64 `json:"ratio,omitempty"`
	// Limit is the largest estimate that a request may have, learned from a request that
	// the provider rejected as too large. 0 means that none was.
	Limit int `json:"limit,omitempty"`
}

const summaryOpen, summaryClose = "<conversation-summary>\n", "\n</conversation-summary>"

// NewSummary makes the message that replaces the messages that text summarises.
func NewSummary(text string) *llm.Message {
	return &llm.Message{Role: llm.System, Visibility: llm.Internal, Content: []llm.Block{llm.Text(summaryOpen + text + summaryClose)}}
}

// SummaryText returns the text of a message that NewSummary made.
func SummaryText(m *llm.Message) string {
	return strings.TrimSuffix(strings.TrimPrefix(m.Text(), summaryOpen), summaryClose)
}
