package config

import (
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// code names what the program gives beside documents, which no document can change.
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

// ownPrefix is how the ids of agents begin that are the server's own.
const ownPrefix = "__"

// writable reports whether documents of that name can be written.
func (c code) writable(key Key) error {
	if _, err := key.Namespace.kind(); err != nil {
		return err
	}
	switch {
	case key.Namespace == Tools:
		return fmt.Errorf("tools: %w: tools are part of the program, and only their overrides can be written", ErrReadOnly)
	case key.Namespace == Agents && strings.HasPrefix(key.ID, ownPrefix):
		return fmt.Errorf("%w: id of %s is %q, and names that begin with %s are the server's own", awaken.ErrInvalid, key.Namespace, key.ID, ownPrefix)
	case c[key]:
		return fmt.Errorf("%s: %w: it is part of the program", key, ErrReadOnly)
	}
	return nil
}
