package awaken

import "github.com/awaken-go/awaken/llm"

// CompactionResult is what an attempt came to. A run that is over when it comes finds it
// in the inbox of its thread, or the next run does.
type CompactionResult struct {
	TaskID            string       `json:"task_id"`
	FirstMessageID    string       `json:"first_message_id"`
	BoundaryMessageID string       `json:"boundary_message_id"`
	Interval          llm.Interval `json:"interval"` // of the log, that the summary stands for
	Summary           string       `json:"summary,omitempty"`
	PreTokens         int          `json:"pre_tokens"`
	PostTokens        int          `json:"post_tokens,omitempty"`
	Skipped           bool         `json:"skipped,omitempty"` // it would save too little
	Error             string       `json:"error,omitempty"`
	Usage             llm.Usage    `json:"usage,omitzero"`
	CostUSD           float64      `json:"cost_usd,omitempty"`
}
