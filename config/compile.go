package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// compiled is a version that can run. It never changes.
type compiled struct {
	number int64
	since  int // entries since the last publication with a manifest
	docs   map[Key]*document
	// lost are documents of the version that could not be compiled here. They are part of
	// what is published, and not of what runs.
	lost      map[Key]*document
	reg       *awaken.Registry
	providers map[string]*provider
	servers   map[string]*server
	tools     map[string][]string // of each server
	skills    map[string]*SkillSpec
	// problems are what is wrong with it in spite of which it runs: what was wrong before
	// it was made, and what is not the fault of a document.
	problems []awaken.Diagnostic
	later    []func() // to be done when it is used
}

// begin does what has to be done before a version is used for the first time.
func (v *compiled) begin() {
	for _, f := range v.later {
		f()
	}
}

// candidate is what a version is compiled from.
type candidate struct {
	base    *compiled // that it differs from
	number  int64
	since   int
	changes map[Key]*document // nil is one that is gone
	secrets *secrets
	retool  []string // servers whose tools are others
	// tolerant is lazy, and leaves out what cannot be compiled.
	// Otherwise a mistake that the base does not have is an error.
	tolerant bool
	// lazy lets agents fail when they are run.
	lazy bool
}

// empty is the version of which no document is part: that of the program alone.
func (m *Manager) empty() (*compiled, error) {
	code := m.o.Code
	code.ID = "0"
	reg, err := awaken.NewRegistry(code)
	if err != nil {
		return nil, err
	}
	return &compiled{reg: reg, docs: map[Key]*document{}}, nil
}

// compile makes a version. What is the same in its base is shared with it. An error is a
// *awaken.ConfigError, unless the candidate is tolerant.
func (m *Manager) compile(ctx context.Context, c candidate) (*compiled, error) {
	var problems []awaken.Diagnostic
	lost := maps.Clone(c.base.lost)
	maps.DeleteFunc(lost, func(key Key, _ *document) bool { _, changed := c.changes[key]; return changed })
	for {
		next, err := m.tryCompile(ctx, c)
		broken, ok := errors.AsType[*awaken.ConfigError](err)
		if err == nil {
			next.problems, next.lost = append(next.problems, problems...), lost
		}
		if !c.tolerant || !ok {
			return next, err
		}
		// Leave out what is broken, which may break other documents.
		left, found := maps.Clone(c.changes), false
		for _, p := range broken.Problems {
			if key := (Key{Namespace(p.Namespace), p.ID}); left[key] != nil {
				if lost == nil {
					lost = map[Key]*document{}
				}
				lost[key], left[key], found = left[key], nil, true
			}
			problems = append(problems, p)
		}
		if !found {
			return nil, err
		}
		c.changes = left
	}
}

func (m *Manager) tryCompile(ctx context.Context, c candidate) (*compiled, error) {
	docs := maps.Clone(c.base.docs)
	for key, doc := range c.changes {
		if doc == nil {
			delete(docs, key)
		} else {
			docs[key] = doc
		}
	}
	next := &compiled{number: c.number, since: c.since, docs: docs,
		providers: c.base.providers, servers: c.base.servers, tools: c.base.tools, skills: c.base.skills}
	problems := m.checkReferences(docs, c)
	b := &builder{m: m, c: c, next: next, edit: awaken.Edit{ID: strconv.FormatInt(c.number, 10), Lazy: c.tolerant || c.lazy}}
	keys := sortedKeys(c.changes)
	for _, ns := range Namespaces {
		for _, key := range keys {
			if key.Namespace == ns {
				problems = append(problems, b.add(ctx, key, c.changes[key])...)
			}
		}
	}
	for _, id := range c.retool {
		b.addTools(id)
	}
	problems = append(problems, b.addSkills()...)
	var err error
	if len(problems) > 0 {
		err = &awaken.ConfigError{Problems: problems}
	} else {
		next.reg, err = c.base.reg.Derive(b.edit)
	}
	if err != nil {
		b.abandon()
		return nil, err
	}
	// What was wrong with a document that is another now is not wrong any more, or is said
	// again.
	for _, p := range c.base.problems {
		key := Key{Namespace(p.Namespace), p.ID}
		_, changed := c.changes[key]
		if !changed && !(key.Namespace == MCPServers && slices.Contains(c.retool, p.ID)) && !(key == allSkills && b.reskilled) {
			next.problems = append(next.problems, p)
		}
	}
	next.problems = append(next.problems, b.degraded...)
	return next, nil
}

