package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/awaken-go/awaken"
)

// Versions lists publications, newest first. Version returns one with its manifest.
func (m *Manager) Versions(ctx context.Context, before int64, limit int) ([]*Publication, error) {
	return m.o.Store.Publications(ctx, before, limit)
}

func (m *Manager) Version(ctx context.Context, number int64) (*Publication, error) {
	pub, err := m.o.Store.Publication(ctx, number)
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", number, err)
	}
	entries, err := m.entries(ctx, number)
	if err != nil {
		return nil, err
	}
	pub.Manifest = make([]Entry, 0, len(entries))
	for _, e := range entries {
		pub.Manifest = append(pub.Manifest, e)
	}
	slices.SortFunc(pub.Manifest, func(a, b Entry) int { return compareKeys(a.Key, b.Key) })
	return pub, nil
}

// VersionDocuments returns the documents of a version as clients see them, by key.
func (m *Manager) VersionDocuments(ctx context.Context, number int64) ([]Document, error) {
	pub, err := m.Version(ctx, number)
	if err != nil {
		return nil, err
	}
	entries := map[Key]Entry{}
	for _, e := range pub.Manifest {
		entries[e.Key] = e
	}
	docs, err := m.documents(ctx, &state{live: m.bare}, entries)
	if err != nil {
		return nil, err
	}
	out := make([]Document, 0, len(docs))
	for _, e := range pub.Manifest {
		spec, err := Redact(e.Namespace, docs[e.Key].raw)
		if err != nil {
			return nil, err
		}
		out = append(out, Document{e.Key, spec})
	}
	return out, nil
}

// entries returns every document of a version.
func (m *Manager) entries(ctx context.Context, number int64) (map[Key]Entry, error) {
	var chain []*Publication
	var manifest []Entry
	for n := number; n != 0; {
		pub, err := m.o.Store.Publication(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("version %d: %w", n, err)
		}
		if pub.Manifest != nil {
			manifest = pub.Manifest
			break
		}
		chain = append(chain, pub)
		n = pub.Base
	}
	out, _ := flatten(chain)
	for _, e := range manifest {
		if _, newer := out[e.Key]; !newer {
			out[e.Key] = e
		}
	}
	for key, e := range out {
		if e.Hash == "" {
			delete(out, key)
		}
	}
	return out, nil
}

// Rollback publishes the documents of an older version as a new one, and makes them what
// people edit. What is live already is not published again. Secrets are those of now; what
// refers to one that is gone is reported.
func (m *Manager) Rollback(ctx context.Context, number int64, by Actor) (*Publication, error) {
	note := fmt.Sprintf("rollback to version %d", number)
	p, err := m.write(ctx, plan{by: by, kind: "rollback", note: note, resource: fmt.Sprintf("versions/%d", number), lenient: true}, func(ctx context.Context, p *plan) error {
		if err := p.public(ctx, number); err != nil {
			return err
		}
		changes, _, err := m.difference(ctx, p.now, number)
		if err != nil {
			return err
		}
		return p.adopt(ctx, changes, "rollback", true)
	})
	if err != nil {
		return nil, err
	}
	if p.made == nil {
		return m.o.Store.Publication(ctx, p.now.head.Live)
	}
	return p.made, nil
}

// public reports whether a version can be made live: a preview is for whoever made it.
func (p *plan) public(ctx context.Context, number int64) error {
	if number < 1 || number > p.now.head.Last {
		return fmt.Errorf("version %d: %w", number, awaken.ErrNotFound)
	}
	pub, err := p.m.o.Store.Publication(ctx, number)
	if err != nil {
		return fmt.Errorf("version %d: %w", number, err)
	}
	if pub.Kind == "preview" {
		return fmt.Errorf("%w: version %d is a preview: save and publish its agent instead", awaken.ErrInvalid, number)
	}
	return nil
}

// adopt makes documents live, and the records follow. A record with a draft that is not
// live is replaced only if drafts go too.
func (p *plan) adopt(ctx context.Context, changes map[Key]*document, action string, drafts bool) error {
	for _, key := range sortedKeys(changes) {
		doc := changes[key]
		rec, err := p.record(ctx, key)
		if err != nil {
			return err
		}
		live := p.now.doc(key)
		isDraft := rec != nil && !rec.Meta.Hidden && (live == nil || Hash(raw(key, rec)) != live.Hash)
		before, after := raw(key, rec), json.RawMessage(nil)
		p.docs[key] = doc
		if doc != nil {
			after = doc.raw
		}
		p.log(action, key, before, after)
		if isDraft && !drafts {
			continue
		}
		switch {
		case doc != nil:
			next, err := p.m.become(key, rec, doc.raw)
			if err != nil {
				return err
			}
			if next != nil {
				p.store(key, next, rec)
				own := *doc
				own.Revision = next.Meta.Revision
				p.docs[key] = &own
			}
		case rec == nil:
		case rec.Meta.Source.Kind == Builtin && key.Namespace != Tools:
			next := *rec
			next.Meta.Hidden = true
			p.store(key, &next, rec)
		default:
			p.records = append(p.records, RecordChange{Key: key, Expect: rec.Meta.Revision})
		}
	}
	return nil
}

