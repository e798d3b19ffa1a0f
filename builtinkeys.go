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

// stopCounts is what is saved of the stats between steps.
type stopCounts struct {
	Steps             int      `json:"step_count"`
	InputTokens       int64    `json:"total_input_tokens"`
	OutputTokens      int64    `json:"total_output_tokens"`
	StartedMS         int64    `json:"start_time_ms"`
	ConsecutiveErrors int      `json:"consecutive_errors"`
	Recent            []string `json:"recent_responses,omitempty"`
}

var stopStats = state.NewValue[stopCounts]("__runtime.stop_condition_stats", state.Options{})

// maxRecent bounds the responses that loop detection remembers.
const maxRecent = 64
