package awaken

import (
	"encoding/json"

	"github.com/awaken-go/awaken/internal/egress"
)

// Egress says where a call can carry data to: out of the process and its stores. Rules about tainted runs apply to calls that
// carry data out, also if they only read; see [Taint] and package plugin/permission.
//
// The zero Egress is the safest: a call may reach any host.
type Egress struct {
	// None says that a call carries no data out: it computes, or uses only the run's state, the conversation, the
	// profile, and runs that it starts through [Host], all of which carry taint.
	None bool `json:"none,omitempty"`
	// Hosts lists the only hosts that a call sends data to, as host or host:port, in lower-case letters. Empty means any.
	Hosts []string `json:"hosts,omitempty"`
}

// Destined is a tool whose arguments say where a call carries data to, instead of [ToolSpec].Egress.
type Destined interface {
	// Egress returns where a call with these arguments carries data to. It has no side effects.
	Egress(args json.RawMessage) Egress
}

// Egress returns where the messages of the agent's runs go: nowhere, or to the host of an agent on another server.
func (s *AgentSpec) Egress() Egress {
	if s.Endpoint == nil {
		return Egress{None: true}
	}
	return EgressTo(s.Endpoint.BaseURL)
}

// EgressTo returns the egress of calls that go to an HTTP server.
func EgressTo(address string) Egress {
	if host := egress.Of(address); host != "" {
		return Egress{Hosts: []string{host}}
	}
	return Egress{}
}