func sortedKeys(docs map[Key]*document) []Key { return slices.SortedFunc(maps.Keys(docs), compareKeys) }

func compareKeys(a, b Key) int {
	if c := strings.Compare(string(a.Namespace), string(b.Namespace)); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// dangling are the codes for references to what is not there, by the namespaces that they
// lead from and to. Those of agents to models and delegates are found by the registry.
var dangling = map[[2]Namespace]string{
	{Models, Providers}:  "model_missing_provider",
	{Pools, Models}:      "model_pool_missing_model",
	{Agents, A2AServers}: "agent_missing_a2a_server",
	{Skills, MCPServers}: "skill_missing_mcp_server",
}

// checkReferences returns what the changes refer to that is not there, and what others
// refer to that is gone.
func (m *Manager) checkReferences(docs map[Key]*document, c candidate) (out []awaken.Diagnostic) {
	check := func(doc *document) {
		for _, to := range doc.needs {
			if code := dangling[[2]Namespace{doc.Namespace, to.Namespace}]; code != "" && docs[to] == nil && !m.code[to] {
				p := problem(doc.Key, code, "it refers to %s %q, which is not defined", to.Namespace, to.ID)
				p.DependsOn = to.String()
				out = append(out, p)
			}
		}
	}
	gone := false
	for key, doc := range c.changes {
		if doc != nil {
			check(doc)
		} else {
			gone = gone || c.base.docs[key] != nil
		}
	}
	if gone {
		for key, doc := range docs {
			if _, changed := c.changes[key]; !changed && slices.ContainsFunc(doc.needs, func(to Key) bool { d, ok := c.changes[to]; return ok && d == nil }) {
				check(doc)
			}
		}
	}
	slices.SortFunc(out, func(a, b awaken.Diagnostic) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// builder puts the edit of a registry together.
type builder struct {
	m         *Manager
	c         candidate
	next      *compiled
	edit      awaken.Edit
	degraded  []awaken.Diagnostic
	opened    []*server // connections that were made for it
	reskilled bool      // the skills are a copy
	reserved  bool      // the servers are a copy
}

// add takes a changed document into the edit. It returns what is wrong with it.
func (b *builder) add(ctx context.Context, key Key, doc *document) []awaken.Diagnostic {
	if doc == nil {
		b.remove(key)
		return nil
	}
	switch key.Namespace {
	case Providers:
		b.addProvider(ctx, doc)
		return nil
	case MCPServers:
		b.addServer(ctx, doc)
		return nil
	}
	spec, err := b.c.secrets.decode(doc)
	if err != nil {
		// It was checked when it was written: its secrets cannot be read, or another
		// program wrote it.
		return []awaken.Diagnostic{problem(key, "invalid", "%v", err)}
	}
	switch spec := spec.(type) {
	case *awaken.ModelSpec:
		if p := b.next.providers[spec.ProviderID]; p != nil && b.m.o.Model != nil {
			if a := p.now.Load(); a.err == nil {
				b.m.o.Model(ctx, spec, a.model)
			}
		}
		b.edit.Models = append(b.edit.Models, *spec)
	case *awaken.ModelPoolSpec:
		b.edit.Pools = append(b.edit.Pools, *spec)
	case *awaken.AgentSpec:
		b.edit.Agents = append(b.edit.Agents, b.reach(spec))
	case *SkillSpec:
		b.skills()[key.ID] = spec
	case *ToolSpec:
		if b.edit.ToolDescriptions == nil {
			b.edit.ToolDescriptions = map[string]string{}
		}
		b.edit.ToolDescriptions[key.ID] = spec.Description
	}
	return nil
}

func (b *builder) remove(key Key) {
	gone := &b.edit.Gone
	switch key.Namespace {
	case Providers:
		gone.Providers = append(gone.Providers, key.ID)
		b.next.providers = maps.Clone(b.next.providers)
		delete(b.next.providers, key.ID)
	case Models:
		gone.Models = append(gone.Models, key.ID)
	case Pools:
		gone.Pools = append(gone.Pools, key.ID)
	case Agents:
		gone.Agents = append(gone.Agents, key.ID)
	case MCPServers:
		b.removeServer(key.ID)
	case Skills:
		delete(b.skills(), key.ID)
	case Tools:
		if b.edit.ToolDescriptions == nil {
			b.edit.ToolDescriptions = map[string]string{}
		}
		b.edit.ToolDescriptions[key.ID] = "" // the tool's own
	}
}

// skills returns the skills, to be changed.
func (b *builder) skills() map[string]*SkillSpec {
	if !b.reskilled {
		b.reskilled = true
		b.next.skills = maps.Clone(b.next.skills)
		if b.next.skills == nil {
			b.next.skills = map[string]*SkillSpec{}
		}
	}
	return b.next.skills
}

// allSkills is where the plugin is reported that offers the skills.
var allSkills = Key{Skills, "*"}

// addSkills makes the plugin that offers the skills, if they are others.
func (b *builder) addSkills() []awaken.Diagnostic {
	if !b.reskilled || b.m.o.Skills == nil {
		return nil
	}
	all := make([]*SkillSpec, 0, len(b.next.skills))
	for _, id := range slices.Sorted(maps.Keys(b.next.skills)) {
		all = append(all, b.next.skills[id])
	}
	p, err := b.m.o.Skills(all)
	if err != nil {
		failed := problem(allSkills, "skills_failed", "%v", err)
		if b.c.tolerant { // nobody knows which one to leave out
			b.degraded = append(b.degraded, failed)
			return nil
		}
		return []awaken.Diagnostic{failed}
	}
	b.edit.Plugins = append(b.edit.Plugins, p)
	return nil
}

// addProvider makes the models of a provider. One that cannot be made fails its runs.
func (b *builder) addProvider(ctx context.Context, doc *document) {
	p, account := b.m.provider(ctx, doc, b.c.secrets)
	if account.err != nil {
		b.degraded = append(b.degraded, problem(doc.Key, "provider_failed", "%v", account.err))
	}
	for _, ref := range b.c.secrets.missing(doc) {
		b.degraded = append(b.degraded, warning(doc.Key, "secret_missing", "its secret %s is gone", ref))
	}
	if account != p.now.Load() {
		// It has the account of another version, or of a write that was not carried out.
		b.next.later = append(b.next.later, func() { p.now.Store(account) })
	}
	if b.c.base.providers[doc.ID] == p {
		return // whoever uses it has it
	}
	b.next.providers = maps.Clone(b.next.providers)
	if b.next.providers == nil {
		b.next.providers = map[string]*provider{}
	}
	b.next.providers[doc.ID] = p
	if b.edit.Providers == nil {
		b.edit.Providers = map[string]llm.Model{}
	}
	b.edit.Providers[doc.ID] = p
}

// reach completes the endpoint of an agent that runs on a configured A2A server.
func (b *builder) reach(spec *awaken.AgentSpec) *awaken.AgentSpec {
	e := spec.Endpoint
	if e == nil || len(e.Options["a2a_server_id"]) == 0 {
		return spec
	}
	id, err := strconv.Unquote(string(e.Options["a2a_server_id"]))
	doc := b.next.docs[Key{A2AServers, id}]
	if err != nil || doc == nil {
		return spec // a dangling reference was reported
	}
	decoded, err := b.c.secrets.decode(doc)
	if err != nil {
		b.degraded = append(b.degraded, problem(doc.Key, "invalid", "%v", err))
		return spec
	}
	server := decoded.(*A2AServerSpec)
	full := *e
	if full.BaseURL == "" {
		full.BaseURL = server.BaseURL
	}
	if full.Auth == nil {
		full.Auth = server.Auth
	}
	if full.Target == "" {
		full.Target = server.Target
	}
	spec.Endpoint = &full
	return spec
}

// refuse returns an error for problems, if there are any.
func refuse(problems []awaken.Diagnostic) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", awaken.ErrInvalid, &awaken.ConfigError{Problems: problems})
}
