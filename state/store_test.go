package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/state"
)

// saved is a map of saved values.
func saved(pairs ...string) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

// checkChanges checks the unsaved changes: "key scope value", or "key scope cleared".
func checkChanges(t *testing.T, s *state.Store, want ...string) {
	t.Helper()
	changes, err := s.Changes()
	if err != nil {
		t.Fatal(err)
	}
	compareChanges(t, changes, want)
}

// checkDelta checks the changes that were not shown, in the same way.
func checkDelta(t *testing.T, s *state.Store, want ...string) {
	t.Helper()
	changes, err := s.Delta()
	if err != nil {
		t.Fatal(err)
	}
	compareChanges(t, changes, want)
}

func compareChanges(t *testing.T, changes []state.Change, want []string) {
	t.Helper()
	got := []string{}
	for _, c := range changes {
		value := "cleared"
		if c.Value != nil {
			value = string(c.Value)
		}
		got = append(got, c.Key+" "+c.Scope.String()+" "+value)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func checkUnknown(t *testing.T, err error, key string) {
	t.Helper()
	u, ok := errors.AsType[*state.UnknownKeyError](err)
	if !ok || u.Key != key {
		t.Fatalf("error is %v, want an unknown key error about %s", err, key)
	}
	if got, want := err.Error(), `state key "`+key+`" is not registered`; got != want {
		t.Errorf("error is %q, want %q", got, want)
	}
}

func TestStoreApply_IsAtomic(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var b state.Batch
	count.Update(&b, 1)
	unknown.Update(&b, 1)
	title.Update(&b, "x")
	checkUnknown(t, s.Apply(&b), "test.unknown")
	if got := export(t, s.Snapshot()); got != "{}" {
		t.Errorf("state is %s, want nothing", got)
	}
	if got := s.Snapshot().Revision(); got != 0 {
		t.Errorf("revision is %d, want 0", got)
	}
	checkChanges(t, s)
}

func TestStoreApply_AReducerThatPanicsChangesNothing(t *testing.T) {
	t.Parallel()
	bad := state.NewKey("test.bad", func(int, int) int { panic("no") }, state.Options{})
	s := state.NewStore(newSchema(t, count, bad))
	func() {
		defer func() { _ = recover() }()
		var b state.Batch
		count.Update(&b, 1)
		bad.Update(&b, 1)
		_ = s.Apply(&b)
		t.Error("it did not panic")
	}()
	if got := export(t, s.Snapshot()); got != "{}" || s.Snapshot().Revision() != 0 {
		t.Errorf("state is %s at revision %d, want nothing", got, s.Snapshot().Revision())
	}
	checkChanges(t, s)
}

func TestStoreApply_InTheOrderOfTheBatch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) {
		steps.Update(w, "gone")
		steps.Clear(w)
		steps.Update(w, "a")
		steps.Update(w, "b")
	})
	if diff := cmp.Diff([]string{"a", "b"}, steps.Get(s.Snapshot())); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestStoreChanges_OnlyOfChangedKeysThatAreSaved(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	checkChanges(t, s)
	apply(t, s, func(w state.Writer) {
		secret.Update(w, "hush")
		derived.Update(w, 1)
		title.Update(w, "x")
		count.Update(w, 1)
		count.Update(w, 1)
	})
	checkChanges(t, s, "test.count run 2", `test.title thread "x"`)
	checkChanges(t, s, "test.count run 2", `test.title thread "x"`) // not saved yet
	s.Saved()
	checkChanges(t, s)
	apply(t, s, func(w state.Writer) { title.Clear(w); steps.Update(w, "a") })
	checkChanges(t, s, "test.title thread cleared", `test.steps run ["a"]`)
}

