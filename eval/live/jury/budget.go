package jury

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Spent is the cost of judging the runs of an agent in a day.
type Spent struct {
	Judged  int     `json:"judged"`
	Skipped int     `json:"skipped"` // runs that were sampled after the budget was used up
	CostUSD float64 `json:"cost_usd"`
}

// Day is [Spent] with its agent and day.
type Day struct {
	AgentID string `json:"agent_id"`
	Day     string `json:"day"` // UTC, such as 2026-11-17
	Spent
}

const (
	spentNamespace = "eval_live_spent"
	dayLayout      = time.DateOnly
)

// spentKey is the key of an agent's spending in a day.
func spentKey(day, agent string) string { return day + " " + agent }

// exceeds says which limit of a policy is reached, or "".
func (s *Spent) exceeds(p *Policy) string {
	switch {
	case p == nil:
		return ""
	case s.Judged >= p.MaxPerDay:
		return fmt.Sprintf("%d runs of the agent were judged on this day, the limit (max_per_day)", s.Judged)
	case s.CostUSD >= p.MaxCostUSD:
		return fmt.Sprintf("judging runs of the agent has cost %g US dollars on this day, and max_cost_usd_per_day is %g", s.CostUSD, p.MaxCostUSD)
	}
	return ""
}

// over says which limit of an agent's policy is reached, or "".
func (w *Worker) over(ctx context.Context, agent string, p *Policy) (string, error) {
	s, _, err := w.spent(ctx, spentKey(time.Now().UTC().Format(dayLayout), agent))
	return s.exceeds(p), err
}

func (w *Worker) spent(ctx context.Context, key string) (s Spent, raw json.RawMessage, err error) {
	e, err := w.Budgets.Get(ctx, spentNamespace, key)
	if err != nil || e == nil {
		return s, nil, err
	}
	return s, e.Value, json.Unmarshal(e.Value, &s)
}

// spend adds to today's spending for an agent, unless a limit of the policy is reached: then it returns the limit. A nil policy has no
// limits.
func (w *Worker) spend(ctx context.Context, agent string, p *Policy, more Spent) (over string, err error) {
	key := spentKey(time.Now().UTC().Format(dayLayout), agent)
	for {
		s, old, err := w.spent(ctx, key)
		if err != nil {
			return "", err
		}
		if over := s.exceeds(p); over != "" {
			return over, nil
		}
		s.Judged, s.Skipped, s.CostUSD = s.Judged+more.Judged, s.Skipped+more.Skipped, s.CostUSD+more.CostUSD
		data, err := json.Marshal(s)
		if err != nil {
			return "", err
		}
		if done, err := w.Budgets.CompareAndSet(ctx, spentNamespace, key, old, data); done || err != nil {
			return "", err
		}
	}
}

// Days returns the cost of judging by day, latest first, and agent.
func (w *Worker) Days(ctx context.Context) ([]Day, error) {
	entries, err := w.Budgets.List(ctx, spentNamespace)
	if err != nil {
		return nil, err
	}
	out := make([]Day, len(entries))
	for i, e := range entries {
		out[i].Day, out[i].AgentID, _ = strings.Cut(e.Key, " ")
		if err := json.Unmarshal(e.Value, &out[i].Spent); err != nil {
			return nil, fmt.Errorf("spending on %s: %w", e.Key, err)
		}
	}
	slices.SortStableFunc(out, func(a, b Day) int { return strings.Compare(b.Day, a.Day) })
	return out, nil
}

// forgetSpent deletes the spending of days before a time.
func (w *Worker) forgetSpent(ctx context.Context, before time.Time) error {
	days, err := w.Days(ctx)
	for _, d := range days {
		if d.Day < before.UTC().Format(dayLayout) {
			err = errors.Join(err, w.Budgets.Delete(ctx, spentNamespace, spentKey(d.Day, d.AgentID)))
		}
	}
	return err
}
