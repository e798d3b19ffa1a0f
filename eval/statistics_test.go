package eval_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/stat"
)

func sampled(fixture, model string, sample int, passed bool, tokens int) eval.Item {
	return eval.Item{FixtureID: fixture, Cell: &eval.Cell{ModelID: model}, SampleIndex: &sample, Report: &eval.Report{FixtureID: fixture, Passed: passed, TotalTokens: tokens}}
}

func TestSummarise_CountsByVariant(t *testing.T) {
	t.Parallel()
	got := eval.Summarise([]eval.Item{sampled("a", "m", 0, true, 10), sampled("a", "m", 1, false, 20), sampled("b", "m", 0, true, 30), sampled("b", "m", 1, true, 40), sampled("a", "n", 0, false, 5)})
	flaky := 0.5
	want := []eval.Statistics{
		{Cell: &eval.Cell{ModelID: "m"}, Cases: 2, Count: 4, Passed: 3, PassRate: 0.75, Interval: stat.ClusteredWilson([]stat.Rate{{Passed: 1, Attempts: 2}, {Passed: 2, Attempts: 2}}, 0.95), FlakeRate: &flaky},
		{Cell: &eval.Cell{ModelID: "n"}, Cases: 1, Count: 1, Interval: stat.Wilson(0, 1, 0.95)},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.Statistics{}, "Tokens", "DurationMS")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m := got[0].Tokens; m.Mean != 25 || m.Interval == nil || m.Interval.Low >= 25 || m.Interval.High <= 25 {
		t.Errorf("tokens of m: %+v", m)
	}
	if n := got[1].Tokens; n.Mean != 5 || n.Interval != nil {
		t.Errorf("tokens of n: %+v, want no interval of one value", n)
	}
}

// Samples of one case are not cases: ten lost samples of one case say nothing, one lost sample of each of ten cases does.
func TestCompare_CountsByCase(t *testing.T) {
	t.Parallel()
	var old, now, oldCases, nowCases []eval.Item
	for i := range 10 {
		old, now = append(old, sampled("a", "m", i, true, 10)), append(now, sampled("a", "m", i, false, 10+i))
		id := fmt.Sprint("case", i)
		oldCases, nowCases = append(oldCases, sampled(id, "m", 0, true, 10)), append(nowCases, sampled(id, "m", 0, false, 10+i))
	}
	now = append(now, sampled("new", "m", 0, false, 1))
	got := eval.Compare(old, now)
	if len(got) != 1 || got[0].Cases != 1 || got[0].Pairs != 10 || got[0].Lost != 10 || got[0].PassRate.P != 1 || got[0].PassRate.Difference != -1 ||
		got[0].PassRate.Interval != nil || got[0].Regressions[0] != "a with m, sample 0" || got[0].Tokens.P != 1 || got[0].Tokens.Difference != 4.5 {
		t.Errorf("ten samples of a case: %+v", got)
	}
	got = eval.Compare(oldCases, nowCases)
	if len(got) != 1 || got[0].Cases != 10 || got[0].Lost != 10 || got[0].PassRate.P != stat.SignFlip([]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) || got[0].Tokens.P > 0.01 ||
		got[0].Tokens.Interval == nil || got[0].Tokens.Interval.Low <= 0 || got[0].DurationMS.P != 1 {
		t.Errorf("ten cases: %+v", got)
	}
}

