package mailboxtest

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

var listCases = []testCase{
	{"AMissingOneIsNotFound", func(k *kit) {
		if _, err := k.store.Dispatch(k.Context(), "ghost"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("error is %v, want ErrNotFound", err)
		}
		equal(k, "dispatches", []string{}, k.list(mailbox.Query{}))
	}},
	{"OfAThreadOrRunIsInOrder", func(k *kit) {
		for _, d := range []*mailbox.Dispatch{dispatch("t", "c"), dispatch("t", "a"), dispatch("t", "late", priority(200)), dispatch("u", "x", priority(0)), dispatch("t", "first", priority(1))} {
			k.enqueue(d)
			k.Advance(time.Second)
		}
		k.as(k.claim(2)[1], mailbox.Acked)
		equal(k, "of a thread", []string{"first", "c", "a", "late"}, k.list(mailbox.Query{ThreadID: "t"}))
		equal(k, "of a run", []string{"a"}, k.list(mailbox.Query{RunID: "run-a"}))
		equal(k, "of both", []string{}, k.list(mailbox.Query{ThreadID: "u", RunID: "run-a"}))
		equal(k, "of none", []string{}, k.list(mailbox.Query{ThreadID: "ghost"}))
		k.change("t", func(t *mailbox.Thread) {
			t.Put = []*mailbox.Dispatch{queued(t, "again", func(d *mailbox.Dispatch) { d.RunID, d.Request = "run-a", nil })}
		})
		equal(k, "of a run that was woken", []string{"a", "again"}, k.list(mailbox.Query{RunID: "run-a"}))
	}},
	{"OfAllIsNewestFirst", func(k *kit) {
		for _, id := range []string{"b", "a", "c"} {
			k.enqueue(dispatch("t-"+id, id, priority(len(id))))
			k.Advance(time.Second)
		}
		equal(k, "dispatches", []string{"c", "a", "b"}, k.list(mailbox.Query{}))
		equal(k, "dispatches", []string{"c", "a", "b"}, k.list(mailbox.Query{Statuses: []mailbox.Status{mailbox.Queued}}))
	}},
	{"SelectsByStatus", func(k *kit) {
		all := []mailbox.Status{mailbox.Acked, mailbox.Cancelled, mailbox.Superseded, mailbox.DeadLetter, mailbox.Claimed, mailbox.Queued}
		for _, s := range all {
			k.enqueue(dispatch("t", string(s)))
			if s == mailbox.Queued {
				continue
			}
			d := k.claimOne(string(s))
			if s != mailbox.Claimed {
				k.as(d, s)
			}
			k.Advance(time.Second)
		}
		for _, s := range all {
			equal(k, "one status", []string{string(s)}, k.list(mailbox.Query{Statuses: []mailbox.Status{s}}))
		}
		equal(k, "two", []string{"Cancelled", "Queued"}, k.list(mailbox.Query{ThreadID: "t", Statuses: []mailbox.Status{mailbox.Queued, mailbox.Cancelled}}))
		equal(k, "all", 6, len(k.list(mailbox.Query{Statuses: mailbox.Statuses})))
		counts, err := k.Queue.Counts(k.Context())
		if err != nil {
			k.Fatal(err)
		}
		for _, s := range all {
			equal(k, "count of "+string(s), 1, counts[s])
		}
	}},
	{"IsPaged", func(k *kit) {
		var all []string
		for i := range 55 {
			k.enqueue(dispatch("t", number("d", i)))
			all = append(all, number("d", i))
			k.Advance(time.Millisecond)
		}
		equal(k, "first page", all[:50], k.list(mailbox.Query{ThreadID: "t"}))
		equal(k, "second page", all[50:], k.list(mailbox.Query{ThreadID: "t", Offset: 50}))
		equal(k, "a page of three", all[4:7], k.list(mailbox.Query{ThreadID: "t", Offset: 4, Limit: 3}))
		equal(k, "behind the end", []string{}, k.list(mailbox.Query{ThreadID: "t", Offset: 99}))
		equal(k, "as many as there are", all[1:], k.list(mailbox.Query{ThreadID: "t", Offset: 1, Limit: math.MaxInt}))
		slices.Reverse(all)
		equal(k, "newest", all[:2], k.list(mailbox.Query{Limit: 2}))
	}},
	{"CountsOfAnEmptyQueueAreZero", func(k *kit) {
		counts, err := k.Queue.Counts(k.Context())
		if err != nil {
			k.Fatal(err)
		}
		for s, n := range counts {
			equal(k, "count of "+string(s), 0, n)
		}
	}},
}