func TestStoreDelta_IsShownAndSavedIndependently(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) { count.Update(w, 1); secret.Update(w, "hush"); derived.Update(w, 1) })
	s.Saved()
	checkChanges(t, s)
	checkDelta(t, s, "test.count run 1")
	apply(t, s, func(w state.Writer) { title.Update(w, "x") })
	s.Shown()
	checkChanges(t, s, `test.title thread "x"`)
	checkDelta(t, s)
	if err := s.Seed(saved("test.count", "5")); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(saved("test.names", "{}"), state.Reject); err != nil {
		t.Fatal(err)
	}
	checkChanges(t, s, "test.count run 5", `test.title thread "x"`)
	checkDelta(t, s, "test.count run 5")
}

func TestStoreRestore_RecordsNoChanges(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) { title.Update(w, "kept"); count.Update(w, 1) })
	s.Saved()
	if err := s.Restore(saved("test.count", "5", "test.names", `{"x":true}`, "test.gone", "1"), state.Skip); err != nil {
		t.Fatal(err)
	}
	if got, want := export(t, s.Snapshot()), `{"test.count":5,"test.names":{"x":true},"test.title":"kept"}`; got != want {
		t.Errorf("state is %s, want %s", got, want)
	}
	if got := s.Snapshot().Revision(); got != 1 {
		t.Errorf("revision is %d, want 1 as before", got)
	}
	checkChanges(t, s)
	apply(t, s, func(w state.Writer) { count.Update(w, 1) })
	checkChanges(t, s, "test.count run 6")
}

func TestStoreRestore_ChangesNothingWhenItFails(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	checkUnknown(t, s.Restore(saved("test.count", "5", "test.gone", "1", "test.title", `"x"`), state.Reject), "test.gone")
	err := s.Restore(saved("test.count", "5", "test.title", `1`), state.Skip)
	if err == nil || !strings.HasPrefix(err.Error(), `decode state key "test.title": `) {
		t.Errorf("error is %v", err)
	}
	if got := export(t, s.Snapshot()); got != "{}" {
		t.Errorf("state is %s, want nothing", got)
	}
	if err := s.Restore(nil, state.Reject); err != nil {
		t.Errorf("restoring nothing: %v", err)
	}
}

func TestStoreRestore_AcceptsTheResultOfExport(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) {
		count.Update(w, 3)
		names.Update(w, "x")
		steps.Update(w, "a")
		title.Update(w, "t")
	})
	values, err := s.Snapshot().Export()
	if err != nil {
		t.Fatal(err)
	}
	again := newStore(t)
	if err := again.Restore(values, state.Reject); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(export(t, s.Snapshot()), export(t, again.Snapshot())); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestStoreSeed_RecordsChangesAndRejectsUnknownKeys(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	checkUnknown(t, s.Seed(saved("test.gone", "1")), "test.gone")
	if err := s.Seed(saved("test.count", "5", "test.title", `"x"`)); err != nil {
		t.Fatal(err)
	}
	checkChanges(t, s, "test.count run 5", `test.title thread "x"`)
	if got := s.Snapshot().Revision(); got != 0 {
		t.Errorf("revision is %d, want 0", got)
	}
}

func TestStoreExtend_KeepsValuesAndChanges(t *testing.T) {
	t.Parallel()
	s := state.NewStore(newSchema(t, count, title))
	apply(t, s, func(w state.Writer) { title.Update(w, "x") })
	s.Saved()
	apply(t, s, func(w state.Writer) { count.Update(w, 1) })
	if err := s.Extend(newSchema(t, steps, count)); err != nil {
		t.Fatal(err)
	}
	apply(t, s, func(w state.Writer) { steps.Update(w, "a") })
	if got, want := export(t, s.Snapshot()), `{"test.count":1,"test.steps":["a"],"test.title":"x"}`; got != want {
		t.Errorf("state is %s, want %s", got, want)
	}
	checkChanges(t, s, "test.count run 1", `test.steps run ["a"]`)
}

