package server

import (
	"context"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/trace/timeline"
)

// Runtime has the methods of a mailbox's runtimes that the server calls, beyond the mailbox's. New
// verifies that they implement it.
type Runtime interface {
	// Registry returns the registry that new runs use by default. All tenants share it.
	Registry() *registry.Registry
	// Budget returns the budget that every run of the tenant is held to, or nil if there is none.
	Budget() money.Budget
	// Profile returns the profile of the tenant, or nil if there is none.
	Profile() profile.Store
	// Shown returns what the model was shown in a step of a run. It returns ErrNotFound if the step has no answer.
	Shown(ctx context.Context, runID string, step int) (*timeline.ShownRequest, error)
	// SettleLost settles reservations whose owner is gone.
	SettleLost(ctx context.Context) error
}

// RuntimeOf returns the runtime of a tenant.
func RuntimeOf(t *mailbox.Tenant) Runtime { return t.Runtime.(Runtime) }

// AgentsOf lists the agents of a registry by id.
func AgentsOf(reg *registry.Registry) (out []*awaken.AgentSpec) {
	for _, id := range reg.AgentIDs() {
		if spec := reg.Agent(id); spec != nil {
			out = append(out, spec)
		}
	}
	return out
}
