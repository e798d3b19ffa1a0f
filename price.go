package awaken

import (
	"math"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

// Prices are the prices of a model, in US dollars per million tokens. A model without a price
// for input or output has no cost. The cache prices default to the price of input, the
// reasoning price to the price of output.
type Prices struct {
	InputPrice      *float64 `json:"input_token_price_per_million_usd,omitempty"`       // prompt tokens
	OutputPrice     *float64 `json:"output_token_price_per_million_usd,omitempty"`      // answer tokens
	CacheReadPrice  *float64 `json:"cache_read_token_price_per_million_usd,omitempty"`  // prompt tokens read from the provider's cache
	CacheWritePrice *float64 `json:"cache_write_token_price_per_million_usd,omitempty"` // prompt tokens written to the provider's cache
	ReasoningPrice  *float64 `json:"reasoning_token_price_per_million_usd,omitempty"`   // answer tokens spent on reasoning
}

func (p *Prices) validate(bad *check.Problems) {
	for _, f := range [...]struct {
		name  string
		price *float64
	}{{"input", p.InputPrice}, {"output", p.OutputPrice}, {"cache_read", p.CacheReadPrice}, {"cache_write", p.CacheWritePrice}, {"reasoning", p.ReasoningPrice}} {
		if v := f.price; v != nil && (*v < 0 || *v > maxPrice || math.IsNaN(*v)) {
			bad.Add("%s_token_price_per_million_usd is %v, want 0 to %d", f.name, *v, int(maxPrice))
		}
	}
	bad.When(!p.Priced() && (p.CacheReadPrice != nil || p.CacheWritePrice != nil || p.ReasoningPrice != nil),
		"cache or reasoning tokens have a price, but input or output tokens have none")
}

// maxPrice keeps sums far from overflowing.
const maxPrice = 1e6

// Priced reports whether the model has prices for input and output.
func (p *Prices) Priced() bool { return p.InputPrice != nil && p.OutputPrice != nil }

// Cost returns the price of u, rounded up to a billionth of a dollar. It reports false if the
// model has no prices. The prompt tokens of u include cache reads and writes, and its
// completion tokens include reasoning.
func (p *Prices) Cost(u llm.Usage) (money.Amount, bool) {
	if !p.Priced() {
		return 0, false
	}
	in, out := *p.InputPrice, *p.OutputPrice
	read, write, think := max(u.CacheReadTokens, 0), max(u.CacheCreationTokens, 0), max(u.ThinkingTokens, 0)
	micros := float64(max(u.PromptTokens-read-write, 0))*in + float64(read)*or(p.CacheReadPrice, in) + float64(write)*or(p.CacheWritePrice, in) +
		float64(max(u.CompletionTokens-think, 0))*out + float64(think)*or(p.ReasoningPrice, out)
	// Subtract a little before rounding up, so that rounding errors do not add a unit.
	return money.Amount(math.Ceil(micros*1000 - 1e-6)), true
}

// Worst returns an upper bound of the prices of p and o: the highest input and output prices
// of both. If either has no prices, the result has none.
func (p Prices) Worst(o *Prices) Prices {
	if !p.Priced() || !o.Priced() {
		return Prices{}
	}
	in, out := p.Highest()
	oin, oout := o.Highest()
	in, out = max(in, oin), max(out, oout)
	return Prices{InputPrice: &in, OutputPrice: &out}
}

// Highest returns the highest prices of an input and an output token. The model must be
// Priced.
func (p *Prices) Highest() (in, out float64) {
	in, out = *p.InputPrice, *p.OutputPrice
	return max(in, or(p.CacheReadPrice, in), or(p.CacheWritePrice, in)), max(out, or(p.ReasoningPrice, out))
}
