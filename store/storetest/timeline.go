package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/trace/timeline"
)

func commitLog(t *testing.T, s awaken.Store) timeline.Log {
	t.Helper()
	l, ok := s.(timeline.Log)
	if !ok {
		t.Skip("the store does not list its commits")
	}
	return l
}

// commitsOf returns the commits of a run that a query selects.
func commitsOf(t *testing.T, l timeline.Log, runID string, q timeline.Query) []timeline.Commit {
	t.Helper()
	list, err := l.Commits(t.Context(), runID, q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// at sets the time of a commit, but not that of its events.
func at(ms int64) func(*awaken.Commit) { return func(c *awaken.Commit) { c.Time = ms } }

// step returns a record of a call with a step.
func step(call *awaken.CallState, step awaken.CallStep) *awaken.CallState {
	out := *call
	out.Steps = []*awaken.CallStep{&step}
	return &out
}

var timelineCases = []testCase{
	{"ListsTheCommitsOfARunWithTheirOwners", func(t *testing.T, s awaken.Store) {
		l := commitLog(t, s)
		o := acquire(t, s, "t", "r")
		call := ledger("r", "c", 0, 0, awaken.CallRunning)
		o.commit(o.entries(&awaken.RunStart{}), messages("m1"))
		o.commit(o.entries(&awaken.StepStart{}, &awaken.ToolCallReady{ID: "c", Name: "tool"}), calls(call), begins, at(o.time+20))
		o.commit(calls(step(call, awaken.CallStep{Name: "pay", Key: "k", StartedAt: 5})), begins, at(o.time+30))
		o.commit(calls(step(call, awaken.CallStep{Name: "pay", Key: "k", StartedAt: 5, EndedAt: 6})), at(o.time+40))
		o.commit(o.entries(&awaken.ToolCallDone{ID: "c", Result: &awaken.ToolResult{}}), calls(ledger("r", "c", 0, 0, awaken.CallSuspended)), at(o.time+50))
		o.commit(o.entries(&awaken.RunFinish{Termination: awaken.Termination{Type: awaken.Suspended}}), waits, at(o.time+3_600_000))
		n := acquire(t, s, "t", "r")
		n.commit(n.entries(&awaken.RunStart{}), at(n.time+4_000_000))
		n.commit(n.entries(&awaken.ToolCallResumed{TargetID: "c", Result: []byte(`null`)}, &awaken.StepEnd{}), calls(ledger("r", "c", 0, 0, awaken.CallSucceeded)), messages("m2"))
		n.commit(at(n.time + 1)) // changes only the record
		m := acquire(t, s, "t", "r")
		m.commit(m.entries(&awaken.RunFinish{Termination: awaken.Termination{Type: awaken.NaturalEnd}}), done)

		place := func(fence uint64, number uint64) timeline.Place { return timeline.Place{Fence: fence, Number: number} }
		f, t0 := o.cp.Fence, o.time
		want := []timeline.Commit{
			{Place: place(f, 1), Time: t0, First: 1, Last: 1, Kinds: timeline.Start},
			{Place: place(f, 2), Time: t0 + 20, First: 2, Last: 3, Kinds: timeline.Intent},
			{Place: place(f, 3), Time: t0 + 30, Last: 3, Kinds: timeline.Intent},
			{Place: place(f, 4), Time: t0 + 40, Last: 3, Kinds: timeline.Result},
			{Place: place(f, 5), Time: t0 + 50, First: 4, Last: 4, Kinds: timeline.Question},
			{Place: place(f, 6), Time: t0 + 3_600_000, First: 5, Last: 5, Kinds: timeline.Wait},
			{Place: place(f+1, 1), Time: t0 + 4_000_000, First: 6, Last: 6, Kinds: timeline.Start},
			{Place: place(f+1, 2), Time: t0, First: 7, Last: 8, Kinds: timeline.Result | timeline.Step},
			{Place: place(f+1, 3), Time: t0 + 1, Last: 8},
			{Place: place(f+2, 1), Time: t0, First: 9, Last: 9, Kinds: timeline.End},
		}
		same(t, "commits", want, commitsOf(t, l, "r", timeline.Query{}))
		for limit := 1; limit <= len(want)+1; limit++ { // pages of every size
			var all []timeline.Commit
			for after := (timeline.Place{}); ; {
				page := commitsOf(t, l, "r", timeline.Query{After: after, Limit: limit})
				if len(page) > limit {
					t.Fatalf("a page has %d commits, want at most %d", len(page), limit)
				}
				if len(page) == 0 {
					break
				}
				all, after = append(all, page...), page[len(page)-1].Place
			}
			same(t, fmt.Sprintf("pages of %d", limit), want, all)
		}
		entries, err := eventLog(t, s).Entries(t.Context(), "t", awaken.EntryQuery{})
		if err != nil || len(entries) != 9 {
			t.Errorf("the log has %d entries, want 9 (%v)", len(entries), err)
		}
	}},
	{"KeepsTheTimesOfEventsAndCommitsApart", func(t *testing.T, s awaken.Store) {
		l := commitLog(t, s)
		o := acquire(t, s, "t", "r")
		for i, delay := range []int64{0, 1, 8191, 8192, 1 << 40, -5} {
			o.commit(o.entries(&awaken.TextDelta{Delta: "x"}), func(c *awaken.Commit) { c.Time += delay })
			got := commitsOf(t, l, "r", timeline.Query{})
			if len(got) != i+1 || got[i].Time != o.time+delay || got[i].First != uint64(i+1) || got[i].Last != uint64(i+1) {
				t.Errorf("delay %d: %+v", delay, got)
			}
		}
		entries, err := eventLog(t, s).Entries(t.Context(), "t", awaken.EntryQuery{})
		if err != nil || len(entries) != 6 {
			t.Fatalf("%d entries, want 6 (%v)", len(entries), err)
		}
		for _, e := range entries {
			if e.Time != o.time {
				t.Errorf("event %d is of %d, want %d", e.Seq, e.Time, o.time)
			}
		}
	}},
	{"CoversCoalescedDeltas", func(t *testing.T, s awaken.Store) {
		l := commitLog(t, s)
		o := acquire(t, s, "t", "r")
		o.commit(func(c *awaken.Commit) {
			c.Entries = []awaken.Entry{
				{Cursor: awaken.Cursor{Epoch: o.cp.Fence, Seq: 1}, RunID: "r", Event: &awaken.TextDelta{Delta: "abc"}, Chunks: []awaken.Chunk{{Offset: 0, Len: 1}, {Offset: 1, Len: 1}, {Offset: 3, Len: 1}}},
				{Cursor: awaken.Cursor{Epoch: o.cp.Fence, Seq: 3}, RunID: "r", Event: &awaken.StepEnd{}},
			}
		})
		if got := commitsOf(t, l, "r", timeline.Query{}); len(got) != 1 || got[0].First != 1 || got[0].Last != 4 {
			t.Errorf("%+v, want events 1 to 4", got)
		}
	}},
	{"KnowsOnlyCommitsThatWereMade", func(t *testing.T, s awaken.Store) {
		l := commitLog(t, s)
		o := acquire(t, s, "t", "r")
		o.commit(o.entries(&awaken.RunStart{}))
		again := o.next()
		again.Number = o.number
		if err := s.Commit(t.Context(), again); err != nil { // repeated
			t.Fatal(err)
		}
		n := acquire(t, s, "t", "r")
		if err := o.try(); !errors.Is(err, awaken.ErrFenced) {
			t.Fatalf("commit of the old owner: %v", err)
		}
		if err := n.try(func(c *awaken.Commit) { c.Expect = 9 }); !errors.Is(err, awaken.ErrConflict) {
			t.Fatalf("commit with a wrong count: %v", err)
		}
		n.commit()
		got := commitsOf(t, l, "r", timeline.Query{})
		if len(got) != 2 || got[0].Place != (timeline.Place{Fence: o.cp.Fence, Number: 1}) || got[1].Place != (timeline.Place{Fence: n.cp.Fence, Number: 1}) {
			t.Errorf("%+v", got)
		}
		same(t, "after the last", []timeline.Commit(nil), commitsOf(t, l, "r", timeline.Query{After: got[1].Place}))
	}},
	{"SeparatesRunsAndThreads", func(t *testing.T, s awaken.Store) {
		l := commitLog(t, s)
		a := acquire(t, s, "t", "r1")
		a.commit(a.entries(&awaken.RunStart{}), messages("m1"))
		a.commit(a.entries(&awaken.RunFinish{Termination: awaken.Termination{Type: awaken.NaturalEnd}}), done)
		b := acquire(t, s, "t", "r2")
		b.commit(b.entries(&awaken.RunStart{}))
		c := acquire(t, s, "u", "r3")
		c.commit()
		for run, want := range map[string]int{"r1": 2, "r2": 1, "r3": 1} {
			if got := commitsOf(t, l, run, timeline.Query{}); len(got) != want {
				t.Errorf("run %s has %d commits, want %d", run, len(got), want)
			}
		}
		if _, err := l.Commits(t.Context(), "missing", timeline.Query{}); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("a missing run: %v", err)
		}
	}},
}
