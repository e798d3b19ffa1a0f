package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
)

// Versions lists publications, rolls back to them, and previews agents.
type Versions struct {
	store     VersionStore
	records   *records
	code      code
	catalogue *catalogue
	publisher *publisher
	previews  previews
}

// Head returns the live publication and the canary.
func (v *Versions) Head(ctx context.Context) (Head, error) { return v.store.Head(ctx) }

// List returns the versions before a number (0 means all), newest first, at most limit
// (0 means 100), without their manifests. Previews are not among them.
func (v *Versions) List(ctx context.Context, before int64, limit int) ([]*Publication, error) {
	if before <= 0 {
		before = FirstPreview
	}
	return v.store.Publications(ctx, before, limit)
}

// Get returns a publication with its full manifest.
func (v *Versions) Get(ctx context.Context, number int64) (*Publication, error) {
	pub, err := v.store.Publication(ctx, number)
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", number, err)
	}
	entries, err := v.catalogue.entries(ctx, number)
	if err != nil {
		return nil, err
	}
	pub.Manifest = slices.AppendSeq(make([]Entry, 0, len(entries)), maps.Values(entries))
	sortEntries(pub.Manifest)
	return pub, nil
}

// Documents returns the documents of a version as clients see them, by key.
func (v *Versions) Documents(ctx context.Context, number int64) ([]Document, error) {
	pub, err := v.Get(ctx, number)
	if err != nil {
		return nil, err
	}
	entries := map[Key]Entry{}
	for _, e := range pub.Manifest {
		entries[e.Key] = e
	}
	docs, err := v.catalogue.documents(ctx, &state{live: &compiled{}}, entries)
	if err != nil {
		return nil, err
	}
	out := make([]Document, 0, len(docs))
	for _, e := range pub.Manifest {
		spec, err := redact(e.Namespace, docs[e.Key].raw)
		if err != nil {
			return nil, err
		}
		out = append(out, Document{e.Key, spec})
	}
	return out, nil
}

// Rollback publishes the documents of an older version as a new one and updates the records
// to match. If that changes nothing, it returns the live publication. Secrets keep their
// current values; references to secrets that are gone are reported.
func (v *Versions) Rollback(ctx context.Context, number int64, by Actor) (*Publication, error) {
	note := fmt.Sprintf("rollback to version %d", number)
	p, err := v.publisher.write(ctx, intent{by: by, kind: "rollback", note: note, resource: fmt.Sprintf("versions/%d", number), lenient: true}, func(ctx context.Context, p *plan) error {
		if err := v.catalogue.public(ctx, p.now.head, number); err != nil {
			return err
		}
		changes, _, err := v.catalogue.difference(ctx, p.now, number)
		if err != nil {
			return err
		}
		return p.adopt(ctx, changes, "rollback", true)
	})
	if err != nil {
		return nil, err
	}
	if p.made == nil {
		return v.store.Publication(ctx, p.now.head.Live)
	}
	return p.made, nil
}

// Preview publishes the live version with one agent replaced, without making it live: only
// runs that name the publication as their resolution_id use it. Preview also returns the
// agent's id, which is draft-preview if the agent has none. The agent must run on this
// server and must not contain a new secret. The same agent on the same live version gives
// the same publication. No agent of it makes an effect unless a person approves it; the agent's
// own section "fork" may refuse more.
func (v *Versions) Preview(ctx context.Context, agent json.RawMessage, by Actor) (*Publication, string, error) {
	tree, err := parse(agent)
	if err != nil {
		return nil, "", fmt.Errorf("%w: agent: %w", awaken.ErrInvalid, err)
	}
	for _, name := range []string{"endpoint", "registry"} {
		if tree[name] != nil {
			return nil, "", fmt.Errorf("%w: agent: %s is set, but only agents that run on this server can be previewed", awaken.ErrInvalid, name)
		}
	}
	if blank(text(tree, "id")) {
		tree["id"] = previewID
		agent = encode(tree)
	}
	key := Key{Agents, text(tree, "id")}
	if err := v.code.writable(key); err != nil {
		return nil, "", err
	}
	p, err := v.preview(ctx, key, agent, intent{by: by, kind: previewKind, confined: true})
	return p, key.ID, err
}

// previewKind is the kind of publications that are never live.
const previewKind = "preview"

// previewID is the id of a previewed agent that has none yet.
const previewID = "draft-preview"

// PreviewOwn is [Versions.Preview] for the server's own agents, whose ids clients cannot
// use, and which are not confined.
func (v *Versions) PreviewOwn(ctx context.Context, agent *awaken.AgentSpec, by Actor) (*Publication, error) {
	doc, err := json.Marshal(agent)
	if err != nil {
		return nil, err
	}
	return v.preview(ctx, Key{Agents, agent.ID}, doc, intent{by: by, kind: previewKind})
}

// previews remembers the recent previews on the live version.
type previews struct {
	mu   sync.Mutex
	live int64
	made map[string]*Publication // by the hash of the agent
}

// of returns the publication that previews an agent, or nil.
func (p *previews) of(live int64, hash string) *Publication {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != live {
		return nil
	}
	return p.made[hash]
}

func (p *previews) add(pub *Publication, hash string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != pub.Base || p.made == nil || len(p.made) >= maxPreviews {
		p.live, p.made = pub.Base, map[string]*Publication{}
	}
	p.made[hash] = pub
}

// maxPreviews limits how many previews are remembered.
const maxPreviews = 100

// errPreviewed ends a plan whose outcome already exists.
var errPreviewed = errors.New("already published")

func (v *Versions) preview(ctx context.Context, key Key, agent json.RawMessage, in intent) (*Publication, error) {
	var doc *document
	var known *Publication
	p, err := v.publisher.write(ctx, in, func(ctx context.Context, p *plan) error {
		old, err := p.record(ctx, key)
		if err != nil {
			return err
		}
		sealed, err := seal(key, agent, effective(key, old))
		if err != nil {
			return err
		}
		if len(sealed.Secrets) > 0 {
			return fmt.Errorf("%w: %s: a preview cannot contain a new secret, because the secret would be stored: save the agent first", awaken.ErrInvalid, key)
		}
		doc = newDocument(key, sealed.Doc, 0)
		if known = v.previews.of(p.now.head.Live, doc.Hash); known != nil {
			if _, err := v.store.Publication(ctx, known.Number); err == nil {
				return errPreviewed
			}
		}
		p.docs[key], p.aside = doc, true
		return nil
	})
	if errors.Is(err, errPreviewed) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	v.previews.add(p.made, doc.Hash)
	return p.made, nil
}
