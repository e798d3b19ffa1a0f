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
	"github.com/awaken-go/awaken/trigger"
)

// Test tests the promises of a store. Open returns an empty one; join returns the same store as another process has it, and may be nil if there is no other way to
// it.
func Test(t *testing.T, open func(t *testing.T) (s trigger.Store, join func() trigger.Store)) {
	one := func(test func(t *testing.T, s trigger.Store)) func(t *testing.T) {
		return func(t *testing.T) { s, _ := open(t); test(t, s) }
	}
	t.Run("ATriggerIsWhatWasStored", one(keeps))
	t.Run("PagesAreByIDAndTenant", one(pages))
	t.Run("OfChangesOfOneRevisionOneIsMade", func(t *testing.T) { s, join := open(t); compares(t, s, join) })
	t.Run("TheLogHasOneEntryForEachRun", one(logs))
	t.Run("TheLogIsBounded", one(forgets))
	t.Run("DropRemovesTheLog", one(drops))
}

var at = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func sample(tenant, id string) *trigger.Trigger {
	return &trigger.Trigger{Tenant: tenant, ID: id, Spec: trigger.Spec{Run: json.RawMessage(`{"agent_id":"a"}`)}}
}

func swap(t *testing.T, s trigger.Store, x *trigger.Trigger) {
	t.Helper()
	if ok, err := s.SwapTrigger(t.Context(), x); !ok || err != nil {
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

func keeps(t *testing.T, s trigger.Store) {
	x := sample("t", "x \x00 ü")
	x.Spec = trigger.Spec{Description: "d\u2028", Run: json.RawMessage(`{"agent_id":"a"}`), ThreadFrom: "/a", RequireSignature: true, TrustPayload: true, PerMinute: 7, MaxBytes: 8, Paused: true}
	x.State = trigger.State{Secret: []byte{0, 1, 255}, Former: []byte("x"), FormerUntil: at}
	swap(t, s, x)
	x.Spec.PerMinute = 9
	swap(t, s, x)
	got, err := s.Trigger(t.Context(), "t", x.ID)
	if diff := cmp.Diff(x, got); diff != "" || err != nil {
		t.Errorf("%v; stored (-want +got):\n%s", err, diff)
	}
	if _, err := s.Trigger(t.Context(), "u", x.ID); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("another tenant's trigger: %v", err)
	}
}

func pages(t *testing.T, s trigger.Store) {
	for _, id := range []string{"c", "a", "b"} {
		swap(t, s, sample("t", id))
	}
	swap(t, s, sample("u", "b"))
	got := ""
	for after := ""; ; {
		page, err := s.Triggers(t.Context(), "t", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, x := range page {
			got, after = got+x.ID, x.ID
		}
		got += " "
	}
	if got != "ab c " {
		t.Errorf("pages %q", got)
	}
}

func compares(t *testing.T, s trigger.Store, join func() trigger.Store) {
	stores := []trigger.Store{s, s}
	if join != nil {
		stores = append(stores, join())
	}
	for revision := range int64(3) {
		var wg sync.WaitGroup
		var made atomic.Int64
		for i := range 6 {
			wg.Go(func() {
				x := sample("t", "x")
				x.Revision, x.Spec.PerMinute = revision, i+1
				ok, err := stores[i%len(stores)].SwapTrigger(t.Context(), x)
				if err != nil {
					t.Error(err)
				}
				if ok {
					made.Add(1)
				}
			})
		}
		wg.Wait()
		if made.Load() != 1 {
			t.Errorf("revision %d was changed %d times", revision, made.Load())
		}
	}
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
	for since, want := range map[time.Duration]int{0: 4, time.Millisecond: 3, 2 * time.Millisecond: 1, time.Second: 0} {
		if n, err := s.Since(t.Context(), "t", "x", at.Add(since), 10); n != want || err != nil {
			t.Errorf("%d entries since %s, %v; want %d", n, since, err, want)
		}
	}
	if n, err := s.Since(t.Context(), "t", "x", at, 2); n != 2 || err != nil {
		t.Errorf("counted %d, %v; want the limit, 2", n, err)
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

func drops(t *testing.T, s trigger.Store) {
	swap(t, s, sample("t", "x"))
	log(t, s, "x", trigger.Firing{At: at, RunID: "a", Outcome: trigger.Started})
	for _, want := range []bool{true, false} {
		if ok, err := s.DropTrigger(t.Context(), "t", "x"); ok != want || err != nil {
			t.Errorf("drop: %t, %v; want %t", ok, err, want)
		}
	}
	swap(t, s, sample("t", "x"))
	if got := firings(t, s, "x", trigger.Place{}, 10); len(got) != 0 {
		t.Errorf("log of a new trigger: %v", got)
	}
}
