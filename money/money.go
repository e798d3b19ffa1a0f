// Package money has amounts, the accounts that runs spend from, and the rules of reserving and
// settling. A store that keeps balances is a [Budget].
package money

import (
	"fmt"
	"math"
)

// Amount is an amount in billionths of a US dollar, so that the price of one token of the
// cheapest model is a whole number and sums are exact.
type Amount int64

// Dollar is one US dollar.
const Dollar Amount = 1e9

// Dollars returns usd as Money, rounded to the nearest billionth.
func Dollars(usd float64) Amount {
	m := math.Round(usd * float64(Dollar))
	if m >= math.MaxInt64 {
		return math.MaxInt64
	}
	return Amount(m)
}

// USD is the amount in US dollars.
func (m Amount) USD() float64 { return float64(m) / float64(Dollar) }

// String is the amount with a dollar sign, e.g. "$0.25".
func (m Amount) String() string { return fmt.Sprintf("$%v", m.USD()) }
