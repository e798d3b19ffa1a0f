package awaken

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/state"
)

// Tool is something a model can ask to have done. Implementations are safe for
// concurrent use.
type Tool interface {
	Spec() ToolSpec
	// Call runs the tool. An error ends the call and is shown to the model; wrap
	// it with [Fatal] to end the run instead, or return [Suspend] to wait for a
	// person. A panic is an error. When ctx is done the tool should return soon:
	// after a short grace it is abandoned.
	Call(ctx context.Context, call *ToolCall) (*ToolResult, error)
}

// ToolSpec describes a tool.
type ToolSpec struct {
	ID          string          `json:"id"` // what models and catalogues call it
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	Category    string          `json:"category,omitempty"`
	Metadata    map[string]any  `json:"metadata,omitempty"` // not shown to models

	// Effect says what a repeated call would do. The default, Effectful, is safe
	// for every tool; ReadOnly saves a commit for each call.
	Effect EffectClass `json:"effect,omitempty"`
	// InDoubt says what to do with an effectful call that was cut off after it had
	// begun, when the tool cannot tell what became of it; see [Prober].
	InDoubt DoubtPolicy `json:"in_doubt,omitempty"`
	// Timeout ends a call that takes longer. 0 means Limits.ToolTimeout.
	Timeout time.Duration `json:"-"`
	// MaxResultBytes caps what a result may hold. 0 means Limits.ToolResultBytes.
	MaxResultBytes int `json:"-"`
}

// EffectClass is what calling a tool does to the world.
type EffectClass string

const (
	// Effectful calls change something, and a second call changes it again. The
	// call is recorded before it starts and never repeated silently.
	Effectful EffectClass = ""
	// Idempotent calls change something once, however often they are repeated
	// with the same ToolCall.Key.
	Idempotent EffectClass = "idempotent"
	// ReadOnly calls change nothing.
	ReadOnly EffectClass = "read_only"
)

// DoubtPolicy is what happens to an effectful call whose outcome is not known. It is
// never made again silently.
type DoubtPolicy string

const (
	DoubtTell    DoubtPolicy = ""        // the model is told, and decides
	DoubtSuspend DoubtPolicy = "suspend" // a person is asked; resuming makes the call again
)

// Prober is a tool that can find out what became of a call that was cut off.
type Prober interface {
	// Probe looks for the effect of the call with call.Key. It changes nothing.
	Probe(ctx context.Context, call *ToolCall) (Probe, error)
}

// Probe is what a [Prober] found.
type Probe struct {
	Outcome ProbeOutcome
	Result  *ToolResult // of a call that took effect
}

// ProbeOutcome says whether a call took effect.
type ProbeOutcome uint8

const (
	_         ProbeOutcome = iota // it is not known: the zero Probe
	ProbeDone                     // it took effect; Result is its result
	// ProbeNotDone means that it did not take effect. It is believed only when the
	// call cannot take effect any more: after its time limit and a margin.
	ProbeNotDone
)

// ToolCall is one call: what was asked, by whom, in which state. Updates recorded
// in it are committed with the result; their keys must be registered, by a plugin or
// in Config.Keys. Calls that run at the same time must not write the same exclusive
// key: the later one fails, although the tool has run. It is valid until Call
// returns.
type ToolCall struct {
	ID   string          // the model's id of the call
	Tool string          // the tool's id
	Args json.RawMessage // checked against the tool's schema
	// Key names this call for good: a call that is repeated after a crash has the
	// same key. Pass it on as an idempotency key.
	Key   string
	Run   *RunInfo
	Agent *AgentSpec
	// Resume is the decision that let a suspended call go on, or nil.
	Resume  *Resumption
	Profile profile.Store // nil when the runtime has none
	Tools   []llm.Tool    // offered to the model, before step-local filters; all of them
	Host    Host          // what makes the call; nil in a test that calls a tool by hand

	state.Snapshot // what the call may read
	Command        // what it wants done

	emit func(Event) // nil before the call begins
}

// EmitTo makes f get what the call shows while it runs: progress, activities, output. Until
// then that is dropped. It is for those that make calls: a runtime, or the test of a tool.
func (c *ToolCall) EmitTo(f func(Event)) { c.emit = f }

// Resumption is what a tool or a gate learns about the decision on its call.
type Resumption struct {
	Decision
	SuspensionID string
	Asked        string // what the person was asked
}

// Progress reports how far the call is. The fields of p that name the call and
// the run are filled in.
func (c *ToolCall) Progress(p Progress) {
	p.Schema = progressSchema
	p.NodeID = "tool_call:" + c.ID
	p.CallID, p.ToolName = c.ID, c.Tool
	run := c.Run
	if run == nil { // called by hand, in a test
		run = &RunInfo{}
	}
	p.RunID, p.ThreadID, p.ParentRunID = run.RunID, run.ThreadID, run.ParentRunID
	p.Status = cmp.Or(p.Status, "running")
	if p.ParentNodeID == "" {
		p.ParentNodeID = "run:" + run.RunID
		if run.ParentToolCallID != "" {
			p.ParentCallID = run.ParentToolCallID
			p.ParentNodeID = "tool_call:" + run.ParentToolCallID
		}
	}
	content, err := json.Marshal(p)
	if err != nil {
		return // a NaN progress has no JSON; it is only a report
	}
	c.show(&ActivitySnapshot{MessageID: p.NodeID, ActivityType: ProgressActivity, Content: content, Replace: new(true)})
}