var purgeCases = []testCase{
	{"RemovesOldTerminalDispatches", func(k *kit) {
		k.enqueue(dispatch("t", "old", idempotent("key"), dedupe("dk")))
		k.acquire("t", "run-old").commit(done)
		k.as(k.claimOne("old"), mailbox.Acked)
		k.Advance(time.Hour)
		k.enqueue(dispatch("t", "new"))
		k.as(k.claimOne("new"), mailbox.DeadLetter)
		k.enqueue(dispatch("t", "claimed"), dispatch("t", "queued"))
		k.claimOne("claimed")
		k.Advance(time.Hour)
		purge := func(age time.Duration) int {
			k.Helper()
			n, err := k.Queue.Purge(k.Context(), age)
			if err != nil {
				k.Fatal(err)
			}
			return n
		}
		equal(k, "purged", 0, purge(3*time.Hour))
		equal(k, "purged", 1, purge(90*time.Minute))
		if _, err := k.store.Dispatch(k.Context(), "old"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("error is %v, want ErrNotFound", err)
		}
		if _, err := k.store.Submitted(k.Context(), "key"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("error is %v, want ErrNotFound", err)
		}
		equal(k, "purged", 1, purge(0))
		equal(k, "left", []string{"claimed", "queued"}, k.list(mailbox.Query{ThreadID: "t"}))
		equal(k, "run", awaken.RunDone, k.run("run-old").Status)
	}},
	{"CountsFromCompletion", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		k.Advance(time.Hour)
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Status, c.CompletedAt = mailbox.Cancelled, t.Now
			t.Put = []*mailbox.Dispatch{&c}
		})
		if n, err := k.Queue.Purge(k.Context(), time.Minute); err != nil || n != 0 {
			k.Errorf("purged %d, %v", n, err)
		}
	}},
	{"RemovesWhatAQuerySelects", func(k *kit) {
		for i := range 60 {
			k.enqueue(dispatch("t", number("d", i)))
			k.as(k.claim(1)[0], mailbox.Acked)
		}
		k.enqueue(dispatch("u", "Acked"), dispatch("v", "DeadLetter"))
		for _, d := range k.claim(2) {
			k.as(d, mailbox.Status(d.ID))
		}
		k.enqueue(dispatch("t", "live"))
		purge := func(q mailbox.Query) int {
			k.Helper()
			n, err := k.store.PurgeDispatches(k.Context(), q)
			if err != nil {
				k.Fatal(err)
			}
			return n
		}
		equal(k, "of a run", 1, purge(mailbox.Query{RunID: "run-d0003"}))
		equal(k, "of what is live", 0, purge(mailbox.Query{Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}}))
		equal(k, "of a thread, on every page", 59, purge(mailbox.Query{ThreadID: "t"}))
		equal(k, "of a status", 1, purge(mailbox.Query{Statuses: []mailbox.Status{mailbox.DeadLetter, mailbox.Queued}}))
		equal(k, "of all", 1, purge(mailbox.Query{}))
		equal(k, "left", []string{"live"}, k.list(mailbox.Query{}))
	}},
}

