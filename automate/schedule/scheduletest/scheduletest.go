// Package scheduletest tests implementations of [schedule.Store].
package scheduletest

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/automate/automatetest"
	"github.com/awaken-go/awaken/automate/schedule"
)

// Test tests the promises of a store. Open returns an empty one; join returns the same store as another process has it, and may be nil if there is no other way to
// it.
func Test(t *testing.T, open func(t *testing.T) (s schedule.Store, join func() schedule.Store)) {
	one := func(test func(t *testing.T, s schedule.Store)) func(t *testing.T) {
		return func(t *testing.T) { s, _ := open(t); test(t, s) }
	}
	automatetest.Kind[schedule.Schedule, *schedule.Schedule, schedule.Store]{Full: full(), Open: open}.Test(t)
	t.Run("ACallerOwnsWhatItGets", one(owns))
	t.Run("OfChangesOfOneRevisionOneIsLogged", func(t *testing.T) { s, join := open(t); compares(t, s, join) })
	t.Run("TheLogIsThatOfTheChangesMade", one(logs))
	t.Run("TheLogIsBounded", one(forgets))
	t.Run("DropRemovesTheLog", one(drops))
}

var at = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func sample(tenant, id string) *schedule.Schedule {
	return &schedule.Schedule{Tenant: tenant, ID: id, Spec: schedule.Spec{Cron: "0 9 * * *", TimeZone: "Europe/Berlin", Run: json.RawMessage(`{"agent_id":"a"}`)}}
}

func swap(t *testing.T, st schedule.Store, s *schedule.Schedule, log ...schedule.Firing) {
	t.Helper()
	if ok, err := st.Record(t.Context(), s, log...); err != nil || !ok {
		t.Fatalf("schedule %s is stored: %t, %v", s.ID, ok, err)
	}
	s.Revision++
}

// full returns a schedule with all fields set.
func full() schedule.Schedule {
	ends := at.Add(time.Hour)
	return schedule.Schedule{
		Spec: schedule.Spec{Description: "d\x00", Cron: "* * * * *", TimeZone: "Asia/Tokyo", EndsAt: &ends, JitterSecs: 5, Overlap: schedule.WaitOverlap,
			Missed: schedule.CatchAll, GraceSecs: 7, Paused: true, Run: json.RawMessage(`{"a":"\u2028"}`)},
		State: schedule.State{Seed: "x", Next: at, Pending: &schedule.Pending{At: at, RunID: "r", ThreadID: "th", Cancel: "c", Waiting: "w", Manual: true, Attempts: 2},
			LastRun: "l", Last: schedule.Started, LastAt: at, Started: 1, Missed: 2, Skipped: 3, Refused: 4, Logged: 10},
	}
}

func owns(t *testing.T, st schedule.Store) {
	stored := full()
	stored.Tenant, stored.ID = "t", "x"
	swap(t, st, &stored)
	get := func() *schedule.Schedule {
		s, err := st.Get(t.Context(), "t", "x")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	got := get()
	got.State.Pending.RunID, got.Spec.Run[0] = "changed", 'x'
	if again := get(); again.State.Pending.RunID != "r" || again.Spec.Run[0] != '{' {
		t.Error("a caller changed what is stored")
	}
}

func compares(t *testing.T, st schedule.Store, join func() schedule.Store) {
	if join == nil {
		join = func() schedule.Store { return st }
	}
	swap(t, st, sample("t", "x"))
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		other := join()
		wg.Go(func() {
			s := sample("t", "x")
			s.Revision = 1
			ok, err := other.Record(t.Context(), s, schedule.Firing{Number: 1, At: at, Count: 1, Outcome: schedule.Started, Recorded: at})
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if log, err := st.Firings(t.Context(), "t", "x", 0, 10); won.Load() != 1 || len(log) != 1 || err != nil {
		t.Errorf("%d changes were made, %d entries, %v; want one change", won.Load(), len(log), err)
	}
}

func firing(n int64) schedule.Firing {
	through := at.Add(time.Hour)
	return schedule.Firing{Number: n, At: at, Through: &through, Count: 3, Outcome: schedule.Lapsed, RunID: "r\x00", ThreadID: "t", Manual: true, Reason: "ü", Recorded: at}
}

func logs(t *testing.T, st schedule.Store) {
	s := sample("t", "x")
	swap(t, st, s, firing(1), firing(2))
	swap(t, st, s, firing(3))
	stale := *s
	stale.Revision = 1
	if ok, err := st.Record(t.Context(), &stale, firing(4)); ok || err != nil {
		t.Fatalf("%t, %v", ok, err)
	}
	got, err := st.Firings(t.Context(), "t", "x", 0, 10)
	if diff := cmp.Diff([]schedule.Firing{firing(3), firing(2), firing(1)}, got); diff != "" || err != nil {
		t.Errorf("log: %v (-want +got):\n%s", err, diff)
	}
	if got, err := st.Firings(t.Context(), "t", "x", 3, 1); err != nil || len(got) != 1 || got[0].Number != 2 {
		t.Errorf("before 3: %v, %v", got, err)
	}
	if got, err := st.Firings(t.Context(), "u", "x", 0, 10); err != nil || len(got) != 0 {
		t.Errorf("another tenant: %v, %v", got, err)
	}
}

func forgets(t *testing.T, st schedule.Store) {
	s := sample("t", "x")
	log := make([]schedule.Firing, 0, schedule.KeptFirings+5)
	for i := range cap(log) {
		log = append(log, schedule.Firing{Number: int64(i + 1), At: at, Count: 1, Outcome: schedule.Started, Recorded: at})
	}
	swap(t, st, s, log[:schedule.KeptFirings]...)
	swap(t, st, s, log[schedule.KeptFirings:]...)
	oldest, err := st.Firings(t.Context(), "t", "x", 7, 10)
	if err != nil || len(oldest) != 1 || oldest[0].Number != 6 {
		t.Errorf("the oldest: %v, %v; want 6", oldest, err)
	}
}

func drops(t *testing.T, st schedule.Store) {
	swap(t, st, sample("t", "x"), firing(1))
	for _, want := range []bool{true, false} {
		if ok, err := st.Drop(t.Context(), "t", "x"); ok != want || err != nil {
			t.Errorf("drop: %t, %v; want %t", ok, err, want)
		}
	}
	swap(t, st, sample("t", "x"))
	if log, err := st.Firings(t.Context(), "t", "x", 0, 10); len(log) != 0 || err != nil {
		t.Errorf("the log of a schedule that was removed: %v, %v", log, err)
	}
}
