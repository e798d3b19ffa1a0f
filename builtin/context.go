package builtin

import "github.com/awaken-go/awaken/state"

// Compactions is how the summarising of a thread's conversation stands. Only the runtime
// writes it.
var Compactions = state.NewValue[CompactionState]("__context_compaction", state.Options{Scope: state.Thread})

// CompactionState is how the summarising of a conversation stands.
type CompactionState struct {
	Total      int                  `json:"total_compactions"`
	Boundaries []CompactionBoundary `json:"boundaries,omitempty"` // the latest, at most 8
	// InFlight is the one attempt that is under way, in this process or another. Nobody
	// begins a second; its time is limited, so that a crash loses no more than it.
	InFlight *CompactionTask `json:"in_flight,omitempty"`

	Failures  int    `json:"failures,omitempty"` // in a row
	LastError string `json:"last_error,omitempty"`
	NotBefore int64  `json:"not_before_ms,omitempty"` // unix ms of the next attempt after a failure
	// Skipped counts summaries that saved too little. The next attempt waits until there is
	// half as much again to summarise.
	Skipped       int `json:"skipped,omitempty"`
	SkippedTokens int `json:"skipped_tokens,omitempty"`
}

// CompactionTask is an attempt to summarise.
type CompactionTask struct {
	TaskID            string `json:"task_id"`
	BoundaryMessageID string `json:"boundary_message_id"` // the last that is summarised
	StartedAt         int64  `json:"started_at_ms"`
}

// CompactionBoundary is a summary that was taken into the conversation.
type CompactionBoundary struct {
	MessageID         string `json:"message_id"` // of the summary
	BoundaryMessageID string `json:"boundary_message_id"`
	PreTokens         int    `json:"pre_tokens"`
	PostTokens        int    `json:"post_tokens"`
	At                int64  `json:"timestamp_ms"`
}

// ContextWindow is how much of its model's context window a thread's conversation takes.
// Agents that have a context policy keep it. Only the runtime writes it.
var ContextWindow = state.NewValue[WindowState]("__runtime.context_window", state.Options{Scope: state.Thread})

// WindowState says how large a conversation is, and what was learned about how its model
// counts. Tokens are estimates of [llm.Message.Tokens].
type WindowState struct {
	Messages      int    `json:"messages"`                  // of the conversation that are counted
	LastMessageID string `json:"last_message_id,omitempty"` // of them
	Tokens        int    `json:"tokens"`                    // of them, as the model is shown them
	Previews      int    `json:"previews,omitempty"`        // tool results that are shown in part
	LeftOut       int    `json:"left_out,omitempty"`        // messages that the last request did not have

	Model string `json:"model,omitempty"` // that was asked last
	// Ratio is how many tokens the model counts for one that is estimated.
	Ratio float64 `json:"ratio,omitempty"`
	// Limit is the estimate that no request may exceed, learned from one that was refused
	// as too large. 0 means that none was.
	Limit int `json:"limit,omitempty"`
}
