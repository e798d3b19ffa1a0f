package eval

import (
	"github.com/awaken-go/awaken/eval/stat"
)

// confidence is the confidence level of intervals.
const confidence = 0.95

// Statistics sums up the items of one variant.
type Statistics struct {
	Cell     *Cell   `json:"cell,omitempty"`
	Cases    int     `json:"cases"`
	Count    int     `json:"count"` // of samples
	Passed   int     `json:"passed"`
	PassRate float64 `json:"pass_rate"`
	// Interval is the 95 % confidence interval of PassRate. Several samples of one case are not several cases: it is clustered by case.
	Interval stat.Interval `json:"pass_rate_interval"`
	// FlakeRate is the share of cases with both passed and failed samples, among the cases with several samples.
	FlakeRate *float64 `json:"flake_rate,omitempty"`
	Tokens    *Average `json:"tokens,omitempty"`
	CostUSD   *Average `json:"cost_usd,omitempty"`
	// DurationMS is the average duration of a sample.
	DurationMS *Average `json:"duration_ms,omitempty"`
}

// Average is a mean with its 95 % confidence interval, which is clustered by case. A single case does not have one, unless it has several
// samples: then the interval is about that case alone.
type Average struct {
	Mean     float64        `json:"mean"`
	Interval *stat.Interval `json:"interval,omitempty"`
}

// byCase has the values of samples, by case, in the order of the cases.
type byCase struct {
	at     map[string]int
	values [][]float64
}

func (b *byCase) add(fixture string, v float64) {
	n, ok := b.at[fixture]
	if !ok {
		if b.at == nil {
			b.at = map[string]int{}
		}
		n = len(b.values)
		b.at[fixture], b.values = n, append(b.values, nil)
	}
	b.values[n] = append(b.values[n], v)
}

func (b *byCase) average() *Average {
	if len(b.values) == 0 {
		return nil
	}
	clusters := b.values
	if len(clusters) == 1 {
		clusters = nil
		for _, v := range b.values[0] {
			clusters = append(clusters, []float64{v})
		}
	}
	mean, in := stat.Clustered(clusters, confidence)
	a := &Average{Mean: mean}
	if len(clusters) > 1 {
		a.Interval = &in
	}
	return a
}

// Summarise returns the statistics of every variant, in the order of their first item.
func Summarise(items []Item) []Statistics {
	variants := variantsOf(items)
	out := make([]Statistics, 0, len(variants))
	for _, v := range variants {
		s := summarise(v.items)
		s.Cell = v.cell.ref()
		out = append(out, s)
	}
	return out
}

func summarise(items []*Item) Statistics {
	s := Statistics{Count: len(items)}
	var tokens, cost, duration byCase
	samples, at := []stat.Rate{}, map[string]int{}
	for _, it := range items {
		r := it.Report
		n, ok := at[it.FixtureID]
		if !ok {
			n = len(samples)
			at[it.FixtureID], samples = n, append(samples, stat.Rate{})
		}
		samples[n].Attempts++
		if r.Passed {
			s.Passed++
			samples[n].Passed++
		}
		tokens.add(it.FixtureID, float64(r.TotalTokens))
		duration.add(it.FixtureID, float64(r.SessionDurationMS))
		if r.CostUSD != nil {
			cost.add(it.FixtureID, *r.CostUSD)
		}
	}
	s.Cases, s.PassRate, s.Interval = len(samples), float64(s.Passed)/float64(max(1, s.Count)), stat.ClusteredWilson(samples, confidence)
	s.Tokens, s.CostUSD, s.DurationMS = tokens.average(), cost.average(), duration.average()
	several, flaky := 0, 0
	for _, c := range samples {
		if c.Attempts > 1 {
			several++
			if c.Passed > 0 && c.Passed < c.Attempts {
				flaky++
			}
		}
	}
	if several > 0 {
		s.FlakeRate = ref(float64(flaky) / float64(several))
	}
	return s
}
