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

// Event is an event of a run. Events are immutable; sinks may keep them. [AppendEvent] encodes
// an event as JSON, [UnmarshalEvent] decodes it. An Event is one of
//
//	*RunStart                 run_start                  an activation of the run begins
//	*StepStart                step_start                 a step begins
//	*ReasoningDelta           reasoning_delta            a piece of the model's reasoning
//	*ReasoningEncryptedValue  reasoning_encrypted_value  reasoning that only the provider can read
//	*TextDelta                text_delta                 a piece of the model's answer
//	*ToolCallStart            tool_call_start            the model begins a tool call
//	*ToolCallDelta            tool_call_delta            a piece of the call's arguments
//	*ToolCallReady            tool_call_ready            the call is complete
//	*ToolCallCancel           tool_call_cancel           the call is withdrawn
//	*StreamReset              stream_reset               deltas are withdrawn
//	*InferenceComplete        inference_complete         the model has finished its answer
//	*ToolCallStreamDelta      tool_call_stream_delta     a piece of a tool's output
//	*ActivitySnapshot         activity_snapshot          progress, or another activity
//	*ActivityDelta            activity_delta             a change of an activity
//	*ToolCallDone             tool_call_done             a call has its result, or is suspended
//	*ToolCallResumed          tool_call_resumed          a suspended call has its result
//	*StateDelta               state_delta                changes of the state
//	*StateSnapshot            state_snapshot             the whole state
//	*MessagesSnapshot         messages_snapshot          the conversation was rewritten
//	*StepEnd                  step_end                   the step is stored
//	*RunFinish                run_finish                 the activation ends
//	*Error                    error                      the run could not start
//
// or, in a log to which a process of a later version wrote, one of another type.
type Event interface {
	// Type returns the event's name in JSON.
	Type() string
	event()
}

// RunStart begins an activation of a run: its start, or a continuation.
type RunStart struct {
	ThreadID    string   `json:"thread_id"`
	RunID       string   `json:"run_id"`
	ParentRunID string   `json:"parent_run_id,omitempty"`
	Identity    *RunInfo `json:"identity,omitempty"`
	// Request has what the activation was given beside messages and decisions, which neither the log nor the record of the run has: the Seed and the
	// Context of its request. It is nil if there was neither.
	Request *RunRequest `json:"request,omitempty"`
	// End is the termination of an activation that does nothing but end the run, before it started or while it waited. It is nil in any other.
	End *Termination `json:"end,omitempty"`
}

// UnmarshalJSON ignores unknown fields of the request too.
func (e *RunStart) UnmarshalJSON(data []byte) error {
	type plain RunStart
	type request RunRequest // without its methods
	w := struct {
		*plain
		Request *request `json:"request"`
	}{plain: (*plain)(e)}
	err := json.Unmarshal(data, &w)
	e.Request = (*RunRequest)(w.Request)
	return err
}

// RunFinish ends the activation that RunStart began. A waiting run ends each activation with
// the termination [Suspended]; exactly one RunFinish of a run has another termination.
type RunFinish struct {
	ThreadID    string      `json:"thread_id"`
	RunID       string      `json:"run_id"`
	Identity    *RunInfo    `json:"identity,omitempty"`
	Result      *RunOutput  `json:"result,omitempty"`
	Termination Termination `json:"termination"`
}

