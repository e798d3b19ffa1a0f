package eventlog_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/testenv"
)

// A reader that collects gets deltas in batches, one for each time that it waits, but the first one, and
// whatever is no delta, at once.
func TestTail_CollectsDeltasAndNothingElse(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		const collect, pace, n = 20 * time.Millisecond, 5 * time.Millisecond, 400
		log := eventlog.New(&fakeLog{}, nil)
		sink := log.Sink(nil)
		publish(t, sink, 1, 1, &awaken.RunStart{ThreadID: "t", RunID: "r"})
		var want strings.Builder
		var sent [n + 3]atomic.Int64 // when, by seq
		go func() {
			time.Sleep(time.Second)
			for i := range n {
				time.Sleep(pace)
				ev := awaken.Event(&awaken.TextDelta{Delta: fmt.Sprint(i, " ")})
				if i%100 == 99 {
					ev = &awaken.ToolCallReady{ID: "c", Name: "n"}
				} else {
					fmt.Fprint(&want, i, " ")
				}
				sent[i+2].Store(time.Now().UnixNano())
				publish(t, sink, 1, uint64(i+2), ev)
			}
			publish(t, sink, 1, n+2, &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}})
		}()
		var got []awaken.Entry
		batches, open := 0, false
		for e, err := range log.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{RunID: "r", Pause: time.Minute, Collect: collect}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Event == nil {
				open = false
				continue
			}
			if !open {
				open, batches = true, batches+1
			}
			got = append(got, e)
			late := time.Duration(0)
			if at := sent[e.Seq].Load(); at != 0 {
				late = time.Since(time.Unix(0, at))
			}
			_, delta := e.Event.(*awaken.TextDelta)
			if late > collect || late > 0 && (!delta || e.Seq == 2) {
				t.Errorf("%s %T is late by %s", e.Cursor, e.Event, late)
			}
		}
		if text(got) != want.String() {
			t.Errorf("got %q", text(got))
		}
		if most := n/int(collect/pace) + 10; batches > most {
			t.Errorf("%d entries come in %d batches, want %d at most", n, batches, most)
		}
	})
}

// A reader whose context ends leaves, whatever it does at that moment: handle an entry, handle a pause,
// wait or collect.
func TestTail_LeavesWhenItsContextEnds(t *testing.T) {
	for _, when := range []string{"entry", "pause", "waiting", "collecting"} {
		t.Run(when, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				log := eventlog.New(&fakeLog{}, nil)
				sink := log.Sink(nil)
				defer sink.Close()
				publish(t, sink, 1, 1, &awaken.RunStart{ThreadID: "t", RunID: "r"})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				follow := eventlog.Follow{Pause: time.Hour}
				if when == "collecting" {
					follow.Collect = 10 * time.Minute
				}
				began, want := time.Now(), time.Duration(0)
				if when == "waiting" || when == "collecting" {
					want = time.Minute
					time.AfterFunc(want, cancel)
				}
				for e, err := range log.Tail(ctx, "t", awaken.Cursor{}, follow) {
					if err != nil {
						t.Fatal(err)
					}
					if when == "entry" && e.Event != nil || when == "pause" && e.Event == nil {
						cancel()
						synctest.Wait() // all that wait for the context know
					}
				}
				if took := time.Since(began); took != want {
					t.Errorf("the reader leaves after %s, want %s", took, want)
				}
			})
		})
	}
}

// A waiting reader is told of a pause when it is due, however many entries came before, and not earlier.
func TestTail_PausesAreCountedFromTheLastEntry(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := eventlog.New(&fakeLog{}, nil)
		sink := log.Sink(nil)
		publish(t, sink, 1, 1, &awaken.RunStart{ThreadID: "t", RunID: "r"})
		go func() {
			for i := range 50 {
				time.Sleep(700 * time.Millisecond)
				publish(t, sink, 1, uint64(i+2), &awaken.TextDelta{Delta: "x"})
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var last time.Time
		entries, pauses := 0, 0
		for e, err := range log.Tail(ctx, "t", awaken.Cursor{}, eventlog.Follow{Pause: 10 * time.Second}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Event != nil {
				entries, last = entries+1, time.Now()
				continue
			}
			// The store is polled every 5 seconds, which may yield too.
			if since := time.Since(last); since%(5*time.Second) != 0 {
				t.Errorf("a pause %s after the last entry", since)
			} else if since >= 10*time.Second {
				pauses++
			}
		}
		if entries != 51 || pauses < 2 {
			t.Errorf("%d entries and %d pauses", entries, pauses)
		}
		sink.Close()
	})
}

