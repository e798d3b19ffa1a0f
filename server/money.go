package server

import (
	"context"

	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// BudgetOf returns the budget that every run of a tenant is held to, or nil.
func BudgetOf(t *mailbox.Tenant) money.Budget { return RuntimeOf(t).Budget() }

// Balance is the state of an account, in US dollars.
type Balance struct {
	Enabled bool `json:"enabled"` // whether every run is held to a budget; if not, nothing else is counted
	money.Account
	LimitUSD    *float64 `json:"limit_usd"` // null: the one in the configuration, if any
	SpentUSD    float64  `json:"spent_usd"`
	ReservedUSD float64  `json:"reserved_usd"`
	InDoubtUSD  float64  `json:"in_doubt_usd"` // included in spent_usd
}

// BalancesOf returns the balances of accounts of a tenant that has a budget.
func BalancesOf(ctx context.Context, t *mailbox.Tenant, accounts ...money.Account) ([]Balance, error) {
	if err := RuntimeOf(t).SettleLost(ctx); err != nil {
		return nil, err
	}
	list, err := BudgetOf(t).Balances(ctx, accounts...)
	if err != nil {
		return nil, err
	}
	out := make([]Balance, len(list))
	for i, b := range list {
		out[i] = Balance{Enabled: true, Account: accounts[i], SpentUSD: b.Spent.USD(), ReservedUSD: b.Reserved.USD(), InDoubtUSD: b.InDoubt.USD()}
		if b.Limit != nil {
			out[i].LimitUSD = new(b.Limit.USD())
		}
	}
	return out, nil
}

// AmountOf returns an amount in US dollars that a field has, if it is one that can be a limit.
func AmountOf(field string, usd float64) (*money.Amount, error) {
	if !(usd >= 0 && usd <= 1e9) {
		return nil, protocol.BadRequest("%s is %v, want 0 to 1000000000", field, usd)
	}
	return new(money.Dollars(usd)), nil
}
