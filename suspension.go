package awaken

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/money"
)

// ResumeMode is what a decision does to a suspended call.
type ResumeMode string

const (
	// ReplayToolCall runs the call, with its own or the decision's edited
	// arguments. It is the default.
	ReplayToolCall ResumeMode = "replay_tool_call"
	// UseDecisionAsToolResult makes the decision's result the call's result; the
	// tool does not run.
	UseDecisionAsToolResult ResumeMode = "use_decision_as_tool_result"
	// PassDecisionToTool runs the call with the decision's result as arguments; an
	// object is laid over the arguments field by field.
	PassDecisionToTool ResumeMode = "pass_decision_to_tool"
)

// Ticket suspends a call. A gate or a tool fills in what it knows; the runtime
// completes the rest.
type Ticket struct {
	Suspension Suspension  `json:"suspension"`
	Pending    PendingCall `json:"pending"` // filled in
	ResumeMode ResumeMode  `json:"resume_mode"`
	// ExpiresIn ends the wait after a while; OnExpiry says how. 0 waits for ever.
	ExpiresIn time.Duration `json:"-"`
	ExpiresAt int64         `json:"expires_at,omitempty"` // unix ms, filled in
	OnExpiry  ExpiryPolicy  `json:"on_expiry,omitempty"`
	// Child makes the call wait for a run instead of a person; see [Delegator]. Tickets
	// are what that run waits for, if it does ([Run.ChildTickets]): people decide on them.
	Child   string           `json:"child_run_id,omitempty"`
	Tickets []WaitingTicket  `json:"tickets,omitempty"`
	Budget  *money.Exhausted `json:"budget,omitempty"` // what that run waits for, if it is money
}

// SuspensionID is the id people decide on.
func (t *Ticket) SuspensionID(callID string) string {
	if t.Suspension.ID != "" {
		return t.Suspension.ID
	}
	return "suspend_" + callID
}

// Suspension is what a person is asked.
type Suspension struct {
	ID             string          `json:"id"` // "" means suspend_<call id>
	Action         string          `json:"action"`
	Message        string          `json:"message"`
	Parameters     json.RawMessage `json:"parameters,omitempty"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"` // what the decision's result must fit
}

// PendingCall shows which call waits.
type PendingCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ExpiryPolicy is what happens when nobody decides in time.
type ExpiryPolicy string

const (
	ExpireReject   ExpiryPolicy = ""         // as if cancelled
	ExpireApprove  ExpiryPolicy = "approve"  // as if resumed, with no result
	ExpireEscalate ExpiryPolicy = "escalate" // goes on waiting, marked as escalated, with no further expiry
)

// DecisionAction is what a person decided.
type DecisionAction string

const (
	ActionResume DecisionAction = "resume"
	ActionCancel DecisionAction = "cancel"
)

// Decision is a person's answer to a suspension.
type Decision struct {
	// Target is the id of the tool call or of the suspension.
	Target string `json:"target"`
	// ID makes the decision idempotent: the same id for the same target counts once.
	ID     string          `json:"decision_id,omitempty"`
	Action DecisionAction  `json:"action"`
	Result json.RawMessage `json:"result,omitempty"`
	Reason string          `json:"reason,omitempty"`
	// Arguments replaces the call's arguments, when a person edited them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	UpdatedAt int64           `json:"updated_at,omitempty"` // unix ms, filled in
}

// UnmarshalJSON rejects unknown fields.
func (d *Decision) UnmarshalJSON(data []byte) error {
	type plain Decision
	return strict.Into((*plain)(d), "decision", data)
}

func (d *Decision) Validate() error {
	switch {
	case strings.TrimSpace(d.Target) == "":
		return fmt.Errorf("%w: decision has no target, want a tool call id or a suspension id", ErrInvalid)
	case d.Action != ActionResume && d.Action != ActionCancel:
		return fmt.Errorf("%w: decision on %q: action is %q, want resume or cancel", ErrInvalid, d.Target, d.Action)
	case len(d.Result) > 0 && !json.Valid(d.Result):
		return fmt.Errorf("%w: decision on %q: result is not JSON", ErrInvalid, d.Target)
	case len(d.Arguments) > 0 && !json.Valid(d.Arguments):
		return fmt.Errorf("%w: decision on %q: arguments are not JSON", ErrInvalid, d.Target)
	}
	return nil
}

// CallStatus is where a tool call is in its life.
type CallStatus string

const (
	CallNew       CallStatus = "new"       // asked for, not begun
	CallRunning   CallStatus = "running"   // begun
	CallSuspended CallStatus = "suspended" // waits for a decision
	CallResuming  CallStatus = "resuming"  // decided, not begun again
	CallSucceeded CallStatus = "succeeded"
	CallFailed    CallStatus = "failed"
	CallCancelled CallStatus = "cancelled"
)

// Terminal reports whether the call is over.
func (s CallStatus) Terminal() bool {
	return s == CallSucceeded || s == CallFailed || s == CallCancelled
}

