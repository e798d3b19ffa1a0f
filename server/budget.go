package server

import (
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// balance is how an account is doing, in US dollars.
type balance struct {
	awaken.Account
	LimitUSD    *float64 `json:"limit_usd"` // that somebody set; null is what the configuration says
	SpentUSD    float64  `json:"spent_usd"`
	ReservedUSD float64  `json:"reserved_usd"`
	InDoubtUSD  float64  `json:"in_doubt_usd"` // part of what was spent
}

type budgetBody struct {
	LimitUSD *float64 `json:"limit_usd"`
}

// account returns the account of the path, and the budget that it is in.
func (c *call) account(change bool) (awaken.Budget, awaken.Account, error) {
	a := awaken.Account{Scope: awaken.Scope(c.path("scope")), ID: c.path("id")}
	switch a.Scope {
	case awaken.TenantScope, awaken.AgentScope, awaken.ThreadScope, awaken.RunScope:
	default:
		return nil, a, notFound("budget", string(a.Scope))
	}
	if (a.Scope == awaken.TenantScope) != (a.ID == "") {
		return nil, a, notFound("budget", a.String())
	}
	operator := c.key != nil && c.key.Kind == AdminKey && c.key.Tenant == ""
	tenant := c.tenant
	if name := c.value("tenant"); name != "" {
		if !operator {
			return nil, a, fail(403, "forbidden", "this needs an admin key that belongs to no tenant")
		}
		tenant = c.srv.cfg.Mailbox.Tenant(name)
	}
	if change && a.Scope == awaken.TenantScope && !operator {
		return nil, a, fail(403, "forbidden", "a tenant does not set its own budget")
	}
	b, ok := tenant.Store.(awaken.Budget)
	switch {
	case !ok:
		return nil, a, notFound("budget", a.String())
	case change && tenant.Runtime.Budget() == nil:
		return nil, a, fail(409, "budgets_off", "runs are not held to limits set here: budget.enabled is false and budget.tenant_usd is not set")
	}
	return b, a, nil
}

func (c *call) getBudget() error {
	b, a, err := c.account(false)
	if err != nil {
		return err
	}
	return c.replyBalance(b, a)
}

func (c *call) replyBalance(b awaken.Budget, a awaken.Account) error {
	list, err := b.Balances(c.ctx, a)
	if err != nil {
		return err
	}
	out := balance{Account: a, SpentUSD: list[0].Spent.USD(), ReservedUSD: list[0].Reserved.USD(), InDoubtUSD: list[0].InDoubt.USD()}
	if l := list[0].Limit; l != nil {
		out.LimitUSD = new(l.USD())
	}
	return c.reply(200, out)
}

func (c *call) putBudget() error {
	b, a, err := c.account(true)
	if err != nil {
		return err
	}
	var body budgetBody
	if err := c.decode(&body); err != nil {
		return err
	}
	var limit *awaken.Money
	if v := body.LimitUSD; v != nil {
		if !(*v >= 0 && *v <= 1e9) {
			return badRequest(fmt.Sprintf("limit_usd is %v, want 0 to 1000000000", *v))
		}
		limit = new(awaken.Dollars(*v))
	}
	if err := awaken.SetBudget(c.ctx, b, a, limit); err != nil {
		return err
	}
	return c.replyBalance(b, a)
}

// usageBody is what runs have taken.
type usageBody struct {
	Items   []awaken.UsageTotal `json:"items"` // by agent
	Runs    int                 `json:"runs"`
	Usage   llm.Usage           `json:"usage"`
	CostUSD float64             `json:"cost_usd"`
}

func (c *call) usage() error {
	r, ok := c.tenant.Store.(awaken.UsageReader)
	if !ok {
		return notFound("usage", "of this store")
	}
	list, err := r.UsageTotals(c.ctx, awaken.UsageQuery{ThreadID: c.value("thread_id"), AgentID: c.value("agent_id")})
	if err != nil {
		return err
	}
	out := usageBody{Items: []awaken.UsageTotal{}}
	total := awaken.Money(0)
	for _, t := range list {
		out.Items = append(out.Items, t)
		out.Runs += t.Runs
		out.Usage.Add(t.Usage)
		total += awaken.Dollars(t.CostUSD)
	}
	out.CostUSD = total.USD()
	return c.reply(200, out)
}
