package job

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken/limit/money"
)

// Purse pays for the evaluations of a tenant from its budget.
type Purse struct {
	Budget money.Budget // nil if the tenant has none
	Limit  *float64     // of the tenant, unless another one was set for it; nil means none
}

// Spend returns the function that charges cells to the budget, or nil if there is no budget. The function fails once the budget is used up.
// Spending counts when it has happened, so concurrent cells may exceed the limit a little.
func (p *Purse) Spend(ctx context.Context) func(usd float64) error {
	if p.Budget == nil {
		return nil
	}
	tenant := money.Account{Scope: money.TenantScope}
	return func(usd float64) error {
		var after money.Balance
		err := p.Budget.UpdateBudget(ctx, "", []money.Account{tenant}, func(b *money.Book) error {
			bal := b.Balance(tenant)
			bal.Spent += money.Dollars(usd)
			after = *bal
			return nil
		})
		if err != nil {
			return fmt.Errorf("the budget of the tenant cannot be charged: %w", err)
		}
		limit := after.Limit
		if limit == nil && p.Limit != nil {
			limit = new(money.Dollars(*p.Limit))
		}
		if limit != nil && after.Spent+after.Reserved >= *limit {
			return fmt.Errorf("the budget of the tenant, %g US dollars, is spent", limit.USD())
		}
		return nil
	}
}
