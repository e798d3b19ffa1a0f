package builtin

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/state"
)

// Lifecycle is the status of a run.
type Lifecycle struct {
	RunID        string           `json:"run_id"`
	Status       awaken.RunStatus `json:"status"`
	StatusReason string           `json:"status_reason,omitempty"`
	UpdatedAt    int64            `json:"updated_at" time:"ms"` // Unix ms
	StepCount    int              `json:"step_count"`
	Taint        *awaken.Taint    `json:"taint,omitempty"` // nil if the run has read no untrusted content
}

// Calls are the tool calls of a run's latest step, ordered by index.
type Calls []*awaken.CallState

// MarshalJSON encodes the calls as {"calls": {id: call}}.
func (c Calls) MarshalJSON() ([]byte, error) { return appendCalls(nil, c) }

// UnmarshalJSON decodes the result of MarshalJSON.
func (c *Calls) UnmarshalJSON(data []byte) error {
	var w struct {
		Calls map[string]*awaken.CallState `json:"calls"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*c = slices.SortedFunc(maps.Values(w.Calls), func(a, b *awaken.CallState) int { return a.Index - b.Index })
	return nil
}

// State keys that plugins may read, and write unless their comment says otherwise.
var (
	// RunLifecycle is the status of the run. Only the runtime writes it.
	RunLifecycle = state.NewValue[Lifecycle]("__runtime.run_lifecycle", state.Options{Derived: true}).EncodedBy(appendLifecycle)
	// ToolCallStates holds the calls of the latest step. Only the runtime writes it.
	ToolCallStates = state.NewValue[Calls]("__runtime.tool_call_states", state.Options{Scope: state.Thread, Derived: true}).EncodedBy(appendCalls)
	// ActiveAgent is the id of the agent that the thread was handed to. Updating it hands
	// the run to that agent at the next step.
	ActiveAgent = state.NewValue[string]("__runtime.active_agent", state.Options{Scope: state.Thread})
	// PendingWork makes a run wait for background tasks, instead of ending, when it
	// reaches its natural end.
	PendingWork = state.NewValue[bool]("__runtime.pending_work", state.Options{})
	// FailedActions lists the scheduled actions whose handler failed. Only the runtime
	// writes it.
	FailedActions = state.NewKey("__runtime.failed_scheduled_actions",
		func(list []FailedAction, f FailedAction) []FailedAction { return append(slices.Clip(list), f) }, state.Options{Merge: state.Commutative})
)

// Actions that every agent handles. They run in awaken.PhaseBeforeInference.
var (
	// AddContextMessage adds a message to the model's context.
	AddContextMessage = awaken.NewAction[awaken.ContextMessage]("runtime.add_context_message", awaken.PhaseBeforeInference)
	// RemoveContextMessage removes the persistent messages with the given keys. A key that
	// ends in * matches by prefix.
	RemoveContextMessage = awaken.NewAction[[]string]("runtime.remove_context_message", awaken.PhaseBeforeInference)
	// SetInferenceOverride changes the model parameters of this step. If several overrides
	// set a field, the last one wins.
	SetInferenceOverride = awaken.NewAction[awaken.InferenceOverride]("runtime.set_inference_override", awaken.PhaseBeforeInference)
	// ExcludeTool hides a tool from the model for this step.
	ExcludeTool = awaken.NewAction[string]("runtime.exclude_tool", awaken.PhaseBeforeInference)
	// IncludeOnlyTools hides all tools except these for this step. Several lists are
	// united; ExcludeTool takes precedence.
	IncludeOnlyTools = awaken.NewAction[[]string]("runtime.include_only_tools", awaken.PhaseBeforeInference)
)

// FailedAction is an action whose handler failed. It is not retried.
type FailedAction struct {
	awaken.ScheduledAction
	Error string `json:"error"`
}

// appendCalls appends {"calls": {id: call}}, sorted by id. If two calls have the same id, it
// appends the last.
func appendCalls(buf []byte, calls Calls) (_ []byte, err error) {
	sorted := append(make(Calls, 0, 16), calls...)
	slices.SortStableFunc(sorted, func(a, b *awaken.CallState) int { return strings.Compare(a.CallID, b.CallID) })
	buf = append(buf, `{"calls":`...)
	start := len(buf)
	for i, s := range sorted {
		if i+1 < len(sorted) && sorted[i+1].CallID == s.CallID {
			continue
		}
		buf = append(appendjson.Text(buf, ",", s.CallID), ':')
		if buf, err = s.AppendJSON(buf); err != nil {
			return nil, err
		}
	}
	return append(appendjson.Close(buf, start), '}'), nil
}

func appendLifecycle(buf []byte, l Lifecycle) ([]byte, error) {
	buf = appendjson.Text(buf, `{"run_id":`, l.RunID)
	buf = appendjson.Text(buf, `,"status":`, l.Status)
	buf = appendjson.TextIf(buf, `,"status_reason":`, l.StatusReason)
	buf = appendjson.Int(buf, `,"updated_at":`, l.UpdatedAt)
	buf = appendjson.Int(buf, `,"step_count":`, l.StepCount)
	if l.Taint != nil {
		var err error
		if buf, err = appendjson.Value(buf, `,"taint":`, l.Taint); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}
