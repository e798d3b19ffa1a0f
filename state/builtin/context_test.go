package builtin_test

import (
	"fmt"
	"testing"

	"github.com/awaken-go/awaken/state/builtin"
)

// However many attempts to summarise end in one step, each is recorded until the next step.
func TestCompactionState_KeepsEveryEndOfAStep(t *testing.T) {
	var s builtin.CompactionState
	end := func(run string, step, i int) {
		s.End(builtin.CompactionEnd{CompactionTask: builtin.CompactionTask{TaskID: fmt.Sprint(i)}, EndedBy: run, EndStep: step})
	}
	for i := range 40 {
		end("r", 1, i)
	}
	if len(s.Ended) != 40 || s.Ended[0].TaskID != "0" {
		t.Fatalf("%d ends are recorded, want 40", len(s.Ended))
	}
	if end("r", 2, 40); len(s.Ended) != 1 {
		t.Errorf("%d ends are recorded in the next step, want 1", len(s.Ended))
	}
	if end("r2", 0, 41); len(s.Ended) != 1 {
		t.Errorf("%d ends are recorded in the next run, want 1", len(s.Ended))
	}
}
