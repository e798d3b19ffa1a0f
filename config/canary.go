package config

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/awaken-go/awaken"
)

func (c *Canary) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !(c.Share > 0 && c.Share <= 1) {
		bad("share is %v, want more than 0 and at most 1", c.Share)
	}
	if r := c.Rule; r != nil {
		if r.MinRuns < 0 || r.PromoteAfterRuns < 0 {
			bad("min_runs is %d and promote_after_runs is %d, want 0 or more", r.MinRuns, r.PromoteAfterRuns)
		}
		for name, v := range map[string]float64{"max_error_rate": r.MaxErrorRate, "max_error_increase": r.MaxErrorIncrease} {
			if !(v >= 0 && v <= 1) {
				bad("%s is %v, want 0 to 1", name, v)
			}
		}
		for name, v := range map[string]float64{"max_cost_usd": r.MaxCostUSD, "max_cost_ratio": r.MaxCostRatio,
			"max_latency_ms": float64(r.MaxLatencyMS), "max_latency_ratio": r.MaxLatencyRatio} {
			if !(v >= 0) || math.IsInf(v, 0) {
				bad("%s is %v, want 0 or more", name, v)
			}
		}
	}
	if len(errs) > 0 {
		slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return fmt.Errorf("%w: canary: %w", awaken.ErrInvalid, errors.Join(errs...))
	}
	return nil
}

// takes reports whether a thread belongs to the canary. It is always the same for the same
// thread.
func (c *Canary) takes(t *awaken.Thread) bool {
	if at := t.Metadata.CreatedAt; at != 0 && at < c.StartedAt || t.ParentThreadID != "" {
		return false
	}
	sum := sha256.Sum256([]byte(strconv.FormatInt(c.Version, 10) + "\x00" + t.ID))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11)/(1<<53) < c.Share
}

// Choose returns the registry of a new run on a thread: what is live, or the canary.
func (m *Manager) Choose(thread *awaken.Thread) *awaken.Registry {
	now := m.now()
	if c := now.head.Canary; c != nil && now.canary != nil && c.takes(thread) {
		return now.canary.reg
	}
	return now.live.reg
}

// SetCanary sends a share of the new threads to a version. Promote makes it live for all,
// DropCanary ends it. Whoever sets the version that is the canary already changes its share
// and its rule.
func (m *Manager) SetCanary(ctx context.Context, c Canary, by Actor) (Head, error) {
	if err := c.validate(); err != nil {
		return Head{}, err
	}
	p, err := m.write(ctx, plan{by: by, resource: fmt.Sprintf("canary/%d", c.Version)}, func(ctx context.Context, p *plan) error {
		if err := p.public(ctx, c.Version); err != nil {
			return err
		}
		if c.Version == p.now.head.Live {
			return fmt.Errorf("%w: version %d is live", awaken.ErrInvalid, c.Version)
		}
		v, err := m.variant(ctx, p.now, c.Version, p.now.secrets)
		if err != nil {
			return err
		}
		p.canary = v
		return p.start(ctx, c)
	})
	if err != nil {
		return Head{}, err
	}
	return p.next.head, nil
}

