package eval_test

import (
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
