package config

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
)

func (c *Canary) validate() error {
	var m check.Problems
	if r := c.Rule; r != nil {
		limit := func(field string, v, most float64, want string) {
			m.When(!(v >= 0 && v <= most), "%s is %v, want %s", field, v, want)
		}
		limit("max_cost_ratio", r.MaxCostRatio, math.MaxFloat64, "0 or more")
		limit("max_cost_usd", r.MaxCostUSD, math.MaxFloat64, "0 or more")
		limit("max_error_increase", r.MaxErrorIncrease, 1, "0 to 1")
		limit("max_error_rate", r.MaxErrorRate, 1, "0 to 1")
		limit("max_latency_ms", float64(r.MaxLatencyMS), math.MaxFloat64, "0 or more")
		limit("max_latency_ratio", r.MaxLatencyRatio, math.MaxFloat64, "0 or more")
		m.When(r.MinRuns < 0 || r.PromoteAfterRuns < 0, "min_runs is %d and promote_after_runs is %d, want 0 or more", r.MinRuns, r.PromoteAfterRuns)
	}
	m.When(!(c.Share > 0 && c.Share <= 1), "share is %v, want more than 0 and at most 1", c.Share)
	if err := m.Err(); err != nil {
		return fmt.Errorf("%w: canary: %w", awaken.ErrInvalid, err)
	}
	return nil
}

// takes reports whether a thread belongs to the canary. The answer never changes for a
// thread.
func (c *Canary) takes(t *awaken.Thread) bool {
	if at := t.Metadata.CreatedAt; at != 0 && at < c.StartedAt || t.ParentThreadID != "" {
		return false
	}
	sum := sha256.Sum256([]byte(strconv.FormatInt(c.Version, 10) + "\x00" + t.ID))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11)/(1<<53) < c.Share
}

// CanaryReport compares a canary with the live version.
type CanaryReport struct {
	Canary    *Canary `json:"canary"`
	Live      int64   `json:"live"`
	Tally     Tally   `json:"tally"`      // runs on the canary
	LiveTally Tally   `json:"live_tally"` // runs on the live version since the canary began
}

// decide returns whether to promote or drop the canary, and why. An empty reason means
// neither.
func (r *CanaryRule) decide(canary, live Tally) (promote bool, reason string) {
	if canary.Runs == 0 || canary.Runs < int64(r.MinRuns) {
		return false, ""
	}
	over := func(what string, v, limit float64) bool {
		if limit > 0 && v > limit {
			reason = fmt.Sprintf("%s is %.4g after %d runs, more than %.4g", what, v, canary.Runs, limit)
		}
		return reason != ""
	}
	ratio := func(what string, v, base, limit float64) bool {
		return limit > 0 && base > 0 && over(what, v/base, limit)
	}
	rate, liveRate := canary.average(float64(canary.Errors)), live.average(float64(live.Errors))
	cost, liveCost := canary.average(canary.CostUSD), live.average(live.CostUSD)
	wait, liveWait := canary.average(float64(canary.LatencyMS)), live.average(float64(live.LatencyMS))
	switch {
	case over("error rate", rate, r.MaxErrorRate),
		live.Runs > 0 && over("error rate over that of the live version", rate-liveRate, r.MaxErrorIncrease),
		over("cost of a run in US dollars", cost, r.MaxCostUSD),
		ratio("cost in proportion to the live version", cost, liveCost, r.MaxCostRatio),
		over("time of a run in ms", wait, float64(r.MaxLatencyMS)),
		ratio("time in proportion to the live version", wait, liveWait, r.MaxLatencyRatio):
		return false, reason
	case r.PromoteAfterRuns > 0 && canary.Runs >= int64(r.PromoteAfterRuns):
		return true, fmt.Sprintf("%d runs within the limits", canary.Runs)
	}
	return false, ""
}

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Runs + o.Runs, t.Errors + o.Errors, t.CostUSD + o.CostUSD, t.LatencyMS + o.LatencyMS}
}

func (t Tally) minus(o Tally) Tally {
	return Tally{t.Runs - o.Runs, t.Errors - o.Errors, t.CostUSD - o.CostUSD, t.LatencyMS - o.LatencyMS}
}

// average returns sum per run; 0 if there are no runs.
func (t Tally) average(sum float64) float64 {
	if t.Runs == 0 {
		return 0
	}
	return sum / float64(t.Runs)
}

// tallies holds counts that are not stored yet.
type tallies struct {
	mu    sync.Mutex
	added map[int64]Tally
}

func (ts *tallies) add(number int64, t Tally) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.added == nil {
		ts.added = map[int64]Tally{}
	}
	ts.added[number] = ts.added[number].plus(t)
}

// take returns and resets what was added.
func (ts *tallies) take() map[int64]Tally {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	added := ts.added
	ts.added = nil
	return added
}

