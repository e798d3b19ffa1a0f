package jury

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/internal/check"
)

// Name is the name of the plugin and of the agents' section, one of [registry.EvaluationSections].
const Name = "eval_live"

// Policy sets which runs of an agent are judged, and how.
type Policy struct {
	Share      float64       `json:"share" jsonschema:"Share of the runs that is judged, 0 to 1, apart from those that failed. Which ones follows from their ids."`
	ErrorShare float64       `json:"error_share" jsonschema:"Share of the runs that failed, 0 to 1. They have the score 0."`
	Scorers    []eval.Scorer `json:"scorers,omitempty" jsonschema:"Checks of each run, as in the cases of datasets. They cost nothing."`
	Judge      *Model        `json:"judge,omitempty" jsonschema:"A model that grades the answer. Default: none."`
	MaxPerDay  int           `json:"max_per_day" jsonschema:"Most runs that are judged in a day, UTC, of all tenants together."`
	MaxCostUSD float64       `json:"max_cost_usd_per_day" jsonschema:"What the model may cost in a day, UTC, in US dollars. No further run is judged once it is spent. Models without prices cost nothing."`
}

// Model is a model that grades answers.
type Model struct {
	ModelID string `json:"model_id" jsonschema:"Id of a model or a pool."`
	Rubric  string `json:"rubric,omitempty" jsonschema:"What a good answer is. Default: one that is correct, complete and helpful."`
	Votes   int    `json:"votes,omitempty" jsonschema:"How often the model is asked about an answer, 1 to 9; the score is the median. Default 1."`
}

var section = newSection()

func newSection() *awaken.Section[Policy] {
	s := awaken.NewSection(Name, Policy{MaxPerDay: 200, MaxCostUSD: 1})
	s.Info = awaken.SectionInfo{DisplayName: "Live evaluation", Category: "Release", Description: "Which share of the agent's runs is judged after they have ended, by what, and what that may cost."}
	return s
}

// Validate reports all problems, joined.
func (p *Policy) Validate() error {
	var bad check.Problems
	bad.When(!(p.Share >= 0 && p.Share <= 1), "share is %v, want 0 to 1", p.Share)
	bad.When(!(p.ErrorShare >= 0 && p.ErrorShare <= 1), "error_share is %v, want 0 to 1", p.ErrorShare)
	bad.When(p.MaxPerDay < 1 || p.MaxPerDay > 1_000_000, "max_per_day is %d, want 1 to 1000000", p.MaxPerDay)
	bad.When(!(p.MaxCostUSD > 0), "max_cost_usd_per_day is %v, want more than 0", p.MaxCostUSD)
	bad.When(p.Share > 0 && len(p.Scorers) == 0 && p.Judge == nil, "share is %v, but there are neither scorers nor a judge", p.Share)
	for i := range p.Scorers {
		if err := p.Scorers[i].Validate(); err != nil {
			bad.Include(fmt.Errorf("scorers[%d].%w", i, err))
		}
	}
	if m := p.Judge; m != nil {
		bad.NotBlank("judge.model_id", m.ModelID)
		bad.When(m.Votes < 0 || m.Votes > 9, "judge.votes is %d, want 1 to 9", m.Votes)
	}
	return bad.Err()
}

// Of returns the policy of an agent, or nil if it has none.
func Of(spec *awaken.AgentSpec) (*Policy, error) {
	if spec == nil || spec.Sections[Name] == nil {
		return nil, nil
	}
	p, err := section.Read(spec)
	return &p, err
}

// selects reports whether a run is judged.
func (p *Policy) selects(run *awaken.Run) bool {
	share := p.Share
	switch run.Termination.Type {
	case awaken.Failed:
		share = p.ErrorShare
	case awaken.Cancelled:
		return false
	}
	sum := sha256.Sum256([]byte(run.RunID))
	return float64(binary.BigEndian.Uint64(sum[:8]))/math.MaxUint64 < share || share == 1
}

// New returns a plugin that declares the section. It does nothing in runs.
func New() awaken.Plugin { return plugin{} }

type plugin struct{}

func (plugin) Name() string { return Name }

// Applies makes agents with the section load the plugin.
func (plugin) Applies(spec *awaken.AgentSpec) bool { return spec.Sections[Name] != nil }

func (plugin) Register(r *awaken.Registrar) error {
	r.Section(section)
	return nil
}
