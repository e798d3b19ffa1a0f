// Package gate decides by the eval runs in an archive whether a version of an agent may be published.
//
//	manager, err := config.Open(ctx, config.Options{Store: store, Gate: gate.New(profile, store)})
//
// An agent says in its section "eval_gate" which evaluations it requires: a dataset, how many of its cells must pass, what they may
// cost, how old the run may be, and what it is compared with. The newest run over the dataset of exactly this agent counts,
// whether it was good or bad, so that repeating a run until it passes does not open the gate unnoticed. A run is
// of this agent if the agent, its model, its provider and the agents that it needs were the same documents: the digest of the run says
// that. A run with other models or with overrides is of another agent.
package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/trace"
)

// Gate is a [config.Gate] by the runs in an archive.
type Gate struct {
	archive *archive.Archive
	runs    trace.PinStore // nil keeps no evidence
	now     func() time.Time
}

var _ config.EvidenceKeeper = (*Gate)(nil)

// New returns a gate that reads the eval runs in the default tenant's archive. The administrators of that tenant publish agents.
// Runs has the runs of that tenant; those that the evidence of a publication is made of are pinned. Nil pins none.
func New(values profile.Store, runs trace.PinStore) *Gate {
	return &Gate{archive.New(values), runs, time.Now}
}

// Keep marks the evaluations that are the evidence, which can then not be deleted, and pins the runs that their cases are made of, so that they outlive the
// cases.
func (g *Gate) Keep(ctx context.Context, v *config.GateVerdict, by config.Actor) error {
	for i := range v.Checks {
		id := v.Checks[i].EvalRunID
		for _, run := range []string{id, v.Checks[i].BaselineRunID} {
			if err := g.mark(ctx, run, v.AgentID); err != nil {
				return err
			}
		}
		if id == "" || g.runs == nil {
			continue
		}
		cases, err := g.archive.Cases(ctx, id)
		if err != nil {
			return err
		}
		for j := range cases {
			source := cases[j].SourceRunID
			if source == "" {
				continue
			}
			err := (trace.Pins{Store: g.runs}).Add(ctx, source, trace.Pin{Kind: trace.PinEvidence, Ref: id, Reason: "a case of the evaluation that agent " + v.AgentID + " was published with", By: by.String()})
			if err != nil && !errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, awaken.ErrInvalid) { // cases may name runs of other servers
				return err
			}
		}
	}
	return nil
}

// Check says whether a candidate has passed the evaluations that it requires.
func (g *Gate) Check(ctx context.Context, c *config.GateCandidate) (*config.GateVerdict, error) {
	var runs []*archive.Header
	for h, err := range g.archive.Runs(ctx, "") {
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(c.Policy.Require, func(r registry.EvalRequirement) bool { return r.Dataset == h.DatasetID }) {
			h.Request = nil
			runs = append(runs, h)
		}
	}
	out := &config.GateVerdict{AgentID: c.AgentID, AgentDigest: c.Digest, Passed: true, Checks: []config.GateCheck{}}
	for _, r := range c.Policy.Require {
		k := &checking{Gate: g, candidate: c, runs: runs, GateCheck: config.GateCheck{Requirement: r}}
		if err := k.check(ctx); err != nil {
			return nil, err
		}
		if k.Passed = k.Problem == ""; !k.Passed {
			out.Passed = false
		}
		out.Checks = append(out.Checks, k.GateCheck)
	}
	return out, nil
}

// checking is the check of one requirement.
type checking struct {
	*Gate
	config.GateCheck
	candidate *config.GateCandidate
	runs      []*archive.Header // the newest first
}

// fail notes the first problem.
func (k *checking) fail(format string, args ...any) {
	if k.Problem == "" {
		k.Problem = fmt.Sprintf(format, args...)
	}
}

func (k *checking) check(ctx context.Context) error {
	r := &k.Requirement
	if k.DatasetRevision = r.Revision; r.Revision == 0 {
		d, err := k.archive.Dataset(ctx, r.Dataset)
		if errors.Is(err, awaken.ErrNotFound) {
			k.fail("dataset %q, which the gate requires, does not exist", r.Dataset)
			return nil
		}
		if err != nil {
			return err
		}
		k.DatasetRevision = d.Meta.Revision
	}
	h := k.newest(k.candidate.Digest, 0)
	if h == nil {
		k.fail("%s", k.missing())
		return nil
	}
	k.EvalRunID = h.ID
	run, err := k.archive.Run(ctx, h.ID)
	if err != nil {
		return err
	}
	items := cellsOf(run, k.candidate.ModelID)
	if len(items) == 0 {
		k.fail("eval run %q over dataset %q has no cell with model %q, which the agent has", h.ID, r.Dataset, k.candidate.ModelID)
		return nil
	}
	k.measure(h, items)
	return k.compare(ctx, h, items)
}

