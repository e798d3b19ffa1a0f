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

// Lifecycle is where a run is.
type Lifecycle struct {
	RunID        string           `json:"run_id"`
	Status       awaken.RunStatus `json:"status"`
	StatusReason string           `json:"status_reason,omitempty"`
	UpdatedAt    int64            `json:"updated_at"` // unix ms
	StepCount    int              `json:"step_count"`
}

// Calls are the tool calls of a run's latest step, by position.
type Calls []*awaken.CallState

// MarshalJSON writes {"calls": {id: call}}.
func (c Calls) MarshalJSON() ([]byte, error) { return appendCalls(nil, c) }

// UnmarshalJSON reads what MarshalJSON wrote.
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

// State that the runtime keeps and plugins may read.
var (
	// RunLifecycle is where the run is. Only the runtime writes it.
	RunLifecycle = state.NewValue[Lifecycle]("__runtime.run_lifecycle", state.Options{Derived: true}).EncodedBy(appendLifecycle)
	// ToolCallStates are the calls of the latest step. Only the runtime writes it.
	ToolCallStates = state.NewValue[Calls]("__runtime.tool_call_states", state.Options{Scope: state.Thread, Derived: true}).EncodedBy(appendCalls)
	// ActiveAgent is the agent the thread has been handed to. Writing it hands the
	// run over at the next step.
	ActiveAgent = state.NewValue[string]("__runtime.active_agent", state.Options{Scope: state.Thread})
	// PendingWork, when true, makes a run that has come to its natural end wait for
	// background tasks instead.
	PendingWork = state.NewValue[bool]("__runtime.pending_work", state.Options{})
	// FailedActions lists the scheduled actions whose handler failed.
	FailedActions = state.NewKey("__runtime.failed_scheduled_actions",
		func(list []FailedAction, f FailedAction) []FailedAction { return append(slices.Clip(list), f) }, state.Options{Merge: state.Commutative})
)

// Actions that every agent handles, all in before_inference.
var (
	// AddContextMessage puts a message into the model's context.
	AddContextMessage = awaken.NewAction[awaken.ContextMessage]("runtime.add_context_message", awaken.PhaseBeforeInference)
	// RemoveContextMessage takes the persistent messages whose key is listed out
	// again. A key that ends in * stands for every key it is a prefix of.
	RemoveContextMessage = awaken.NewAction[[]string]("runtime.remove_context_message", awaken.PhaseBeforeInference)
	// SetInferenceOverride changes the parameters of this step. Of several, the
	// last wins field by field.
	SetInferenceOverride = awaken.NewAction[awaken.InferenceOverride]("runtime.set_inference_override", awaken.PhaseBeforeInference)
	// ExcludeTool hides a tool from the model for this step.
	ExcludeTool = awaken.NewAction[string]("runtime.exclude_tool", awaken.PhaseBeforeInference)
	// IncludeOnlyTools hides all tools but these for this step. Several lists add
	// up; exclusions win.
	IncludeOnlyTools = awaken.NewAction[[]string]("runtime.include_only_tools", awaken.PhaseBeforeInference)
)

// FailedAction is an action whose handler failed. It is not tried again.
type FailedAction struct {
	awaken.ScheduledAction
	Error string `json:"error"`
}

// appendCalls appends {"calls": {id: call}}, sorted by id. Of two calls of one id, the
// last counts.
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
	return append(appendjson.Int(buf, `,"step_count":`, l.StepCount), '}'), nil
}
