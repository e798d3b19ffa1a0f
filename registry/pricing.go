package registry

import "fmt"

// Pricing is a runtime's rule for runs of models without prices.
type Pricing uint8

// The rules.
const (
	PricesOptional Pricing = iota // budgets do not hold for all runs
	PricesExpected                // budgets hold for all runs, except for those of models without prices
	PricesRequired                // budgets hold for all runs, and those of models without prices are refused
)

// Unpriced names a model of the agent that has no prices, so that a run of the agent cannot be held to a budget.
// It returns "" if all have.
func (r *Agent) Unpriced() string {
	switch {
	case !r.Worst.Priced():
		return fmt.Sprintf("model %q", r.Spec.ModelID)
	case r.Summariser != nil && !r.Summariser.Prices.Priced():
		return fmt.Sprintf("summary_model %q", r.Summariser.Upstream)
	}
	return ""
}

// checkPrices warns about a model without prices if budgets hold for all runs.
func (r *Agent) checkPrices(rule Pricing) {
	if rule == PricesOptional || r.Model == nil || r.Unpriced() == "" {
		return
	}
	what := "its runs are refused"
	if rule == PricesExpected {
		what = "its runs are held to no budget"
	}
	r.warn("model_unpriced", "budgets hold for all runs, but %s has no prices: %s; set them in the model's document (a free model has the price 0)", r.Unpriced(), what)
}
