// Package livetest tests implementations of [live.Store].
package livetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/eval/live"
)

// Test tests the promises of a store. Open returns an empty one; join returns the same store as another process has it, and may be nil if there is no other way to it.
func Test(t *testing.T, open func(t *testing.T) (s live.Store, join func() live.Store)) {
	t.Run("AJudgementIsWhatWasStored", func(t *testing.T) { s, _ := open(t); keeps(t, s) })
	t.Run("ListsSelectAndAreNewestFirst", func(t *testing.T) { s, _ := open(t); selects(t, s) })
	t.Run("PagesHaveEachOnce", func(t *testing.T) { s, _ := open(t); pages(t, s) })
	t.Run("DueAreThoseThatHaveRested", func(t *testing.T) { s, _ := open(t); rests(t, s) })
	t.Run("OfChangesOfOneRevisionOneIsMade", func(t *testing.T) { s, join := open(t); compares(t, s, join) })
	t.Run("OldOnesAreForgotten", func(t *testing.T) { s, _ := open(t); forgets(t, s) })
}

func swap(t *testing.T, s live.Store, j *live.Judgement) {
	t.Helper()
	if ok, err := s.SwapJudgement(t.Context(), j); !ok || err != nil {
		t.Fatalf("judgement of %s is stored: %t, %v", j.RunID, ok, err)
	}
	j.Revision++
}

