package awaken

import (
	"context"
	"time"
)

// toolHost is the Host of the tools of one run.
type toolHost struct {
	rt  *Runtime
	reg *Registry // of the run
}

var _ Host = (*toolHost)(nil)

func (h *toolHost) Run(ctx context.Context, req RunRequest, sink Sink) (*RunResult, error) {
	return h.rt.Run(ctx, req, sink)
}

func (h *toolHost) Store() Store   { return h.rt.Store() }
func (h *toolHost) Now() time.Time { return h.rt.Now() }

func (h *toolHost) ResolutionID() string {
	if h.rt.cfg.Snapshots == nil {
		return "" // there is only one at a time
	}
	return h.reg.ID()
}

func (h *toolHost) Agent(id string) *AgentSpec      { return h.reg.Agent(id) }
func (h *toolHost) Remote(agentID string) Runner    { return h.reg.Remote(agentID) }
func (h *toolHost) ToolIDs(agentID string) []string { return h.reg.ToolIDs(agentID) }

func (h *toolHost) HasAgent(ctx context.Context, req *RunRequest) (bool, error) {
	return h.rt.HasAgent(ctx, req)
}
