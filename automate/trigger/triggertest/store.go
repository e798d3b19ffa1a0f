// Package triggertest tests implementations of [trigger.Store].
package triggertest

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
	"github.com/awaken-go/awaken/automate/automatetest"
	"github.com/awaken-go/awaken/automate/trigger"
)

// Test tests the promises of a store. Open returns an empty one; join returns the same store as another process has it, and may be nil if there is no other way to
// it.
func Test(t *testing.T, open func(t *testing.T) (s trigger.Store, join func() trigger.Store)) {
	one := func(test func(t *testing.T, s trigger.Store)) func(t *testing.T) {
		return func(t *testing.T) { s, _ := open(t); test(t, s) }
	}
	automatetest.Kind[trigger.Trigger, *trigger.Trigger, trigger.Store]{Full: full(), Open: open}.Test(t)
	t.Run("TheLogHasOneEntryForEachRun", one(logs))
	t.Run("TheLogIsBounded", one(forgets))
	t.Run("AMinuteHasSoManyEntriesAndNoMore", func(t *testing.T) { s, join := open(t); enters(t, s, join) })
	t.Run("DropRemovesTheLog", one(drops))
}

var at = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func sample(tenant, id string) *trigger.Trigger {
	return &trigger.Trigger{Tenant: tenant, ID: id, Spec: trigger.Spec{Run: json.RawMessage(`{"agent_id":"a"}`)}}
}

// full returns a trigger with all fields set.
func full() trigger.Trigger {
	return trigger.Trigger{
		Spec: trigger.Spec{Description: "d\u2028", Run: json.RawMessage(`{"agent_id":"a"}`), ThreadFrom: "/a", RequireSignature: true, TrustPayload: true,
			PerMinute: 7, MaxBytes: 8, Paused: true},
		State: trigger.State{Secret: []byte{0, 1, 255}, Former: []byte("x"), FormerUntil: at},
	}
}

func swap(t *testing.T, s trigger.Store, x *trigger.Trigger) {
	t.Helper()
	if ok, err := s.Swap(t.Context(), x); !ok || err != nil {
		t.Fatalf("trigger %s is stored: %t, %v", x.ID, ok, err)
	}
	x.Revision++
}

func log(t *testing.T, s trigger.Store, id string, f trigger.Firing) {
	t.Helper()
	if err := s.Log(t.Context(), "t", id, &f); err != nil {
		t.Fatal(err)
	}
}

