package storetest

import (
	"encoding/json"
	"errors"
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
		th, err := ed.Fork(t.Context(), "t", 2, "fork")
		if err != nil {
			t.Fatal(err)
		}
		if th.ID != "fork" || th.ParentThreadID != "t" || th.MessageCount != 2 || th.OpenRunID != "" || th.LatestRunID != "" {
			t.Errorf("the fork is %+v", th)
		}
		f := acquire(t, s, "fork", "r2")
		equal(t, "view", []string{"a", "b"}, texts(f.cp.View))
		if f.cp.Run != nil || len(f.cp.ThreadState) != 0 {
			t.Errorf("runs and state came along: %+v", f.cp)
		}
		f.commit(messages("mine"))
		n := acquire(t, s, "t", "r3")
		n.commit(messages("theirs"))
		equal(t, "log of the fork", []string{"1 a", "2 b", "3 mine"}, log(t, s, "fork", awaken.MessageQuery{}))
		equal(t, "log of the other", []string{"1 a", "2 b", "3 c", "4 theirs"}, log(t, s, "t", awaken.MessageQuery{}))
		equal(t, "children", []string{"fork"}, listThreads(t, s, awaken.ThreadQuery{ParentThreadID: "t"}))
		if _, err := ed.Fork(t.Context(), "t", 0, "empty"); err != nil {
			t.Errorf("a fork of nothing: %v", err)
		}
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
			if _, err := ed.Fork(t.Context(), tt.from, tt.seq, tt.id); !errors.Is(err, tt.is) {
				t.Errorf("%s: error is %v, want %v", tt.name, err, tt.is)
			}
		}
		if exists(t, s, "x") {
			t.Error("a fork that was refused is there")
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
			t.Error("the thread is still there")
		}
		if _, err := s.LoadRun(t.Context(), "r"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("its run: error is %v, want ErrNotFound", err)
		}
		equal(t, "runs", []string{"r2"}, listRuns(t, s, awaken.RunQuery{}))
		cp := acquire(t, s, "t", "r3").cp
		if len(cp.View) != 0 || cp.Run != nil || cp.Seq != 0 || len(cp.Inbox) != 0 {
			t.Errorf("a new thread of that id begins with %+v", cp)
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
				t.Errorf("cascade: %s is still there", id)
			}
		}
		if err := ed.DeleteThread(t.Context(), "reject", "maybe"); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("an unknown strategy: error is %v, want ErrInvalid", err)
		}
		if err := ed.DeleteThread(t.Context(), "reject-grandchild", awaken.RejectChildren); err != nil {
			t.Errorf("reject without children: %v", err)
		}
	}},
	{"SetMetadataKeepsTheTimes", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		acquire(t, s, "t", "r").commit(func(c *awaken.Commit) { c.Time = 1234 })
		custom := map[string]json.RawMessage{"color": json.RawMessage(`"red"`), "n": json.RawMessage(`{"x":[1]}`)}
		if err := ed.SetMetadata(t.Context(), "t", "Weather — 天気", custom); err != nil {
			t.Fatal(err)
		}
		custom["color"] = json.RawMessage(`"spoilt"`)
		th, err := s.Thread(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "metadata", awaken.ThreadMetadata{CreatedAt: 1234, UpdatedAt: 1234, Title: "Weather — 天気",
			Custom: map[string]json.RawMessage{"color": json.RawMessage(`"red"`), "n": json.RawMessage(`{"x":[1]}`)}}, th.Metadata)
		acquire(t, s, "t", "r").commit(func(c *awaken.Commit) { c.Time = 2345 })
		if th, err = s.Thread(t.Context(), "t"); err != nil || th.Metadata.Title != "Weather — 天気" || th.Metadata.UpdatedAt != 2345 {
			t.Errorf("after another commit: %+v, %v", th, err)
		}
		if err := ed.SetMetadata(t.Context(), "t", "", nil); err != nil {
			t.Fatal(err)
		}
		if th, err = s.Thread(t.Context(), "t"); err != nil || th.Metadata.Title != "" || len(th.Metadata.Custom) != 0 {
			t.Errorf("after it was cleared: %+v, %v", th, err)
		}
		if err := ed.SetMetadata(t.Context(), "ghost", "x", nil); !errors.Is(err, awaken.ErrNotFound) {
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
		fresh := acquire(t, s, "fresh", "r6") // has an owner, and no commit yet
		if err := s.Post(t.Context(), "old-posted", awaken.InboxItem{ID: "i"}); err != nil {
			t.Fatal(err)
		}
		n, err := ed.Prune(t.Context(), time.UnixMilli(3000))
		if err != nil || n != 1 {
			t.Errorf("pruned %d, %v, want 1", n, err)
		}
		if exists(t, s, "old") {
			t.Error("the old thread is still there")
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
