package awaken

import "github.com/awaken-go/awaken/llm"

// CompactionResult is the result of summarising part of a conversation. If the run has ended
// by then, the result goes to the inbox of the thread, where the next run reads it.
type CompactionResult struct {
	TaskID            string       `json:"task_id"`             // of the attempt
	FirstMessageID    string       `json:"first_message_id"`    // first message that the summary replaces
	BoundaryMessageID string       `json:"boundary_message_id"` // last message that the summary replaces
	Interval          llm.Interval `json:"interval"`            // records of the log that the summary replaces
	Summary           string       `json:"summary,omitempty"`
	PreTokens         int          `json:"pre_tokens"`            // estimated size of what the summary replaces
	PostTokens        int          `json:"post_tokens,omitempty"` // estimated size of the summary
	Skipped           bool         `json:"skipped,omitempty"`     // the summary would have saved too little
	Error             string       `json:"error,omitempty"`       // why there is no summary
	Usage             llm.Usage    `json:"usage,omitzero"`
	CostUSD           float64      `json:"cost_usd,omitempty"`
}
