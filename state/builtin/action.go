package builtin

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// QueueUpdate changes [PendingActions]. The engine uses it.
type QueueUpdate struct {
	Push   []awaken.ScheduledAction
	Remove uint64 // id of an action; 0 removes none
}

// PendingActions is the queue of scheduled actions. Their ids count from 1. Only the runtime
// writes it; use [awaken.Action.Schedule] to add to it.
var PendingActions = state.NewKey("__runtime.pending_scheduled_actions", func(q actionQueue, u QueueUpdate) actionQueue {
	next := actionQueue{NextID: q.NextID}
	next.Actions = slices.DeleteFunc(slices.Clone(q.Actions), func(a awaken.ScheduledAction) bool { return a.ID == u.Remove })
	for _, a := range u.Push {
		next.NextID++
		a.ID = next.NextID
		next.Actions = append(next.Actions, a)
	}
	return next
}, state.Options{Merge: state.Commutative})

type actionQueue struct {
	NextID  uint64                   `json:"next_id"`
	Actions []awaken.ScheduledAction `json:"actions"`
}

// ContextUpdate changes [ContextMessages]: first it removes, then it adds.
type ContextUpdate struct {
	Put    *awaken.ContextMessage
	Remove []string // keys; one that ends in * matches by prefix
}

// ContextMessages holds the context messages of the run, by key. Schedule [AddContextMessage]
// and [RemoveContextMessage] to change it.
var ContextMessages = state.NewKey("__runtime.context_message_store", func(m map[string]awaken.ContextMessage, u ContextUpdate) map[string]awaken.ContextMessage {
	next := map[string]awaken.ContextMessage{}
	maps.Copy(next, m)
	for _, k := range u.Remove {
		maps.DeleteFunc(next, func(key string, _ awaken.ContextMessage) bool { return contextKeyMatches(k, key) })
	}
	if u.Put != nil {
		next[u.Put.Key] = *u.Put
	}
	return next
}, state.Options{Merge: state.Commutative})

func contextKeyMatches(pattern, key string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(key, prefix)
	}
	return pattern == key
}

type throttleEntry struct {
	Key         string `json:"-"`
	LastStep    int    `json:"last_step"`
	ContentHash uint64 `json:"content_hash"`
}

var contextThrottle = state.NewKey("__runtime.context_throttle", func(m map[string]throttleEntry, e throttleEntry) map[string]throttleEntry {
	next := map[string]throttleEntry{}
	maps.Copy(next, m)
	next[e.Key] = e
	return next
}, state.Options{})

type filterState struct {
	Excluded    []string   `json:"excluded,omitempty"`
	IncludeOnly [][]string `json:"include_only,omitempty"`
}

// ToolFilter holds the tool filters of the current step. Schedule [ExcludeTool] and
// [IncludeOnlyTools] to change it.
var ToolFilter = state.NewKey("__runtime.tool_filter_state", func(f, add filterState) filterState {
	return filterState{slices.Concat(f.Excluded, add.Excluded), slices.Concat(f.IncludeOnly, add.IncludeOnly)}
}, state.Options{Merge: state.Commutative})

// StepOverride holds the inference override of the current step. Schedule
// [SetInferenceOverride] to change it.
var StepOverride = state.NewKey("__runtime.inference_override_state",
	func(o, u awaken.InferenceOverride) awaken.InferenceOverride { return o.Merge(u) }, state.Options{Merge: state.Commutative})

// Grant names tools whose calls need no approval. No tools take a grant back.
type Grant struct {
	By    string   // who grants it, such as skill:review
	Tools []string // patterns
}

// Grants holds the tools whose calls need no approval in this run, by who grants it. Plugins that
// ask for approval respect it where no rule of theirs says otherwise.
var Grants = state.NewKey("__runtime.tool_grants", func(m map[string][]string, g Grant) map[string][]string {
	next := map[string][]string{}
	maps.Copy(next, m)
	if delete(next, g.By); len(g.Tools) > 0 {
		next[g.By] = g.Tools
	}
	return next
}, state.Options{Merge: state.Commutative})

func keys() []state.AnyKey {
	return []state.AnyKey{Grants, RunLifecycle, ToolCallStates, ActiveAgent, PendingWork, FailedActions, PendingActions,
		ContextMessages, contextThrottle, ToolFilter, StepOverride, StopStats, Outbox, FailedDeliveries, ClientState, ClientProps, ToolLists}
}

func handlers() []awaken.ActionHandler {
	return []awaken.ActionHandler{
		AddContextMessage.Handler(func(_ context.Context, h *awaken.HookCall, m awaken.ContextMessage) error {
			if m.CooldownTurns > 0 {
				step, hash := h.Step+1, contentHash(m.Content)
				e, seen := contextThrottle.Get(h)[m.Key]
				if seen && e.ContentHash == hash && step-e.LastStep < m.CooldownTurns {
					return nil
				}
				contextThrottle.Update(h, throttleEntry{m.Key, step, hash})
			}
			m.Source = h.Source
			ContextMessages.Update(h, ContextUpdate{Put: &m})
			return nil
		}),
		RemoveContextMessage.Handler(func(_ context.Context, h *awaken.HookCall, keys []string) error {
			ContextMessages.Update(h, ContextUpdate{Remove: keys})
			return nil
		}),
		SetInferenceOverride.Handler(func(_ context.Context, h *awaken.HookCall, o awaken.InferenceOverride) error {
			StepOverride.Update(h, o)
			return nil
		}),
		ExcludeTool.Handler(func(_ context.Context, h *awaken.HookCall, id string) error {
			ToolFilter.Update(h, filterState{Excluded: []string{id}})
			return nil
		}),
		IncludeOnlyTools.Handler(func(_ context.Context, h *awaken.HookCall, ids []string) error {
			ToolFilter.Update(h, filterState{IncludeOnly: [][]string{ids}})
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

// StopCounts is the part of [awaken.StopStats] that is saved between steps.
type StopCounts struct {
	Steps             int      `json:"step_count"`
	InputTokens       int64    `json:"total_input_tokens"`
	OutputTokens      int64    `json:"total_output_tokens"`
	StartedMS         int64    `json:"start_time_ms" time:"ms"`
	ConsecutiveErrors int      `json:"consecutive_errors"`
	Recent            []string `json:"recent_responses,omitempty"`
}

// StopStats holds the statistics for stop policies. Only the runtime writes it.
var StopStats = state.NewValue[StopCounts]("__runtime.stop_condition_stats", state.Options{})

// SystemContext returns a context message that is sent once, after the system prompt.
func SystemContext(key, text string) awaken.ContextMessage {
	return awaken.ContextMessage{Key: key, Role: llm.System, Content: []llm.Block{llm.Text(text)}}
}

// Apply returns the tools that pass the filters: those in any include list, if there is one,
// without the excluded ones.
func (f *filterState) Apply(tools []llm.Tool) []llm.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t llm.Tool) bool {
		included := len(f.IncludeOnly) == 0 ||
			slices.ContainsFunc(f.IncludeOnly, func(ids []string) bool { return slices.Contains(ids, t.Name) })
		return !included || slices.Contains(f.Excluded, t.Name)
	})
}
