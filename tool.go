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
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/profile"
)

// Tool is a function that a model can call. Implementations are safe for concurrent use.
type Tool interface {
	// Spec describes the tool. It always returns the same value.
	Spec() ToolSpec
	// Call runs the tool. The model sees an error that Call returns; wrap it with [Fatal]
	// to end the run instead, or return [Suspend] to wait for a person. The runtime treats
	// a panic as an error. When ctx is done, Call should return soon: after a short grace
	// period the runtime abandons it.
	Call(ctx context.Context, call *ToolCall) (*ToolResult, error)
}

// ToolSpec describes a tool.
type ToolSpec struct {
	ID          string          `json:"id"`                   // the name that models and catalogues use
	Name        string          `json:"name"`                 // shown to people; "" means ID
	Description string          `json:"description"`          // tells the model what the tool does and when to use it
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	Category    string          `json:"category,omitempty"`   // groups tools in user interfaces
	Metadata    map[string]any  `json:"metadata,omitempty"`   // not shown to models

	// Server and OwnName name a tool of an MCP server: by the operator's id of the server, and by the server's name
	// for the tool. OwnName of a tool that runs an agent is the agent's id. Aliases are other names of a tool. Models
	// call a tool by ID only; rules, catalogues, guards and fixtures may also use these names, see docs/policies.md.
	Server  string   `json:"-"`
	OwnName string   `json:"-"`
	Aliases []string `json:"-"`

	// Effect says what a repeated call would do. The default, Effectful, is safe for every
	// tool; ReadOnly saves one commit per call.
	Effect EffectClass `json:"effect,omitempty"`
	// InDoubt says what happens to an effectful call that was interrupted after it had
	// begun, if the tool cannot find out whether it took effect; see [Prober].
	InDoubt DoubtPolicy `json:"in_doubt,omitempty"`
	// Untrusted says that results may hold text of authors who want to instruct the model, such as
	// web pages. A result taints the run; see [Taint].
	Untrusted bool `json:"untrusted,omitempty"`
	// Egress says where calls carry data to. The default is any host: a tool that carries none out says so. A tool whose
	// arguments decide is [Destined].
	Egress Egress `json:"egress,omitzero"`
	// Timeout limits the duration of a call. 0 means engine.Limits.ToolTimeout.
	Timeout time.Duration `json:"-"`
	// MaxResultBytes limits the size of a result. 0 means engine.Limits.ToolResultBytes.
	MaxResultBytes int `json:"-"`
}

// EffectClass classifies the side effects of a tool.
type EffectClass string

const (
	// Effectful calls have a side effect, and a second call has it again. The runtime
	// records the call before it starts, and never repeats it silently.
	Effectful EffectClass = ""
	// Idempotent calls have a side effect once, however often they are repeated with the
	// same ToolCall.Key. So do calls that have all their side effects in steps; see [Step].
	Idempotent EffectClass = "idempotent"
	// ReadOnly calls have no side effect.
	ReadOnly EffectClass = "read_only"
)

// DoubtPolicy says what happens to an effectful call whose outcome is unknown. The runtime
// never repeats such a call silently.
type DoubtPolicy string

const (
	DoubtTell    DoubtPolicy = ""        // tell the model, which decides
	DoubtSuspend DoubtPolicy = "suspend" // ask a person; an approval repeats the call
)

// Prober is a tool that can find out whether an interrupted call took effect. The runtime
// asks it about effectful calls, before it resorts to ToolSpec.InDoubt.
type Prober interface {
	// Probe looks for the effect of the call with call.Key. It has no side effect. An
	// error counts as an unknown outcome.
	Probe(ctx context.Context, call *ToolCall) (Probe, error)
}

// Probe is the finding of a [Prober]. The zero Probe means that the outcome is unknown.
type Probe struct {
	Outcome ProbeOutcome
	Result  *ToolResult // of the call, if Outcome is ProbeDone
}

// ProbeOutcome says whether a call took effect.
type ProbeOutcome uint8

const (
	_         ProbeOutcome = iota // unknown
	ProbeDone                     // the call took effect
	// ProbeNotDone means that the call did not take effect. The runtime relies on it only
	// when the call can no longer take effect: after its timeout plus a margin
	// that covers how long a lost worker may take itself for the owner.
	ProbeNotDone
)

