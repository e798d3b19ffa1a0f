package eventlog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// publish emits entries of one owner, from seq on.
func publish(t *testing.T, s *eventlog.Sink, epoch, seq uint64, events ...awaken.Event) {
	t.Helper()
	for i, ev := range events {
		e := awaken.Entry{Cursor: awaken.Cursor{Epoch: epoch, Seq: seq + uint64(i)}, RunID: "r", Event: ev}
		if err := s.Emit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// A reader that knows where the stored log ends gets what this process publishes after it, also what
// was published before the reader began, and reads nothing.
func TestTail_AtTheEndReadsNothingButWhatIsPublishedHere(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &fakeLog{}
		store.add(3, 1, "old")
		log := eventlog.New(store, nil)
		release := log.Watch("t")
		sink := log.Sink(nil)
		publish(t, sink, 5, 2, &awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.TextDelta{Delta: "new"},
			&awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}})
		var got []awaken.Entry
		for e, err := range log.Tail(t.Context(), "t", awaken.Cursor{Epoch: 4, Seq: 1}, eventlog.Follow{RunID: "r", AtEnd: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if release(); len(got) != 3 || text(got) != "new" {
			t.Errorf("got %d entries: %q", len(got), text(got))
		}
		if n := store.calls.Load(); n != 0 {
			t.Errorf("the store was read %d times", n)
		}
	})
}

// If another process runs the thread, the reader finds it out as any other does.
func TestTail_AtTheEndFindsWhatOthersCommit(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &fakeLog{}
		store.add(3, 1, "old")
		log := eventlog.New(store, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := make(chan awaken.Entry, 10)
		go func() {
			// It pauses more often than it polls.
			for e, err := range log.Tail(ctx, "t", awaken.Cursor{Epoch: 3, Seq: 1}, eventlog.Follow{AtEnd: true, Pause: 300 * time.Millisecond}) {
				if err == nil && e.Event != nil {
					got <- e
				}
			}
		}()
		synctest.Wait()
		store.add(7, 2, "elsewhere")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(got) != 1 {
			t.Fatalf("got %d entries", len(got))
		}
		if e := <-got; text([]awaken.Entry{e}) != "elsewhere" {
			t.Errorf("got %+v", e)
		}
		// A run here that begins behind what is not known yet makes the reader read.
		store.add(8, 3, "between")
		sink := log.Sink(nil)
		publish(t, sink, 9, 4, &awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.TextDelta{Delta: "here"})
		synctest.Wait()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		var rest []awaken.Entry
		for len(got) > 0 {
			rest = append(rest, <-got)
		}
		if text(rest) != "betweenhere" {
			t.Errorf("got %q", text(rest))
		}
		sink.Close()
		cancel()
		synctest.Wait()
	})
}
