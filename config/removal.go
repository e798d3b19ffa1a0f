package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/glob"
)

// Removal describes the effects of deleting a document.
type Removal struct {
	Resource Key `json:"resource"`
	// Allowed reports whether the document can be deleted: it is not the program's, and no live document needs it.
	Allowed bool `json:"allowed"`
	// UsedBy lists the live documents that need it, Affected also those that need it through others, or that may use its
	// tools.
	UsedBy   []Key `json:"used_by"`
	Affected []Key `json:"affected"`
	// OpenRuns is how many unfinished runs of all tenants may use it, in the version that they are pinned to; Runs has them
	// by version and agent. They keep it until they are done: versions are immutable.
	OpenRuns int   `json:"open_runs"`
	Runs     []Pin `json:"runs"`
}

// Removal returns the effects of deleting a document. awaken.ErrNotFound means that there is no such document.
func (m *Manager) Removal(ctx context.Context, key Key) (*Removal, error) {
	if _, err := m.Get(ctx, key); err != nil {
		return nil, err
	}
	now := m.current.now()
	v := &Removal{Resource: key, UsedBy: append([]Key{}, now.users(key)...), Affected: []Key{}, Runs: []Pin{}}
	v.Allowed = len(v.UsedBy) == 0 && m.code.writable(key) == nil
	docs := now.docs()
	for _, k := range sortedKeys(docs) {
		uses, err := reaches(k, key, func(k Key) (*document, error) { return docs[k], nil })
		if err != nil {
			return nil, err
		}
		if k != key && uses {
			v.Affected = append(v.Affected, k)
		}
	}
	pins, err := m.versions.Pins(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]*document{} // by hash
	for _, pin := range pins {
		entries, err := m.versions.catalogue.entries(ctx, pin.Version)
		if errors.Is(err, awaken.ErrNotFound) {
			continue // the version is gone; its runs wait for it
		}
		if err != nil {
			return nil, err
		}
		uses, err := reaches(Key{Agents, pin.AgentID}, key, func(k Key) (*document, error) {
			e, ok := entries[k]
			if !ok {
				return nil, nil
			}
			if seen[e.Hash] == nil {
				docs, err := m.versions.catalogue.documents(ctx, now, map[Key]Entry{k: e})
				if err != nil {
					return nil, err
				}
				seen[e.Hash] = docs[k]
			}
			return seen[e.Hash], nil
		})
		if err != nil {
			return nil, err
		}
		if uses {
			v.OpenRuns += pin.Runs
			v.Runs = append(v.Runs, pin)
		}
	}
	return v, nil
}

// reaches reports whether a document is another one, needs it, directly or through others, or may use its tools. Find returns
// a document, or nil if there is none.
func reaches(from, to Key, find func(Key) (*document, error)) (bool, error) {
	seen, next := map[Key]bool{from: true}, []Key{from}
	for len(next) > 0 {
		key := next[0]
		next = next[1:]
		doc, err := find(key)
		if err != nil {
			return false, err
		}
		if key == to && (doc != nil || key == from) {
			return true, nil
		}
		if doc == nil {
			continue
		}
		if key.Namespace == Agents && mayUse(doc, to) {
			return true, nil
		}
		for _, k := range doc.needs {
			if !seen[k] {
				seen[k] = true
				next = append(next, k)
			}
		}
	}
	return false, nil
}

// mayUse reports whether an agent may use a tool, a tool of an MCP server, or a skill.
func mayUse(agent *document, to Key) bool {
	tree, err := parse(agent.raw)
	if err != nil {
		return false
	}
	if to.Namespace == Skills {
		return slices.ContainsFunc(texts(tree, "plugin_ids"), func(id string) bool { return strings.HasPrefix(id, "skills") })
	}
	if to.Namespace != Tools && to.Namespace != MCPServers {
		return false
	}
	prefix := "mcp__" + to.ID + "__"
	matches := func(pattern string) bool {
		if to.Namespace == MCPServers { // as far as both are literal
			literal, _, _ := strings.Cut(pattern, "*")
			return strings.HasPrefix(literal, prefix) || strings.HasPrefix(prefix, literal)
		}
		p, err := glob.Compile(pattern)
		return err == nil && p.Match(to.ID)
	}
	_, literals := tree["allowed_tools"]
	_, patterns := tree["allowed_tool_patterns"]
	allowed := !literals && !patterns || slices.ContainsFunc(texts(tree, "allowed_tool_patterns"), matches) ||
		slices.ContainsFunc(texts(tree, "allowed_tools"), func(id string) bool {
			return to.Namespace == Tools && id == to.ID || to.Namespace == MCPServers && strings.HasPrefix(id, prefix)
		})
	excluded := to.Namespace == Tools && (slices.Contains(texts(tree, "excluded_tools"), to.ID) || slices.ContainsFunc(texts(tree, "excluded_tool_patterns"), matches))
	return allowed && !excluded
}

// RemovalPreview describes the effects of deleting a provider.
type RemovalPreview struct {
	ProviderID                 string   `json:"provider_id"`
	ModelIDs                   []string `json:"model_ids"`
	AgentIDs                   []string `json:"agent_ids"`
	BlockIfReferencedAllowed   bool     `json:"block_if_referenced_allowed"`
	CascadeUnusedModelsAllowed bool     `json:"cascade_unused_models_allowed"`
}

// RemovalPreview lists the models of a provider and the agents that use them, directly or
// through pools.
func (m *Manager) RemovalPreview(ctx context.Context, providerID string) (*RemovalPreview, error) {
	key := Key{Providers, providerID}
	if _, err := m.o.Store.Record(ctx, key); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	now := m.current.now()
	v := &RemovalPreview{ProviderID: providerID, ModelIDs: []string{}, AgentIDs: []string{}, CascadeUnusedModelsAllowed: true}
	agent := func(k Key) {
		if k.Namespace == Agents && !slices.Contains(v.AgentIDs, k.ID) {
			v.AgentIDs = append(v.AgentIDs, k.ID)
		}
	}
	for _, model := range now.users(key) {
		v.ModelIDs = append(v.ModelIDs, model.ID)
		for _, user := range now.users(model) {
			v.CascadeUnusedModelsAllowed = false
			agent(user)
			if user.Namespace == Pools {
				for _, u := range now.users(user) {
					agent(u)
				}
			}
		}
	}
	slices.Sort(v.AgentIDs)
	v.BlockIfReferencedAllowed = len(v.ModelIDs) == 0
	return v, nil
}
