package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

var concurrencyCases = []testCase{
	{"ManyThreadsAtOnce", func(t *testing.T, s awaken.Store) {
		const threads, commits = 16, 20
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for range 2 { // readers must never see half a commit
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					list, err := s.ListThreads(context.Background(), awaken.ThreadQuery{Limit: 100})
					if err != nil {
						t.Error(err)
						return
					}
					for _, th := range list {
						recs, err := s.Messages(context.Background(), th.ID, awaken.MessageQuery{})
						if err != nil {
							t.Error(err)
							return
						}
						if len(recs)%2 != 0 || len(recs) < th.MessageCount {
							t.Errorf("thread %s has %d messages, but its count is %d", th.ID, len(recs), th.MessageCount)
							return
						}
					}
				}
			})
		}
		var writers sync.WaitGroup
		for i := range threads {
			writers.Go(func() {
				id := fmt.Sprint("t", i)
				cp, err := s.Acquire(context.Background(), id)
				if err != nil {
					t.Error(err)
					return
				}
				for n := range commits {
					c := &awaken.Commit{ThreadID: id, Fence: cp.Fence, Number: uint64(n + 1), Time: 1, Expect: 2 * n, Run: awaken.Run{RunID: "r-" + id, ThreadID: id, Status: awaken.RunRunning, Steps: n}}
					messages(fmt.Sprint(id, "/", n), "and")(c)
					if err := s.Commit(context.Background(), c); err != nil {
						t.Errorf("thread %s, commit %d: %v", id, n+1, err)
						return
					}
				}
			})
		}
		writers.Wait()
		close(stop)
		wg.Wait()
		for i := range threads {
			id := fmt.Sprint("t", i)
			got := log(t, s, id, awaken.MessageQuery{})
			if len(got) != 2*commits || got[2] != "3 "+id+"/1" {
				t.Errorf("thread %s has %d messages: %q…", id, len(got), got[:min(4, len(got))])
			}
		}
	}},
	{"OneThreadHasOneOwner", func(t *testing.T, s awaken.Store) {
		// Several owners take the thread from each other. The log must hold exactly the
		// commits that succeeded.
		const owners, rounds = 6, 25
		var accepted sync.Map
		var wg sync.WaitGroup
		for w := range owners {
			wg.Go(func() {
				for round := range rounds {
					cp, err := s.Acquire(context.Background(), "t")
					if err != nil {
						t.Error(err)
						return
					}
					count := cp.Thread.MessageCount
					for n := range 3 {
						text := fmt.Sprintf("%d/%d/%d", w, round, n)
						c := &awaken.Commit{ThreadID: "t", Fence: cp.Fence, Number: uint64(n + 1), Time: 1, Expect: count, Run: awaken.Run{RunID: "r", ThreadID: "t", Status: awaken.RunRunning}}
						messages(text)(c)
						switch err := s.Commit(context.Background(), c); {
						case err == nil:
							count++
							if _, dup := accepted.LoadOrStore(text, true); dup {
								t.Errorf("%s twice", text)
							}
							continue
						case !errors.Is(err, awaken.ErrFenced):
							t.Errorf("error is %v, want ErrFenced", err)
						}
						break
					}
				}
			})
		}
		wg.Wait()
		n := 0
		for _, line := range log(t, s, "t", awaken.MessageQuery{}) {
			var seq int
			var text string
			if _, err := fmt.Sscanf(line, "%d %s", &seq, &text); err != nil {
				t.Fatal(err)
			}
			if n++; seq != n {
				t.Errorf("record %d has number %d", n, seq)
			}
			if _, ok := accepted.LoadAndDelete(text); !ok {
				t.Errorf("%s is in the log, but its commit failed", text)
			}
		}
		accepted.Range(func(text, _ any) bool {
			t.Errorf("%s was committed, but is not in the log", text)
			return true
		})
	}},
	{"FencesAreGivenOutOnce", func(t *testing.T, s awaken.Store) {
		var mu sync.Mutex
		var fences []uint64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					cp, err := s.Acquire(context.Background(), "t")
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					fences = append(fences, cp.Fence)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(fences)
		if len(slices.Compact(slices.Clone(fences))) != 80 {
			t.Errorf("80 owners got the fences %v, want 80 different ones", fences)
		}
	}},
	{"NothingIsLostBetweenPostAndRest", func(t *testing.T, s awaken.Store) {
		// Many goroutines post while the owner tries to park. When a commit with Rest
		// succeeds, every item posted before must have been read, each once.
		o := acquire(t, s, "t", "r")
		o.commit()
		const posters, each = 8, 25
		var posted, readUp atomic.Int64
		var wg sync.WaitGroup
		for p := range posters {
			wg.Go(func() {
				for i := range each {
					item := awaken.InboxItem{ID: fmt.Sprintf("%d/%d", p, i), Messages: []*llm.Message{llm.UserText("x")}}
					if err := s.Post(context.Background(), "t", item); err != nil {
						t.Error(err)
						return
					}
					posted.Add(1)
				}
			})
		}
		all := make(chan struct{})
		go func() { wg.Wait(); close(all) }()
		seen := map[string]int{}
		for finished := false; ; {
			select {
			case <-all:
				finished = true
			default:
			}
			sure := posted.Load() // posted before the commit below
			err := o.try(rest, waits)
			if err == nil {
				if readUp.Load() < sure {
					t.Fatalf("the run parked with %d items posted and %d read", sure, readUp.Load())
				}
				if finished {
					break
				}
				continue
			}
			if !errors.Is(err, awaken.ErrUnread) {
				t.Fatalf("error is %v", err)
			}
			items, err := s.Unread(context.Background(), "t")
			if err != nil {
				t.Fatal(err)
			}
			if len(items) == 0 {
				t.Fatal("the run cannot park, but the inbox is empty")
			}
			var ids []string
			for _, it := range items {
				ids = append(ids, it.ID)
				if seen[it.ID]++; seen[it.ID] > 1 {
					t.Fatalf("item %s was read but is unread again", it.ID)
				}
			}
			o.commit(read(ids...))
			readUp.Add(int64(len(ids)))
		}
		if len(seen) != posters*each {
			t.Errorf("%d items were posted, %d were read", posters*each, len(seen))
		}
		<-all
	}},
	{"NothingBeginsAfterAnInterruptReturns", func(t *testing.T, s awaken.Store) {
		for round := range 20 {
			id := fmt.Sprint("t", round)
			o := acquire(t, s, id, "r"+id)
			o.commit()
			var over atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := s.Interrupt(context.Background(), id); err != nil {
					t.Error(err)
				}
				over.Store(true)
			})
			for range 50 {
				before := over.Load()
				err := o.try(begins)
				if err == nil && before {
					t.Error("something began after the interrupt had returned")
				}
				if err != nil {
					if !errors.Is(err, awaken.ErrGeneration) {
						t.Errorf("error is %v, want ErrGeneration", err)
					}
					break
				}
			}
			wg.Wait()
		}
	}},
}
