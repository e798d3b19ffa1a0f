package replay

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken"
)

// Two records of a call that differ only in their times are equal, whatever became of the call.
func TestTimeless_HasNoTimesOfCalls(t *testing.T) {
	call := func(ms int64) string {
		data, err := json.Marshal(&awaken.CallState{CallID: "c1", ToolName: "pay", StartedAt: ms, UpdatedAt: ms,
			Doubt: &awaken.Doubt{Since: ms, Origin: awaken.DoubtIntent}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if a, b := timeless(call(1)), timeless(call(2)); a != b {
		t.Errorf("records with other times differ:\n%s\n%s", a, b)
	}
	if a, b := timeless(call(1)), call(1); a == b {
		t.Error("the record has no times, so that shows nothing")
	}
}
