package control

import (
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// modelHealth has the handler of the health of models.
type modelHealth struct {
	registry func() *registry.Registry
}

func (h *modelHealth) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/models/health", Needs: permit.ReadServer, Handle: server.Handle(h.list),
			Summary: "List the circuit breakers of models, as this process sees them", Replies: map[int]any{200: modelHealthList{}}},
	}
}

type modelHealthList struct {
	Models []registry.ModelHealth `json:"models"`
}

func (h *modelHealth) list(req *server.Request) error {
	return req.Reply(200, modelHealthList{append([]registry.ModelHealth{}, h.registry().Health()...)})
}
