package awaken

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// RunStatus is where a run is in its life.
type RunStatus string

const (
	RunCreated RunStatus = "created" // accepted, not started
	RunRunning RunStatus = "running"
	RunWaiting RunStatus = "waiting" // parked until somebody decides or answers
	RunDone    RunStatus = "done"
)

// TerminationType is the kind of a run's end.
type TerminationType string

const (
	NaturalEnd        TerminationType = "natural_end"        // the model had nothing more to do
	BehaviorRequested TerminationType = "behavior_requested" // a plugin ended it
	Stopped           TerminationType = "stopped"            // a stop condition was met
	Cancelled         TerminationType = "cancelled"
	Blocked           TerminationType = "blocked" // a gate refused a call for good
	Suspended         TerminationType = "suspended"
	Failed            TerminationType = "error"
)

// Termination is why a run, or one activation of it, ended.
type Termination struct {
	Type    TerminationType
	Code    string // stopped: which condition
	Detail  string // stopped: in words
	Message string // blocked: the reason; error: what went wrong
}

type stoppedWire struct {
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}

// MarshalJSON writes {"type": …, "value": …}.
func (t Termination) MarshalJSON() ([]byte, error) {
	w := struct {
		Type  TerminationType `json:"type"`
		Value any             `json:"value,omitempty"`
	}{Type: t.Type}
	switch t.Type {
	case Stopped:
		w.Value = stoppedWire{t.Code, t.Detail}
	case Blocked, Failed:
		w.Value = t.Message
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote, and the older plugin_requested.
func (t *Termination) UnmarshalJSON(data []byte) error {
	var w struct {
		Type  TerminationType `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	if err := strict.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("termination: %w", err)
	}
	out := Termination{Type: w.Type}
	var err error
	switch w.Type {
	case NaturalEnd, BehaviorRequested, Cancelled, Suspended:
		if len(w.Value) > 0 && string(w.Value) != "null" {
			err = errors.New(`field "value" is not expected`)
		}
	case "plugin_requested":
		out.Type = BehaviorRequested
	case Stopped, Blocked, Failed:
		switch {
		case len(w.Value) == 0:
			err = errors.New(`field "value" is missing`)
		case w.Type == Stopped:
			var s stoppedWire
			err = strict.Unmarshal(w.Value, &s)
			out.Code, out.Detail = s.Code, s.Detail
		default:
			err = strict.Unmarshal(w.Value, &out.Message)
		}
	default:
		err = errors.New("unknown type")
	}
	if err != nil {
		return fmt.Errorf("termination %q: %w", w.Type, err)
	}
	*t = out
	return nil
}

// String is the termination in one line, e.g. "stopped: max_rounds".
func (t Termination) String() string {
	switch {
	case t.Code != "" && t.Detail != "":
		return fmt.Sprintf("%s: %s (%s)", t.Type, t.Code, t.Detail)
	case t.Code != "":
		return fmt.Sprintf("%s: %s", t.Type, t.Code)
	case t.Message != "":
		return fmt.Sprintf("%s: %s", t.Type, t.Message)
	}
	return string(t.Type)
}

// RunInfo says which run this is and where it came from.
type RunInfo struct {
	ThreadID           string `json:"thread_id"`
	ParentThreadID     string `json:"parent_thread_id,omitempty"`
	RunID              string `json:"run_id"`
	ParentRunID        string `json:"parent_run_id,omitempty"`
	AgentID            string `json:"agent_id"`
	ParentToolCallID   string `json:"parent_tool_call_id,omitempty"`
	DispatchID         string `json:"dispatch_id,omitempty"`
	SessionID          string `json:"session_id,omitempty"`
	UserID             string `json:"user_id,omitempty"` // whom the run is for
	TransportRequestID string `json:"transport_request_id,omitempty"`
	Origin             string `json:"origin"`             // user, mcp, subagent, internal
	Mode               string `json:"run_mode,omitempty"` // foreground (""), scheduled, resume, internal_wake
	Adapter            string `json:"adapter,omitempty"`  // internal (""), acp, ai_sdk, ag_ui, a2a, mcp
	Depth              int    `json:"depth,omitempty"`    // how many runs are above it
}

// RunRequest asks for a run. The zero request, with messages, talks to the
// thread's agent on a new thread.
type RunRequest struct {
	// AgentID names the agent. "" means the thread's active agent, or the one that
	// ran last on the thread, or "default".
	AgentID string `json:"agent_id,omitempty"`
	// ThreadID names the conversation; "" starts a new one. On a thread whose run
	// waits, a new user message goes on with that run and withdraws the calls that
	// wait; with another RunID it is an ErrConflict.
	ThreadID string         `json:"thread_id,omitempty"`
	Messages []*llm.Message `json:"messages,omitempty"`

	// RunID chooses the id of a new run; it must not exist.
	RunID string `json:"run_id,omitempty"`
	// Continue goes on with the run of that id, which waits or was cut off.
	Continue string `json:"continue,omitempty"`
	// Decisions answer suspended calls. They need no Continue: "" goes on with the
	// thread's waiting run.
	Decisions []Decision `json:"decisions,omitempty"`
	// Rewind hides the message of that id and everything after it before the new
	// messages are added. The log keeps what is hidden.
	Rewind string `json:"rewind,omitempty"`

	// ResolutionID starts a new run on the registry of that id; see [registry.Snapshots]. "" leaves
	// the choice to the runtime. What is gone on with stays on its own.
	ResolutionID string `json:"resolution_id,omitempty"`

	// Call makes the run consist of one tool call instead of what a model asks for.
	Call          *PlannedCall               `json:"call,omitempty"`
	Overrides     *InferenceOverride         `json:"overrides,omitempty"`
	FrontendTools []ToolSpec                 `json:"frontend_tools,omitempty"` // run by the client
	Seed          map[string]json.RawMessage `json:"seed,omitempty"`           // state to start with
	// OutputSchema is the JSON Schema that the final answer has to fit, in place of the
	// agent's.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Budget limits what the run and its thread may spend, beside the limits of the agent.
	// Continuing a run with a budget replaces the one it had.
	Budget *RunBudget `json:"budget,omitempty"`
	// Context is shown to the model while the run goes on, without being part of the
	// conversation.
	Context []ContextMessage `json:"context,omitempty"`

	// Where the request comes from. RunInfo explains the fields.
	ParentThreadID     string `json:"parent_thread_id,omitempty"`
	ParentRunID        string `json:"parent_run_id,omitempty"`
	ParentToolCallID   string `json:"parent_tool_call_id,omitempty"`
	DispatchID         string `json:"dispatch_id,omitempty"`
	SessionID          string `json:"session_id,omitempty"`
	UserID             string `json:"user_id,omitempty"`
	TransportRequestID string `json:"transport_request_id,omitempty"`
	Origin             string `json:"origin,omitempty"`
	Mode               string `json:"run_mode,omitempty"`
	Adapter            string `json:"adapter,omitempty"`
	Depth              int    `json:"depth,omitempty"`

	// Attended says that the run's parent is there and looks how it comes out. Otherwise
	// the parent is told, by its inbox; see [engine.Runtime.Report].
	Attended bool `json:"-"`
	// End ends a run that waits or was cut off, instead of going on with it.
	End *Termination `json:"-"`
	// Confirm is called once the thread is acquired and before anything begins. If it
	// fails, nothing is written and Run fails with its error.
	Confirm func(ctx context.Context) error `json:"-"`
}

// UnmarshalJSON rejects unknown fields.
func (r *RunRequest) UnmarshalJSON(data []byte) error {
	type plain RunRequest
	return strict.Into((*plain)(r), "run request", data)
}

func (r *RunRequest) Validate() error {
	var bad check.Problems
	for _, f := range [...]struct{ name, id string }{{"agent_id", r.AgentID}, {"thread_id", r.ThreadID}, {"run_id", r.RunID},
		{"continue", r.Continue}, {"rewind", r.Rewind}, {"resolution_id", r.ResolutionID}, {"parent_run_id", r.ParentRunID}, {"parent_thread_id", r.ParentThreadID},
		{"parent_tool_call_id", r.ParentToolCallID}, {"dispatch_id", r.DispatchID}, {"session_id", r.SessionID}, {"user_id", r.UserID},
		{"transport_request_id", r.TransportRequestID}} {
		if f.id != "" && strings.TrimSpace(f.id) == "" {
			bad.Add("%s is blank", f.name)
		}
	}
	if r.Continue != "" && r.RunID != "" {
		bad.Add("run_id %q and continue %q are both set: continuing a run keeps its id", r.RunID, r.Continue)
	}
	if r.ThreadID != "" && r.ThreadID == r.ParentThreadID {
		bad.Add("thread %q cannot be its own parent", r.ThreadID)
	}
	bad.OneOf("origin", r.Origin, "", "user", "mcp", "subagent", "internal")
	bad.OneOf("run_mode", r.Mode, "", "foreground", "scheduled", "resume", "internal_wake")
	if r.Call != nil && r.Call.Tool == "" {
		bad.Add("call.tool is empty")
	}
	if r.Call != nil && len(r.Call.Arguments) > 0 && !json.Valid(r.Call.Arguments) {
		bad.Add("call.arguments are not JSON")
	}
	bad.NotNegative("depth", r.Depth)
	checkMessages(&bad, r.Messages)
	for i := range r.Decisions {
		if err := r.Decisions[i].Validate(); err != nil {
			bad.Add("decisions[%d]: %w", i, err)
		}
	}
	bad.Include(r.Budget.Validate())
	for i, t := range r.FrontendTools {
		switch {
		case t.ID == "":
			bad.Add("frontend_tools[%d].id is empty", i)
		case slices.ContainsFunc(r.FrontendTools[:i], func(o ToolSpec) bool { return o.ID == t.ID }):
			bad.Add("frontend_tools[%d].id %q is listed twice", i, t.ID)
		}
	}
	for i, m := range r.Context {
		switch {
		case m.Key == "":
			bad.Add("context[%d].key is empty", i)
		case m.Role != llm.System && m.Role != llm.User:
			bad.Add("context[%d].role is %q, want system or user", i, m.Role)
		}
	}
	return invalid(bad.Err())
}

// invalid makes err, which may be nil, an ErrInvalid.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, err)
}

// checkMessages says what is wrong with messages that come from outside.
func checkMessages(bad *check.Problems, msgs []*llm.Message) {
	for i, m := range msgs {
		switch {
		case m == nil:
			bad.Add("messages[%d] is null", i)
		case m.Role != llm.User && m.Role != llm.System && m.Role != llm.Assistant && m.Role != llm.ToolRole:
			bad.Add("messages[%d].role is %q, want system, user, assistant or tool", i, m.Role)
		}
	}
}

// Run is the stored record of a run.
type Run struct {
	RunID              string `json:"run_id"`
	ThreadID           string `json:"thread_id"`
	AgentID            string `json:"agent_id"`
	FirstAgentID       string `json:"first_agent_id,omitempty"` // the agent it began with, if it was handed to another
	ParentRunID        string `json:"parent_run_id,omitempty"`
	ParentThreadID     string `json:"parent_thread_id,omitempty"`
	ParentToolCallID   string `json:"parent_tool_call_id,omitempty"`
	ResolutionID       string `json:"resolution_id,omitempty"` // the registry snapshot it is pinned to
	DispatchID         string `json:"dispatch_id,omitempty"`
	SessionID          string `json:"session_id,omitempty"`
	UserID             string `json:"user_id,omitempty"`
	TransportRequestID string `json:"transport_request_id,omitempty"`
	Origin             string `json:"origin,omitempty"`
	Mode               string `json:"run_mode,omitempty"`
	Adapter            string `json:"adapter,omitempty"`
	Depth              int    `json:"depth,omitempty"`

	// What the request asked for beyond messages, kept for resumes.
	Call          *PlannedCall       `json:"call,omitempty"`
	Overrides     *InferenceOverride `json:"overrides,omitempty"`
	FrontendTools []ToolSpec         `json:"frontend_tools,omitempty"`
	OutputSchema  json.RawMessage    `json:"output_schema,omitempty"`
	Budget        *RunBudget         `json:"budget,omitempty"`

	Budgeted      bool `json:"budgeted,omitempty"`       // it reserves what its calls may cost
	OutputRepairs int  `json:"output_repairs,omitempty"` // answers that did not fit

	Activated    bool        `json:"activated,omitempty"` // the run_start phase is over
	Status       RunStatus   `json:"status"`
	StatusReason string      `json:"status_reason,omitempty"`
	Termination  Termination `json:"termination_reason,omitzero"`
	FinalOutput  string      `json:"final_output,omitempty"`
	// StructuredOutput is the answer that fits the output schema.
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`
	ErrorPayload     *Error          `json:"error_payload,omitempty"`
	Waiting          *Waiting        `json:"waiting,omitempty"`

	Input  llm.Interval `json:"input,omitzero"`  // log records the run was started with
	Output llm.Interval `json:"output,omitzero"` // log records it has produced

	CreatedAt  int64 `json:"created_at"` // unix seconds
	StartedAt  int64 `json:"started_at,omitempty"`
	FinishedAt int64 `json:"finished_at,omitempty"`
	UpdatedAt  int64 `json:"updated_at"`

	Steps        int       `json:"steps"`
	InputTokens  int64     `json:"input_tokens"`
	OutputTokens int64     `json:"output_tokens"`
	Usage        llm.Usage `json:"usage,omitzero"`
	CostUSD      float64   `json:"cost_usd,omitempty"`
	// What its children have used and cost, theirs included, as far as they are done.
	ChildUsage   llm.Usage `json:"child_usage,omitzero"`
	ChildCostUSD float64   `json:"child_cost_usd,omitempty"`
}

// Validate checks that the parts of the record agree with its status.
func (r *Run) Validate() error {
	var bad check.Problems
	if r.RunID == "" || r.ThreadID == "" {
		bad.Add("run_id or thread_id is empty")
	}
	if r.Waiting != nil && r.Status != RunWaiting {
		bad.Add("status is %s but waiting is set", r.Status)
	}
	if r.FinishedAt != 0 && r.Status != RunDone {
		bad.Add("status is %s but finished_at is set", r.Status)
	}
	if r.Termination != (Termination{}) && r.Status != RunDone {
		bad.Add("status is %s but termination_reason is set", r.Status)
	}
	switch r.Status {
	case RunCreated, RunRunning:
	case RunWaiting:
		if r.Waiting == nil {
			bad.Add("status is waiting but waiting is not set")
		}
	case RunDone:
		if r.FinishedAt == 0 || r.Termination == (Termination{}) {
			bad.Add("status is done but finished_at or termination_reason is not set")
		}
	default:
		bad.Add("status is %q, want created, running, waiting or done", r.Status)
	}
	if err := bad.Err(); err != nil {
		return fmt.Errorf("run %q: %w", r.RunID, err)
	}
	return nil
}

// Info returns the run's identity.
func (r *Run) Info() *RunInfo {
	return &RunInfo{ThreadID: r.ThreadID, ParentThreadID: r.ParentThreadID, RunID: r.RunID, ParentRunID: r.ParentRunID,
		AgentID: r.AgentID, ParentToolCallID: r.ParentToolCallID, DispatchID: r.DispatchID, SessionID: r.SessionID,
		UserID: r.UserID, TransportRequestID: r.TransportRequestID, Origin: r.Origin, Mode: r.Mode, Adapter: r.Adapter, Depth: r.Depth}
}

// RunResult is how a run, or one activation of it, came out.
type RunResult struct {
	RunID    string `json:"run_id"`
	ThreadID string `json:"thread_id"`
	AgentID  string `json:"agent_id"`
	Response string `json:"response"`
	// StructuredOutput is the answer that fits the output schema, if there is one; see
	// Output.
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`

	Status      RunStatus   `json:"status"`
	Termination Termination `json:"termination"`
	Waiting     *Waiting    `json:"waiting,omitempty"` // what it waits for, when suspended
	Steps       int         `json:"steps"`
	Usage       llm.Usage   `json:"usage"`
	CostUSD     float64     `json:"cost,omitempty"`
	// What its children have used and cost.
	ChildUsage   llm.Usage `json:"child_usage,omitzero"`
	ChildCostUSD float64   `json:"child_cost,omitempty"`
	Rejected     []string  `json:"rejected,omitempty"` // decisions that were refused, and why
	Unread       bool      `json:"-"`                  // the thread's inbox holds items that nobody has read
}

// CheckInput says what is wrong with messages for a thread that may have a run. They
// must neither call tools nor answer calls.
func CheckInput(msgs []*llm.Message) error {
	var bad check.Problems
	checkMessages(&bad, msgs)
	if len(msgs) == 0 {
		bad.Add("there are no messages")
	}
	for i, m := range msgs {
		if m != nil && (m.Role == llm.ToolRole || len(m.ToolCalls) > 0) {
			bad.Add("messages[%d] calls a tool or answers a call, and a run may be doing that itself", i)
		}
	}
	return invalid(bad.Err())
}
