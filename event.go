package awaken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Event is something that happened in a run. Events are immutable and may be kept.
// [AppendEvent] and [UnmarshalEvent] are their JSON. It is one of
//
//	*RunStart                 run_start                  an activation begins
//	*StepStart                step_start                 a step begins
//	*ReasoningDelta           reasoning_delta            a piece of reasoning
//	*ReasoningEncryptedValue  reasoning_encrypted_value  reasoning for its provider only
//	*TextDelta                text_delta                 a piece of the answer
//	*ToolCallStart            tool_call_start            the model begins to ask for a tool
//	*ToolCallDelta            tool_call_delta            a piece of the arguments
//	*ToolCallReady            tool_call_ready            the call is complete
//	*ToolCallCancel           tool_call_cancel           the call is taken back
//	*StreamReset              stream_reset               deltas are taken back
//	*InferenceComplete        inference_complete         the model is done
//	*ToolCallStreamDelta      tool_call_stream_delta     a piece of a tool's output
//	*ActivitySnapshot         activity_snapshot          what is going on, and progress
//	*ActivityDelta            activity_delta             a change of it
//	*ToolCallDone             tool_call_done             a call came out, or waits
//	*ToolCallResumed          tool_call_resumed          a call that waited came out
//	*StateDelta               state_delta                the state changed
//	*StateSnapshot            state_snapshot             the whole state
//	*MessagesSnapshot         messages_snapshot          the conversation was rewritten
//	*StepEnd                  step_end                   the step is stored
//	*RunFinish                run_finish                 the activation is over
//	*Error                    error                      the run could not be started
type Event interface {
	// Type is the event's name in JSON.
	Type() string
	event()
}

// RunStart opens a run, and opens it again when a waiting run is resumed.
type RunStart struct {
	ThreadID    string   `json:"thread_id"`
	RunID       string   `json:"run_id"`
	ParentRunID string   `json:"parent_run_id,omitempty"`
	Identity    *RunInfo `json:"identity,omitempty"`
}

// RunFinish ends what RunStart opened. Every RunStart has exactly one, and exactly
// one of a run's is not suspended.
type RunFinish struct {
	ThreadID    string      `json:"thread_id"`
	RunID       string      `json:"run_id"`
	Identity    *RunInfo    `json:"identity,omitempty"`
	Result      *RunOutput  `json:"result,omitempty"`
	Termination Termination `json:"termination"`
}

