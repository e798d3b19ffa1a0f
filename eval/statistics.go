package eval

import (
	"github.com/awaken-go/awaken/eval/stat"
)

// confidence is the confidence level of intervals.
const confidence = 0.95

// Statistics sums up the items of one variant.
type Statistics struct {
	Cell     *Cell         `json:"cell,omitempty"`
	Count    int           `json:"count"`
	Passed   int           `json:"passed"`
	PassRate float64       `json:"pass_rate"`
	Interval stat.Interval `json:"pass_rate_interval"` // of 95 percent
	// FlakeRate is the share of cases with both passed and failed samples, among the cases with several samples.
	FlakeRate *float64 `json:"flake_rate,omitempty"`
	Tokens    *Average `json:"tokens,omitempty"`
	CostUSD   *Average `json:"cost_usd,omitempty"`
	// DurationMS is the average duration of a sample.
	DurationMS *Average `json:"duration_ms,omitempty"`
}

// Average is a mean with its 95 % confidence interval, which a single value does not have.
type Average struct {
	Mean     float64        `json:"mean"`
	Interval *stat.Interval `json:"interval,omitempty"`
}

func average(values []float64) *Average {
	if len(values) == 0 {
		return nil
	}
	mean, in := stat.Mean(values, confidence)
	a := &Average{Mean: mean}
	if len(values) > 1 {
		a.Interval = &in
	}
	return a
}

// Summarise returns the statistics of every variant, in the order of their first item.
func Summarise(items []Item) []Statistics {
	var order []Cell
	byCell := map[Cell][]*Item{}
	for i := range items {
		var c Cell
		if items[i].Cell != nil {
			c = *items[i].Cell
		}
		if byCell[c] == nil {
			order = append(order, c)
		}
		byCell[c] = append(byCell[c], &items[i])
	}
	out := make([]Statistics, 0, len(order))
	for _, c := range order {
		s := summarise(byCell[c])
		if c != (Cell{}) {
			s.Cell = &c
		}
		out = append(out, s)
	}
	return out
}

func summarise(items []*Item) Statistics {
	s := Statistics{Count: len(items)}
	var tokens, cost, duration []float64
	samples, passed := map[string]int{}, map[string]int{}
	for _, it := range items {
		r := it.Report
		samples[it.FixtureID]++
		if r.Passed {
			s.Passed++
			passed[it.FixtureID]++
		}
		tokens, duration = append(tokens, float64(r.TotalTokens)), append(duration, float64(r.SessionDurationMS))
		if r.CostUSD != nil {
			cost = append(cost, *r.CostUSD)
		}
	}
	s.PassRate, s.Interval = float64(s.Passed)/float64(max(1, s.Count)), stat.Wilson(s.Passed, s.Count, confidence)
	s.Tokens, s.CostUSD, s.DurationMS = average(tokens), average(cost), average(duration)
	several, flaky := 0, 0
	for id, n := range samples {
		if n > 1 {
			several++
			if passed[id] > 0 && passed[id] < n {
				flaky++
			}
		}
	}
	if several > 0 {
		s.FlakeRate = ref(float64(flaky) / float64(several))
	}
	return s
}

// Comparison compares a run with a baseline by the cases that both have.
type Comparison struct {
	Cases int `json:"cases"` // that both have, with their variant and sample
	Lost  int `json:"lost"`  // that passed only in the baseline
	Won   int `json:"won"`   // that passed only in the run
	// PassedP is the p-value of McNemar's exact test that neither passes more.
	PassedP float64 `json:"passed_p_value"`
	// TokensP and DurationP are p-values of Wilcoxon's signed-rank test.
	TokensP   float64 `json:"tokens_p_value"`
	DurationP float64 `json:"duration_p_value"`
	// Regressions are the titles of the cases that were lost.
	Regressions []string `json:"regressions"`
}

// Compare compares a run with a baseline by paired tests.
func Compare(baseline, latest []Item) Comparison {
	before := make(map[place]*Item, len(baseline))
	for i := range baseline {
		before[baseline[i].place()] = &baseline[i]
	}
	c := Comparison{Regressions: []string{}}
	var tokens, duration []float64
	for i := range latest {
		now := &latest[i]
		old := before[now.place()]
		if old == nil {
			continue
		}
		c.Cases++
		switch {
		case old.Report.Passed && !now.Report.Passed:
			c.Lost++
			c.Regressions = append(c.Regressions, now.Title())
		case !old.Report.Passed && now.Report.Passed:
			c.Won++
		}
		tokens = append(tokens, float64(now.Report.TotalTokens-old.Report.TotalTokens))
		duration = append(duration, float64(now.Report.SessionDurationMS-old.Report.SessionDurationMS))
	}
	c.PassedP, c.TokensP, c.DurationP = stat.McNemar(c.Lost, c.Won), stat.SignedRank(tokens), stat.SignedRank(duration)
	return c
}
