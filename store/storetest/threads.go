package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

func listThreads(t *testing.T, s awaken.Store, q awaken.ThreadQuery) []string {
	t.Helper()
	list, err := s.ListThreads(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, th := range list {
		out = append(out, th.ID)
	}
	return out
}

var threadCases = []testCase{
	{"AMissingOneIsNotFound", func(t *testing.T, s awaken.Store) {
		if _, err := s.Thread(t.Context(), "ghost"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("Thread: error is %v, want ErrNotFound", err)
		}
		if _, err := s.Messages(t.Context(), "ghost", awaken.MessageQuery{}); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("Messages: error is %v, want ErrNotFound", err)
		}
		if _, err := s.View(t.Context(), "ghost"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("View: error is %v, want ErrNotFound", err)
		}
	}},
	{"KnowTheirTimesAndRuns", func(t *testing.T, s awaken.Store) {
		check := func(want awaken.Thread, o *owner) {
			t.Helper()
			want.End = awaken.Cursor{Epoch: o.cp.Fence, Seq: o.seq}
			got, err := s.Thread(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "thread", want, *got)
		}
		o := acquire(t, s, "t", "r1")
		o.commit(func(c *awaken.Commit) { c.Time, c.ParentThreadID = 1000, "parent" })
		want := awaken.Thread{ID: "t", ParentThreadID: "parent", OpenRunID: "r1", LatestRunID: "r1", Metadata: awaken.ThreadMetadata{CreatedAt: 1000, UpdatedAt: 1000}}
		check(want, o)
		o.commit(messages("a"), done, func(c *awaken.Commit) { c.Time = 2000 })
		want.OpenRunID, want.MessageCount, want.Metadata.UpdatedAt = "", 1, 2000
		check(want, o)
		o = acquire(t, s, "t", "r2")
		o.commit(waits, func(c *awaken.Commit) { c.Time, c.ParentThreadID = 3000, "another" })
		want.OpenRunID, want.LatestRunID, want.Metadata.UpdatedAt = "r2", "r2", 3000 // the parent is kept
		check(want, o)
	}},
	{"SayWhetherAMessageRefersToAFile", func(t *testing.T, s awaken.Store) {
		file := func(c *awaken.Commit) {
			c.Messages = append(c.Messages, &llm.Message{ID: "f", Role: llm.User, Content: []llm.Block{llm.Image(llm.Blob("0", "image/png", 1))}})
		}
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"), done)
		if o = acquire(t, s, "t", "r2"); o.cp.HasBlobs {
			t.Error("a thread without files has some")
		}
		o.commit(file)
		o.commit(messages("b"), done)
		if o = acquire(t, s, "t", "r3"); !o.cp.HasBlobs {
			t.Error("a thread with a file has none")
		}
	}},
	{"HaveAViewThatLaterCommitsDoNotAffect", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r1")
		o.commit()
		for i := range 40 {
			o.commit(messages(fmt.Sprint("a", i), fmt.Sprint("b", i)))
			view, err := s.View(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			o.commit(messages(fmt.Sprint("c", i)))
			log, msgs := view.Log(), view.Messages()
			if n := 3*i + 2; len(log) != n || len(msgs) != n || log[n-1].Text() != fmt.Sprint("b", i) || msgs[0].Text() != "a0" {
				t.Fatalf("the log has %d messages, the view %d, want %d", len(log), len(msgs), n)
			}
		}
		o.commit(func(c *awaken.Commit) {
			c.Messages = []*llm.Message{{ID: "rewind", Role: llm.System, Visibility: llm.Internal, Metadata: &llm.Metadata{Rewind: &llm.Rewind{FromSeq: 3}}}}
		})
		view, err := s.View(t.Context(), "t")
		if err != nil || len(view.Log()) != 121 || len(view.Messages()) != 2 {
			t.Fatalf("after a rewind: %v", err)
		}
	}},
	{"AreListedMostRecentlyActiveFirst", func(t *testing.T, s awaken.Store) {
		owners := map[string]*owner{}
		check := func(what string, want ...string) {
			t.Helper()
			equal(t, what, want, listThreads(t, s, awaken.ThreadQuery{}))
		}
		for _, id := range []string{"a", "b", "c"} { // in the same millisecond
			owners[id] = acquire(t, s, id, "run-"+id)
			owners[id].commit()
		}
		check("runs begin", "c", "b", "a")
		owners["a"].commit()
		check("a run takes a step", "c", "b", "a")
		owners["a"].commit(messages("m"), func(c *awaken.Commit) {
			c.State = []state.Change{{Key: "k", Scope: state.Thread, Value: json.RawMessage(`1`)}}
		})
		check("a run takes a step that changes state", "c", "b", "a")
		owners["b"] = acquire(t, s, "b", "run-b")
		owners["b"].commit()
		check("a run continues with another owner", "c", "b", "a")
		owners["a"].commit(waits)
		check("a run waits", "a", "c", "b")
		owners["b"].commit(done)
		check("a run ends", "b", "a", "c")
		owners["a"] = acquire(t, s, "a", "run-a")
		owners["a"].commit()
		check("a run that waited continues", "a", "b", "c")
		owners["c"] = acquire(t, s, "c", "another")
		owners["c"].commit()
		check("a run replaces another", "c", "a", "b")
	}},
	{"AreListedInPages", func(t *testing.T, s awaken.Store) {
		equal(t, "threads of an empty store", []string{}, listThreads(t, s, awaken.ThreadQuery{}))
		var all []string
		for i := range 55 {
			id := fmt.Sprintf("t%02d", i)
			parent := ""
			if i%10 == 0 {
				parent = "p"
			}
			acquire(t, s, id, "run-"+id).commit(func(c *awaken.Commit) { c.ParentThreadID, c.Time = parent, int64(1000+i) })
			all = append([]string{id}, all...)
		}
		equal(t, "first page", all[:50], listThreads(t, s, awaken.ThreadQuery{}))
		equal(t, "second page", all[50:], listThreads(t, s, awaken.ThreadQuery{Offset: 50}))
		equal(t, "a page of three", all[7:10], listThreads(t, s, awaken.ThreadQuery{Offset: 7, Limit: 3}))
		equal(t, "behind the end", []string{}, listThreads(t, s, awaken.ThreadQuery{Offset: 99}))
		equal(t, "as many as there are", all[1:], listThreads(t, s, awaken.ThreadQuery{Offset: 1, Limit: math.MaxInt}))
		equal(t, "children", []string{"t50", "t40", "t30"}, listThreads(t, s, awaken.ThreadQuery{ParentThreadID: "p", Limit: 3}))
		equal(t, "more children", []string{"t20", "t10", "t00"}, listThreads(t, s, awaken.ThreadQuery{ParentThreadID: "p", Offset: 3}))
		equal(t, "children of a missing thread", []string{}, listThreads(t, s, awaken.ThreadQuery{ParentThreadID: "x"}))
	}},
	{"MessagesComeInPages", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("1", "2", "3"))
		o.commit(messages("4", "5", "6"))
		for _, tt := range []struct {
			q    awaken.MessageQuery
			want []string
		}{
			{awaken.MessageQuery{}, []string{"1 1", "2 2", "3 3", "4 4", "5 5", "6 6"}},
			{awaken.MessageQuery{Limit: 2}, []string{"1 1", "2 2"}},
			{awaken.MessageQuery{Limit: 2, Last: true}, []string{"5 5", "6 6"}},
			{awaken.MessageQuery{Limit: 99, Last: true}, []string{"1 1", "2 2", "3 3", "4 4", "5 5", "6 6"}},
			{awaken.MessageQuery{After: 4}, []string{"5 5", "6 6"}},
			{awaken.MessageQuery{After: 4, Limit: 1}, []string{"5 5"}},
			{awaken.MessageQuery{Before: 3}, []string{"1 1", "2 2"}},
			{awaken.MessageQuery{Before: 5, Limit: 2, Last: true}, []string{"3 3", "4 4"}},
			{awaken.MessageQuery{After: 1, Before: 5}, []string{"2 2", "3 3", "4 4"}},
			{awaken.MessageQuery{After: 1, Before: 6, Limit: 2}, []string{"2 2", "3 3"}},
			{awaken.MessageQuery{After: 3, Before: 4}, []string{}},
			{awaken.MessageQuery{After: 6}, []string{}},
			{awaken.MessageQuery{After: 99}, []string{}},
			{awaken.MessageQuery{Before: 1}, []string{}},
			{awaken.MessageQuery{Before: 99}, []string{"1 1", "2 2", "3 3", "4 4", "5 5", "6 6"}},
		} {
			equal(t, fmt.Sprintf("%+v", tt.q), tt.want, log(t, s, "t", tt.q))
		}
	}},
	{"RecordsSayWhereTheyComeFrom", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"), func(c *awaken.Commit) { c.Time = 111 })
		o.commit(func(c *awaken.Commit) {
			c.Time = 222
			c.Messages = []*llm.Message{{ID: "b", Role: llm.Assistant, Content: []llm.Block{llm.Text("b")}, Metadata: &llm.Metadata{RunID: "r"}}}
		})
		recs, err := s.Messages(t.Context(), "t", awaken.MessageQuery{})
		if err != nil || len(recs) != 2 {
			t.Fatalf("%d records, %v", len(recs), err)
		}
		for i := range recs {
			recs[i].Message = nil
		}
		equal(t, "records", []awaken.MessageRecord{{ThreadID: "t", Seq: 1, Created: 111}, {ThreadID: "t", Seq: 2, Created: 222, RunID: "r"}}, recs)
	}},
}
