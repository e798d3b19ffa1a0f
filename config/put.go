package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// Put writes a document and publishes it. With draft, it only writes it. A builtin document
// becomes the client's: its overrides are folded into what [Manager.Get] returns, so that
// who writes back what it has got keeps them, and the audit log has them.
func (m *Manager) Put(ctx context.Context, key Key, spec json.RawMessage, draft bool, c Condition, by Actor) (*View, error) {
	if err := m.writable(key); err != nil {
		return nil, err
	}
	var rec *Record
	p, err := m.write(ctx, plan{by: by, kind: "publish", resource: key.String()}, func(ctx context.Context, p *plan) (err error) {
		old, err := p.expect(ctx, key, c)
		if err != nil {
			return err
		}
		rec, err = p.put(key, spec, old, draft)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m.view(key, rec, p.next)
}

// put replaces a record, which may be nil, by one that people own.
func (p *plan) put(key Key, spec json.RawMessage, old *Record, draft bool) (*Record, error) {
	sealed, err := p.seal(key, spec, old)
	if err != nil {
		return nil, err
	}
	rec := &Record{Spec: sealed, Meta: Meta{Source: Source{Kind: User}}}
	if old != nil {
		rec.Meta.Hidden = old.Meta.Hidden && draft
	}
	p.store(key, rec, old)
	p.log(verb(old), key, raw(key, old), raw(key, rec))
	if draft {
		live := p.doc(key)
		if live != nil && p.touches(live) {
			return nil, fmt.Errorf("%w: %s: a draft cannot change a secret that is in use, because secrets have no versions: write it without draft", awaken.ErrInvalid, key)
		}
		return rec, nil
	}
	if err := p.live(key, rec); err != nil {
		return nil, err
	}
	p.forget(key, rec)
	return rec, nil
}

func verb(old *Record) string {
	if old == nil {
		return "create"
	}
	return "update"
}

// OwnPrefix is how the ids of agents begin that are the server's own.
const OwnPrefix = "__"

// writable reports whether documents of that name can be written.
func (m *Manager) writable(key Key) error {
	switch {
	case !key.Namespace.Known():
		return fmt.Errorf("namespace %q: %w", key.Namespace, awaken.ErrNotFound)
	case key.Namespace == Tools:
		return fmt.Errorf("tools: %w: tools are part of the program, and only their overrides can be written", ErrReadOnly)
	case key.Namespace == Agents && strings.HasPrefix(key.ID, OwnPrefix):
		return fmt.Errorf("%w: id of %s is %q, and names that begin with %s are the server's own", awaken.ErrInvalid, key.Namespace, key.ID, OwnPrefix)
	case m.code[key]:
		return fmt.Errorf("%s: %w: it is part of the program", key, ErrReadOnly)
	}
	return nil
}

// Validation is what came of a dry run.
type Validation struct {
	Normalized  json.RawMessage
	Diagnostics []awaken.Diagnostic // warnings
}

// Validate does everything that Put does, and writes nothing.
func (m *Manager) Validate(ctx context.Context, key Key, spec json.RawMessage) (*Validation, error) {
	if err := m.writable(key); err != nil {
		return nil, err
	}
	var rec *Record
	p, err := m.write(ctx, plan{kind: "publish", dry: true}, func(ctx context.Context, p *plan) error {
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
	if v.Normalized, err = Redact(key.Namespace, rec.Spec); err != nil {
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
	if err := m.writable(key); err != nil {
		return err
	}
	_, err := m.write(ctx, plan{by: by, kind: "publish", resource: key.String()}, func(ctx context.Context, p *plan) error {
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

// remove takes a record away, which may be nil, and its document and secrets.
func (p *plan) remove(key Key, old *Record) {
	if old != nil {
		p.records = append(p.records, RecordChange{Key: key, Expect: old.Meta.Revision})
	}
	p.log("delete", key, raw(key, old), nil)
	p.gone(key)
	p.forget(key, nil)
}

// users returns what is live and needs a document, sorted.
func (s *state) users(key Key) []Key {
	var out []Key
	for k, doc := range s.docs() {
		if slices.Contains(doc.needs, key) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
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
	now := m.now()
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
