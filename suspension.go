package awaken

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/limit/money"
)

// ResumeMode says how a decision resumes a suspended call.
type ResumeMode string

const (
	// ReplayToolCall runs the call with its own arguments, or with the decision's.
	// It is the default.
	ReplayToolCall ResumeMode = "replay_tool_call"
	// UseDecisionAsToolResult uses the decision's result as the call's result, without
	// running the tool.
	UseDecisionAsToolResult ResumeMode = "use_decision_as_tool_result"
	// PassDecisionToTool runs the call with the decision's result as arguments. If both are
	// objects, the fields of the result replace those of the arguments.
	PassDecisionToTool ResumeMode = "pass_decision_to_tool"
)

// Ticket suspends a call until a person decides, or a child run ends. The gate or the tool
// that creates it sets what it knows; the runtime sets the rest.
type Ticket struct {
	Suspension Suspension  `json:"suspension"`
	Pending    PendingCall `json:"pending"`     // set by the runtime
	ResumeMode ResumeMode  `json:"resume_mode"` // "" means ReplayToolCall
	// ExpiresIn limits the wait; OnExpiry says what happens then. 0 waits forever.
	ExpiresIn time.Duration `json:"-"`
	ExpiresAt int64         `json:"expires_at,omitempty" time:"ms"` // Unix ms; set by the runtime
	OnExpiry  ExpiryPolicy  `json:"on_expiry,omitempty"`
	// Child is the id of a run that the call waits for, instead of a person; see
	// [Delegator]. Tickets are the tickets that the child waits for ([Run.ChildTickets]).
	Child   string           `json:"child_run_id,omitempty"`
	Tickets []WaitingTicket  `json:"tickets,omitempty"`
	Budget  *money.Exhausted `json:"budget,omitempty"` // the limit that the child has reached, if it waits for budget
	// InDoubt says that the tool does not know whether the call has taken effect.
	InDoubt bool `json:"in_doubt,omitempty"`
}

// SuspensionID returns the id of the suspension of the call callID. Decisions refer to it.
func (t *Ticket) SuspensionID(callID string) string {
	if t.Suspension.ID != "" {
		return t.Suspension.ID
	}
	return "suspend_" + callID
}

// Suspension is the question to a person.
type Suspension struct {
	ID             string          `json:"id"`                        // "" means suspend_<call id>
	Action         string          `json:"action"`                    // kind of question, such as tool:delete, from which a client chooses how to ask
	Message        string          `json:"message"`                   // the question, for people; "" gets a general one
	Parameters     json.RawMessage `json:"parameters,omitempty"`      // what a client needs to ask, by Action
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"` // JSON Schema of the decision's result
}

// ActionInDoubt is the action of a question about a call in doubt, and ActionStepInDoubt the action of one
// about a step in doubt. An answer with a result is the result, and an approval without one makes the
// call, or the step, again.
const (
	ActionInDoubt     = "tool:in_doubt"
	ActionStepInDoubt = "tool:step_in_doubt"
)

// PendingCall identifies the suspended call.
type PendingCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ExpiryPolicy says what happens if no decision arrives in time.
type ExpiryPolicy string

const (
	ExpireReject   ExpiryPolicy = ""         // as if the call were rejected
	ExpireApprove  ExpiryPolicy = "approve"  // as if the call were approved, without a result
	ExpireEscalate ExpiryPolicy = "escalate" // keeps waiting, marked as escalated, without a further expiry
)

// DecisionAction is the outcome of a decision.
type DecisionAction string

const (
	ActionResume DecisionAction = "resume" // approve: the call continues
	ActionCancel DecisionAction = "cancel" // reject: the call does not run, or not again
)

