package registry

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
)

// Edit describes the differences between two registries. Everything that it lists counts as
// changed.
type Edit struct {
	ID string // of the new registry; "" generates one

	// New values, and replacements of those with the same id.

	Agents    []*awaken.AgentSpec
	Models    []awaken.ModelSpec
	Pools     []awaken.ModelPoolSpec
	Providers map[string]llm.Model
	Tools     []awaken.Tool
	Plugins   []awaken.Plugin
	Backends  map[string]RemoteBackend
	// ToolDescriptions replace the descriptions of tools, by id. "" restores the tool's own
	// description.
	ToolDescriptions map[string]string

	// Away lists all MCP servers that are not connected, so that their tools are not known. Nil means no change.
	Away []string

	Gone Gone // what is removed

	// Lazy defers resolving agents to their first run. Derive then does not report their
	// problems.
	Lazy bool
}

// Gone lists the ids that an [Edit] removes. Ids that do not exist are ignored.
type Gone struct {
	Agents, Models, Pools, Providers, Tools, Plugins []string
}

// Derive returns a copy of reg with the edit applied. Both share what did not change: agents
// that the edit does not affect are not resolved again, and models that it does not affect
// keep their circuit breakers and the sessions of their pools. The cost depends on the size of
// the edit, plus the copy of one map for each edited kind.
//
// An edit affects an agent if it edits the agent, or a model, pool, provider, plugin, backend or
// other agent that the agent uses. Derive resolves affected agents and reports their problems in an
// *awaken.ConfigError, except for agents that had problems before and are not edited
// themselves. If only tools of an agent are edited, it is resolved when it next runs.
func (reg *Registry) Derive(e Edit) (*Registry, error) { return reg.derive(&e, e.Lazy) }

// derivation is the state of one Derive.
type derivation struct {
	old, reg *Registry
	edit     *Edit
	problems []awaken.Diagnostic

	// Ids of what differs. Pools are among the models, because agents name both alike.
	models, agents, plugins, tools set
	otherTools                     bool // tools were added or removed
}

type set map[string]bool

func (s set) add(ids ...string) {
	for _, id := range ids {
		s[id] = true
	}
}

func (s set) any(ids []string) bool {
	return len(s) > 0 && slices.ContainsFunc(ids, func(id string) bool { return s[id] })
}

func (reg *Registry) derive(e *Edit, lazy bool) (*Registry, error) {
	next := *reg
	next.later = new(atomic.Pointer[Registry])
	if next.id = e.ID; next.id == "" {
		next.id = ids.New()
	}
	d := &derivation{old: reg, reg: &next, edit: e, models: set{}, agents: set{}, plugins: set{}, tools: set{}}
	d.editModels()
	d.editPools()
	d.editPlugins()
	next.backends = edited(next.backends, len(e.Backends), nil)
	maps.Copy(next.backends, e.Backends)
	d.editTools()
	d.editAgents()
	d.resolveAgents(lazy)
	if len(d.problems) > 0 {
		return nil, &awaken.ConfigError{Problems: d.problems}
	}
	return &next, nil
}

func (d *derivation) problem(code, namespace, id, format string, args ...any) {
	d.problems = append(d.problems, awaken.Diagnostic{Code: code, Severity: awaken.SeverityError, Namespace: namespace, ID: id, Message: fmt.Sprintf(format, args...)})
}

func (d *derivation) invalid(namespace, id string, err error) {
	if err != nil {
		for _, line := range flatten(err) {
			d.problem("invalid", namespace, id, "%v", line)
		}
	}
}

// edited returns a copy of m without the ids in gone, for the caller to change. If there are
// no changes, it returns m itself.
func edited[V any](m map[string]V, changes int, gone []string) map[string]V {
	if changes+len(gone) == 0 {
		return m
	}
	out := maps.Clone(m)
	if out == nil {
		out = make(map[string]V, changes)
	}
	for _, id := range gone {
		delete(out, id)
	}
	return out
}