var tenantCases = []testCase{
	{"DoNotSeeEachOther", func(k *kit) {
		names := []string{"", "a", "A", "a'b"}
		stores := map[string]mailbox.Handle{}
		for _, name := range names {
			stores[name] = k.Queue.Handle(name)
			if left, err := stores[name].Enqueue(k.Context(), mailbox.Terms{}, dispatch("t", "d", idempotent("key"), dedupe("dk"))); err != nil || len(left) > 0 {
				k.Fatalf("tenant %q: left %v, %v", name, left, err)
			}
		}
		if err := stores["a"].Change(k.Context(), "t", func(t *mailbox.Thread) error { t.RaiseEpoch, t.Interrupt = true, true; return nil }); err != nil {
			k.Fatal(err)
		}
		equal(k, "epoch", uint64(0), k.look("t").Epoch)
		claims := map[string]*mailbox.Dispatch{}
		for _, d := range k.claim(10) {
			claims[d.Tenant] = d
		}
		equal(k, "claims", len(names), len(claims))
		h := claims["a"].Claim()
		equal(k, "tenant", "a", h.Tenant)
		h.Tenant = "A"
		if err := k.trySettle(mailbox.Settlement{Claim: h, Status: mailbox.Acked}); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("with the token of another tenant: error is %v, want ErrFenced", err)
		}
		equal(k, "renewals", []mailbox.Renewal{{}, {Lost: true}}, k.renew(lease, claims["a"].Claim(), h))
		for name, s := range stores {
			if runs, err := s.ListRuns(k.Context(), awaken.RunQuery{}); err != nil || len(runs) != 1 {
				k.Errorf("tenant %q: %d runs, %v", name, len(runs), err)
			}
		}
		k.as(claims["a"], mailbox.DeadLetter)
		for name, s := range stores {
			want := mailbox.Claimed
			if name == "a" {
				want = mailbox.DeadLetter
			}
			d, err := s.Dispatch(k.Context(), "d")
			if err != nil || d.Status != want || d.Tenant != name {
				k.Errorf("tenant %q: %+v, %v", name, plain(d), err)
			}
			if d, err := s.Submitted(k.Context(), "key"); err != nil || d.Status != want {
				k.Errorf("tenant %q: %+v, %v", name, plain(d), err)
			}
			if list, err := s.Dispatches(k.Context(), mailbox.Query{}); err != nil || len(list) != 1 || list[0].Tenant != name {
				k.Errorf("tenant %q: %d dispatches, %v", name, len(list), err)
			}
		}
		if n, err := stores[""].PurgeDispatches(k.Context(), mailbox.Query{}); err != nil || n != 0 {
			k.Errorf("purged %d of another tenant, %v", n, err)
		}
		counts, err := k.Queue.Counts(k.Context())
		if err != nil || counts[mailbox.Claimed] != 3 || counts[mailbox.DeadLetter] != 1 {
			k.Errorf("counts are %v, %v", counts, err)
		}
		if n, err := k.Queue.Purge(k.Context(), 0); err != nil || n != 1 {
			k.Errorf("purged %d, %v", n, err)
		}
		k.Advance(2 * lease)
		equal(k, "reclaimed of all", 3, k.reclaim(10))
	}},
	{"ShareTheHandlesOfAThread", func(k *kit) {
		k.enqueue(dispatch("t", "d"))
		for _, q := range k.queues() {
			if d, err := q.Handle("").Dispatch(k.Context(), "d"); err != nil || d.ID != "d" {
				k.Errorf("got %v, %v", d, err)
			}
		}
	}},
	{"AreClaimedTogether", func(k *kit) {
		for i := range 6 {
			if left, err := k.Queue.Handle(number("tenant", i%3)).Enqueue(k.Context(), mailbox.Terms{}, dispatch("t", number("d", i))); err != nil || len(left) > 0 {
				k.Fatal(left, err)
			}
			k.Advance(time.Second)
		}
		first := k.claim(10)
		equal(k, "one of each thread", []string{"d0000", "d0001", "d0002"}, dispatchIDs(first))
		for _, d := range first {
			k.as(d, mailbox.Acked)
		}
		equal(k, "the rest", 3, len(k.claim(10)))
	}},
}
