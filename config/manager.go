package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// Options is what a Manager is made of. Store is needed; everything else has a useful zero
// value.
type Options struct {
	Store Store
	// Vault encrypts secrets. Nil refuses documents that hold one.
	Vault *Vault
	// Code is what programs give beside documents: Tools, Plugins, Keys, Backends,
	// ToolDescriptions, and Agents, Models, Pools and Providers that no document can change.
	// With Lazy, mistakes in those Agents show when they are run. No other field is used:
	// a registry is made of it, and no runtime.
	Code registry.Config
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
	o.Poll = cmp.Or(max(o.Poll, 0), 2*time.Second)
	o.Patience = cmp.Or(max(o.Patience, 0), 30*time.Second)
	o.Sweep = cmp.Or(max(o.Sweep, 0), time.Hour)
	o.Pins = cmp.Or(max(o.Pins, 0), 16)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.New
	}
	return o
}

// Manager is the control plane of a process. It reads and writes records, and its parts do
// the rest. It is safe for concurrent use.
type Manager struct {
	o         Options
	code      code
	bare      *compiled // the version without documents
	servers   *servers
	current   *current
	pins      *pins
	tools     *toolbox
	records   *records
	follower  *follower
	publisher *publisher

	audit       *AuditLog
	versions    *Versions
	canary      *Rollout
	drafts      *Drafts
	connections *Connections
	assistant   *Assistant
}

// Open returns a Manager that has what the store has published. What cannot be compiled
// in this process is left out and reported: see [Manager.Diagnostics].
func Open(ctx context.Context, o Options) (*Manager, error) {
	if o.Store == nil {
		return nil, errors.New("config: Options.Store is nil")
	}
	m, err := newManager(o.withDefaults())
	if err != nil {
		return nil, err
	}
	if err := m.follower.start(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// newManager puts the parts together. Each gets what it uses.
func newManager(o Options) (*Manager, error) {
	m := &Manager{o: o, servers: newServers(o.MCP)}
	accounts := &accounts{open: o.Provider}
	compiler, err := newCompiler(&o, accounts, m.servers)
	if err != nil {
		return nil, err
	}
	m.code, m.bare = compiler.code, compiler.bare
	m.current = newCurrent(m.servers, accounts)
	catalogue := &catalogue{store: o.Store, compiler: compiler}
	m.pins = &pins{most: o.Pins, catalogue: catalogue, current: m.current, servers: m.servers}
	m.tools = &toolbox{own: o.Code.Tools, current: m.current}
	m.records = &records{store: o.Store, tools: m.tools}
	m.follower = &follower{store: o.Store, vault: o.Vault, catalogue: catalogue, compiler: compiler, servers: m.servers, current: m.current, pins: m.pins, log: o.Logger}
	m.audit = &AuditLog{store: o.Store, clock: o.Now, newID: o.NewID}
	m.publisher = &publisher{store: o.Store, vault: o.Vault, tools: m.tools, audit: m.audit, compiler: compiler, servers: m.servers, current: m.current,
		follower: m.follower, patience: o.Patience, clock: o.Now, log: o.Logger}

	m.versions = &Versions{store: o.Store, code: m.code, catalogue: catalogue, publisher: m.publisher}
	m.canary = &Rollout{store: o.Store, publisher: m.publisher, catalogue: catalogue, current: m.current, log: o.Logger}
	m.drafts = &Drafts{records: m.records, current: m.current, code: m.code, audit: m.audit, publisher: m.publisher, rollout: m.canary}
	m.connections = &Connections{current: m.current, a2a: o.A2A}
	m.assistant = &Assistant{store: o.Store, current: m.current, audit: m.audit, clock: o.Now}
	return m, nil
}

// Close lets go of connections. What was counted of runs and is not in the store yet is
// lost: end Work first.
func (m *Manager) Close() error {
	_ = m.current.lock(context.Background()) // without a deadline, it waits until it has it
	defer m.current.unlock()
	m.pins.clear()
	m.servers.end()
	return nil
}

// Versions returns what was published, and makes old versions live again.
func (m *Manager) Versions() *Versions { return m.versions }

// Drafts returns what was written and is not live, and publishes it.
func (m *Manager) Drafts() *Drafts { return m.drafts }

// Canary returns what begins and ends the canary.
func (m *Manager) Canary() *Rollout { return m.canary }

// Audit returns the audit log.
func (m *Manager) Audit() *AuditLog { return m.audit }

// Connections returns what this process reaches in the name of documents.
func (m *Manager) Connections() *Connections { return m.connections }

// Assistant returns the settings of the server's own agent.
func (m *Manager) Assistant() *Assistant { return m.assistant }

// Registry returns what is live for most threads. Choose returns the registry of a new run
// on a thread, and Pinned that of one that is pinned: the Manager is the runtime's
// [registry.Snapshots].
func (m *Manager) Registry() *registry.Registry { return m.current.now().live.reg }

// Choose returns the registry of a new run on a thread: what is live, or the canary.
func (m *Manager) Choose(thread *awaken.Thread) *registry.Registry {
	now := m.current.now()
	if c := now.head.Canary; c != nil && now.canary != nil && c.takes(thread) {
		return now.canary.reg
	}
	return now.live.reg
}

// Pinned returns the registry of a version, by its number. Agents are compiled when they
// are run. One that does not exist, or no more, is awaken.ErrNotFound. A run from before
// there were versions has another id, and goes on with what is live.
func (m *Manager) Pinned(ctx context.Context, resolutionID string) (*registry.Registry, error) {
	if uuid.MatchString(resolutionID) {
		return m.Registry(), nil
	}
	number, err := strconv.ParseInt(resolutionID, 10, 64)
	if err != nil || number < 0 || strconv.FormatInt(number, 10) != resolutionID {
		return nil, fmt.Errorf("version %q: %w", resolutionID, awaken.ErrNotFound)
	}
	now := m.current.now()
	switch {
	case number == now.live.number:
		return now.live.reg, nil
	case now.canary != nil && number == now.canary.number:
		return now.canary.reg, nil
	case number == 0:
		return m.bare.reg, nil
	}
	return m.pins.registry(ctx, number)
}

// uuid is what the ids of registries are that were not published.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Diagnostics returns what is wrong with what is live and could not be refused: a server
// that does not answer, a secret that cannot be read, a warning of an agent.
func (m *Manager) Diagnostics() []awaken.Diagnostic {
	now := m.current.now()
	return slices.Concat(now.troubles, now.canaryTroubles, now.live.problems, now.live.reg.Diagnostics(), now.live.diagnose(), m.canary.trouble(now))
}
