package control

import (
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// providerLimits has the handler of the rate limits of providers.
type providerLimits struct {
	limiter *limit.Limiter
}

func (h *providerLimits) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/providers/limits", Needs: permit.ReadServer, Handle: server.Handle(h.list),
			Summary: "List the rate limits of providers that all replicas are held to together, and how much of them is used", Query: server.PageParams, Replies: map[int]any{200: providerLimitList{}}},
		{Method: "DELETE", Path: "/v1/providers/limits", Needs: permit.ResetLimits, Handle: server.Handle(h.reset),
			Summary: "Forget the limits and pauses that were learned about a provider; configured limits remain",
			Query: []protocol.Param{
				server.Param("provider_id", "string", "the provider"),
				server.Param("model", "string", "the provider's name of a model; default: all models"),
			},
			Replies: map[int]any{204: nil}},
	}
}

type providerLimitList struct {
	Items   []providerLimit `json:"items"`
	Total   int             `json:"total"`
	HasMore bool            `json:"has_more"`
}

// providerLimit is a rate limit of a provider's account, of one of its models or of a tenant.
type providerLimit struct {
	ProviderID string     `json:"provider_id"`
	Model      string     `json:"model,omitempty"`    // the provider's name of it; absent if the limit is one of all models
	Tenant     *string    `json:"tenant,omitempty"`   // absent if the limit is one of all tenants
	Requests   *rateUsage `json:"requests,omitempty"` // absent if requests are not limited
	Tokens     *rateUsage `json:"tokens,omitempty"`   // absent if tokens are not limited
	PausedMS   int64      `json:"paused_ms"`          // what is left of a pause that the provider asked for
	Waiting    int        `json:"waiting"`            // requests of all replicas
}

// rateUsage is a limit and how much of it is used.
type rateUsage struct {
	PerMinute float64      `json:"per_minute"`
	Source    limit.Source `json:"source"`
	UsedShare float64      `json:"used_share"` // 0 if all that can be used at once is available, 1 if the next request waits
}

func (h *providerLimits) list(req *server.Request) error {
	all, err := h.limiter.Shared(req.Context())
	if err != nil {
		return err
	}
	offset, most := req.Page()
	out := providerLimitList{Items: []providerLimit{}, Total: len(all)}
	for _, s := range all[min(offset, len(all)):min(offset+most, len(all))] {
		out.Items = append(out.Items, providerLimit{ProviderID: s.Provider, Model: s.Model, Tenant: s.Tenant, Requests: usageOf(s.Requests), Tokens: usageOf(s.Tokens),
			PausedMS: s.Paused.Milliseconds(), Waiting: s.Waiting})
	}
	out.HasMore = offset+len(out.Items) < out.Total
	return req.Reply(200, out)
}

func (h *providerLimits) reset(req *server.Request) error {
	provider := req.Values().Get("provider_id")
	if provider == "" {
		return protocol.BadRequest("provider_id is missing, want the ID of a provider")
	}
	if err := h.limiter.Reset(req.Context(), provider, req.Values().Get("model")); err != nil {
		return err
	}
	return req.Reply(204, nil)
}

// usageOf returns nil for a meter without a limit.
func usageOf(m limit.Meter) *rateUsage {
	if m.PerMinute == 0 {
		return nil
	}
	return &rateUsage{PerMinute: m.PerMinute, Source: m.Source, UsedShare: m.Used}
}
