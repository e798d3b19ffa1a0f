package awaken

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/profile"
)

// Phase is a point in a run at which hooks are called.
type Phase uint8

const (
	// PhaseRunStart happens once per run, after its plugins are activated. A resumed run
	// does not repeat it.
	PhaseRunStart Phase = iota
	// PhaseStepStart happens once per step, before everything else in the step.
	PhaseStepStart
	// PhaseBeforeInference happens once per step, before the request is built. The
	// built-in actions take effect here.
	PhaseBeforeInference
	// PhaseAfterInference happens once per answer, after it is added to the conversation
	// and before its calls are processed. HookCall.Reply is set.
	PhaseAfterInference
	// PhaseToolGate happens once per call, before the gates decide, and again when a
	// suspended call is made again. HookCall.Tool is set.
	PhaseToolGate
	// PhaseBeforeToolExecute happens right before a call begins, unless a gate blocked,
	// suspended or answered the call. HookCall.Tool is set.
	PhaseBeforeToolExecute
	// PhaseAfterToolExecute happens once per valid call, when it has its result, whether
	// from a tool or from a gate. HookCall.Tool and HookCall.Result are set.
	PhaseAfterToolExecute
	// PhaseStepEnd happens once per step, when each of its calls has a result or waits.
	PhaseStepEnd
	// PhaseRunEnd happens once per run, when it ends. A waiting run has not ended.
	PhaseRunEnd
	phaseCount
)

var phaseNames = [phaseCount]string{"run_start", "step_start", "before_inference", "after_inference",
	"tool_gate", "before_tool_execute", "after_tool_execute", "step_end", "run_end"}

// String returns the phase's name, such as "step_start".
func (p Phase) String() string {
	if p < phaseCount {
		return phaseNames[p]
	}
	return "unknown phase"
}

// Hook is called at a phase. Hooks of one phase see the same snapshot, may run concurrently,
// and run again if two of them write the same exclusive key. A hook therefore only reads and
// records; it has no side effects. An error ends the run.
type Hook func(ctx context.Context, h *HookCall) error

// HookCall is the argument of hooks, gates, guards, transforms and handlers: the state that they
// may read, and the [Command] in which they record updates, actions and effects. It is valid until
// they return, and not safe for concurrent use.
type HookCall struct {
	Phase    Phase
	Run      *RunInfo
	Agent    *AgentSpec
	Step     int           // 0-based
	Messages llm.Messages  // the conversation as the model sees it
	Tools    []llm.Tool    // all tools offered to the model, before the filters of the step
	Profile  profile.Store // nil if the runtime has none

	Tool   *ToolCall   // the call, in the tool phases; its own Command is not used
	Result *ToolResult // in PhaseAfterToolExecute
	Reply  *llm.Reply  // in PhaseAfterInference

	// Source is who calls: the plugin of a hook; in a handler of an action, who scheduled it: a plugin, or "tool:" and a tool's name.
	Source string

	state.Snapshot // the state that the hook reads
	Command        // what it records
}

// Command collects state updates, scheduled actions and effects that are committed together.
// The zero Command is empty. It is not safe for concurrent use.
type Command struct {
	state.Batch
	rec Recorded
}

// Recorded holds what a command records beside its state updates.
type Recorded struct {
	Actions []ScheduledAction
	Effects []ScheduledEffect
	Outbox  []Outgoing   // see [Send]
	Usage   *llm.Usage   // of child runs; see [ToolCall.Spend]; nil if there were none
	CostUSD float64      // of child runs
	Ending  *Termination // see [Command.End]; nil lets the run continue
}

// CallWrites records what a call did to its run beside its result: the command that its tool recorded. The outcome of
// the call has it, so that the run can be replayed without calling the tool again.
type CallWrites struct {
	// State has the values of the keys that the call updated, by name, as they were after its updates. The keys
	// without a value then are Cleared, and those whose values have no JSON Unencoded.
	State     map[string]json.RawMessage `json:"state,omitempty"`
	Cleared   []string                   `json:"cleared,omitempty"`
	Unencoded []string                   `json:"unencoded,omitempty"`
	Actions   []ScheduledAction          `json:"actions,omitempty"`
	Sent      []json.RawMessage          `json:"sent,omitempty"`     // each an [Outgoing]
	Usage     *llm.Usage                 `json:"usage,omitempty"`    // see [ToolCall.Spend]
	CostUSD   float64                    `json:"cost_usd,omitempty"` // see [ToolCall.Spend]
	End       *Termination               `json:"end,omitempty"`      // see [Command.End]
}

// Recorder receives the records of [Action.Schedule], [Effect.Emit] and [Send]: a *Command, a
// *HookCall or a *ToolCall.
type Recorder interface{ command() *Command }

func (c *Command) command() *Command { return c }

// End requests that the run ends after this step, with [BehaviorRequested].
func (c *Command) End() { c.rec.Ending = &Termination{Type: BehaviorRequested} }

// Recorded returns what the command has recorded so far. It is for code that calls hooks and
// tools: the runtime, or a test.
func (c *Command) Recorded() *Recorded { return &c.rec }

// Gate decides about every tool call, h.Tool, before it runs, and may replace its arguments; see
// [Registrar.Gate] and [Verdict.WithArguments]. It has no side effects and may be called again for
// the same call; updates that it records in h are discarded. To refuse a call without ending the run, answer it with an [ErrorResult]. An error
// ends the run.
type Gate func(ctx context.Context, h *HookCall) (Verdict, error)

