package awaken

import (
	"math"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/money"
)

// Prices are what a model costs, in US dollars for a million tokens. A model that has no
// price for input or output has no cost. The others default to the price of input (cache)
// or output (reasoning).
type Prices struct {
	InputPrice      *float64 `json:"input_token_price_per_million_usd,omitempty"`       // of the prompt
	OutputPrice     *float64 `json:"output_token_price_per_million_usd,omitempty"`      // of the answer
	CacheReadPrice  *float64 `json:"cache_read_token_price_per_million_usd,omitempty"`  // of the prompt, read from the provider's cache
	CacheWritePrice *float64 `json:"cache_write_token_price_per_million_usd,omitempty"` // of the prompt, written to it
	ReasoningPrice  *float64 `json:"reasoning_token_price_per_million_usd,omitempty"`   // of the answer, spent on thinking
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
	if p.InputPrice == nil || p.OutputPrice == nil {
		if p.CacheReadPrice != nil || p.CacheWritePrice != nil || p.ReasoningPrice != nil {
			bad.Add("cache or reasoning tokens have a price, but input or output tokens have none")
		}
	}
}

// maxPrice keeps sums far from overflowing.
const maxPrice = 1e6

// Priced reports whether the model has a cost.
func (p *Prices) Priced() bool { return p.InputPrice != nil && p.OutputPrice != nil }

// Cost is the price of u, rounded up to a billionth of a dollar, or false when the model
// has no prices. Tokens that were read from or written to the provider's cache are part of
// u's prompt tokens, and reasoning is part of its completion tokens.
func (p *Prices) Cost(u llm.Usage) (money.Amount, bool) {
	if !p.Priced() {
		return 0, false
	}
	in, out := *p.InputPrice, *p.OutputPrice
	read, write, think := max(u.CacheReadTokens, 0), max(u.CacheCreationTokens, 0), max(u.ThinkingTokens, 0)
	micros := float64(max(u.PromptTokens-read-write, 0))*in + float64(read)*or(p.CacheReadPrice, in) + float64(write)*or(p.CacheWritePrice, in) +
		float64(max(u.CompletionTokens-think, 0))*out + float64(think)*or(p.ReasoningPrice, out)
	// A hair less than exact, so that what is whole stays whole.
	return money.Amount(math.Ceil(micros*1000 - 1e-6)), true
}

// Worst returns prices of which neither p's nor o's are higher, for input and output
// whatever happens to them. A model without prices makes the outcome one without.
func (p Prices) Worst(o *Prices) Prices {
	if !p.Priced() || !o.Priced() {
		return Prices{}
	}
	in, out := p.Highest()
	oin, oout := o.Highest()
	in, out = max(in, oin), max(out, oout)
	return Prices{InputPrice: &in, OutputPrice: &out}
}

// Highest are the highest prices that a token of input and of output can have.
func (p *Prices) Highest() (in, out float64) {
	in, out = *p.InputPrice, *p.OutputPrice
	return max(in, or(p.CacheReadPrice, in), or(p.CacheWritePrice, in)), max(out, or(p.ReasoningPrice, out))
}
