package state_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/state"
)

func TestSnapshot_IsNotChangedByLaterBatches(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) {
		count.Update(w, 1)
		names.Update(w, "x")
		title.Update(w, "first")
	})
	old := s.Snapshot()
	before := export(t, old)
	apply(t, s, func(w state.Writer) {
		count.Update(w, 1)
		names.Update(w, "y")
		title.Clear(w)
		steps.Update(w, "new")
	})
	if err := s.Restore(map[string]json.RawMessage{"test.count": json.RawMessage("99")}, state.Reject); err != nil {
		t.Fatal(err)
	}
	if err := s.Extend(newSchema(t, unknown)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, export(t, old)); diff != "" {
		t.Errorf("an old snapshot changed (-before +after):\n%s", diff)
	}
	if old.Revision() != 1 || s.Snapshot().Revision() != 2 {
		t.Errorf("revisions are %d and %d, want 1 and 2", old.Revision(), s.Snapshot().Revision())
	}
}

func TestSnapshotExport_OmitsTransientAndUnwrittenKeys(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) {
		secret.Update(w, "hush")
		derived.Update(w, 7)
		title.Update(w, "")
		count.Update(w, 1)
		count.Clear(w)
	})
	if got, want := export(t, s.Snapshot()), `{"test.derived":7,"test.title":""}`; got != want {
		t.Errorf("exported %s, want %s", got, want)
	}
	if got := secret.Get(s.Snapshot()); got != "hush" {
		t.Errorf("secret is %q", got)
	}
}

func TestSnapshotExport_NamesTheKeyThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	bad := state.NewValue[chan int]("test.bad", state.Options{})
	s := state.NewStore(newSchema(t, bad))
	apply(t, s, func(w state.Writer) { bad.Update(w, make(chan int)) })
	const want = `encode state key "test.bad": `
	if _, err := s.Snapshot().Export(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Export: error is %v, want %q", err, want)
	}
	if _, err := json.Marshal(s.Snapshot()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Marshal: error is %v, want %q", err, want)
	}
	if _, err := s.Changes(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Changes: error is %v, want %q", err, want)
	}
	if changes, err := s.Changes(); err != nil || len(changes) > 0 {
		t.Errorf("a value that cannot be saved blocks others: %v, %v", changes, err)
	}
}

func TestSnapshotJSON_RoundTrips(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	apply(t, s, func(w state.Writer) { title.Update(w, "x") })
	apply(t, s, func(w state.Writer) { count.Update(w, 2); secret.Update(w, "hush") })
	const wire = `{"revision":2,"extensions":{"test.count":2,"test.title":"x"}}`
	data, err := json.Marshal(s.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire, string(data)); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}

	var read state.Snapshot
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(read); err != nil || string(again) != wire {
		t.Errorf("encoded again: %s, %v, want %s", again, err, wire)
	}
	if read.Revision() != 2 {
		t.Errorf("revision is %d, want 2", read.Revision())
	}
	if v, ok := count.Lookup(read); ok {
		t.Errorf("a key reads %d from a snapshot that has no schema", v)
	}
}

func TestSnapshotJSON_OfTheZeroValue(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(state.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(data), `{"revision":0,"extensions":{}}`; got != want {
		t.Errorf("encoded %s, want %s", got, want)
	}
}

func TestSnapshotJSON_RejectsUnknownFields(t *testing.T) {
	t.Parallel()
	var s state.Snapshot
	err := json.Unmarshal([]byte(`{"revision":1,"values":{}}`), &s)
	if err == nil || err.Error() != `state snapshot: json: unknown field "values"` {
		t.Errorf("error is %v", err)
	}
}
