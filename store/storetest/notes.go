package storetest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
)

// note sets a note of a thread, or removes it if value is "".
func note(t *testing.T, ed awaken.ThreadEditor, threadID, name, value string) {
	t.Helper()
	_, err := ed.UpdateThread(t.Context(), threadID, func(th *awaken.Thread) error {
		if value == "" {
			delete(th.Notes, name)
			return nil
		}
		if th.Notes == nil {
			th.Notes = map[string]json.RawMessage{}
		}
		th.Notes[name] = json.RawMessage(value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var noteCases = []testCase{
	{"AreKeptApartFromWhatClientsChange", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		acquire(t, s, "t", "r").commit(func(c *awaken.Commit) { c.Time = 1234 })
		acquire(t, s, "u", "r2").commit(func(c *awaken.Commit) { c.Time = 2345 })
		note(t, ed, "t", "a", `{"text":"天気 \"x\""}`)
		note(t, ed, "t", "b", `1`)
		th, err := s.Thread(t.Context(), "t")
		if err != nil || string(th.Notes["a"]) != `{"text":"天気 \"x\""}` || string(th.Notes["b"]) != "1" || len(th.Notes) != 2 {
			t.Fatalf("notes are %s, %v", th.Notes, err)
		}
		if th.Metadata.UpdatedAt != 1234 {
			t.Errorf("the thread was updated at %d: a note is no activity", th.Metadata.UpdatedAt)
		}
		equal(t, "threads, the most recently active first", []string{"u", "t"}, listThreads(t, s, awaken.ThreadQuery{}))
		note(t, ed, "t", "a", "")
		if _, err := ed.UpdateThread(t.Context(), "t", func(th *awaken.Thread) error { th.Metadata.Title = "T"; return nil }); err != nil {
			t.Fatal(err)
		}
		acquire(t, s, "t", "r").commit(done)
		if th, err = s.Thread(t.Context(), "t"); err != nil || string(th.Notes["b"]) != "1" || len(th.Notes) != 1 || th.Metadata.Title != "T" {
			t.Errorf("after a change and a commit: %+v, %v", th, err)
		}
		_, err = ed.UpdateThread(t.Context(), "t", func(th *awaken.Thread) error { th.Notes["b"] = json.RawMessage(`{`); return nil })
		if !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("a note that is not JSON: error is %v, want ErrInvalid", err)
		}
	}},
	{"OfAForkAreWrittenWithIt", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		acquire(t, s, "t", "r").commit(messages("a", "b"), done)
		note(t, ed, "t", "pin:r", `[]`)
		th, err := ed.Fork(t.Context(), "t", 1, "fork", map[string]json.RawMessage{"from": json.RawMessage(`{"seq":1}`)})
		if err != nil || string(th.Notes["from"]) != `{"seq":1}` || len(th.Notes) != 1 {
			t.Fatalf("the fork is %+v, %v", th, err)
		}
		if th, err = s.Thread(t.Context(), "fork"); err != nil || string(th.Notes["from"]) != `{"seq":1}` || len(th.Notes) != 1 {
			t.Errorf("the fork as it is read: %+v, %v", th, err)
		}
		if _, err := ed.Fork(t.Context(), "t", 1, "odd", map[string]json.RawMessage{"from": nil}); !errors.Is(err, awaken.ErrInvalid) || exists(t, s, "odd") {
			t.Errorf("a note that is not JSON: error is %v, want ErrInvalid and no thread", err)
		}
	}},
	{"ThatPinKeepAThreadFromPrune", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		at := func(c *awaken.Commit) { c.Time = 1000 }
		for _, id := range []string{"pinned", "noted", "released", "fork-of"} {
			acquire(t, s, id, "run-"+id).commit(at, done, messages("a"))
		}
		acquire(t, s, "pinned", "another").commit(at, done)
		note(t, ed, "pinned", "pin:run-pinned", `[{"kind":"operator"}]`)
		note(t, ed, "noted", "forked_from", `{}`)
		note(t, ed, "released", "pin:run-released", `[]`)
		equal(t, "pinned runs", []string{"run-released", "run-pinned"}, listRuns(t, s, awaken.RunQuery{Pinned: true}))
		note(t, ed, "released", "pin:run-released", "")
		equal(t, "pinned runs after one was released", []string{"run-pinned"}, listRuns(t, s, awaken.RunQuery{Pinned: true}))
		if n, err := s.CountRuns(t.Context(), awaken.RunQuery{Pinned: true}); err != nil || n != 1 {
			t.Errorf("%d pinned runs, %v, want 1", n, err)
		}
		if n, err := ed.Prune(t.Context(), time.UnixMilli(3000)); err != nil || n != 3 {
			t.Errorf("pruned %d, %v, want 3", n, err)
		}
		if !exists(t, s, "pinned") || exists(t, s, "noted") || exists(t, s, "released") {
			t.Error("Prune did not keep exactly what is pinned")
		}
		if _, err := s.LoadRun(t.Context(), "run-pinned"); err != nil {
			t.Errorf("the pinned run: %v", err)
		}
		if err := ed.DeleteThread(t.Context(), "pinned", awaken.DetachChildren); err != nil {
			t.Errorf("a person deletes the thread: %v", err)
		}
		equal(t, "pinned runs after their thread was deleted", []string{}, listRuns(t, s, awaken.RunQuery{Pinned: true}))
	}},
}
