package server

import (
	"context"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/money"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// budgets has the handlers of spending limits.
type budgets struct {
	mailbox  *mailbox.Mailbox
	registry func() *registry.Registry
}

// routes returns the routes that read. They say if no run is held to a budget.
func (h *budgets) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/budget", Access: protocol.Readers, Scope: protocol.Operators, Handle: own(h.get),
			Summary: "Get the budget of the tenant", Query: []protocol.Param{tenantParam}, Replies: map[int]any{200: balance{}}},
		{Method: "GET", Path: "/v1/agents/{agent_id}/budget", Access: protocol.Readers, Scope: protocol.Operators, Handle: own(h.get),
			Summary: "Get the budget of an agent", Replies: map[int]any{200: balance{}}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/budget", Access: protocol.Readers, Scope: protocol.ByPath, Handle: own(h.get),
			Summary: "Get the budget of a thread", Replies: map[int]any{200: balance{}}},
		{Method: "GET", Path: "/v1/runs/{run_id}/budget", Access: protocol.Readers, Scope: protocol.ByPath, Handle: own(h.get),
			Summary: "Get the budget of a run", Replies: map[int]any{200: balance{}}},
	}
}

// limits returns the routes that set limits. The server has them only if every run is held to a budget:
// otherwise limits would have no effect.
func (h *budgets) limits() []protocol.Route {
	return []protocol.Route{
		{Method: "PUT", Path: "/v1/budget", Access: protocol.Admins, Handle: withBody(h.put),
			Summary: "Set the spending limit of the tenant", Query: []protocol.Param{tenantParam}, Body: budgetBody{}, Replies: map[int]any{200: balance{}}},
		{Method: "PUT", Path: "/v1/agents/{agent_id}/budget", Access: protocol.Admins, Handle: withBody(h.put),
			Summary: "Set the spending limit of an agent", Body: budgetBody{}, Replies: map[int]any{200: balance{}}},
		{Method: "PUT", Path: "/v1/threads/{thread_id}/budget", Access: protocol.Admins, Handle: withBody(h.put),
			Summary: "Set the spending limit of a thread", Body: budgetBody{}, Replies: map[int]any{200: balance{}}},
		{Method: "PUT", Path: "/v1/runs/{run_id}/budget", Access: protocol.Admins, Handle: withBody(h.put),
			Summary: "Set the spending limit of a run", Body: budgetBody{}, Replies: map[int]any{200: balance{}}},
	}
}

var tenantParam = param("tenant", "string", "another tenant; needs an admin key that belongs to no tenant")

// budgetOf returns the budget that every run of a tenant is held to, or nil.
func budgetOf(t *mailbox.Tenant) money.Budget { return runtimeOf(t).Budget() }

// balance is the state of an account, in US dollars.
type balance struct {
	Enabled bool `json:"enabled"` // whether every run is held to a budget; if not, nothing else is counted
	money.Account
	LimitUSD    *float64 `json:"limit_usd"` // null: the one in the configuration, if any
	SpentUSD    float64  `json:"spent_usd"`
	ReservedUSD float64  `json:"reserved_usd"`
	InDoubtUSD  float64  `json:"in_doubt_usd"` // included in spent_usd
}

type budgetBody struct {
	LimitUSD *float64 `json:"limit_usd"`
}

// account returns the account that the request is about and its tenant.
func (h *budgets) account(req *request) (*mailbox.Tenant, money.Account, error) {
	tenant := req.tenant
	if name := req.value("tenant"); name != "" {
		if !req.governs() {
			return nil, money.Account{}, forbidden("parameter tenant needs an admin key that belongs to no tenant")
		}
		tenant = h.mailbox.Tenant(name)
	}
	var a money.Account
	switch thread, run, agent := req.path("thread_id"), req.path("run_id"), req.path("agent_id"); {
	case thread != "":
		if _, err := req.thread(); err != nil {
			return nil, a, err
		}
		a = money.Account{Scope: money.ThreadScope, ID: thread}
	case run != "":
		if _, err := req.run(); err != nil {
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

func (h *budgets) get(req *request) error {
	t, a, err := h.account(req)
	if err != nil {
		return err
	}
	return replyBalance(req, t, a)
}

func replyBalance(req *request, t *mailbox.Tenant, a money.Account) error {
	if budgetOf(t) == nil {
		return req.Reply(200, balance{Account: a})
	}
	list, err := balancesOf(req.ctx, t, a)
	if err != nil {
		return err
	}
	return req.Reply(200, list[0])
}

// balancesOf returns the balances of accounts of a tenant that has a budget.
func balancesOf(ctx context.Context, t *mailbox.Tenant, accounts ...money.Account) ([]balance, error) {
	if err := runtimeOf(t).SettleLost(ctx); err != nil {
		return nil, err
	}
	list, err := budgetOf(t).Balances(ctx, accounts...)
	if err != nil {
		return nil, err
	}
	out := make([]balance, len(list))
	for i, b := range list {
		out[i] = balance{Enabled: true, Account: accounts[i], SpentUSD: b.Spent.USD(), ReservedUSD: b.Reserved.USD(), InDoubtUSD: b.InDoubt.USD()}
		if b.Limit != nil {
			out[i].LimitUSD = new(b.Limit.USD())
		}
	}
	return out, nil
}

func (h *budgets) put(req *request, body *budgetBody) error {
	t, a, err := h.account(req)
	if err != nil {
		return err
	}
	if a.Scope == money.TenantScope && !req.governs() {
		return forbidden("a tenant cannot set its own budget; use an admin key without a tenant")
	}
	var limit *money.Amount
	if v := body.LimitUSD; v != nil {
		if limit, err = inRange("limit_usd", *v); err != nil {
			return err
		}
	}
	if err := money.SetBudget(req.ctx, budgetOf(t), a, limit); err != nil {
		return err
	}
	return replyBalance(req, t, a)
}

func inRange(field string, usd float64) (*money.Amount, error) {
	if !(usd >= 0 && usd <= 1e9) {
		return nil, protocol.BadRequest("%s is %v, want 0 to 1000000000", field, usd)
	}
	return new(money.Dollars(usd)), nil
}
