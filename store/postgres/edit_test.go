package postgres_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

func TestThreads_AreMadeEditedAndCounted(t *testing.T) {
	s, ctx := open(t).Store("tenant"), t.Context()
	for _, th := range []*awaken.Thread{{ID: "a", ResourceID: "me", Metadata: awaken.ThreadMetadata{Title: "A"}}, {ID: "b", ParentThreadID: "a"}, {ID: "c", ParentThreadID: "b", ResourceID: "me"}} {
		if err := s.CreateThread(ctx, th); err != nil || th.Metadata.CreatedAt == 0 {
			t.Fatalf("%+v, %v", th, err)
		}
	}
	if err := s.CreateThread(ctx, &awaken.Thread{ID: "a"}); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("it exists: %v", err)
	}
	if err := s.CreateThread(ctx, &awaken.Thread{ID: "d", ParentThreadID: "ghost"}); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("no parent: %v", err)
	}
	for parent, want := range map[string]error{"ghost": awaken.ErrInvalid, "c": awaken.ErrInvalid, "a": awaken.ErrInvalid} {
		if _, err := s.UpdateThread(ctx, "a", func(th *awaken.Thread) error { th.ParentThreadID = parent; return nil }); !errors.Is(err, want) {
			t.Errorf("parent %s: %v", parent, err)
		}
	}
	if _, err := s.UpdateThread(ctx, "ghost", func(*awaken.Thread) error { return nil }); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a missing thread: %v", err)
	}
	boom := errors.New("boom")
	if _, err := s.UpdateThread(ctx, "a", func(th *awaken.Thread) error { th.Metadata.Title = "no"; return boom }); !errors.Is(err, boom) {
		t.Errorf("error is %v", err)
	}
	got, err := s.UpdateThread(ctx, "b", func(th *awaken.Thread) error {
		th.ID, th.MessageCount = "other", 99 // not to be changed
		th.ResourceID, th.ParentThreadID, th.Metadata.Title, th.Metadata.Custom = "you", "", "B", map[string]json.RawMessage{"k": json.RawMessage(`1`)}
		return nil
	})
	if err != nil || got.ID != "b" || got.ResourceID != "you" || got.ParentThreadID != "" || got.Metadata.Title != "B" || string(got.Metadata.Custom["k"]) != "1" || got.MessageCount != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, tt := range []struct {
		q    awaken.ThreadQuery
		want string
	}{
		{awaken.ThreadQuery{}, "b c a"}, {awaken.ThreadQuery{ResourceID: "me"}, "c a"}, {awaken.ThreadQuery{Root: true}, "b a"},
		{awaken.ThreadQuery{ParentThreadID: "b"}, "c"}, {awaken.ThreadQuery{ResourceID: "me", Root: true, Limit: 1}, "a"}, {awaken.ThreadQuery{ResourceID: "nobody"}, ""},
	} {
		list, err := s.ListThreads(ctx, tt.q)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, len(list))
		for i, th := range list {
			ids[i] = th.ID
		}
		n, err := s.CountThreads(ctx, tt.q)
		if have := strings.Join(ids, " "); have != tt.want || n != len(ids) || err != nil {
			t.Errorf("%+v: have %q and %d, %v, want %q", tt.q, have, n, err, tt.want)
		}
	}
	if left, err := s.Enqueue(ctx, dispatches("d", 3)...); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	for _, tt := range []struct {
		q    awaken.RunQuery
		want int
	}{{awaken.RunQuery{Limit: 1}, 3}, {awaken.RunQuery{Status: awaken.RunCreated}, 3}, {awaken.RunQuery{Status: awaken.RunDone}, 0}, {awaken.RunQuery{ThreadID: "thread-d0001"}, 1}} {
		if n, err := s.CountRuns(ctx, tt.q); err != nil || n != tt.want {
			t.Errorf("%+v: %d runs, %v, want %d", tt.q, n, err, tt.want)
		}
	}
}