// Decision is a person's answer to a suspension.
type Decision struct {
	// Target is the id of the tool call or of the suspension.
	Target string `json:"target"`
	// ID makes the decision idempotent: repeating it with the same id and target has no
	// effect.
	ID     string          `json:"decision_id,omitempty"`
	Action DecisionAction  `json:"action"`
	Result json.RawMessage `json:"result,omitempty"` // the person's answer; the ticket's resume mode says how it is used
	Reason string          `json:"reason,omitempty"` // of a rejection; the model sees it
	// Outcome settles the doubt of a call in doubt. OutcomeMade makes Result the call's result, and
	// its action is ActionResume. OutcomeNotMade with ActionResume makes the call again, and with
	// ActionCancel ends it as not made. "" says nothing about a doubt.
	Outcome Outcome `json:"outcome,omitempty"`
	// Arguments replace the call's arguments, if the person edited them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	UpdatedAt int64           `json:"updated_at,omitempty" time:"ms"` // when it was accepted, Unix ms; set by the runtime
	Actor     *Actor          `json:"actor,omitempty"`                // its author; nil if unknown
	// Remembered is the scope in which the permission plugin remembers an approval, if it does.
	Remembered string `json:"remembered,omitempty"`
	RequestID  string `json:"request_id,omitempty"` // the request that made it, as the audit log names it
	// Trace is the position of that request in a trace that is recorded, as [RunRequest.Trace] has it; set by the runtime.
	Trace string `json:"trace,omitempty"`
	// Unapplied is the reason why the run could not act on the decision, although it was accepted;
	// set by the runtime.
	Unapplied string `json:"unapplied,omitempty"`
}

// UnmarshalJSON rejects unknown fields.
func (d *Decision) UnmarshalJSON(data []byte) error {
	type plain Decision
	if err := strict.Into((*plain)(d), "decision", data); err != nil {
		return err
	}
	d.Complete()
	return nil
}

// Complete sets the action that follows from the outcome, if the decision has none: resume if the
// call was made, and cancel if it was not.
func (d *Decision) Complete() {
	switch {
	case d.Action != "":
	case d.Outcome == OutcomeMade:
		d.Action = ActionResume
	case d.Outcome == OutcomeNotMade:
		d.Action = ActionCancel
	}
}

// Validate checks the decision by itself. Its errors are ErrInvalid.
func (d *Decision) Validate() error {
	switch {
	case strings.TrimSpace(d.Target) == "":
		return fmt.Errorf("%w: decision has no target, want a tool call id or a suspension id", ErrInvalid)
	case d.Outcome != "" && d.Outcome != OutcomeMade && d.Outcome != OutcomeNotMade:
		return fmt.Errorf("%w: decision on %q: outcome is %q, want made, not_made or none", ErrInvalid, d.Target, d.Outcome)
	case d.Outcome == OutcomeMade && d.Action == ActionCancel:
		return fmt.Errorf("%w: decision on %q: action is cancel, want resume or none with outcome made", ErrInvalid, d.Target)
	case d.Outcome != "" && len(d.Arguments) > 0:
		return fmt.Errorf("%w: decision on %q: arguments are set, want none with outcome %s", ErrInvalid, d.Target, d.Outcome)
	case d.Outcome == OutcomeNotMade && len(d.Result) > 0:
		return fmt.Errorf("%w: decision on %q: result is set, want none with outcome not_made", ErrInvalid, d.Target)
	case d.Action != ActionResume && d.Action != ActionCancel && (d.Action != "" || d.Outcome == ""):
		return fmt.Errorf("%w: decision on %q: action is %q, want resume or cancel", ErrInvalid, d.Target, d.Action)
	case len(d.Result) > 0 && !json.Valid(d.Result):
		return fmt.Errorf("%w: decision on %q: result is not JSON", ErrInvalid, d.Target)
	case len(d.Arguments) > 0 && !json.Valid(d.Arguments):
		return fmt.Errorf("%w: decision on %q: arguments are not JSON", ErrInvalid, d.Target)
	}
	return nil
}

// CallStatus is the state of a tool call in its life cycle.
type CallStatus string

const (
	CallNew       CallStatus = "new"       // requested, not begun
	CallRunning   CallStatus = "running"   // begun
	CallSuspended CallStatus = "suspended" // waits for a decision
	CallResuming  CallStatus = "resuming"  // decided, not made again yet
	CallSucceeded CallStatus = "succeeded" // has a result
	CallFailed    CallStatus = "failed"    // has an error as its result
	CallCancelled CallStatus = "cancelled" // rejected, withdrawn or ended with the run
)