func firings(t *testing.T, s trigger.Store, id string, before trigger.Place, limit int) []trigger.Firing {
	t.Helper()
	out, err := s.Firings(t.Context(), "t", id, before, limit)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// processes returns a store as several processes have it.
func processes(s trigger.Store, join func() trigger.Store) []trigger.Store {
	if join == nil {
		return []trigger.Store{s, s}
	}
	return []trigger.Store{s, s, join()}
}

func logs(t *testing.T, s trigger.Store) {
	log(t, s, "x", trigger.Firing{At: at, RunID: "none"}) // of no trigger
	swap(t, s, sample("t", "x"))
	swap(t, s, sample("t", "y"))
	log(t, s, "y", trigger.Firing{At: at, RunID: "a"})
	want := []trigger.Firing{
		{At: at.Add(2 * time.Millisecond), RunID: "b", ThreadID: "th", Request: "m\x00", Bytes: 3, Outcome: trigger.Started, Manual: true},
		{At: at.Add(time.Millisecond), RunID: "d", Outcome: trigger.Refused, Reason: "why"},
		{At: at.Add(time.Millisecond), RunID: "c", Outcome: trigger.Started},
		{At: at, RunID: "a", Outcome: trigger.Started},
	}
	log(t, s, "x", trigger.Firing{At: at, RunID: "b", Outcome: trigger.Refused, Reason: "before"})
	for i := range want {
		log(t, s, "x", want[len(want)-1-i])
	}
	var got []trigger.Firing
	for before := (trigger.Place{}); ; {
		page := firings(t, s, "x", before, 1)
		if len(page) == 0 {
			break
		}
		got, before = append(got, page...), trigger.Place{At: page[0].At, RunID: page[0].RunID}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func forgets(t *testing.T, s trigger.Store) {
	swap(t, s, sample("t", "x"))
	const some = 64
	for i := range trigger.KeptFirings + 2*some {
		log(t, s, "x", trigger.Firing{At: at.Add(time.Duration(i) * time.Millisecond), RunID: fmt.Sprint("r", i), Outcome: trigger.Started})
	}
	got := firings(t, s, "x", trigger.Place{}, 2*trigger.KeptFirings)
	if n := len(got); n < trigger.KeptFirings || n > trigger.KeptFirings+some || got[0].RunID != fmt.Sprint("r", trigger.KeptFirings+2*some-1) {
		t.Errorf("%d entries are kept, the latest %+v", n, got[0])
	}
}

func enters(t *testing.T, s trigger.Store, join func() trigger.Store) {
	if ok, err := s.Enter(t.Context(), "t", "x", &trigger.Firing{RunID: "a"}, 0); ok || !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a trigger that does not exist: %t, %v", ok, err)
	}
	swap(t, s, sample("t", "x"))
	swap(t, s, sample("t", "y"))
	log(t, s, "y", trigger.Firing{At: time.Now().UTC().Truncate(time.Millisecond), RunID: "other", Outcome: trigger.Started})
	log(t, s, "x", trigger.Firing{At: time.Now().Add(-2 * time.Minute).UTC().Truncate(time.Millisecond), RunID: "old", Outcome: trigger.Started})
	const limit, each = 5, 8
	var wg sync.WaitGroup
	var entered atomic.Int64
	stores := processes(s, join)
	for i := range each * len(stores) {
		wg.Go(func() {
			f := trigger.Firing{RunID: fmt.Sprint("r", i), Request: "m\x00", Bytes: i, Outcome: trigger.Starting}
			ok, err := stores[i%len(stores)].Enter(t.Context(), "t", "x", &f, limit)
			if err != nil {
				t.Error(err)
			}
			if ok {
				entered.Add(1)
			}
			if ok && time.Since(f.At).Abs() > 10*time.Second {
				t.Errorf("entered at %s", f.At)
			}
		})
	}
	wg.Wait()
	got := firings(t, s, "x", trigger.Place{}, 100)
	if entered.Load() != limit || len(got) != limit+1 {
		t.Fatalf("%d of %d entered, and the log has %d entries more than before; want %d", entered.Load(), each*len(stores), len(got)-1, limit)
	}
	// One that is there enters again, as it is there, and is not counted; without a limit, others do.
	again := trigger.Firing{RunID: got[0].RunID, Outcome: trigger.Starting, Reason: "again"}
	if ok, err := s.Enter(t.Context(), "t", "x", &again, limit); !ok || err != nil || !cmp.Equal(again, got[0]) {
		t.Errorf("again: %t, %v; (-want +got):\n%s", ok, err, cmp.Diff(got[0], again))
	}
	if ok, err := s.Enter(t.Context(), "t", "x", &trigger.Firing{RunID: "manual", Outcome: trigger.Starting}, 0); !ok || err != nil {
		t.Errorf("without a limit: %t, %v", ok, err)
	}
}

func drops(t *testing.T, s trigger.Store) {
	swap(t, s, sample("t", "x"))
	log(t, s, "x", trigger.Firing{At: at, RunID: "a", Outcome: trigger.Started})
	for _, want := range []bool{true, false} {
		if ok, err := s.Drop(t.Context(), "t", "x"); ok != want || err != nil {
			t.Errorf("drop: %t, %v; want %t", ok, err, want)
		}
	}
	swap(t, s, sample("t", "x"))
	if got := firings(t, s, "x", trigger.Place{}, 10); len(got) != 0 {
		t.Errorf("log of a new trigger: %v", got)
	}
}