// Preview publishes a version that nobody uses by itself: what is live, with one agent
// replaced. A run that names it as its resolution_id runs on it. It returns the id of the
// agent, too; one that has none is called draft-preview. The agent may hold no new secret,
// and has to run here. The same agent on the same live version is the same publication.
func (m *Manager) Preview(ctx context.Context, agent json.RawMessage, by Actor) (*Publication, string, error) {
	tree, err := parse(agent)
	if err != nil {
		return nil, "", fmt.Errorf("%w: agent: %w", awaken.ErrInvalid, err)
	}
	for _, name := range []string{"endpoint", "registry"} {
		if tree[name] != nil {
			return nil, "", fmt.Errorf("%w: agent: %s is set, and only agents that run here can be previewed", awaken.ErrInvalid, name)
		}
	}
	if strings.TrimSpace(text(tree, "id")) == "" {
		tree["id"] = previewID
		agent = encode(tree)
	}
	key := Key{Agents, text(tree, "id")}
	if err := m.writable(key); err != nil {
		return nil, "", err
	}
	p, err := m.preview(ctx, key, agent, by)
	return p, key.ID, err
}

// previewID is what an agent is called that has no id yet.
const previewID = "draft-preview"

// PreviewOwn is Preview for an agent of the server's own, whose id nobody else can use.
func (m *Manager) PreviewOwn(ctx context.Context, agent *awaken.AgentSpec, by Actor) (*Publication, error) {
	doc, err := json.Marshal(agent)
	if err != nil {
		return nil, err
	}
	return m.preview(ctx, Key{Agents, agent.ID}, doc, by)
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

func (m *Manager) preview(ctx context.Context, key Key, agent json.RawMessage, by Actor) (*Publication, error) {
	var doc *document
	var known *Publication
	p, err := m.write(ctx, plan{by: by, kind: "preview", aside: true}, func(ctx context.Context, p *plan) error {
		old, err := p.record(ctx, key)
		if err != nil {
			return err
		}
		sealed, err := Seal(key, agent, raw(key, old))
		if err != nil {
			return err
		}
		if len(sealed.Secrets) > 0 {
			return fmt.Errorf("%w: %s: a preview cannot have a new secret, because it would be kept: save the agent first", awaken.ErrInvalid, key)
		}
		doc = newDocument(key, sealed.Doc, 0)
		if known = m.previews.of(p.now.head.Live, doc.Hash); known != nil {
			if _, err := m.o.Store.Publication(ctx, known.Number); err == nil {
				return errPreviewed
			}
		}
		p.docs[key] = doc
		return nil
	})
	if errors.Is(err, errPreviewed) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	m.previews.add(p.made, doc.Hash)
	return p.made, nil
}

// Pinned returns the registry of a version, by its number. Agents are compiled when they
// are run. One that does not exist, or no more, is awaken.ErrNotFound. A run from before
// there were versions has another id, and goes on with what is live.
func (m *Manager) Pinned(ctx context.Context, resolutionID string) (*awaken.Registry, error) {
	if uuid.MatchString(resolutionID) {
		return m.Registry(), nil
	}
	number, err := strconv.ParseInt(resolutionID, 10, 64)
	if err != nil || number < 0 || strconv.FormatInt(number, 10) != resolutionID {
		return nil, fmt.Errorf("version %q: %w", resolutionID, awaken.ErrNotFound)
	}
	now := m.now()
	switch {
	case number == now.live.number:
		return now.live.reg, nil
	case now.canary != nil && number == now.canary.number:
		return now.canary.reg, nil
	case number == 0:
		return m.bare.reg, nil
	}
	for {
		p, mine := m.pins.get(number)
		if mine {
			m.pin(ctx, p)
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch {
		case p.err == nil:
			return p.v.reg, nil
		case mine || !errors.Is(p.err, context.Canceled) && !errors.Is(p.err, context.DeadlineExceeded):
			return nil, p.err
		}
		// Who compiled it was called off, which is not our business.
	}
}

// uuid is what the ids of registries are that were not published.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// pin compiles a version from how it differs from what is live, and holds its connections.
// The store is read while others write.
func (m *Manager) pin(ctx context.Context, p *pin) {
	for done := false; !done; {
		now := m.now()
		changes, since, err := m.difference(ctx, now, p.number)
		if err != nil {
			m.pins.set(p, nil, err, &m.servers)
			return
		}
		done = m.pinFrom(ctx, now, p, changes, since)
	}
}

// pinFrom compiles a version beside the live one of a state. It reports whether it could be
// tried: not if the connections of that are not those of now. The lock is held until the
// version is kept and others are forgotten, so that nobody takes up a connection that is
// about to be closed.
func (m *Manager) pinFrom(ctx context.Context, s *state, p *pin, changes map[Key]*document, since int) bool {
	if err := m.lock(ctx); err != nil {
		m.pins.set(p, nil, err, &m.servers)
		return true
	}
	defer m.unlock()
	now := m.now()
	if !maps.Equal(now.live.servers, s.live.servers) {
		return false
	}
	v, err := m.variantOf(ctx, s, p.number, changes, since, now.secrets)
	if err == nil {
		m.servers.hold(v)
		v.begin()
	}
	m.pins.set(p, v, err, &m.servers)
	return true
}

// variant compiles another version beside the live one of a state. The caller holds the
// lock.
func (m *Manager) variant(ctx context.Context, s *state, number int64, sec *secrets) (*compiled, error) {
	changes, since, err := m.difference(ctx, s, number)
	if err != nil {
		return nil, err
	}
	return m.variantOf(ctx, s, number, changes, since, sec)
}

func (m *Manager) variantOf(ctx context.Context, s *state, number int64, changes map[Key]*document, since int, sec *secrets) (*compiled, error) {
	v, err := m.compile(ctx, candidate{base: s.live, number: number, since: since, changes: overlay(s.behind, changes), secrets: sec, lazy: true})
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", number, err)
	}
	return v, nil
}

// pins are versions that runs are pinned to.
type pins struct {
	most int

	mu   sync.Mutex
	held []*pin // the one that was used last is at the end
}

type pin struct {
	number int64
	done   chan struct{}
	// Set when done is closed.
	v   *compiled
	err error
}

// get returns a version. Mine means that the caller has to compile it, and everybody else
// waits for that.
func (ps *pins) get(number int64) (p *pin, mine bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if i := slices.IndexFunc(ps.held, func(p *pin) bool { return p.number == number }); i >= 0 {
		p = ps.held[i]
		ps.held = append(slices.Delete(ps.held, i, i+1), p)
		return p, false
	}
	p = &pin{number: number, done: make(chan struct{})}
	ps.held = append(ps.held, p)
	return p, true
}

// set says what became of a version. If it is there, those are forgotten that were not used
// for long; the caller then holds the manager's lock.
func (ps *pins) set(p *pin, v *compiled, err error, ss *servers) {
	ps.mu.Lock()
	p.v, p.err = v, err
	close(p.done)
	var over []*pin
	i := slices.Index(ps.held, p)
	switch {
	case i < 0 && v != nil: // it was cleared meanwhile
		over = append(over, p)
	case i >= 0 && err != nil:
		ps.held = slices.Delete(ps.held, i, i+1)
	}
	for err == nil && len(ps.held) > ps.most && ps.held[0].ready() {
		over = append(over, ps.held[0])
		ps.held = ps.held[1:]
	}
	ps.mu.Unlock()
	for _, p := range over {
		ss.drop(p.v)
	}
}

func (p *pin) ready() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// change replaces the versions that are ready by what fn makes of them. The caller holds the
// manager's lock.
func (ps *pins) change(fn func(*compiled) (*compiled, error), ss *servers) (err error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for i, p := range ps.held {
		if !p.ready() || p.v == nil {
			continue
		}
		v, changeErr := fn(p.v)
		if err = errors.Join(err, changeErr); v == p.v {
			continue
		}
		ss.hold(v)
		ss.drop(p.v)
		ps.held[i] = &pin{number: p.number, done: p.done, v: v}
	}
	return err
}

// clear forgets all versions: they have to be compiled anew.
func (ps *pins) clear(ss *servers) {
	ps.mu.Lock()
	over := ps.held
	ps.held = nil
	ps.mu.Unlock()
	for _, p := range over {
		if p.ready() && p.v != nil {
			ss.drop(p.v)
		}
	}
}