// Terminal reports whether the call has its final result.
func (s CallStatus) Terminal() bool {
	return s == CallSucceeded || s == CallFailed || s == CallCancelled
}

// CallState is the ledger's record of one tool call. It is immutable; every change creates a
// new one.
type CallState struct {
	CallID    string          `json:"call_id"`
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	Status    CallStatus      `json:"status"`
	UpdatedAt int64           `json:"updated_at" time:"ms"` // Unix ms

	// Set while and after the call is suspended.
	ResumeMode ResumeMode `json:"resume_mode,omitempty"`
	Ticket     *Ticket    `json:"ticket,omitempty"`
	Escalated  bool       `json:"escalated,omitempty"`
	// Probed is the result of the tool's probe when the call's outcome was in doubt.
	Probed ProbeOutcome `json:"probe,omitempty"`
	// AskInDoubt says that a person decides if the outcome of the call is in doubt, as ToolSpec.InDoubt said when the
	// model made the call: the tool may be gone when that is found out.
	AskInDoubt bool `json:"ask_in_doubt,omitempty"`
	// Attempts is how often the call has begun, if that is more than once. Calls that only read begin
	// without a commit, so it may be more.
	Attempts uint32 `json:"attempts,omitempty"`
	// Doubt says that it is not known whether the call took effect, or how that was settled.
	Doubt    *Doubt    `json:"in_doubt,omitempty"`
	Decision *Decision `json:"resume_input,omitempty"`
	// Earlier holds the decisions on the call's earlier suspensions, oldest first.
	Earlier  []Decision `json:"earlier_decisions,omitempty"`
	Approved []string   `json:"approved,omitempty"` // ids of the suspensions that were approved

	// HeldResult is the result that a guard withholds until a person decides.
	HeldResult *ToolResult `json:"held,omitempty"`
	// Message is set if the record is not a call but a message that a guard holds; see
	// [CallState.IsHeld].
	Message *HeldMessage `json:"held_message,omitempty"`

	// What recovery needs after a crash.
	RunID     string      `json:"run_id,omitempty"`
	Step      int         `json:"step"`                           // 0-based
	Index     int         `json:"index"`                          // position in the step; negative for held messages
	Key       string      `json:"key,omitempty"`                  // idempotency key
	Effect    EffectClass `json:"effect,omitempty"`               // of the tool
	StartedAt int64       `json:"started_at,omitempty" time:"ms"` // Unix ms of the commit before the call
	Child     string      `json:"child_run_id,omitempty"`         // the child run of the call; see Delegator
	Result    *ToolResult `json:"result,omitempty"`               // set when the call is over
	// Steps are the recorded steps of the call, in the order in which they were recorded first. A
	// record that is committed has only those that are new or have changed; see [CallState.Follow].
	Steps []*CallStep `json:"steps,omitempty"`
}

// Follow returns the record of a call after the commit of s, if before was its record until then: s,
// with the steps of both.
func (s *CallState) Follow(before *CallState) *CallState {
	if len(before.Steps) == 0 {
		return s
	}
	out := *s
	out.Steps = slices.Clone(before.Steps)
	for _, step := range s.Steps {
		out.SetStep(step)
	}
	return &out
}

// SetStep adds a step to the record, or replaces the one of that name. The record must not be in use
// yet.
func (s *CallState) SetStep(step *CallStep) {
	for i := len(s.Steps) - 1; i >= 0; i-- {
		if s.Steps[i].Name == step.Name {
			s.Steps[i] = step
			return
		}
	}
	s.Steps = append(s.Steps, step)
}

// AwaitsChild reports whether the call waits for its child run, not for a person.
func (s *CallState) AwaitsChild() bool {
	return s.Status == CallSuspended && s.Ticket != nil && s.Ticket.Child != ""
}