// RunOutput is the output of a run when it ends or waits.
type RunOutput struct {
	Response     string    `json:"response"` // text of the last answer
	Status       RunStatus `json:"status"`
	StatusReason string    `json:"status_reason,omitempty"`
	Waiting      *Waiting  `json:"waiting,omitempty"` // what the run waits for, if it is suspended
	// StructuredOutput is the answer, if it fits the output schema.
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`
	Usage            llm.Usage       `json:"usage,omitzero"` // total of the run so far
	CostUSD          float64         `json:"cost_usd,omitempty"`
	// FinishReason says why the model stopped its last answer. MaxTokens means that it is cut off.
	FinishReason llm.FinishReason `json:"finish_reason,omitempty"`
	// Diagnostics are problems that did not end the run; see Run.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
}

// TextDelta is a piece of the model's answer.
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

// ToolCallStart announces that the model has begun a tool call.
type ToolCallStart struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ToolCallDelta is a piece of the JSON of a call's arguments.
type ToolCallDelta struct {
	ID        string `json:"id"`
	ArgsDelta string `json:"args_delta"`
}

// ToolCallReady announces that a call is complete and will be processed.
type ToolCallReady struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ToolCallDone is the result of a call. If the call is suspended, its final result follows as
// a ToolCallResumed.
type ToolCallDone struct {
	ID        string      `json:"id"`
	MessageID string      `json:"message_id"` // of the tool message; "" if suspended
	Result    *ToolResult `json:"result"`
	Outcome   CallStatus  `json:"outcome"` // succeeded, failed or suspended
	// Arguments are the call's arguments if a gate replaced the model's, or nil.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Writes is what the call did to its run, or nil if it did nothing.
	Writes *CallWrites `json:"writes,omitempty"`
}

// ToolCallStreamDelta is a piece of the output that a tool streams while it runs.
type ToolCallStreamDelta struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Delta string `json:"delta"`
}

// ToolCallResumed is the final result of a call that was suspended.
type ToolCallResumed struct {
	TargetID  string          `json:"target_id"`
	Result    json.RawMessage `json:"result"`
	MessageID string          `json:"message_id,omitempty"` // of the tool message
	Outcome   CallStatus      `json:"outcome,omitempty"`    // succeeded, failed or cancelled
	// Decision is the decision that let the call continue, or refused it. It is nil if there was
	// none, as for a call that waited for a child run.
	Decision *Decided `json:"decision,omitempty"`
	// Doubt says that it is not known whether the call took effect, or how that was settled.
	Doubt *Doubt `json:"doubt,omitempty"`
	// Writes is what the call did to its run since it continued, or nil if it did nothing.
	Writes *CallWrites `json:"writes,omitempty"`
}

// ToolCallCancel withdraws a ToolCallStart: the call will not run.
type ToolCallCancel struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Cut says why the answer was cut off: max_tokens, interrupted, or overspent if it cost more than was reserved. The model may be
	// asked to continue it. It is "" if the answer was not.
	Cut string `json:"cut,omitempty"`
}

// StreamReset withdraws the deltas since the last StepStart or, if Cursor is set, all events
// after that cursor.
type StreamReset struct {
	Reason string `json:"reason"`           // for people
	Cursor string `json:"cursor,omitempty"` // see ParseCursor
	// Kind is the kind of the model's error that Reason is the text of, or "".
	Kind llm.Kind `json:"kind,omitempty"`
}

// ActivitySnapshot shows an activity, such as the progress of a tool call, beside the
// conversation.
type ActivitySnapshot struct {
	MessageID    string          `json:"message_id"`        // with ActivityType, identifies the activity
	ActivityType string          `json:"activity_type"`     // ProgressActivity, or a type that a tool has chosen
	Content      json.RawMessage `json:"content"`           // for ProgressActivity, a Progress
	Replace      *bool           `json:"replace,omitempty"` // whether it replaces an earlier snapshot of the activity
}

// ActivityDelta changes the content of the ActivitySnapshot with the same MessageID and
// ActivityType.
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

// StepStart begins a step. MessageID is the id of the step's assistant message. It follows from the
// run and the step: a step that is begun again, because its owner was lost, has the same.
type StepStart struct {
	MessageID string `json:"message_id"`
}

// StepEnd ends a step. Its changes are stored.
type StepEnd struct{}

// InferenceComplete announces that the model has finished its answer.
type InferenceComplete struct {
	Model      string     `json:"model"` // the provider's name for the model
	Usage      *llm.Usage `json:"usage,omitempty"`
	DurationMS int64      `json:"duration_ms" time:"ms"`
	CostUSD    float64    `json:"cost_usd,omitempty"` // by the prices of the model that answered
	// FinishReason says why the model stopped. It is empty if the answer broke off.
	FinishReason llm.FinishReason `json:"finish_reason,omitempty"`
	// Composition says what the request was made of. It is nil if nothing was added, left out or changed.
	Composition *llm.Composition `json:"composition,omitempty"`
	// Request has the digests of the first request of the step, as it was before the budget limited it. It is nil if no model was asked.
	Request *llm.RequestDigest `json:"request,omitempty"`
}

// StateSnapshot is the state of the run and the thread. In the process of the run, keys can
// be read from it: key.Get(ev.Snapshot).
type StateSnapshot struct {
	Snapshot state.Snapshot `json:"snapshot"`
}

// StateDelta holds the changes of the state since the last StateSnapshot or StateDelta.
type StateDelta struct {
	Delta []PatchOp `json:"delta"` // applies to the JSON of the snapshot
}

// MessagesSnapshot is the conversation as clients see it. It is sent when the conversation
// changed in another way than by growing.
type MessagesSnapshot struct {
	Messages []*llm.Message `json:"messages"`
}

// Error reports that a run could not start. It is the only event of that run.
type Error struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"` // kind of error, for programs: invalid_request, not_found, busy, conflict and others
	// RetryAfterMS is when another try may succeed, if that is known: after a provider asked for a pause, or
	// while the model's breaker is open.
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
}

