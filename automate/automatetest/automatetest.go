// Package automatetest tests implementations of [automate.Store].
package automatetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate"
)

// Kind is a kind of rows, with a value that has all fields set.
type Kind[T any, P automate.Value[T], S automate.Store[T]] struct {
	Full T
	// Open returns an empty store; join returns the same store as another process has it, and may be nil if there is no other way to it.
	Open func(t *testing.T) (s S, join func() S)
}

// Test tests the promises of a store of rows.
func (k Kind[T, P, S]) Test(t *testing.T) {
	one := func(test func(t *testing.T, s S)) func(t *testing.T) {
		return func(t *testing.T) { s, _ := k.Open(t); test(t, s) }
	}
	t.Run("ARowIsWhatWasStored", one(k.keeps))
	t.Run("TenantsHaveTheirOwn", one(k.separates))
	t.Run("PagesAreByID", one(k.pages))
	t.Run("OfChangesOfOneRevisionOneIsMade", k.compares)
	t.Run("DropRemovesARow", one(k.drops))
	if k.row("", "").Due != nil {
		t.Run("DueAreThoseWhoseTimeHasCome", one(k.comes))
	}
}

func (k Kind[T, P, S]) value(tenant, id string) P {
	v := P(new(T))
	*v = k.Full
	row := v.Row()
	*row.Tenant, *row.ID, *row.Revision = tenant, id, 0
	return v
}

func (k Kind[T, P, S]) row(tenant, id string) automate.Row { return k.value(tenant, id).Row() }

func (k Kind[T, P, S]) swap(t *testing.T, s S, v P) {
	t.Helper()
	row := v.Row()
	if ok, err := s.Swap(t.Context(), v); !ok || err != nil {
		t.Fatalf("%s %s is stored: %t, %v", row.Kind, *row.ID, ok, err)
	}
	*row.Revision++
}

func (k Kind[T, P, S]) get(t *testing.T, s S, tenant, id string) P {
	t.Helper()
	v, err := s.Get(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (k Kind[T, P, S]) keeps(t *testing.T, s S) {
	v := k.value("t", "x \x00 ü")
	row := v.Row()
	if row.Due != nil {
		*row.Due = time.Date(2026, 11, 17, 12, 0, 1, 500_000_000, time.UTC)
	}
	k.swap(t, s, v)
	got := k.get(t, s, "t", *row.ID)
	if diff := cmp.Diff(v, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if row.Due != nil {
		*row.Due = time.Time{}
	}
	k.swap(t, s, v)
	if diff := cmp.Diff(v, k.get(t, s, "t", *row.ID)); diff != "" || *row.Revision != 2 {
		t.Errorf("after a change, revision %d (-want +got):\n%s", *row.Revision, diff)
	}
}

func (k Kind[T, P, S]) separates(t *testing.T, s S) {
	k.swap(t, s, k.value("a", "x"))
	if _, err := s.Get(t.Context(), "b", "x"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("another tenant's: %v, want not found", err)
	}
	k.swap(t, s, k.value("b", "x"))
	if ok, err := s.Drop(t.Context(), "b", "x"); !ok || err != nil {
		t.Errorf("drop: %t, %v", ok, err)
	}
	k.get(t, s, "a", "x")
}

func (k Kind[T, P, S]) pages(t *testing.T, s S) {
	for _, id := range []string{"c", "a", "b"} {
		k.swap(t, s, k.value("t", id))
	}
	k.swap(t, s, k.value("u", "b"))
	got := ""
	for after := ""; ; {
		page, err := s.List(t.Context(), "t", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, v := range page {
			after = *P(v).Row().ID
			got += after
		}
		got += " "
	}
	if got != "ab c " {
		t.Errorf("pages are %q, want ab and c", got)
	}
}

func (k Kind[T, P, S]) compares(t *testing.T) {
	s, join := k.Open(t)
	stores := []S{s, s}
	if join != nil {
		stores = append(stores, join(), join())
	}
	for revision := range int64(3) {
		var made atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				v := k.value("t", "x")
				*v.Row().Revision = revision
				ok, err := stores[i%len(stores)].Swap(t.Context(), v)
				if err != nil {
					t.Error(err)
				}
				if ok {
					made.Add(1)
				}
			})
		}
		wg.Wait()
		if got := *k.get(t, s, "t", "x").Row().Revision; made.Load() != 1 || got != revision+1 {
			t.Errorf("of revision %d %d changes were made, and it is %d", revision, made.Load(), got)
		}
	}
	gone := k.value("t", "gone")
	*gone.Row().Revision = 1
	if ok, err := s.Swap(t.Context(), gone); ok || err != nil {
		t.Errorf("a row that does not exist was changed: %t, %v", ok, err)
	}
}

func (k Kind[T, P, S]) drops(t *testing.T, s S) {
	k.swap(t, s, k.value("t", "x"))
	for _, want := range []bool{true, false} {
		if ok, err := s.Drop(t.Context(), "t", "x"); ok != want || err != nil {
			t.Errorf("drop: %t, %v; want %t", ok, err, want)
		}
	}
	if _, err := s.Get(t.Context(), "t", "x"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a deleted row: %v, want not found", err)
	}
}

func (k Kind[T, P, S]) comes(t *testing.T, s S) {
	now := time.Now().Truncate(time.Millisecond)
	for id, due := range map[string]time.Time{"later": now.Add(time.Hour), "second": now.Add(-time.Second), "first": now.Add(-time.Minute), "never": {}} {
		v := k.value(id, id)
		*v.Row().Due = due
		k.swap(t, s, v)
	}
	due := func(limit int) (ids []string, clock time.Time) {
		found, clock, err := any(s).(automate.Agenda[T]).Due(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			ids = append(ids, *P(v).Row().ID)
		}
		return ids, clock
	}
	got, clock := due(10)
	if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	if off := clock.Sub(now); off < -time.Minute || off > time.Minute {
		t.Errorf("the time of the store is %s, want about %s", clock, now)
	}
	if got, _ := due(1); len(got) != 1 || got[0] != "first" {
		t.Errorf("limited: %v", got)
	}
}
