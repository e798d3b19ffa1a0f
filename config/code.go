package config

import (
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// code is the set of documents that are defined in code and that no write can change.
type code map[Key]bool

func newCode(c *registry.Config) code {
	keys := code{}
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

// ownPrefix begins the ids of the server's own agents.
const ownPrefix = "__"

// writable returns why a document cannot be written, or nil.
func (c code) writable(key Key) error {
	if _, err := key.Namespace.kind(); err != nil {
		return err
	}
	switch {
	case key.Namespace == Tools:
		return fmt.Errorf("tools: %w: tools are defined in code, and only their overrides can be written", ErrReadOnly)
	case key.Namespace == Agents && strings.HasPrefix(key.ID, ownPrefix):
		return fmt.Errorf("%w: id of %s is %q, but ids that begin with %s are reserved for the server", awaken.ErrInvalid, key.Namespace, key.ID, ownPrefix)
	case c[key]:
		return fmt.Errorf("%s: %w: it is defined in code", key, ErrReadOnly)
	}
	return nil
}
