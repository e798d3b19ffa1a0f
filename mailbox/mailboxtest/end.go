package mailboxtest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// started claims the dispatch id of thread "t" and commits the start of its run.
func (k *kit) started(id string) (*owner, mailbox.Settlement) {
	k.Helper()
	d := k.claimOne(id)
	o := k.acquire("t", d.RunID)
	o.commit(begins)
	return o, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}
}

// wantSettled checks that a commit settled, or did not.
func (k *kit) wantSettled(want, settled bool, err error) {
	k.Helper()
	if settled != want || err != nil {
		k.Fatalf("settled is %t, %v; want %t", settled, err, want)
	}
}

// cancelled makes the commit cancel its run.
func cancelled(c *awaken.Commit) {
	done(c)
	c.Run.Termination.Type = awaken.Cancelled
}

var commitAndSettleCases = []testCase{
	{"EndsTheRunAndItsDispatchTogether", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		s.Steps, s.Error = 3, "none"
		settled, err := o.settle(s, nil, done)
		k.wantSettled(true, settled, err)
		if d := k.get("a"); d.Status != mailbox.Acked || d.CompletedAt == 0 || d.ClaimToken != "" || d.Steps != 3 || d.LastError != "none" {
			k.Errorf("got %+v", plain(d))
		}
		equal(k, "run", awaken.RunDone, k.run("run-a").Status)
		equal(k, "live", 0, len(k.look("t").Live))
		equal(k, "renewal", []mailbox.Renewal{{Lost: true}}, k.renew(lease, s.Claim))
		if err := k.trySettle(s); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("settled once more: %v", err)
		}
		k.Advance(2 * lease)
		equal(k, "reclaimed", 0, k.reclaim(10))
	}},
	{"ReportsWhetherTheThreadHasMoreToDo", func(k *kit) {
		for i, next := range []*mailbox.Dispatch{nil, dispatch("t", "now"), dispatch("t", "later", after(time.Hour))} {
			id := number("d", i)
			k.enqueue(dispatch("t", id, priority(1)))
			o, s := k.started(id)
			if next != nil {
				k.enqueue(next)
			}
			out, err := k.store.CommitAndSettle(k.Context(), o.next(done), s, nil)
			equal(k, "settled", mailbox.Settled{Settled: true, Ready: next != nil}, out)
			if err != nil {
				k.Fatal(err)
			}
			for _, d := range k.claim(10) {
				k.as(d, mailbox.Acked)
			}
		}
	}},
	{"MakesTheNextDispatchAvailable", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		k.enqueue(dispatch("t", "b"))
		k.nothing()
		settled, err := o.settle(s, nil, done)
		k.wantSettled(true, settled, err)
		k.claimOne("b")
	}},
	{"ParksARunAndQueuesItsWakeUp", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		wake := &mailbox.Dispatch{ID: "w", ThreadID: "t", RunID: "run-a", Priority: 7, MaxAttempts: 4, Steps: 2, AvailableAt: time.Hour.Milliseconds()}
		before := k.now()
		settled, err := o.settle(s, wake, parks)
		k.wantSettled(true, settled, err)
		k.status(mailbox.Acked, "a")
		w := k.get("w")
		between(k, "available_at", w.AvailableAt, before+time.Hour.Milliseconds(), k.now()+time.Hour.Milliseconds())
		if w.Status != mailbox.Queued || w.RunID != "run-a" || w.ThreadID != "t" || w.Priority != 7 || w.MaxAttempts != 4 || w.Steps != 2 || w.Request != nil || w.CreatedAt == 0 {
			k.Errorf("got %+v", plain(w))
		}
		k.nothing()
		k.Advance(time.Hour + time.Second)
		k.claimOne("w")
	}},
	{"PutsADispatchBack", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		s.Status, s.Delay, s.Error = mailbox.Queued, time.Minute, "the version is not here"
		settled, err := o.settle(s, nil, parks)
		k.wantSettled(true, settled, err)
		k.nothing()
		k.Advance(time.Minute + time.Second)
		if d := k.claimOne("a"); d.Attempts != 0 || d.LastError != s.Error {
			k.Errorf("got %+v", plain(d))
		}
	}},
	{"EndsTheOtherDispatchesOfARunThatIsDone", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		k.change("t", func(t *mailbox.Thread) {
			wakes := func(d *mailbox.Dispatch) { d.RunID, d.Request = "run-a", nil }
			t.Put = []*mailbox.Dispatch{queued(t, "wakes", wakes), queued(t, "later", wakes, after(time.Hour)),
				queued(t, "cancels", wakes, func(d *mailbox.Dispatch) { d.Cancel = true }), queued(t, "other")}
		})
		settled, err := o.settle(s, nil, cancelled)
		k.wantSettled(true, settled, err)
		k.status(mailbox.Acked, "a", "wakes", "later")
		k.status(mailbox.Cancelled, "cancels")
		k.claimOne("other")
	}},
	{"KeepsTheOtherDispatchesOfARunThatParks", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		k.change("t", func(t *mailbox.Thread) {
			t.Put = []*mailbox.Dispatch{queued(t, "wakes", func(d *mailbox.Dispatch) { d.RunID, d.Request = "run-a", nil })}
		})
		settled, err := o.settle(s, nil, parks)
		k.wantSettled(true, settled, err)
		k.claimOne("wakes")
	}},
	{"EndsAnotherRunOfTheThreadAndKeepsTheClaim", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		wake := &mailbox.Dispatch{ID: "w", ThreadID: "t", RunID: "run-a", AvailableAt: time.Hour.Milliseconds()}
		settled, err := o.settle(s, wake, parks)
		k.wantSettled(true, settled, err)
		k.change("t", func(t *mailbox.Thread) { t.Put = []*mailbox.Dispatch{queued(t, "b")} })
		b := k.claimOne("b")
		o = k.acquire("t", "run-a")
		settled, err = o.settle(mailbox.Settlement{Claim: b.Claim()}, nil, cancelled)
		k.wantSettled(true, settled, err)
		k.status(mailbox.Acked, "w")
		k.status(mailbox.Claimed, "b")
		equal(k, "renewal", []mailbox.Renewal{{}}, k.renew(lease, b.Claim()))
	}},
	{"RefusesAVoidClaim", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		wrong := s
		wrong.Token = "no token"
		if _, err := o.settle(wrong, nil, done); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("another token: %v", err)
		}
		k.Advance(2 * lease)
		equal(k, "reclaimed", 1, k.reclaim(10))
		if _, err := o.settle(s, nil, done); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("a reclaimed dispatch: %v", err)
		}
		equal(k, "run", awaken.RunRunning, k.run("run-a").Status)
		k.claimOne("a")
	}},
	{"SettlesNothingIfTheCommitIsRefused", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		if err := k.store.Post(k.Context(), "t", awaken.InboxItem{ID: "m", Messages: []*llm.Message{llm.UserText("more")}}); err != nil {
			k.Fatal(err)
		}
		if _, err := o.settle(s, nil, done, func(c *awaken.Commit) { c.RequireEmptyInbox = true }); !errors.Is(err, awaken.ErrUnread) {
			k.Errorf("unread items: %v", err)
		}
		if _, err := o.settle(s, nil, done, func(c *awaken.Commit) { c.Fence-- }); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("an old fence: %v", err)
		}
		if _, err := o.settle(s, nil, done, func(c *awaken.Commit) { c.Expect++ }); !errors.Is(err, awaken.ErrConflict) {
			k.Errorf("another log: %v", err)
		}
		k.status(mailbox.Claimed, "a")
		equal(k, "renewal", []mailbox.Renewal{{}}, k.renew(lease, s.Claim))
	}},
	{"LeavesTheQueueAloneIfMessagesAreUnread", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("u", "b"))
		if ds := k.claim(10); len(ds) != 2 {
			k.Fatalf("claimed %q", dispatchIDs(ds))
		}
		post := func(thread string, item awaken.InboxItem) {
			if err := k.store.Post(k.Context(), thread, item); err != nil {
				k.Fatal(err)
			}
		}
		post("t", awaken.InboxItem{ID: "m", Messages: []*llm.Message{llm.UserText("more")}})
		post("u", awaken.InboxItem{ID: "m", RunID: "run-b", Messages: []*llm.Message{llm.UserText("only for b")}})
		post("u", awaken.InboxItem{ID: "d", RunID: "run-b", Decision: &awaken.Decision{}})
		end := func(thread, id string) (bool, error) {
			o := k.acquire(thread, "run-"+id)
			o.commit(begins)
			return o.settle(mailbox.Settlement{Claim: k.get(id).Claim(), Status: mailbox.Acked}, nil, cancelled)
		}
		settled, err := end("t", "a")
		k.wantSettled(false, settled, err)
		equal(k, "run", awaken.RunDone, k.run("run-a").Status)
		k.status(mailbox.Claimed, "a")
		settled, err = end("u", "b") // no other run may read these
		k.wantSettled(true, settled, err)
		k.status(mailbox.Acked, "b")
	}},
	{"ReadsUnreadMessagesWithAnyText", func(k *kit) { // not every database can read it in JSON
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		for _, item := range []awaken.InboxItem{
			{ID: "m", RunID: "run-a", Messages: []*llm.Message{llm.UserText("a\x00b\\u0000")}},
			{ID: "d", RunID: "run-a", Decision: &awaken.Decision{Result: json.RawMessage(`{"single":"\ud800","pair":"\ud83d\ude00"}`)}}} {
			if err := k.store.Post(k.Context(), "t", item); err != nil {
				k.Fatal(err)
			}
		}
		settled, err := o.settle(s, nil, cancelled)
		k.wantSettled(true, settled, err)
		k.status(mailbox.Acked, "a")
	}},
	{"OfACommitThatWasMadeBeforeChangesNothing", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o, s := k.started("a")
		settled, err := o.settle(s, nil, done)
		k.wantSettled(true, settled, err)
		k.enqueue(dispatch("t", "b"))
		k.claimOne("b")
		o.number--
		settled, err = o.settle(s, nil, done)
		k.wantSettled(true, settled, err)
		k.status(mailbox.Acked, "a")
		k.status(mailbox.Claimed, "b")
	}},
	{"DoesNotLoseADispatchThatIsQueuedMeanwhile", func(k *kit) {
		for range 20 {
			k.enqueue(dispatch("t", "a"))
			o, s := k.started("a")
			queued := make(chan error)
			go func() {
				left, err := k.store.Enqueue(k.Context(), mailbox.Terms{}, dispatch("t", "b"))
				if len(left) > 0 {
					err = errors.New("left out")
				}
				queued <- err
			}()
			settled, err := o.settle(s, nil, done)
			k.wantSettled(true, settled, err)
			if err := <-queued; err != nil {
				k.Fatal(err)
			}
			k.as(k.claimOne("b"), mailbox.Acked)
			if _, err := k.store.PurgeDispatches(k.Context(), mailbox.Query{}); err != nil {
				k.Fatal(err)
			}
			if err := k.store.(awaken.ThreadEditor).DeleteThread(k.Context(), "t", awaken.CascadeChildren); err != nil {
				k.Fatal(err)
			}
		}
	}},
}
