package figures

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/trace/rollup"
)

// usage has the handler of the token usage and cost of runs.
type usage struct {
	figures rollup.Store // may be nil
}

func (h *usage) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/usage", Needs: permit.ReadUsage, Scope: protocol.ByCaller, Handle: server.Handle(h.get),
			Summary: "Get token usage and cost: of all runs by agent or, with since, until or by, of the runs that ended in that time",
			Query: []protocol.Param{server.Param("thread_id", "string", "only runs on this thread"), server.Param("agent_id", "string", "only runs of this agent"), server.UserParam,
				sinceParam, untilParam, server.Param(byParam.Name, byParam.Kind, "dimension to group by; model counts requests and tool counts calls; default agent")},
			Replies: map[int]any{200: usageBody{}}},
	}
}

// usageBody is the token usage and cost of runs.
type usageBody struct {
	Items   []usageItem `json:"items"` // one per agent, or per key of the dimension that was asked for
	Runs    int         `json:"runs"`
	Usage   llm.Usage   `json:"usage"`
	CostUSD float64     `json:"cost_usd"`
}

func (h *usage) get(req *server.Request) error {
	if req.Values().Has("since") || req.Values().Has("until") || req.Values().Has("by") {
		return h.over(req)
	}
	r, ok := req.Tenant().Store.(awaken.UsageReader)
	if !ok {
		return protocol.NotFound("usage", "of this store")
	}
	owner, err := req.Owner()
	if err != nil {
		return err
	}
	list, err := r.UsageTotals(req.Context(), awaken.UsageQuery{ThreadID: req.Value("thread_id"), AgentID: req.Value("agent_id"), Owner: owner})
	if err != nil {
		return err
	}
	out := usageBody{Items: []usageItem{}}
	total := money.Amount(0)
	for _, t := range list {
		out.Items = append(out.Items, usageItem{UsageTotal: t})
		out.Runs += t.Runs
		out.Usage.Add(t.Usage)
		total += money.Dollars(t.CostUSD)
	}
	out.CostUSD = total.USD()
	return req.Reply(200, out)
}
