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
	{"OfAllIsInTheOrderOfIDs", func(k *kit) {
		for _, id := range []string{"b", "a", "c"} {
			k.enqueue(dispatch("t-"+id, id, priority(len(id))))
			k.Advance(time.Second)
		}
		equal(k, "dispatches", []string{"c", "b", "a"}, k.list(mailbox.Query{}))
		equal(k, "dispatches", []string{"c", "b", "a"}, k.list(mailbox.Query{Statuses: []mailbox.Status{mailbox.Queued}}))
	}},
	{"ContinuesAfterAnID", func(k *kit) {
		for i := range 7 {
			k.enqueue(dispatch(number("t", i), number("d", i)))
		}
		for i, d := range k.claim(3) {
			k.as(d, []mailbox.Status{mailbox.DeadLetter, mailbox.Acked, mailbox.Cancelled}[i])
		}
		newer := 0
		for _, q := range []mailbox.Query{{}, {Statuses: []mailbox.Status{mailbox.Queued}}, {Statuses: []mailbox.Status{mailbox.DeadLetter}}} {
			want, got := k.list(q), []string(nil)
			q.Limit = 2
			for page := k.list(q); len(page) > 0; page = k.list(q) {
				got = append(got, page...)
				q.After = page[len(page)-1]
				k.enqueue(dispatch(number("z", newer), number("z", newer))) // newer ones do not move the pages
				newer++
			}
			equal(k, "all pages", want, got)
		}
	}},
	{"SelectsByAgentAndWorker", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		k.enqueue(dispatch("u", "b", func(d *mailbox.Dispatch) { d.Request.AgentID = "other" }))
		k.enqueue(dispatch("v", "c", func(d *mailbox.Dispatch) { d.Request.AgentID = "" }))
		equal(k, "of an agent", []string{"b"}, k.list(mailbox.Query{AgentID: "other"}))
		equal(k, "of no agent", []string{}, k.list(mailbox.Query{AgentID: "ghost"}))
		d := k.claim(1)[0]
		equal(k, "of a worker", []string{d.ID}, k.list(mailbox.Query{Worker: d.ClaimedBy}))
		equal(k, "of another", []string{}, k.list(mailbox.Query{Worker: d.ClaimedBy + "x"}))
		o := k.owns(d)
		o.commit(func(c *awaken.Commit) { c.Run.AgentID = "handed" })
		equal(k, "of the agent of the run's record", []string{d.ID}, k.list(mailbox.Query{AgentID: "handed"}))
		k.as(d, mailbox.Acked)
		equal(k, "of a worker that has settled it", []string{}, k.list(mailbox.Query{Worker: "worker"}))
	}},
	{"BacklogHasWhatIsLive", func(k *kit) {
		backlog := func(limit int, threads ...string) ([]string, map[string]string) {
			k.Helper()
			ds, open, err := k.store.Backlog(k.Context(), limit, threads...)
			if err != nil {
				k.Fatal(err)
			}
			return dispatchIDs(ds), open
		}
		ids, _ := backlog(10)
		equal(k, "of an empty queue", 0, len(ids))
		k.enqueue(dispatch("t", "a"), dispatch("t", "b"), dispatch("u", "c", after(time.Hour)), dispatch("v", "d", priority(0)))
		k.as(k.claim(1)[0], mailbox.Acked)
		o := k.owns(k.claim(1)[0])
		o.commit()
		ids, open := backlog(10)
		equal(k, "live", []string{"a", "b", "c"}, ids)
		equal(k, "open runs", map[string]string{"t": "run-a"}, open)
		ids, _ = backlog(2)
		equal(k, "the oldest", []string{"a", "b"}, ids)
		ids, open = backlog(10, "u", "v", "ghost")
		equal(k, "of threads", []string{"c"}, ids)
		equal(k, "open runs of threads", 0, len(open))
		other, _, err := k.Queue.Handle("other").Backlog(k.Context(), 10)
		if err != nil || len(other) > 0 {
			k.Errorf("the backlog of another tenant is %v, %v", other, err)
		}
		counts, err := k.store.CountDispatches(k.Context())
		if err != nil {
			k.Fatal(err)
		}
		equal(k, "counts", map[mailbox.Status]int{mailbox.Claimed: 1, mailbox.Queued: 2, mailbox.Acked: 1}, counts)
		counts, err = k.Queue.Handle("other").CountDispatches(k.Context())
		if err != nil || len(counts) > 0 {
			k.Errorf("the counts of another tenant are %v, %v", counts, err)
		}
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
	{"CountsDeadLettersForGood", func(k *kit) {
		total := func(what string, want int64) {
			k.Helper()
			for _, q := range k.queues() {
				if n, err := q.DeadLettered(k.Context()); err != nil || n != want {
					k.Errorf("%s: %d dead letters, %v; want %d", what, n, err, want)
				}
			}
		}
		total("at first", 0)
		k.enqueue(dispatch("t", "a"))
		k.settle(mailbox.Settlement{Claim: k.claimOne("a").Claim(), Status: mailbox.Queued, Failed: true, Error: "boom"})
		total("after a failure", 0)
		k.enqueue(dispatch("u", "b"), dispatch("v", "c"), dispatch("w", "d"))
		var all []mailbox.Settlement
		for _, d := range k.claim(4) {
			all = append(all, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.DeadLetter, Error: "boom"})
		}
		all[1].Status = mailbox.Acked
		void := all[0]
		void.Token = "another"
		if errs, err := k.Queue.Settle(k.Context(), append(all, void)...); err != nil || len(errs) != 5 || errs[4] == nil {
			k.Fatalf("settled with %v, %v", errs, err)
		}
		total("of four dispatches, one of which was done, and a void claim", 3)
		k.enqueue(dispatch("x", "e"))
		d := k.claimOne("e")
		o := k.owns(d)
		o.commit()
		if _, err := o.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.DeadLetter, Error: "invalid"}, nil, done); err != nil {
			k.Fatal(err)
		}
		total("with a commit", 4)
		dead := mailbox.Query{RunID: d.RunID, Statuses: []mailbox.Status{mailbox.DeadLetter}}
		if n, err := k.store.PurgeDispatches(k.Context(), dead); n != 1 || err != nil {
			k.Fatalf("dropped %d, %v", n, err)
		}
		total("after one was dropped", 4)
		k.Advance(time.Hour)
		if n, err := k.Queue.Purge(k.Context(), time.Minute); n != 4 || err != nil {
			k.Fatalf("purged %d, %v", n, err)
		}
		total("after all were purged", 4)
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

// failures returns what was recorded of failed attempts, without times and workers.
func failures(k *kit, id string) (out []string) {
	k.Helper()
	for _, f := range k.get(id).Failures {
		between(k, "time of the failure", f.At, 1, k.now())
		switch {
		case f.Worker == "":
			k.Errorf("failure %+v of %s names no worker", f, id)
		case f.Lost:
			out = append(out, "lost")
		default:
			out = append(out, f.Error)
		}
	}
	return out
}

var failureCases = []testCase{
	{"OfAllAttemptsAreKept", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		fail := func(err string, failed bool, steps int) {
			k.Helper()
			c := k.claimOne("a").Claim()
			c.Steps = steps
			k.settle(mailbox.Settlement{Claim: c, Status: mailbox.Queued, Failed: failed, Error: err})
		}
		fail("first", true, 0)
		fail("busy", false, 0) // is no attempt
		fail("second\x00 \"quoted\" 字", true, 0)
		fail("third", true, 2) // after progress
		fail("third", true, 3)
		equal(k, "attempts", 1, k.get("a").Attempts)
		d := k.claimFor(1, time.Second)[0]
		k.Advance(2 * time.Second)
		equal(k, "reclaimed", 1, k.reclaim(10))
		k.settle(mailbox.Settlement{Claim: k.claimOne("a").Claim(), Status: mailbox.DeadLetter, Error: "for good"})
		want := []string{"first", "second\x00 \"quoted\" 字", "third", "third", "lost", "for good"}
		equal(k, "failures", want, failures(k, "a"))
		equal(k, "worker", d.ClaimedBy, k.get("a").Failures[0].Worker)
		all, err := k.store.Dispatches(k.Context(), mailbox.Query{Statuses: []mailbox.Status{mailbox.DeadLetter}})
		if err != nil || len(all) != 1 || len(all[0].Failures) != len(want) {
			k.Errorf("the list has %+v, %v", all, err)
		}
	}},
	{"OfADeadProcessAreKept", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("u", "b"))
		k.join("p")
		k.claimAs("p")
		k.kill("p", 2)
		equal(k, "failures", []string{"lost"}, failures(k, "a"))
		equal(k, "worker", "p", k.get("b").Failures[0].Worker)
		k.join("q")
		k.claimAs("q")
		k.leave("q") // in order
		equal(k, "failures", []string{"lost"}, failures(k, "a"))
	}},
	{"SurviveAChangeAndAreBounded", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		for i := range mailbox.MaxFailures + 5 {
			k.settle(mailbox.Settlement{Claim: k.claimOne("a").Claim(), Status: mailbox.Queued, Failed: true, Error: number("e", i)})
		}
		k.change("t", func(t *mailbox.Thread) {
			d := *t.Live[0]
			d.Revision++
			t.Put = []*mailbox.Dispatch{&d}
		})
		got := failures(k, "a")
		equal(k, "number of failures", mailbox.MaxFailures, len(got))
		equal(k, "oldest and newest", []string{"e0005", number("e", mailbox.MaxFailures+4)}, []string{got[0], got[len(got)-1]})
	}},
	{"OfACommitThatSettles", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimOne("a")
		o := k.owns(d)
		o.commit()
		if _, err := o.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.DeadLetter, Error: "invalid"}, nil, done); err != nil {
			k.Fatal(err)
		}
		equal(k, "failures", []string{"invalid"}, failures(k, "a"))
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
