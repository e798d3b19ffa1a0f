package config

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/awaken-go/awaken"
)

// Override merges a patch into the overrides of a builtin document and publishes the
// result. If dry, it only validates.
func (m *Manager) Override(ctx context.Context, key Key, patch json.RawMessage, dry bool, c Condition, by Actor) (*View, error) {
	return m.override(ctx, key, dry, c, by, func(stored json.RawMessage) (*sealed, error) { return sealPatch(key, patch, stored) })
}

// ClearOverrides removes one override, or all if field is "", and publishes the result.
func (m *Manager) ClearOverrides(ctx context.Context, key Key, field string, c Condition, by Actor) (*View, error) {
	return m.override(ctx, key, false, c, by, func(stored json.RawMessage) (*sealed, error) {
		if field == "" {
			return &sealed{}, nil
		}
		return sealPatch(key, encode(map[string]any{clearName: []any{field}}), stored)
	})
}

// override changes the overrides of a record, given their current value.
func (m *Manager) override(ctx context.Context, key Key, dry bool, c Condition, by Actor, change func(stored json.RawMessage) (*sealed, error)) (*View, error) {
	if _, err := key.Namespace.kind(); err != nil {
		return nil, err
	}
	return m.publisher.change(ctx, intent{by: by, kind: "publish", dry: dry}, key, c, func(_ context.Context, p *plan, old *Record) (*Record, error) {
		base := p.tools.base(key, old)
		switch {
		case base == nil:
			return nil, fmt.Errorf("%s: %w", key, awaken.ErrNotFound)
		case base.Meta.Source.Kind != Builtin || !key.Namespace.overridable():
			return nil, fmt.Errorf("%s: %w", key, ErrNotOverridable)
		}
		sealed, err := change(base.Meta.UserOverrides)
		if err != nil {
			return nil, err
		}
		if sealed.Doc, err = kinds[key.Namespace].patch.needed(base.Spec, sealed.Doc); err != nil {
			return nil, err
		}
		if err := p.keep(key, sealed); err != nil {
			return nil, err
		}
		rec := &Record{Spec: base.Spec, Meta: Meta{Source: base.Meta.Source, Hidden: base.Meta.Hidden, UserOverrides: sealed.Doc}}
		if key.Namespace == Tools && len(sealed.Doc) == 0 {
			// A tool without overrides needs no record.
			if old != nil {
				p.erase(key, old)
				p.log("update", key, effective(key, old), effective(key, rec))
				p.gone(key)
			}
			return rec, nil
		}
		if err := rec.validate(key); err != nil {
			return nil, err
		}
		p.write(key, rec, old)
		p.log("update", key, effective(key, base), effective(key, rec))
		return rec, p.publish(key, rec)
	})
}

// express returns overrides that turn one document into another, as far as overrides can.
func express(from, to json.RawMessage) (json.RawMessage, error) {
	a, err := parse(from)
	if err != nil {
		return nil, err
	}
	b, err := parse(to)
	if err != nil {
		return nil, err
	}
	patch := map[string]any{}
	compare := func(a, b, patch map[string]any) {
		for name, v := range b {
			if !reflect.DeepEqual(a[name], v) {
				patch[name] = v
			}
		}
		for name := range a {
			if _, ok := b[name]; !ok {
				patch[name] = nil
			}
		}
	}
	compare(a, b, patch)
	if sections, ok := patch["sections"]; ok {
		old, _ := a["sections"].(map[string]any)
		now, _ := sections.(map[string]any)
		changed := map[string]any{}
		compare(old, now, changed)
		patch["sections"] = changed
	}
	if len(patch) == 0 {
		return nil, nil
	}
	return encode(patch), nil
}
