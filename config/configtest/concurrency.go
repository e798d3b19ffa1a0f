package configtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

// writers is how many goroutines write concurrently, and rounds how often each does.
const writers, rounds = 8, 15

// together calls f in goroutines, alternating between the processes.
func (k *kit) together(f func(s config.Store, writer int)) {
	stores := k.stores()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { f(stores[w%len(stores)], w) })
	}
	wg.Wait()
}

var concurrencyCases = []testCase{
	{"NoUpdateOfARecordIsLost", func(k *kit) {
		k.apply(&config.Change{Records: []config.RecordChange{write("n", 0, record(1, "0"))}})
		k.together(func(s config.Store, w int) {
			for done := 0; done < rounds; {
				r, err := s.Record(k.Context(), key(config.Agents, "n"))
				if err != nil {
					k.Error(err)
					return
				}
				n, err := strconv.Atoi(string(r.Spec))
				if err != nil {
					k.Error(err)
					return
				}
				switch err := s.Apply(k.Context(), &config.Change{Records: []config.RecordChange{write("n", r.Meta.Revision, record(r.Meta.Revision+1, fmt.Sprint(n+1)))}}); {
				case err == nil:
					done++
				case !errors.Is(err, config.ErrConflict):
					k.Error(err)
					return
				}
			}
		})
		equal(k, "record", record(writers*rounds+1, fmt.Sprint(writers*rounds)), must(k.Store.Record(k.Context(), key(config.Agents, "n"))))
	}},
	{"PublicationsAreOneSequence", func(k *kit) {
		k.together(func(s config.Store, w int) {
			for done := 0; done < rounds; {
				head, err := s.Head(k.Context())
				if err != nil {
					k.Error(err)
					return
				}
				id := fmt.Sprintf("%d-%d", w, done)
				c := publish(head.Last+1, head.Last, time.Now(), map[string]string{id: fmt.Sprintf("%q", id)})
				c.Head = &head
				c.Records = []config.RecordChange{write(id, 0, record(1, "1"))}
				c.Audit = []*config.AuditEvent{{ID: fmt.Sprintf("%s-%d", id, head.Last), Time: time.Now(), Resource: "agents/" + id, Version: head.Last + 1}}
				switch err := s.Apply(k.Context(), c); {
				case err == nil:
					done++
				case !errors.Is(err, config.ErrConflict):
					k.Error(err)
					return
				}
			}
		})
		const n = writers * rounds
		all := dump(k, k.Store)
		equal(k, "head", config.Head{Revision: n, Last: n, Live: n}, all.Head)
		if len(all.Publications) != n || len(all.Events) != n || len(all.Records[config.Agents]) != n || len(all.Documents) != n {
			k.Fatalf("there are %d publications, %d events, %d records and %d documents, want %d", len(all.Publications), len(all.Events), len(all.Records[config.Agents]), len(all.Documents), n)
		}
		for i, p := range all.Publications {
			if want := int64(n - i); p.Number != want || p.Base != want-1 || all.Events[i].Version != want || all.Events[i].Resource != p.Entries[0].String() {
				k.Errorf("publication %d on %d with event %+v, want number %d", p.Number, p.Base, all.Events[i], want)
			}
		}
	}},
	{"OneOfManyMakesARecord", func(k *kit) {
		var mu sync.Mutex
		made := 0
		k.together(func(s config.Store, w int) {
			for i := range rounds {
				err := s.Apply(k.Context(), &config.Change{Records: []config.RecordChange{write(fmt.Sprint(i), 0, record(1, fmt.Sprint(w)))}})
				if err == nil {
					mu.Lock()
					made++
					mu.Unlock()
				} else if !errors.Is(err, config.ErrConflict) {
					k.Error(err)
				}
			}
		})
		equal(k, "made", rounds, made)
	}},
	{"TalliesAddUp", func(k *kit) {
		k.apply(publish(1, 0, time.Now(), nil))
		k.together(func(s config.Store, w int) {
			for range rounds {
				if err := s.Tally(k.Context(), 1, config.Tally{Runs: 1, Errors: int64(w % 2), CostUSD: 0.1, LatencyMS: 10}); err != nil {
					k.Error(err)
				}
			}
		})
		const n = writers * rounds
		equal(k, "tallies", map[int64]config.Tally{1: {Runs: n, Errors: n / 2, CostUSD: n / 10, LatencyMS: 10 * n}}, must(k.Store.Tallies(k.Context(), 1)))
	}},
	{"ReadersSeeWholeChanges", func(k *kit) {
		both := func(revision int64) *config.Change {
			return &config.Change{Records: []config.RecordChange{write("a", revision-1, record(revision, "1")), write("b", revision-1, record(revision, "2"))}}
		}
		k.apply(both(1))
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for _, s := range k.stores() {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					list, err := s.Records(k.Context(), config.Agents, "", 0)
					if err != nil || len(list) != 2 || list[0].Meta.Revision != list[1].Meta.Revision {
						k.Errorf("half a change: %+v, %v", list, err)
						return
					}
				}
			})
		}
		for i := int64(2); i < 50; i++ {
			k.apply(both(i))
		}
		close(stop)
		wg.Wait()
	}},
	{"WhatIsPublishedWhileOthersPurgeIsWhole", func(k *kit) {
		old := time.Now().Add(-day)
		k.apply(publish(1, 0, old, map[string]string{"a": "0"}))
		k.together(func(s config.Store, w int) {
			for done := 0; done < rounds; {
				if w == 0 {
					if _, err := s.Purge(k.Context(), time.Minute, time.Minute); err != nil {
						k.Error(err)
					}
					done++
					continue
				}
				head, err := s.Head(k.Context())
				if err != nil {
					k.Error(err)
					return
				}
				// The same few documents come and go, and are not always given again.
				c := publish(head.Last+1, head.Live, old, map[string]string{"a": fmt.Sprint(head.Last % 5)})
				c.Publish.Manifest = c.Publish.Entries
				c.Head = &head
				if head.Last%2 == 0 {
					c.Documents = nil
				}
				err = s.Apply(k.Context(), c)
				if errors.Is(err, config.ErrConflict) {
					c = publish(head.Last+1, head.Live, old, map[string]string{"a": fmt.Sprint(head.Last % 5)})
					c.Publish.Manifest, c.Head = c.Publish.Entries, &head
					err = s.Apply(k.Context(), c)
				}
				if err == nil {
					done++
				} else if !errors.Is(err, config.ErrConflict) {
					k.Error(err)
					return
				}
			}
		})
		all := dump(k, k.Store)
		for _, p := range all.Publications {
			for _, hash := range p.Hashes() {
				if all.Documents[hash] == nil {
					k.Errorf("publication %d lacks a document", p.Number)
				}
			}
		}
		if len(all.Publications) == 0 || all.Publications[0].Number != all.Head.Live {
			k.Errorf("%d is live, and there are %d publications", all.Head.Live, len(all.Publications))
		}
	}},
}

