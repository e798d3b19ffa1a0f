package engine

import (
	"context"
	"math"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/state"
)

// lower returns the lower of two limits.
func lower(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// limited is an account with the limit that agents, requests and the configuration set.
type limited struct {
	money.Account
	limit *float64
}

// spending is the accounts that a run's reservations count against.
type spending struct {
	budget   money.Budget
	accounts []limited       // sorted
	names    []money.Account // of accounts

	before state.Snapshot // the state before the current request was built
}

// reserve reserves between least and want for a call, or returns an *Exhausted. An unsettled
// earlier reservation of the run counts as spent; lost is its amount if a previous owner made it.
// Of res, only ID, Fence and At are used.
func (s *spending) reserve(ctx context.Context, runID string, res money.Reservation, least, want money.Amount) (granted, lost money.Amount, err error) {
	atReserve.Hit()
	err = s.budget.UpdateBudget(ctx, runID, s.names, func(b *money.Book) error {
		granted, lost = 0, 0
		if old := b.Reservation; old != nil {
			switch {
			case old.ID == res.ID: // repeated because the outcome was unknown
				granted = old.Amount
				return nil
			case old.Fence > res.Fence:
				return awaken.ErrFenced
			}
			if old.Fence < res.Fence { // otherwise the run has counted it already
				lost = old.Amount
			}
			b.Settle(old.Amount, false)
		}
		granted = want
		for _, a := range s.accounts {
			bal := b.Balance(a.Account)
			limit := bal.Limit
			if limit == nil {
				if a.limit == nil {
					continue
				}
				limit = new(money.Dollars(*a.limit))
			}
			free := *limit - bal.Spent - bal.Reserved
			if free < least {
				return &money.Exhausted{Account: a.Account, LimitUSD: limit.USD(), SpentUSD: bal.Spent.USD(), ReservedUSD: bal.Reserved.USD(), NeededUSD: least.USD()}
			}
			granted = min(granted, free)
		}
		for _, a := range s.accounts {
			b.Balance(a.Account).Reserved += granted
		}
		res.Amount, res.Accounts = granted, s.names
		b.Reservation = &res
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	atReserved.Hit()
	return granted, lost, nil
}

// settlement is the cost of a reserved call.
type settlement struct {
	id     string
	amount money.Amount
	known  bool
}

// settle stores the cost of a call. A reservation that no longer exists has been settled already.
func (s settlement) settle(ctx context.Context, budget money.Budget, runID string) error {
	atSettle.Hit()
	err := budget.UpdateBudget(ctx, runID, nil, func(b *money.Book) error {
		if b.Reservation != nil && b.Reservation.ID == s.id {
			b.Settle(s.amount, s.known)
		}
		return nil
	})
	atSettled.Hit()
	return err
}

// recoverReservation settles the reservation of a previous owner: the call may have cost all of
// it. It returns the amount.
func recoverReservation(ctx context.Context, budget money.Budget, runID string, fence uint64) (lost money.Amount, err error) {
	err = budget.UpdateBudget(ctx, runID, nil, func(b *money.Book) error {
		lost = 0
		if b.Reservation != nil && b.Reservation.Fence < fence {
			lost = b.Reservation.Amount
			b.Settle(lost, false)
		}
		return nil
	})
	return lost, err
}

// saturate converts nano-dollars to an Amount and caps them.
func saturate(nanos float64) money.Amount {
	if nanos >= math.MaxInt64/4 {
		return math.MaxInt64 / 4
	}
	return money.Amount(math.Ceil(nanos))
}