// Two variants are compared by case, in one run or in two, whatever they are called; the counts match the differences.
func TestCompare_PairsAnyTwoVariants(t *testing.T) {
	t.Parallel()
	var m, n, both []eval.Item
	for i := range 8 {
		id := fmt.Sprint("case", i)
		m, n = append(m, sampled(id, "m", 0, i < 6, 10)), append(n, sampled(id, "n", 0, i > 4, 20))
	}
	both = append(append(both, m...), n...)
	between := eval.Comparison{Baseline: &eval.Cell{ModelID: "m"}, Cell: &eval.Cell{ModelID: "n"}, Cases: 8, Pairs: 8, Lost: 5, Won: 2}
	few := cmpopts.IgnoreFields(eval.Comparison{}, "PassRate", "Tokens", "DurationMS", "Regressions")
	for name, got := range map[string][]eval.Comparison{
		"two runs":             eval.Compare(m, n),
		"one run":              eval.CompareVariants(both, 0),
		"one variant of a run": eval.Compare(eval.Variant(both, 0), n),
		"the other of a run":   eval.Compare(m, both)[1:],
	} {
		if diff := cmp.Diff([]eval.Comparison{between}, got, few); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := eval.Compare(both, []eval.Item{sampled("case0", "o", 0, true, 1)}); len(got) != 0 {
		t.Errorf("a variant without a partner among two: %+v", got)
	}
	c := eval.Compare(m, n)[0]
	if c.PassRate.Difference != -3.0/8 || c.PassRate.Interval == nil || c.PassRate.P != stat.SignFlip([]int{-1, -1, -1, -1, -1, 1, 1}) || c.Tokens.Difference != 10 || len(c.Regressions) != 5 {
		t.Errorf("%+v", c)
	}
	if back := eval.CompareVariants(both, 1)[0]; back.Lost != 2 || back.Won != 5 || back.PassRate.P != c.PassRate.P {
		t.Errorf("the other way: %+v", back)
	}
	if text := eval.Summary(eval.Diff(m, n)); text != "5 regressions, 2 fixed, 1 unchanged" {
		t.Errorf("differences: %s", text)
	}
	want := "n against m: 8 cases in both, 5 lost, 2 won; pass rate -37.5 points (95 %: -100.0 to +39.1), p = 0.453; tokens +10.0, p = 0.00781; time +0 ms, p = 1"
	if got := c.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A model words an answer in other ways; only a script always says the same.
func TestDiff_OfModelsHasNoDrift(t *testing.T) {
	t.Parallel()
	item := func(text string, live bool, model string) []eval.Item {
		it := eval.Item{FixtureID: "a", Report: &eval.Report{Passed: true, FinalText: text, Live: live}}
		if model != "" {
			it.Cell = &eval.Cell{ModelID: model}
		}
		return []eval.Item{it}
	}
	for name, tt := range map[string]struct {
		old, now []eval.Item
		want     eval.ChangeKind
	}{
		"scripts":             {item("yes", false, ""), item("Yes.", false, ""), eval.Drift},
		"models":              {item("yes", true, ""), item("Yes.", true, ""), eval.Unchanged},
		"an earlier baseline": {item("yes", false, "m"), item("Yes.", true, "m"), eval.Unchanged},
	} {
		if got := eval.Diff(tt.old, tt.now); len(got) != 1 || got[0].Kind != tt.want {
			t.Errorf("%s: %+v, want %s", name, got, tt.want)
		}
	}
}

// Few cases, equal ones and none have figures, all of which JSON can have.
func TestStatistics_OfFewAndEqualCases(t *testing.T) {
	t.Parallel()
	item := func(id string, passed bool, tokens int) eval.Item {
		return eval.Item{FixtureID: id, Report: &eval.Report{FixtureID: id, Passed: passed, TotalTokens: tokens}}
	}
	one, same := []eval.Item{item("a", true, 7)}, []eval.Item{item("a", false, 7), item("b", false, 7), item("c", false, 7)}
	more := []eval.Item{item("a", false, 9), item("b", false, 9), item("c", false, 9)}
	none := eval.Effect{P: 1}
	for name, tt := range map[string]struct {
		baseline, latest []eval.Item
		want             []eval.Comparison
	}{
		"nothing":           {nil, nil, []eval.Comparison{}},
		"no case of both":   {one, more[1:], []eval.Comparison{{PassRate: none, Tokens: none, DurationMS: none, Regressions: []string{}}}},
		"one":               {one, same, []eval.Comparison{{Cases: 1, Pairs: 1, Lost: 1, PassRate: eval.Effect{Difference: -1, P: 1}, Tokens: none, DurationMS: none, Regressions: []string{"a"}}}},
		"equal":             {same, same, []eval.Comparison{{Cases: 3, Pairs: 3, PassRate: none, Tokens: none, DurationMS: none, Regressions: []string{}}}},
		"equally expensive": {same, more, []eval.Comparison{{Cases: 3, Pairs: 3, PassRate: none, Tokens: eval.Effect{Difference: 2, P: 0.25}, DurationMS: none, Regressions: []string{}}}},
	} {
		if diff := cmp.Diff(tt.want, eval.Compare(tt.baseline, tt.latest)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, v := range []any{eval.Summarise(tt.baseline), eval.Summarise(tt.latest), eval.Compare(tt.baseline, tt.latest), eval.Aggregates(tt.latest)} {
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if s := eval.Summarise(one); len(s) != 1 || s[0].FlakeRate != nil || s[0].Tokens.Interval != nil || s[0].Interval.High != 1 || s[0].Interval.Low <= 0 {
		t.Errorf("%+v", s)
	}
}
