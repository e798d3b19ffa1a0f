package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// health has the handlers of probes.
type health struct {
	serving context.Context // until the server stops
	logger  *slog.Logger
	box     *mailbox.Mailbox
	store   recent[string] // what the last probe of the store found

	// Guarded by store.
	late chan error // receives the result of a probe that took too long; nil if there is none
	last string     // what the last probe found, "" before the first
}

// probeTime is how long a probe of the store may take.
const probeTime = 5 * time.Second

func (h *health) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/health", Needs: permit.Public, Handle: Handle(h.check),
			Summary: "Readiness probe: check the store and the runtime", Replies: map[int]any{200: healthBody{}, 503: healthBody{}}},
		{Method: "GET", Path: "/health/live", Needs: permit.Public, Handle: Handle(h.live),
			Summary: "Liveness probe: check that the server responds", Replies: map[int]any{200: nil}},
	}
}

type healthBody struct {
	Status     string            `json:"status"`     // healthy or unhealthy
	Components map[string]string `json:"components"` // ok or what is wrong, by component: store, runtime
}

func (h *health) check(req *Request) error {
	out := healthBody{Status: "healthy", Components: map[string]string{"store": "ok", "runtime": "ok"}}
	status := 200
	if found, err := h.store.get(h.probe); err != nil {
		out.Status, out.Components["store"], status = "unhealthy", found, 503
	}
	if h.serving.Err() != nil {
		out.Status, out.Components["runtime"], status = "unhealthy", "stopping", 503
	}
	return req.Reply(status, out)
}

// probe probes the store for all clients, whichever of them disconnects. It returns what to tell
// them.
func (h *health) probe() (found string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	found = "ok"
	if err = h.ask(ctx); err != nil {
		switch o := fault.OutageOf(err); {
		case o != nil:
			found = o.Reason
		case ctx.Err() != nil:
			found = "timeout"
		default:
			found = "error"
		}
	}
	switch {
	case found == h.last:
	case err != nil:
		h.logger.Warn("the store is unavailable", "error", err)
	case h.last != "":
		h.logger.Info("the store is available again")
	}
	h.last = found
	return found, err
}

// ask asks the store, and returns when ctx is done even if the store does not. It then leaves the
// question in flight and asks no other one until the store has returned.
func (h *health) ask(ctx context.Context) error {
	if h.late != nil {
		select {
		case <-h.late:
			h.late = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	done := make(chan error, 1)
	go func() { done <- h.box.Probe(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		h.late = done
		return ctx.Err()
	}
}

func (h *health) live(req *Request) error { return req.Reply(200, nil) }
