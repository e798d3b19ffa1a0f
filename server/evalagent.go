package server

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// evalAgent is what is tried in an evaluation, and within which limits.
type evalAgent struct {
	// Models are asked instead of the agent's own.
	Models         []string        `json:"models,omitzero"`
	AgentID        string          `json:"agent_id,omitempty"`
	AgentOverrides json.RawMessage `json:"agent_overrides,omitempty"` // fields of the agent
	Samples        *int            `json:"samples,omitempty"`
	Judge          *evalJudge      `json:"judge,omitempty"`
	MaxWalltime    *int64          `json:"max_walltime_secs,omitempty"` // default 60, or no limit with Prefer: respond-async
	MaxTokens      *int64          `json:"max_total_tokens,omitempty"`  // default 10000
	MaxCostUSD     *float64        `json:"max_cost_usd,omitempty"`      // default no limit
}

type evalJudge struct {
	ModelID    string `json:"model_id"`
	Rubric     string `json:"rubric,omitempty"`
	MaxRetries int    `json:"revise_max_retries,omitempty"`
	Votes      int    `json:"votes,omitempty"` // how often it is asked about an answer; default 1
}

// check reports what is wrong with the limits and models of a live evaluation.
func (b *evalAgent) check(l *EvalLimits) error {
	switch {
	case b.Samples != nil && len(b.Models) == 0 && b.AgentID == "":
		return protocol.BadRequest("samples is set without models; want the models to ask")
	case len(b.Models) == 0 && b.AgentID == "":
		return protocol.BadRequest("models is empty; want the ids of the models to ask, or an agent_id")
	case b.Samples != nil && (*b.Samples < 1 || *b.Samples > l.Samples):
		return protocol.BadRequest("samples is %d; want 1 to %d", *b.Samples, l.Samples)
	case b.MaxWalltime != nil && (*b.MaxWalltime < 1 || *b.MaxWalltime > 7*24*3600):
		return protocol.BadRequest("max_walltime_secs is %d; want 1 to %d", *b.MaxWalltime, 7*24*3600)
	case b.MaxTokens != nil && *b.MaxTokens < 1:
		return protocol.BadRequest("max_total_tokens is %d; want 1 or more", *b.MaxTokens)
	case b.MaxCostUSD != nil && !(*b.MaxCostUSD > 0):
		return protocol.BadRequest("max_cost_usd is %g; want more than 0", *b.MaxCostUSD)
	}
	for i, id := range b.Models {
		if slices.Contains(b.Models[:i], id) {
			return protocol.BadRequest("models[%d] is %q, which is there before; want models that differ", i, id)
		}
	}
	if j := b.Judge; j != nil {
		switch {
		case j.ModelID == "":
			return protocol.BadRequest("judge.model_id is missing; want the id of a model")
		case j.MaxRetries < 0 || j.MaxRetries > l.Revisions:
			return protocol.BadRequest("judge.revise_max_retries is %d; want 0 to %d", j.MaxRetries, l.Revisions)
		case j.Votes < 0 || j.Votes > 9:
			return protocol.BadRequest("judge.votes is %d; want 1 to 9", j.Votes)
		}
	}
	return nil
}

// plan makes a plan of cases. Live says that models are asked.
func (b *evalAgent) plan(reg *registry.Registry, cases []eval.Fixture, live bool) (*runner.Plan, error) {
	p := &runner.Plan{Fixtures: cases}
	judged := live && b.Judge != nil
	for i := range cases {
		if cases[i].Expect.MinJudgeScore != nil && !judged {
			return nil, protocol.BadRequest("fixture %q has expect.min_judge_score; want a judge, in mode %s", cases[i].ID, liveMode)
		}
	}
	if !live {
		p.Variants = []runner.Variant{runner.Scripted()}
		return p, nil
	}
	models := b.Models
	if len(models) == 0 {
		spec := reg.Agent(b.AgentID)
		if spec == nil {
			return nil, protocol.NotFound("agent", b.AgentID)
		}
		models = []string{spec.ModelID}
	}
	for _, model := range models {
		v, err := runner.Live(reg, b.AgentID, model, b.AgentOverrides)
		if err != nil {
			return nil, err
		}
		p.Variants = append(p.Variants, v)
	}
	if b.Samples != nil {
		p.Samples = *b.Samples
	}
	p.Limits.Tokens = usualTokens
	if b.MaxTokens != nil {
		p.Limits.Tokens = *b.MaxTokens
	}
	if b.MaxCostUSD != nil {
		p.Limits.USD = *b.MaxCostUSD
	}
	if b.MaxWalltime != nil {
		p.Limits.Time = time.Duration(*b.MaxWalltime) * time.Second
	}
	if j := b.Judge; j != nil {
		if !reg.HasModel(j.ModelID) {
			return nil, protocol.NotFound("model", j.ModelID)
		}
		p.Judge = &runner.Judge{Registry: reg, ModelID: j.ModelID, Rubric: j.Rubric, Revisions: j.MaxRetries, Votes: j.Votes}
	}
	return p, nil
}
