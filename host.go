package awaken

import (
	"context"
	"time"
)

// Host is the part of the runtime that a tool may use. Everything that a tool starts through
// it belongs to the tenant of the calling run.
type Host interface {
	// Runner runs an agent of the same tenant.
	Runner
	// Store returns the tenant's store.
	Store() Store
	// Now returns the time of the runtime's clock.
	Now() time.Time

	// ResolutionID returns the id of the registry version of the calling run. A tool that
	// starts runs sets it in their requests, so that they use the same version.
	ResolutionID() string
	// Agent returns the spec of an agent of that version, or nil. The caller must not
	// change it.
	Agent(id string) *AgentSpec
	// ToolIDs lists the tools that an agent of that version is offered.
	ToolIDs(agentID string) []string

	// HasAgent reports whether the agent of the request exists in the version that its run
	// would use. It is true for a request that names no agent.
	HasAgent(ctx context.Context, req *RunRequest) (bool, error)
}

// Runner runs agents. The runtime is one; so are test doubles.
type Runner interface {
	// Run runs req until the run ends or waits, and sends its events to sink.
	Run(ctx context.Context, req RunRequest, sink Sink) (*RunResult, error)
}
