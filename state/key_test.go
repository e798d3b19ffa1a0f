package state_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/state"
)

// The keys of these tests.
var (
	count = state.NewKey("test.count", func(n, d int) int { return n + d }, state.Options{Merge: state.Commutative})
	names = state.NewKey("test.names", func(set map[string]bool, name string) map[string]bool {
		set = maps.Clone(set)
		if set == nil {
			set = make(map[string]bool)
		}
		set[name] = true
		return set
	}, state.Options{Merge: state.Commutative, Scope: state.Thread})
	title   = state.NewValue[string]("test.title", state.Options{Scope: state.Thread})
	steps   = state.NewKey("test.steps", func(s []string, step string) []string { return append(slices.Clip(s), step) }, state.Options{})
	secret  = state.NewValue[string]("test.secret", state.Options{Transient: true})
	derived = state.NewValue[int]("test.derived", state.Options{Derived: true})
	unknown = state.NewValue[int]("test.unknown", state.Options{})
)

func newSchema(t *testing.T, keys ...state.AnyKey) *state.Schema {
	t.Helper()
	s, err := state.NewSchema(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newStore returns a store with all keys except unknown.
func newStore(t *testing.T) *state.Store {
	t.Helper()
	return state.NewStore(newSchema(t, count, names, title, steps, secret, derived))
}

// apply records updates in a batch and applies it.
func apply(t *testing.T, s *state.Store, record func(w state.Writer)) {
	t.Helper()
	var b state.Batch
	record(&b)
	if err := s.Apply(&b); err != nil {
		t.Fatal(err)
	}
}

func TestKey_ReadsItsZeroValueUntilItIsWritten(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if v, ok := count.Lookup(s.Snapshot()); v != 0 || ok {
		t.Errorf("a key never written is %d, %v", v, ok)
	}
	if v := names.Get(state.Snapshot{}); v != nil {
		t.Errorf("a key in an empty snapshot is %v", v)
	}
	apply(t, s, func(w state.Writer) { count.Update(w, 0) })
	if v, ok := count.Lookup(s.Snapshot()); v != 0 || !ok {
		t.Errorf("a key that was written is %d, %v", v, ok)
	}
	apply(t, s, func(w state.Writer) { count.Clear(w) })
	if v, ok := count.Lookup(s.Snapshot()); v != 0 || ok {
		t.Errorf("a key that was cleared is %d, %v", v, ok)
	}
}

func TestKey_OfAnInterfaceTypeAcceptsNil(t *testing.T) {
	t.Parallel()
	anything := state.NewValue[any]("test.anything", state.Options{})
	s := state.NewStore(newSchema(t, anything))
	apply(t, s, func(w state.Writer) { anything.Update(w, 1) })
	apply(t, s, func(w state.Writer) { anything.Update(w, nil) })
	if v, ok := anything.Lookup(s.Snapshot()); v != nil || ok {
		t.Errorf("after nil the value is %v, %v, want as if never written", v, ok)
	}
}

func TestKey_ReturnsItsNameAndOptions(t *testing.T) {
	t.Parallel()
	if got := names.Name(); got != "test.names" {
		t.Errorf("name is %q", got)
	}
	if got := names.Options(); got != (state.Options{Merge: state.Commutative, Scope: state.Thread}) {
		t.Errorf("options are %+v", got)
	}
	if got := []string{state.Run.String(), state.Thread.String()}; !slices.Equal(got, []string{"run", "thread"}) {
		t.Errorf("scopes are %q", got)
	}
}

func TestNewKey_PanicsWithoutAName(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it did not panic")
		}
	}()
	state.NewValue[int]("", state.Options{})
}

func TestNewSchema_RejectsTwoKeysWithOneName(t *testing.T) {
	t.Parallel()
	other := state.NewValue[string]("test.count", state.Options{})
	_, err := state.NewSchema(count, title, other)
	if err == nil || err.Error() != `state key "test.count" is declared twice` {
		t.Errorf("error is %v", err)
	}
}

func TestNewSchema_AcceptsTheSameKeyTwice(t *testing.T) {
	t.Parallel()
	s := newSchema(t, count, title, count)
	if diff := cmp.Diff([]string{"test.count", "test.title"}, s.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// A key is identified by its Go value, not by its name.
func TestKey_DoesNotReadAnotherKeyOfTheSameName(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) { count.Update(w, 1) })
	twin := state.NewValue[int]("test.count", state.Options{})
	if v, ok := twin.Lookup(s.Snapshot()); ok {
		t.Errorf("another key of the same name reads %d", v)
	}
	var b state.Batch
	twin.Update(&b, 1)
	checkUnknown(t, s.Apply(&b), "test.count")
}

// The arguments of hooks and tools embed a snapshot and a batch.
func TestKey_WorksOnStructsThatEmbed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) { count.Update(w, 2) })
	call := struct {
		state.Snapshot
		*state.Batch
	}{s.Snapshot(), new(state.Batch)}
	count.Update(call, count.Get(call)+1)
	if err := s.Apply(call.Batch); err != nil {
		t.Fatal(err)
	}
	if got := count.Get(s.Snapshot()); got != 5 {
		t.Errorf("count is %d, want 5", got)
	}
}
