package config

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
)

// Drafts are the records whose document is not what is live.
type Drafts struct {
	records   *records
	current   *current
	code      code
	audit     *AuditLog
	publisher *publisher
	rollout   *Rollout
}

// List lists the records whose document is not what is live.
func (d *Drafts) List(ctx context.Context) ([]*View, error) {
	var out []*View
	now := d.current.now()
	for _, ns := range Namespaces {
		for s, err := range d.records.stored(ctx, ns) {
			if err != nil {
				return nil, err
			}
			if s.Meta.Hidden {
				continue
			}
			v, err := newView(Key{ns, s.ID}, &s.Record, now)
			if err != nil {
				return nil, err
			}
			if !v.Live {
				out = append(out, v)
			}
		}
	}
	return out, nil
}

// Publish makes drafts live; no keys means all of them. With a canary they are live for
// its share of the new threads only.
func (d *Drafts) Publish(ctx context.Context, keys []Key, canary *Canary, note string, by Actor) (*Publication, error) {
	resource := "drafts"
	if len(keys) == 1 {
		resource = keys[0].String()
	}
	for _, key := range keys {
		if !key.Namespace.Known() {
			return nil, fmt.Errorf("namespace %q: %w", key.Namespace, awaken.ErrNotFound)
		}
	}
	if canary != nil {
		if err := canary.validate(); err != nil {
			return nil, err
		}
	}
	p, err := d.publisher.write(ctx, intent{by: by, kind: "publish", note: note, resource: resource}, func(ctx context.Context, p *plan) error {
		drafts := keys
		if len(drafts) == 0 {
			all, err := d.List(ctx)
			if err != nil {
				return err
			}
			for _, v := range all {
				drafts = append(drafts, v.Key)
			}
		}
		for _, key := range drafts {
			rec, err := p.record(ctx, key)
			if err != nil {
				return err
			}
			if rec == nil {
				return fmt.Errorf("%s: %w", key, awaken.ErrNotFound)
			}
			var before json.RawMessage
			if doc := p.doc(key); doc != nil {
				before = doc.raw
			}
			if err := p.live(key, rec); err != nil {
				return err
			}
			doc, changed := p.docs[key]
			if !changed {
				continue
			}
			var after json.RawMessage
			if doc != nil {
				after = doc.raw
			}
			p.log("publish", key, before, after)
			if canary == nil {
				p.forget(key, rec)
			}
		}
		if len(p.docs) == 0 {
			return fmt.Errorf("%w: there is nothing to publish: no document differs from what is live", awaken.ErrInvalid)
		}
		if canary != nil {
			return d.rollout.begin(ctx, p, *canary)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.made, nil
}