// RunOutput is what a run has to show when it finishes or waits.
type RunOutput struct {
	Response     string    `json:"response"` // text of the last answer
	Status       RunStatus `json:"status"`
	StatusReason string    `json:"status_reason,omitempty"`
	Waiting      *Waiting  `json:"waiting,omitempty"` // whom it waits for, when suspended
	// StructuredOutput is the answer that fits the output schema.
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`
	Usage            llm.Usage       `json:"usage,omitzero"` // of the run so far
	CostUSD          float64         `json:"cost_usd,omitempty"`
}

// TextDelta is a piece of the answer.
type TextDelta struct {
	Delta string `json:"delta"`
}

// ReasoningDelta is a piece of the model's reasoning.
type ReasoningDelta struct {
	Delta string `json:"delta"`
}

// ReasoningEncryptedValue is reasoning that only its provider can read.
type ReasoningEncryptedValue struct {
	EncryptedValue string `json:"encrypted_value"`
}

// ToolCallStart says that the model began to ask for a tool.
type ToolCallStart struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ToolCallDelta is a piece of the arguments' JSON.
type ToolCallDelta struct {
	ID        string `json:"id"`
	ArgsDelta string `json:"args_delta"`
}

// ToolCallReady says that a call is complete and will be looked at.
type ToolCallReady struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ToolCallDone says how a call came out. A suspended call is done for this
// activation; what follows is a ToolCallResumed.
type ToolCallDone struct {
	ID        string      `json:"id"`
	MessageID string      `json:"message_id"` // of the tool message; "" when suspended
	Result    *ToolResult `json:"result"`
	Outcome   CallStatus  `json:"outcome"` // succeeded, failed, suspended
}

// ToolCallStreamDelta is a piece of a tool's output while it runs.
type ToolCallStreamDelta struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Delta string `json:"delta"`
}

// ToolCallResumed says how a call that had been suspended came out.
type ToolCallResumed struct {
	TargetID  string          `json:"target_id"`
	Result    json.RawMessage `json:"result"`
	MessageID string          `json:"message_id,omitempty"` // of the tool message
	Outcome   CallStatus      `json:"outcome,omitempty"`    // succeeded, failed, cancelled
}

// ToolCallCancel takes back a ToolCallStart: the call will not be made.
type ToolCallCancel struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// StreamReset takes back the deltas since the last StepStart, or, if it names a
// cursor, everything after that.
type StreamReset struct {
	Reason string `json:"reason"`
	Cursor string `json:"cursor,omitempty"`
}

// ActivitySnapshot shows what is going on, beside the conversation.
type ActivitySnapshot struct {
	MessageID    string          `json:"message_id"`
	ActivityType string          `json:"activity_type"`
	Content      json.RawMessage `json:"content"`
	Replace      *bool           `json:"replace,omitempty"`
}

// ActivityDelta changes what an ActivitySnapshot showed.
type ActivityDelta struct {
	MessageID    string    `json:"message_id"`
	ActivityType string    `json:"activity_type"`
	Patch        []PatchOp `json:"patch"`
}

// PatchOp is one operation of a JSON Patch (RFC 6902).
type PatchOp struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// StepStart opens a step. MessageID is the id the step's assistant message will have.
type StepStart struct {
	MessageID string `json:"message_id"`
}

// StepEnd closes a step; what it did is stored.
type StepEnd struct{}

// InferenceComplete says that the model is done answering.
type InferenceComplete struct {
	Model      string     `json:"model"`
	Usage      *llm.Usage `json:"usage,omitempty"`
	DurationMS int64      `json:"duration_ms"`
	CostUSD    float64    `json:"cost_usd,omitempty"` // by the prices of the model that answered
}

// StateSnapshot is the state of the run and the thread. In the process that ran it,
// keys can be read from it: key.Get(ev.Snapshot).
type StateSnapshot struct {
	Snapshot state.Snapshot `json:"snapshot"`
}

// StateDelta is how the state changed since the last StateSnapshot or StateDelta.
type StateDelta struct {
	Delta []PatchOp `json:"delta"`
}

// MessagesSnapshot is the conversation as API consumers see it, sent when it
// changed other than by growing.
type MessagesSnapshot struct {
	Messages []*llm.Message `json:"messages"`
}

// Error says that a run could not even be started. It is the only event then.
type Error struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

func (*RunStart) Type() string                { return "run_start" }
func (*RunFinish) Type() string               { return "run_finish" }
func (*TextDelta) Type() string               { return "text_delta" }
func (*ReasoningDelta) Type() string          { return "reasoning_delta" }
func (*ReasoningEncryptedValue) Type() string { return "reasoning_encrypted_value" }
func (*ToolCallStart) Type() string           { return "tool_call_start" }
func (*ToolCallDelta) Type() string           { return "tool_call_delta" }
func (*ToolCallReady) Type() string           { return "tool_call_ready" }
func (*ToolCallDone) Type() string            { return "tool_call_done" }
func (*ToolCallStreamDelta) Type() string     { return "tool_call_stream_delta" }
func (*ToolCallResumed) Type() string         { return "tool_call_resumed" }
func (*ToolCallCancel) Type() string          { return "tool_call_cancel" }
func (*StreamReset) Type() string             { return "stream_reset" }
func (*ActivitySnapshot) Type() string        { return "activity_snapshot" }
func (*ActivityDelta) Type() string           { return "activity_delta" }
func (*StepStart) Type() string               { return "step_start" }
func (*StepEnd) Type() string                 { return "step_end" }
func (*InferenceComplete) Type() string       { return "inference_complete" }
func (*StateSnapshot) Type() string           { return "state_snapshot" }
func (*StateDelta) Type() string              { return "state_delta" }
func (*MessagesSnapshot) Type() string        { return "messages_snapshot" }
func (*Error) Type() string                   { return "error" }

func (*RunStart) event()                {}
func (*RunFinish) event()               {}
func (*TextDelta) event()               {}
func (*ReasoningDelta) event()          {}
func (*ReasoningEncryptedValue) event() {}
func (*ToolCallStart) event()           {}
func (*ToolCallDelta) event()           {}
func (*ToolCallReady) event()           {}
func (*ToolCallDone) event()            {}
func (*ToolCallStreamDelta) event()     {}
func (*ToolCallResumed) event()         {}
func (*ToolCallCancel) event()          {}
func (*StreamReset) event()             {}
func (*ActivitySnapshot) event()        {}
func (*ActivityDelta) event()           {}
func (*StepStart) event()               {}
func (*StepEnd) event()                 {}
func (*InferenceComplete) event()       {}
func (*StateSnapshot) event()           {}
func (*StateDelta) event()              {}
func (*MessagesSnapshot) event()        {}
func (*Error) event()                   {}

// eventTypes are the types of events, by their names in JSON.
var eventTypes = func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, ev := range []Event{
		(*RunStart)(nil), (*RunFinish)(nil), (*TextDelta)(nil), (*ReasoningDelta)(nil), (*ReasoningEncryptedValue)(nil),
		(*ToolCallStart)(nil), (*ToolCallDelta)(nil), (*ToolCallReady)(nil), (*ToolCallDone)(nil), (*ToolCallStreamDelta)(nil),
		(*ToolCallResumed)(nil), (*ToolCallCancel)(nil), (*StreamReset)(nil), (*ActivitySnapshot)(nil), (*ActivityDelta)(nil),
		(*StepStart)(nil), (*StepEnd)(nil), (*InferenceComplete)(nil), (*StateSnapshot)(nil), (*StateDelta)(nil),
		(*MessagesSnapshot)(nil), (*Error)(nil),
	} {
		types[ev.Type()] = reflect.TypeOf(ev).Elem()
	}
	return types
}()

// AppendEvent appends ev to buf as JSON, its type first under "event_type". After an error, buf is as it was.
func AppendEvent(buf []byte, ev Event) ([]byte, error) {
	out := append(append(append(buf, `{"event_type":"`...), ev.Type()...), '"')
	out, err := appendEventFields(out, ev)
	if err != nil {
		return buf, fmt.Errorf("encode %s event: %w", ev.Type(), err)
	}
	return append(out, '}'), nil
}

// appendEventFields appends an event's fields, each after a comma. Events that a run has
// only a few of are left to encoding/json.
func appendEventFields(buf []byte, ev Event) ([]byte, error) {
	var e firstError
	switch ev := ev.(type) {
	case *TextDelta:
		buf = appendjson.Text(buf, `,"delta":`, ev.Delta)
	case *ReasoningDelta:
		buf = appendjson.Text(buf, `,"delta":`, ev.Delta)
	case *ToolCallStart:
		buf = appendjson.Text(buf, `,"id":`, ev.ID)
		buf = appendjson.Text(buf, `,"name":`, ev.Name)
	case *ToolCallDelta:
		buf = appendjson.Text(buf, `,"id":`, ev.ID)
		buf = appendjson.Text(buf, `,"args_delta":`, ev.ArgsDelta)
	case *ToolCallReady:
		buf = appendjson.Text(buf, `,"id":`, ev.ID)
		buf = appendjson.Text(buf, `,"name":`, ev.Name)
		buf = e.keep(appendjson.Raw(buf, `,"arguments":`, ev.Arguments))
	case *ToolCallDone:
		buf = appendjson.Text(buf, `,"id":`, ev.ID)
		buf = appendjson.Text(buf, `,"message_id":`, ev.MessageID)
		buf = e.keep(ev.Result.appendField(buf))
		buf = appendjson.Text(buf, `,"outcome":`, ev.Outcome)
	case *ToolCallStreamDelta:
		buf = appendjson.Text(buf, `,"id":`, ev.ID)
		buf = appendjson.Text(buf, `,"name":`, ev.Name)
		buf = appendjson.Text(buf, `,"delta":`, ev.Delta)
	case *StepStart:
		buf = appendjson.Text(buf, `,"message_id":`, ev.MessageID)
	case *StepEnd:
	case *InferenceComplete:
		buf = appendjson.Text(buf, `,"model":`, ev.Model)
		if ev.Usage != nil {
			buf = ev.Usage.AppendJSON(append(buf, `,"usage":`...))
		}
		buf = appendjson.Int(buf, `,"duration_ms":`, ev.DurationMS)
		buf = e.keep(appendjson.FloatIf(buf, `,"cost_usd":`, ev.CostUSD))
	case *StateSnapshot:
		buf = e.keep(ev.Snapshot.AppendJSON(append(buf, `,"snapshot":`...)))
	case *RunStart:
		buf = appendjson.Text(buf, `,"thread_id":`, ev.ThreadID)
		buf = appendjson.Text(buf, `,"run_id":`, ev.RunID)
		buf = appendjson.TextIf(buf, `,"parent_run_id":`, ev.ParentRunID)
		buf = ev.Identity.appendField(buf)
	case *RunFinish:
		buf = appendjson.Text(buf, `,"thread_id":`, ev.ThreadID)
		buf = appendjson.Text(buf, `,"run_id":`, ev.RunID)
		buf = ev.Identity.appendField(buf)
		buf = e.keep(ev.Result.appendField(buf))
		buf = ev.Termination.append(append(buf, `,"termination":`...))
	default:
		body, err := json.Marshal(ev)
		if err != nil {
			return nil, err
		}
		buf = append(append(buf, ','), body[1:len(body)-1]...) // each of these has a field
	}
	return buf, e.err
}

// UnmarshalEvent reads what AppendEvent wrote. Unknown types and fields are errors.
func UnmarshalEvent(data []byte) (Event, error) {
	var fields map[string]json.RawMessage
	if err := strict.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	if fields == nil {
		return nil, fmt.Errorf("event: got %s, want an object", bytes.TrimSpace(data))
	}
	var name string
	if err := json.Unmarshal(fields["event_type"], &name); err != nil {
		return nil, fmt.Errorf(`event: field "event_type" is missing or not a string`)
	}
	t, ok := eventTypes[name]
	if !ok {
		return nil, fmt.Errorf("event: unknown event_type %q", name)
	}
	delete(fields, "event_type")
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	ev := reflect.New(t).Interface().(Event)
	if err := strict.Unmarshal(body, ev); err != nil {
		return nil, fmt.Errorf("%s event: %w", name, err)
	}
	if f, ok := ev.(*RunFinish); ok && f.Termination == (Termination{}) {
		return nil, fmt.Errorf(`%s event: field "termination" is missing`, name)
	}
	return ev, nil
}
