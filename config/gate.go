package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// Gate checks the evaluations that agents require in their section "eval_gate". Such an agent is published only if it passes the gate.
type Gate interface {
	// Check reports whether a candidate meets its policy. An error means that this is unknown.
	Check(ctx context.Context, c *GateCandidate) (*GateVerdict, error)
}

// EvidenceKeeper is a [Gate] that keeps the evidence of its verdicts.
type EvidenceKeeper interface {
	// Keep is called after an agent that passed the gate was published.
	Keep(ctx context.Context, v *GateVerdict, by Actor) error
}

// GateCandidate is an agent as a version has it that is to be published.
type GateCandidate struct {
	AgentID              string
	ModelID, LiveModelID string
	// Policy is the section of the agent as it is live: a version cannot lift its own gate. If the agent is not live, it is the section
	// of the candidate.
	Policy registry.EvalGate
	// Digest identifies the agent with its model, its provider and its delegates; see [Versions.Digest]. LiveDigest is the digest of the
	// live agent, "" if there is none.
	Digest, LiveDigest string
}

// GateVerdict says whether an agent may be published.
type GateVerdict struct {
	AgentID string `json:"agent_id"`
	// AgentDigest identifies the agent with its model, its provider and its delegates.
	AgentDigest string      `json:"agent_digest"`
	Changed     bool        `json:"changed"` // it differs from what is live
	Passed      bool        `json:"passed"`  // it does not differ, or has the evidence
	Checks      []GateCheck `json:"checks"`
}

// GateCheck is the result of checking one required evaluation.
type GateCheck struct {
	Requirement registry.EvalRequirement `json:"requirement"`
	Passed      bool                     `json:"passed"`
	Problem     string                   `json:"problem,omitempty"` // what is missing or failed
	// EvalRunID is the run that counts, "" if there is none.
	EvalRunID       string       `json:"eval_run_id,omitempty"`
	BaselineRunID   string       `json:"baseline_run_id,omitempty"`
	DatasetRevision int64        `json:"dataset_revision,omitempty"`
	Figures         *GateFigures `json:"figures,omitempty"`
}

// GateFigures are the figures of the evaluation that was checked.
type GateFigures struct {
	Cases       int      `json:"cases"`
	Cells       int      `json:"cells"`
	Passed      int      `json:"passed"`
	PassRate    float64  `json:"pass_rate"`
	Low         float64  `json:"pass_rate_low"`  // the interval of 95 percent
	High        float64  `json:"pass_rate_high"` // the same
	CostUSD     *float64 `json:"cost_usd,omitempty"`
	JudgeScore  *float64 `json:"judge_score,omitempty"`
	EndedAtSecs int64    `json:"ended_at_secs"`
	Lost        *int     `json:"lost,omitempty"` // cells that passed only in the baseline
	Won         *int     `json:"won,omitempty"`  // cells that passed only in the run
	// Difference is how much more cells passed than in the baseline, as a share, with its interval of 95 percent, clustered by case; PassedP is
	// the p-value of a test by case that neither passes more.
	Difference     *float64 `json:"pass_rate_difference,omitempty"`
	DifferenceLow  *float64 `json:"pass_rate_difference_low,omitempty"`
	DifferenceHigh *float64 `json:"pass_rate_difference_high,omitempty"`
	PassedP        *float64 `json:"passed_p_value,omitempty"`
}

// GateError reports that required evaluations are missing or failed.
type GateError struct{ Verdicts []GateVerdict }

// Error names the agents, and what is missing or failed.
func (e *GateError) Error() string {
	var out []string
	for i := range e.Verdicts {
		v := &e.Verdicts[i]
		for _, c := range v.Checks {
			if !c.Passed {
				out = append(out, fmt.Sprintf("agent %q: %s", v.AgentID, c.Problem))
			}
		}
	}
	return "the evaluation gate is closed: " + strings.Join(out, "; ")
}

// gates asks the gate about the agents of a version.
type gates struct {
	gate Gate // nil if the program has none
}

// gateOf returns what an agent's document requires, or nil.
func (d *document) gateOf() *registry.EvalGate {
	if d == nil || d.gate == nil {
		return nil
	}
	var g registry.EvalGate
	if json.Unmarshal(d.gate, &g) != nil || len(g.Require) == 0 {
		return nil // the document was validated
	}
	return &g
}

// behaviour returns the hash of a document without what says how an agent is evaluated, which changes nothing that the agent does.
func (d *document) behaviour() string {
	if !d.evaluated {
		return d.Hash
	}
	tree, err := parse(d.raw)
	if err != nil {
		return d.Hash
	}
	sections, _ := tree["sections"].(map[string]any)
	for _, name := range registry.EvaluationSections {
		delete(sections, name)
	}
	if len(sections) == 0 {
		delete(tree, "sections")
	}
	return hashOf(encode(tree))
}

// digest identifies an agent and what it needs among documents; "" if there is no such agent.
func digest(docs map[Key]*document, id string) string {
	todo, seen := []Key{{Agents, id}}, map[Key]bool{}
	if docs[todo[0]] == nil {
		return ""
	}
	var lines []string
	for len(todo) > 0 {
		key := todo[0]
		todo = todo[1:]
		doc := docs[key]
		if seen[key] || doc == nil {
			continue
		}
		seen[key] = true
		lines = append(lines, key.String()+" "+doc.behaviour())
		todo = append(todo, doc.needs...)
	}
	slices.Sort(lines)
	return hashOf(json.RawMessage(strings.Join(lines, "\n")))
}

