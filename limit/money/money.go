// Package money defines amounts of money, the accounts that runs spend from, and how spending
// is reserved and settled. A store that keeps balances implements [Budget].
//
// Before a model is called, the caller reserves the highest possible cost in every account
// that the call concerns. When the answer has arrived, it settles the reservation with the
// actual cost. Reserving fails with [Exhausted] if it would exceed the limit of an account.
package money

import (
	"fmt"
	"math"
)

// Amount is an amount of money in billionths of a US dollar. The price of one token of the
// cheapest model is a whole number, so sums are exact.
type Amount int64

// Dollar is one US dollar.
const Dollar Amount = 1e9

// Dollars converts US dollars to an Amount, rounded to the nearest billionth. Too large values
// become the largest Amount.
func Dollars(usd float64) Amount {
	m := math.Round(usd * float64(Dollar))
	if m >= math.MaxInt64 {
		return math.MaxInt64
	}
	return Amount(m)
}

// USD returns the amount in US dollars.
func (m Amount) USD() float64 { return float64(m) / float64(Dollar) }

// String returns the amount with a dollar sign, such as "$0.25".
func (m Amount) String() string { return fmt.Sprintf("$%v", m.USD()) }
