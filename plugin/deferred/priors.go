package deferred

import (
	"context"
	"slices"

	"github.com/awaken-go/awaken/state/profile"
)

// agentPriors is the frequency of use of an agent's tools, learned over its runs.
type agentPriors struct {
	Sessions int                `json:"session_count"`
	Tools    map[string]float64 `json:"tools"`
}

var priorsKey = profile.NewKey[agentPriors]("deferred_tools.agent_priors")

// priors returns what was learned about an agent's tools. It is empty without a profile.
func priors(ctx context.Context, s profile.Store, agent string) (agentPriors, error) {
	if s == nil {
		return agentPriors{}, nil
	}
	return priorsKey.Read(ctx, profile.Unmarked(s), profile.AgentType(agent))
}

// lesson is the observation of one run: which of an agent's tools it used.
type lesson struct {
	Agent string
	Tools []string
	Used  []string
}

// keep merges the lesson into the priors. The first ten lessons have equal weight, later ones
// a tenth. One of two concurrent lessons may be lost.
func (l lesson) keep(ctx context.Context, s profile.Store) error {
	p, err := priors(ctx, s, l.Agent)
	if err != nil {
		return err
	}
	weight := max(0.1, 1/float64(p.Sessions+1))
	next := agentPriors{Sessions: p.Sessions + 1, Tools: map[string]float64{}}
	for _, id := range l.Tools {
		before, ok := p.Tools[id]
		if !ok {
			before = defaultPrior
		}
		present := 0.0
		if slices.Contains(l.Used, id) {
			present = 1
		}
		next.Tools[id] = (1-weight)*before + weight*present
	}
	for id, before := range p.Tools {
		if _, ok := next.Tools[id]; !ok {
			next.Tools[id] = before // not available in this run
		}
	}
	return priorsKey.Write(ctx, profile.Unmarked(s), profile.AgentType(l.Agent), next)
}