// verdicts returns what the gate says about the agents with a gate, of a version with some documents, by their ids. It asks only about those
// that the version changes.
func (g *gates) verdicts(ctx context.Context, now *state, next map[Key]*document) (out []GateVerdict, err error) {
	live := now.docs()
	for key, doc := range next {
		if key.Namespace != Agents {
			continue
		}
		policy := live[key].gateOf()
		if live[key] == nil {
			policy = doc.gateOf()
		}
		if policy == nil {
			continue
		}
		c := &GateCandidate{AgentID: key.ID, ModelID: modelOf(doc), LiveModelID: modelOf(live[key]), Policy: *policy, Digest: digest(next, key.ID), LiveDigest: digest(live, key.ID)}
		v := &GateVerdict{Passed: true, Checks: []GateCheck{}}
		if c.Digest != c.LiveDigest {
			if v, err = g.check(ctx, c); err != nil {
				return nil, fmt.Errorf("gate of agent %q: %w", key.ID, err)
			}
			v.Changed = true
		}
		v.AgentID, v.AgentDigest = c.AgentID, c.Digest
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b GateVerdict) int { return strings.Compare(a.AgentID, b.AgentID) })
	return out, nil
}

func (g *gates) check(ctx context.Context, c *GateCandidate) (*GateVerdict, error) {
	if g.gate != nil {
		return g.gate.Check(ctx, c)
	}
	v := &GateVerdict{}
	for _, r := range c.Policy.Require {
		v.Checks = append(v.Checks, GateCheck{Requirement: r, Problem: "this program has no evaluations"})
	}
	return v, nil
}

// modelOf returns the model of an agent's document.
func modelOf(doc *document) string {
	if doc == nil {
		return ""
	}
	tree, _ := parse(doc.raw)
	return text(tree, "model_id")
}

// gateEvent is the audit log's record of a gate.
type gateEvent struct {
	GateVerdict
	Override string `json:"override,omitempty"` // why the verdict did not count
}

// admit refuses a plan that publishes agents without the evidence that they require, unless the actor overrides that. The audit log
// gets the evidence with the change. Version is the one that is published.
func (g *gates) admit(ctx context.Context, p *plan, next *compiled, version int64) error {
	if p.dry || p.ungated || p.kind == "seed" || p.kind == "rollback" {
		return nil
	}
	verdicts, err := g.verdicts(ctx, p.now, next.all())
	if err != nil {
		return err
	}
	var closed []GateVerdict
	for _, v := range verdicts {
		if !v.Passed {
			closed = append(closed, v)
		}
	}
	if len(closed) > 0 && p.by.Override == "" {
		return &GateError{closed}
	}
	for _, v := range verdicts {
		if !v.Changed {
			continue
		}
		said, action := gateEvent{GateVerdict: v}, "gate_passed"
		if !v.Passed {
			said.Override, action = p.by.Override, "gate_overridden"
		}
		data, err := json.Marshal(said)
		if err != nil {
			return err
		}
		e := p.event(action, Key{Agents, v.AgentID}.String())
		if e.After, e.Version = data, version; v.Passed {
			p.passed = append(p.passed, v)
		}
	}
	return nil
}

// keep keeps the evidence of a plan that was carried out.
func (g *gates) keep(ctx context.Context, p *plan) (err error) {
	keeper, ok := g.gate.(EvidenceKeeper)
	for i := range p.passed {
		if ok {
			err = errors.Join(err, keeper.Keep(ctx, &p.passed[i], p.by))
		}
	}
	return err
}

// errReported ends a plan that is made only to look at it.
var errReported = errors.New("reported")

// Gates returns the gate's verdicts on the agents that have a gate. Side is the number of a version, or [DraftSide] for the
// live version with all drafts.
func (m *Manager) Gates(ctx context.Context, side string) (out []GateVerdict, err error) {
	_, err = m.publisher.writeHere(ctx, intent{dry: true}, func(ctx context.Context, p *plan) error {
		if side == DraftSide {
			if err := m.drafts.stage(ctx, p, nil, false); err != nil {
				return err
			}
		} else if p.docs, err = m.versions.changes(ctx, p.now, side); err != nil {
			return err
		}
		next := maps.Clone(p.now.docs())
		for key, doc := range p.docs {
			if next[key] = doc; doc == nil {
				delete(next, key)
			}
		}
		if out, err = m.publisher.gates.verdicts(ctx, p.now, next); err != nil {
			return err
		}
		return errReported
	})
	if errors.Is(err, errReported) {
		err = nil
	}
	return out, err
}

// changes returns how the documents of a version differ from those of a state.
func (v *Versions) changes(ctx context.Context, s *state, number string) (map[Key]*document, error) {
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || n < 1:
		return nil, fmt.Errorf("%w: version is %q, want a number or %s", awaken.ErrInvalid, number, DraftSide)
	case n > s.head.Last && n < FirstPreview:
		return nil, fmt.Errorf("version %d: %w", n, awaken.ErrNotFound)
	}
	docs, _, err := v.catalogue.difference(ctx, s, n)
	return docs, err
}

// Digest identifies an agent of a version, by the documents of the agent, its model, its provider and the agents that it needs. Versions
// in which these are equal have the same digest; the agent's own gate does not count. It is "" if the version has no document
// of the agent.
func (v *Versions) Digest(ctx context.Context, number int64, agentID string) (string, error) {
	now := v.publisher.current.now()
	docs := now.docs()
	if number != now.head.Live {
		changes, err := v.changes(ctx, now, strconv.FormatInt(number, 10))
		if err != nil {
			return "", err
		}
		docs = merged(docs, changes)
	}
	return digest(docs, agentID), nil
}