// start makes the plan's version a canary.
func (p *plan) start(ctx context.Context, c Canary) error {
	now := p.now.head
	if old := now.Canary; old != nil && old.Version != c.Version {
		return fmt.Errorf("%w: version %d is the canary: promote or drop it first", awaken.ErrConflict, old.Version)
	} else if old != nil {
		c.StartedAt, c.Control, c.Start, c.ControlStart = old.StartedAt, old.Control, old.Start, old.ControlStart
	} else {
		c.StartedAt, c.Control = p.at.UnixMilli(), now.Live
		tallies, err := p.m.o.Store.Tallies(ctx, c.Version, c.Control)
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
	e := p.m.event(p.by, "publish", fmt.Sprintf("canary/%d", c.Version))
	if c.Version == 0 {
		e.Resource = fmt.Sprintf("canary/%d", now.Last+1)
	}
	e.After = encode(map[string]any{"share": c.Share, "live": now.Live})
	p.events = append(p.events, e)
	return nil
}

// compileCanary gives a state its canary. One that cannot be compiled here gets no threads.
func (m *Manager) compileCanary(ctx context.Context, next, old *state) {
	c := next.head.Canary
	switch {
	case c == nil:
		next.canary, next.canaryTroubles = nil, nil
		return
	case next.canary != nil && next.canary.number == c.Version && (next.canary != old.canary || next.secrets == old.secrets):
		return
	}
	v, err := m.variant(ctx, next, c.Version, next.secrets)
	if err != nil {
		m.o.Logger.Error("the canary cannot be compiled here", "version", c.Version, "error", err)
		next.canary = nil
		next.canaryTroubles = []awaken.Diagnostic{problem(Key{"versions", strconv.FormatInt(c.Version, 10)}, "version_unavailable", "the canary cannot be compiled here, and gets no threads: %v", err)}
		return
	}
	next.canary, next.canaryTroubles = v, nil
}

// Promote makes the canary live for all threads, and the records follow. What was published
// meanwhile stays; a document that both changed is awaken.ErrConflict.
func (m *Manager) Promote(ctx context.Context, by Actor) (Head, error) {
	return m.promote(ctx, 0, "", by)
}

func (m *Manager) promote(ctx context.Context, version int64, reason string, by Actor) (Head, error) {
	resource := "canary"
	if reason != "" {
		resource = "" // a rule tries again and again
	}
	p, err := m.write(ctx, plan{by: by, kind: "publish", resource: resource, lenient: true}, func(ctx context.Context, p *plan) error {
		c, err := p.current(version)
		if err != nil {
			return err
		}
		p.note = fmt.Sprintf("promotion of version %d", c.Version)
		p.ended(c, "promote", reason)
		changes, _, err := m.difference(ctx, p.now, c.Version)
		if err != nil {
			return err
		}
		if p.now.head.Live == c.Control {
			p.moved = c.Version
		} else if changes, err = p.merge(ctx, c, changes); err != nil {
			return err
		}
		p.head = func(made *Publication) *Head {
			if made != nil {
				return &Head{Live: made.Number}
			}
			return &Head{Live: c.Version}
		}
		if len(changes) == 0 && p.moved == 0 {
			p.head = func(*Publication) *Head { return &Head{Live: p.now.head.Live} } // it has come about by itself
		}
		return p.adopt(ctx, changes, "promote", false)
	})
	if err != nil {
		return Head{}, err
	}
	return p.next.head, nil
}

// merge leaves of what a canary changes to what is live only what it changed to what was
// live when it began.
func (p *plan) merge(ctx context.Context, c *Canary, changes map[Key]*document) (map[Key]*document, error) {
	was, err := p.m.entries(ctx, c.Control)
	if err != nil {
		return nil, err
	}
	hash := func(doc *document) string {
		if doc == nil {
			return ""
		}
		return doc.Hash
	}
	out, both := maps.Clone(changes), []string(nil)
	for key, doc := range changes {
		switch {
		case hash(doc) == was[key].Hash:
			delete(out, key) // others have changed it
		case hash(p.now.doc(key)) != was[key].Hash:
			both = append(both, key.String())
		}
	}
	if len(both) > 0 {
		slices.Sort(both)
		return nil, fmt.Errorf("%w: %s changed in the canary and in what is live: drop the canary, or publish them again", awaken.ErrConflict, strings.Join(both, ", "))
	}
	return out, nil
}

// DropCanary ends the canary. Its threads go on with what is live.
func (m *Manager) DropCanary(ctx context.Context, by Actor) (Head, error) {
	return m.drop(ctx, 0, "", by)
}

func (m *Manager) drop(ctx context.Context, version int64, reason string, by Actor) (Head, error) {
	p, err := m.write(ctx, plan{by: by, resource: "canary"}, func(_ context.Context, p *plan) error {
		c, err := p.current(version)
		if err != nil {
			return err
		}
		p.ended(c, "rollback", reason)
		p.head = func(*Publication) *Head { return &Head{Live: p.now.head.Live} }
		return nil
	})
	if err != nil {
		return Head{}, err
	}
	return p.next.head, nil
}

// current returns the canary, which has to be of that version unless that is 0.
func (p *plan) current(version int64) (*Canary, error) {
	c := p.now.head.Canary
	if c == nil || version != 0 && c.Version != version {
		return nil, fmt.Errorf("canary: %w", awaken.ErrNotFound)
	}
	return c, nil
}

// ended says in the audit log what became of a canary.
func (p *plan) ended(c *Canary, action, reason string) {
	e := p.m.event(p.by, action, fmt.Sprintf("canary/%d", c.Version))
	e.Version = c.Version
	if reason != "" {
		e.After = encode(map[string]any{"reason": reason})
	}
	p.events = append(p.events, e)
}

// CanaryReport is how a canary goes.
type CanaryReport struct {
	Canary    *Canary `json:"canary"`
	Live      int64   `json:"live"`
	Tally     Tally   `json:"tally"`      // of the canary
	LiveTally Tally   `json:"live_tally"` // of what is live, since the canary began
}

// CanaryReport says how the canary goes, as far as the processes have told the store.
func (m *Manager) CanaryReport(ctx context.Context) (*CanaryReport, error) {
	head, err := m.o.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	r := &CanaryReport{Canary: head.Canary, Live: head.Live}
	if c := head.Canary; c != nil {
		tallies, err := m.o.Store.Tallies(ctx, c.Version, c.Control)
		if err != nil {
			return nil, err
		}
		r.Tally, r.LiveTally = tallies[c.Version].minus(c.Start), tallies[c.Control].minus(c.ControlStart)
	}
	return r, nil
}

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Runs + o.Runs, t.Errors + o.Errors, t.CostUSD + o.CostUSD, t.LatencyMS + o.LatencyMS}
}