// SuspensionID returns the id of the call's suspension, or "" if it was never suspended.
func (s *CallState) SuspensionID() string {
	if s.Ticket == nil {
		return ""
	}
	return s.Ticket.Suspension.ID
}

// Expired reports whether the call is suspended and its time to decide is over.
func (s *CallState) Expired(now time.Time) bool {
	return s.Status == CallSuspended && s.Ticket != nil && s.Ticket.ExpiresAt > 0 && now.UnixMilli() >= s.Ticket.ExpiresAt
}

// WaitingReason is the reason for which a run waits.
type WaitingReason string

const (
	WaitToolPermission  WaitingReason = "tool_permission"  // approval of a call
	WaitUserInput       WaitingReason = "user_input"       // an answer from the user or the client
	WaitBackgroundTasks WaitingReason = "background_tasks" // child runs
	WaitBudget          WaitingReason = "budget_exhausted" // a higher budget limit
	// WaitPin means that the registry version of the run could not be loaded; see
	// registry.Versions. Continuing the run tries again.
	WaitPin WaitingReason = "pin_unavailable"
	// WaitRestored means that the run comes from a restored database and may have continued
	// elsewhere since; see [Restoration]. An operator releases or cancels it.
	WaitRestored WaitingReason = "restored"
)

// Waiting describes what a run waits for.
type Waiting struct {
	Reason    WaitingReason    `json:"reason"`
	TicketIDs []string         `json:"ticket_ids"`        // of Tickets, in the same order
	Tickets   []WaitingTicket  `json:"tickets"`           // what needs a decision; may be empty
	Message   string           `json:"message,omitempty"` // the reason, for people
	Budget    *money.Exhausted `json:"budget,omitempty"`  // the limit to raise before the run is continued
	// Missing says that the version of the run does not exist, and Problems what makes it impossible to use, if the run waits for that.
	Missing  bool         `json:"missing,omitempty"`
	Problems []Diagnostic `json:"problems,omitempty"`
}

// WaitingTicket is one suspended call of a waiting run.
type WaitingTicket struct {
	TicketID   string          `json:"ticket_id"` // the target of a decision
	ToolCallID string          `json:"tool_call_id"`
	ToolName   string          `json:"tool_name"`
	Arguments  json.RawMessage `json:"arguments"` // of the call
	ResumeMode ResumeMode      `json:"resume_mode"`
	Reason     string          `json:"reason,omitempty"` // the question, Suspension.Message
	Suspension *Suspension     `json:"suspension,omitempty"`
	ExpiresAt  int64           `json:"expires_at,omitempty" time:"ms"` // Unix ms; 0 means never
	Escalated  bool            `json:"escalated,omitempty"`            // it has expired; see ExpireEscalate
	UpdatedAt  int64           `json:"updated_at" time:"ms"`           // Unix ms
	InDoubt    *Doubt          `json:"in_doubt,omitempty"`             // of the call, if it is in doubt

	// Owner of the ticket, if it belongs to a descendant of the run.
	RunID    string `json:"run_id,omitempty"`
	ThreadID string `json:"thread_id,omitempty"`
	AgentID  string `json:"agent_id,omitempty"`
}

// Approve returns the decision to run the call.
func (t *WaitingTicket) Approve() Decision {
	return Decision{Target: t.TicketID, Action: ActionResume}
}

// Edit returns the decision to run the call with other arguments.
func (t *WaitingTicket) Edit(args json.RawMessage) Decision {
	return Decision{Target: t.TicketID, Action: ActionResume, Arguments: args}
}

// Answer returns the decision to continue with a result. Depending on the resume mode, it is
// the call's result or its new arguments.
func (t *WaitingTicket) Answer(result json.RawMessage) Decision {
	return Decision{Target: t.TicketID, Action: ActionResume, Result: result}
}

// Reject returns the decision not to run the call. The model sees the reason.
func (t *WaitingTicket) Reject(reason string) Decision {
	return Decision{Target: t.TicketID, Action: ActionCancel, Reason: reason}
}