func get(t *testing.T, s live.Store, q live.Query) []*live.Judgement {
	t.Helper()
	out, err := s.Judgements(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ids returns the runs of judgements.
func ids(list []*live.Judgement) string {
	var out []string
	for _, j := range list {
		out = append(out, j.RunID)
	}
	return strings.Join(out, " ")
}

func keeps(t *testing.T, s live.Store) {
	score, passed := 0.25, false
	j := &live.Judgement{Tenant: "t \x00", RunID: "r \x00 ü", CreatedAt: 1_700_000_000_123, AgentID: "a", Version: "7", Status: live.Done, Score: &score, Wait: -1,
		State: live.State{ThreadID: "th", Outcome: "natural_end", Passed: &passed, Scores: []live.Score{{Scorer: "s", Score: 0.25, Reason: "\u2028 \x00"}}, Judge: &live.Verdict{ModelID: "m", Score: 1, Reasoning: "r", Revision: "v"},
			Reason: "why", Attempts: 2, Asked: true, JudgedAt: 5, Tokens: 6, CostUSD: 0.125}}
	swap(t, s, j)
	got := get(t, s, live.Query{Tenant: j.Tenant, RunIDs: []string{"other", j.RunID}})
	if len(got) != 1 {
		t.Fatalf("found %d", len(got))
	}
	got[0].Wait = j.Wait
	if diff := cmp.Diff(j, got[0]); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	j.Status, j.Score = live.Pending, nil
	swap(t, s, j)
	if again := get(t, s, live.Query{Tenant: j.Tenant}); len(again) != 1 || again[0].Score != nil || again[0].Revision != 2 || again[0].Status != live.Pending {
		t.Errorf("changed: %+v", again)
	}
	if others := get(t, s, live.Query{Tenant: "u"}); len(others) != 0 {
		t.Errorf("another tenant has %s", ids(others))
	}
}

func selects(t *testing.T, s live.Store) {
	for i, c := range []struct {
		run, agent, version string
		status              live.Status
		score               float64
	}{{"r1", "a", "1", live.Done, 0.2}, {"r2", "b", "1", live.Done, 0.5}, {"r3", "a", "2", live.Done, 0.9}, {"r4", "a", "2", live.InDoubt, -1}, {"r5", "b", "2", live.Pending, -1}} {
		j := &live.Judgement{Tenant: "t", RunID: c.run, CreatedAt: int64(1000 + i/2), AgentID: c.agent, Version: c.version, Status: c.status}
		if c.score >= 0 {
			j.Score = &c.score
		}
		swap(t, s, j)
	}
	swap(t, s, &live.Judgement{Tenant: "u", RunID: "r6", AgentID: "a", Status: live.Done})
	half, most := 0.5, 0.9
	for _, c := range []struct {
		name string
		q    live.Query
		want string
	}{
		{"all", live.Query{}, "r5 r4 r3 r2 r1"},
		{"agent", live.Query{AgentID: "a"}, "r4 r3 r1"},
		{"version", live.Query{Version: "2"}, "r5 r4 r3"},
		{"status", live.Query{Status: live.Done}, "r3 r2 r1"},
		{"low", live.Query{MaxScore: &half}, "r1"},
		{"high", live.Query{MinScore: &half}, "r3 r2"},
		{"between", live.Query{MinScore: &half, MaxScore: &most}, "r2"},
		{"since", live.Query{Since: 1001}, "r5 r4 r3"},
		{"until", live.Query{Until: 1001}, "r2 r1"},
		{"both", live.Query{AgentID: "a", Version: "2", Status: live.Done, Limit: 3}, "r3"},
		{"limit", live.Query{Limit: 2}, "r5 r4"},
		{"runs", live.Query{RunIDs: []string{"r1", "r6", "r4"}}, "r4 r1"},
		{"no runs", live.Query{RunIDs: []string{}}, ""},
	} {
		c.q.Tenant = "t"
		if got := ids(get(t, s, c.q)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func pages(t *testing.T, s live.Store) {
	var want []string
	for i := range 23 {
		id := fmt.Sprintf("r%02d", i)
		swap(t, s, &live.Judgement{Tenant: "t", RunID: id, CreatedAt: int64(i / 5), AgentID: "a", Status: live.Done})
		want = append(want, id)
	}
	slices.Reverse(want)
	var got []string
	q := live.Query{Tenant: "t", AgentID: "a", Limit: 4}
	for {
		page := get(t, s, q)
		for _, j := range page {
			got = append(got, j.RunID)
		}
		if len(page) < q.Limit {
			break
		}
		at := page[len(page)-1].Place()
		q.After = &at
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func rests(t *testing.T, s live.Store) {
	for id, wait := range map[string]time.Duration{"now": 0, "later": time.Hour, "never": -1} {
		swap(t, s, &live.Judgement{Tenant: "t", RunID: id, Wait: wait})
	}
	swap(t, s, &live.Judgement{Tenant: "u", RunID: "other"})
	got := strings.Fields(ids(get(t, s, live.Query{Due: true, Limit: 10})))
	slices.Sort(got)
	if diff := cmp.Diff([]string{"now", "other"}, got); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	if one := get(t, s, live.Query{Due: true, Limit: 1}); len(one) != 1 {
		t.Errorf("%d with a limit of 1", len(one))
	}
}

func compares(t *testing.T, s live.Store, join func() live.Store) {
	stores := []live.Store{s, s}
	if join != nil {
		stores = append(stores, join())
	}
	for revision := range int64(5) {
		var made atomic.Int32
		var all sync.WaitGroup
		for n := range 6 {
			all.Go(func() {
				ok, err := stores[n%len(stores)].SwapJudgement(t.Context(), &live.Judgement{Tenant: "t", RunID: "r", Revision: revision, State: live.State{Attempts: n}})
				if err != nil {
					t.Error(err)
				}
				if ok {
					made.Add(1)
				}
			})
		}
		all.Wait()
		if n := made.Load(); n != 1 {
			t.Fatalf("revision %d was changed %d times", revision, n)
		}
	}
}

func forgets(t *testing.T, s live.Store) {
	swap(t, s, &live.Judgement{Tenant: "t", RunID: "old", CreatedAt: 10, Wait: -1})
	swap(t, s, &live.Judgement{Tenant: "t", RunID: "waits", CreatedAt: 10, Wait: time.Hour})
	swap(t, s, &live.Judgement{Tenant: "t", RunID: "new", CreatedAt: 20, Wait: -1})
	if err := s.ForgetJudgements(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	if got := ids(get(t, s, live.Query{Tenant: "t"})); got != "new waits" {
		t.Errorf("left: %s", got)
	}
}
