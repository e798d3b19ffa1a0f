package server

import (
	"context"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/money"
	"github.com/awaken-go/awaken/registry"
)

// runtime is what the server asks of the runtimes of its mailbox, beside what the mailbox
// does. New makes sure that they have it.
type runtime interface {
	// Registry is what new runs use, or most of them. It is the same for all tenants.
	Registry() *registry.Registry
	// Budget is what every run of the tenant is held to, or nil if not every run is.
	Budget() money.Budget
	// SettleLost settles reservations that nobody else will.
	SettleLost(ctx context.Context) error
}

// runtimeOf returns the runtime of a tenant.
func runtimeOf(t *mailbox.Tenant) runtime { return t.Runtime.(runtime) }

// agentsOf lists the agents of a registry, by id.
func agentsOf(reg *registry.Registry) (out []*awaken.AgentSpec) {
	for _, id := range reg.AgentIDs() {
		if spec := reg.Agent(id); spec != nil {
			out = append(out, spec)
		}
	}
	return out
}