// Rollout begins the canary, counts its runs, and promotes or drops it for an operator or
// by its rule.
type Rollout struct {
	store interface {
		Head(ctx context.Context) (Head, error)
		TallyStore
	}
	publisher *publisher
	catalogue *catalogue
	current   *current
	log       *slog.Logger
	counted   tallies                           // not stored yet
	stuck     atomic.Pointer[awaken.Diagnostic] // why the rule cannot promote the canary
}

// Set sends a share of the new threads to a version. If the version is the canary already,
// Set changes its share and rule.
func (r *Rollout) Set(ctx context.Context, c Canary, by Actor) (Head, error) {
	if err := c.validate(); err != nil {
		return Head{}, err
	}
	return r.write(ctx, intent{by: by, resource: fmt.Sprintf("canary/%d", c.Version)}, func(ctx context.Context, p *plan) error {
		if err := r.catalogue.public(ctx, p.now.head, c.Version); err != nil {
			return err
		}
		if c.Version == p.now.head.Live {
			return fmt.Errorf("%w: version %d is live already, so it cannot be the canary", awaken.ErrInvalid, c.Version)
		}
		v, err := r.catalogue.variant(ctx, p.now, c.Version, p.now.secrets)
		if err != nil {
			return err
		}
		p.canary = v
		if old := p.now.head.Canary; old != nil && old.Version == c.Version && c.Share <= old.Share {
			p.ungated = true // its threads become no more
		}
		return r.begin(ctx, p, c)
	})
}

// write carries a plan out and returns the new head.
func (r *Rollout) write(ctx context.Context, in intent, fn func(context.Context, *plan) error) (Head, error) {
	p, err := r.publisher.write(ctx, in, fn)
	if err != nil {
		return Head{}, err
	}
	return p.next.head, nil
}

// begin makes the plan's version the canary.
func (r *Rollout) begin(ctx context.Context, p *plan, c Canary) error {
	now := p.now.head
	if old := now.Canary; old != nil && old.Version != c.Version {
		return fmt.Errorf("%w: version %d is the canary: promote or drop it first", awaken.ErrConflict, old.Version)
	} else if old != nil {
		c.StartedAt, c.Control, c.Start, c.ControlStart = old.StartedAt, old.Control, old.Start, old.ControlStart
	} else {
		c.StartedAt, c.Control = p.at.UnixMilli(), now.Live
		tallies, err := r.store.Tallies(ctx, c.Version, c.Control)
		if err != nil {
			return err
		}
		c.Start, c.ControlStart = tallies[c.Version], tallies[c.Control]
	}
	p.kind, p.aside = "canary", true
	p.head = func(made *Publication) *Head {
		if made != nil {
			c.Version = made.Number
		}
		return &Head{Live: now.Live, Canary: &c}
	}
	e := p.event("publish", fmt.Sprintf("canary/%d", cmp.Or(c.Version, now.Last+1)))
	e.After = encode(map[string]any{"share": c.Share, "live": now.Live})
	return nil
}

// Promote makes the canary live for all threads and updates the records. Documents that
// were published since the canary began stay; a document that changed on both sides is
// awaken.ErrConflict.
func (r *Rollout) Promote(ctx context.Context, by Actor) (Head, error) {
	return r.promote(ctx, 0, "", by)
}

func (r *Rollout) promote(ctx context.Context, version int64, reason string, by Actor) (Head, error) {
	resource := "canary"
	if reason != "" {
		resource = "" // a rule retries, and must not fill the audit log
	}
	return r.write(ctx, intent{by: by, kind: "publish", resource: resource, lenient: true}, func(ctx context.Context, p *plan) error {
		c, err := r.end(p, version, "promote", reason)
		if err != nil {
			return err
		}
		p.note = fmt.Sprintf("promotion of version %d", c.Version)
		changes, _, err := r.catalogue.difference(ctx, p.now, c.Version)
		if err != nil {
			return err
		}
		if p.now.head.Live == c.Control {
			p.moved = c.Version
		} else if changes, err = r.merge(ctx, p.now, c, changes); err != nil {
			return err
		}
		live := c.Version
		if len(changes) == 0 && p.moved == 0 {
			live = p.now.head.Live // the live version has the canary's documents already
		}
		p.head = func(made *Publication) *Head {
			if made != nil {
				live = made.Number
			}
			return &Head{Live: live}
		}
		return p.adopt(ctx, changes, "promote", false)
	})
}

// merge reduces the difference between the canary and the live version to what the canary
// changed relative to its control.
func (r *Rollout) merge(ctx context.Context, now *state, c *Canary, changes map[Key]*document) (map[Key]*document, error) {
	was, err := r.catalogue.entries(ctx, c.Control)
	if err != nil {
		return nil, err
	}
	out, both := maps.Clone(changes), []string(nil)
	for key, doc := range changes {
		switch {
		case doc.hash() == was[key].Hash:
			delete(out, key) // only the live version changed it
		case now.doc(key).hash() != was[key].Hash:
			both = append(both, key.String())
		}
	}
	if len(both) > 0 {
		slices.Sort(both)
		return nil, fmt.Errorf("%w: %s changed both in the canary and in the live version: drop the canary, or publish them again", awaken.ErrConflict, strings.Join(both, ", "))
	}
	return out, nil
}

