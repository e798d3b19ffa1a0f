package awaken

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/state"
)

// Phase is a moment in a run at which plugins are asked.
type Phase uint8

const (
	// PhaseRunStart is once for each run, after its plugins were activated. A run
	// that is resumed does not pass it again.
	PhaseRunStart Phase = iota
	// PhaseStepStart is once for each step, before anything else of it.
	PhaseStepStart
	// PhaseBeforeInference is once for each step, before the request is built; the
	// built-in actions take effect here.
	PhaseBeforeInference
	// PhaseAfterInference is once for each answer, after it was added to the
	// conversation and before its calls are looked at. HookCall.Reply is set.
	PhaseAfterInference
	// PhaseToolGate is once for each call, before the gates are asked, and again when
	// a suspended call is replayed. HookCall.Tool is set.
	PhaseToolGate
	// PhaseBeforeToolExecute is right before a call begins; calls that a gate blocked,
	// suspended or answered do not pass it. HookCall.Tool is set.
	PhaseBeforeToolExecute
	// PhaseAfterToolExecute is once for each call that got past the checks, when it
	// has its result, whether a tool or a gate gave it. HookCall.Tool and Result are
	// set.
	PhaseAfterToolExecute
	// PhaseStepEnd is once for each step, when its calls are answered or wait.
	PhaseStepEnd
	// PhaseRunEnd is once for each run, when it is over. A run that waits has not
	// ended.
	PhaseRunEnd
	phaseCount
)

var phaseNames = [phaseCount]string{"run_start", "step_start", "before_inference", "after_inference",
	"tool_gate", "before_tool_execute", "after_tool_execute", "step_end", "run_end"}

func (p Phase) String() string {
	if p < phaseCount {
		return phaseNames[p]
	}
	return "unknown phase"
}

// Hook is called at a phase. Hooks of one phase see the same snapshot, may run at
// the same time, and run again if two of them write one exclusive key; so a hook
// reads, decides, records, and does nothing else. An error ends the run.
type Hook func(ctx context.Context, h *HookCall) error

// HookCall is what a hook is given: what it may read and where it records what it
// wants done.
type HookCall struct {
	Phase    Phase
	Run      *RunInfo
	Agent    *AgentSpec
	Step     int          // 0-based
	Messages llm.Messages // what the model has been or will be shown
	Tools    []llm.Tool   // offered to the model, before step-local filters; all of them
	Profile  profile.Store

	Tool   *ToolCall   // in the tool phases: the call; its own Command is not used
	Result *ToolResult // in after_tool_execute
	Reply  *llm.Reply  // in after_inference

	state.Snapshot
	Command
}

// Command is a set of state updates, scheduled actions and effects that are
// committed together. The zero Command is empty.
type Command struct {
	state.Batch
	made Recorded
}

// Recorded is what a command asks for beside its state updates.
type Recorded struct {
	Actions []ScheduledAction
	Effects []ScheduledEffect
	Outbox  []Outgoing   // see [Send]
	Usage   llm.Usage    // of runs below, with their CostUSD; see [ToolCall.Spend]
	CostUSD float64      // of runs below
	Ending  *Termination // see [Command.End]; nil lets the run go on
}

// Recorder is something a command can be recorded in: a *Command, a *HookCall or a
// *ToolCall.
type Recorder interface{ command() *Command }

func (c *Command) command() *Command { return c }

// End asks for the run to end after this step, as requested by a plugin or a tool.
func (c *Command) End() { c.made.Ending = &Termination{Type: BehaviorRequested} }

// Recorded is what the command asks for so far. It is for those that call hooks and tools:
// a runtime, or a test.
func (c *Command) Recorded() *Recorded { return &c.made }

// Gate is asked about every tool call before it runs; see [Registrar.Gate]. It is
// pure, and may be asked again about the same call: what it records in h is dropped.
// To refuse a call and let the run go on, answer it with an [ErrorResult].
type Gate func(ctx context.Context, h *HookCall) (Verdict, error)

// Verdict is a gate's answer. The zero Verdict allows the call. Of several gates
// the strictest wins: block over suspend over answer.
type Verdict struct {
	kind   verdictKind
	reason string
	ticket Ticket
	result *ToolResult
}

// Allowed reports whether the verdict lets the call through.
func (v *Verdict) Allowed() bool { return v.kind == allow }

// Answered reports whether the verdict gives the call a Result without running the tool.
func (v *Verdict) Answered() bool { return v.kind == answer }

// Suspended reports whether the verdict makes the call wait with a Ticket.
func (v *Verdict) Suspended() bool { return v.kind == suspend }

// Blocked reports whether the verdict refuses the call for a Reason.
func (v *Verdict) Blocked() bool { return v.kind == block }

// Result is what an answered call gets.
func (v *Verdict) Result() *ToolResult { return v.result }

// Ticket is what a suspended call waits with.
func (v *Verdict) Ticket() Ticket { return v.ticket }

// SuspensionID is the id that people decide on, if the verdict suspends the call of that id.
func (v *Verdict) SuspensionID(callID string) string { return v.ticket.SuspensionID(callID) }

// Reason is why a blocked call is refused.
func (v *Verdict) Reason() string { return v.reason }

// Stricter reports whether the verdict wins over another.
func (v *Verdict) Stricter(than *Verdict) bool { return v.kind > than.kind }

type verdictKind uint8

const (
	allow verdictKind = iota
	answer
	suspend
	block
)

// Allow lets the call through.
func Allow() Verdict { return Verdict{} }

// Block refuses the call and ends the run.
func Block(reason string) Verdict { return Verdict{kind: block, reason: reason} }

// SuspendCall makes the call wait for a decision. A decision on the same
// suspension id lets the call pass this verdict when it is replayed.
func SuspendCall(t Ticket) Verdict { return Verdict{kind: suspend, ticket: t} }

// Answer gives the call this result without running the tool.
func Answer(r *ToolResult) Verdict { return Verdict{kind: answer, result: r} }

// Transform may change a request before it goes to the model: messages, tools,
// parameters. Transforms run in the order they were registered.
type Transform func(ctx context.Context, h *HookCall, req *llm.Request) error

// ContextMessage is a message that is put into the model's context without being
// part of the conversation. See [builtin.AddContextMessage].
type ContextMessage struct {
	Key        string         `json:"key"` // a later message with the same key replaces it
	Role       llm.Role       `json:"role"`
	Content    []llm.Block    `json:"content"`
	Visibility llm.Visibility `json:"visibility,omitempty"`
	Target     ContextTarget  `json:"target,omitempty"`
	// CooldownTurns is how many steps must pass before unchanged content is
	// injected again. 0 means always.
	CooldownTurns int `json:"cooldown_turns,omitempty"`
	// Persistent messages stay until they are replaced or removed; others are used
	// once. ConsumeAfterEmit uses a persistent one once as well.
	Persistent       bool `json:"persistent,omitempty"`
	ConsumeAfterEmit bool `json:"consume_after_emit,omitempty"`
	Priority         int  `json:"priority,omitempty"` // lower comes first
}

// ContextTarget is where a context message goes.
type ContextTarget string

const (
	TargetSystem       ContextTarget = ""              // after the system prompt
	TargetSession      ContextTarget = "session"       // after the instructions
	TargetConversation ContextTarget = "conversation"  // before the history
	TargetSuffix       ContextTarget = "suffix_system" // at the very end
)

// UnmarshalJSON reads "system" as the default target.
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