var contextCases = []testCase{
	{"NothingHappensWhenTheContextIsDone", func(k *kit) {
		k.begun()
		want := dump(k, k.Store)
		ctx, cancel := context.WithCancel(k.Context())
		cancel()
		s := k.Store
		for name, call := range map[string]func() error{
			"Record":       func() error { _, err := s.Record(ctx, key(config.Agents, "a")); return err },
			"Records":      func() error { _, err := s.Records(ctx, config.Agents, "", 0); return err },
			"Apply":        func() error { return s.Apply(ctx, k.whole()) },
			"Head":         func() error { _, err := s.Head(ctx); return err },
			"Publication":  func() error { _, err := s.Publication(ctx, 1); return err },
			"Publications": func() error { _, err := s.Publications(ctx, 0, 0); return err },
			"Documents":    func() error { _, err := s.Documents(ctx, sum(`{"a":1}`)); return err },
			"Secrets":      func() error { _, err := s.Secrets(ctx); return err },
			"Audit":        func() error { _, err := s.Audit(ctx, config.AuditQuery{}); return err },
			"Tally":        func() error { return s.Tally(ctx, 1, config.Tally{Runs: 1}) },
			"Tallies":      func() error { _, err := s.Tallies(ctx, 1); return err },
			"Pins":         func() error { _, err := s.Pins(ctx); return err },
			"Purge":        func() error { _, err := s.Purge(ctx, 1, 1); return err },
		} {
			if err := call(); !errors.Is(err, context.Canceled) {
				k.Errorf("%s: error is %v, want context.Canceled", name, err)
			}
		}
		equal(k, "contents", want, dump(k, k.Store))
	}},
	{"AChangeWhoseContextEndsIsMadeOrNot", func(k *kit) {
		k.begun()
		for i := range 20 {
			ctx, cancel := context.WithCancel(k.Context())
			done := make(chan error, 1)
			id := fmt.Sprint(i)
			r := record(1, "1")
			go func() {
				done <- k.Store.Apply(ctx, &config.Change{Records: []config.RecordChange{write(id+"x", 0, r), write(id+"y", 0, r)}})
			}()
			cancel()
			applied := <-done == nil
			for _, id := range []string{id + "x", id + "y"} {
				_, err := k.Store.Record(k.Context(), key(config.Agents, id))
				if there := err == nil; there != applied || !there && !errors.Is(err, awaken.ErrNotFound) {
					k.Errorf("record %s is there: %v, and Apply returned nil: %v (%v)", id, there, applied, err)
				}
			}
		}
	}},
}

