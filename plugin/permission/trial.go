package permission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/toolname"
)

// Trial is a call that is judged without being made.
type Trial struct {
	Tool string
	Args json.RawMessage
	// Tainted says that the run has read untrusted content and that the call may change something or carry data out.
	Tainted bool
	Egress  awaken.Egress // where the call carries data to
}

// Ruling is the decision of an agent's rules on a call, as the first of its run.
type Ruling struct {
	Behavior Behavior
	Rule     *Matched  // the rule that decides; nil means the default
	Others   []Matched // the other rules that match the call, those that take precedence first
}

// Matched is a rule that matches a call.
type Matched struct {
	Rule
	Source Source
	Index  int // its place in Source; 0 if it was remembered
}

// equal reports whether two are the same rule at the same place.
func (m *Matched) equal(other *Matched) bool {
	return m.Rule.equal(&other.Rule) && m.Source == other.Source && m.Index == other.Index
}

// Source says where a rule comes from.
type Source string

// The sources of rules.
const (
	FromServer   Source = "server"     // given to [New], for all agents
	FromAgent    Source = "agent"      // in the agent's section
	FromApproval Source = "remembered" // left by an approval
)

// Try returns what a plugin returned by [New] decides about calls of an agent, before the first one of a run. Kept are the
// rules that approvals left; see [Remembered]. Names are the names of the agent's tools; nil means that they have their ids
// only.
func Try(p awaken.Plugin, spec *awaken.AgentSpec, kept []Rule, names *toolname.Names) (func(Trial) Ruling, error) {
	own, ok := p.(*plugin)
	if !ok {
		return nil, fmt.Errorf("%w: plugin %q was not created by permission.New", awaken.ErrInvalid, p.Name())
	}
	if !slices.Contains(spec.PluginIDs, Name) {
		return func(Trial) Ruling { return Ruling{Behavior: Allow, Others: []Matched{}} }, nil
	}
	cfg, err := own.section.Read(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	rules, err := compile(slices.Concat(own.base.Rules, cfg.Rules), cfg.DefaultBehavior)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	g := &guard{names: names, rules: rules, fallback: cfg.DefaultBehavior}
	lasting := remembered(kept)
	from := func(r *rule) Matched {
		switch base := len(own.base.Rules); {
		case r.at < 0:
			return Matched{r.Rule, FromApproval, 0}
		case r.at < base:
			return Matched{r.Rule, FromServer, r.at}
		default:
			return Matched{r.Rule, FromAgent, r.at - base}
		}
	}
	return func(t Trial) Ruling {
		c := pattern.NewCall(names.Tool(names.Resolve(t.Tool)), t.Args)
		var to *reach
		if t.Tainted {
			to = newReach(&awaken.Taint{}, t.Egress)
		}
		approved := approvals{kept: func() ([]rule, error) { return lasting, nil }, granted: func() bool { return false }}
		behavior, winner, _ := g.weigh(c, to, approved, rules)
		out := Ruling{Behavior: behavior, Others: []Matched{}}
		won := Matched{}
		if winner != nil {
			won = from(winner)
			out.Rule = &won
		}
		for _, r := range to.about(slices.Concat(rules, lasting)) {
			if m := from(&r); r.matches(c) && (r.When == "" || t.Tainted) && (winner == nil || !m.equal(&won)) {
				out.Others = append(out.Others, m)
			}
		}
		slices.SortStableFunc(out.Others, func(a, b Matched) int { return cmp.Compare(b.Behavior.rank(), a.Behavior.rank()) })
		return out
	}, nil
}
