package storetest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

var inboxCases = []testCase{
	{"KeepsTheOrder", func(t *testing.T, s awaken.Store) {
		acquire(t, s, "t", "r").commit()
		for _, items := range [][]awaken.InboxItem{{{ID: "z"}, {ID: "a"}}, {{ID: "m"}}, {{ID: "0"}}} {
			if err := s.Post(t.Context(), "t", items...); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "inbox", []string{"z", "a", "m", "0"}, unread(t, s, "t"))
	}},
	{"PostsAnItemOnce", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit()
		post := func(items ...awaken.InboxItem) {
			t.Helper()
			if err := s.Post(t.Context(), "t", items...); err != nil {
				t.Fatal(err)
			}
		}
		first := awaken.InboxItem{ID: "a", Messages: []*llm.Message{llm.UserText("first")}}
		post(first, awaken.InboxItem{ID: "a", Messages: []*llm.Message{llm.UserText("second")}})
		post(awaken.InboxItem{ID: "b"}, awaken.InboxItem{ID: "a"})
		equal(t, "inbox", []string{"a", "b"}, unread(t, s, "t"))
		items, err := s.Unread(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the first counts", first, items[0])
		o.commit(read("a"))
		post(awaken.InboxItem{ID: "a"}) // it was read and must not reappear
		equal(t, "inbox", []string{"b"}, unread(t, s, "t"))
	}},
	{"KeepsThreadsApart", func(t *testing.T, s awaken.Store) {
		acquire(t, s, "t1", "r1").commit()
		acquire(t, s, "t2", "r2").commit()
		for _, id := range []string{"t1", "t2"} {
			if err := s.Post(t.Context(), id, awaken.InboxItem{ID: "same"}); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "inbox of t1", []string{"same"}, unread(t, s, "t1"))
		equal(t, "inbox of t2", []string{"same"}, unread(t, s, "t2"))
	}},
	{"KeepsItemsWhole", func(t *testing.T, s awaken.Store) {
		acquire(t, s, "t", "r").commit()
		item := awaken.InboxItem{ID: "i", RunID: "r", Decision: &awaken.Decision{Target: "c", ID: "d", Action: awaken.ActionCancel, Result: json.RawMessage(`{"a":[1]}`), Reason: "no", Arguments: json.RawMessage(`{}`), UpdatedAt: 4},
			Messages: []*llm.Message{{ID: "m", Role: llm.User, Visibility: llm.Internal, Content: []llm.Block{llm.Text("x")}, Metadata: &llm.Metadata{SenderAgentID: "a"}}},
			Compaction: &awaken.CompactionResult{TaskID: "k", FirstMessageID: "m1", BoundaryMessageID: "m2", Interval: llm.Interval{FromSeq: 1, ToSeq: 2}, Summary: "s",
				PreTokens: 3, PostTokens: 2, Skipped: true, Error: "e", Usage: llm.Usage{PromptTokens: 4}, CostUSD: 0.5}}
		if err := s.Post(t.Context(), "t", item); err != nil {
			t.Fatal(err)
		}
		items, err := s.Unread(t.Context(), "t")
		if err != nil || len(items) != 1 {
			t.Fatalf("%d items, %v", len(items), err)
		}
		same(t, "item", item, items[0])
	}},
	{"DoesNotDisturbTheOwner", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"))
		if err := s.Post(t.Context(), "t", awaken.InboxItem{ID: "i"}); err != nil {
			t.Fatal(err)
		}
		o.commit(begins, messages("b"))
		o.commit(messages("c"), read("i"))
		equal(t, "log", []string{"1 a", "2 b", "3 c"}, log(t, s, "t", awaken.MessageQuery{}))
	}},
	{"StaysUntilACommitReadsIt", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit()
		if err := s.Post(t.Context(), "t", awaken.InboxItem{ID: "i"}, awaken.InboxItem{ID: "j"}); err != nil {
			t.Fatal(err)
		}
		if err := o.try(read("i"), func(c *awaken.Commit) { c.Expect = 9 }); err == nil {
			t.Fatal("a wrong commit was accepted")
		}
		equal(t, "inbox", []string{"i", "j"}, unread(t, s, "t"))
		equal(t, "inbox of the next owner", []string{"i", "j"}, itemIDs(acquire(t, s, "t", "r").cp.Inbox))
		o = acquire(t, s, "t", "r")
		o.commit(read("j"))
		equal(t, "inbox", []string{"i"}, unread(t, s, "t"))
	}},
	{"OfAMissingThreadIsNotFound", func(t *testing.T, s awaken.Store) {
		if err := s.Post(t.Context(), "ghost", awaken.InboxItem{ID: "i"}); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("Post: error is %v, want ErrNotFound", err)
		}
		if _, err := s.Unread(t.Context(), "ghost"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("Unread: error is %v, want ErrNotFound", err)
		}
	}},
}