// Verdict is the decision of a gate about a tool call, or of a guard about a [Passage]. The zero
// Verdict allows it. If several gates decide, the strictest verdict wins: block over suspend
// over answer over allow.
type Verdict struct {
	kind   verdictKind
	reason string
	ticket Ticket
	result *ToolResult
	args   json.RawMessage
	hosts  []string
	bound  bool // to hosts
}

// Within returns a verdict by which the call reaches only the given hosts, if it is made: the hosts of its [Egress],
// as they were judged, and others that it may be redirected to. Entries are as in allow_hosts of package
// plugin/permission. The bounds of several gates all apply, also the bounds of a suspension that a decision approves.
// The HTTP clients of this module's tools keep to them.
func (v Verdict) Within(hosts []string) Verdict {
	v.hosts, v.bound = hosts, true
	return v
}

// Bounds returns the only hosts that the call may reach, and whether it is bound to them.
func (v *Verdict) Bounds() (hosts []string, bound bool) { return v.hosts, v.bound }

// WithArguments returns a verdict that allows the call with other arguments, for use by gates:
//
//	return awaken.Allow().WithArguments(args), nil
//
// The arguments must fit the tool's schema, or the run fails. They replace those of the call in
// the ledger, in questions to people and in [ToolCallDone]; the model's own message keeps what
// the model wrote. All gates are then asked again about the new arguments, so a gate must
// leave alone what it has rewritten. A verdict other than Allow ignores them.
func (v Verdict) WithArguments(args json.RawMessage) Verdict {
	v.args = args
	return v
}

// Arguments returns the arguments that replace those of an allowed call, or nil.
func (v *Verdict) Arguments() json.RawMessage {
	if v.kind != allow {
		return nil
	}
	return v.args
}

// Allowed reports whether the verdict allows the call.
func (v *Verdict) Allowed() bool { return v.kind == allow }

// Answered reports whether the verdict sets the call's Result without running the tool.
func (v *Verdict) Answered() bool { return v.kind == answer }

// Suspended reports whether the verdict suspends the call with a Ticket.
func (v *Verdict) Suspended() bool { return v.kind == suspend }

// Blocked reports whether the verdict refuses the call, for a Reason.
func (v *Verdict) Blocked() bool { return v.kind == block }

// Result returns the result of an answered call.
func (v *Verdict) Result() *ToolResult { return v.result }

// Ticket returns the ticket of a suspended call.
func (v *Verdict) Ticket() Ticket { return v.ticket }

// SuspensionID returns the id of the suspension, if the verdict suspends the call callID.
func (v *Verdict) SuspensionID(callID string) string { return v.ticket.SuspensionID(callID) }

// Reason returns why a blocked call is refused.
func (v *Verdict) Reason() string { return v.reason }

// Stricter reports whether v takes precedence over than.
func (v *Verdict) Stricter(than *Verdict) bool { return v.kind > than.kind }

type verdictKind uint8

const (
	allow verdictKind = iota
	answer
	suspend
	block
)

// Allow lets the call run, or the passage pass.
func Allow() Verdict { return Verdict{} }

// Block refuses the call or the passage, and ends the run as [Blocked], for that reason.
func Block(reason string) Verdict { return Verdict{kind: block, reason: reason} }

// SuspendCall suspends the call, or holds the passage, until a person decides. When the call is
// made again, an approval of the same suspension id overrides this verdict.
func SuspendCall(t Ticket) Verdict { return Verdict{kind: suspend, ticket: t} }

// Answer sets the result of the call without running the tool. It is for gates, not for guards.
func Answer(r *ToolResult) Verdict { return Verdict{kind: answer, result: r} }

// Transform may change a request before it is sent to the model: messages, tools and
// parameters. Transforms run in the order of their registration. Changes are not stored: the
// next request begins with the stored conversation again. An error ends the run.
type Transform func(ctx context.Context, h *HookCall, req *llm.Request) error

// ContextMessage is a message in the model's context that is not part of the conversation.
// The action builtin.AddContextMessage adds one.
type ContextMessage struct {
	Key        string         `json:"key"`  // a later message with the same key replaces this one
	Role       llm.Role       `json:"role"` // system or user
	Content    []llm.Block    `json:"content"`
	Visibility llm.Visibility `json:"visibility,omitempty"`
	Target     ContextTarget  `json:"target,omitempty"` // where the message is placed
	// CooldownTurns is the number of steps before the same content is added again. 0 adds
	// it every time.
	CooldownTurns int `json:"cooldown_turns,omitempty"`
	// Persistent messages stay until they are replaced or removed; others are sent once.
	// ConsumeAfterEmit removes a persistent message after it is sent once.
	Persistent       bool `json:"persistent,omitempty"`
	ConsumeAfterEmit bool `json:"consume_after_emit,omitempty"`
	Priority         int  `json:"priority,omitempty"` // order within a target: lower comes first
	// Source is who added it; see [llm.ContextNote]. The runtime sets it.
	Source string `json:"source,omitempty"`
}

// ContextTarget is the position of a context message in the request.
type ContextTarget string

const (
	TargetSystem       ContextTarget = ""              // at the end of the system prompt; for a user message, right after it
	TargetSession      ContextTarget = "session"       // after the system prompt, before TargetConversation
	TargetConversation ContextTarget = "conversation"  // right before the conversation
	TargetSuffix       ContextTarget = "suffix_system" // after the conversation
)

// UnmarshalJSON accepts "system" for the default target.
func (t *ContextTarget) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s == "system" {
		s = ""
	}
	*t = ContextTarget(s)
	return nil
}
