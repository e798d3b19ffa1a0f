package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

const ended = 1_000_000 // when the runs of the tests ended, in Unix seconds

// newGate returns a gate at a time after the runs, with a dataset d.
func newGate(t *testing.T, later time.Duration) *Gate {
	t.Helper()
	g := New(memory.NewProfile(), nil)
	g.now = func() time.Time { return time.Unix(ended, 0).Add(later) }
	if _, err := g.archive.Create(t.Context(), "d", &eval.Dataset{}, "ann"); err != nil {
		t.Fatal(err)
	}
	return g
}

// add stores a run of agent a. Outcomes has a letter for each case: p passed, f failed.
func (g *Gate) add(t *testing.T, id, digest, outcomes string, change func(*archive.Header)) {
	t.Helper()
	h := &archive.Header{Run: archive.Run{ID: id, DatasetID: "d", DatasetRevision: 1, ExecutionMode: "live", Status: archive.Done, AgentID: "a", AgentDigest: digest, EndedAtSecs: ended, CellCount: len(outcomes)}}
	if change != nil {
		change(h)
	}
	if err := g.archive.Begin(t.Context(), h, nil); err != nil {
		t.Fatal(err)
	}
	for i, c := range outcomes {
		cost, score := 0.01, 0.8
		r := &eval.Report{Passed: c == 'p', CostUSD: &cost, JudgeScore: &score, Scores: []eval.Score{{Scorer: "brief", Score: 0.5}}}
		if err := g.archive.Add(t.Context(), id, i, &eval.Item{FixtureID: fmt.Sprint("case", i), Cell: &eval.Cell{ModelID: "m"}, Report: r}); err != nil {
			t.Fatal(err)
		}
	}
}

// says checks a requirement and returns what is wrong.
func (g *Gate) says(t *testing.T, r registry.EvalRequirement) string {
	t.Helper()
	r.Dataset = "d"
	v, err := g.Check(t.Context(), &config.GateCandidate{AgentID: "a", ModelID: "m", LiveModelID: "m", Digest: "new", LiveDigest: "old", Policy: registry.EvalGate{Require: []registry.EvalRequirement{r}}})
	if err != nil {
		t.Fatal(err)
	}
	if c := v.Checks[0]; c.Passed != v.Passed || c.Passed != (c.Problem == "") {
		t.Fatalf("%+v", v)
	}
	return v.Checks[0].Problem
}

func TestCheck_EachLimitCloses(t *testing.T) {
	t.Parallel()
	g := newGate(t, time.Hour)
	g.add(t, "1", "old", "ppppp", nil)
	g.add(t, "2", "new", "pppff", nil)
	for _, tt := range []struct {
		r    registry.EvalRequirement
		want string // "" passes
	}{
		{registry.EvalRequirement{}, `in eval run "2" over dataset "d", 3 of 5 cells passed; want a share of 1 or more`},
		{registry.EvalRequirement{MinPassRate: new(0.6)}, ""},
		{registry.EvalRequirement{MinPassRate: new(0.61)}, "3 of 5 cells passed"},
		{registry.EvalRequirement{MinPassRate: new(0.0), MinCases: 6}, "there are 5 cases; want 6 or more"},
		{registry.EvalRequirement{MinPassRate: new(0.0), MinSamples: 2}, "each case has 1 samples; want 2 or more"},
		{registry.EvalRequirement{MinPassRate: new(0.0), MinJudgeScore: 0.8, MaxCostUSD: 0.01, MaxAgeSecs: 3600, MinScores: map[string]float64{"brief": 0.5}}, ""},
		{registry.EvalRequirement{MinPassRate: new(0.0), MinJudgeScore: 0.9}, "the judge's mean score is 0.8; want 0.9 or more"},
		{registry.EvalRequirement{MinPassRate: new(0.0), MinScores: map[string]float64{"brief": 0.6}}, `the mean score of scorer "brief" is 0.5`},
		{registry.EvalRequirement{MinPassRate: new(0.0), MinScores: map[string]float64{"kind": 0.6}}, `the mean score of scorer "kind" is unknown`},
		{registry.EvalRequirement{MinPassRate: new(0.0), MaxCostUSD: 0.009}, "a cell costs 0.01 US dollars on average; want at most 0.009"},
		{registry.EvalRequirement{MinPassRate: new(0.0), MaxAgeSecs: 3599}, `eval run "2" over dataset "d" ended 3600 seconds ago; want at most 3599`},
		{registry.EvalRequirement{MinPassRate: new(0.0), Revision: 2}, `at revision 2; the newest one, eval run "2", has revision 1 of the dataset`},
		{registry.EvalRequirement{MinPassRate: new(0.0), Baseline: "live"}, `2 of 5 cells fail that pass in baseline "1": ["case3" "case4"]`},
		{registry.EvalRequirement{MinPassRate: new(0.0), Baseline: "live", Significance: 0.05}, ""},
		{registry.EvalRequirement{MinPassRate: new(0.0), Baseline: "live", Significance: 0.5}, "is worse than baseline \"1\": it lost 2 cells and won 0, with a p-value of 0.5"},
		{registry.EvalRequirement{MinPassRate: new(0.0), Baseline: "2"}, ""},
		{registry.EvalRequirement{MinPassRate: new(0.0), Baseline: "none"}, `baseline "none", which the gate requires, does not exist`},
	} {
		if got := g.says(t, tt.r); got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%+v: %q, want %q", tt.r, got, tt.want)
		}
	}
}

func TestCheck_TheNewestRunOfExactlyThisAgentCounts(t *testing.T) {
	t.Parallel()
	g := newGate(t, 0)
	want := func(text string) {
		t.Helper()
		if got := g.says(t, registry.EvalRequirement{}); text == "" && got != "" || !strings.Contains(got, text) {
			t.Errorf("%q, want %q", got, text)
		}
	}
	want("there is no eval run of the agent as it is in this version")
	g.add(t, "1", "old", "p", nil)
	want("has another version of the agent")
	g.add(t, "2", "", "p", nil) // with overrides
	want("has another version of the agent")
	g.add(t, "3", "new", "p", func(h *archive.Header) { h.Status = archive.Cancelled })
	want("is cancelled")
	g.add(t, "4", "new", "p", func(h *archive.Header) { h.Status = archive.Running })
	want("is running")
	g.add(t, "5", "new", "p", nil)
	want("")
	g.add(t, "6", "new", "f", nil)
	want(`in eval run "6"`)
	g.add(t, "7", "new", "p", nil)
	want("")
	if _, err := g.archive.Change(t.Context(), "d", 1, "ann", func(*eval.Dataset) error { return nil }); err != nil {
		t.Fatal(err)
	}
	want("has revision 1 of the dataset")
	if _, err := g.archive.Delete(t.Context(), "d", -1); err != nil {
		t.Fatal(err)
	}
	want(`dataset "d", which the gate requires, does not exist`)
}
