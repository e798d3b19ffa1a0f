package config

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/awaken-go/awaken"
)

func (c *Canary) validate() error {
	var m mistakes
	m.when(!(c.Share > 0 && c.Share <= 1), "share is %v, want more than 0 and at most 1", c.Share)
	if r := c.Rule; r != nil {
		m.when(r.MinRuns < 0 || r.PromoteAfterRuns < 0, "min_runs is %d and promote_after_runs is %d, want 0 or more", r.MinRuns, r.PromoteAfterRuns)
		for name, v := range map[string]float64{"max_error_rate": r.MaxErrorRate, "max_error_increase": r.MaxErrorIncrease} {
			m.when(!(v >= 0 && v <= 1), "%s is %v, want 0 to 1", name, v)
		}
		for name, v := range map[string]float64{"max_cost_usd": r.MaxCostUSD, "max_cost_ratio": r.MaxCostRatio,
			"max_latency_ms": float64(r.MaxLatencyMS), "max_latency_ratio": r.MaxLatencyRatio} {
			m.when(!(v >= 0) || math.IsInf(v, 0), "%s is %v, want 0 or more", name, v)
		}
	}
	if len(m) > 0 {
		slices.SortFunc(m, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return fmt.Errorf("%w: canary: %w", awaken.ErrInvalid, m.join())
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

// CanaryReport is how a canary goes.
type CanaryReport struct {
	Canary    *Canary `json:"canary"`
	Live      int64   `json:"live"`
	Tally     Tally   `json:"tally"`      // of the canary
	LiveTally Tally   `json:"live_tally"` // of what is live, since the canary began
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

// take returns what was added since the last time.
func (ts *tallies) take() map[int64]Tally {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	added := ts.added
	ts.added = nil
	return added
}
