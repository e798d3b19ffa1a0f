package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// Put writes a document and, unless draft is set, publishes it. A builtin document becomes
// a user's. [Manager.Get] returns it with its overrides applied, so a client that writes it
// back keeps them.
func (m *Manager) Put(ctx context.Context, key Key, spec json.RawMessage, draft bool, c Condition, by Actor) (*View, error) {
	if err := m.code.writable(key); err != nil {
		return nil, err
	}
	v, err := m.publisher.change(ctx, intent{by: by, kind: "publish"}, key, c, func(_ context.Context, p *plan, old *Record) (*Record, error) {
		return p.put(key, spec, old, draft)
	})
	if err != nil {
		return nil, m.explain(ctx, key, spec, err)
	}
	return v, nil
}

// explain returns the error of a refused write with all mistakes of the document.
func (m *Manager) explain(ctx context.Context, key Key, spec json.RawMessage, err error) error {
	return explain(ctx, key, spec, err, func(ctx context.Context, spec json.RawMessage) error {
		_, err := m.check(ctx, key, spec)
		return err
	})
}

// Validation is the result of [Manager.Validate].
type Validation struct {
	Normalized  json.RawMessage
	Diagnostics []awaken.Diagnostic // warnings
	Problems    []Problem           // the same, by field
}

// Validate does everything that Put does, but stores nothing. A mistake is an [InvalidError].
func (m *Manager) Validate(ctx context.Context, key Key, spec json.RawMessage) (*Validation, error) {
	if err := m.code.writable(key); err != nil {
		return nil, err
	}
	v, err := m.check(ctx, key, spec)
	if err != nil {
		return nil, m.explain(ctx, key, spec, err)
	}
	tree, err := parse(spec)
	if err != nil {
		return nil, invalid(key, err)
	}
	v.Problems = problemsIn(key, tree, v.Diagnostics)
	return v, nil
}

// check is Validate up to the first kind of mistake.
func (m *Manager) check(ctx context.Context, key Key, spec json.RawMessage) (*Validation, error) {
	var p *plan
	view, err := m.publisher.change(ctx, intent{kind: "publish", dry: true}, key, Condition{}, func(_ context.Context, next *plan, old *Record) (*Record, error) {
		p = next
		return p.put(key, spec, old, false)
	})
	if err != nil {
		return nil, err
	}
	v := &Validation{Normalized: view.Spec}
	for _, d := range p.next.live.reg.Diagnostics() {
		if d.Severity == awaken.Warning && keyOf(d) == key {
			v.Diagnostics = append(v.Diagnostics, d)
		}
	}
	return v, nil
}

// Delete deletes a document and publishes that. It returns a *DependencyError if other
// documents need it. With force, deleting a provider also deletes its models that nothing
// else uses.
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
			users = append(users, slices.DeleteFunc(p.now.users(k), func(u Key) bool { return slices.Contains(going, u) })...)
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

// DependencyError means that other documents need the one to be deleted.
type DependencyError struct{ UsedBy []Key }

// Error does not name the dependents; see UsedBy.
func (e *DependencyError) Error() string {
	return "cannot delete: other records depend on this resource"
}
