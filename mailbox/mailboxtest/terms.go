package mailboxtest

import (
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// leavesOn checks which dispatches Enqueue leaves out on terms.
func leavesOn(k *kit, terms mailbox.Terms, want []int, ds ...*mailbox.Dispatch) {
	k.Helper()
	left, err := k.store.Enqueue(k.Context(), terms, ds...)
	if err != nil {
		k.Fatal(err)
	}
	equal(k, "left out", want, append([]int{}, left...))
}

// start queues a dispatch for a process that begins it at once, and reports whether it has the claim.
func (k *kit) start(d *mailbox.Dispatch) bool {
	k.Helper()
	leavesOn(k, mailbox.Terms{Start: &mailbox.ClaimRequest{Consumer: "p", Lease: lease}}, []int{}, d)
	is := k.get(d.ID).Status
	if claimed := d.Status == mailbox.Claimed; claimed != (is == mailbox.Claimed) {
		k.Errorf("dispatch %s is %s, but the store says %s", d.ID, d.Status, is)
	}
	return is == mailbox.Claimed
}

func of(user string) func(*mailbox.Dispatch) {
	return func(d *mailbox.Dispatch) { d.Request.UserID = user }
}

// entries makes the commit add n entries to the log.
func entries(n int) func(c *awaken.Commit) {
	return func(c *awaken.Commit) {
		for i := range n {
			c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: c.Fence, Seq: uint64(i + 1)}, RunID: c.Run.RunID, Time: c.Time, Event: &awaken.StepStart{}})
		}
	}
}

