package registry

import (
	"strings"

	"github.com/awaken-go/awaken"
)

// separator separates the id of an agent from the name of one of its variants.
var separator = new(awaken.AgentSpec).VariantID("")

// Base returns the id of the agent that id is a variant of, or id itself if it is no variant.
func (reg *Registry) Base(id string) string {
	if at := strings.LastIndex(id, separator); at > 0 && reg.agents[id] == nil && reg.agents[id[:at]] != nil {
		return id[:at]
	}
	return id
}

// variant returns the variant with an id like "agent:variant", or nil.
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
