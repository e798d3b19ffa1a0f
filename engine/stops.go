package engine

import (
	"cmp"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// stops evaluates the stop policies.
type stops struct{ *activation }

func (r *run) stops() stops { return stops{&r.activation} }

// stop evaluates the stop policies, after counting the response that has just arrived.
func (sp stops) stop(m *llm.Message, responded bool) (*awaken.StopDecision, error) {
	if most := sp.agent.Spec.Rounds(); len(sp.agent.Policies) == 0 && (most == 0 || sp.rec.Steps+1 < most) {
		return nil, nil
	}
	used, cost := sp.rec.Total() // including child runs
	stats := awaken.StopStats{Steps: sp.rec.Steps + 1, InputTokens: used.PromptTokens, OutputTokens: used.CompletionTokens, CostUSD: cost}
	counts := sp.counts()
	counts.Steps, counts.InputTokens, counts.OutputTokens = stats.Steps, stats.InputTokens, stats.OutputTokens
	if responded {
		stats.LastText = m.Text()
		for _, c := range m.ToolCalls {
			stats.LastToolNames = append(stats.LastToolNames, c.Name)
		}
		if sig := signature(m); sig != "" {
			counts.Recent = append(counts.Recent[max(0, len(counts.Recent)-maxRecent+1):len(counts.Recent):len(counts.Recent)], sig)
		}
	}
	stats.ConsecutiveErrors, stats.Recent = counts.ConsecutiveErrors, counts.Recent
	stats.Elapsed = time.Duration(sp.rt.cfg.Now().UnixMilli()-counts.StartedMS) * time.Millisecond
	sp.setCounts(counts)
	if d := sp.agent.MaxRounds.Evaluate(&stats); d != nil {
		return d, nil
	}
	for _, p := range sp.agent.Policies {
		if d, err := evaluate(p, &stats); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

func evaluate(p awaken.StopPolicy, stats *awaken.StopStats) (d *awaken.StopDecision, err error) {
	defer caught(&err, "stop policy %q", p.ID())
	return p.Evaluate(stats), nil
}

// counts returns the counters that the policies are evaluated with.
func (sp stops) counts() builtin.StopCounts {
	c := builtin.StopStats.Get(sp.st)
	c.StartedMS = cmp.Or(c.StartedMS, sp.rec.StartedAt)
	return c
}

func (sp stops) setCounts(c builtin.StopCounts) {
	var b state.Batch
	builtin.StopStats.Update(&b, c)
	sp.set(&b)
}

// countToolErrors counts a step whose calls all failed as an error. Any other step resets the
// count.
func (sp stops) countToolErrors(calls []*call) {
	if len(sp.agent.Policies) == 0 {
		return
	}
	failed := len(calls) > 0
	for _, c := range calls {
		failed = failed && c.state.Status == awaken.CallFailed
	}
	c := sp.counts()
	if failed {
		c.ConsecutiveErrors++
	} else {
		c.ConsecutiveErrors = 0
	}
	sp.setCounts(c)
}

// maxRecent bounds the number of responses that loop detection remembers.
const maxRecent = 64