// When the reader that polls the store for all leaves, another one does.
func TestTail_AnotherReaderPollsWhenTheFirstLeaves(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &fakeLog{}
		store.add(1, 1, "one ")
		log := eventlog.New(store, nil)
		got := make(chan string, 10)
		var leave []context.CancelFunc
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			leave = append(leave, cancel)
			go func() {
				for e, err := range log.Tail(ctx, "t", awaken.Cursor{}, eventlog.Follow{}) {
					if err == nil {
						got <- text([]awaken.Entry{e})
					}
				}
			}()
			synctest.Wait()
		}
		for i := range 3 {
			for len(got) > 0 {
				<-got
			}
			store.add(1, uint64(i+2), fmt.Sprint("more ", i))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if n := len(got); n != 3-i {
				t.Errorf("%d readers are left, and %d got the next entry", 3-i, n)
			}
			calls := store.calls.Load()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if n := store.calls.Load() - calls; n < 8 || n > 25 { // two for each poll
				t.Errorf("%d readers read the store %d times in 10 seconds", 3-i, n)
			}
			leave[i]()
			synctest.Wait()
		}
	})
}

// A reader that has read more of the store than another, and polls for both, leaves none behind.
func TestTail_AReaderThatIsAheadPollsForThoseBehind(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &fakeLog{}
		store.add(1, 1, "one ")
		log := eventlog.New(store, nil)
		ctx, cancel := context.WithCancel(t.Context())
		first, leave := context.WithCancel(ctx)
		watch(first, log, "t", awaken.Cursor{}) // polls
		synctest.Wait()
		behind := watch(ctx, log, "t", awaken.Cursor{})
		time.Sleep(100 * time.Millisecond)
		store.add(1, 2, "two ")
		watch(ctx, log, "t", awaken.Cursor{}) // has both
		synctest.Wait()
		leave()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := behind.text(); got != "one two " {
			t.Errorf("the other reader has %q", got)
		}
		cancel()
		synctest.Wait()
	})
}

// While the reader that polls for all is busy with a live entry, another one polls.
func TestTail_AnotherReaderPollsWhileTheFirstIsBusy(t *testing.T) {
	for _, collect := range []time.Duration{0, 20 * time.Millisecond} {
		t.Run(collect.String(), func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				store := &fakeLog{}
				log := eventlog.New(store, nil)
				sink := log.Sink(nil)
				publish(t, sink, 1, 1, &awaken.RunStart{ThreadID: "t", RunID: "r"})
				ctx, cancel := context.WithCancel(t.Context())
				release := make(chan struct{})
				follow := eventlog.Follow{Pause: time.Minute, Collect: collect}
				go func() {
					for e, err := range log.Tail(ctx, "t", awaken.Cursor{}, follow) {
						if err == nil && e.Seq == 4 {
							<-release // a client that does not read
						}
					}
				}()
				synctest.Wait() // it polls
				var last atomic.Uint64
				go func() {
					for e, err := range log.Tail(ctx, "t", awaken.Cursor{}, follow) {
						if err == nil && e.Event != nil {
							last.Store(e.Seq)
						}
					}
				}()
				time.Sleep(time.Second)
				store.add(1, 1, "")
				for seq := uint64(2); seq <= 4; seq++ {
					publish(t, sink, 1, seq, &awaken.TextDelta{Delta: "x"})
					store.add(1, seq, "x")
					time.Sleep(5 * time.Millisecond)
				}
				time.Sleep(time.Second)
				sink.Close() // another process takes over
				synctest.Wait()
				store.add(2, 5, "y")
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if got := last.Load(); got != 5 {
					t.Errorf("the other reader is at %d, want 5", got)
				}
				close(release)
				cancel()
				synctest.Wait()
			})
		})
	}
}

// A delta's way from the sink to a reader that waits for it allocates nothing.
func TestBudget_TailAllocatesNothingForADelta(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates")
	}
	log := eventlog.New(&fakeLog{}, nil)
	sink := log.Sink(nil)
	publish(t, sink, 1, 1, &awaken.RunStart{ThreadID: "t", RunID: "r"})
	ctx, cancel := context.WithCancel(t.Context())
	read, done := make(chan uint64), make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range log.Tail(ctx, "t", awaken.Cursor{}, eventlog.Follow{Pause: time.Minute}) {
			if err == nil && e.Event != nil {
				read <- e.Seq
			}
		}
	}()
	<-read
	e := awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, RunID: "r", Event: &awaken.TextDelta{Delta: "x"}}
	if n := testing.AllocsPerRun(5000, func() {
		e.Seq++
		if err := sink.Emit(ctx, e); err != nil {
			t.Fatal(err)
		}
		if got := <-read; got != e.Seq {
			t.Fatalf("entry %d comes, want %d", got, e.Seq)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a delta", n)
	}
	cancel()
	<-done
	sink.Close()
}
