package awaken

import "encoding/json"

// PlannedCall is a tool call that a run consists of: no model is asked. The call passes
// everything that a model's call passes (schema, gates, ledger, people), and its result is
// the run's response. If it fails, so does the run.
type PlannedCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}
