package awaken

import "encoding/json"

// PlannedCall makes a run consist of one tool call, without a model. The call passes the same
// checks as a model's call (schema, gates, ledger, approval), and its result is the response
// of the run. If the call fails, the run fails.
type PlannedCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}