var termsCases = []testCase{
	{"IdleThreadsHaveNoOpenRunAndNoLiveDispatch", func(k *kit) {
		k.acquire("waits", "r1").commit(parks)
		k.acquire("runs", "r2").commit()
		k.acquire("done", "r3").commit(done)
		k.enqueue(dispatch("claimed", "a"))
		k.claimOne("a")
		k.enqueue(dispatch("acked", "b"))
		k.as(k.claimOne("b"), mailbox.Acked)
		k.enqueue(dispatch("queued", "c"), dispatch("later", "d", after(time.Hour)))
		leavesOn(k, mailbox.Terms{Idle: true}, []int{0, 1, 3, 5, 6}, dispatch("waits", "1"), dispatch("runs", "2"), dispatch("done", "3"), dispatch("claimed", "4"), dispatch("acked", "5"),
			dispatch("queued", "6"), dispatch("later", "7"), dispatch("new", "8"))
		k.status(mailbox.Queued, "3", "5", "8")
		equal(k, "dispatches", []string{"c"}, k.list(mailbox.Query{ThreadID: "queued"}))
	}},
	{"TheFirstOfACallLeavesItsThreadNotIdle", func(k *kit) {
		leavesOn(k, mailbox.Terms{Idle: true}, []int{1, 3}, dispatch("t", "a"), dispatch("t", "b"), dispatch("u", "c"), dispatch("u", "d"))
		leavesOn(k, mailbox.Terms{}, []int{}, dispatch("t", "b"))
	}},
	{"ConfinedToThreadsOfTheUser", func(k *kit) {
		k.enqueue(dispatch("anna's", "a", of("anna")), dispatch("none's", "b"))
		leavesOn(k, mailbox.Terms{Confined: true}, []int{1, 2, 3}, dispatch("anna's", "1", of("anna")), dispatch("anna's", "2", of("bob")), dispatch("anna's", "3"), dispatch("none's", "4", of("anna")),
			dispatch("none's", "5"), dispatch("new", "6", of("bob")))
		k.status(mailbox.Queued, "1", "5", "6")
	}},
	{"ReportsWhereTheLogEnds", func(k *kit) {
		o := k.acquire("t", "r")
		o.commit(entries(3), done)
		a, b := dispatch("t", "a"), dispatch("new", "b")
		k.enqueue(a, b)
		equal(k, "end", awaken.Cursor{Epoch: o.cp.Fence, Seq: 3}, a.End)
		equal(k, "end of a new thread", awaken.Cursor{}, b.End)
		equal(k, "stored", awaken.Cursor{}, k.get("a").End)
	}},
	{"StartClaimsAtOnce", func(k *kit) {
		k.join("p", "q")
		before := k.now()
		d := dispatch("t", "a", idempotent("key"))
		if !k.start(d) {
			k.Fatal("not claimed")
		}
		got := k.get("a")
		between(k, "lease", got.LeaseUntil, before+lease.Milliseconds(), k.now()+lease.Milliseconds())
		between(k, "updated_at", got.UpdatedAt, before, k.now())
		if got.ClaimedBy != "p" || got.ClaimToken == "" || !d.Fresh || k.run("run-a").Status != awaken.RunCreated {
			k.Errorf("got %+v", plain(got))
		}
		d.Fresh, d.Checkpoint = false, nil
		same(k, "dispatch", got, d)
		k.nothing()
		equal(k, "renewed", []mailbox.Renewal{{}}, k.renew(lease, d.Claim()))
		k.enqueue(dispatch("t", "b"))
		k.nothing()
		k.as(d, mailbox.Acked)
		k.claimOne("b")
	}},
	{"WhatWasStartedIsReclaimedWithItsProcess", func(k *kit) {
		k.join("p")
		d := dispatch("t", "a")
		if !k.start(d) {
			k.Fatal("not claimed")
		}
		k.kill("p", 1)
		k.counts("a", 1, 0)
		equal(k, "renewed", []mailbox.Renewal{{Lost: true}}, k.renew(lease, d.Claim()))
		k.as(k.claimOne("a"), mailbox.Acked)
		k.join("p")
		if !k.start(dispatch("t", "b")) {
			k.Fatal("not claimed")
		}
		k.leave("p")
		k.claimOne("b")
	}},
	{"DeadProcessesStartNothing", func(k *kit) {
		if k.start(dispatch("t", "a")) {
			k.Error("a process that is not known has claimed")
		}
		k.as(k.claimOne("a"), mailbox.Acked)
		k.join("p")
		k.Advance(silence + time.Second)
		if k.start(dispatch("t", "b")) {
			k.Error("a process that was silent for too long has claimed")
		}
		k.join("p")
		k.leave("p")
		if k.start(dispatch("t", "c")) {
			k.Error("a process that has left has claimed")
		}
		equal(k, "claimed", []string{"b"}, dispatchIDs(k.claim(10)))
	}},
	{"StartWaitsForItsThread", func(k *kit) {
		k.join("p")
		k.acquire("runs", "r").commit()
		if k.start(dispatch("runs", "a")) {
			k.Error("claimed, although the thread has an open run")
		}
		k.claimOne("a")
		if k.start(dispatch("later", "b", after(time.Hour))) {
			k.Error("claimed before its time")
		}
		if k.start(dispatch("later", "c")) {
			k.Error("claimed, although another waits")
		}
		k.as(k.claimOne("c"), mailbox.Acked)
		k.acquire("done", "run-d").commit(done)
		left, err := k.store.Enqueue(k.Context(), mailbox.Terms{Start: &mailbox.ClaimRequest{Consumer: "p", Lease: lease, Limit: 1}}, dispatch("done", "d"))
		if err != nil || len(left) == 0 {
			k.Errorf("claimed, although its run is not new: %v", err)
		}
		equal(k, "claimed", []string{}, dispatchIDs(k.claim(10)))
	}},
	{"StartWaitsForWhatCameFirst", func(k *kit) {
		k.join("p")
		k.enqueue(dispatch("t", "a"))
		if k.start(dispatch("u", "b")) {
			k.Error("claimed before another of the same priority")
		}
		if !k.start(dispatch("v", "c", priority(mailbox.DefaultPriority-1))) {
			k.Error("not claimed, although its priority is higher")
		}
		equal(k, "claimed", []string{"a", "b"}, dispatchIDs(k.claim(10)))
		k.enqueue(dispatch("w", "d", after(time.Minute)))
		if !k.start(dispatch("x", "e")) {
			k.Error("not claimed, although the other is not available yet")
		}
		k.Advance(2 * time.Minute)
		if k.start(dispatch("y", "f")) {
			k.Error("claimed before another that has become available")
		}
		equal(k, "claimed", []string{"d", "f"}, dispatchIDs(k.claim(10)))
	}},
	{"StartDoesNotWaitForSuspects", func(k *kit) {
		k.suspects(dispatch("t", "a"))
		k.join("p")
		if !k.start(dispatch("u", "b")) {
			k.Error("not claimed")
		}
	}},
	{"StartLeavesOutWhatNeedsChange", func(k *kit) {
		k.join("p")
		k.acquire("waits", "r").commit(parks)
		k.enqueue(dispatch("of", "a", of("anna"), idempotent("key")))
		k.as(k.claimOne("a"), mailbox.Acked)
		start := mailbox.Terms{Confined: true, Idle: true, Start: &mailbox.ClaimRequest{Consumer: "p", Lease: lease}}
		for _, d := range []*mailbox.Dispatch{dispatch("waits", "1"), dispatch("of", "2", of("bob")), dispatch("new", "3", idempotent("key")), dispatch("new", "a")} {
			leavesOn(k, start, []int{0}, d)
		}
		k.nothing()
		k.enqueue(dispatch("of", "4", of("anna"), priority(1)), dispatch("new", "5"))
		equal(k, "claimed", []string{"4", "5"}, dispatchIDs(k.claim(10)))
	}},
	{"OneOfManyFindsAThreadIdle", func(k *kit) {
		const workers, rounds = 8, 10
		k.join("p")
		var queued, claimed atomic.Int32
		k.together(workers, func(i int, q mailbox.Queue) {
			for round := range rounds {
				terms := mailbox.Terms{Idle: true}
				if i%2 == 0 {
					terms.Start = &mailbox.ClaimRequest{Consumer: "p", Lease: lease}
				}
				d := dispatch(number("t", round), number(number("d", round), i))
				left, err := q.Handle("").Enqueue(k.Context(), terms, d)
				if err != nil {
					k.Error(err)
				} else if len(left) == 0 {
					queued.Add(1)
				}
				if d.Status == mailbox.Claimed {
					claimed.Add(1)
				}
			}
		})
		equal(k, "queued", int32(rounds), queued.Load())
		equal(k, "claimable", rounds-int(claimed.Load()), len(k.claim(100)))
	}},
}
