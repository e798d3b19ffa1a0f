package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/awaken-go/awaken/state"
)

func TestBatchMerge_ExclusiveKeysConflict(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(state.Writer){
		"update": func(w state.Writer) { count.Update(w, 1); title.Update(w, "b") },
		"clear":  func(w state.Writer) { count.Update(w, 1); title.Clear(w) },
	} {
		var a, b state.Batch
		title.Update(&a, "a")
		second(&b)
		err := a.Merge(&b)
		if c, ok := errors.AsType[*state.ConflictError](err); !ok || c.Key != "test.title" {
			t.Errorf("%s: error is %v, want a conflict about test.title", name, err)
		}
		if got, want := fmt.Sprint(err), `two writers of the exclusive state key "test.title"`; got != want {
			t.Errorf("%s: error is %q, want %q", name, got, want)
		}
		if a.Len() != 1 || b.Len() != 2 {
			t.Errorf("%s: the batches have %d and %d updates, want 1 and 2 as before", name, a.Len(), b.Len())
		}
	}
}

func TestBatchMerge_OneWriterMayUpdateAnExclusiveKeyTwice(t *testing.T) {
	t.Parallel()
	var a, b state.Batch
	count.Update(&a, 1)
	title.Update(&b, "x")
	title.Update(&b, "y")
	if err := a.Merge(&b); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	if err := s.Apply(&a); err != nil {
		t.Fatal(err)
	}
	if got := title.Get(s.Snapshot()); got != "y" {
		t.Errorf("title is %q, want y", got)
	}
}

func TestBatchMerge_CommutativeKeysAddUp(t *testing.T) {
	t.Parallel()
	var a, b state.Batch
	count.Update(&a, 1)
	names.Update(&a, "x")
	count.Update(&b, 2)
	names.Update(&b, "y")
	if err := a.Merge(&b); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	if err := s.Apply(&a); err != nil {
		t.Fatal(err)
	}
	if got := count.Get(s.Snapshot()); got != 3 {
		t.Errorf("count is %d, want 3", got)
	}
	if diff := cmp.Diff(map[string]bool{"x": true, "y": true}, names.Get(s.Snapshot())); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestBatchAppend_KeepsTheOrder(t *testing.T) {
	t.Parallel()
	var a, b state.Batch
	steps.Update(&a, "one")
	steps.Update(&b, "two")
	a.Append(&b)
	s := newStore(t)
	if err := s.Apply(&a); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two"}, steps.Get(s.Snapshot())); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestBatchReset_Empties(t *testing.T) {
	t.Parallel()
	var b state.Batch
	count.Update(&b, 1)
	b.Reset()
	if b.Len() != 0 {
		t.Errorf("a reset batch has %d updates", b.Len())
	}
	count.Update(&b, 2)
	s := newStore(t)
	if err := s.Apply(&b); err != nil {
		t.Fatal(err)
	}
	if got := count.Get(s.Snapshot()); got != 2 {
		t.Errorf("count is %d, want 2", got)
	}
}

// Writers of the same snapshot may update commutative keys. The order of merging does not
// matter, nor does applying the batches one by one.
func TestBatchMerge_OrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	highest := state.NewKey("test.highest", func(m, n int) int { return max(m, n) }, state.Options{Merge: state.Commutative})
	schema := newSchema(t, count, names, highest)
	type write struct {
		key  int
		n    int
		name string
	}
	record := func(writes []write) *state.Batch {
		b := new(state.Batch)
		for _, w := range writes {
			switch w.key {
			case 0:
				count.Update(b, w.n)
			case 1:
				names.Update(b, w.name)
			case 2:
				highest.Update(b, w.n)
			}
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		writers := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) write {
			return write{
				rapid.IntRange(0, 2).Draw(t, "key"),
				rapid.IntRange(-1000, 1000).Draw(t, "n"),
				rapid.StringMatching(`[a-d]`).Draw(t, "name"),
			}
		}), 0, 6), 1, 6).Draw(t, "writers")
		shuffled := rapid.Permutation(writers).Draw(t, "shuffled")

		merged := func(writers [][]write) string {
			var all state.Batch
			for _, w := range writers {
				if err := all.Merge(record(w)); err != nil {
					t.Fatal(err)
				}
			}
			s := state.NewStore(schema)
			if err := s.Apply(&all); err != nil {
				t.Fatal(err)
			}
			return export(t, s.Snapshot())
		}
		single := state.NewStore(schema)
		for _, w := range shuffled {
			if err := single.Apply(record(w)); err != nil {
				t.Fatal(err)
			}
		}
		want := merged(writers)
		if got := merged(shuffled); got != want {
			t.Fatalf("merged in another order: %s, want %s", got, want)
		}
		if got := export(t, single.Snapshot()); got != want {
			t.Fatalf("applied one by one: %s, want %s", got, want)
		}
	})
}

// export returns the state as one JSON object.
func export(t interface {
	Helper()
	Fatal(...any)
}, s state.Snapshot) string {
	t.Helper()
	values, err := s.Export()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
