package mailbox_test

import (
	"errors"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
)

func TestStart_StartsARunOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		box := g.box()
		q := box.Tenant("")
		req := awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("hello")}}
		for range 2 {
			if err := q.Start(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
		stop := work(box)
		time.Sleep(time.Second)
		if err := q.Start(t.Context(), req); err != nil {
			t.Fatalf("when it is over: %v", err)
		}
		time.Sleep(time.Second)
		stop()
		runs, err := q.Store.ListRuns(t.Context(), awaken.RunQuery{})
		if err != nil || len(runs) != 1 || runs[0].Status != awaken.RunDone {
			t.Errorf("runs are %v, %v", runs, err)
		}
		if err := q.Start(t.Context(), awaken.RunRequest{ThreadID: "t"}); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("without an id: %v", err)
		}
	})
}

func TestDeliver(t *testing.T) {
	said := awaken.InboxItem{ID: "m", Messages: []*llm.Message{llm.UserText("are you there?")}}
	for name, c := range map[string]struct {
		first string // what the thread's first run is asked; "" for no thread
		item  awaken.InboxItem
		err   error
		runs  int
		last  string // the last message
	}{
		"to a thread that is not there":  {"", said, awaken.ErrNotFound, 0, ""},
		"to a thread without a run":      {"hello", said, nil, 2, "you said are you there?"},
		"to a run that waits":            {"use ask", said, nil, 1, "are you there?"},
		"to a run in progress":           {"slow", said, nil, 1, "you said are you there?"},
		"to a run that is over":          {"hello", awaken.InboxItem{ID: "m", RunID: "gone", Messages: said.Messages}, nil, 1, "you said hello"},
		"a report to a run that is over": {"hello", awaken.InboxItem{ID: "m", RunID: "r", Report: &awaken.ChildReport{RunID: "c", Status: awaken.RunDone}}, nil, 1, "you said hello"},
		"a report that was not awaited":  {"use ask", awaken.InboxItem{ID: "m", RunID: "r", Report: &awaken.ChildReport{RunID: "c", Status: awaken.RunWaiting}}, nil, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t)
				box := g.box()
				q := box.Tenant("")
				stop := work(box)
				defer stop()
				if c.first != "" {
					if err := q.Start(t.Context(), awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText(c.first)}}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(5 * time.Second)
				}
				// After the first time it does nothing, whether the item was read in between or not.
				for range 2 {
					for range 2 {
						if err := q.Deliver(t.Context(), "t", c.item, ""); !errors.Is(err, c.err) {
							t.Fatalf("got %v, want %v", err, c.err)
						}
					}
					time.Sleep(10 * time.Minute)
				}
				if c.err != nil {
					return
				}
				runs, err := q.Store.ListRuns(t.Context(), awaken.RunQuery{})
				if err != nil || len(runs) != c.runs {
					t.Errorf("there are %d runs, %v, want %d", len(runs), err, c.runs)
				}
				log, err := q.Store.Messages(t.Context(), "t", awaken.MessageQuery{})
				if err != nil {
					t.Fatal(err)
				}
				if got := log[len(log)-1].Message.Text(); got != c.last {
					t.Errorf("the last message is %q, want %q", got, c.last)
				}
				if items, err := q.Store.Unread(t.Context(), "t"); err != nil || len(items) > 0 {
					t.Errorf("unread are %v, %v", items, err)
				}
			})
		})
	}
}
