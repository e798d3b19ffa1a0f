package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/awaken-go/awaken"
)

// Preview publishes a version that nobody uses by itself: what is live, with one agent
// replaced. A run that names it as its resolution_id runs on it. It returns the id of the
// agent, too; one that has none is called draft-preview. The agent may hold no new secret,
// and has to run here. The same agent on the same live version is the same publication.
func (v *Versions) Preview(ctx context.Context, agent json.RawMessage, by Actor) (*Publication, string, error) {
	tree, err := parse(agent)
	if err != nil {
		return nil, "", fmt.Errorf("%w: agent: %w", awaken.ErrInvalid, err)
	}
	for _, name := range []string{"endpoint", "registry"} {
		if tree[name] != nil {
			return nil, "", fmt.Errorf("%w: agent: %s is set, and only agents that run here can be previewed", awaken.ErrInvalid, name)
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
	p, err := v.preview(ctx, key, agent, by)
	return p, key.ID, err
}

// previewID is what an agent is called that has no id yet.
const previewID = "draft-preview"

// PreviewOwn is Preview for an agent of the server's own, whose id nobody else can use.
func (v *Versions) PreviewOwn(ctx context.Context, agent *awaken.AgentSpec, by Actor) (*Publication, error) {
	doc, err := json.Marshal(agent)
	if err != nil {
		return nil, err
	}
	return v.preview(ctx, Key{Agents, agent.ID}, doc, by)
}

// previews remembers what was published for the agents that were previewed lately, on the
// version that is live.
type previews struct {
	mu   sync.Mutex
	live int64
	made map[string]*Publication // by the hash of the agent
}

// of returns what was published for an agent, or nil.
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

// maxPreviews is how many are remembered.
const maxPreviews = 100

// errPreviewed ends a plan: its outcome is there.
var errPreviewed = errors.New("it was published before")

func (v *Versions) preview(ctx context.Context, key Key, agent json.RawMessage, by Actor) (*Publication, error) {
	var doc *document
	var known *Publication
	p, err := v.publisher.write(ctx, intent{by: by, kind: "preview"}, func(ctx context.Context, p *plan) error {
		old, err := p.record(ctx, key)
		if err != nil {
			return err
		}
		sealed, err := seal(key, agent, effective(key, old))
		if err != nil {
			return err
		}
		if len(sealed.Secrets) > 0 {
			return fmt.Errorf("%w: %s: a preview cannot have a new secret, because it would be kept: save the agent first", awaken.ErrInvalid, key)
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
