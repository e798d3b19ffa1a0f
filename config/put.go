package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// Put writes a document and publishes it. With draft, it only writes it. A builtin document
// becomes the client's: its overrides are folded into what [Manager.Get] returns, so that
// who writes back what it has got keeps them, and the audit log has them.
func (m *Manager) Put(ctx context.Context, key Key, spec json.RawMessage, draft bool, c Condition, by Actor) (*View, error) {
	if err := m.code.writable(key); err != nil {
		return nil, err
	}
	return m.publisher.change(ctx, intent{by: by, kind: "publish"}, key, c, func(_ context.Context, p *plan, old *Record) (*Record, error) {
		return p.put(key, spec, old, draft)
	})
}

// Validation is what came of a dry run.
type Validation struct {
	Normalized  json.RawMessage
	Diagnostics []awaken.Diagnostic // warnings
}

// Validate does everything that Put does, and writes nothing.
func (m *Manager) Validate(ctx context.Context, key Key, spec json.RawMessage) (*Validation, error) {
	if err := m.code.writable(key); err != nil {
		return nil, err
	}
	var rec *Record
	p, err := m.publisher.write(ctx, intent{kind: "publish", dry: true}, func(ctx context.Context, p *plan) error {
		old, err := p.record(ctx, key)
		if err != nil {
			return err
		}
		rec, err = p.put(key, spec, old, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	v := &Validation{}
	if v.Normalized, err = redact(key.Namespace, rec.Spec); err != nil {
		return nil, err
	}
	for _, d := range p.next.live.reg.Diagnostics() {
		if d.Severity == awaken.Warning && d.Namespace == string(key.Namespace) && d.ID == key.ID {
			v.Diagnostics = append(v.Diagnostics, d)
		}
	}
	return v, nil
}

// Delete removes a document and publishes that. A *DependencyError says what needs it. With
// force, a provider takes the models along that nothing else uses.
func (m *Manager) Delete(ctx context.Context, key Key, force bool, c Condition, by Actor) error {
	if err := m.code.writable(key); err != nil {
		return err
	}
	_, err := m.publisher.write(ctx, intent{by: by, kind: "publish", resource: key.String()}, func(ctx context.Context, p *plan) error {
		old, err := p.expect(ctx, key, c)
		switch {
		case err != nil:
			return err
		case old == nil:
			return fmt.Errorf("%s: %w", key, awaken.ErrNotFound)
		}
		going := []Key{key}
		if force && key.Namespace == Providers {
			for _, model := range p.now.users(key) {
				if model.Namespace == Models && len(p.now.users(model)) == 0 {
					going = append(going, model)
				}
			}
		}
		var users []Key
		for _, k := range going {
			for _, u := range p.now.users(k) {
				if !slices.Contains(going, u) {
					users = append(users, u)
				}
			}
		}
		if len(users) > 0 {
			return &DependencyError{users}
		}
		for i, k := range going {
			if i > 0 {
				if old, err = p.record(ctx, k); err != nil {
					return err
				}
			}
			p.remove(k, old)
		}
		return nil
	})
	return err
}

// DependencyError means that other records need one that was to be removed.
type DependencyError struct{ UsedBy []Key }

func (e *DependencyError) Error() string {
	return "cannot delete: other records depend on this resource"
}

// RemovalPreview says what the removal of a provider would take along.
type RemovalPreview struct {
	ProviderID                 string   `json:"provider_id"`
	ModelIDs                   []string `json:"model_ids"`
	AgentIDs                   []string `json:"agent_ids"`
	BlockIfReferencedAllowed   bool     `json:"block_if_referenced_allowed"`
	CascadeUnusedModelsAllowed bool     `json:"cascade_unused_models_allowed"`
}

// RemovalPreview lists the models of a provider, and the agents that use them, also through
// pools.
func (m *Manager) RemovalPreview(ctx context.Context, providerID string) (*RemovalPreview, error) {
	key := Key{Providers, providerID}
	if _, err := m.o.Store.Record(ctx, key); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	now := m.current.now()
	v := &RemovalPreview{ProviderID: providerID, ModelIDs: []string{}, AgentIDs: []string{}, CascadeUnusedModelsAllowed: true}
	agent := func(k Key) {
		if k.Namespace == Agents && !slices.Contains(v.AgentIDs, k.ID) {
			v.AgentIDs = append(v.AgentIDs, k.ID)
		}
	}
	for _, model := range now.users(key) {
		v.ModelIDs = append(v.ModelIDs, model.ID)
		for _, user := range now.users(model) {
			v.CascadeUnusedModelsAllowed = false
			agent(user)
			if user.Namespace == Pools {
				for _, u := range now.users(user) {
					agent(u)
				}
			}
		}
	}
	slices.Sort(v.AgentIDs)
	v.BlockIfReferencedAllowed = len(v.ModelIDs) == 0
	return v, nil
}
