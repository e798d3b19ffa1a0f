package figures

import (
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// budgets has the handlers of spending limits.
type budgets struct {
	mailbox  *mailbox.Mailbox
	registry func() *registry.Registry
}

// routes returns the routes that read. They say if no run is held to a budget.
func (h *budgets) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/budget", Needs: permit.ReadUsage, Scope: protocol.Operators, Handle: server.Handle(h.get),
			Summary: "Get the budget of the tenant", Query: []protocol.Param{tenantParam}, Replies: map[int]any{200: server.Balance{}}},
		{Method: "GET", Path: "/v1/agents/{agent_id}/budget", Needs: permit.ReadUsage, Scope: protocol.Operators, Handle: server.Handle(h.get),
			Summary: "Get the budget of an agent", Replies: map[int]any{200: server.Balance{}}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/budget", Needs: permit.ReadUsage, Scope: protocol.ByPath, Handle: server.Handle(h.get),
			Summary: "Get the budget of a thread", Replies: map[int]any{200: server.Balance{}}},
		{Method: "GET", Path: "/v1/runs/{run_id}/budget", Needs: permit.ReadUsage, Scope: protocol.ByPath, Handle: server.Handle(h.get),
			Summary: "Get the budget of a run", Replies: map[int]any{200: server.Balance{}}},
	}
}

// limits returns the routes that set limits. The server has them only if every run is held to a budget:
// otherwise limits would have no effect.
func (h *budgets) limits() []protocol.Route {
	return []protocol.Route{
		{Method: "PUT", Path: "/v1/budget", Needs: permit.WriteBudgets, Handle: server.HandleBody(h.put),
			Summary: "Set the spending limit of the tenant", Query: []protocol.Param{tenantParam}, Body: budgetBody{}, Replies: map[int]any{200: server.Balance{}}},
		{Method: "PUT", Path: "/v1/agents/{agent_id}/budget", Needs: permit.WriteBudgets, Handle: server.HandleBody(h.put),
			Summary: "Set the spending limit of an agent", Body: budgetBody{}, Replies: map[int]any{200: server.Balance{}}},
		{Method: "PUT", Path: "/v1/threads/{thread_id}/budget", Needs: permit.WriteBudgets, Handle: server.HandleBody(h.put),
			Summary: "Set the spending limit of a thread", Body: budgetBody{}, Replies: map[int]any{200: server.Balance{}}},
		{Method: "PUT", Path: "/v1/runs/{run_id}/budget", Needs: permit.WriteBudgets, Handle: server.HandleBody(h.put),
			Summary: "Set the spending limit of a run", Body: budgetBody{}, Replies: map[int]any{200: server.Balance{}}},
	}
}

var tenantParam = server.Param("tenant", "string", "another tenant; needs an admin key that belongs to no tenant")

type budgetBody struct {
	LimitUSD *float64 `json:"limit_usd"`
}

// account returns the account that the request is about and its tenant.
func (h *budgets) account(req *server.Request) (*mailbox.Tenant, money.Account, error) {
	tenant := req.Tenant()
	if name := req.Value("tenant"); name != "" {
		if !req.May(permit.ActForTenants) {
			return nil, money.Account{}, server.Forbidden("parameter tenant needs an admin key that belongs to no tenant")
		}
		tenant = h.mailbox.Tenant(name)
	}
	var a money.Account
	switch thread, run, agent := req.Path("thread_id"), req.Path("run_id"), req.Path("agent_id"); {
	case thread != "":
		if _, err := req.Thread(); err != nil {
			return nil, a, err
		}
		a = money.Account{Scope: money.ThreadScope, ID: thread}
	case run != "":
		if _, err := req.Run(); err != nil {
			return nil, a, err
		}
		a = money.Account{Scope: money.RunScope, ID: run}
	case agent != "":
		if h.registry().Agent(agent) == nil {
			return nil, a, protocol.NotFound("agent", agent)
		}
		a = money.Account{Scope: money.AgentScope, ID: h.registry().Base(agent)}
	default:
		a = money.Account{Scope: money.TenantScope}
	}
	return tenant, a, nil
}

func (h *budgets) get(req *server.Request) error {
	t, a, err := h.account(req)
	if err != nil {
		return err
	}
	return replyBalance(req, t, a)
}

func replyBalance(req *server.Request, t *mailbox.Tenant, a money.Account) error {
	if server.BudgetOf(t) == nil {
		return req.Reply(200, server.Balance{Account: a})
	}
	list, err := server.BalancesOf(req.Context(), t, a)
	if err != nil {
		return err
	}
	return req.Reply(200, list[0])
}

func (h *budgets) put(req *server.Request, body *budgetBody) error {
	t, a, err := h.account(req)
	if err != nil {
		return err
	}
	if a.Scope == money.TenantScope && !req.May(permit.ActForTenants) {
		return server.Forbidden("a tenant cannot set its own budget; use an admin key without a tenant")
	}
	var limit *money.Amount
	if v := body.LimitUSD; v != nil {
		if limit, err = server.AmountOf("limit_usd", *v); err != nil {
			return err
		}
	}
	if err := money.SetBudget(req.Context(), server.BudgetOf(t), a, limit); err != nil {
		return err
	}
	return replyBalance(req, t, a)
}