var durabilityCases = []testCase{
	{"EverythingIsThereAfterItWasReopened", func(k *kit) { k.survives(k.Reopen) }},
	{"EverythingIsThereAfterACrash", func(k *kit) { k.survives(k.Crash) }},
}

// survives makes changes of every kind, and checks after each that reopen finds it.
func (k *kit) survives(reopen func(*testing.T) config.Store) {
	if reopen == nil {
		k.Skip("nothing outlives the process")
	}
	now := time.Now()
	for what, step := range []func(){
		func() {},
		k.begun,
		func() { k.apply(k.whole()) },
		func() {
			k.apply(&config.Change{SetHead: &config.Head{Live: 1, Canary: &config.Canary{Version: 2, Share: 0.5, Rule: &config.CanaryRule{MinRuns: 1}}}})
		},
		func() {
			for range 3 {
				if err := k.Store.Tally(k.Context(), 1, config.Tally{Runs: 1, CostUSD: 0.1}); err != nil {
					k.Fatal(err)
				}
			}
		},
		func() { k.refused("a conflict", k.whole(), config.ErrConflict) },
		func() { k.apply(&config.Change{SetHead: &config.Head{Live: 1}}) },
		func() {
			k.apply(&config.Change{Audit: []*config.AuditEvent{k.event(now, "update", "agents/new", "me")}})
			must(k.Store.Purge(k.Context(), day, day))
		},
		func() { k.apply(publish(3, 1, now, map[string]string{"z": `"z"`})) },
		func() {
			if err := k.Store.Tally(k.Context(), 3, config.Tally{Runs: 1}); err != nil {
				k.Fatal(err)
			}
		},
	} {
		step()
		want := dump(k, k.Store)
		k.Store, k.Other = reopen(k.T), nil
		equal(k, fmt.Sprintf("after step %d", what), want, dump(k, k.Store))
	}
}

var notifierCases = []testCase{
	{"HearsWhatOthersDo", func(k *kit) {
		n, ok := k.Store.(config.Notifier)
		if !ok {
			k.Skip("the store is no Notifier")
		}
		other := k.stores()[len(k.stores())-1]
		ctx, stop := context.WithCancel(k.Context())
		heard, stopped := make(chan struct{}, 1), make(chan error, 1)
		go func() {
			stopped <- n.Listen(ctx, func() {
				select {
				case heard <- struct{}{}:
				default:
				}
			})
		}()
		wait := func(what string) {
			k.Helper()
			select {
			case <-heard:
			case <-time.After(30 * time.Second):
				k.Fatalf("%s: nothing was heard", what)
			}
		}
		wait("the beginning")
		for what, c := range []*config.Change{
			publish(1, 0, time.Now(), map[string]string{"a": "1"}),
			{Records: []config.RecordChange{write("draft", 0, record(1, "1"))}},
			{Secrets: []config.SecretChange{{Ref: "s", Secret: &config.SealedSecret{Revision: 1}}}},
			{SetHead: &config.Head{Live: 1}},
		} {
			if err := other.Apply(ctx, c); err != nil {
				k.Fatal(err)
			}
			wait(fmt.Sprintf("change %d", what))
		}
		stop()
		if err := <-stopped; !errors.Is(err, context.Canceled) {
			k.Errorf("Listen returned %v", err)
		}
	}},
}
