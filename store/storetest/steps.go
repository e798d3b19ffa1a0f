package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
)

// stepped returns a record of a call with the steps that a commit adds or changes.
func stepped(status awaken.CallStatus, steps ...*awaken.CallStep) *awaken.CallState {
	s := ledger("r", "c", 1, 0, status)
	s.Steps = steps
	return s
}

func begun(name string) *awaken.CallStep {
	return &awaken.CallStep{Name: name, Key: "r/1/0/" + name, Attempts: 1, StartedAt: 7}
}

func over(name, result string) *awaken.CallStep {
	s := begun(name)
	s.EndedAt, s.Result = 8, json.RawMessage(result)
	return s
}

// outlineSteps returns the steps of a call, one text each.
func outlineSteps(s *awaken.CallState) []string {
	out := []string{}
	for _, step := range s.Steps {
		out = append(out, fmt.Sprintf("%s %s %t", step.Name, step.Result, step.Open()))
	}
	return out
}

var stepCases = []testCase{
	{"ARecordKeepsTheStepsOfEarlierOnes", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(calls(ledger("r", "other", 0, 0, awaken.CallSucceeded), stepped(awaken.CallRunning)))
		o.commit(calls(stepped(awaken.CallRunning, begun("a"))))
		o.commit(calls(stepped(awaken.CallRunning, over("a", `{"n":1}`), begun("b"))))
		want := []string{`a {"n":1} false`, "b  true"}
		check := func(status awaken.CallStatus, want ...string) {
			t.Helper()
			got, err := s.Calls(t.Context(), "r")
			if err != nil || len(got) != 2 || got[1].Status != status {
				t.Fatalf("the ledger is %v, %v", callIDs(got), err)
			}
			equal(t, "steps in the ledger", want, outlineSteps(got[1]))
			equal(t, "steps of another call", 0, len(got[0].Steps))
		}
		check(awaken.CallRunning, want...)
		open, err := s.Interrupt(t.Context(), "t")
		if err != nil || len(open) != 1 {
			t.Fatalf("unfinished calls: %v, %v", callIDs(open), err)
		}
		equal(t, "steps of an unfinished call", want, outlineSteps(open[0]))

		o = acquire(t, s, "t", "r") // another owner
		if len(o.cp.Calls) != 1 {
			t.Fatalf("the checkpoint has %v", callIDs(o.cp.Calls))
		}
		equal(t, "steps in the checkpoint", want, outlineSteps(o.cp.Calls[0]))
		doubtful := over("b", "")
		doubtful.Result, doubtful.InDoubt, doubtful.Error = nil, true, "unknown"
		o.commit(calls(stepped(awaken.CallRunning, doubtful)))
		o.commit(calls(stepped(awaken.CallSuspended, over("c", `"x"`)), stepped(awaken.CallRunning)))
		o.commit(calls(stepped(awaken.CallSucceeded)))
		check(awaken.CallSucceeded, `a {"n":1} false`, "b  false", `c "x" false`)
		got, err := s.Calls(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "a step", doubtful, got[1].Steps[1])
	}},
	{"ACommitThatIsRepeatedAddsNoStep", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		c := o.next(calls(stepped(awaken.CallRunning, over("a", "1"))))
		for range 2 {
			if err := s.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Calls(t.Context(), "r")
		if err != nil || len(got) != 1 {
			t.Fatalf("the ledger is %v, %v", callIDs(got), err)
		}
		equal(t, "steps", []string{"a 1 false"}, outlineSteps(got[0]))
	}},
	{"ManyStepsAreKept", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		var want []string
		for i := range 120 {
			o.commit(calls(stepped(awaken.CallRunning, over(fmt.Sprint("step-", i), fmt.Sprint(i)))))
			want = append(want, fmt.Sprintf("step-%d %d false", i, i))
		}
		equal(t, "steps", want, outlineSteps(acquire(t, s, "t", "r").cp.Calls[0]))
	}},
}
