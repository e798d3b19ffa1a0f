package webhook

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate"
)

// Endpoint is a tenant's subscription to its future runs. ID is unique among the endpoints of the tenant.
//
// The process that holds the endpoint's lease follows the changelog and creates a [Hook] for each run that the endpoint selects.
// [State.Endpoint] of the hook names the endpoint.
type Endpoint struct {
	Tenant   string
	ID       string
	Revision int64 // increases with every change, from 1; 0 if the endpoint is not stored
	// Due is when the current lease expires and another process may take the endpoint, in whole milliseconds. The zero time means never:
	// the endpoint is paused.
	Due   time.Time
	Spec  EndpointSpec
	State EndpointState
}

// EndpointSpec is the part of an endpoint that its owner sets.
type EndpointSpec struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
	// Events lists the events to deliver; empty means all.
	Events []Event `json:"events,omitempty"`
	// Agents selects runs by agent ID; empty means all agents.
	Agents []string `json:"agents,omitempty"`
	// Children also selects runs started by other runs.
	Children bool `json:"children,omitempty"`
	Paused   bool `json:"paused,omitempty"`
}

// Event is something that happens to a run.
type Event string

const (
	RunStarted  Event = "run.started"
	RunWaiting  Event = "run.waiting" // for a decision, a message or a budget
	RunResumed  Event = "run.resumed"
	RunFinished Event = "run.finished" // whatever the outcome
)

// Events lists all events.
var Events = []Event{RunStarted, RunWaiting, RunResumed, RunFinished}

// EndpointState is the progress of an endpoint and its signing secrets.
type EndpointState struct {
	Seed string `json:"seed,omitempty"` // distinguishes the endpoint's hooks from hooks of a deleted endpoint with the same ID

	// Secret signs messages. After a rotation, Former is the previous secret, which also signs them until FormerUntil. Both are encrypted.
	Secret      []byte    `json:"secret"`
	Former      []byte    `json:"former,omitempty"`
	FormerUntil time.Time `json:"former_until,omitzero"`

	// Edits counts the changes made by clients, without those that record progress.
	Edits int64 `json:"edits,omitempty"`

	After  int64  `json:"after"` // position in the changelog up to which hooks were created
	Check  int64  `json:"check"`
	Holder string `json:"holder,omitempty"`
	Paused string `json:"paused,omitempty"` // why the sender paused the endpoint
	// Lost says since when and why changes may have been missed: the changelog no longer had the endpoint's position.
	Lost string `json:"lost,omitempty"`
}

// Normalize validates the spec, except for the URL, which is checked on use. Errors name the field.
func (s *EndpointSpec) Normalize() error {
	for i, e := range s.Events {
		if !slices.Contains(Events, e) {
			return fmt.Errorf("events[%d] is %.40q; want run.started, run.waiting, run.resumed or run.finished", i, e)
		}
	}
	switch {
	case len(s.Agents) > 100:
		return fmt.Errorf("agents has %d ids; want at most 100", len(s.Agents))
	case len(s.Description) > 1024:
		return fmt.Errorf("description has %d bytes; want at most 1024", len(s.Description))
	}
	return nil
}

// Wants reports whether the endpoint subscribes to an event.
func (s *EndpointSpec) Wants(e Event) bool { return len(s.Events) == 0 || slices.Contains(s.Events, e) }

// Selects reports whether the endpoint subscribes to a run.
func (s *EndpointSpec) Selects(run *awaken.Run) bool {
	return (s.Children || run.ParentRunID == "") && (len(s.Agents) == 0 || slices.Contains(s.Agents, cmp.Or(run.FirstAgentID, run.AgentID)))
}

// EndpointStore stores the endpoints of all tenants. An endpoint is due when another process may take it.
type EndpointStore interface{ automate.Agenda[Endpoint] }

// Row returns the parts of the endpoint that stores keep.
func (e *Endpoint) Row() automate.Row {
	return automate.Row{Kind: "endpoint", Tenant: &e.Tenant, ID: &e.ID, Revision: &e.Revision, Due: &e.Due, Spec: &e.Spec, State: &e.State}
}

// MemoryEndpoints is an [EndpointStore] in memory.
type MemoryEndpoints struct {
	automate.Memory[Endpoint, *Endpoint]
}
