package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
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

// EndpointStore stores the endpoints of all tenants. Implementations are safe for concurrent use; package automate/webhook/webhooktest
// tests them.
type EndpointStore interface {
	// Endpoint returns an endpoint, or an error that is awaken.ErrNotFound.
	Endpoint(ctx context.Context, tenant, id string) (*Endpoint, error)
	// Endpoints returns at most limit endpoints of a tenant with IDs greater than after, ordered by ID.
	Endpoints(ctx context.Context, tenant, after string, limit int) ([]*Endpoint, error)
	// Free returns at most limit endpoints, of all tenants, that a process may take and, if there are any, the store's time.
	Free(ctx context.Context, limit int) ([]*Endpoint, time.Time, error)
	// SwapEndpoint stores e under the next revision if the stored revision is e.Revision (0 if there is none), and reports whether it did.
	SwapEndpoint(ctx context.Context, e *Endpoint) (bool, error)
	// DropEndpoint deletes an endpoint and reports whether it existed.
	DropEndpoint(ctx context.Context, tenant, id string) (bool, error)
}

// MemoryEndpoints is an [EndpointStore] in memory.
type MemoryEndpoints struct {
	mu  sync.Mutex
	all map[[2]string][]byte // tenant, id: an Endpoint as JSON, so that no caller shares it
}

// Endpoint implements [EndpointStore].
func (m *MemoryEndpoints) Endpoint(_ context.Context, tenant, id string) (*Endpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.get(tenant, id)
	if e == nil && err == nil {
		err = fmt.Errorf("endpoint %q: %w", id, awaken.ErrNotFound)
	}
	return e, err
}

func (m *MemoryEndpoints) get(tenant, id string) (*Endpoint, error) {
	data, ok := m.all[[2]string{tenant, id}]
	if !ok {
		return nil, nil
	}
	e := new(Endpoint)
	return e, json.Unmarshal(data, e)
}

// Endpoints implements [EndpointStore].
func (m *MemoryEndpoints) Endpoints(_ context.Context, tenant, after string, limit int) ([]*Endpoint, error) {
	return m.find(limit, func(e *Endpoint) bool { return e.Tenant == tenant && e.ID > after })
}

func (m *MemoryEndpoints) find(limit int, want func(*Endpoint) bool) (out []*Endpoint, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.all {
		e, err := m.get(key[0], key[1])
		if err != nil {
			return nil, err
		}
		if want(e) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *Endpoint) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Tenant, b.Tenant))
	})
	return out[:min(limit, len(out))], nil
}

// Free implements [EndpointStore].
func (m *MemoryEndpoints) Free(_ context.Context, limit int) ([]*Endpoint, time.Time, error) {
	now := time.Now()
	out, err := m.find(limit, func(e *Endpoint) bool { return !e.Due.IsZero() && !e.Due.After(now) })
	return out, now, err
}

// SwapEndpoint implements [EndpointStore].
func (m *MemoryEndpoints) SwapEndpoint(_ context.Context, e *Endpoint) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, err := m.get(e.Tenant, e.ID)
	if err != nil || old == nil && e.Revision != 0 || old != nil && old.Revision != e.Revision {
		return false, err
	}
	next := *e
	next.Revision++
	data, err := json.Marshal(next)
	if err != nil {
		return false, err
	}
	if m.all == nil {
		m.all = map[[2]string][]byte{}
	}
	m.all[[2]string{e.Tenant, e.ID}] = data
	return true, nil
}

// DropEndpoint implements [EndpointStore].
func (m *MemoryEndpoints) DropEndpoint(_ context.Context, tenant, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, existed := m.all[[2]string{tenant, id}]
	delete(m.all, [2]string{tenant, id})
	return existed, nil
}