func TestStoreExtend_RejectsAnotherKeyOfTheSameName(t *testing.T) {
	t.Parallel()
	s := state.NewStore(newSchema(t, count))
	apply(t, s, func(w state.Writer) { count.Update(w, 1) })
	other := state.NewValue[string]("test.count", state.Options{})
	if err := s.Extend(newSchema(t, steps, other)); err == nil || err.Error() != `state key "test.count" is declared twice` {
		t.Errorf("error is %v", err)
	}
	var b state.Batch
	steps.Update(&b, "a")
	checkUnknown(t, s.Apply(&b), "test.steps")
	if got := count.Get(s.Snapshot()); got != 1 {
		t.Errorf("count is %d, want 1", got)
	}
}

// Stores share a schema, so none may change it.
func TestStoreExtend_DoesNotChangeTheSchema(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, count)
	s, other := state.NewStore(schema), state.NewStore(schema)
	if err := s.Extend(newSchema(t, steps)); err != nil {
		t.Fatal(err)
	}
	var b state.Batch
	steps.Update(&b, "a")
	checkUnknown(t, other.Apply(&b), "test.steps")
	if diff := cmp.Diff([]string{"test.count"}, schema.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func BenchmarkStoreApply(b *testing.B) {
	schema, err := state.NewSchema(count, names, title, steps)
	if err != nil {
		b.Fatal(err)
	}
	s := state.NewStore(schema)
	var batch state.Batch
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset()
		count.Update(&batch, 1)
		title.Update(&batch, "x")
		if err := s.Apply(&batch); err != nil {
			b.Fatal(err)
		}
	}
}

// TestStore_Written applies a batch to one store, and what it has written to another.
func TestStore_Written(t *testing.T) {
	word := state.NewValue[string]("word", state.Options{})
	sum := state.NewKey("sum", func(n, d int) int { return n + d }, state.Options{Merge: state.Commutative})
	list := state.NewValue[[]int]("list", state.Options{Scope: state.Thread})
	hidden := state.NewValue[int]("hidden", state.Options{Transient: true})
	secret := state.NewValue[func()]("secret", state.Options{Transient: true})
	schema, err := state.NewSchema(word, sum, list, hidden, secret)
	if err != nil {
		t.Fatal(err)
	}
	from, to := state.NewStore(schema), state.NewStore(schema)
	var before, b state.Batch
	sum.Update(&before, 5)
	word.Update(&before, "old")
	for _, s := range []*state.Store{from, to} {
		if err := s.Apply(&before); err != nil {
			t.Fatal(err)
		}
	}
	sum.Update(&b, 1)
	hidden.Update(&b, 7)
	sum.Update(&b, 1)
	word.Clear(&b)
	list.Update(&b, nil)
	secret.Update(&b, func() {})
	if err := from.Apply(&b); err != nil {
		t.Fatal(err)
	}
	values, unencoded := from.Written(&b)
	var again state.Batch
	text := ""
	for _, v := range values {
		text += fmt.Sprintf("%s %s=%s ", v.Scope, v.Key, v.Value)
		if err := to.Snapshot().SetValue(&again, v.Key, v.Value); err != nil {
			t.Fatal(err)
		}
	}
	if want := "run sum=7 run word= thread list=null "; text != want || !slices.Equal(unencoded, []string{"hidden", "secret"}) {
		t.Errorf("written are %q and %q, want %q", text, unencoded, want)
	}
	if err := to.Apply(&again); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(from.Snapshot())
	if got, _ := json.Marshal(to.Snapshot()); string(got) != string(want) {
		t.Errorf("the other store has %s, want %s", got, want)
	}
	if _, ok := word.Lookup(to); ok {
		t.Error("a key that was cleared has a value")
	}
	changes, err := from.Changes()
	if err != nil || len(changes) != 3 {
		t.Errorf("the changes are %v, %v; want changes of three keys", changes, err)
	}
	for name, value := range map[string]string{"none": "1", "sum": `"x"`} {
		if err := to.Snapshot().SetValue(&again, name, json.RawMessage(value)); err == nil {
			t.Errorf("state key %s takes %s", name, value)
		}
	}
	if err := (state.Snapshot{}).SetValue(&again, "sum", nil); err == nil {
		t.Error("an empty snapshot has a key")
	}
}
