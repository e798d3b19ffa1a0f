package eval_test

import (
	"encoding/json"
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
		{Cell: &eval.Cell{ModelID: "m"}, Count: 4, Passed: 3, PassRate: 0.75, Interval: stat.Wilson(3, 4, 0.95), FlakeRate: &flaky},
		{Cell: &eval.Cell{ModelID: "n"}, Count: 1, Interval: stat.Wilson(0, 1, 0.95)},
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

func TestCompare_PairsCases(t *testing.T) {
	t.Parallel()
	var old, now []eval.Item
	for i := range 10 {
		old = append(old, sampled("a", "m", i, true, 10))
		now = append(now, sampled("a", "m", i, i > 5, 10+i))
	}
	now = append(now, sampled("new", "m", 0, false, 1))
	got := eval.Compare(old, now)
	if got.Cases != 10 || got.Lost != 6 || got.Won != 0 || got.PassedP != stat.McNemar(6, 0) || len(got.Regressions) != 6 || got.Regressions[0] != "a with m, sample 0" || got.DurationP != 1 || got.TokensP > 0.01 {
		t.Errorf("%+v", got)
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
	for name, tt := range map[string]struct {
		baseline, latest []eval.Item
		want             eval.Comparison
	}{
		"nothing":           {nil, nil, eval.Comparison{PassedP: 1, TokensP: 1, DurationP: 1, Regressions: []string{}}},
		"no case of both":   {one, more[1:], eval.Comparison{PassedP: 1, TokensP: 1, DurationP: 1, Regressions: []string{}}},
		"one":               {one, same, eval.Comparison{Cases: 1, Lost: 1, PassedP: 1, TokensP: 1, DurationP: 1, Regressions: []string{"a"}}},
		"equal":             {same, same, eval.Comparison{Cases: 3, PassedP: 1, TokensP: 1, DurationP: 1, Regressions: []string{}}},
		"equally expensive": {same, more, eval.Comparison{Cases: 3, PassedP: 1, TokensP: 0.25, DurationP: 1, Regressions: []string{}}},
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
