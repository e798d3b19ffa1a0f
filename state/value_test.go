package state_test

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken/state"
)

func TestSnapshotValue_ReturnsTheJSONOfOneKey(t *testing.T) {
	a, hidden := state.NewValue[[]int]("a", state.Options{}), state.NewValue[int]("hidden", state.Options{Transient: true})
	schema, err := state.NewSchema(a, hidden)
	if err != nil {
		t.Fatal(err)
	}
	s := state.NewStore(schema)
	if _, ok, err := s.Snapshot().Value("a"); ok || err != nil {
		t.Errorf("a key that was never written has a value: %v, %v", ok, err)
	}
	var b state.Batch
	a.Update(&b, []int{1, 2})
	hidden.Update(&b, 3)
	if err := s.Apply(&b); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var decoded state.Snapshot // it is bound to no schema
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatal(err)
	}
	for name, snap := range map[string]state.Snapshot{"live": s.Snapshot(), "decoded": decoded} {
		if v, ok, err := snap.Value("a"); string(v) != "[1,2]" || !ok || err != nil {
			t.Errorf("%s: %s, %v, %v", name, v, ok, err)
		}
		for _, none := range []string{"hidden", "nonesuch"} {
			if v, ok, _ := snap.Value(none); ok {
				t.Errorf("%s: %s is %s", name, none, v)
			}
		}
	}
}
