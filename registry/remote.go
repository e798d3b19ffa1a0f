package registry

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// RemoteBackend connects to agents that run elsewhere: those whose spec has an endpoint, or a
// backend other than awaken.
type RemoteBackend interface {
	// Agent returns the agent, or an error if the spec is invalid. It does not use the network.
	Agent(spec *awaken.AgentSpec) (RemoteAgent, error)
}

// RemoteAgent is an agent that another program runs. Its runs are ordinary runs of this runtime, in
// which the remote agent takes the place of the model: it is sent the new messages of the
// conversation, and its answer is the answer of the step. What it asks of people is a call of a
// tool that it registers, which suspends the run. An agent has no other tools.
type RemoteAgent interface {
	// Plugin registers the agent's tools and hooks. It is loaded after the plugins of the spec. A hook writes nothing but the agent's
	// notes, with builtin.WriteRemoteNotes, at the end of the run: a replay calls no hook of the agent, and writes the recorded notes.
	awaken.Plugin
	// Exchange sends a request and yields the reply, as [llm.Model.Stream] does. What it does
	// elsewhere is an effect, so it saves in its notes what it is about to do, and an exchange that
	// is repeated continues where the notes say. The runtime does not repeat one that fails.
	Exchange(ctx context.Context, x *Exchange) iter.Seq2[llm.Delta, error]
}

// Exchange is one request to a remote agent. Its functions must be called by the goroutine that
// iterates over the reply, between two deltas.
type Exchange struct {
	*llm.Request
	Run *awaken.RunInfo
	// ID identifies the exchange: one that is repeated after a crash has the same ID.
	ID string
	// Notes has the agent's last saved notes on this thread, from this run or an earlier one, or nil.
	Notes json.RawMessage

	// Keep replaces the notes; the next commit of the run stores them.
	Keep func(notes json.RawMessage)
	// Save replaces the notes and makes them durable before it returns. If begins is set, something that cannot be taken
	// back is about to begin: Save then fails if the run was cancelled.
	Save func(ctx context.Context, notes json.RawMessage, begins bool) error
	// Calls returns the run's tool calls so far, with their decisions.
	Calls func(ctx context.Context) ([]*awaken.CallState, error)
	// Retract takes back the part of the reply that was yielded, because what follows replaces it.
	Retract func(reason string)
	// Show shows an activity to clients. A later one of the same type replaces it.
	Show func(activityType string, content json.RawMessage)
}

// lookUpRemote finds a remote agent.
func (r *Agent) lookUpRemote(reg *Registry) {
	kind := r.Spec.BackendKind()
	b := reg.backends[kind]
	if b == nil {
		r.problem("unsupported_backend", "backend %q not found; available: %q", kind, append(slices.Sorted(maps.Keys(reg.backends)), "awaken"))
		return
	}
	agent, err := b.Agent(r.source)
	if err != nil {
		r.problem("invalid_backend", "backend %q: %v", kind, err)
		return
	}
	r.Remote, r.System = agent, nil
	r.ModelSpec, r.Native = &awaken.ModelSpec{ID: r.Spec.ID, ProviderID: kind, UpstreamModel: r.Spec.ID}, true
	r.Spec.ToolExecutionMode = awaken.ParallelBatchApproval // all that it asks is answered with one message
}

// collectRemoteTools adds the tools that a remote agent registers. It cannot call others.
func (r *Agent) collectRemoteTools() {
	r.Tools = map[string]*Tool{}
	r.names.Set(nil, namesOf(r.pluginTools), r.away)
	for id, e := range r.pluginTools {
		if r.toolSource[id] == sourceOf(r.Remote.Name()) {
			r.Tools[id] = e
		}
	}
	if len(r.Spec.Delegates) > 0 {
		r.warn("delegates_unused", "delegates is set, but the agent runs elsewhere and cannot use them")
	}
}
