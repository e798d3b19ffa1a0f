package registry

import (
	"strings"

	"github.com/awaken-go/awaken"
)

// separator stands between the id of an agent and the name of one of its variants.
var separator = awaken.VariantID("", "")

// Base is the id of the agent that id is a variant of, or else id itself.
func (reg *Registry) Base(id string) string {
	if at := strings.LastIndex(id, separator); at > 0 && reg.agents[id] == nil && reg.agents[id[:at]] != nil {
		return id[:at]
	}
	return id
}

// variant finds a variant of an agent: "agent:variant".
func (reg *Registry) variant(id string) *Agent {
	at := strings.LastIndex(id, separator)
	if at <= 0 {
		return nil
	}
	base := reg.agents[id[:at]]
	if base == nil {
		return nil
	}
	return base.resolve(reg).variants[id[at+1:]]
}
