package timeline

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Page is a part of a run's timeline: some of its commits, and what happened in them. Times are Unix ms, 0 if unknown; seq is the sequence
// number of an event.
//
// A page repeats the last step of the previous page, because more may have happened to it. Rows with the same seq, step or call replace the
// rows of the previous page.
type Page struct {
	Commits     []CommitRow  `json:"commits"`
	Activations []Activation `json:"activations"`
	Takeovers   []Takeover   `json:"takeovers"`
	Steps       []StepRow    `json:"steps"`
	Calls       []CallRow    `json:"calls"`
	Waits       []WaitRow    `json:"waits"`
	Resets      []Reset      `json:"resets"`
}

// CommitRow is a [Commit].
type CommitRow struct {
	Fence    uint64   `json:"fence"`  // of the owner that made it
	Number   uint64   `json:"number"` // among the owner's commits for the run, from 1
	At       int64    `json:"at"`
	FirstSeq uint64   `json:"first_seq,omitempty"` // of its events; 0 if it has none
	LastSeq  uint64   `json:"last_seq"`            // the end of the log after it
	Kinds    []string `json:"kinds"`               // start, intent, result, question, step, wait, end
}

// Activation is a period during which one owner executed the run.
type Activation struct {
	Number    int    `json:"number"` // from 1
	Seq       uint64 `json:"seq"`
	Fence     uint64 `json:"fence"` // of the owner
	StartedAt int64  `json:"started_at"`
	EndedAt   int64  `json:"ended_at,omitempty"`
	// Outcome is the type of the termination, or suspended if the run waits. It is empty while the activation lasts, and if its owner died.
	Outcome awaken.TerminationType `json:"outcome,omitempty"`
}

// Takeover is a change of owner in the middle of an activation: the previous owner had died, or had given up the thread because its process
// stopped. Uncommitted work of that owner is not in any log.
type Takeover struct {
	Seq       uint64 `json:"seq"`
	At        int64  `json:"at"`
	FromFence uint64 `json:"from_fence"`
	ToFence   uint64 `json:"to_fence"`
	// Step is the step that was open, or nil. The new owner restarted the step if TakenBack is set, and otherwise continued it from the
	// ledger.
	Step *int `json:"step,omitempty"`
	// TakenBack is the range of committed events that the takeover invalidated.
	TakenBack *Range `json:"taken_back,omitempty"`
}

// Range is a range of events by sequence number.
type Range struct {
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
}

// StepRow is a step of the run.
type StepRow struct {
	Step         int              `json:"step"` // from 0, as in the ledger
	Seq          uint64           `json:"seq"`
	MessageID    string           `json:"message_id"`
	Fence        uint64           `json:"fence"` // of the owner that began it last
	StartedAt    int64            `json:"started_at"`
	FirstTokenAt int64            `json:"first_token_at,omitempty"` // of the answer
	AnsweredAt   int64            `json:"answered_at,omitempty"`
	EndedAt      int64            `json:"ended_at,omitempty"`
	Begun        int              `json:"begun"`            // how often the model was asked, or would be
	Model        string           `json:"model,omitempty"`  // that answered, in the provider's words
	Member       string           `json:"member,omitempty"` // of a pool, that answered
	Usage        *llm.Usage       `json:"usage,omitempty"`
	CostUSD      float64          `json:"cost_usd,omitempty"`
	DurationMS   int64            `json:"duration_ms,omitempty"` // of the model's answer
	FinishReason llm.FinishReason `json:"finish_reason,omitempty"`
}

// CallRow is a call of a tool. Its arguments and its result are in the log.
type CallRow struct {
	CallID    string             `json:"call_id"`
	ToolName  string             `json:"tool_name"`
	Step      int                `json:"step"`
	Index     int                `json:"index"` // in the step; negative for a message that a guard holds
	Status    awaken.CallStatus  `json:"status"`
	Effect    awaken.EffectClass `json:"effect,omitempty"`
	Key       string             `json:"key,omitempty"`        // for idempotency
	QueuedAt  int64              `json:"queued_at,omitempty"`  // when the model had asked for it
	StartedAt int64              `json:"started_at,omitempty"` // of its last attempt
	EndedAt   int64              `json:"ended_at,omitempty"`
	Attempts  int                `json:"attempts,omitempty"` // how often it has begun, as far as that was committed
	InDoubt   bool               `json:"in_doubt,omitempty"` // its owner was lost while it ran, and its outcome was not known
	// Doubt says since when and why the outcome is unknown, or how the doubt was settled.
	Doubt   *awaken.Doubt  `json:"doubt,omitempty"`
	Outcome awaken.Outcome `json:"outcome,omitempty"` // whether it took effect, as far as that is known
	// Probe is the tool's answer about the call in doubt: done or not_done.
	Probe     string             `json:"probe,omitempty"`
	Child     string             `json:"child_run_id,omitempty"`
	Question  *Asked             `json:"question,omitempty"` // the last one
	Decisions []awaken.Decision  `json:"decisions,omitempty"`
	Steps     []*awaken.CallStep `json:"steps,omitempty"` // recorded by the tool, without their results
}

// Asked is a call's request for a decision.
type Asked struct {
	TicketID  string              `json:"ticket_id"`
	Action    string              `json:"action"`
	Message   string              `json:"message"`
	AskedAt   int64               `json:"asked_at,omitempty"`
	ExpiresAt int64               `json:"expires_at,omitempty"`
	OnExpiry  awaken.ExpiryPolicy `json:"on_expiry,omitempty"`
	Escalated bool                `json:"escalated,omitempty"`
}

// WaitRow is a period during which the run waited and had no owner.
type WaitRow struct {
	Seq       uint64               `json:"seq"`
	Since     int64                `json:"since"`
	Until     int64                `json:"until,omitempty"` // 0 if it still waits
	Reason    awaken.WaitingReason `json:"reason,omitempty"`
	Message   string               `json:"message,omitempty"`
	TicketIDs []string             `json:"ticket_ids"`
}

// Reset is a withdrawal of the model's output in a step.
type Reset struct {
	Seq    uint64 `json:"seq"`
	At     int64  `json:"at"`
	Step   int    `json:"step"`
	Reason string `json:"reason"`
}
