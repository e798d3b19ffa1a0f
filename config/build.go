package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// builder assembles the registry edit of a candidate.
type builder struct {
	compiler      *compiler
	c             candidate
	next          *compiled
	edit          registry.Edit
	degraded      []awaken.Diagnostic
	opened        []*server // connections made for this candidate
	skillsCopied  bool      // next.skills is a copy
	serversCopied bool      // next.servers and next.tools are copies
}

// add puts a changed document into the edit and returns its problems.
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
		// The document was valid when it was written: either its secrets cannot be read, or
		// another program wrote it.
		return []awaken.Diagnostic{problem(key, "invalid", "%v", err)}
	}
	switch spec := spec.(type) {
	case *awaken.ModelSpec:
		if p := b.next.providers[spec.ProviderID]; p != nil && b.compiler.complete != nil {
			if a := p.now.Load(); a.err == nil {
				b.compiler.complete(ctx, spec, a.model)
			}
		}
		b.edit.Models = append(b.edit.Models, *spec)
	case *awaken.ModelPoolSpec:
		b.edit.Pools = append(b.edit.Pools, *spec)
	case *awaken.AgentSpec:
		b.edit.Agents = append(b.edit.Agents, b.reach(spec))
		b.implyDelegates(spec)
	case *A2AServerSpec:
		b.addAgentsOn(spec)
	case *SkillSpec:
		b.skills()[key.ID] = spec
	case *ToolSpec:
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
		b.copyServers()
		delete(b.next.servers, key.ID)
		b.addTools(key.ID)
	case A2AServers:
		b.removeAgentsOn(key.ID)
	case Skills:
		delete(b.skills(), key.ID)
	case Tools:
		b.edit.ToolDescriptions[key.ID] = "" // back to the tool's own
	}
}

// skills returns a copy of the skills that may be changed.
func (b *builder) skills() map[string]*SkillSpec {
	if !b.skillsCopied {
		b.skillsCopied = true
		b.next.skills = maps.Clone(b.next.skills)
	}
	return b.next.skills
}

// allSkills is the key under which the plugins that offer skills are reported.
var allSkills = Key{Skills, "*"}

// addSkills makes the plugins that offer the skills, if they changed.
func (b *builder) addSkills() []awaken.Diagnostic {
	if !b.skillsCopied || b.compiler.offer == nil {
		return nil
	}
	all := slices.SortedFunc(maps.Values(b.next.skills), func(a, b *SkillSpec) int { return strings.Compare(a.ID, b.ID) })
	plugins, err := b.compiler.offer(all)
	if err != nil {
		failed := problem(allSkills, "skills_failed", "%v", err)
		if b.c.tolerant { // the error does not say which skill to leave out
			b.degraded = append(b.degraded, failed)
			return nil
		}
		return []awaken.Diagnostic{failed}
	}
	b.edit.Plugins = append(b.edit.Plugins, plugins...)
	return nil
}

// addProvider adds a provider. Runs on a provider that cannot be opened fail.
func (b *builder) addProvider(ctx context.Context, doc *document) {
	p, account := b.compiler.accounts.provider(ctx, doc, b.c.secrets)
	switch {
	case errors.Is(account.err, llm.ErrNoKey): // not a mistake: a key may follow, and can be cleared
		b.degraded = append(b.degraded, warning(doc.Key, "provider_key_missing", "%v", account.err))
	case account.err != nil:
		b.degraded = append(b.degraded, problem(doc.Key, "provider_failed", "%v", account.err))
	}
	for _, ref := range b.c.secrets.missing(doc) {
		b.degraded = append(b.degraded, warning(doc.Key, "secret_missing", "secret %s is missing", ref))
	}
	if account != p.now.Load() {
		// The provider has the account of another version, or of a write that was not
		// completed.
		b.next.onFirstUse = append(b.next.onFirstUse, func() { p.now.Store(account) })
	}
	if b.c.base.providers[doc.ID] == p {
		return // the registry has this provider
	}
	b.next.providers = maps.Clone(b.next.providers)
	b.next.providers[doc.ID] = p
	b.edit.Providers[doc.ID] = p
}

// addServer connects to an MCP server. A server that does not answer has no tools until it
// does.
func (b *builder) addServer(ctx context.Context, doc *document) {
	s, fresh := b.compiler.servers.connect(ctx, doc, b.c.secrets)
	if fresh {
		b.opened = append(b.opened, s)
	}
	if s.err == nil {
		b.next.onFirstUse = append(b.next.onFirstUse, s.conn.Start)
	}
	b.copyServers()
	b.next.servers[doc.ID] = s
	b.addTools(doc.ID)
}

func (b *builder) copyServers() {
	if !b.serversCopied {
		b.serversCopied = true
		b.next.servers, b.next.tools = maps.Clone(b.next.servers), maps.Clone(b.next.tools)
	}
}

// away returns the sorted ids of the servers whose tools are not known: those that are not connected, and those that no
// user has authorized yet.
func (b *builder) away() []string {
	out := []string{}
	for id, s := range b.next.servers {
		if s.err != nil {
			out = append(out, id)
			continue
		}
		if st := s.conn.Status(); (len(st.Tools) == 0 || len(s.conn.Tools()) == 0) && (!st.Connected || st.Authorization != "") {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// addTools replaces the base's tools of a server by its current ones.
func (b *builder) addTools(id string) {
	b.copyServers()
	var ids []string
	if s := b.next.servers[id]; s != nil && s.err == nil {
		for _, t := range s.conn.Tools() {
			tool := t.Spec().ID
			if b.compiler.code[Key{Tools, tool}] {
				b.degraded = append(b.degraded, problem(s.doc.Key, "tool_conflict", "tool %q conflicts with a tool defined in code", tool))
				continue
			}
			if err := b.usable(id, t, ids); err != nil {
				b.degraded = append(b.degraded, warning(s.doc.Key, "tool_invalid", "tool %q is skipped: %v", tool, err))
				continue
			}
			ids = append(ids, tool)
			b.edit.Tools = append(b.edit.Tools, t)
		}
	} else if s != nil {
		b.degraded = append(b.degraded, warning(s.doc.Key, "mcp_unavailable", "%v", s.err))
	}
	for _, old := range b.next.tools[id] {
		if !slices.Contains(ids, old) {
			b.edit.Gone.Tools = append(b.edit.Gone.Tools, old)
		}
	}
	b.next.tools[id] = ids
}

// usable returns why a tool cannot be added beside those that the server has. A bad tool is
// not the fault of a document and must not disable the others.
func (b *builder) usable(id string, t awaken.Tool, have []string) error {
	tool := t.Spec().ID
	if slices.Contains(have, tool) {
		return errors.New("the server lists another tool of the same name")
	}
	for other, tools := range b.next.tools {
		if other != id && slices.Contains(tools, tool) {
			return fmt.Errorf("server %q has a tool of the same name", other)
		}
	}
	_, err := b.compiler.bare.reg.Derive(registry.Edit{Tools: []awaken.Tool{t}, Lazy: true})
	return err
}
