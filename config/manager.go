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

// Options configures a Manager. Store is required; every other field has a useful zero
// value. Without Provider, documents can be written, but models of their providers cannot be
// called.
type Options struct {
	Store Store
	// Vault encrypts secrets. Without one, documents that contain secrets are refused.
	Vault *Vault
	// Code holds the program's own definitions: Tools, Plugins, Keys, Backends, ToolDescriptions, and Agents, Models, Pools and Providers
	// that no document can change. With Lazy, errors in those Agents surface when they are run. The other fields are ignored.
	Code registry.Config
	// Provider opens the model client of a provider. The document that it gets holds its
	// secrets. It is called again only when the provider's document or secrets change. Writes
	// wait for it, so it must not use the network.
	Provider func(ctx context.Context, spec *awaken.ProviderSpec) (llm.Model, error)
	// Limits, if set, receives the rate limits of each provider in the live version: at the start, and when they change. They apply to all
	// runs, whatever version they are pinned to. It must not block.
	Limits func(providerID string, r *llm.RateLimits)
	// Model, if set, fills in fields that a model's document omits, from the knowledge of the provider or the program. It must be fast and
	// must not replace fields that are set.
	Model func(ctx context.Context, spec *awaken.ModelSpec, provider llm.Model)
	// Skills returns the plugins that offer skills to agents. It is called again when a skill changes, and the plugins belong to the
	// versions with these skills; a version without skills uses the plugins in Code. If nil, skills are stored but agents cannot use them.
	Skills func(skills []*SkillSpec) ([]awaken.Plugin, error)
	// MCP and A2A connect to other servers. With nil, their documents are stored and
	// reported as not connected.
	MCP MCPConnector
	A2A A2AConnector
	// Gate checks the evaluations that agents require before they are published. If nil, agents that require evaluations can be published
	// only with an override.
	Gate Gate
	// MinApply is the minimum time between two reads of the store that other processes
	// caused; changes in between are applied together. The default is 0. Poll is the interval
	// at which a store that is no [Notifier] is read; the default is 2 seconds.
	MinApply, Poll time.Duration
	// Patience is how long a write that loses races against other processes is retried; the
	// default is 30 seconds.
	Patience time.Duration
	// AuditAge and VersionAge are how long audit events and versions are kept; 0 keeps them
	// forever. Sweep is how often old ones are removed; the default is an hour.
	AuditAge, VersionAge, Sweep time.Duration
	// Pins is how many versions beside the live one stay compiled for the runs that are
	// pinned to them; the default is 16.
	Pins int

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil means time.Now
	NewID  func() string    // nil makes UUIDv7
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

// Manager is the control plane of a process. It reads and writes records; its parts do the
// rest. It is safe for concurrent use.
type Manager struct {
	o         Options
	code      code
	bare      *compiled // the version without any document
	servers   *servers
	current   *current
	pins      *pins
	tools     *toolbox
	records   *records
	follower  *follower
	peers     *peers
	publisher *publisher

	audit       *AuditLog
	versions    *Versions
	canary      *Rollout
	drafts      *Drafts
	connections *Connections
	assistant   *Assistant
}

// Open returns a Manager for the publications in the store. Documents that do not compile in this process are omitted and reported: see
// [Manager.Diagnostics].
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

// newManager wires the parts. Each gets only what it uses.
func newManager(o Options) (*Manager, error) {
	m := &Manager{o: o, servers: newServers(o.MCP)}
	accounts := &accounts{open: o.Provider}
	compiler, err := newCompiler(&o, accounts, m.servers)
	if err != nil {
		return nil, err
	}
	m.code, m.bare = compiler.code, compiler.bare
	m.current = newCurrent(m.servers, accounts)
	m.current.limits = o.Limits
	catalogue := &catalogue{store: o.Store, compiler: compiler}
	m.pins = &pins{most: o.Pins, catalogue: catalogue, current: m.current, servers: m.servers}
	m.tools = &toolbox{own: o.Code.Tools, current: m.current}
	m.records = &records{store: o.Store, tools: m.tools}
	m.follower = &follower{store: o.Store, vault: o.Vault, catalogue: catalogue, compiler: compiler, servers: m.servers, current: m.current, pins: m.pins, log: o.Logger}
	m.peers = newPeers(m.current)
	m.follower.peers = m.peers
	m.audit = &AuditLog{store: o.Store, clock: o.Now, newID: o.NewID}
	m.publisher = &publisher{store: o.Store, vault: o.Vault, tools: m.tools, audit: m.audit, compiler: compiler, servers: m.servers, current: m.current,
		follower: m.follower, peers: m.peers, gates: &gates{o.Gate}, patience: o.Patience, clock: o.Now, log: o.Logger}

	m.versions = &Versions{store: o.Store, records: m.records, code: m.code, catalogue: catalogue, publisher: m.publisher}
	m.canary = &Rollout{store: o.Store, publisher: m.publisher, catalogue: catalogue, current: m.current, log: o.Logger}
	m.drafts = &Drafts{records: m.records, current: m.current, code: m.code, audit: m.audit, publisher: m.publisher, rollout: m.canary}
	m.connections = &Connections{current: m.current, a2a: o.A2A}
	m.assistant = &Assistant{store: o.Store, current: m.current, audit: m.audit, clock: o.Now}
	return m, nil
}

// Close closes the connections. Tallies that are not stored yet are lost, so end Work
// first.
func (m *Manager) Close() error {
	_ = m.current.lock(context.Background()) // without a deadline, lock cannot fail
	defer m.current.unlock()
	m.pins.clear()
	m.servers.end()
	return nil
}

// Versions returns the part that lists publications, rolls back to them, and previews agents.
func (m *Manager) Versions() *Versions { return m.versions }

// Drafts returns the part that lists, publishes and restores records that are not live.
func (m *Manager) Drafts() *Drafts { return m.drafts }

// Canary returns the part that begins, reports and ends the canary.
func (m *Manager) Canary() *Rollout { return m.canary }

// Audit returns the audit log.
func (m *Manager) Audit() *AuditLog { return m.audit }

// Connections returns this process's connections to the servers and providers in the live
// documents.
func (m *Manager) Connections() *Connections { return m.connections }

// Assistant returns the settings of the admin assistant.
func (m *Manager) Assistant() *Assistant { return m.assistant }

// Registry returns the live registry. With [Manager.Choose] and [Manager.Pinned], it makes
// the Manager a [registry.Versions] for the runtime.
func (m *Manager) Registry() *registry.Registry { return m.current.now().live.reg }

// Choose returns the registry for a new run on a thread: the live one or the canary's.
func (m *Manager) Choose(thread *awaken.Thread) *registry.Registry {
	now := m.current.now()
	if c := now.head.Canary; c != nil && now.canary != nil && c.takes(thread) {
		return now.canary.reg
	}
	return now.live.reg
}

// Pinned returns the registry of a version by its number, or awaken.ErrNotFound if the
// version does not exist (any more). Its agents are compiled when they are run. A run that
// predates versions has a UUID as its resolution id and continues on the live version.
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

// uuid matches the ids of registries that were never published.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Diagnostics returns the problems of the live version that could not be refused: an MCP
// server that does not answer, a secret that cannot be decrypted, a warning about an agent.
func (m *Manager) Diagnostics() []awaken.Diagnostic {
	now := m.current.now()
	return slices.Concat(now.troubles, now.canaryTroubles, now.live.problems, now.live.reg.Diagnostics(), now.live.diagnose(), m.canary.trouble(now))
}
