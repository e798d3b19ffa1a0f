package configtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

// pin creates a run of a tenant that is pinned to a resolution, and returns a function that
// updates it.
func (k *kit) pin(tenant, resolution string) (move func(awaken.RunStatus)) {
	k.Helper()
	if k.Runs == nil {
		k.Skip("the store holds no runs")
	}
	s := k.Runs(tenant)
	thread := "thread-" + resolution
	cp := must(s.Acquire(k.Context(), thread))
	c := &awaken.Commit{ThreadID: thread, Fence: cp.Fence, Generation: cp.Generation,
		Run: awaken.Run{RunID: "run-" + resolution, ThreadID: thread, AgentID: "agent", ResolutionID: resolution, CreatedAt: 1}}
	return func(status awaken.RunStatus) {
		k.Helper()
		c.Number++
		c.Time++
		c.Run.Status, c.Run.Waiting = status, nil
		if status == awaken.RunWaiting {
			c.Run.Waiting = &awaken.Waiting{Reason: awaken.WaitUserInput, TicketIDs: []string{}, Tickets: []awaken.WaitingTicket{}}
		}
		if status == awaken.RunDone {
			c.Run.Termination, c.Run.FinishedAt = awaken.Termination{Type: awaken.NaturalEnd}, 9
		}
		if err := s.Commit(k.Context(), c); err != nil {
			k.Fatalf("run %s: %v", status, err)
		}
	}
}

// purge purges, and returns the remaining publications.
func (k *kit) purge(versions time.Duration, want config.Purged) (left []int64) {
	k.Helper()
	equal(k, "purged", want, must(k.Store.Purge(k.Context(), 0, versions)))
	for _, p := range must(k.Store.Publications(k.Context(), 0, 1000)) {
		left = append(left, p.Number)
		if _, err := k.Store.Publication(k.Context(), p.Number); err != nil {
			k.Error(err)
		}
	}
	return left
}

// versions publishes n versions, the first n days old, the next n-1, and so on. Those in
// whole have a manifest.
func (k *kit) versions(n int64, whole ...int64) {
	k.Helper()
	for i := int64(1); i <= n; i++ {
		c := publish(i, i-1, time.Now().Add(-time.Duration(n+1-i)*day), map[string]string{"a": fmt.Sprint(i)})
		if slices.Contains(whole, i) {
			c.Publish.Manifest = slices.Clone(c.Publish.Entries)
		}
		k.apply(c)
	}
}

const day = 24 * time.Hour