// CallState is the ledger's record of one tool call. It is immutable; a change
// makes a new one.
type CallState struct {
	CallID    string          `json:"call_id"`
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	Status    CallStatus      `json:"status"`
	UpdatedAt int64           `json:"updated_at"` // unix ms

	// Set while and after the call is suspended.
	ResumeMode ResumeMode `json:"resume_mode,omitempty"`
	Ticket     *Ticket    `json:"ticket,omitempty"`
	Escalated  bool       `json:"escalated,omitempty"`
	Decision   *Decision  `json:"resume_input,omitempty"`
	Approved   []string   `json:"approved,omitempty"` // ids of the suspensions that were decided in its favour

	// Held is the result of a call that was made and that a guard has put to a person.
	Held *ToolResult `json:"held,omitempty"`
	// Message is what waits, if it is not a call but a message that a guard has put to a
	// person.
	Message *HeldMessage `json:"held_message,omitempty"`

	// The ledger: what recovery needs to know.
	RunID     string      `json:"run_id,omitempty"`
	Step      int         `json:"step"`                   // 0-based
	Index     int         `json:"index"`                  // position in the step
	Key       string      `json:"key,omitempty"`          // idempotency key
	Effect    EffectClass `json:"effect,omitempty"`       // of the tool
	StartedAt int64       `json:"started_at,omitempty"`   // unix ms; the intent's commit
	Child     string      `json:"child_run_id,omitempty"` // the run that the call is; see Delegator
	Result    *ToolResult `json:"result,omitempty"`       // once the call is over
}

// AwaitsChild reports whether the call waits for its child, and not for a person.
func (s *CallState) AwaitsChild() bool {
	return s.Status == CallSuspended && s.Ticket != nil && s.Ticket.Child != ""
}

// SuspensionID is the id people decide on, or "".
func (s *CallState) SuspensionID() string {
	if s.Ticket == nil {
		return ""
	}
	return s.Ticket.Suspension.ID
}

func (s *CallState) Expired(now time.Time) bool {
	return s.Status == CallSuspended && s.Ticket != nil && s.Ticket.ExpiresAt > 0 && now.UnixMilli() >= s.Ticket.ExpiresAt
}

// WaitingReason says what a run waits for.
type WaitingReason string

const (
	WaitToolPermission  WaitingReason = "tool_permission"
	WaitUserInput       WaitingReason = "user_input"
	WaitBackgroundTasks WaitingReason = "background_tasks"
	WaitBudget          WaitingReason = "budget_exhausted"
	// WaitPin means that the version that the run is pinned to could not be had; see
	// [registry.Snapshots]. Continuing the run tries again.
	WaitPin WaitingReason = "pin_unavailable"
)

// Waiting describes why a run waits and for whom.
type Waiting struct {
	Reason    WaitingReason    `json:"reason"`
	TicketIDs []string         `json:"ticket_ids"`
	Tickets   []WaitingTicket  `json:"tickets"`
	Message   string           `json:"message,omitempty"`
	Budget    *money.Exhausted `json:"budget,omitempty"` // what is to be raised before the run is continued
}

// WaitingTicket is one suspended call of a waiting run.
type WaitingTicket struct {
	TicketID   string          `json:"ticket_id"`
	ToolCallID string          `json:"tool_call_id"`
	ToolName   string          `json:"tool_name"`
	Arguments  json.RawMessage `json:"arguments"`
	ResumeMode ResumeMode      `json:"resume_mode"`
	Reason     string          `json:"reason,omitempty"`
	Suspension *Suspension     `json:"suspension,omitempty"`
	ExpiresAt  int64           `json:"expires_at,omitempty"`
	Escalated  bool            `json:"escalated,omitempty"`
	UpdatedAt  int64           `json:"updated_at"`

	// Whose ticket it is, when it is not the run's own but that of a run below it.
	RunID    string `json:"run_id,omitempty"`
	ThreadID string `json:"thread_id,omitempty"`
	AgentID  string `json:"agent_id,omitempty"`
}

// Approve is the decision to let the call go on.
func (t *WaitingTicket) Approve() Decision {
	return Decision{Target: t.TicketID, Action: ActionResume}
}

// Edit is the decision to let the call go on with other arguments.
func (t *WaitingTicket) Edit(args json.RawMessage) Decision {
	return Decision{Target: t.TicketID, Action: ActionResume, Arguments: args}
}

// Answer is the decision to go on with a result: the call's own result, or its new
// arguments, as its resume mode says.
func (t *WaitingTicket) Answer(result json.RawMessage) Decision {
	return Decision{Target: t.TicketID, Action: ActionResume, Result: result}
}

// Reject is the decision not to make the call. The model is told the reason.
func (t *WaitingTicket) Reject(reason string) Decision {
	return Decision{Target: t.TicketID, Action: ActionCancel, Reason: reason}
}
