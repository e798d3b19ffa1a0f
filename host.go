package awaken

import (
	"context"
	"time"
)

// Host is what makes a tool call, as far as the tool may use it. What a tool runs with it
// belongs to the same tenant as the run that makes the call.
type Host interface {
	// Run runs an agent of the same tenant, as the runtime does.
	Runner
	// Store is where the tenant's threads are kept.
	Store() Store
	// Now is the runtime's clock.
	Now() time.Time

	// ResolutionID is what a tool that starts runs puts into their requests, so that they
	// start on the same version as the run that makes the call.
	ResolutionID() string
	// Agent returns the spec of an agent of that version, or nil. It must not be changed.
	Agent(id string) *AgentSpec
	// Remote returns what runs an agent of that version that runs elsewhere, or nil.
	Remote(agentID string) Runner
	// ToolIDs lists the tools that an agent of that version is offered.
	ToolIDs(agentID string) []string

	// HasAgent reports whether the request's agent is known where its run would go on. A
	// request that names no agent has one.
	HasAgent(ctx context.Context, req *RunRequest) (bool, error)
}

// Runner runs agents: a runtime, a remote agent, or a fake.
type Runner interface {
	Run(ctx context.Context, req RunRequest, sink Sink) (*RunResult, error)
}
