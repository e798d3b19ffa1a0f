// Package limittest tests implementations of [limit.Store].
package limittest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/limit"
)

// Test tests the promises of a store. Open returns an empty one; join returns the same store as
// another process has it, and may be nil if there is no other way to it.
func Test(t *testing.T, open func(t *testing.T) (s limit.Store, join func() limit.Store)) {
	t.Run("ABucketIsWhatWasStored", func(t *testing.T) { keeps(t, first(open(t))) })
	t.Run("OfChangesOfOneRevisionOneIsMade", func(t *testing.T) { compares(t, first(open(t))) })
	t.Run("NoChangeIsLostAmongMany", func(t *testing.T) { s, join := open(t); counts(t, s, join) })
	t.Run("TheClockIsTheStores", func(t *testing.T) { s, join := open(t); shares(t, s, join) })
	t.Run("UnusedBucketsAreForgotten", func(t *testing.T) { forgets(t, first(open(t))) })
}

func first(s limit.Store, _ func() limit.Store) limit.Store { return s }

func load(t *testing.T, s limit.Store, names ...string) map[string]limit.Stored {
	t.Helper()
	list, _, err := s.LoadBuckets(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]limit.Stored{}
	for _, b := range list {
		if _, twice := out[b.Name]; twice {
			t.Fatalf("bucket %q is listed twice", b.Name)
		}
		out[b.Name] = b
	}
	return out
}

func swap(t *testing.T, s limit.Store, name string, revision int64, data string, want bool) {
	t.Helper()
	ok, err := s.SwapBucket(t.Context(), limit.Stored{Name: name, Revision: revision, Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	if ok != want {
		t.Fatalf("storing %q after revision %d: %v, want %v", name, revision, ok, want)
	}
}

func keeps(t *testing.T, s limit.Store) {
	if got := load(t, s, "a"); len(got) != 0 {
		t.Fatalf("a new store has %v", got)
	}
	names := []string{"a", "openai/gpt%2F5/", "provider//tenant%00", "Ünï", "a "}
	for i, name := range names {
		swap(t, s, name, 0, fmt.Sprintf(`{"n":%d,"s":"ü\u0000"}`, i), true)
	}
	for i, name := range names {
		got := load(t, s, name, "missing")
		if b := got[name]; len(got) != 1 || b.Revision != 1 || string(b.Data) != fmt.Sprintf(`{"n":%d,"s":"ü\u0000"}`, i) {
			t.Errorf("bucket %q: %+v", name, got)
		}
	}
	if got := load(t, s); len(got) != len(names) {
		t.Errorf("all buckets: %v, want %d", got, len(names))
	}
	if got := load(t, s, names[:3]...); len(got) != 3 {
		t.Errorf("three buckets: %v", got)
	}
}

func compares(t *testing.T, s limit.Store) {
	swap(t, s, "a", 0, `{"n":1}`, true)
	swap(t, s, "a", 0, `{"n":2}`, false)
	swap(t, s, "a", 1, `{"n":3}`, true)
	swap(t, s, "a", 1, `{"n":4}`, false)
	swap(t, s, "a", 3, `{"n":5}`, false)
	if b := load(t, s, "a")["a"]; b.Revision != 2 || string(b.Data) != `{"n":3}` {
		t.Errorf("bucket: revision %d, %s", b.Revision, b.Data)
	}
}

// counts lets many change a number at once: each change must be made on top of the one before.
func counts(t *testing.T, s limit.Store, join func() limit.Store) {
	stores := []limit.Store{s}
	if join != nil {
		stores = append(stores, join())
	}
	var wg sync.WaitGroup
	var made atomic.Int64
	for _, s := range slices.Concat(stores, stores) {
		wg.Go(func() {
			for range 10 {
				for {
					var b limit.Stored
					list, _, err := s.LoadBuckets(t.Context(), "n")
					if err != nil {
						t.Error(err)
						return
					}
					n := 0
					if len(list) > 0 {
						b = list[0]
						if _, err := fmt.Sscanf(string(b.Data), `{"n":%d}`, &n); err != nil {
							t.Error(err)
							return
						}
					}
					b.Name, b.Data = "n", fmt.Appendf(nil, `{"n":%d}`, n+1)
					ok, err := s.SwapBucket(t.Context(), b)
					if err != nil {
						t.Error(err)
						return
					}
					if ok {
						made.Add(1)
						break
					}
				}
			}
		})
	}
	wg.Wait()
	want := int64(20 * len(stores))
	if b := load(t, s, "n")["n"]; made.Load() != want || b.Revision != want || string(b.Data) != fmt.Sprintf(`{"n":%d}`, want) {
		t.Errorf("%d changes were made of %d: revision %d, %s", made.Load(), want, b.Revision, b.Data)
	}
}

// shares compares the clocks of two processes, which must be the same one.
func shares(t *testing.T, s limit.Store, join func() limit.Store) {
	clock := func(s limit.Store) time.Time {
		_, now, err := s.LoadBuckets(t.Context(), "missing")
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	before := clock(s)
	if before.IsZero() {
		t.Fatal("the store has no time")
	}
	other := s
	if join != nil {
		other = join()
	}
	if between, after := clock(other), clock(s); between.Before(before) || after.Before(between) {
		t.Errorf("the clock shows %s, then %s in another process, then %s", before, between, after)
	}
}

func forgets(t *testing.T, s limit.Store) {
	swap(t, s, "a", 0, `{}`, true)
	if err := s.ForgetBuckets(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := load(t, s); len(got) != 1 {
		t.Errorf("a bucket in use was forgotten: %v", got)
	}
	time.Sleep(2 * time.Millisecond) // clocks have milliseconds
	if err := s.ForgetBuckets(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got := load(t, s); len(got) != 0 {
		t.Errorf("unused buckets are still there: %v", got)
	}
	swap(t, s, "a", 0, `{"n":1}`, true)
	if _, _, err := s.LoadBuckets(context.WithoutCancel(t.Context()), "a"); err != nil {
		t.Error(err)
	}
}
