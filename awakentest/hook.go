package awakentest

import (
	"encoding/json"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// HookCall returns a call for a hook, a gate or an action's handler under test. It has the state keys
// of an agent of the harness; set, if given, fills the state that the hook reads. What the hook records
// can be read from the call: see [Scheduled], [Emitted],
// [Harness.Updated] and [awaken.Command.Recorded].
func (h *Harness) HookCall(agentID string, phase awaken.Phase, set ...func(w state.Writer)) *awaken.HookCall {
	h.tb.Helper()
	agent, err := h.Runtime.Registry().Runnable(agentID)
	if err != nil {
		h.tb.Fatal(err)
	}
	st := state.NewStore(agent.Schema)
	var b state.Batch
	for _, fill := range set {
		fill(&b)
	}
	if err := st.Apply(&b); err != nil {
		h.tb.Fatal(err)
	}
	return &awaken.HookCall{Phase: phase, Run: &awaken.RunInfo{ThreadID: "thread", RunID: "run", AgentID: agentID, Origin: "user"}, Agent: agent.Spec,
		Tools: slices.Clone(agent.Offered), Snapshot: st.Snapshot()}
}

// Recorder is a call that a hook or a tool has recorded in: an *awaken.HookCall, an
// *awaken.ToolCall or an *awaken.Command.
type Recorder interface{ Recorded() *awaken.Recorded }

// Scheduled returns the payloads with which an action was scheduled, in order.
func Scheduled[P any](tb TB, r Recorder, a awaken.Action[P]) []P {
	tb.Helper()
	var out []P
	for _, s := range r.Recorded().Actions {
		if s.Key != a.Name() {
			continue
		}
		if err := s.Err(); err != nil {
			tb.Fatal(err)
		}
		var p P
		if err := json.Unmarshal(s.Payload, &p); err != nil {
			tb.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// Emitted returns the payloads with which an effect was emitted, in order.
func Emitted[P any](r Recorder, e awaken.Effect[P]) []P {
	var out []P
	for _, s := range r.Recorded().Effects {
		if s.Name == e.Name() {
			out = append(out, s.Payload.(P))
		}
	}
	return out
}

// Updated returns the state that a hook leaves behind: what it read, with its updates.
func (h *Harness) Updated(call *awaken.HookCall) state.Snapshot {
	h.tb.Helper()
	agent, err := h.Runtime.Registry().Runnable(call.Run.AgentID)
	if err != nil {
		h.tb.Fatal(err)
	}
	read, err := call.Export()
	if err != nil {
		h.tb.Fatal(err)
	}
	st := state.NewStore(agent.Schema)
	if err := st.Restore(read, state.Skip); err != nil {
		h.tb.Fatal(err)
	}
	if err := st.Apply(&call.Batch); err != nil {
		h.tb.Fatal(err)
	}
	return st.Snapshot()
}
