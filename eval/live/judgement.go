package live

import "time"

// Judgement is the evaluation of an ended run. A run has at most one.
type Judgement struct {
	Tenant   string `json:"-"`
	RunID    string `json:"run_id"`
	Revision int64  `json:"-"` // increases with every change, from 1; 0 if the judgement is not stored
	// Wait is how long after the judgement is stored a process may take it. Negative means never.
	Wait time.Duration `json:"-"`

	CreatedAt int64    `json:"created_at"` // of the run, Unix ms
	AgentID   string   `json:"agent_id"`   // that the run was started with
	Version   string   `json:"version,omitempty"`
	Status    Status   `json:"status"`
	Score     *float64 `json:"score,omitempty"` // the lowest of all scores, 0 to 1
	State
}

// Status is the status of a judgement.
type Status string

// The statuses.
const (
	Pending Status = "pending" // no process has it
	Judging Status = "judging" // a process has it
	Done    Status = "done"    // it has scores
	Failed  Status = "failed"  // the judge failed several times
	// InDoubt means that the process that asked the judge died. The judge may have been paid, so it is asked again only on a client's
	// request.
	InDoubt Status = "in_doubt"
	Skipped Status = "skipped" // the budget of the day was used up, or there is nothing to judge any more
)

// Statuses lists every status.
var Statuses = []Status{Pending, Judging, Done, Failed, InDoubt, Skipped}

// State is the part of a judgement that stores keep as JSON.
type State struct {
	ThreadID string `json:"thread_id"`
	Outcome  string `json:"outcome"` // how the run ended
	// Passed reports whether the run passed all scorers. It is nil unless the judgement is done.
	Passed *bool    `json:"passed,omitempty"`
	Scores []Score  `json:"scores,omitempty"`
	Judge  *Verdict `json:"judge,omitempty"` // what the model said
	// Reason says why there is no score.
	Reason   string  `json:"reason,omitempty"`
	Attempts int     `json:"attempts,omitempty"`
	Asked    bool    `json:"asked,omitempty"`     // the process that holds the lease asks a model
	JudgedAt int64   `json:"judged_at,omitempty"` // Unix ms
	Tokens   int64   `json:"tokens,omitempty"`    // used by the judge
	CostUSD  float64 `json:"cost_usd,omitempty"`  // of the judge
}

// Score is the score of a run by one scorer.
type Score struct {
	Scorer string  `json:"scorer"`
	Score  float64 `json:"score"` // 0 to 1
	Passed bool    `json:"passed"`
	Reason string  `json:"reason,omitempty"` // why it did not pass
}

// Verdict is the score of a run by a model.
type Verdict struct {
	ModelID   string  `json:"model_id"`
	Score     float64 `json:"score"` // 0 to 1
	Reasoning string  `json:"reasoning,omitempty"`
	// Revision identifies the model, the instructions and the rubric. Scores of different revisions should not be compared.
	Revision string `json:"revision"`
}