// newest returns the newest run that has ended, over the dataset, of the agent with a digest, or nil. Unless samples is 0, it has
// as many samples.
func (k *checking) newest(digest string, samples int) *archive.Header {
	for _, h := range k.runs {
		if h.Status == archive.Done && h.DatasetID == k.Requirement.Dataset && h.DatasetRevision == k.DatasetRevision && digest != "" && h.AgentDigest == digest &&
			(samples == 0 || max(1, h.Samples) == samples) {
			return h
		}
	}
	return nil
}

// missing says what is missing if there is no run, and what there is.
func (k *checking) missing() string {
	r := &k.Requirement
	text := fmt.Sprintf("there is no eval run of the agent as it is in this version over dataset %q at revision %d", r.Dataset, k.DatasetRevision)
	for _, h := range k.runs {
		if h.DatasetID != r.Dataset || h.AgentID != k.candidate.AgentID {
			continue
		}
		why := "is " + string(h.Status)
		switch {
		case h.AgentDigest != k.candidate.Digest:
			why = "has another version of the agent"
		case h.DatasetRevision != k.DatasetRevision:
			why = fmt.Sprintf("has revision %d of the dataset", h.DatasetRevision)
		}
		return fmt.Sprintf("%s; the newest one, eval run %q, %s", text, h.ID, why)
	}
	return text
}

// cellsOf returns the items of a run with a model, without their cell, so that they can be compared with those of another model.
func cellsOf(run *archive.Run, model string) (out []eval.Item) {
	for _, it := range run.Items {
		if it.Cell == nil || it.Cell.ModelID == model {
			it.Cell = nil
			out = append(out, it)
		}
	}
	return out
}

// measure compares the figures of a run with the limits.
func (k *checking) measure(h *archive.Header, items []eval.Item) {
	r, s := &k.Requirement, eval.Summarise(items)[0]
	f := &config.GateFigures{Cases: s.Cases, Cells: s.Count, Passed: s.Passed, PassRate: s.PassRate, Low: s.Interval.Low, High: s.Interval.High, EndedAtSecs: h.EndedAtSecs}
	if s.CostUSD != nil {
		f.CostUSD = &s.CostUSD.Mean
	}
	k.Figures, f.JudgeScore = f, mean(items, judged)
	in := fmt.Sprintf("in eval run %q over dataset %q, ", h.ID, r.Dataset)
	least := 1.0
	if r.MinPassRate != nil {
		least = *r.MinPassRate
	}
	if h.InDoubtCount > 0 {
		k.fail("eval run %q over dataset %q has %d cells in doubt; resume it with in_doubt: retry, or run it again", h.ID, r.Dataset, h.InDoubtCount)
	}
	if f.PassRate < least {
		k.fail("%s%d of %d cells passed; want a share of %g or more", in, f.Passed, f.Cells, least)
	}
	if f.Cases < r.MinCases {
		k.fail("%sthere are %d cases; want %d or more", in, f.Cases, r.MinCases)
	}
	if n := max(1, h.Samples); n < r.MinSamples {
		k.fail("%seach case has %d samples; want %d or more", in, n, r.MinSamples)
	}
	if r.MinJudgeScore > 0 {
		k.atLeast(in, "the judge's mean score", f.JudgeScore, r.MinJudgeScore)
	}
	for _, name := range slices.Sorted(maps.Keys(r.MinScores)) {
		k.atLeast(in, fmt.Sprintf("the mean score of scorer %q", name), mean(items, func(r *eval.Report) *float64 { return scored(r, name) }), r.MinScores[name])
	}
	switch {
	case r.MaxCostUSD > 0 && f.CostUSD == nil:
		k.fail("%sthe cost is unknown, because the model has no prices; want at most %g US dollars for a cell", in, r.MaxCostUSD)
	case r.MaxCostUSD > 0 && *f.CostUSD > r.MaxCostUSD:
		k.fail("%sa cell costs %g US dollars on average; want at most %g", in, *f.CostUSD, r.MaxCostUSD)
	}
	if age := k.now().Unix() - h.EndedAtSecs; r.MaxAgeSecs > 0 && age > r.MaxAgeSecs {
		k.fail("eval run %q over dataset %q ended %d seconds ago; want at most %d", h.ID, r.Dataset, age, r.MaxAgeSecs)
	}
}

