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
	store   recent[string] // what the last probe of the store found
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
	out := healthBody{Status: "healthy", Components: map[string]string{"store": "ok", "runtime": "ok"}}
	status := 200
	// The probe is that of all clients, so it does not end when this one disconnects.
	if found, err := h.store.get(func() (string, error) { return h.probe(context.WithoutCancel(req.ctx), req.tenant) }); err != nil {
		out.Status, out.Components["store"], status = "unhealthy", found, 503
	}
	if h.serving.Err() != nil {
		out.Status, out.Components["runtime"], status = "unhealthy", "stopping", 503
	}
	return req.Reply(status, out)
}

// probe makes a small request to the store. If it fails, probe returns what to tell clients.
func (h *health) probe(ctx context.Context, tenant *mailbox.Tenant) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := tenant.Store.ListThreads(ctx, awaken.ThreadQuery{Limit: 1})
	if err == nil {
		return "ok", nil
	}
	h.logger.Warn("store probe failed", "error", err)
	if ctx.Err() != nil {
		return "timeout", err
	}
	return "error", err
}

func (h *health) live(req *request) error { return req.Reply(200, nil) }