func (t Tally) minus(o Tally) Tally {
	return Tally{t.Runs - o.Runs, t.Errors - o.Errors, t.CostUSD - o.CostUSD, t.LatencyMS - o.LatencyMS}
}

// average divides by the runs; 0 if there are none.
func (t Tally) average(sum float64) float64 {
	if t.Runs == 0 {
		return 0
	}
	return sum / float64(t.Runs)
}

// tallies are counts that the store does not have yet.
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

// HasCanary reports whether there is a canary, and so whether Observe counts.
func (m *Manager) HasCanary() bool { return m.now().head.Canary != nil }

// Observe tells the manager how a run went. It counts while there is a canary, if the run
// is nobody's child and began after it.
func (m *Manager) Observe(run *awaken.Run) {
	c := m.now().head.Canary
	if c == nil || run.Status != awaken.RunDone || run.ParentRunID != "" || (run.CreatedAt+1)*1000 < c.StartedAt {
		return
	}
	t := Tally{Runs: 1, CostUSD: run.CostUSD + run.ChildCostUSD, LatencyMS: max(0, run.FinishedAt-run.StartedAt) * 1000}
	if run.Termination.Type == awaken.Failed {
		t.Errors = 1
	}
	switch run.ResolutionID {
	case strconv.FormatInt(c.Version, 10):
		m.tallies.add(c.Version, t)
	case strconv.FormatInt(m.now().head.Live, 10), strconv.FormatInt(c.Control, 10):
		m.tallies.add(c.Control, t) // all that was live meanwhile is one
	}
}

// flush hands what was counted to the store.
func (m *Manager) flush(ctx context.Context) {
	m.tallies.mu.Lock()
	added := m.tallies.added
	m.tallies.added = nil
	m.tallies.mu.Unlock()
	for number, t := range added {
		err := m.o.Store.Tally(ctx, number, t)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			m.o.Logger.Warn("how runs went is not in the store", "version", number, "error", err)
			m.tallies.add(number, t)
		}
	}
}

// judge promotes or drops the canary if its rule says so.
func (m *Manager) judge(ctx context.Context) error {
	c := m.now().head.Canary
	if c == nil || c.Rule == nil {
		m.stuck.Store(nil)
		return nil
	}
	r, err := m.CanaryReport(ctx)
	if err != nil || r.Canary == nil || r.Canary.Rule == nil {
		return err
	}
	promote, reason := r.Canary.Rule.decide(r.Tally, r.LiveTally)
	by := Actor{ID: "system:canary"}
	switch {
	case reason == "":
		return nil
	case promote:
		_, err = m.promote(ctx, r.Canary.Version, reason, by)
	default:
		_, err = m.drop(ctx, r.Canary.Version, reason, by)
	}
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return nil // another process was faster
	case errors.Is(err, awaken.ErrConflict):
		d := problem(Key{"versions", strconv.FormatInt(r.Canary.Version, 10)}, "canary_conflict", "its rule would promote it (%s): %v", reason, err)
		if m.stuck.Swap(&d) != nil {
			return nil // it was said
		}
	}
	return err
}

// decide returns whether the canary is promoted or dropped, and why; no reason means that
// it goes on.
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
