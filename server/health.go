package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// health has the handlers of probes.
type health struct {
	serving context.Context // until the server stops
	logger  *slog.Logger
}

func (h *health) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/health", Handle: own(h.check),
			Summary: "Readiness probe: check the store and the runtime", Replies: map[int]any{200: healthBody{}, 503: healthBody{}}},
		{Method: "GET", Path: "/health/live", Handle: own(h.live),
			Summary: "Liveness probe: check that the server responds", Replies: map[int]any{200: nil}},
	}
}

type healthBody struct {
	Status     string            `json:"status"` // healthy or unhealthy
	Components map[string]string `json:"components"`
}

func (h *health) check(req *request) error {
	ctx, cancel := context.WithTimeout(req.ctx, 5*time.Second)
	defer cancel()
	out := healthBody{Status: "healthy", Components: map[string]string{"store": "ok", "runtime": "ok"}}
	status := 200
	if err := probeStore(ctx, req.tenant); err != nil {
		out.Status, out.Components["store"], status = "unhealthy", "error", 503
		if ctx.Err() != nil {
			out.Components["store"] = "timeout"
		}
		h.logger.Warn("the health check of the store failed", "error", err)
	}
	if h.serving.Err() != nil {
		out.Status, out.Components["runtime"], status = "unhealthy", "stopping", 503
	}
	return req.Reply(status, out)
}

// probeStore makes a small request to the store.
func probeStore(ctx context.Context, tenant *mailbox.Tenant) error {
	_, err := tenant.Store.ListThreads(ctx, awaken.ThreadQuery{Limit: 1})
	return err
}

func (h *health) live(req *request) error { return req.Reply(200, nil) }
