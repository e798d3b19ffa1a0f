package sqlstore

import (
	"context"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
)

// Endpoints implements [webhook.EndpointStore] for all tenants.
type Endpoints struct{ agenda }

var _ webhook.EndpointStore = (*Endpoints)(nil)

// NewEndpoints returns the endpoints of a database.
func NewEndpoints(db DB) *Endpoints { return &Endpoints{agenda{db, "endpoints", "endpoint"}} }

func decodeEndpoint(it *item) (*webhook.Endpoint, error) {
	e := &webhook.Endpoint{Tenant: it.tenant, ID: it.id, Revision: it.revision, Due: it.due}
	return e, it.decode(&e.Spec, &e.State)
}

// Endpoint returns an endpoint.
func (s *Endpoints) Endpoint(ctx context.Context, tenant, id string) (*webhook.Endpoint, error) {
	it, err := s.get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return decodeEndpoint(it)
}

// Endpoints returns a page of the endpoints of a tenant.
func (s *Endpoints) Endpoints(ctx context.Context, tenant, after string, limit int) ([]*webhook.Endpoint, error) {
	items, err := s.page(ctx, tenant, after, limit)
	return decoded(items, err, decodeEndpoint)
}

// Free returns the endpoints that a process may take, and the clock of the database.
func (s *Endpoints) Free(ctx context.Context, limit int) ([]*webhook.Endpoint, time.Time, error) {
	items, now, err := s.due(ctx, limit)
	out, err := decoded(items, err, decodeEndpoint)
	return out, now, err
}

// SwapEndpoint stores an endpoint if its revision is still the stored one.
func (s *Endpoints) SwapEndpoint(ctx context.Context, e *webhook.Endpoint) (bool, error) {
	it, err := s.encode(item{tenant: e.Tenant, id: e.ID, revision: e.Revision, due: e.Due}, &e.Spec, &e.State)
	if err != nil {
		return false, err
	}
	return s.swap(ctx, it)
}

// DropEndpoint removes an endpoint.
func (s *Endpoints) DropEndpoint(ctx context.Context, tenant, id string) (bool, error) {
	return s.drop(ctx, tenant, id)
}