// String returns done, not_done or "".
func (o ProbeOutcome) String() string {
	switch o {
	case ProbeDone:
		return "done"
	case ProbeNotDone:
		return "not_done"
	}
	return ""
}

// MarshalText implements [encoding.TextMarshaler].
func (o ProbeOutcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. What it does not know is unknown.
func (o *ProbeOutcome) UnmarshalText(text []byte) error {
	*o = 0
	for _, known := range []ProbeOutcome{ProbeDone, ProbeNotDone} {
		if string(text) == known.String() {
			*o = known
		}
	}
	return nil
}

// ToolCall is one call of a tool. The tool reads state from it and records updates in it,
// which are committed with the result. The keys must be registered, by a plugin or in
// engine.Config.Keys. Concurrent calls must not write the same exclusive key: the later one
// fails, although the tool has run. A ToolCall is valid until Call returns. Progress, Activity,
// ActivityDelta, Output, Taint and ReadTainted are safe for concurrent use; recording in the Command is not.
type ToolCall struct {
	ID   string          // the id that the model gave the call
	Tool string          // the tool's id
	Args json.RawMessage // valid according to the tool's schema
	// Key identifies the call: a call that is repeated after a crash has the same key. Pass
	// it to other systems as an idempotency key.
	Key   string
	Run   *RunInfo
	Agent *AgentSpec
	// Resume is the decision that resumed a suspended call, or nil.
	Resume  *Resumption
	Profile profile.Store // nil if the runtime has none
	Tools   []llm.Tool    // all tools offered to the model, before the filters of the step
	Host    Host          // the runtime; nil in a test that calls the tool directly
	Egress  Egress        // where the call can carry data to
	Effect  EffectClass   // of the tool; Effectful if it is not known

	state.Snapshot // the state that the call reads
	Command        // the updates that it records

	emit  func(Event) // nil before the call begins
	taint interface { // nil outside of a run
		Taint() *Taint
		ReadTainted(t *Taint)
	}
	steps interface { // nil if steps are not recorded
		Step(ctx context.Context, call *ToolCall, name string, effect EffectClass, fn func(ctx context.Context, key string) (json.RawMessage, error)) (json.RawMessage, error)
	}
}

// EmitTo sends the events of the call to f: progress, activities and output. Without it they
// are dropped. It is for code that calls tools: the runtime, or the test of a tool.
func (c *ToolCall) EmitTo(f func(Event)) { c.emit = f }

// TaintBy makes m keep the taint of the call's run. It is for code that calls tools.
func (c *ToolCall) TaintBy(m interface {
	Taint() *Taint
	ReadTainted(t *Taint)
}) {
	c.taint = m
}

// Taint returns what has tainted the run, up to what the call itself has read, or nil. A tool that keeps data in a store of its
// own keeps this with it, and passes it to ReadTainted when it reads the data. It is safe for concurrent use.
func (c *ToolCall) Taint() *Taint {
	if c.taint == nil {
		return nil
	}
	return c.taint.Taint()
}

// ReadTainted says that the call has read what a tainted run wrote, which taints its run. Nil is ignored. It is safe for
// concurrent use.
func (c *ToolCall) ReadTainted(t *Taint) {
	if t == nil || c.taint == nil {
		return
	}
	read := *t
	read.ReadBy = c.ID
	c.taint.ReadTainted(&read)
}

// Resumption is the decision on a suspended call, as its tool and its gates see it.
type Resumption struct {
	Decision
	SuspensionID string
	Asked        string // the question, Suspension.Message
}

// Progress reports the progress of the call to clients. It sets the fields of p that identify
// the call and the run. A later report replaces it.
func (c *ToolCall) Progress(p Progress) {
	p.Schema = progressSchema
	p.NodeID = "tool_call:" + c.ID
	p.CallID, p.ToolName = c.ID, c.Tool
	run := c.Run
	if run == nil { // in a test that calls the tool directly
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
		return // NaN has no JSON; a progress report may be lost
	}
	c.show(&ActivitySnapshot{MessageID: p.NodeID, ActivityType: ProgressActivity, Content: content, Replace: new(true)})
}

// Activity shows content, encoded as JSON, to clients under a type of the tool's choice. A
// later call with the same type replaces it.
func (c *ToolCall) Activity(activityType string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("activity %q: %w", activityType, err)
	}
	c.show(&ActivitySnapshot{MessageID: "tool_call:" + c.ID, ActivityType: activityType, Content: data, Replace: new(true)})
	return nil
}

