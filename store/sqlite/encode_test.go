package sqlite

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// A state that cannot be encoded is an error of its commit, also in a snapshot beside records of calls.
func TestCommit_AStateThatCannotBeEncodedIsAnError(t *testing.T) {
	key := state.NewValue[any]("broken", state.Options{})
	schema, err := state.NewSchema(key)
	if err != nil {
		t.Fatal(err)
	}
	st := state.NewStore(schema)
	var b state.Batch
	key.Update(&b, func() {})
	if err := st.Apply(&b); err != nil {
		t.Fatal(err)
	}
	c := &commit{Commit: &awaken.Commit{
		Run:     awaken.Run{RunID: "run-of-a-test"},
		Calls:   []*awaken.CallState{{}},
		Entries: []awaken.Entry{{Event: &awaken.StateSnapshot{Snapshot: st.Snapshot()}}},
	}}
	if err := c.encode(); err == nil {
		t.Error("the commit was encoded")
	}
}
