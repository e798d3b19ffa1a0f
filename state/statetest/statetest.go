// Package statetest tests that a state key satisfies the contract of package state.
package statetest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/awaken-go/awaken/state"
)

// Key tests key with the given updates: an update does not modify the old value, the value
// survives a round trip through JSON, and the order of updates does not matter if the key is
// commutative.
func Key[V, U any](t testing.TB, key *state.Key[V, U], updates ...U) {
	t.Helper()
	if len(updates) == 0 {
		t.Fatalf("statetest.Key(%q) needs at least one update", key.Name())
	}
	forward := apply(t, key, updates)
	if key.Options().Merge == state.Commutative {
		backward := make([]U, len(updates))
		for i, u := range updates {
			backward[len(updates)-1-i] = u
		}
		if a, b := encode(t, key.Get(forward.Snapshot())), encode(t, key.Get(apply(t, key, backward).Snapshot())); a != b {
			t.Errorf("key %q is commutative, but the order matters:\nforward  %s\nbackward %s", key.Name(), a, b)
		}
	}
	if key.Options().Transient {
		return
	}
	saved, err := forward.Snapshot().Export()
	if err != nil {
		t.Fatal(err)
	}
	again := newStore(t, key)
	if err := again.Restore(saved, state.Reject); err != nil {
		t.Fatal(err)
	}
	if a, b := key.Get(forward.Snapshot()), key.Get(again.Snapshot()); !reflect.DeepEqual(a, b) {
		t.Errorf("key %q changes in JSON: %#v became %#v", key.Name(), a, b)
	}
}

func apply[V, U any](t testing.TB, key *state.Key[V, U], updates []U) *state.Store {
	t.Helper()
	s := newStore(t, key)
	for _, u := range updates {
		old := s.Snapshot()
		before := encode(t, key.Get(old))
		var b state.Batch
		key.Update(&b, u)
		if err := s.Apply(&b); err != nil {
			t.Fatal(err)
		}
		if after := encode(t, key.Get(old)); after != before {
			t.Errorf("key %q: apply changed the value it was given:\nbefore %s\nafter  %s", key.Name(), before, after)
		}
	}
	return s
}

func newStore(t testing.TB, key state.AnyKey) *state.Store {
	t.Helper()
	schema, err := state.NewSchema(key)
	if err != nil {
		t.Fatal(err)
	}
	return state.NewStore(schema)
}

func encode(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
