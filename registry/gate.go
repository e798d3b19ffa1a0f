package registry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
)

// EvalGateSection is the section "eval_gate" of an agent: the evaluations that a version of the agent must have passed before it is
// published. Package config enforces it; runs ignore it.
var EvalGateSection = gateSection()

// EvaluationSections are the names of the sections that say how an agent is evaluated. They change nothing that the agent does.
var EvaluationSections = []string{"eval_gate", "eval_live"}

func gateSection() *awaken.Section[EvalGate] {
	s := awaken.NewSection("eval_gate", EvalGate{Require: []EvalRequirement{}})
	s.Info = awaken.SectionInfo{DisplayName: "Evaluation gate", Description: "Evaluations that a version of the agent must have passed before it becomes a canary or live.", Category: "Release"}
	return s
}

// EvalGate lists the evaluations that a version of an agent needs before it is published.
type EvalGate struct {
	Require []EvalRequirement `json:"require" jsonschema:"The evaluations. All of them must have been passed."`
}

// LiveBaseline is the baseline of an [EvalRequirement] that is the newest run of the agent as it is live.
const LiveBaseline = "live"

// EvalRequirement is an evaluation that a version of an agent must have passed: its newest run over a dataset. A limit that is 0 or
// empty is not checked.
type EvalRequirement struct {
	Dataset       string             `json:"dataset" jsonschema:"Id of the dataset."`
	Revision      int64              `json:"revision,omitempty" jsonschema:"Revision of the dataset. Default: the newest."`
	MinPassRate   *float64           `json:"min_pass_rate,omitempty" jsonschema:"Least share of cells that pass, 0 to 1. Default 1."`
	MinCases      int                `json:"min_cases,omitempty" jsonschema:"Least number of cases."`
	MinSamples    int                `json:"min_samples,omitempty" jsonschema:"Least number of samples of each case."`
	MinJudgeScore float64            `json:"min_judge_score,omitempty" jsonschema:"Least mean score of the judge, 0 to 1."`
	MinScores     map[string]float64 `json:"min_scores,omitempty" jsonschema:"Least mean score of scorers by their name in reports, 0 to 1."`
	MaxCostUSD    float64            `json:"max_cost_usd,omitempty" jsonschema:"Most that a cell may cost on average, in US dollars."`
	MaxAgeSecs    int64              `json:"max_age_secs,omitempty" jsonschema:"How long ago the run may have ended, in seconds."`
	Baseline      string             `json:"baseline,omitempty" jsonschema:"What the run is compared with, case by case: live, the newest run of the agent as it is live, or the id of a run. Default: nothing."`
	Significance  float64            `json:"significance,omitempty" jsonschema:"With 0, no case may fail that passes in the baseline. Otherwise the run may only not be worse with a p-value of McNemar's test up to this, such as 0.05."`
}

// Validate reports all problems, joined.
func (g *EvalGate) Validate() error {
	var bad check.Problems
	for i := range g.Require {
		r, at := &g.Require[i], fmt.Sprintf("require[%d].", i)
		bad.NotBlank(at+"dataset", r.Dataset)
		share := func(field string, v float64) {
			bad.When(!(v >= 0 && v <= 1), "%s%s is %v, want 0 to 1", at, field, v)
		}
		if r.MinPassRate != nil {
			share("min_pass_rate", *r.MinPassRate)
		}
		share("min_judge_score", r.MinJudgeScore)
		share("significance", r.Significance)
		for _, name := range slices.Sorted(maps.Keys(r.MinScores)) {
			share("min_scores."+name, r.MinScores[name])
		}
		bad.When(r.Revision < 0 || r.MinCases < 0 || r.MinSamples < 0 || r.MaxAgeSecs < 0 || !(r.MaxCostUSD >= 0), "%s has a number below 0, want 0 or more", at[:len(at)-1])
		bad.When(r.Significance > 0 && r.Baseline == "", "%ssignificance is %v, but there is no baseline to compare with", at, r.Significance)
	}
	return bad.Err()
}