// Drop ends the canary. Its threads continue on the live version.
func (r *Rollout) Drop(ctx context.Context, by Actor) (Head, error) {
	return r.drop(ctx, 0, "", by)
}

func (r *Rollout) drop(ctx context.Context, version int64, reason string, by Actor) (Head, error) {
	return r.write(ctx, intent{by: by, resource: "canary"}, func(_ context.Context, p *plan) error {
		if _, err := r.end(p, version, "rollback", reason); err != nil {
			return err
		}
		p.head = func(*Publication) *Head { return &Head{Live: p.now.head.Live} }
		return nil
	})
}

// end returns the canary and logs its end. Unless version is 0, the canary must be of that
// version.
func (r *Rollout) end(p *plan, version int64, action, reason string) (*Canary, error) {
	c := p.now.head.Canary
	if c == nil || version != 0 && c.Version != version {
		return nil, fmt.Errorf("canary: %w", awaken.ErrNotFound)
	}
	e := p.event(action, fmt.Sprintf("canary/%d", c.Version))
	e.Version = c.Version
	if reason != "" {
		e.After = encode(map[string]any{"reason": reason})
	}
	return c, nil
}

// Report returns the canary's figures, as far as processes have stored them.
func (r *Rollout) Report(ctx context.Context) (*CanaryReport, error) {
	head, err := r.store.Head(ctx)
	if err != nil {
		return nil, err
	}
	out := &CanaryReport{Canary: head.Canary, Live: head.Live}
	if c := head.Canary; c != nil {
		tallies, err := r.store.Tallies(ctx, c.Version, c.Control)
		if err != nil {
			return nil, err
		}
		out.Tally, out.LiveTally = tallies[c.Version].minus(c.Start), tallies[c.Control].minus(c.ControlStart)
	}
	return out, nil
}

// Running reports whether there is a canary, that is, whether Observe counts.
func (r *Rollout) Running() bool { return r.current.now().head.Canary != nil }

// Observe counts a finished run while there is a canary. It ignores child runs and runs
// that began before the canary.
func (r *Rollout) Observe(run *awaken.Run) {
	c := r.current.now().head.Canary
	if c == nil || run.Status != awaken.RunDone || run.ParentRunID != "" || run.CreatedAt < c.StartedAt {
		return
	}
	t := Tally{Runs: 1, CostUSD: run.CostUSD + run.ChildCostUSD, LatencyMS: max(0, run.FinishedAt-run.StartedAt)}
	if run.Termination.Type == awaken.Failed {
		t.Errors = 1
	}
	switch run.ResolutionID {
	case strconv.FormatInt(c.Version, 10):
		r.counted.add(c.Version, t)
	case strconv.FormatInt(r.current.now().head.Live, 10), strconv.FormatInt(c.Control, 10):
		r.counted.add(c.Control, t) // all versions since the control count as one
	}
}

// flush stores what was counted.
func (r *Rollout) flush(ctx context.Context) {
	for number, t := range r.counted.take() {
		err := r.store.Tally(ctx, number, t)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			r.log.Warn("cannot store run tallies", "version", number, "error", err)
			r.counted.add(number, t)
		}
	}
}

// evaluate promotes or drops the canary if its rule says so.
func (r *Rollout) evaluate(ctx context.Context) error {
	c := r.current.now().head.Canary
	if c == nil || c.Rule == nil {
		r.stuck.Store(nil)
		return nil
	}
	now, err := r.Report(ctx)
	if err != nil || now.Canary == nil || now.Canary.Rule == nil {
		return err
	}
	promote, reason := now.Canary.Rule.decide(now.Tally, now.LiveTally)
	by := Actor{ID: "system:canary"}
	switch {
	case reason == "":
		return nil
	case promote:
		_, err = r.promote(ctx, now.Canary.Version, reason, by)
	default:
		_, err = r.drop(ctx, now.Canary.Version, reason, by)
	}
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return nil // another process was faster
	case errors.Is(err, awaken.ErrConflict) || isGate(err):
		d := problem(Key{"versions", strconv.FormatInt(now.Canary.Version, 10)}, "canary_conflict", "the rule cannot promote the canary (%s): %v", reason, err)
		if r.stuck.Swap(&d) != nil {
			return nil // reported before
		}
	}
	return err
}

func isGate(err error) bool {
	_, ok := errors.AsType[*GateError](err)
	return ok
}

// trouble returns why the rule cannot promote the canary, if it cannot.
func (r *Rollout) trouble(now *state) []awaken.Diagnostic {
	if d := r.stuck.Load(); d != nil && now.head.Canary != nil {
		return []awaken.Diagnostic{*d}
	}
	return nil
}
