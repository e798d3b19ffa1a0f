package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

func editor(t *testing.T, s awaken.Store) awaken.ThreadEditor {
	t.Helper()
	ed, ok := s.(awaken.ThreadEditor)
	if !ok {
		t.Skip("the store does not edit threads")
	}
	return ed
}

func exists(t *testing.T, s awaken.Store, threadID string) bool {
	t.Helper()
	_, err := s.Thread(t.Context(), threadID)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

var editorCases = []testCase{
	{"ForkBeginsAsTheOtherWas", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		o := acquire(t, s, "t", "r")
		o.commit(messages("a", "b", "c"), done, func(c *awaken.Commit) {
			c.State = []state.Change{{Key: "k", Scope: state.Thread, Value: json.RawMessage(`1`)}}
		})
		th, err := ed.Fork(t.Context(), "t", 2, "fork", nil)
		if err != nil {
			t.Fatal(err)
		}
		if th.ID != "fork" || th.ParentThreadID != "t" || th.MessageCount != 2 || th.OpenRunID != "" || th.LatestRunID != "" {
			t.Errorf("the fork is %+v", th)
		}
		f := acquire(t, s, "fork", "r2")
		equal(t, "view", []string{"a", "b"}, texts(f.cp.View))
		if f.cp.Run != nil || len(f.cp.ThreadState) != 0 {
			t.Errorf("the fork has runs or state: %+v", f.cp)
		}
		f.commit(messages("mine"))
		n := acquire(t, s, "t", "r3")
		n.commit(messages("theirs"))
		equal(t, "log of the fork", []string{"1 a", "2 b", "3 mine"}, log(t, s, "fork", awaken.MessageQuery{}))
		equal(t, "log of the other", []string{"1 a", "2 b", "3 c", "4 theirs"}, log(t, s, "t", awaken.MessageQuery{}))
		equal(t, "children", []string{"fork"}, listThreads(t, s, awaken.ThreadQuery{ParentThreadID: "t"}))
		if _, err := ed.Fork(t.Context(), "t", 0, "empty", nil); err != nil {
			t.Errorf("a fork without messages: %v", err)
		}
	}},
	{"ForksMayCutACommit", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"), o.entries(&awaken.RunStart{}))
		o.commit(messages("b", "c", "d"), o.entries(&awaken.StepEnd{}), done)
		fork := func(from string, seq int, id, own string) {
			t.Helper()
			if _, err := ed.Fork(t.Context(), from, seq, id, nil); err != nil {
				t.Fatal(err)
			}
			f := acquire(t, s, id, "run-"+id)
			f.commit(messages(own), f.entries(&awaken.RunStart{}), done)
			f.commit(messages(own+"2"), f.entries(&awaken.StepEnd{}), done)
		}
		fork("t", 2, "f2", "x")
		fork("t", 3, "f3", "y")
		fork("f3", 2, "f32", "z")
		check := func(when string) {
			t.Helper()
			for id, want := range map[string][]string{"f2": {"a", "b", "x", "x2"}, "f3": {"a", "b", "c", "y", "y2"}, "f32": {"a", "b", "z", "z2"}} {
				if !exists(t, s, id) {
					continue
				}
				for after := range want {
					for before := after + 1; before <= len(want)+1; before++ {
						var recs []string
						for i := after; i < before-1; i++ {
							recs = append(recs, fmt.Sprint(i+1, " ", want[i]))
						}
						got := log(t, s, id, awaken.MessageQuery{After: after, Before: before})
						equal(t, fmt.Sprintf("%s: %s from %d to %d", when, id, after, before), fmt.Sprint(recs), fmt.Sprint(got))
					}
				}
				if el, ok := s.(awaken.EventLog); ok {
					equal(t, when+": events of "+id, []uint64{1, 2}, seqs(t, el, id, awaken.EntryQuery{}))
				}
			}
		}
		check("at first")
		for _, id := range []string{"t", "f3"} {
			if err := ed.DeleteThread(t.Context(), id, awaken.DetachChildren); err != nil {
				t.Fatal(err)
			}
			check("without " + id)
		}
		equal(t, "view", []string{"a", "b", "z", "z2"}, texts(acquire(t, s, "f32", "last").cp.View))
	}},
	{"ForkRefusesWhatIsNotThere", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		acquire(t, s, "t", "r").commit(messages("a"))
		for _, tt := range []struct {
			name, from string
			seq        int
			id         string
			is         error
		}{
			{"a missing thread", "ghost", 0, "x", awaken.ErrNotFound},
			{"a record too many", "t", 2, "x", awaken.ErrInvalid},
			{"a record too few", "t", -1, "x", awaken.ErrInvalid},
			{"an id that is taken", "t", 1, "t", awaken.ErrConflict},
		} {
			if _, err := ed.Fork(t.Context(), tt.from, tt.seq, tt.id, nil); !errors.Is(err, tt.is) {
				t.Errorf("%s: error is %v, want %v", tt.name, err, tt.is)
			}
		}
		if exists(t, s, "x") {
			t.Error("a refused fork exists")
		}
	}},
	{"DeleteRemovesAllOfAThread", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		acquire(t, s, "t", "r").commit(messages("a"), done)
		acquire(t, s, "other", "r2").commit(messages("b"))
		if err := ed.DeleteThread(t.Context(), "t", awaken.DetachChildren); err != nil {
			t.Fatal(err)
		}
		if exists(t, s, "t") {
			t.Error("the thread still exists")
		}
		if _, err := s.LoadRun(t.Context(), "r"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("its run: error is %v, want ErrNotFound", err)
		}
		equal(t, "runs", []string{"r2"}, listRuns(t, s, awaken.RunQuery{}))
		cp := acquire(t, s, "t", "r3").cp
		if len(cp.View) != 0 || cp.Run != nil || cp.Thread.End.Seq != 0 || len(cp.Inbox) != 0 {
			t.Errorf("a new thread with the same id has %+v", cp)
		}
		if err := ed.DeleteThread(t.Context(), "ghost", awaken.DetachChildren); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("a missing thread: error is %v, want ErrNotFound", err)
		}
	}},
	{"DeleteFencesOffTheOwner", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"))
		if err := ed.DeleteThread(t.Context(), "t", awaken.DetachChildren); err != nil {
			t.Fatal(err)
		}
		if err := o.try(messages("b")); !errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, awaken.ErrFenced) {
			t.Errorf("its owner's commit: error is %v, want ErrNotFound or ErrFenced", err)
		}
	}},
	{"DeleteFencesOffTheOwnerFromAThreadThatIsCreatedAnew", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"))
		if err := ed.DeleteThread(t.Context(), "t", awaken.RejectChildren); err != nil {
			t.Fatal(err)
		}
		if err := ed.CreateThread(t.Context(), &awaken.Thread{ID: "t"}); err != nil {
			t.Fatal(err)
		}
		o.count = 0
		if err := o.try(messages("late")); !errors.Is(err, awaken.ErrFenced) {
			t.Errorf("its owner's commit: error is %v, want ErrFenced", err)
		}
		equal(t, "log", []string{}, log(t, s, "t", awaken.MessageQuery{}))
	}},
	{"DeleteAsksWhatBecomesOfTheChildren", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		child := func(id, parent string) {
			acquire(t, s, id, "run-"+id).commit(func(c *awaken.Commit) { c.ParentThreadID = parent }, done)
		}
		for _, p := range []string{"reject", "detach", "cascade"} {
			child(p, "")
			child(p+"-child", p)
			child(p+"-grandchild", p+"-child")
		}
		if err := ed.DeleteThread(t.Context(), "reject", awaken.RejectChildren); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("reject: error is %v, want ErrConflict", err)
		}
		if !exists(t, s, "reject") {
			t.Error("reject: the thread is gone")
		}
		if err := ed.DeleteThread(t.Context(), "detach", awaken.DetachChildren); err != nil {
			t.Error(err)
		}
		th, err := s.Thread(t.Context(), "detach-child")
		if err != nil || th.ParentThreadID != "" {
			t.Errorf("detach: the child is %+v, %v", th, err)
		}
		if err := ed.DeleteThread(t.Context(), "cascade", awaken.CascadeChildren); err != nil {
			t.Error(err)
		}
		for _, id := range []string{"cascade", "cascade-child", "cascade-grandchild"} {
			if exists(t, s, id) {
				t.Errorf("cascade: %s still exists", id)
			}
		}
		if err := ed.DeleteThread(t.Context(), "reject", "maybe"); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("an unknown strategy: error is %v, want ErrInvalid", err)
		}
		if err := ed.DeleteThread(t.Context(), "reject-grandchild", awaken.RejectChildren); err != nil {
			t.Errorf("reject without children: %v", err)
		}
	}},
	{"CreatesThreads", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		if err := ed.CreateThread(t.Context(), &awaken.Thread{ID: "p", ResourceID: "res", Metadata: awaken.ThreadMetadata{Title: "Parent"}}); err != nil {
			t.Fatal(err)
		}
		if err := ed.CreateThread(t.Context(), &awaken.Thread{ID: "c", ParentThreadID: "p"}); err != nil {
			t.Fatal(err)
		}
		p, err := s.Thread(t.Context(), "p")
		if err != nil || p.ResourceID != "res" || p.Metadata.Title != "Parent" || p.Metadata.CreatedAt == 0 || p.Metadata.UpdatedAt == 0 || p.MessageCount != 0 || p.LatestRunID != "" {
			t.Errorf("created %+v, %v", p, err)
		}
		if err := ed.CreateThread(t.Context(), &awaken.Thread{ID: "p"}); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("an existing thread: error is %v, want ErrConflict", err)
		}
		if err := ed.CreateThread(t.Context(), &awaken.Thread{ID: "x", ParentThreadID: "ghost"}); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("a missing parent: error is %v, want ErrInvalid", err)
		}
		acquire(t, s, "c", "r").commit(messages("hi"), func(c *awaken.Commit) { c.ParentThreadID = "another" })
		if c, err := s.Thread(t.Context(), "c"); err != nil || c.ParentThreadID != "p" || c.MessageCount != 1 {
			t.Errorf("after a commit: %+v, %v", c, err)
		}
		for _, tt := range []struct {
			q    awaken.ThreadQuery
			want []string
		}{
			{awaken.ThreadQuery{}, []string{"c", "p"}},
			{awaken.ThreadQuery{ResourceID: "res"}, []string{"p"}},
			{awaken.ThreadQuery{ResourceID: "nothing"}, []string{}},
			{awaken.ThreadQuery{Root: true}, []string{"p"}},
			{awaken.ThreadQuery{ParentThreadID: "p"}, []string{"c"}},
		} {
			equal(t, fmt.Sprintf("threads of %+v", tt.q), tt.want, listThreads(t, s, tt.q))
			tt.q.Limit = 1
			if n, err := s.CountThreads(t.Context(), tt.q); n != len(tt.want) || err != nil {
				t.Errorf("%+v: counted %d, %v, want %d", tt.q, n, err, len(tt.want))
			}
		}
		if n, err := s.CountRuns(t.Context(), awaken.RunQuery{ThreadID: "c", Status: awaken.RunRunning}); n != 1 || err != nil {
			t.Errorf("counted %d runs, %v", n, err)
		}
		if n, err := s.CountRuns(t.Context(), awaken.RunQuery{Status: awaken.RunDone}); n != 0 || err != nil {
			t.Errorf("counted %d done runs, %v", n, err)
		}
	}},
	{"UpdateMovesThreads", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		for _, id := range []string{"a", "b", "c"} {
			if err := ed.CreateThread(t.Context(), &awaken.Thread{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		move := func(id, parent string) error {
			_, err := ed.UpdateThread(t.Context(), id, func(th *awaken.Thread) error {
				th.ParentThreadID, th.ResourceID = parent, "moved"
				return nil
			})
			return err
		}
		if err := errors.Join(move("b", "a"), move("c", "b")); err != nil {
			t.Fatal(err)
		}
		for _, parent := range []string{"c", "b", "a", "ghost"} {
			if err := move("a", parent); !errors.Is(err, awaken.ErrInvalid) {
				t.Errorf("below %s: error is %v, want ErrInvalid", parent, err)
			}
		}
		if a, err := s.Thread(t.Context(), "a"); err != nil || a.ParentThreadID != "" || a.ResourceID != "" {
			t.Errorf("after it was refused: %+v, %v", a, err)
		}
		if c, err := s.Thread(t.Context(), "c"); err != nil || c.ParentThreadID != "b" || c.ResourceID != "moved" {
			t.Errorf("moved %+v, %v", c, err)
		}
		if err := move("b", ""); err != nil {
			t.Fatal(err)
		}
		oops := errors.New("oops")
		if _, err := ed.UpdateThread(t.Context(), "b", func(th *awaken.Thread) error {
			th.Metadata.Title = "x"
			return oops
		}); !errors.Is(err, oops) {
			t.Errorf("a change that fails: %v", err)
		}
		if b, err := s.Thread(t.Context(), "b"); err != nil || b.ParentThreadID != "" || b.Metadata.Title != "" {
			t.Errorf("after a change that failed: %+v, %v", b, err)
		}
	}},
	{"UpdateKeepsTheRest", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		set := func(id, title string, custom map[string]json.RawMessage) error {
			_, err := ed.UpdateThread(t.Context(), id, func(th *awaken.Thread) error {
				th.Metadata.Title, th.Metadata.Custom = title, custom
				th.ID, th.MessageCount = "other", 99 // must be ignored
				return nil
			})
			return err
		}
		acquire(t, s, "t", "r").commit(func(c *awaken.Commit) { c.Time = 1234 })
		custom := map[string]json.RawMessage{"color": json.RawMessage(`"red"`), "n": json.RawMessage(`{"x":[1]}`)}
		if err := set("t", "Weather — 天気", custom); err != nil {
			t.Fatal(err)
		}
		custom["color"] = json.RawMessage(`"spoilt"`)
		th, err := s.Thread(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		if th.Metadata.UpdatedAt < 1234 {
			t.Errorf("updated at %d", th.Metadata.UpdatedAt)
		}
		th.Metadata.UpdatedAt = 1234
		same(t, "metadata", awaken.ThreadMetadata{CreatedAt: 1234, UpdatedAt: 1234, Title: "Weather — 天気",
			Custom: map[string]json.RawMessage{"color": json.RawMessage(`"red"`), "n": json.RawMessage(`{"x":[1]}`)}}, th.Metadata)
		acquire(t, s, "t", "r").commit(func(c *awaken.Commit) { c.Time = 2345 })
		if th, err = s.Thread(t.Context(), "t"); err != nil || th.Metadata.Title != "Weather — 天気" || th.Metadata.CreatedAt != 1234 {
			t.Errorf("after another commit: %+v, %v", th, err)
		}
		if err := set("t", "", nil); err != nil {
			t.Fatal(err)
		}
		if th, err = s.Thread(t.Context(), "t"); err != nil || th.Metadata.Title != "" || len(th.Metadata.Custom) != 0 {
			t.Errorf("after it was cleared: %+v, %v", th, err)
		}
		if err := set("ghost", "x", nil); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("a missing thread: error is %v, want ErrNotFound", err)
		}
	}},
	{"PruneRemovesOnlyWhatIsOldAndAtRest", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		at := func(ms int64) func(*awaken.Commit) { return func(c *awaken.Commit) { c.Time = ms } }
		acquire(t, s, "old", "r1").commit(at(1000), done)
		acquire(t, s, "old-open", "r2").commit(at(1000), waits)
		acquire(t, s, "old-posted", "r3").commit(at(1000), done)
		acquire(t, s, "new", "r4").commit(at(5000), done)
		acquire(t, s, "border", "r5").commit(at(3000), done)
		fresh := acquire(t, s, "fresh", "r6") // acquired, but without a commit
		if err := s.Post(t.Context(), "old-posted", awaken.InboxItem{ID: "i"}); err != nil {
			t.Fatal(err)
		}
		n, err := ed.Prune(t.Context(), time.UnixMilli(3000))
		if err != nil || n != 1 {
			t.Errorf("pruned %d, %v, want 1", n, err)
		}
		if exists(t, s, "old") {
			t.Error("the old thread still exists")
		}
		for _, id := range []string{"old-open", "old-posted", "new", "border", "fresh"} {
			if !exists(t, s, id) {
				t.Errorf("%s is gone", id)
			}
		}
		fresh.commit()
		if _, err := s.LoadRun(t.Context(), "r1"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("the run of the old thread: error is %v, want ErrNotFound", err)
		}
	}},
}