// editModels edits models and providers. A model whose provider differs counts as different.
func (d *derivation) editModels() {
	reg, e := d.reg, d.edit
	reg.providers = edited(reg.providers, len(e.Providers), e.Gone.Providers)
	providers := set{}
	providers.add(e.Gone.Providers...)
	for _, id := range slices.Sorted(maps.Keys(e.Providers)) {
		providers.add(id)
		if reg.providers[id] = e.Providers[id]; e.Providers[id] == nil {
			d.problem("invalid", "providers", id, "is nil")
		}
	}
	if len(providers)+len(e.Models)+len(e.Gone.Models) == 0 {
		return
	}
	reg.models = edited(reg.models, len(e.Models), e.Gone.Models)
	reg.breakers = edited(reg.breakers, len(providers)+len(e.Models), e.Gone.Models)
	d.models.add(e.Gone.Models...)
	seen := set{}
	for i := range e.Models {
		m := e.Models[i]
		d.invalid("models", m.ID, m.Validate())
		if seen[m.ID] {
			d.problem("duplicate_id", "models", m.ID, "is defined twice")
		}
		seen.add(m.ID)
		if reg.pools[m.ID] != nil && !slices.Contains(e.Gone.Pools, m.ID) {
			d.problem("ambiguous_model_reference", "models", m.ID, "is also the id of a pool")
		}
		// The model keeps its breaker if provider, upstream model and settings stay the same.
		if was := reg.models[m.ID]; was == nil || was.ProviderID != m.ProviderID || was.UpstreamModel != m.UpstreamModel || !reflect.DeepEqual(was.CircuitBreaker, m.CircuitBreaker) {
			reg.breakers[m.ID] = reg.breaker(&m)
		}
		reg.models[m.ID] = &m
		d.models.add(m.ID)
	}
	for id, m := range reg.models {
		if providers[m.ProviderID] {
			d.models.add(id)
			reg.breakers[id] = reg.breaker(m)
		}
	}
}

// editPools edits pools. A pool with a member that differs counts as different.
func (d *derivation) editPools() {
	reg, e := d.reg, d.edit
	specs := e.Pools
	for _, id := range slices.Sorted(maps.Keys(reg.pools)) {
		p := reg.pools[id].source
		differs := slices.ContainsFunc(p.Members, func(m awaken.PoolMember) bool { return d.models[m.ModelID] })
		if differs && !slices.Contains(e.Gone.Pools, id) && !slices.ContainsFunc(e.Pools, func(o awaken.ModelPoolSpec) bool { return o.ID == id }) {
			specs = append(slices.Clip(specs), *p)
		}
	}
	reg.pools = edited(reg.pools, len(specs), e.Gone.Pools)
	d.models.add(e.Gone.Pools...)
	seen := set{}
	for i := range specs {
		p := specs[i]
		d.models.add(p.ID)
		if err := p.Validate(); err != nil {
			d.invalid("model-pools", p.ID, err)
			continue
		}
		if reg.models[p.ID] != nil || seen[p.ID] {
			d.problem("ambiguous_model_reference", "model-pools", p.ID, "is also the id of a model or of another pool")
		}
		seen.add(p.ID)
		pool, problems := reg.pool(&p)
		d.problems = append(d.problems, problems...)
		if pool != nil {
			reg.pools[p.ID] = pool
		}
	}
}

func (d *derivation) editPlugins() {
	reg, e := d.reg, d.edit
	reg.plugins = edited(reg.plugins, len(e.Plugins), e.Gone.Plugins)
	d.plugins.add(e.Gone.Plugins...)
	seen := set{}
	for _, p := range e.Plugins {
		switch {
		case p == nil:
			d.problem("invalid", "plugins", "", "is nil")
		case p.Name() == "":
			d.problem("invalid", "plugins", "", "has no name")
		case seen[p.Name()]:
			d.problem("duplicate_id", "plugins", p.Name(), "is given twice")
		default:
			seen.add(p.Name())
			d.plugins.add(p.Name())
			reg.plugins[p.Name()] = p
		}
	}
}

func (d *derivation) editTools() {
	reg, e := d.reg, d.edit
	if e.Away != nil && !slices.Equal(e.Away, reg.away) {
		reg.away, d.otherTools = e.Away, true // what is said about names differs
	}
	if len(e.Tools)+len(e.Gone.Tools)+len(e.ToolDescriptions) == 0 {
		return
	}
	reg.descriptions = edited(reg.descriptions, len(e.ToolDescriptions), nil)
	for id, text := range e.ToolDescriptions {
		if d.tools.add(id); text == "" {
			delete(reg.descriptions, id)
		} else {
			reg.descriptions[id] = text
		}
	}
	byID := edited(reg.tools.byID, len(e.Tools)+len(e.ToolDescriptions), e.Gone.Tools)
	for _, id := range e.Gone.Tools {
		d.tools.add(id)
		d.otherTools = d.otherTools || reg.tools.byID[id] != nil
	}
	seen := set{}
	for i, t := range e.Tools {
		if t == nil {
			d.problem("invalid", "tools", fmt.Sprintf("#%d", i), "is nil")
			continue
		}
		entry, err := NewTool(t)
		if err != nil {
			d.invalid("tools", t.Spec().ID, err)
			continue
		}
		id := entry.Spec.ID
		if seen[id] {
			d.problem("duplicate_id", "tools", id, "is given twice")
			continue
		}
		seen.add(id)
		d.tools.add(id)
		d.otherTools = d.otherTools || byID[id] == nil || !entry.sameNames(byID[id])
		byID[id] = entry.described(reg.descriptions[id])
	}
	for id := range e.ToolDescriptions {
		if entry := byID[id]; entry != nil {
			byID[id] = entry.described(reg.descriptions[id])
		}
	}
	reg.tools = newToolSet(byID)
}

