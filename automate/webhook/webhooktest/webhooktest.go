// Package webhooktest tests implementations of [webhook.Store].
package webhooktest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/automate/webhook"
)

// Test tests the promises of a store. Open returns an empty one; join returns the same store as
// another process has it, and may be nil if there is no other way to it.
func Test(t *testing.T, open func(t *testing.T) (s webhook.Store, join func() webhook.Store)) {
	one := func(test func(t *testing.T, s webhook.Store)) func(t *testing.T) {
		return func(t *testing.T) { s, _ := open(t); test(t, s) }
	}
	t.Run("AHookIsWhatWasStored", one(keeps))
	t.Run("QueriesSelect", one(selects))
	t.Run("OfChangesOfOneRevisionOneIsMade", func(t *testing.T) { s, join := open(t); compares(t, s, join) })
	t.Run("AHookIsDueAfterItsWait", one(rests))
	t.Run("HooksThatEndedAreForgotten", one(forgets))
}

func hook(tenant, run, id string) *webhook.Hook {
	return &webhook.Hook{Tenant: tenant, RunID: run, ID: id, State: webhook.State{Kind: "k", Target: webhook.Target{URL: "https://example.com/" + id}}}
}

func swap(t *testing.T, s webhook.Store, h *webhook.Hook) {
	t.Helper()
	if ok, err := s.SwapHook(t.Context(), h); err != nil || !ok {
		t.Fatalf("hook %s of run %s is stored: %t, %v", h.ID, h.RunID, ok, err)
	}
	h.Revision++
}

func find(t *testing.T, s webhook.Store, q webhook.Query) []*webhook.Hook {
	t.Helper()
	out, err := s.Hooks(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// names returns the names of hooks, in order.
func names(t *testing.T, s webhook.Store, q webhook.Query) []string {
	t.Helper()
	out := []string{}
	for _, h := range find(t, s, q) {
		out = append(out, h.Tenant+"/"+h.RunID+"/"+h.ID)
	}
	return out
}

func keeps(t *testing.T, s webhook.Store) {
	at := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	h := hook("t", "run \x00 ü", "1")
	h.State = webhook.State{Kind: "k", Target: webhook.Target{URL: "https://example.com/?a=\u2028", Headers: map[string]string{"Authorization": "Bearer ä"}, Secret: "s\x00"},
		Sent: 3, Holder: "p", Failures: 2, Failing: at, Idle: 4, Attempts: []webhook.Attempt{{Message: 3, At: at, TookMS: 5, Status: 200}, {Message: 4, At: at, Error: "no"}}}
	h.Wait = -1
	swap(t, s, h)
	got := find(t, s, webhook.Query{Tenant: "t", RunID: h.RunID, ID: "1"})
	if len(got) != 1 {
		t.Fatalf("%d hooks", len(got))
	}
	if got[0].Wait >= 0 {
		t.Errorf("it waits %s, want for good", got[0].Wait)
	}
	got[0].Wait = h.Wait
	if diff := cmp.Diff(h, got[0]); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	got[0].Attempts[0].Error = "changed"
	if again := find(t, s, webhook.Query{Tenant: "t", RunID: h.RunID}); again[0].Attempts[0].Error != "" {
		t.Error("a hook is shared with those that read it")
	}
	if err := s.DropHook(t.Context(), "t", h.RunID, "1"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s, webhook.Query{Tenant: "t"}); len(got) > 0 {
		t.Errorf("%v after it was removed", got)
	}
	if err := s.DropHook(t.Context(), "t", h.RunID, "1"); err != nil {
		t.Errorf("removing what does not exist: %v", err)
	}
}

func selects(t *testing.T, s webhook.Store) {
	for _, h := range []*webhook.Hook{hook("a", "r2", "1"), hook("a", "r1", "2"), hook("a", "r1", "1"), hook("b", "r1", "1"), hook("", "r1", "1")} {
		swap(t, s, h)
	}
	for _, tt := range []struct {
		q    webhook.Query
		want []string
	}{
		{webhook.Query{Tenant: "a"}, []string{"a/r1/1", "a/r1/2", "a/r2/1"}},
		{webhook.Query{Tenant: "a", Limit: 2}, []string{"a/r1/1", "a/r1/2"}},
		{webhook.Query{Tenant: "a", RunID: "r1"}, []string{"a/r1/1", "a/r1/2"}},
		{webhook.Query{Tenant: "a", RunID: "r1", ID: "2"}, []string{"a/r1/2"}},
		{webhook.Query{Tenant: "a", ID: "1", Latest: true}, []string{"a/r2/1", "a/r1/1"}},
		{webhook.Query{Tenant: "a", ID: "1", Latest: true, Before: "r2"}, []string{"a/r1/1"}},
		{webhook.Query{}, []string{"/r1/1"}},
		{webhook.Query{Tenant: "c"}, []string{}},
	} {
		if diff := cmp.Diff(tt.want, names(t, s, tt.q)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.q, diff)
		}
	}
	if n := len(find(t, s, webhook.Query{Due: true})); n != 5 {
		t.Errorf("%d hooks of all tenants are due, want 5", n)
	}
}

func compares(t *testing.T, s webhook.Store, join func() webhook.Store) {
	stores := []webhook.Store{s}
	if join != nil {
		stores = append(stores, join())
	}
	for round := range 10 {
		var made atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				h := hook("", "r", "1")
				h.Revision, h.Holder = int64(round), fmt.Sprint(i)
				ok, err := stores[i%len(stores)].SwapHook(t.Context(), h)
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
			t.Fatalf("round %d: %d of 8 changes were made", round, made.Load())
		}
	}
	late := hook("", "r", "gone")
	late.Revision = 3
	if ok, err := s.SwapHook(t.Context(), late); ok || err != nil {
		t.Errorf("a hook that was removed is stored again: %t, %v", ok, err)
	}
}

func rests(t *testing.T, s webhook.Store) {
	now, later, never := hook("", "r", "now"), hook("", "r", "later"), hook("", "r", "never")
	later.Wait, never.Wait = time.Hour, -1
	for _, h := range []*webhook.Hook{never, later, now} {
		swap(t, s, h)
	}
	due := webhook.Query{Due: true}
	if got := names(t, s, due); !slices.Equal(got, []string{"/r/now"}) {
		t.Errorf("%v are due", got)
	}
	now.Wait = time.Hour // a lease
	swap(t, s, now)
	later.Wait = 20 * time.Millisecond
	swap(t, s, later)
	for len(find(t, s, due)) == 0 {
		time.Sleep(time.Millisecond)
	}
	if got := names(t, s, due); !slices.Equal(got, []string{"/r/later"}) {
		t.Errorf("%v are due", got)
	}
	never.Wait = 0
	swap(t, s, never)
	if got := names(t, s, due); !slices.Equal(got, []string{"/r/later", "/r/never"}) {
		t.Errorf("%v are due, want them in the order in which they became due", got)
	}
}

func forgets(t *testing.T, s webhook.Store) {
	active, ended := hook("", "r", "active"), hook("", "r", "ended")
	ended.Wait = -1
	swap(t, s, active)
	swap(t, s, ended)
	for _, tt := range []struct {
		unused time.Duration
		want   []string
	}{{time.Hour, []string{"/r/active", "/r/ended"}}, {0, []string{"/r/active"}}} {
		if err := s.ForgetHooks(t.Context(), tt.unused); err != nil {
			t.Fatal(err)
		}
		if got := names(t, s, webhook.Query{}); !slices.Equal(got, tt.want) {
			t.Errorf("after %s %v are left", tt.unused, got)
		}
	}
}
