package deferred

import (
	"context"
	"slices"

	"github.com/awaken-go/awaken/profile"
)

// agentPriors is how often an agent's tools are used, learned over its runs.
type agentPriors struct {
	Sessions int                `json:"session_count"`
	Tools    map[string]float64 `json:"tools"`
}

var priorsKey = profile.NewKey[agentPriors]("deferred_tools.agent_priors")

// priors returns what was learned about an agent's tools. Without a profile that is
// nothing.
func priors(ctx context.Context, s profile.Store, agent string) (agentPriors, error) {
	if s == nil {
		return agentPriors{}, nil
	}
	return priorsKey.Read(ctx, s, profile.AgentType(agent))
}

// lesson is what a run has to teach: which of an agent's tools it used.
type lesson struct {
	Agent string
	Tools []string
	Used  []string
}

// keep moves what was learned before a little towards the lesson. The first lessons count
// alike, later ones a tenth. Of two lessons at the same time one may be lost.
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
			next.Tools[id] = before // a tool that was not there this time
		}
	}
	return priorsKey.Write(ctx, s, profile.AgentType(l.Agent), next)
}
