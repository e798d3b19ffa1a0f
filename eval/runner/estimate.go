package runner

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/llm"
)

// Estimate says what a plan probably takes. It is a guess, made before a model is asked: by earlier reports of the same cases where there are some, otherwise by the length
// of instructions, tools and messages.
type Estimate struct {
	Cells        int      `json:"cells"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd,omitempty"` // nil if a model has no prices
	Seconds      float64  `json:"seconds"`
	Measured     int      `json:"measured_cells"` // cells whose tokens and time are taken from earlier reports
}

// What a live cell takes as far as nothing is known.
const (
	guessedAnswer = 1000 // tokens of a reply
	guessedSteps  = 3    // inferences for a message, of an agent with tools
	guessedTime   = 5.0  // seconds of an inference
	judgeQuestion = 500  // tokens of the judge's instructions
	judgeAnswer   = 200
)

// Default limits are so many times the estimate, and at least so much.
const (
	spare     = 5
	minTokens = 10_000
	minTime   = time.Minute
)

// Limits returns limits that the plan keeps within unless it takes far more than estimated. They bound tokens, time, and cost if that is known.
func (e *Estimate) Limits() Limits {
	l := Limits{Tokens: max(minTokens, spare*(e.InputTokens+e.OutputTokens)), Time: max(minTime, time.Duration(math.Ceil(spare*e.Seconds))*time.Second)}
	if e.CostUSD != nil {
		l.USD = max(0.01, spare**e.CostUSD)
	}
	return l
}

// String describes the estimate in a line.
func (e *Estimate) String() string {
	text := fmt.Sprintf("about %d tokens", e.InputTokens+e.OutputTokens)
	if e.CostUSD != nil {
		text += fmt.Sprintf(", %.4g US dollars", *e.CostUSD)
	}
	return fmt.Sprintf("%d cells: %s, %s", e.Cells, text, time.Duration(e.Seconds*float64(time.Second)).Round(time.Second))
}

// Fit sets the limits of the plan that are 0 to what its estimate suggests, and returns the estimate. Seen are earlier reports of cases of the plan, if any.
func (p *Plan) Fit(seen []eval.Item) Estimate {
	e := p.Estimate(seen)
	usual := e.Limits()
	if p.Limits.Tokens == 0 {
		p.Limits.Tokens = usual.Tokens
	}
	if p.Limits.Time == 0 {
		p.Limits.Time = usual.Time
	}
	if p.Limits.USD == 0 {
		p.Limits.USD = usual.USD
	}
	return e
}

// Estimate estimates what the cells of the plan take that ask models. Seen are earlier reports of the same cases, if any.
func (p *Plan) Estimate(seen []eval.Item) Estimate {
	measured := measure(seen)
	e, usd, priced := Estimate{Cells: p.Len()}, 0.0, true
	for i := range p.Variants {
		v := &p.Variants[i]
		if v.Scripted {
			continue
		}
		prices := v.prices()
		fixed := v.fixedTokens()
		for j := range p.Fixtures {
			f := &p.Fixtures[j]
			usage, known := measured[f.ID]
			if !known {
				usage = guess(f, fixed, v.hasTools())
			} else {
				e.Measured += max(1, p.Samples)
			}
			cost, ok := prices.Cost(usage.Usage)
			priced = priced && ok
			if p.Judge != nil {
				judge := p.Judge.usage(f)
				judgePrices := pricesOf(p.Judge.Registry.Models(), p.Judge.ModelID)
				more, ok := judgePrices.Cost(judge.Usage)
				priced, cost = priced && ok, cost+more
				usage.add(&judge)
			}
			n := max(1, p.Samples)
			usd += float64(n) * cost.USD()
			e.InputTokens += int64(n) * usage.PromptTokens
			e.OutputTokens += int64(n) * usage.CompletionTokens
			e.Seconds += float64(n) * usage.seconds
		}
	}
	e.Seconds /= float64(max(1, min(p.Limits.Concurrency, p.Len())))
	if priced && e.InputTokens > 0 {
		e.CostUSD = &usd
	}
	return e
}