// Type implements [Event], as the method Type of every other event does.
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

// eventTypes holds the types of events, by their names in JSON.
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

// unknownEvent is an event that a process of a later version wrote to the same log. Readers skip
// it, as they skip events that do not concern them, and encoding returns it as it was.
type unknownEvent struct {
	name string
	data []byte // compact
}

func (e *unknownEvent) Type() string { return e.name }
func (*unknownEvent) event()         {}

// AppendEvent appends ev to buf as JSON, with the type first, as "event_type". After an error
// it returns buf unchanged.
func AppendEvent(buf []byte, ev Event) ([]byte, error) {
	if u, ok := ev.(*unknownEvent); ok {
		return append(buf, u.data...), nil
	}
	out := append(append(append(buf, `{"event_type":"`...), ev.Type()...), '"')
	out, err := appendEventFields(out, ev)
	if err != nil {
		return buf, fmt.Errorf("encode %s event: %w", ev.Type(), err)
	}
	return append(out, '}'), nil
}

// appendEventFields appends an event's fields, each after a comma. Rare events are left to
// encoding/json.
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
		if len(ev.Arguments) > 0 {
			buf = e.keep(appendjson.Raw(buf, `,"arguments":`, ev.Arguments))
		}
		buf = e.valueIf(ev.Writes != nil, buf, `,"writes":`, ev.Writes)
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
		buf = appendjson.TextIf(buf, `,"finish_reason":`, ev.FinishReason)
		if ev.Composition != nil {
			body, err := json.Marshal(ev.Composition)
			if err != nil {
				return nil, err
			}
			buf = append(append(buf, `,"composition":`...), body...)
		}
		if d := ev.Request; d != nil {
			buf = appendjson.Text(buf, `,"request":{"prompt":`, d.Prompt)
			buf = appendjson.Text(buf, `,"tools":`, d.Tools)
			buf = appendjson.Text(buf, `,"parameters":`, d.Parameters)
			buf = appendjson.Text(buf, `,"messages":`, d.Messages)
			buf = append(appendjson.IntIf(buf, `,"version":`, d.Version), '}')
		}
	case *StateSnapshot:
		buf = e.keep(ev.Snapshot.AppendJSON(append(buf, `,"snapshot":`...)))
	case *RunStart:
		buf = appendjson.Text(buf, `,"thread_id":`, ev.ThreadID)
		buf = appendjson.Text(buf, `,"run_id":`, ev.RunID)
		buf = appendjson.TextIf(buf, `,"parent_run_id":`, ev.ParentRunID)
		buf = ev.Identity.appendField(buf)
		if ev.Request != nil {
			body, err := json.Marshal(ev.Request)
			if err != nil {
				return nil, err
			}
			buf = append(append(buf, `,"request":`...), body...)
		}
		if ev.End != nil {
			buf = ev.End.append(append(buf, `,"end":`...))
		}
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
		buf = append(append(buf, ','), body[1:len(body)-1]...) // each of these has at least one field
	}
	return buf, e.err
}

// UnmarshalEvent decodes the result of AppendEvent. A process of a later version may have written to the same log: unknown fields are
// ignored, and an event of an unknown type is one that no reader knows and that AppendEvent encodes as it was.
func UnmarshalEvent(data []byte) (Event, error) {
	var fields map[string]json.RawMessage
	if err := strict.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	if fields == nil {
		return nil, fmt.Errorf("event is %.80s, want an object", bytes.TrimSpace(data))
	}
	var name string
	if err := json.Unmarshal(fields["event_type"], &name); err != nil {
		return nil, fmt.Errorf(`event: field "event_type" is missing or not a string`)
	}
	t, ok := eventTypes[name]
	if !ok {
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			return nil, fmt.Errorf("event: %w", err)
		}
		return &unknownEvent{name, compact.Bytes()}, nil
	}
	delete(fields, "event_type")
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	ev := reflect.New(t).Interface().(Event)
	if err := strict.UnmarshalKnown(body, ev); err != nil {
		return nil, fmt.Errorf("%s event: %w", name, err)
	}
	if f, ok := ev.(*RunFinish); ok && f.Termination == (Termination{}) {
		return nil, fmt.Errorf(`%s event: field "termination" is missing`, name)
	}
	return ev, nil
}