// Activity shows content, any JSON value, under a type of the tool's choosing.
// Later calls with the same type replace it.
func (c *ToolCall) Activity(activityType string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("activity %q: %w", activityType, err)
	}
	c.show(&ActivitySnapshot{MessageID: "tool_call:" + c.ID, ActivityType: activityType, Content: data, Replace: new(true)})
	return nil
}

// ActivityDelta changes what Activity showed by JSON Patch operations.
func (c *ToolCall) ActivityDelta(activityType string, patch ...PatchOp) {
	c.show(&ActivityDelta{MessageID: "tool_call:" + c.ID, ActivityType: activityType, Patch: patch})
}

// Output streams a piece of the tool's output while it runs. It does not become
// part of the result.
func (c *ToolCall) Output(delta string) {
	c.show(&ToolCallStreamDelta{ID: c.ID, Name: c.Tool, Delta: delta})
}

func (c *ToolCall) show(ev Event) {
	if c.emit != nil {
		c.emit(ev)
	}
}

const progressSchema = "tool-call-progress.v1"

// ProgressActivity is the activity type of progress reports.
const ProgressActivity = "tool-call-progress"

// Progress is how far a tool call is.
type Progress struct {
	Schema       string   `json:"schema"`
	NodeID       string   `json:"node_id"`
	CallID       string   `json:"call_id"`
	ToolName     string   `json:"tool_name"`
	Status       string   `json:"status"` // pending, running, done, failed, cancelled
	Progress     *float64 `json:"progress,omitempty"`
	Loaded       *float64 `json:"loaded,omitempty"`
	Total        *float64 `json:"total,omitempty"`
	Message      string   `json:"message,omitempty"`
	ParentNodeID string   `json:"parent_node_id,omitempty"`
	ParentCallID string   `json:"parent_call_id,omitempty"`
	RunID        string   `json:"run_id,omitempty"`
	ParentRunID  string   `json:"parent_run_id,omitempty"`
	ThreadID     string   `json:"thread_id,omitempty"`
}

// NewTool returns a tool that decodes its arguments into In, calls fn, and encodes
// Out as the result. In's JSON Schema is inferred: `json` tags name the properties, a
// `jsonschema` tag is a property's description. A run checks arguments against it
// before it calls the tool. When Out is *ToolResult, fn has full control of the
// result.
//
// NewTool panics if spec has no ID or no schema can be inferred for In: those are
// mistakes in the program.
func NewTool[In, Out any](spec ToolSpec, fn func(ctx context.Context, call *ToolCall, in In) (Out, error)) Tool {
	if spec.ID == "" {
		panic("awaken: a tool needs an ID")
	}
	spec.Name = cmp.Or(spec.Name, spec.ID)
	if spec.Parameters == nil {
		raw, err := schema.For(reflect.TypeFor[In]())
		if err != nil {
			panic(fmt.Sprintf("awaken: tool %q: no schema for %v: %v", spec.ID, reflect.TypeFor[In](), err))
		}
		spec.Parameters = raw
	}
	return &typedTool[In, Out]{spec, fn}
}

type typedTool[In, Out any] struct {
	spec ToolSpec
	fn   func(context.Context, *ToolCall, In) (Out, error)
}

func (t *typedTool[In, Out]) Spec() ToolSpec { return t.spec }

func (t *typedTool[In, Out]) Call(ctx context.Context, call *ToolCall) (*ToolResult, error) {
	var in In
	if args := bytes.TrimSpace(call.Args); len(args) > 0 && !bytes.Equal(args, []byte("null")) {
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
	}
	out, err := t.fn(ctx, call, in)
	if err != nil {
		return nil, err
	}
	if r, ok := any(out).(*ToolResult); ok {
		return r, nil
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return &ToolResult{Data: data}, nil
}

// FrontendTool returns a tool that the client runs: calling it suspends the run,
// and the client's decision becomes the result.
func FrontendTool(spec ToolSpec) Tool {
	spec.Name = cmp.Or(spec.Name, spec.ID)
	spec.Effect = ReadOnly // this process does nothing
	return frontendTool{spec}
}

type frontendTool struct{ spec ToolSpec }

func (t frontendTool) Spec() ToolSpec { return t.spec }

func (t frontendTool) Call(_ context.Context, call *ToolCall) (*ToolResult, error) {
	return nil, Suspend(Ticket{
		Suspension: Suspension{Action: "tool:" + t.spec.ID, Parameters: call.Args},
		ResumeMode: UseDecisionAsToolResult,
	})
}