// usage is what a cell takes.
type usage struct {
	llm.Usage
	seconds float64
}

func (u *usage) add(o *usage) {
	u.PromptTokens += o.PromptTokens
	u.CompletionTokens += o.CompletionTokens
	u.seconds += o.seconds
}

// measure returns the mean usage of each case in earlier reports of models.
func measure(seen []eval.Item) map[string]usage {
	out, count := map[string]usage{}, map[string]int64{}
	for i := range seen {
		r := seen[i].Report
		if r.TotalTokens == 0 || !seen[i].Live() {
			continue // a limit ended it, or a script answered
		}
		u := out[seen[i].FixtureID]
		u.add(&usage{llm.Usage{PromptTokens: int64(r.TotalInputTokens), CompletionTokens: int64(r.TotalOutputTokens)}, float64(r.SessionDurationMS) / 1000})
		out[seen[i].FixtureID] = u
		count[seen[i].FixtureID]++
	}
	for id, n := range count {
		u := out[id]
		out[id] = usage{llm.Usage{PromptTokens: (u.PromptTokens + n - 1) / n, CompletionTokens: (u.CompletionTokens + n - 1) / n}, u.seconds / float64(n)}
	}
	return out
}

// guess estimates the usage of a case by its texts. Fixed are the tokens of instructions and tools.
func guess(f *eval.Fixture, fixed int64, tools bool) (u usage) {
	said := fixed
	for _, x := range f.Turns() {
		said += textTokens(x.UserInput)
		steps := 1
		if tools {
			steps = guessedSteps
		}
		steps = max(steps, len(x.ProviderScript))
		for i := range steps {
			answer := int64(guessedAnswer)
			if i < len(x.ProviderScript) && x.ProviderScript[i].Kind != eval.ReplyError {
				answer = max(1, x.ProviderScript[i].Turn().Usage.CompletionTokens)
			}
			u.PromptTokens += said
			u.CompletionTokens += answer
			u.seconds += guessedTime
			said += answer
		}
	}
	return u
}

// usage estimates what the judge takes for a case.
func (j *Judge) usage(f *eval.Fixture) usage {
	texts := int64(judgeQuestion) + textTokens(j.Rubric) + textTokens(f.Expect.Rubric)
	for _, x := range f.Turns() {
		texts += textTokens(x.UserInput) + guessedAnswer
	}
	n := int64(max(1, j.Votes)) * int64(1+j.Revisions)
	return usage{llm.Usage{PromptTokens: n * texts, CompletionTokens: n * judgeAnswer}, float64(n) * guessedTime}
}

func textTokens(s string) int64 { return int64(llm.UserText(s).Tokens()) }

// fixedTokens estimates the tokens of the agent's instructions and tools.
func (v *Variant) fixedTokens() int64 {
	n := int64(0)
	if spec := v.Registry.Agent(v.AgentID); spec != nil && strings.TrimSpace(spec.SystemPrompt) != "" {
		n += textTokens(spec.SystemPrompt)
	}
	for _, t := range v.Registry.Offered(v.AgentID) {
		tool := llm.Tool{Name: t.ID, Description: t.Description, Parameters: t.Parameters}
		n += int64(tool.Tokens())
	}
	return n
}

func (v *Variant) hasTools() bool { return len(v.Registry.Offered(v.AgentID)) > 0 }

// prices returns the prices of the agent's model.
func (v *Variant) prices() awaken.Prices {
	if spec := v.Registry.Agent(v.AgentID); spec != nil {
		return pricesOf(v.Registry.Models(), spec.ModelID)
	}
	return awaken.Prices{}
}

func pricesOf(models []*awaken.ModelSpec, id string) awaken.Prices {
	for _, m := range models {
		if m.ID == id {
			return m.Prices
		}
	}
	return awaken.Prices{} // of a pool, any member may answer
}