// ActivityDelta changes the content of an Activity by JSON Patch operations.
func (c *ToolCall) ActivityDelta(activityType string, patch ...PatchOp) {
	c.show(&ActivityDelta{MessageID: "tool_call:" + c.ID, ActivityType: activityType, Patch: patch})
}

// Output streams a piece of output to clients while the tool runs. It is not part of the
// result.
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

// Progress describes the progress of a tool call. A tool sets Status, Message, and Progress or
// Loaded and Total; [ToolCall.Progress] sets the rest, except a ParentNodeID that is set.
type Progress struct {
	Schema       string   `json:"schema"`
	NodeID       string   `json:"node_id"` // of the call in the tree of runs and calls
	CallID       string   `json:"call_id"`
	ToolName     string   `json:"tool_name"`
	Status       string   `json:"status"`             // pending, running, done, failed or cancelled; "" means running
	Progress     *float64 `json:"progress,omitempty"` // share that is done, 0 to 1
	Loaded       *float64 `json:"loaded,omitempty"`   // amount that is done, in the tool's unit
	Total        *float64 `json:"total,omitempty"`    // the whole amount, in the same unit
	Message      string   `json:"message,omitempty"`  // for people
	ParentNodeID string   `json:"parent_node_id,omitempty"`
	ParentCallID string   `json:"parent_call_id,omitempty"`
	RunID        string   `json:"run_id,omitempty"`
	ParentRunID  string   `json:"parent_run_id,omitempty"`
	ThreadID     string   `json:"thread_id,omitempty"`
}

// NewTool returns a tool that decodes its arguments into In, calls fn, and encodes Out as the
// result. If spec.Parameters is nil, the JSON Schema is derived from In: `json` tags name the
// properties, `jsonschema` tags describe them. The runtime checks the arguments against the
// schema before it calls the tool. If Out is *ToolResult, fn controls the whole result.
//
// A `jsonschema` tag is the description of a property, or a list of constraints that may end
// with a description. The constraints of a slice apply to its elements:
//
//	Unit  string   `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit,description=unit of the result"`
//	Days  int      `json:"days" jsonschema:"minimum=1,maximum=14"`
//	Parts []string `json:"parts" jsonschema:"enum=wind,enum=rain"`
//
// Types may be recursive.
//
// NewTool panics if spec has no ID, In does not decode JSON objects, or In has no schema; all
// are programming errors.
func NewTool[In, Out any](spec ToolSpec, fn func(ctx context.Context, call *ToolCall, in In) (Out, error)) Tool {
	if spec.ID == "" {
		panic("awaken: a tool needs an ID")
	}
	spec.Name = cmp.Or(spec.Name, spec.ID)
	if t := reflect.TypeFor[In](); spec.Parameters != nil && !takesObjects(t) {
		panic(fmt.Sprintf("awaken: tool %q: %v cannot hold the arguments, which are a JSON object; want a struct or a map", spec.ID, t))
	}
	if spec.Parameters == nil {
		raw, err := schema.ForObject(reflect.TypeFor[In]())
		if err != nil {
			panic(fmt.Sprintf("awaken: tool %q: no schema for %v: %v", spec.ID, reflect.TypeFor[In](), err))
		}
		spec.Parameters = raw
	}
	return &typedTool[In, Out]{spec, fn}
}

// takesObjects reports whether a JSON object can be decoded into a t.
func takesObjects(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer:
		return takesObjects(t.Elem())
	case reflect.Struct, reflect.Map, reflect.Interface:
		return true
	}
	return false
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

// FrontendTool returns a tool that the client runs: a call suspends the run, and the result of
// the client's [Decision] becomes the result of the call.
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
