package eval

import (
	"fmt"
	"math"
	"strings"

	"github.com/awaken-go/awaken/eval/stat"
)

// Comparison compares two variants by the cases that both were tried on.
type Comparison struct {
	Baseline *Cell `json:"baseline,omitempty"` // the variant that is compared with
	Cell     *Cell `json:"cell,omitempty"`     // the variant that is compared
	Cases    int   `json:"cases"`              // that both have
	Pairs    int   `json:"pairs"`              // samples of cases that both have
	Lost     int   `json:"lost"`               // samples that passed only in the baseline: the regressions of [Diff]
	Won      int   `json:"won"`                // samples that failed only in the baseline: its fixes
	// PassRate is the difference of the pass rates. Its p-value is the exact one of [stat.SignFlip].
	PassRate Effect `json:"pass_rate"`
	// Tokens, CostUSD and DurationMS are the differences of a sample. Their p-values come from Wilcoxon's signed-rank test of the means of
	// the cases. CostUSD is nil unless both costs of a case are known.
	Tokens     Effect  `json:"tokens"`
	CostUSD    *Effect `json:"cost_usd,omitempty"`
	DurationMS Effect  `json:"duration_ms"`
	// Regressions are the titles of the samples that were lost.
	Regressions []string `json:"regressions"`
}

// Effect is a difference between two variants: how large it is, and whether it may be chance.
type Effect struct {
	Difference float64 `json:"difference"` // the mean; more than 0 if the baseline has less
	// Interval is the 95 % confidence interval of Difference, clustered by case. It is nil for fewer than two cases, and if all of them differ alike.
	Interval *stat.Interval `json:"interval,omitempty"`
	P        float64        `json:"p_value"` // of the two-sided test that there is no difference, by case
}

// Compare compares each variant of a run with its variant in a baseline: the one of the same name, otherwise the only one that the baseline has. So two
// runs of one variant each are always compared, whatever their agents, models and prompts are.
func Compare(baseline, latest []Item) []Comparison {
	before, of := variantsOf(baseline), matches(baseline, latest)
	out := []Comparison{}
	for _, now := range variantsOf(latest) {
		if old, ok := of[now.cell]; ok {
			out = append(out, paired(find(before, old), &now))
		}
	}
	return out
}

// CompareVariants compares the variants of a run with one of them, which is number reference of [Summarise].
func CompareVariants(items []Item, reference int) []Comparison {
	variants, out := variantsOf(items), []Comparison{}
	for i := range variants {
		if i != reference && reference < len(variants) {
			out = append(out, paired(&variants[reference], &variants[i]))
		}
	}
	return out
}

// Variant returns the items of one variant, which is number n of [Summarise]; none if there is no such variant.
func Variant(items []Item, n int) (out []Item) {
	if variants := variantsOf(items); n < len(variants) {
		for _, it := range variants[n].items {
			out = append(out, *it)
		}
	}
	return out
}

// variant has the items of one variant.
type variant struct {
	cell  Cell
	items []*Item
}

// variantsOf returns the variants of items, in the order of their first item.
func variantsOf(items []Item) []variant {
	var out []variant
	at := map[Cell]int{}
	for i := range items {
		c := items[i].place().cell
		n, ok := at[c]
		if !ok {
			n = len(out)
			at[c], out = n, append(out, variant{cell: c})
		}
		out[n].items = append(out[n].items, &items[i])
	}
	return out
}

func find(variants []variant, c Cell) *variant {
	for i := range variants {
		if variants[i].cell == c {
			return &variants[i]
		}
	}
	return nil
}

// matches returns, by variant of a run, the variant of a baseline that it is compared with.
func matches(baseline, latest []Item) map[Cell]Cell {
	before, now := variantsOf(baseline), variantsOf(latest)
	out := map[Cell]Cell{}
	for _, v := range now {
		switch {
		case find(before, v.cell) != nil:
			out[v.cell] = v.cell
		case len(before) == 1:
			out[v.cell] = before[0].cell
		}
	}
	return out
}

