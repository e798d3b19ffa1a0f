package awaken

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// RunStatus is the state of a run in its life cycle: created, running, then waiting and
// running any number of times, and finally done.
type RunStatus string

const (
	RunCreated RunStatus = "created" // accepted, not started yet
	RunRunning RunStatus = "running" // owned by a worker, or interrupted by a crash
	RunWaiting RunStatus = "waiting" // parked until a decision, a message or a child arrives
	RunDone    RunStatus = "done"    // ended, for good
)

// TerminationType is the reason why a run, or one activation of it, ended.
type TerminationType string

const (
	NaturalEnd        TerminationType = "natural_end"        // the model finished
	BehaviorRequested TerminationType = "behavior_requested" // a plugin or a tool ended it; see [Command.End]
	Stopped           TerminationType = "stopped"            // a stop condition was met
	Cancelled         TerminationType = "cancelled"          // a client cancelled it
	Blocked           TerminationType = "blocked"            // a gate or a guard blocked it
	Suspended         TerminationType = "suspended"          // it waits; only the activation ended
	Failed            TerminationType = "error"              // it failed
)

// Termination describes why a run, or one activation of it, ended.
type Termination struct {
	Type    TerminationType
	Code    string // stopped: the condition that was met
	Detail  string // stopped: details for people
	Message string // blocked: the reason; error: the error
	// Details, if set, say what a guard blocked, or which error of a model ended the run. They must not be modified.
	Details *TerminationDetails
}

// TerminationDetails are details that few terminations have.
type TerminationDetails struct {
	// Point and CallID say what a guard blocked: content at that point and, at [ResultPoint], of that call. The content is not stored.
	// They are "" if a gate or a person refused, because what they refused is.
	Point  GuardPoint `json:"point,omitempty"`
	CallID string     `json:"call_id,omitempty"`
	// Kind is the kind of the model's error that ended the run, with Type error or stopped; "" if the model gave none. The text of the error
	// is the end of Message or Detail, from the byte CauseAt on; see [Termination.Cause].
	Kind    llm.Kind `json:"kind,omitempty"`
	CauseAt int      `json:"cause_at,omitempty"`
}

// Cause returns the text of the model's error that ended the run, or "".
func (t Termination) Cause() string {
	text := t.Message
	if t.Type == Stopped {
		text = t.Detail
	}
	if d := t.Details; d != nil && (d.Kind != "" || d.CauseAt > 0) && 0 <= d.CauseAt && d.CauseAt <= len(text) {
		return text[d.CauseAt:]
	}
	return ""
}

// CausedBy returns the termination with the kind and the text of the model's error, with which its Message or Detail ends.
func (t Termination) CausedBy(kind llm.Kind, text string) Termination {
	all := len(t.Message)
	if t.Type == Stopped {
		all = len(t.Detail)
	}
	t.Details = &TerminationDetails{Kind: kind, CauseAt: max(0, all-len(text))}
	return t
}

type stoppedWire struct {
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}

