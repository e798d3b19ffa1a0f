// Package scheduletest tests implementations of [schedule.Store].
package scheduletest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
)

// Test tests the promises of a store. Open returns an empty one; join returns the same store as another process has it, and may be nil if there is no other way to
// it.
func Test(t *testing.T, open func(t *testing.T) (s schedule.Store, join func() schedule.Store)) {
	one := func(test func(t *testing.T, s schedule.Store)) func(t *testing.T) {
		return func(t *testing.T) { s, _ := open(t); test(t, s) }
	}
	t.Run("AScheduleIsWhatWasStored", one(keeps))
	t.Run("TenantsHaveTheirOwn", one(separates))
	t.Run("PagesAreByID", one(pages))
	t.Run("OfChangesOfOneRevisionOneIsMade", func(t *testing.T) { s, join := open(t); compares(t, s, join) })
	t.Run("DueAreThoseWhoseTimeHasCome", one(comes))
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
	if ok, err := st.Swap(t.Context(), s, log...); err != nil || !ok {
		t.Fatalf("schedule %s is stored: %t, %v", s.ID, ok, err)
	}
	s.Revision++
}

func get(t *testing.T, st schedule.Store, tenant, id string) *schedule.Schedule {
	t.Helper()
	s, err := st.Schedule(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keeps(t *testing.T, st schedule.Store) {
	ends := at.Add(time.Hour)
	s := sample("t", "report \x00 ü")
	s.Due = at.Add(1500 * time.Millisecond)
	s.Spec = schedule.Spec{Description: "d\x00", Cron: "* * * * *", TimeZone: "Asia/Tokyo", EndsAt: &ends, JitterSecs: 5, Overlap: schedule.WaitOverlap, Missed: schedule.CatchAll, GraceSecs: 7, Paused: true, Run: json.RawMessage(`{"a":"\u2028"}`)}
	s.State = schedule.State{Seed: "x", Next: at, Pending: &schedule.Pending{At: at, RunID: "r", ThreadID: "th", Cancel: "c", Waiting: "w", Manual: true, Attempts: 2}, LastRun: "l", Last: schedule.Started, LastAt: at, Started: 1, Missed: 2, Skipped: 3, Refused: 4, Logged: 10}
	swap(t, st, s)
	got := get(t, st, "t", s.ID)
	if !got.Due.Equal(s.Due) {
		t.Errorf("it is due at %s, want %s", got.Due, s.Due)
	}
	got.Due = s.Due
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	got.State.Pending.RunID, got.Spec.Run[0] = "changed", 'x'
	if again := get(t, st, "t", s.ID); again.State.Pending.RunID != "r" || again.Spec.Run[0] != '{' {
		t.Error("a caller changed what is stored")
	}
	s.Due, s.State.Pending = time.Time{}, nil
	swap(t, st, s)
	if got := get(t, st, "t", s.ID); !got.Due.IsZero() || got.State.Pending != nil || got.Revision != 2 {
		t.Errorf("after a change: due at %s, pending %v, revision %d", got.Due, got.State.Pending, got.Revision)
	}
}

func separates(t *testing.T, st schedule.Store) {
	swap(t, st, sample("a", "x"))
	if _, err := st.Schedule(t.Context(), "b", "x"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("another tenant's schedule: %v, want not found", err)
	}
	swap(t, st, sample("b", "x"))
	if ok, err := st.Drop(t.Context(), "b", "x"); !ok || err != nil {
		t.Errorf("drop: %t, %v", ok, err)
	}
	get(t, st, "a", "x")
}

func pages(t *testing.T, st schedule.Store) {
	for i := range 5 {
		swap(t, st, sample("t", fmt.Sprint(4-i)))
	}
	swap(t, st, sample("u", "1"))
	var got []string
	for after := ""; ; {
		page, err := st.Schedules(t.Context(), "t", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			got = append(got, s.ID)
		}
		after = got[len(got)-1]
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4"}, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
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
			ok, err := other.Swap(t.Context(), s, schedule.Firing{Number: 1, At: at, Count: 1, Outcome: schedule.Started, Recorded: at})
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	log, err := st.Firings(t.Context(), "t", "x", 0, 10)
	if got := get(t, st, "t", "x"); won.Load() != 1 || got.Revision != 2 || len(log) != 1 || err != nil {
		t.Errorf("%d changes were made, revision %d, %d entries, %v; want one change", won.Load(), got.Revision, len(log), err)
	}
	if ok, err := st.Swap(t.Context(), sample("t", "x")); ok || err != nil {
		t.Errorf("a schedule was created twice: %t, %v", ok, err)
	}
	gone := sample("t", "gone")
	gone.Revision = 1
	if ok, err := st.Swap(t.Context(), gone); ok || err != nil {
		t.Errorf("a schedule that does not exist was changed: %t, %v", ok, err)
	}
}

func comes(t *testing.T, st schedule.Store) {
	now := time.Now().Truncate(time.Millisecond)
	for id, due := range map[string]time.Time{"later": now.Add(time.Hour), "second": now.Add(-time.Second), "first": now.Add(-time.Minute), "never": {}} {
		s := sample(id, id)
		s.Due = due
		swap(t, st, s)
	}
	var got []string
	due, clock, err := st.Due(t.Context(), 10)
	for _, s := range due {
		got = append(got, s.ID)
	}
	if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" || err != nil {
		t.Errorf("due: %v (-want +got):\n%s", err, diff)
	}
	if off := clock.Sub(now); off < -time.Minute || off > time.Minute {
		t.Errorf("the time of the store is %s, want about %s", clock, now)
	}
	if due, _, err := st.Due(t.Context(), 1); len(due) != 1 || err != nil || due[0].ID != "first" {
		t.Errorf("limited: %v, %v", due, err)
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
	if ok, err := st.Swap(t.Context(), &stale, firing(4)); ok || err != nil {
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
