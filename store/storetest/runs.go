package storetest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/awaken-go/awaken"
)

func listRuns(t *testing.T, s awaken.Store, q awaken.RunQuery) []string {
	t.Helper()
	list, err := s.ListRuns(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, r := range list {
		out = append(out, r.RunID)
	}
	return out
}

var runCases = []testCase{
	{"AMissingOneIsNotFound", func(t *testing.T, s awaken.Store) {
		if _, err := s.LoadRun(t.Context(), "ghost"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("LoadRun: error is %v, want ErrNotFound", err)
		}
		if _, err := s.Calls(t.Context(), "ghost"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("Calls: error is %v, want ErrNotFound", err)
		}
		acquire(t, s, "t", "never-committed")
		if _, err := s.LoadRun(t.Context(), "never-committed"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("LoadRun of a run that was not committed: error is %v, want ErrNotFound", err)
		}
	}},
	{"ShowTheirLastCommit", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		for _, change := range []func(*awaken.Commit){waits, func(c *awaken.Commit) { c.Run.Status, c.Run.Waiting = awaken.RunRunning, nil }, done} {
			o.commit(change)
			got, err := s.LoadRun(t.Context(), "r")
			if err != nil {
				t.Fatal(err)
			}
			same(t, "run", o.run, got)
		}
	}},
	{"ThatWereGivenUpKeepTheirLastCommit", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(o.entries(&awaken.RunStart{}))
		for i := 1; i <= 3; i++ {
			o.commit(o.entries(&awaken.StepEnd{}), messages(fmt.Sprint("m", i)), func(c *awaken.Commit) { c.Run.Steps = i },
				calls(ledger("r", "x", 0, 0, awaken.CallRunning), ledger("r", fmt.Sprint("c", i), i, 0, awaken.CallRunning)))
		}
		check := func(when string) {
			t.Helper()
			got, err := s.LoadRun(t.Context(), "r")
			if err != nil || got.Steps != 3 || got.Status != awaken.RunRunning {
				t.Errorf("%s: run is %+v, %v", when, got, err)
			}
			list, err := s.ListRuns(t.Context(), awaken.RunQuery{ThreadID: "t", Status: awaken.RunRunning})
			if err != nil || len(list) == 0 || list[len(list)-1].Steps != 3 {
				t.Errorf("%s: runs are %+v, %v", when, list, err)
			}
			led, err := s.Calls(t.Context(), "r")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, when+": calls", []string{"x running", "c1 running", "c2 running", "c3 running"}, callIDs(led))
			if el, ok := s.(awaken.EventLog); ok {
				equal(t, when+": entries", []uint64{1, 2, 3, 4}, seqs(t, el, "t", awaken.EntryQuery{RunID: "r"}))
			}
		}
		check("while it runs")
		n := acquire(t, s, "t", "r2")
		if n.cp.Run == nil || n.cp.Run.Steps != 3 || len(n.cp.Calls) != 1 || n.cp.Calls[0].CallID != "c3" {
			t.Errorf("the next owner finds run %+v and calls %v", n.cp.Run, callIDs(n.cp.Calls))
		}
		check("after a new owner")
		n.commit(n.entries(&awaken.RunStart{}), calls(ledger("r2", "y", 0, 0, awaken.CallNew)))
		check("after another run")
		n.commit(n.entries(&awaken.StepEnd{}), func(c *awaken.Commit) { c.Run.Steps = 1 })
		n.commit(done)
		check("after another run's end")
		got, err := s.LoadRun(t.Context(), "r2")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the other run", n.run, got)
	}},
	{"BelongToTheCaller", func(t *testing.T, s awaken.Store) {
		acquire(t, s, "t", "r").commit()
		got, err := s.LoadRun(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		got.AgentID = "spoilt"
		if again, err := s.LoadRun(t.Context(), "r"); err != nil || again.AgentID != "agent" {
			t.Errorf("the stored run changed: %+v, %v", again, err)
		}
	}},
	{"AreListedNewestFirst", func(t *testing.T, s awaken.Store) {
		owners := map[string]*owner{}
		for _, id := range []string{"a", "b", "c"} {
			owners[id] = acquire(t, s, "thread-"+id, id)
			owners[id].commit()
		}
		owners["a"].commit() // a later commit does not make a run newer
		equal(t, "runs", []string{"c", "b", "a"}, listRuns(t, s, awaken.RunQuery{}))
	}},
	{"AreListedInPagesByThreadAndStatus", func(t *testing.T, s awaken.Store) {
		equal(t, "runs of an empty store", []string{}, listRuns(t, s, awaken.RunQuery{}))
		var all, odd []string
		for i := range 55 {
			id := fmt.Sprintf("r%02d", i)
			status := []func(*awaken.Commit){done, waits, func(*awaken.Commit) {}}[i%3]
			acquire(t, s, fmt.Sprint("t", i%2), id).commit(status)
			all = append([]string{id}, all...)
			if i%2 == 1 {
				odd = append([]string{id}, odd...)
			}
		}
		equal(t, "first page", all[:50], listRuns(t, s, awaken.RunQuery{}))
		equal(t, "second page", all[50:], listRuns(t, s, awaken.RunQuery{Offset: 50}))
		equal(t, "a page of three", all[4:7], listRuns(t, s, awaken.RunQuery{Offset: 4, Limit: 3}))
		equal(t, "behind the end", []string{}, listRuns(t, s, awaken.RunQuery{Offset: 99}))
		equal(t, "as many as there are", all[1:], listRuns(t, s, awaken.RunQuery{Offset: 1, Limit: math.MaxInt}))
		equal(t, "of one thread", odd, listRuns(t, s, awaken.RunQuery{ThreadID: "t1"}))
		equal(t, "the latest of one thread", odd[:1], listRuns(t, s, awaken.RunQuery{ThreadID: "t1", Limit: 1}))
		equal(t, "waiting", []string{"r52", "r49"}, listRuns(t, s, awaken.RunQuery{Status: awaken.RunWaiting, Limit: 2}))
		equal(t, "waiting on one thread", []string{"r52", "r46"}, listRuns(t, s, awaken.RunQuery{ThreadID: "t0", Status: awaken.RunWaiting, Limit: 2}))
		equal(t, "of no thread", []string{}, listRuns(t, s, awaken.RunQuery{ThreadID: "x"}))
		equal(t, "of no status", []string{}, listRuns(t, s, awaken.RunQuery{Status: awaken.RunCreated}))
	}},
	{"CallsComeByStepAndIndex", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(calls(ledger("r", "f", 10, 0, awaken.CallNew), ledger("r", "c", 1, 2, awaken.CallNew), ledger("r", "b", 1, 1, awaken.CallNew)))
		o.commit(calls(ledger("r", "a", 0, 0, awaken.CallNew), ledger("r", "d", 1, 10, awaken.CallNew), ledger("r", "e", 2, 0, awaken.CallNew)))
		acquire(t, s, "t2", "r2").commit(calls(ledger("r2", "x", 0, 0, awaken.CallNew)))
		got, err := s.Calls(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "calls", []string{"a new", "b new", "c new", "d new", "e new", "f new"}, callIDs(got))
	}},
	{"WithoutCallsHaveAnEmptyLedger", func(t *testing.T, s awaken.Store) {
		acquire(t, s, "t", "r").commit()
		got, err := s.Calls(t.Context(), "r")
		if err != nil || len(got) != 0 {
			t.Errorf("calls are %v, %v", got, err)
		}
	}},
}