// MarshalJSON encodes the termination as {"type": …, "value": …}.
func (t Termination) MarshalJSON() ([]byte, error) {
	w := struct {
		Type  TerminationType `json:"type"`
		Value any             `json:"value,omitempty"`
		*TerminationDetails
	}{Type: t.Type, TerminationDetails: t.Details}
	switch t.Type {
	case Stopped:
		w.Value = stoppedWire{t.Code, t.Detail}
	case Blocked, Failed:
		w.Value = t.Message
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes the result of MarshalJSON. It also accepts plugin_requested, an older
// name of behavior_requested. Unknown fields are ignored; see [UnmarshalEvent].
func (t *Termination) UnmarshalJSON(data []byte) error {
	var w struct {
		Type  TerminationType `json:"type"`
		Value json.RawMessage `json:"value"`
		TerminationDetails
	}
	if err := strict.UnmarshalKnown(data, &w); err != nil {
		return fmt.Errorf("termination: %w", err)
	}
	out := Termination{Type: w.Type}
	if w.TerminationDetails != (TerminationDetails{}) {
		out.Details = &w.TerminationDetails
	}
	var err error
	switch w.Type {
	case NaturalEnd, BehaviorRequested, Cancelled, Suspended:
		if len(w.Value) > 0 && string(w.Value) != "null" {
			err = errors.New(`field "value" is set, but this type has none`)
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

// String returns the termination in one line, such as "stopped: max_rounds".
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

// RunInfo identifies a run and its origin. It is immutable.
type RunInfo struct {
	ThreadID           string `json:"thread_id"`
	ParentThreadID     string `json:"parent_thread_id,omitempty"`
	RunID              string `json:"run_id"`
	ParentRunID        string `json:"parent_run_id,omitempty"`
	AgentID            string `json:"agent_id"`
	ParentToolCallID   string `json:"parent_tool_call_id,omitempty"`
	DispatchID         string `json:"dispatch_id,omitempty"`          // the dispatch of package mailbox that started the run
	SessionID          string `json:"session_id,omitempty"`           // chosen by the client; recorded, and passed on to children
	UserID             string `json:"user_id,omitempty"`              // the user that the run acts for
	TransportRequestID string `json:"transport_request_id,omitempty"` // chosen by the client or the protocol; recorded
	Origin             string `json:"origin"`                         // user, mcp, subagent or internal
	Mode               string `json:"run_mode,omitempty"`             // foreground (same as ""), scheduled, resume or internal_wake
	Adapter            string `json:"adapter,omitempty"`              // internal (same as ""), acp, ai_sdk, ag_ui, a2a, mcp or openai
	Depth              int    `json:"depth,omitempty"`                // number of ancestors
}

// RunRequest describes a run to start or to continue. A request with only Messages starts the
// agent "default" on a new thread.
type RunRequest struct {
	// AgentID names the agent. "" means the active agent of the thread, else the agent of
	// its last run, else "default".
	AgentID string `json:"agent_id,omitempty"`
	// ThreadID names the thread; "" starts a new one. If the thread's run waits, a new user
	// message continues that run and withdraws its suspended calls; with another RunID, the
	// request fails with ErrConflict.
	ThreadID string `json:"thread_id,omitempty"`
	// Messages are added to the conversation. They may be empty if the request continues a run,
	// decides, makes a Call, or the conversation already ends with something to answer. An
	// assistant's tool calls must be followed by their results.
	Messages []*llm.Message `json:"messages,omitempty"`

	// RunID is the id of a new run. A run of that id must not exist. "" generates one.
	RunID string `json:"run_id,omitempty"`
	// Continue is the id of a run to continue: one that waits or was interrupted.
	Continue string `json:"continue,omitempty"`
	// Decisions answer suspended calls. Without Continue, they continue the waiting run of
	// the thread.
	Decisions []Decision `json:"decisions,omitempty"`
	// Rewind is the id of a message. That message and everything after it are hidden before
	// the new messages are added. The log keeps what is hidden.
	Rewind string `json:"rewind,omitempty"`

	// ResolutionID is the id of the registry version for a new run; see registry.Versions.
	// "" lets the runtime choose. A continued run keeps its version.
	ResolutionID string `json:"resolution_id,omitempty"`

	// Call makes the run execute one tool call instead of asking a model.
	Call          *PlannedCall               `json:"call,omitempty"`
	Overrides     *InferenceOverride         `json:"overrides,omitempty"`
	FrontendTools []ToolSpec                 `json:"frontend_tools,omitempty"` // tools that the client runs
	Seed          map[string]json.RawMessage `json:"seed,omitempty"`           // initial state, by key
	// OutputSchema is the JSON Schema of the final answer. It replaces the agent's.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Budget limits the spending of the run and its thread, in addition to the agent's
	// limits. Continuing a run with a budget replaces its budget.
	Budget *RunBudget `json:"budget,omitempty"`
	// Context is shown to the model during the run, without becoming part of the
	// conversation. A message needs a Key, and the role system or user.
	Context []ContextMessage `json:"context,omitempty"`
	// Untrusted says that the request comes from a client that may not instruct the agent; see
	// [AgentSpec.TrustClients], which takes precedence.
	Untrusted bool `json:"untrusted,omitempty"`
	// Attended says that the parent run waits for the result of Run. Otherwise the runtime
	// reports the result to the parent's inbox; see engine.Runtime.Report.
	Attended bool `json:"-"`

	// Taint says that the request brings untrusted content: it comes from a tainted run.
	Taint *Taint `json:"taint,omitempty"`

	// The origin of the request; see RunInfo.
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

	// Trace says where in a trace the run belongs: the W3C's traceparent and, after a space, its tracestate, if any. Observers
	// use it; what is malformed is ignored.
	Trace string `json:"trace,omitempty"`

	// Released is the id of the restoration in which an operator has released the run; see [Restoration].
	Released string `json:"released,omitempty"`

	// End ends a run that waits or was interrupted, instead of continuing it. With RunID it
	// takes the request's messages into the thread as those of a run that ended before it
	// started, in one commit and without an answer.
	End *Termination `json:"-"`
}

// UnmarshalJSON rejects unknown fields.
func (r *RunRequest) UnmarshalJSON(data []byte) error {
	type plain RunRequest
	return strict.Into((*plain)(r), "run request", data)
}

// Validate reports all problems that can be found without a registry and a store. Its errors
// are ErrInvalid.
func (r *RunRequest) Validate() error {
	var bad check.Problems
	r.checkIDs(&bad)
	if r.Continue != "" && r.RunID != "" {
		bad.Add("run_id %q and continue %q are both set: continuing a run keeps its id", r.RunID, r.Continue)
	}
	if r.ThreadID != "" && r.ThreadID == r.ParentThreadID {
		bad.Add("thread %q cannot be its own parent", r.ThreadID)
	}
	bad.OneOf("origin", r.Origin, "", "user", "mcp", "subagent", "internal")
	bad.OneOf("run_mode", r.Mode, "", "foreground", "scheduled", "resume", "internal_wake")
	bad.When(r.Call != nil && r.Call.Tool == "", "call.tool is empty")
	bad.When(r.Call != nil && len(r.Call.Arguments) > 0 && !json.Valid(r.Call.Arguments), "call.arguments are not JSON")
	bad.NotNegative("depth", r.Depth)
	checkMessages(&bad, r.Messages)
	checkCalls(&bad, r.Messages)
	for i := range r.Decisions {
		if err := r.Decisions[i].Validate(); err != nil {
			bad.Add("decisions[%d]: %w", i, err)
		}
	}
	bad.Include(r.Budget.Validate())
	r.checkTools(&bad)
	r.checkContext(&bad)
	return invalid(bad.Err())
}

// checkIDs reports ids that are blank. Like the other checks it is a function of its own, because
// the stack of a run is as large as its largest frames.
func (r *RunRequest) checkIDs(bad *check.Problems) {
	for _, f := range [...]struct{ name, id string }{{"agent_id", r.AgentID}, {"thread_id", r.ThreadID}, {"run_id", r.RunID},
		{"continue", r.Continue}, {"rewind", r.Rewind}, {"resolution_id", r.ResolutionID}, {"parent_run_id", r.ParentRunID}, {"parent_thread_id", r.ParentThreadID},
		{"parent_tool_call_id", r.ParentToolCallID}, {"dispatch_id", r.DispatchID}, {"session_id", r.SessionID}, {"user_id", r.UserID},
		{"transport_request_id", r.TransportRequestID}} {
		if f.id != "" && strings.TrimSpace(f.id) == "" {
			bad.Add("%s is blank", f.name)
		}
	}
}

// checkTools reports tools of the client that have no id, or that of another.
func (r *RunRequest) checkTools(bad *check.Problems) {
	if len(r.FrontendTools) == 0 {
		return
	}
	tools := make(map[string]bool, len(r.FrontendTools))
	for i := range r.FrontendTools {
		id := r.FrontendTools[i].ID
		switch {
		case id == "":
			bad.Add("frontend_tools[%d].id is empty", i)
		case tools[id]:
			bad.Add("frontend_tools[%d].id %q is listed twice", i, id)
		}
		tools[id] = true
	}
}

// checkContext reports context messages without a key or with another role than system or user.
func (r *RunRequest) checkContext(bad *check.Problems) {
	for i := range r.Context {
		m := &r.Context[i]
		switch {
		case m.Key == "":
			bad.Add("context[%d].key is empty", i)
		case m.Role != llm.System && m.Role != llm.User:
			bad.Add("context[%d].role is %q, want system or user", i, m.Role)
		}
	}
}

// invalid wraps err as an ErrInvalid. A nil err stays nil.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, err)
}

// checkMessages reports problems of messages from a client.
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

// checkCalls reports calls without a result and results without a call. The results of a
// message's calls follow it.
func checkCalls(bad *check.Problems, msgs []*llm.Message) {
	at := 0
	var open []string // calls of messages[at] without a result
	closed := func() {
		if len(open) > 0 {
			bad.Add("messages[%d] makes calls that the next messages do not answer: %q", at, open)
		}
		open = nil
	}
	for i, m := range msgs {
		switch {
		case m == nil:
		case m.Role == llm.ToolRole:
			n := slices.Index(open, m.ToolCallID)
			if n < 0 {
				bad.Add("messages[%d] answers call %q, which the message before the results does not make or which is answered already", i, m.ToolCallID)
				continue
			}
			open = slices.Delete(open, n, n+1)
		case len(m.ToolCalls) > 0 && m.Role != llm.Assistant:
			bad.Add("messages[%d] makes calls and has role %s, want assistant", i, m.Role)
		default:
			closed()
			at = i
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		}
	}
	closed()
}

// Run is the stored record of a run. Its times are Unix seconds; 0 means not yet.
type Run struct {
	RunID              string `json:"run_id"`
	ThreadID           string `json:"thread_id"`
	AgentID            string `json:"agent_id"`
	FirstAgentID       string `json:"first_agent_id,omitempty"` // the agent that it started with, if it was handed off
	ParentRunID        string `json:"parent_run_id,omitempty"`
	ParentThreadID     string `json:"parent_thread_id,omitempty"`
	ParentToolCallID   string `json:"parent_tool_call_id,omitempty"`
	ResolutionID       string `json:"resolution_id,omitempty"` // the registry version that it is pinned to
	DispatchID         string `json:"dispatch_id,omitempty"`
	SessionID          string `json:"session_id,omitempty"`
	UserID             string `json:"user_id,omitempty"`
	TransportRequestID string `json:"transport_request_id,omitempty"`
	Origin             string `json:"origin,omitempty"`
	Mode               string `json:"run_mode,omitempty"`
	Adapter            string `json:"adapter,omitempty"`
	Depth              int    `json:"depth,omitempty"`
	// Trace is where in a trace the run began, as [RunRequest].Trace is, if that trace is recorded.
	Trace string `json:"trace,omitempty"`

	// The rest of the request, kept for resuming the run.
	Call          *PlannedCall       `json:"call,omitempty"`
	Overrides     *InferenceOverride `json:"overrides,omitempty"`
	FrontendTools []ToolSpec         `json:"frontend_tools,omitempty"`
	Untrusted     bool               `json:"untrusted,omitempty"`
	OutputSchema  json.RawMessage    `json:"output_schema,omitempty"`
	Budget        *RunBudget         `json:"budget,omitempty"`

	// Taint is the first result with untrusted content that the run has read, perhaps that of another run.
	Taint *Taint `json:"taint,omitempty"`

	OutputRepairs int  `json:"output_repairs,omitempty"` // invalid structured answers so far
	Budgeted      bool `json:"budgeted,omitempty"`       // it reserves the cost of its model calls
	Activated     bool `json:"activated,omitempty"`      // PhaseRunStart is over
	// InDoubt is how many calls of the run are in doubt, as of its last commit; see [Doubt]. A call that
	// was settled since then still counts: the ledger has the settlement.
	InDoubt int32 `json:"calls_in_doubt,omitempty"`

	// What lists show of a run beside its answer: the beginning of its question, which is the last message of a user in its input, at
	// most 200 characters of it, and the names of the first 16 tools that its model has called.
	Question string   `json:"question,omitempty"`
	Tools    []string `json:"tools,omitempty"`

	Status       RunStatus   `json:"status"`
	StatusReason string      `json:"status_reason,omitempty"`     // why it waits or ended, in one line
	Termination  Termination `json:"termination_reason,omitzero"` // why it ended; zero until it is done
	FinalOutput  string      `json:"final_output,omitempty"`      // text of the last answer; set when it is done
	// StructuredOutput is the answer, if it fits the output schema.
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`
	ErrorPayload     *Error          `json:"error_payload,omitempty"` // the error, if it failed
	Waiting          *Waiting        `json:"waiting,omitempty"`       // what it waits for; nil unless it waits
	// Restored is set if the run was found unfinished in a restored database.
	Restored *RunRestoration `json:"restored,omitempty"`
	// FinishReason says why the model stopped its last answer. MaxTokens means that it is cut off.
	FinishReason llm.FinishReason `json:"finish_reason,omitempty"`
	// Diagnostics are problems that did not end the run, such as a tool that was left out or an
	// answer that is cut off or empty.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`

	Input  llm.Interval `json:"input,omitzero"`  // records of the log that started the run
	Output llm.Interval `json:"output,omitzero"` // records of the log that the run produced

	// Times, Unix ms. JSON has each of them twice: in seconds by this name, and exactly by this name and _ms.
	CreatedAt  int64 `json:"created_at"`
	StartedAt  int64 `json:"started_at,omitempty"`
	FinishedAt int64 `json:"finished_at,omitempty"`
	UpdatedAt  int64 `json:"updated_at"`

	Steps        int       `json:"steps"`
	InputTokens  int64     `json:"input_tokens"`
	OutputTokens int64     `json:"output_tokens"`
	Usage        llm.Usage `json:"usage,omitzero"`
	CostUSD      float64   `json:"cost_usd,omitempty"`
	// Usage and cost of finished children, including their own children.
	ChildUsage   llm.Usage `json:"child_usage,omitzero"`
	ChildCostUSD float64   `json:"child_cost_usd,omitempty"`
}

// MarshalJSON encodes the record; see AppendJSON.
func (r Run) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// UnmarshalJSON decodes the result of MarshalJSON. A time that the record has in seconds only, as records of
// earlier versions have it, is the beginning of that second. Unknown fields are ignored: a later version may have
// written them.
func (r *Run) UnmarshalJSON(data []byte) error {
	type plain Run
	w := struct {
		*plain
		Created  *int64 `json:"created_at_ms"`
		Started  *int64 `json:"started_at_ms"`
		Finished *int64 `json:"finished_at_ms"`
		Updated  *int64 `json:"updated_at_ms"`
	}{plain: (*plain)(r)}
	r.CreatedAt, r.StartedAt, r.FinishedAt, r.UpdatedAt = 0, 0, 0, 0
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	for _, t := range [...]struct{ at, exact *int64 }{{&r.CreatedAt, w.Created}, {&r.StartedAt, w.Started}, {&r.FinishedAt, w.Finished}, {&r.UpdatedAt, w.Updated}} {
		if *t.at *= 1000; t.exact != nil {
			*t.at = *t.exact
		}
	}
	return nil
}

// Validate checks that the fields of the record agree with its status.
func (r *Run) Validate() error {
	var bad check.Problems
	bad.When(r.RunID == "" || r.ThreadID == "", "run_id or thread_id is empty")
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
		bad.When(r.Waiting == nil, "status is waiting but waiting is not set")
	case RunDone:
		bad.When(r.FinishedAt == 0 || r.Termination == (Termination{}), "status is done but finished_at or termination_reason is not set")
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

// RunResult is the result of a run, or of one activation of it.
type RunResult struct {
	RunID    string `json:"run_id"`
	ThreadID string `json:"thread_id"`
	AgentID  string `json:"agent_id"`
	Response string `json:"response"` // text of the last answer
	// StructuredOutput is the answer that fits the output schema, if the run has one; see
	// engine.Output.
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`

	Status      RunStatus   `json:"status"`
	Termination Termination `json:"termination"`
	Waiting     *Waiting    `json:"waiting,omitempty"` // what the run waits for, if it is suspended
	Steps       int         `json:"steps"`
	Usage       llm.Usage   `json:"usage"`
	CostUSD     float64     `json:"cost,omitempty"` // without children
	// Usage and cost of its children.
	ChildUsage   llm.Usage        `json:"child_usage,omitzero"`
	ChildCostUSD float64          `json:"child_cost,omitempty"`
	Rejected     []string         `json:"rejected,omitempty"`      // decisions that were rejected, with the reason
	FinishReason llm.FinishReason `json:"finish_reason,omitempty"` // why the model stopped its last answer
	Diagnostics  []Diagnostic     `json:"diagnostics,omitempty"`   // problems that did not end the run
	Unread       bool             `json:"-"`                       // the thread's inbox is not empty
}
