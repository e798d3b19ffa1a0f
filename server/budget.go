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

// account returns the account that the path is about, and the runtime of its tenant, which
// has a budget.
func (c *call) account() (*awaken.Runtime, awaken.Account, error) {
	tenant := c.tenant
	if name := c.value("tenant"); name != "" {
		if !c.operates() {
			return nil, awaken.Account{}, fail(403, "forbidden", "this needs an admin key that belongs to no tenant")
		}
		tenant = c.srv.cfg.Mailbox.Tenant(name)
	}
	var a awaken.Account
	switch thread, run, agent := c.path("thread_id"), c.path("run_id"), c.path("agent_id"); {
	case thread != "":
		if _, err := loadThread(c.ctx, c.tenant, thread); err != nil {
			return nil, a, err
		}
		a = awaken.Account{Scope: awaken.ThreadScope, ID: thread}
	case run != "":
		if _, err := loadRun(c.ctx, c.tenant, run); err != nil {
			return nil, a, err
		}
		a = awaken.Account{Scope: awaken.RunScope, ID: run}
	case agent != "":
		if tenant.Runtime.Registry().Agent(agent) == nil {
			return nil, a, notFound("agent", agent)
		}
		a = awaken.Account{Scope: awaken.AgentScope, ID: tenant.Runtime.Registry().Base(agent)}
	default:
		a = awaken.Account{Scope: awaken.TenantScope}
	}
	return tenant.Runtime, a, nil // New has made sure that it has
}

func (c *call) getBudget() error {
	rt, a, err := c.account()
	if err != nil {
		return err
	}
	return c.replyBalance(rt, a)
}

func (c *call) replyBalance(rt *awaken.Runtime, a awaken.Account) error {
	if err := rt.SettleLost(c.ctx); err != nil {
		return err
	}
	list, err := rt.Budget().Balances(c.ctx, a)
	if err != nil {
		return err
	}
	out := balance{Account: a, SpentUSD: list[0].Spent.USD(), ReservedUSD: list[0].Reserved.USD(), InDoubtUSD: list[0].InDoubt.USD()}
	if l := list[0].Limit; l != nil {
		out.LimitUSD = new(l.USD())
	}
	return c.Reply(200, out)
}

func (c *call) putBudget() error {
	var body budgetBody
	if err := c.Decode(&body); err != nil {
		return err
	}
	rt, a, err := c.account()
	if err != nil {
		return err
	}
	if a.Scope == awaken.TenantScope && !c.operates() {
		return fail(403, "forbidden", "a tenant does not set its own budget")
	}
	var limit *awaken.Money
	if v := body.LimitUSD; v != nil {
		if limit, err = inRange("limit_usd", *v); err != nil {
			return err
		}
	}
	if err := awaken.SetBudget(c.ctx, rt.Budget(), a, limit); err != nil {
		return err
	}
	return c.replyBalance(rt, a)
}

func inRange(field string, usd float64) (*awaken.Money, error) {
	if !(usd >= 0 && usd <= 1e9) {
		return nil, badRequest(fmt.Sprintf("%s is %v, want 0 to 1000000000", field, usd))
	}
	return new(awaken.Dollars(usd)), nil
}

// tenantLimit checks a limit for the tenant of a new key.
func (c *call) tenantLimit(usd float64) (*awaken.Money, error) {
	switch {
	case !c.operates():
		return nil, fail(403, "forbidden", "a tenant does not set its own budget")
	case c.tenant.Runtime.Budget() == nil:
		return nil, badRequest("budget_usd is set, and runs are not held to budgets here: see budget.enabled")
	}
	return inRange("budget_usd", usd)
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
	return c.Reply(200, out)
}
