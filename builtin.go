package awaken

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Lifecycle is where a run is.
type Lifecycle struct {
	RunID        string    `json:"run_id"`
	Status       RunStatus `json:"status"`
	StatusReason string    `json:"status_reason,omitempty"`
	UpdatedAt    int64     `json:"updated_at"` // unix ms
	StepCount    int       `json:"step_count"`
}

// Calls are the tool calls of a run's latest step, by position.
type Calls []*CallState

// MarshalJSON writes {"calls": {id: call}}.
func (c Calls) MarshalJSON() ([]byte, error) {
	m := make(map[string]*CallState, len(c))
	for _, s := range c {
		m[s.CallID] = s
	}
	return json.Marshal(map[string]any{"calls": m})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Calls) UnmarshalJSON(data []byte) error {
	var w struct {
		Calls map[string]*CallState `json:"calls"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*c = slices.SortedFunc(maps.Values(w.Calls), func(a, b *CallState) int { return a.Index - b.Index })
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
	AddContextMessage = NewAction[ContextMessage]("runtime.add_context_message", PhaseBeforeInference)
	// RemoveContextMessage takes the persistent messages whose key is listed out
	// again. A key that ends in * stands for every key it is a prefix of.
	RemoveContextMessage = NewAction[[]string]("runtime.remove_context_message", PhaseBeforeInference)
	// SetInferenceOverride changes the parameters of this step. Of several, the
	// last wins field by field.
	SetInferenceOverride = NewAction[InferenceOverride]("runtime.set_inference_override", PhaseBeforeInference)
	// ExcludeTool hides a tool from the model for this step.
	ExcludeTool = NewAction[string]("runtime.exclude_tool", PhaseBeforeInference)
	// IncludeOnlyTools hides all tools but these for this step. Several lists add
	// up; exclusions win.
	IncludeOnlyTools = NewAction[[]string]("runtime.include_only_tools", PhaseBeforeInference)
)

type queueUpdate struct {
	push   []ScheduledAction
	remove uint64
}

// pendingActions is the queue of scheduled actions. Ids grow by one.
var pendingActions = state.NewKey("__runtime.pending_scheduled_actions", func(q actionQueue, u queueUpdate) actionQueue {
	next := actionQueue{NextID: q.NextID}
	next.Actions = slices.DeleteFunc(slices.Clone(q.Actions), func(a ScheduledAction) bool { return a.ID == u.remove })
	for _, a := range u.push {
		next.NextID++
		a.ID = next.NextID
		next.Actions = append(next.Actions, a)
	}
	return next
}, state.Options{Merge: state.Commutative})

type actionQueue struct {
	NextID  uint64            `json:"next_id"`
	Actions []ScheduledAction `json:"actions"`
}

type contextUpdate struct {
	put    *ContextMessage
	remove []string
}

var contextMessages = state.NewKey("__runtime.context_message_store", func(m map[string]ContextMessage, u contextUpdate) map[string]ContextMessage {
	next := maps.Clone(m)
	if next == nil {
		next = map[string]ContextMessage{}
	}
	for _, k := range u.remove {
		maps.DeleteFunc(next, func(key string, _ ContextMessage) bool { return contextKeyMatches(k, key) })
	}
	if u.put != nil {
		next[u.put.Key] = *u.put
	}
	return next
}, state.Options{Merge: state.Commutative})

func contextKeyMatches(pattern, key string) bool {
	if n := len(pattern); n > 0 && pattern[n-1] == '*' {
		return len(key) >= n-1 && key[:n-1] == pattern[:n-1]
	}
	return pattern == key
}

type throttleEntry struct {
	Key         string `json:"-"`
	LastStep    int    `json:"last_step"`
	ContentHash uint64 `json:"content_hash"`
}

var contextThrottle = state.NewKey("__runtime.context_throttle", func(m map[string]throttleEntry, e throttleEntry) map[string]throttleEntry {
	next := maps.Clone(m)
	if next == nil {
		next = map[string]throttleEntry{}
	}
	next[e.Key] = e
	return next
}, state.Options{})

type filterState struct {
	Excluded    []string   `json:"excluded,omitempty"`
	IncludeOnly [][]string `json:"include_only,omitempty"`
}

var toolFilter = state.NewKey("__runtime.tool_filter_state", func(f, add filterState) filterState {
	return filterState{slices.Concat(f.Excluded, add.Excluded), slices.Concat(f.IncludeOnly, add.IncludeOnly)}
}, state.Options{Merge: state.Commutative})

var stepOverride = state.NewKey("__runtime.inference_override_state",
	func(o, u InferenceOverride) InferenceOverride { return o.Merge(u) }, state.Options{Merge: state.Commutative})

func builtinKeys() []state.AnyKey {
	return []state.AnyKey{RunLifecycle, ToolCallStates, ActiveAgent, PendingWork, FailedActions, pendingActions,
		contextMessages, contextThrottle, toolFilter, stepOverride, stopStats, outbox, FailedDeliveries, ClientState, ClientProps}
}

func builtinActions() []ActionHandler {
	return []ActionHandler{
		AddContextMessage.Handler(func(_ context.Context, h *HookCall, m ContextMessage) error {
			if m.CooldownTurns > 0 {
				step, hash := h.Step+1, contentHash(m.Content)
				e, seen := contextThrottle.Get(h)[m.Key]
				if seen && e.ContentHash == hash && step-e.LastStep < m.CooldownTurns {
					return nil
				}
				contextThrottle.Update(h, throttleEntry{m.Key, step, hash})
			}
			contextMessages.Update(h, contextUpdate{put: &m})
			return nil
		}),
		RemoveContextMessage.Handler(func(_ context.Context, h *HookCall, keys []string) error {
			contextMessages.Update(h, contextUpdate{remove: keys})
			return nil
		}),
		SetInferenceOverride.Handler(func(_ context.Context, h *HookCall, o InferenceOverride) error {
			stepOverride.Update(h, o)
			return nil
		}),
		ExcludeTool.Handler(func(_ context.Context, h *HookCall, id string) error {
			toolFilter.Update(h, filterState{Excluded: []string{id}})
			return nil
		}),
		IncludeOnlyTools.Handler(func(_ context.Context, h *HookCall, ids []string) error {
			toolFilter.Update(h, filterState{IncludeOnly: [][]string{ids}})
			return nil
		}),
	}
}

func contentHash(blocks []llm.Block) uint64 {
	h := fnv.New64a()
	for _, b := range blocks {
		data, _ := json.Marshal(b)
		h.Write(data)
	}
	return h.Sum64()
}