var purgeCases = []testCase{
	{"RemovesOldEvents", func(k *kit) {
		now := time.Now()
		k.begun()
		for _, age := range []time.Duration{50 * day, 30 * day, time.Hour, 40 * day, -day} {
			k.apply(&config.Change{Audit: []*config.AuditEvent{k.event(now.Add(-age), "update", "agents/a", "me")}})
		}
		equal(k, "purged with 0", config.Purged{}, must(k.Store.Purge(k.Context(), 0, 0)))
		equal(k, "purged", config.Purged{Events: 3}, must(k.Store.Purge(k.Context(), 35*day, 0))) // the one of begun is old, too
		equal(k, "events", []string{"0006", "0004", "0003"}, k.ids(config.AuditQuery{}))
		equal(k, "purged again", config.Purged{}, must(k.Store.Purge(k.Context(), 35*day, 0)))
		k.Advance(20 * day)
		equal(k, "purged later", config.Purged{Events: 1}, must(k.Store.Purge(k.Context(), 35*day, 0)))
		k.Advance(-100 * day)
		equal(k, "purged after the clock stepped back", config.Purged{}, must(k.Store.Purge(k.Context(), day, day)))
		equal(k, "before one that is gone", nil, k.ids(config.AuditQuery{Before: "event-0003"}))
		equal(k, "before one that is there", []string{"0004"}, k.ids(config.AuditQuery{Before: "event-0006"}))
		k.apply(&config.Change{Audit: []*config.AuditEvent{k.event(now, "update", "agents/a", "me")}})
		equal(k, "events", []string{"0007", "0006", "0004"}, k.ids(config.AuditQuery{}))
	}},
	{"RemovesOldPublicationsAndTheirDocuments", func(k *kit) {
		k.versions(10, 4, 7, 10)
		for n := range int64(10) {
			if err := k.Store.Tally(k.Context(), n+1, config.Tally{Runs: 1}); err != nil {
				k.Fatal(err)
			}
		}
		equal(k, "left of none", []int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, k.purge(0, config.Purged{}))
		// 9 is not old; it needs 8 and 7, which is whole.
		equal(k, "left", []int64{10, 9, 8, 7}, k.purge(2*day+day/2, config.Purged{Publications: 6, Documents: 6}))
		for _, s := range k.stores() {
			if p, err := s.Publication(k.Context(), 6); !errors.Is(err, awaken.ErrNotFound) {
				k.Errorf("publication 6: %v, %v", p, err)
			}
			if docs := must(s.Documents(k.Context(), sum("6"), sum("7"), sum("10"))); len(docs) != 2 {
				k.Errorf("there are %d documents, want 7 and 10", len(docs))
			}
			if got := must(s.Tallies(k.Context(), 6, 7)); len(got) != 1 {
				k.Errorf("tallies are %v, want that of 7", got)
			}
		}
		equal(k, "left later", []int64{10}, k.purge(time.Minute, config.Purged{Publications: 3, Documents: 3}))
		equal(k, "left in the end", []int64{10}, k.purge(time.Minute, config.Purged{}))
		equal(k, "head", config.Head{Revision: 10, Last: 10, Live: 10}, must(k.Store.Head(k.Context())))
		k.refused("a publication on one that is gone", publish(11, 9, time.Now(), nil), config.ErrConflict)
		k.refused("going live with one that is gone", &config.Change{SetHead: &config.Head{Live: 9}}, config.ErrConflict)
		again := publish(11, 10, time.Now(), map[string]string{"a": "3"})
		again.Documents = nil
		k.refused("a document that is gone", again, config.ErrConflict)
		k.apply(publish(11, 10, time.Now(), map[string]string{"a": "3"}))
	}},
	{"KeepsWhatIsLiveAndTheCanary", func(k *kit) {
		k.versions(9, 3, 6)
		k.apply(&config.Change{SetHead: &config.Head{Live: 4, Canary: &config.Canary{Version: 7}}})
		equal(k, "left", []int64{7, 6, 4, 3}, k.purge(time.Minute, config.Purged{Publications: 5, Documents: 5}))
		k.apply(publish(10, 4, time.Now().Add(-day), map[string]string{"a": "10"})) // numbers go on
		equal(k, "left", []int64{10, 4, 3}, k.purge(time.Minute, config.Purged{Publications: 2, Documents: 2}))
		k.apply(&config.Change{SetHead: &config.Head{}})
		equal(k, "left of nothing live", nil, k.purge(time.Minute, config.Purged{Publications: 3, Documents: 3}))
		equal(k, "head", config.Head{Revision: 12, Last: 10}, must(k.Store.Head(k.Context())))
		k.apply(publish(11, 0, time.Now(), map[string]string{"a": "10"}))
	}},
	{"KeepsDocumentsThatAnotherVersionHas", func(k *kit) {
		old := time.Now().Add(-9 * day)
		k.apply(publish(1, 0, old, map[string]string{"a": "1", "b": "2", "c": "3"}))
		c := publish(2, 1, old, map[string]string{"a": "4"})
		whole := publish(2, 1, old, map[string]string{"a": "4", "b": "2"})
		c.Publish.Manifest = whole.Publish.Entries
		k.apply(c)
		c = publish(3, 2, old, map[string]string{"a": "1"})
		k.apply(c)
		equal(k, "left", []int64{3, 2}, k.purge(day, config.Purged{Publications: 1, Documents: 1}))
		docs := must(k.Store.Documents(k.Context(), sum("1"), sum("2"), sum("3"), sum("4")))
		if len(docs) != 3 || docs[sum("3")] != nil {
			k.Errorf("documents are %v, want 1, 2 and 4", docs)
		}
	}},
	{"KeepsWhatRunsArePinnedTo", func(k *kit) {
		k.versions(9, 2, 6)
		move := k.pin("", "3")
		other := k.pin("another tenant 日本", "7")
		code := k.pin("", "registry of the code")
		for _, m := range []func(awaken.RunStatus){move, other, code} {
			m(awaken.RunRunning)
		}
		equal(k, "left while they are running", []int64{9, 8, 7, 6, 3, 2}, k.purge(time.Minute, config.Purged{Publications: 3, Documents: 3}))
		other(awaken.RunWaiting)
		move(awaken.RunRunning)
		equal(k, "left while one waits", []int64{9, 8, 7, 6, 3, 2}, k.purge(time.Minute, config.Purged{}))
		move(awaken.RunDone)
		equal(k, "left when one is done", []int64{9, 8, 7, 6}, k.purge(time.Minute, config.Purged{Publications: 2, Documents: 2}))
		k.apply(&config.Change{SetHead: &config.Head{}})
		equal(k, "left for the other", []int64{7, 6}, k.purge(time.Minute, config.Purged{Publications: 2, Documents: 2}))
		other(awaken.RunRunning)
		other(awaken.RunDone)
		equal(k, "left in the end", nil, k.purge(time.Minute, config.Purged{Publications: 2, Documents: 2}))
	}},
	{"KeepsWhatItIsToldRunsArePinnedTo", func(k *kit) {
		if k.Pin == nil {
			k.Skip("the store knows the runs")
		}
		k.versions(9, 2, 6)
		k.Pin(3, true)
		equal(k, "left", []int64{9, 8, 7, 6, 3, 2}, k.purge(time.Minute, config.Purged{Publications: 3, Documents: 3}))
		k.Pin(3, false)
		equal(k, "left", []int64{9, 8, 7, 6}, k.purge(time.Minute, config.Purged{Publications: 2, Documents: 2}))
	}},
}
