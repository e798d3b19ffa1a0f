package server

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken/money"
)

// evalPurse pays for the evaluations of a tenant from its budget.
type evalPurse struct {
	budget money.Budget // nil if the tenant has none
	limit  *float64     // of the tenant, unless another one was set for it; nil means none
}

// spend returns the function with which cells pay, or nil if there is no budget. It fails once the budget is used up. What cells spend that run at
// the same time counts when they have spent it, so they may exceed the limit a little.
func (p *evalPurse) spend(ctx context.Context) func(usd float64) error {
	if p.budget == nil {
		return nil
	}
	tenant := money.Account{Scope: money.TenantScope}
	return func(usd float64) error {
		var after money.Balance
		err := p.budget.UpdateBudget(ctx, "", []money.Account{tenant}, func(b *money.Book) error {
			bal := b.Balance(tenant)
			bal.Spent += money.Dollars(usd)
			after = *bal
			return nil
		})
		if err != nil {
			return fmt.Errorf("the budget of the tenant cannot be charged: %w", err)
		}
		limit := after.Limit
		if limit == nil && p.limit != nil {
			limit = new(money.Dollars(*p.limit))
		}
		if limit != nil && after.Spent+after.Reserved >= *limit {
			return fmt.Errorf("the budget of the tenant, %g US dollars, is spent", limit.USD())
		}
		return nil
	}
}
