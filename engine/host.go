package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/egress"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/registry"
)

// toolHost is the Host that the tools of one run get.
type toolHost struct {
	rt    *Runtime
	reg   *registry.Registry // of the run
	marks *marks             // of the run
}

var _ awaken.Host = (*toolHost)(nil)

// follower is an owner of runs that publishes what the runs within them do.
type follower interface {
	Follow(next awaken.Sink) (sink awaken.Sink, end func())
}

func (h *toolHost) Run(ctx context.Context, req awaken.RunRequest, sink awaken.Sink) (*awaken.RunResult, error) {
	if o, ok := ownership.Of[follower](ctx); ok {
		s, end := o.Follow(sink)
		defer end()
		sink = s
	}
	req.Taint = cmp.Or(req.Taint, h.marks.Taint())
	res, err := h.rt.Run(egress.Free(ctx), req, sink)
	if res != nil && h.marks.Taint() == nil {
		if run, failed := h.rt.cfg.Store.LoadRun(detached(ctx), res.RunID); failed == nil && run.Taint != nil {
			h.marks.ReadTainted(run.Taint) // the call has its answer
		}
	}
	return res, err
}

func (h *toolHost) Store() awaken.Store { return h.rt.Store() }
func (h *toolHost) Now() time.Time      { return h.rt.Now() }

func (h *toolHost) ResolutionID() string {
	if h.rt.cfg.Versions == nil {
		return "" // there are no versions
	}
	return h.reg.ID()
}

func (h *toolHost) Agent(id string) *awaken.AgentSpec { return h.reg.Agent(id) }
func (h *toolHost) ToolIDs(agentID string) []string   { return h.reg.ToolIDs(agentID) }

func (h *toolHost) HasAgent(ctx context.Context, req *awaken.RunRequest) (bool, error) {
	return h.rt.HasAgent(ctx, req)
}
