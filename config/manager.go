package config

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
)

// Options is what a Manager is made of. Store is needed; everything else has a useful zero
// value.
type Options struct {
	Store Store
	// Vault encrypts secrets. Nil refuses documents that hold one.
	Vault *Vault
	// Code is what programs give beside documents: tools, plugins, keys, backends, and
	// agents, models, pools and providers that no document can change. Its other fields
	// are not used.
	Code awaken.RegistryConfig
	// Provider makes the models of a provider. It is called again only when the provider's
	// document or secret has changed. Writes wait for it: it must not ask the network.
	Provider func(ctx context.Context, spec *awaken.ProviderSpec) (llm.Model, error)
	// Model completes what a document says about a model: with what its provider, or the
	// program, knows. It has to be quick, and leaves alone what is there. Nil adds nothing.
	Model func(ctx context.Context, spec *awaken.ModelSpec, provider llm.Model)
	// Skills makes the plugin that offers skills to agents. It is called again when one of
	// them has changed. Nil means that skills are kept, and nobody uses them.
	Skills func(skills []*SkillSpec) (awaken.Plugin, error)
	// MCP and A2A reach other servers. Nil means that documents about them are kept and
	// reported as not connected.
	MCP MCPConnector
	A2A A2AConnector
	// MinApply is the least time between two looks at the store that were caused by other
	// processes; changes in between are taken together. Poll is how often to look when the
	// store does not tell; default 2 seconds.
	MinApply, Poll time.Duration
	// Patience is how long a write that loses races against others is made again; default 30
	// seconds. Somebody wins each of them, and whoever is faster and has many to make wins most.
	Patience time.Duration
	// AuditAge and VersionAge are how long audit events and versions are kept; 0 is for
	// ever. Sweep is how often old ones are removed; default an hour.
	AuditAge, VersionAge, Sweep time.Duration
	// Pins is how many versions other than the live one are kept ready for runs that are
	// pinned to them; default 16.
	Pins int

	Logger *slog.Logger
	Now    func() time.Time
	NewID  func() string
}

func (o Options) withDefaults() Options {
	if o.Poll <= 0 {
		o.Poll = 2 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	if o.Sweep <= 0 {
		o.Sweep = time.Hour
	}
	if o.Pins <= 0 {
		o.Pins = 16
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.New
	}
	return o
}

// Manager is the control plane of a process. It is safe for concurrent use.
type Manager struct {
	o    Options
	code map[Key]bool // what the program has, which no document can change
	bare *compiled    // the version without documents

	writing  chan struct{} // holds one while somebody changes the state
	state    atomic.Pointer[state]
	accounts accounts
	servers  servers
	pins     pins
	tallies  tallies
	previews previews
	stuck    atomic.Pointer[awaken.Diagnostic] // why the canary's rule cannot promote it
}

var _ awaken.Snapshots = (*Manager)(nil)

// Open returns a Manager that has what the store has published. What cannot be compiled
// in this process is left out and reported: see [Manager.Diagnostics].
func Open(ctx context.Context, o Options) (*Manager, error) {
	if o.Store == nil {
		return nil, errors.New("config: Options.Store is nil")
	}
	m := &Manager{o: o.withDefaults(), writing: make(chan struct{}, 1)}
	m.servers.open, m.servers.other, m.servers.woken = map[string]*server{}, map[string]bool{}, make(chan struct{}, 1)
	m.pins.most = m.o.Pins
	m.code = codeKeys(&m.o.Code)
	var err error
	if m.bare, err = m.empty(); err != nil {
		return nil, err
	}
	s := &state{live: m.bare}
	if s.secrets, err = m.loadSecrets(ctx); err != nil {
		return nil, err
	}
	m.swap(ctx, s)
	if err := m.start(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// start takes in what is live, as far as it can be compiled.
func (m *Manager) start(ctx context.Context) error {
	head, err := m.o.Store.Head(ctx)
	if err != nil {
		return err
	}
	now := m.now()
	next := *now
	next.head = head
	changes, since, err := m.difference(ctx, now, head.Live)
	if err != nil {
		return err
	}
	if next.live, err = m.compile(ctx, candidate{base: m.bare, number: head.Live, since: since, changes: changes, secrets: now.secrets, tolerant: true}); err != nil {
		return err
	}
	next.live.reg.Diagnostics() // resolve the agents now, not in the first runs
	m.settle(ctx, &next, now)
	return nil
}

// codeKeys names what a program gives beside documents.
func codeKeys(c *awaken.RegistryConfig) map[Key]bool {
	keys := map[Key]bool{}
	for _, a := range c.Agents {
		keys[Key{Agents, a.ID}] = true
	}
	for _, s := range c.Models {
		keys[Key{Models, s.ID}] = true
	}
	for _, s := range c.Pools {
		keys[Key{Pools, s.ID}] = true
	}
	for id := range c.Providers {
		keys[Key{Providers, id}] = true
	}
	for _, t := range c.Tools {
		keys[Key{Tools, t.Spec().ID}] = true
	}
	return keys
}

func (m *Manager) lock(ctx context.Context) error {
	select {
	case m.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Manager) unlock() { <-m.writing }

func (m *Manager) now() *state { return m.state.Load() }

// Close lets go of connections. What was counted of runs and is not in the store yet is
// lost: end Work first.
func (m *Manager) Close() error {
	m.writing <- struct{}{}
	defer m.unlock()
	m.pins.clear(&m.servers)
	m.servers.end()
	return nil
}

// Registry returns what is live for most threads. Choose returns the registry of a new run
// on a thread, and Pinned that of one that is pinned: the Manager is the runtime's
// [awaken.Snapshots].
func (m *Manager) Registry() *awaken.Registry { return m.now().live.reg }

// Diagnostics returns what is wrong with what is live and could not be refused: a server
// that does not answer, a secret that cannot be read, a warning of an agent.
func (m *Manager) Diagnostics() []awaken.Diagnostic {
	now := m.now()
	out := slices.Concat(now.troubles, now.canaryTroubles, now.live.problems, now.live.reg.Diagnostics(), now.live.diagnose())
	if d := m.stuck.Load(); d != nil && now.head.Canary != nil {
		out = append(out, *d)
	}
	return out
}

// Head returns what is live.
func (m *Manager) Head(ctx context.Context) (Head, error) { return m.o.Store.Head(ctx) }
