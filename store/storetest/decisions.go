package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
)

// decision returns the item of a decision on a question of a run, as a runtime makes it: all items
// about a question have the same id.
func decision(thread, run, ticket string, action awaken.DecisionAction, by string) awaken.InboxItem {
	d := &awaken.Decision{Target: ticket, Action: action, UpdatedAt: 1, Actor: &awaken.Actor{User: by}}
	s := &awaken.CallState{CallID: "c", ToolName: "pay", RunID: run}
	return awaken.InboxItem{ID: "decision:" + run + ":" + ticket, RunID: run, Decision: d, Decided: s.Decided(thread, d)}
}

// wantDecided checks that err is the record of a decision.
func wantDecided(t *testing.T, what string, err error, by string, action awaken.DecisionAction) {
	t.Helper()
	rec, ok := errors.AsType[*awaken.Decided](err)
	if !ok || !errors.Is(err, awaken.ErrDecided) || rec.Actor == nil || rec.Actor.User != by || rec.Action != action {
		t.Errorf("%s: error is %v (%+v), want ErrDecided with the decision %s of %s", what, err, rec, action, by)
	}
}

var decisionCases = []testCase{
	// A settlement of a call in doubt that is over is in the ledger as soon as it is posted. The first one counts.
	{"SettlesACallThatIsOver", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		c, other := ledger("r", "c", 0, 0, awaken.CallFailed), ledger("r", "other", 0, 1, awaken.CallFailed)
		c.Doubt = &awaken.Doubt{Since: 3, Origin: awaken.DoubtIntent}
		other.Doubt = c.Doubt
		o.commit(calls(c, other))
		settle := func(outcome awaken.Outcome, by string) error {
			it := decision("t", "r", awaken.SettlementID("c"), awaken.ActionResume, by)
			it.RunID, it.Decision.Outcome, it.Decided.Outcome, it.Decided.Result = "", outcome, outcome, json.RawMessage(`{"n":1}`)
			return s.Post(t.Context(), "t", it)
		}
		if err := settle(awaken.OutcomeMade, "ada"); err != nil {
			t.Fatal(err)
		}
		if err := settle(awaken.OutcomeMade, "bob"); err != nil {
			t.Errorf("an equal one: %v", err)
		}
		wantDecided(t, "a different one", settle(awaken.OutcomeNotMade, "bob"), "ada", awaken.ActionResume)
		got, err := s.Calls(t.Context(), "r")
		if err != nil || len(got) != 2 {
			t.Fatalf("the ledger is %v, %v", got, err)
		}
		d := got[0].Doubt
		byAda := d.Settled.By == "person" && d.Settled.Actor.User == "ada" && string(d.Settled.Result) == `{"n":1}`
		if got[0].Outcome() != awaken.OutcomeMade || d.Since != 3 || !byAda {
			t.Errorf("the settled call has the doubt %+v", d)
		}
		if got[1].Outcome() != awaken.OutcomeInDoubt {
			t.Errorf("the other call is %s", got[1].Outcome())
		}
	}},
	{"TheFirstCounts", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit()
		post := func(items ...awaken.InboxItem) error { return s.Post(t.Context(), "t", items...) }
		if err := post(decision("t", "r", "q1", awaken.ActionResume, "ada")); err != nil {
			t.Fatal(err)
		}
		wantDecided(t, "a different one", post(decision("t", "r", "q1", awaken.ActionCancel, "bob")), "ada", awaken.ActionResume)
		if err := post(decision("t", "r", "q1", awaken.ActionResume, "bob")); err != nil {
			t.Errorf("an equal one: %v", err)
		}
		edited := decision("t", "r", "q1", awaken.ActionResume, "bob")
		edited.Decided.Arguments = json.RawMessage(`{"sum":1}`)
		wantDecided(t, "with other arguments", post(edited), "ada", awaken.ActionResume)
		equal(t, "inbox", []string{"decision:r:q1"}, unread(t, s, "t"))
		o.commit(read("decision:r:q1"))
		wantDecided(t, "after it was read", post(decision("t", "r", "q1", awaken.ActionCancel, "bob")), "ada", awaken.ActionResume)
		if err := post(decision("t", "r", "q2", awaken.ActionCancel, "bob")); err != nil {
			t.Errorf("another question: %v", err)
		}
	}},
	{"AllItemsOrNone", func(t *testing.T, s awaken.Store) {
		acquire(t, s, "t", "r").commit()
		if err := s.Post(t.Context(), "t", decision("t", "r", "q2", awaken.ActionResume, "ada")); err != nil {
			t.Fatal(err)
		}
		err := s.Post(t.Context(), "t", awaken.InboxItem{ID: "a"}, decision("t", "r", "q1", awaken.ActionCancel, "bob"), decision("t", "r", "q2", awaken.ActionCancel, "bob"))
		wantDecided(t, "the second of two", err, "ada", awaken.ActionResume)
		equal(t, "inbox", []string{"decision:r:q2"}, unread(t, s, "t"))
		if err := s.Post(t.Context(), "t", decision("t", "r", "q1", awaken.ActionResume, "ada")); err != nil {
			t.Errorf("the record of a refused post was left behind: %v", err)
		}
		twice := []awaken.InboxItem{decision("t", "r", "q3", awaken.ActionResume, "ada"), decision("t", "r", "q3", awaken.ActionCancel, "ada")}
		if err := s.Post(t.Context(), "t", twice...); !errors.Is(err, awaken.ErrDecided) {
			t.Errorf("two that contradict each other: error is %v", err)
		}
		if err := s.Post(t.Context(), "t", twice[1]); err != nil {
			t.Errorf("after that: %v", err)
		}
	}},
	{"NoRecordWithoutAThread", func(t *testing.T, s awaken.Store) {
		if err := s.Post(t.Context(), "t", decision("t", "r", "q", awaken.ActionResume, "ada")); !errors.Is(err, awaken.ErrNotFound) {
			t.Fatalf("error is %v, want ErrNotFound", err)
		}
		acquire(t, s, "t", "r").commit()
		if err := s.Post(t.Context(), "t", decision("t", "r", "q", awaken.ActionCancel, "bob")); err != nil {
			t.Errorf("the record of a failed post was left behind: %v", err)
		}
	}},
	{"AChildsQuestionIsOneOnEitherThread", func(t *testing.T, s awaken.Store) {
		acquire(t, s, "parent", "p").commit()
		acquire(t, s, "child", "c").commit()
		onParent := decision("child", "c", "q", awaken.ActionResume, "ada")
		onParent.RunID = "p"
		if err := s.Post(t.Context(), "parent", onParent); err != nil {
			t.Fatal(err)
		}
		wantDecided(t, "on the child's thread", s.Post(t.Context(), "child", decision("child", "c", "q", awaken.ActionCancel, "bob")), "ada", awaken.ActionResume)
		if err := s.Post(t.Context(), "child", decision("child", "c", "q", awaken.ActionResume, "ada")); err != nil {
			t.Fatalf("passed on: %v", err)
		}
		equal(t, "inbox of the child", []string{"decision:c:q"}, unread(t, s, "child"))
	}},
	{"RecordsGoWithTheThread", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		for range 2 {
			o := acquire(t, s, "t", "r")
			o.commit()
			if err := s.Post(t.Context(), "t", decision("t", "r", "q", awaken.ActionResume, "ada")); err != nil {
				t.Fatal(err)
			}
			o.commit(read("decision:r:q"), done)
			if err := ed.DeleteThread(t.Context(), "t", awaken.DetachChildren); err != nil {
				t.Fatal(err)
			}
		}
		acquire(t, s, "t", "r").commit()
		if err := s.Post(t.Context(), "t", decision("t", "r", "q", awaken.ActionCancel, "bob")); err != nil {
			t.Errorf("a new thread of the same id: %v", err)
		}
	}},
	{"OneOfManyAtOnce", func(t *testing.T, s awaken.Store) {
		// Whatever the order, all agree on one decision, and a decision is refused only after
		// the one that counts was posted.
		const deciders, questions = 8, 10
		acquire(t, s, "parent", "p").commit()
		acquire(t, s, "t", "r").commit()
		for i := range questions {
			type outcome struct {
				began, ended time.Time
				item         awaken.InboxItem
				err          error
			}
			var got [deciders]outcome
			var wg sync.WaitGroup
			for n := range deciders {
				wg.Go(func() {
					action, thread := awaken.ActionResume, "t"
					if n%2 == 1 {
						action = awaken.ActionCancel
					}
					if n%4 > 1 {
						thread = "parent"
					}
					o := &got[n]
					o.item = decision("t", "r", fmt.Sprint("q", i), action, fmt.Sprint(n))
					o.began = time.Now()
					o.err = s.Post(t.Context(), thread, o.item)
					o.ended = time.Now()
				})
			}
			wg.Wait()
			var won awaken.DecisionAction
			var first time.Time
			for _, o := range got {
				if o.err == nil {
					if won != "" && won != o.item.Decision.Action {
						t.Fatalf("question %d: both %s and %s were accepted", i, won, o.item.Decision.Action)
					}
					won = o.item.Decision.Action
					if first.IsZero() || o.began.Before(first) {
						first = o.began
					}
				}
			}
			for n, o := range got {
				rec, ok := errors.AsType[*awaken.Decided](o.err)
				switch {
				case o.err == nil:
				case !ok || rec.Action != won || rec.Action == o.item.Decision.Action:
					t.Errorf("question %d, decider %d: %v, want the record of %s", i, n, o.err, won)
				case o.ended.Before(first):
					t.Errorf("question %d, decider %d was refused before any was posted", i, n)
				}
			}
		}
	}},
}
