package config

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/awaken-go/awaken"
)

// counter is the part of a store that counts.
type counter struct {
	head Head
	sums map[int64]Tally
	err  error
}

func (c *counter) Head(context.Context) (Head, error) { return c.head, nil }

func (c *counter) Tally(_ context.Context, number int64, add Tally) error {
	if c.err == nil {
		c.sums[number] = c.sums[number].plus(add)
	}
	return c.err
}

func (c *counter) Tallies(context.Context, ...int64) (map[int64]Tally, error) { return c.sums, c.err }

func newRollout(t *testing.T, canary *Canary) (*Rollout, *counter) {
	t.Helper()
	c := &counter{head: Head{Live: 5, Canary: canary}, sums: map[int64]Tally{}}
	r := &Rollout{store: c, current: newCurrent(newServers(nil), &accounts{}), log: slog.New(slog.DiscardHandler)}
	s := at(5, nil)
	s.head = c.head
	r.current.swap(t.Context(), s)
	return r, c
}

// finished returns a run that took two seconds.
func finished(version string) awaken.Run {
	return awaken.Run{Status: awaken.RunDone, ResolutionID: version, CreatedAt: 100_000, StartedAt: 100_000, FinishedAt: 102_000, CostUSD: 1, ChildCostUSD: 0.5}
}

func TestRollout_CountsRunsOfCanaryAndControl(t *testing.T) {
	r, store := newRollout(t, &Canary{Version: 6, Control: 4, Share: 0.5, StartedAt: 50_000})
	failed := finished("6")
	failed.Termination.Type = awaken.Failed
	child, early, open, other := finished("6"), finished("6"), finished("6"), finished("3")
	child.ParentRunID, early.CreatedAt, open.Status = "r", 1, awaken.RunRunning
	for _, run := range []awaken.Run{finished("6"), failed, finished("4"), finished("5"), child, early, open, other} {
		r.Observe(&run)
	}
	r.flush(t.Context())
	if got, want := store.sums[6], (Tally{2, 1, 3, 4000}); got != want {
		t.Errorf("the canary has %+v, want %+v", got, want)
	}
	if got, want := store.sums[4], (Tally{2, 0, 3, 4000}); got != want {
		t.Errorf("what was live has %+v, want %+v", got, want)
	}
	if len(store.sums) != 2 {
		t.Errorf("counted are %v, want two versions", store.sums)
	}
}

func TestRollout_KeepsCountsThatCouldNotBeStored(t *testing.T) {
	r, store := newRollout(t, &Canary{Version: 6, Control: 4, Share: 0.5})
	run := finished("6")
	r.Observe(&run)
	store.err = errors.New("down")
	r.flush(t.Context())
	store.err = nil
	r.Observe(&run)
	r.flush(t.Context())
	r.flush(t.Context())
	if got := store.sums[6].Runs; got != 2 {
		t.Errorf("%d runs are counted, want 2", got)
	}
	r.Observe(&run)
	store.err = awaken.ErrNotFound // the version is gone
	r.flush(t.Context())
	if left := r.counted.take(); len(left) != 0 {
		t.Errorf("%v is kept for a version that is gone", left)
	}
}

func TestRollout_CountsNothingWithoutACanary(t *testing.T) {
	r, _ := newRollout(t, nil)
	run := finished("5")
	r.Observe(&run)
	if left := r.counted.take(); r.Running() || len(left) != 0 {
		t.Errorf("counted is %v, want nothing", left)
	}
	if err := r.evaluate(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRollout_ReportsSinceTheCanaryBegan(t *testing.T) {
	r, store := newRollout(t, &Canary{Version: 6, Control: 4, Start: Tally{Runs: 1, CostUSD: 2}, ControlStart: Tally{Runs: 10}})
	store.sums[6], store.sums[4] = Tally{Runs: 4, CostUSD: 3}, Tally{Runs: 15}
	got, err := r.Report(t.Context())
	if err != nil || got.Tally != (Tally{Runs: 3, CostUSD: 1}) || got.LiveTally != (Tally{Runs: 5}) || got.Live != 5 {
		t.Errorf("the report is %+v (%v)", got, err)
	}
}

func TestCanaryRule_Decides(t *testing.T) {
	rule := &CanaryRule{MinRuns: 2, MaxErrorRate: 0.5, MaxErrorIncrease: 0.2, MaxCostUSD: 2, MaxCostRatio: 1.5, MaxLatencyMS: 100, MaxLatencyRatio: 2, PromoteAfterRuns: 10}
	live := Tally{Runs: 10, Errors: 1, CostUSD: 10, LatencyMS: 400}
	for _, c := range []struct {
		name    string
		canary  Tally
		decided bool
		promote bool
	}{
		{"too few runs", Tally{Runs: 1, Errors: 1}, false, false},
		{"as good as what is live", Tally{Runs: 5, CostUSD: 5, LatencyMS: 200}, false, false},
		{"fails more than half", Tally{Runs: 5, Errors: 3}, true, false},
		{"fails more than what is live", Tally{Runs: 10, Errors: 4}, true, false},
		{"costs too much", Tally{Runs: 2, CostUSD: 5}, true, false},
		{"costs more than what is live", Tally{Runs: 2, CostUSD: 3.5}, true, false},
		{"is too slow", Tally{Runs: 2, LatencyMS: 300}, true, false},
		{"is slower than what is live", Tally{Runs: 2, LatencyMS: 180}, true, false},
		{"long enough", Tally{Runs: 10, CostUSD: 10, LatencyMS: 400}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			promote, reason := rule.decide(c.canary, live)
			if promote != c.promote || (reason != "") != c.decided {
				t.Errorf("promote is %v because %q", promote, reason)
			}
		})
	}
}