func (d *derivation) editAgents() {
	reg, e := d.reg, d.edit
	d.agents.add(e.Gone.Agents...)
	reg.agents = edited(reg.agents, len(e.Agents), e.Gone.Agents)
	seen := set{}
	for _, spec := range e.Agents {
		if spec == nil {
			d.problem("invalid", "agents", "", "is nil")
			continue
		}
		d.invalid("agents", spec.ID, spec.Validate())
		if seen[spec.ID] {
			d.problem("duplicate_id", "agents", spec.ID, "is defined twice")
		}
		seen.add(spec.ID)
		d.agents.add(spec.ID)
		reg.agents[spec.ID] = &agentSlot{spec: spec}
	}
}

// resolveAgents gives affected agents a new slot, and resolves those that may have problems
// now. With lazy, it resolves none.
func (d *derivation) resolveAgents(lazy bool) {
	reg := d.reg
	var check []string
	fresh := map[string]*agentSlot{}
	for id, slot := range reg.agents {
		if d.agents[id] {
			check = append(check, id)
			continue
		}
		switch touched := d.touches(slot); {
		case touched == now:
			check = append(check, id)
			fallthrough
		case touched == later || slot.r.Load() == nil: // not resolved yet, so its dependencies are unknown
			fresh[id] = &agentSlot{spec: slot.spec, uses: slot.used()}
		}
	}
	if len(fresh) > 0 {
		if len(d.agents) == 0 { // the map still belongs to the old registry
			reg.agents = maps.Clone(reg.agents)
		}
		maps.Copy(reg.agents, fresh)
	}
	if lazy {
		return
	}
	slices.Sort(check)
	for _, id := range check {
		faults := reg.resolve(id).faults()
		if len(faults) > 0 && (d.agents[id] || len(d.old.resolve(id).faults()) == 0) {
			d.problems = append(d.problems, faults...)
		}
	}
}

// used returns the dependencies of the agent when it was last resolved, or nil.
func (s *agentSlot) used() *uses {
	if r := s.r.Load(); r != nil {
		return &r.uses
	}
	return s.uses
}

// When an agent has to be resolved again.
type urgency int

const (
	never urgency = iota
	later         // when it next runs, because it cannot have new problems
	now
)

// touches reports how the edit affects an agent that is not edited itself.
func (d *derivation) touches(slot *agentSlot) urgency {
	u := slot.used()
	if u == nil { // never resolved: only its spec is known
		u = &uses{models: []string{slot.spec.ModelID}, agents: slot.spec.Delegates, plugins: slot.spec.PluginIDs}
	}
	if d.models.any(u.models) || d.agents.any(u.agents) || d.plugins.any(u.plugins) || d.applies(slot.spec) || d.edit.Backends[slot.spec.BackendKind()] != nil {
		return now
	}
	r := slot.r.Load()
	if r == nil || len(d.tools) == 0 && !d.otherTools {
		return never
	}
	urgent := d.touchesTools(r)
	for _, v := range r.variants {
		urgent = max(urgent, d.touchesTools(v))
	}
	return urgent
}

func (d *derivation) touchesTools(r *Agent) urgency {
	urgent := never
	if d.otherTools {
		urgent = later
	}
	for id := range d.tools {
		switch {
		case r.toolSource[id] != "" && d.reg.tools.byID[id] != nil, id == awaken.FinalOutputTool:
			return now // it may conflict with another tool
		case r.Tools[id] != nil || r.toolSource[id] != "":
			urgent = later
		}
	}
	return urgent
}

// applies reports whether the agent needs an edited plugin without listing it.
func (d *derivation) applies(spec *awaken.AgentSpec) bool {
	for id := range d.plugins {
		if a, ok := d.reg.plugins[id].(awaken.Applier); ok && a.Applies(spec) {
			return true
		}
	}
	return false
}
