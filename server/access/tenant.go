package access

import (
	"maps"
	"slices"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// tenants has the handler of the list of tenants.
type tenants struct{ keys *Keys }

func (h *tenants) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/tenants", Needs: permit.ReadTenants, Handle: server.Handle(h.list),
			Summary: "List the tenants that have keys, and the default tenant", Replies: map[int]any{200: tenantList{}}},
	}
}

type tenantList struct {
	Items []tenantItem `json:"items"`
}

type tenantItem struct {
	Tenant string `json:"tenant"` // "" is the default tenant
	Keys   int    `json:"keys"`
}

func (h *tenants) list(req *server.Request) error {
	keys, err := h.keys.List(req.Context())
	if err != nil {
		return err
	}
	count := map[string]int{"": 0}
	for _, k := range keys {
		count[k.Tenant]++
	}
	out := tenantList{Items: []tenantItem{}}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		out.Items = append(out.Items, tenantItem{name, count[name]})
	}
	return req.Reply(200, out)
}
