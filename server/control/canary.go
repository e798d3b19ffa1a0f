package control

import (
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// canaries has the handlers of the canary: a version that a share of the threads uses.
type canaries struct {
	control *config.Manager
}

func (h *canaries) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/registry/canary", Needs: permit.ReadConfig, Handle: server.Handle(h.get),
			Summary: "Get the canary report", Replies: map[int]any{200: config.CanaryReport{}}},
		{Method: "PUT", Path: "/v1/registry/canary", Needs: permit.PublishConfig, Handle: server.HandleBody(h.put),
			Summary: "Route a share of new threads to a canary version", Headers: server.MatchHeaders[2:], Body: canaryBody{}, Replies: map[int]any{200: config.Head{}},
			Failures: []int{404, 409}},
		{Method: "POST", Path: "/v1/registry/canary/promote", Needs: permit.PublishConfig, Handle: server.Handle(h.promote),
			Summary: "Promote the canary to all threads", Headers: server.MatchHeaders[2:], Replies: map[int]any{200: config.Head{}}, Failures: []int{400, 404, 409}},
		{Method: "DELETE", Path: "/v1/registry/canary", Needs: permit.PublishConfig, Handle: server.Handle(h.drop),
			Summary: "End the canary", Headers: server.MatchHeaders[2:3], Replies: map[int]any{200: config.Head{}}, Failures: []int{404, 409}},
	}
}

type canaryBody struct {
	Version int64              `json:"version,omitempty"` // of an existing canary
	Share   float64            `json:"share"`
	Rule    *config.CanaryRule `json:"rule,omitempty"`
}

func (b *canaryBody) canary() (*config.Canary, error) {
	if b == nil {
		return nil, nil
	}
	if !(b.Share > 0 && b.Share <= 1) {
		return nil, protocol.BadRequest("share is %v, want more than 0 and at most 1", b.Share)
	}
	return &config.Canary{Version: b.Version, Share: b.Share, Rule: b.Rule}, nil
}

func (h *canaries) get(req *server.Request) error {
	return req.OK(h.control.Canary().Report(req.Context()))
}

func (h *canaries) put(req *server.Request, body *canaryBody) error {
	canary, err := body.canary()
	if err != nil {
		return err
	}
	by, err := publisherOf(req)
	if err != nil {
		return err
	}
	return req.OK(h.control.Canary().Set(req.Context(), *canary, by))
}

func (h *canaries) promote(req *server.Request) error {
	by, err := publisherOf(req)
	if err != nil {
		return err
	}
	return req.OK(h.control.Canary().Promote(req.Context(), by))
}

func (h *canaries) drop(req *server.Request) error {
	return req.OK(h.control.Canary().Drop(req.Context(), server.ActorOf(req)))
}