// paired compares two variants by case and sample.
func paired(baseline, latest *variant) Comparison {
	before := make(map[place]*Item, len(baseline.items))
	for _, it := range baseline.items {
		before[it.place().in(latest.cell)] = it
	}
	c := Comparison{Baseline: baseline.cell.ref(), Cell: latest.cell.ref(), Regressions: []string{}}
	var passed, tokens, cost, duration byCase
	for _, now := range latest.items {
		old := before[now.place()]
		if old == nil {
			continue
		}
		c.Pairs++
		a, b, id := old.Report, now.Report, now.FixtureID
		change := 0.0
		switch {
		case a.Passed && !b.Passed:
			change = -1
			c.Lost++
			c.Regressions = append(c.Regressions, now.Title())
		case !a.Passed && b.Passed:
			change = 1
			c.Won++
		}
		passed.add(id, change)
		tokens.add(id, float64(b.TotalTokens-a.TotalTokens))
		duration.add(id, float64(b.SessionDurationMS-a.SessionDurationMS))
		if a.CostUSD != nil && b.CostUSD != nil {
			cost.add(id, *b.CostUSD-*a.CostUSD)
		}
	}
	c.Cases = len(passed.values)
	c.PassRate = passed.effect(func(cases [][]float64) float64 {
		sums := make([]int, len(cases))
		for i, samples := range cases {
			for _, s := range samples {
				sums[i] += int(s)
			}
		}
		return stat.SignFlip(sums)
	})
	if in := c.PassRate.Interval; in != nil { // rates differ by 1 at most
		in.Low, in.High = max(-1, in.Low), min(1, in.High)
	}
	c.Tokens, c.DurationMS = tokens.effect(rankedMeans), duration.effect(rankedMeans)
	if len(cost.values) > 0 {
		e := cost.effect(rankedMeans)
		c.CostUSD = &e
	}
	return c
}

// rankedMeans returns the p-value of the means of cases.
func rankedMeans(cases [][]float64) float64 {
	means := make([]float64, len(cases))
	for i, samples := range cases {
		for _, s := range samples {
			means[i] += s / float64(len(samples))
		}
	}
	return stat.SignedRank(means)
}

// effect returns the mean of differences, with the p-value of a test.
func (b *byCase) effect(test func(cases [][]float64) float64) Effect {
	if len(b.values) == 0 {
		return Effect{P: 1}
	}
	mean, in := stat.Clustered(b.values, confidence)
	e := Effect{Difference: mean, P: test(b.values)}
	if !math.IsInf(in.Low, 0) && in.High > in.Low {
		e.Interval = &in
	}
	return e
}

// String describes the comparison in a line.
func (c *Comparison) String() string {
	var sb strings.Builder
	if c.Cell != nil {
		sb.WriteString(c.Cell.String())
		if c.Baseline != nil && *c.Baseline != *c.Cell {
			sb.WriteString(" against " + c.Baseline.String())
		}
		sb.WriteString(": ")
	}
	fmt.Fprintf(&sb, "%d cases in both, %d lost, %d won; pass rate %s; tokens %s", c.Cases, c.Lost, c.Won, c.PassRate.text(100, "%+.1f", " points"), c.Tokens.text(1, "%+.1f", ""))
	if c.CostUSD != nil {
		sb.WriteString("; cost " + c.CostUSD.text(1, "%+.6f", " USD"))
	}
	sb.WriteString("; time " + c.DurationMS.text(1, "%+.0f", " ms"))
	return sb.String()
}

func (e *Effect) text(scale float64, format, unit string) string {
	text := fmt.Sprintf(format, scale*e.Difference) + unit
	if in := e.Interval; in != nil {
		text += fmt.Sprintf(" (95 %%: "+format+" to "+format+")", scale*in.Low, scale*in.High)
	}
	return text + fmt.Sprintf(", p = %.3g", e.P)
}
