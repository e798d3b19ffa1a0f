package remote

import (
	"context"
	"encoding/json"
	"maps"
)

// Status is the last known state of a server.
type Status struct {
	CardURL string          // where its agent card is, or should be
	Card    json.RawMessage // nil if it has never been fetched
	Err     error           // why it cannot be used now, or nil
}

// Status fetches the agent card of a server, or looks at the one that is kept, and says whether agents on it can be run.
func (b *Backend) Status(ctx context.Context, s Server, options map[string]json.RawMessage) Status {
	set, err := readSettings(options)
	if err != nil {
		return Status{Err: err}
	}
	s.Headers = maps.Clone(set.Headers)
	c, err := b.client(s)
	if err != nil {
		return Status{Err: err}
	}
	k := c.cards.get(ctx, b.now())
	out := Status{CardURL: k.at, Card: k.raw, Err: k.problem}
	if out.Err == nil {
		_, out.Err = k.read.choose(c.base, c.target, set.Binding)
	}
	if out.Err != nil {
		out.Err = &taskError{c.hide(out.Err.Error())}
	}
	return out
}
