package sqlite_test

import (
	"errors"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/store/sqlite"
)

// Row 2 of the original's list of limits: no store had every port, so nothing could be
// done to two of them at once. Here one handle has them all.
var (
	_ mailbox.Queue       = (*sqlite.DB)(nil)
	_ mailbox.Handle      = (*sqlite.Store)(nil)
	_ awaken.ThreadEditor = (*sqlite.Store)(nil)
	_ profile.Store       = (*sqlite.Profile)(nil)
)

func TestDB_ThreadRunInputAndDispatchAreOneTransaction(t *testing.T) {
	db := open(t)
	s := db.Store("")
	oops := errors.New("oops")
	d := &mailbox.Dispatch{ID: "d", ThreadID: "t", RunID: "r", MaxAttempts: 5, Status: mailbox.Queued, Request: &awaken.RunRequest{ThreadID: "t", RunID: "r"}}
	change := func(outcome error) error {
		return s.Change(t.Context(), "t", func(q *mailbox.Thread) error {
			d.CreatedAt = q.Now
			q.Make = true
			q.Put = append(q.Put, d)
			q.Runs = append(q.Runs, d.NewRun())
			q.Post = append(q.Post, awaken.InboxItem{ID: "i", Messages: []*llm.Message{llm.UserText("hi")}})
			return outcome
		})
	}
	look := func() (found int) {
		for _, err := range []error{second(s.Thread(t.Context(), "t")), second(s.LoadRun(t.Context(), "r")), second(s.Dispatch(t.Context(), "d"))} {
			if err == nil {
				found++
			} else if !errors.Is(err, awaken.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if items, err := s.Unread(t.Context(), "t"); err == nil {
			found += len(items)
		}
		return found
	}
	if err := change(oops); !errors.Is(err, oops) || look() != 0 {
		t.Fatalf("a change that fails: %v, and %d of 4 things are there", err, look())
	}
	if err := change(nil); err != nil || look() != 4 {
		t.Fatalf("a change: %v, and %d of 4 things are there", err, look())
	}
}

func second[T any](_ T, err error) error { return err }