func (k *checking) atLeast(in, what string, v *float64, least float64) {
	switch {
	case v == nil:
		k.fail("%s%s is unknown, because no report has it; want %g or more", in, what, least)
	case *v < least:
		k.fail("%s%s is %.4g; want %g or more", in, what, *v, least)
	}
}

// compare compares a run with its baseline.
func (k *checking) compare(ctx context.Context, h *archive.Header, items []eval.Item) error {
	r := &k.Requirement
	id := r.Baseline
	switch {
	case id == "" || id == registry.LiveBaseline && k.candidate.LiveDigest == "": // there is nothing to compare with
		return nil
	case id == registry.LiveBaseline:
		b := k.newest(k.candidate.LiveDigest, max(1, h.Samples))
		if b == nil {
			k.fail("there is no eval run of the agent as it is live over dataset %q at revision %d with %d samples, to compare eval run %q with", r.Dataset, k.DatasetRevision, max(1, h.Samples), h.ID)
			return nil
		}
		id = b.ID
	}
	k.BaselineRunID = id
	b, err := k.archive.Run(ctx, id)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		k.fail("baseline %q, which the gate requires, does not exist", id)
		return nil
	case err != nil:
		return err
	case b.Status != archive.Done || b.DatasetID != h.DatasetID || b.DatasetRevision != h.DatasetRevision || b.ExecutionMode != h.ExecutionMode || max(1, b.Samples) != max(1, h.Samples):
		k.fail("baseline %q cannot be compared with eval run %q; want one that is done, over the same revision of the dataset, in the same mode and with as many samples", id, h.ID)
		return nil
	}
	model := k.candidate.ModelID
	if r.Baseline == registry.LiveBaseline {
		model = k.candidate.LiveModelID
	}
	all := eval.Compare(cellsOf(b, model), items)
	if len(all) == 0 || all[0].Cases == 0 {
		k.fail("baseline %q and eval run %q have no cell in common", id, h.ID)
		return nil
	}
	c, f := &all[0], k.Figures
	f.Lost, f.Won, f.PassedP, f.Difference = &c.Lost, &c.Won, &c.PassRate.P, &c.PassRate.Difference
	if in := c.PassRate.Interval; in != nil {
		f.DifferenceLow, f.DifferenceHigh = &in.Low, &in.High
	}
	switch {
	case r.Significance == 0 && c.Lost > 0:
		k.fail("in eval run %q over dataset %q, %d of %d cells fail that pass in baseline %q: %s", h.ID, r.Dataset, c.Lost, c.Pairs, id, first(c.Regressions, 5))
	case r.Significance > 0 && c.Lost > c.Won && c.PassRate.P <= r.Significance:
		k.fail("eval run %q over dataset %q is worse than baseline %q: it lost %d cells and won %d, with a p-value of %.3g; want more than %g", h.ID, r.Dataset, id, c.Lost, c.Won, c.PassRate.P, r.Significance)
	}
	return nil
}

// first returns the first names of a list, and how many more there are.
func first(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%q and %d more", names[:most], more)
	}
	return fmt.Sprintf("%q", names)
}

// mean returns the mean of a figure of those reports that have it, or nil.
func mean(items []eval.Item, of func(*eval.Report) *float64) *float64 {
	sum, n := 0.0, 0
	for i := range items {
		if v := of(items[i].Report); v != nil {
			sum, n = sum+*v, n+1
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

func judged(r *eval.Report) *float64 { return r.JudgeScore }

func scored(r *eval.Report, name string) *float64 {
	for i := range r.Scores {
		if r.Scores[i].Scorer == name {
			return &r.Scores[i].Score
		}
	}
	return nil
}

// mark notes that an agent was published because of an evaluation.
func (g *Gate) mark(ctx context.Context, id, agentID string) error {
	if id == "" {
		return nil
	}
	_, err := g.archive.Update(ctx, id, func(h *archive.Header) error {
		if !slices.Contains(h.EvidenceOf, agentID) {
			h.EvidenceOf = append(h.EvidenceOf, agentID)
		}
		return nil
	})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	return err
}
