package mailboxtest

import (
	"errors"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

var renewCases = []testCase{
	{"ExtendsTheLease", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimFor(1, time.Minute)[0]
		k.Advance(50 * time.Second)
		before := k.now()
		equal(k, "renewal", []mailbox.Renewal{{}}, k.renew(time.Minute, d.Claim()))
		between(k, "lease_until", k.get("a").LeaseUntil, before+60_000, k.now()+60_000)
		k.Advance(50 * time.Second)
		equal(k, "reclaimed", 0, k.reclaim(10))
		equal(k, "token", d.ClaimToken, k.get("a").ClaimToken)
	}},
	{"AcceptsNoClaims", func(k *kit) { k.renew(lease) }},
	{"ReportsLostClaims", func(k *kit) {
		for _, id := range []string{"requeued", "acked", "claimed again", "cancelled", "kept", "given back"} {
			k.enqueue(dispatch(id, id))
		}
		held := map[string]mailbox.Claim{}
		for _, d := range k.claim(10) {
			held[d.ID] = d.Claim()
		}
		k.settle(mailbox.Settlement{Claim: held["requeued"], Status: mailbox.Queued, Delay: time.Hour})
		k.settle(mailbox.Settlement{Claim: held["acked"], Status: mailbox.Acked})
		k.settle(mailbox.Settlement{Claim: held["given back"], Status: mailbox.Queued, Delay: time.Hour})
		k.settle(mailbox.Settlement{Claim: held["claimed again"], Status: mailbox.Queued})
		k.claimOne("claimed again")
		k.change("cancelled", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Cancel = true
			t.Put = []*mailbox.Dispatch{&c}
		})
		void := mailbox.Claim{ID: "given back"} // a queued one has the token "", but that is no claim
		got := k.renew(lease, held["requeued"], held["kept"], held["acked"], held["claimed again"], held["cancelled"], void,
			mailbox.Claim{ID: "ghost", Token: "x"}, mailbox.Claim{Tenant: "ghost", ID: "kept", Token: held["kept"].Token}, held["kept"])
		lost := mailbox.Renewal{Lost: true}
		equal(k, "renewals", []mailbox.Renewal{lost, {}, lost, lost, {Cancel: true}, lost, lost, lost, {}}, got)
		k.status(mailbox.Queued, "requeued", "given back")
		k.status(mailbox.Acked, "acked")
	}},
	{"OfAnExpiredLeaseWorksUntilItIsReclaimed", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimFor(1, time.Second)[0]
		k.Advance(time.Minute)
		equal(k, "renewal", []mailbox.Renewal{{}}, k.renew(time.Second, d.Claim()))
		k.Advance(time.Minute)
		equal(k, "reclaimed", 1, k.reclaim(10))
		equal(k, "renewal", []mailbox.Renewal{{Lost: true}}, k.renew(lease, d.Claim()))
		k.status(mailbox.Queued, "a")
	}},
	{"ResetsAttemptsWhenTheRunProgressed", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		for range 3 {
			k.settle(mailbox.Settlement{Claim: k.claimOne("a").Claim(), Status: mailbox.Queued, Failed: true})
		}
		h := k.claimOne("a").Claim()
		k.renew(lease, h)
		equal(k, "attempts", 3, k.get("a").Attempts)
		h.Steps = 2
		k.renew(lease, h)
		if d := k.get("a"); d.Attempts != 0 || d.Steps != 2 {
			k.Errorf("got %+v", plain(d))
		}
		k.settle(mailbox.Settlement{Claim: h, Status: mailbox.Queued, Failed: true})
		if d := k.claimOne("a"); d.Attempts != 1 || d.Steps != 2 {
			k.Errorf("got %+v", plain(d))
		}
	}},
	{"DoesNotGoBack", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		h := k.claimOne("a").Claim()
		h.Steps = 5
		k.renew(lease, h)
		h.Steps = 3
		k.renew(lease, h)
		equal(k, "steps", 5, k.get("a").Steps)
	}},
}

var settleCases = []testCase{
	{"EndsAClaim", func(k *kit) {
		for _, status := range []mailbox.Status{mailbox.Acked, mailbox.Superseded, mailbox.Cancelled, mailbox.DeadLetter} {
			id := string(status)
			k.enqueue(dispatch("t", id))
			before := k.now()
			k.settle(mailbox.Settlement{Claim: k.claimOne(id).Claim(), Status: status, Error: "because of " + id})
			d := k.get(id)
			between(k, "completed_at", d.CompletedAt, before, k.now())
			between(k, "updated_at", d.UpdatedAt, before, k.now())
			if d.Status != status || d.ClaimToken != "" || d.ClaimedBy != "" || d.LeaseUntil != 0 || d.LastError != "because of "+id || d.Attempts != 0 {
				k.Errorf("got %+v", plain(d))
			}
			k.nothing()
		}
	}},
	{"FreesTheThread", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("t", "b"))
		k.as(k.claimOne("a"), mailbox.Acked)
		k.as(k.claimOne("b"), mailbox.DeadLetter)
		equal(k, "live", 0, len(k.look("t").Live))
	}},
	{"RequeuesWithADelay", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimOne("a")
		before := k.now()
		k.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Queued, Delay: time.Minute, Failed: true, Error: "boom"})
		d = k.get("a")
		between(k, "available_at", d.AvailableAt, before+60_000, k.now()+60_000)
		if d.Status != mailbox.Queued || d.Attempts != 1 || d.LastError != "boom" || d.ClaimToken != "" || d.ClaimedBy != "" || d.LeaseUntil != 0 || d.CompletedAt != 0 {
			k.Errorf("got %+v", plain(d))
		}
		k.nothing()
		k.Advance(61 * time.Second)
		d = k.claimOne("a")
		if d.Attempts != 1 || d.LastError != "boom" || d.Request == nil {
			k.Errorf("got %+v", plain(d))
		}
		k.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Queued}) // a drain costs nothing
		d = k.claimOne("a")
		if d.Attempts != 1 || d.LastError != "boom" {
			k.Errorf("got %+v", plain(d))
		}
	}},
	{"RequeuesRegardlessOfAttempts", func(k *kit) {
		k.enqueue(dispatch("t", "a", func(d *mailbox.Dispatch) { d.MaxAttempts = 2 }))
		for want := range 4 {
			d := k.claimOne("a")
			if d.Attempts != want || d.Exhausted() != (want >= 2) {
				k.Errorf("got %+v", plain(d))
			}
			k.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Queued, Failed: true})
		}
		k.as(k.claimOne("a"), mailbox.DeadLetter)
		k.nothing()
	}},
	{"CountsAttemptsSinceTheLastStep", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		for range 3 {
			k.settle(mailbox.Settlement{Claim: k.claimOne("a").Claim(), Status: mailbox.Queued, Failed: true})
		}
		h := k.claimOne("a").Claim()
		h.Steps = 7
		k.settle(mailbox.Settlement{Claim: h, Status: mailbox.Queued, Failed: true})
		if d := k.get("a"); d.Attempts != 1 || d.Steps != 7 {
			k.Errorf("got %+v", plain(d))
		}
		h = k.claimOne("a").Claim()
		h.Steps = 8
		k.settle(mailbox.Settlement{Claim: h, Status: mailbox.Acked})
		if d := k.get("a"); d.Attempts != 0 || d.Steps != 8 {
			k.Errorf("got %+v", plain(d))
		}
	}},
	{"NeedsTheToken", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("q", "queued", after(time.Hour)), dispatch("o", "over"))
		var d, over *mailbox.Dispatch
		for _, c := range k.claim(10) {
			if c.ID == "a" {
				d = c
			} else {
				over = c
			}
		}
		k.as(over, mailbox.Acked)
		for name, h := range map[string]mailbox.Claim{
			"another token":  {ID: "a", Token: "x"},
			"no token":       {ID: "a"},
			"another tenant": {Tenant: "x", ID: "a", Token: d.ClaimToken},
			"another's":      {ID: "a", Token: over.ClaimToken},
			"queued":         {ID: "queued"},
			"over":           over.Claim(),
			"over, no token": {ID: "over"},
			"missing":        {ID: "ghost", Token: "x"},
		} {
			h.Steps = 99
			if err := k.trySettle(mailbox.Settlement{Claim: h, Status: mailbox.Cancelled, Failed: true, Error: "no"}); !errors.Is(err, awaken.ErrFenced) {
				k.Errorf("%s: error is %v, want ErrFenced", name, err)
			}
		}
		same(k, "the claim", d, k.get("a"))
		k.status(mailbox.Queued, "queued")
		k.status(mailbox.Acked, "over")
		k.as(d, mailbox.Acked)
		if err := k.trySettle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("a second time: error is %v, want ErrFenced", err)
		}
	}},
	{"RejectsTheTokenOfAnEarlierClaim", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		old := k.claimOne("a")
		k.as(old, mailbox.Queued)
		d := k.claimOne("a")
		if err := k.trySettle(mailbox.Settlement{Claim: old.Claim(), Status: mailbox.Acked}); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("error is %v, want ErrFenced", err)
		}
		k.as(d, mailbox.Acked)
	}},
	{"ReturnsAnErrorPerSettlement", func(k *kit) {
		var batch []mailbox.Settlement
		for i := range 20 {
			k.enqueue(dispatch(number("t", i), number("d", i)))
		}
		for i, d := range k.claim(20) {
			s := mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}
			switch i % 4 {
			case 1:
				s.Token = "wrong"
			case 2:
				s.Status, s.Delay, s.Failed = mailbox.Queued, time.Hour, true
			case 3:
				s.Status, s.Error = mailbox.DeadLetter, "boom"
			}
			batch = append(batch, s)
		}
		errs, err := k.Queue.Settle(k.Context(), batch...)
		if err != nil || len(errs) != len(batch) {
			k.Fatalf("%d outcomes, %v", len(errs), err)
		}
		for i, s := range batch {
			want := s.Status
			if i%4 == 1 {
				want = mailbox.Claimed
			}
			if fenced := errors.Is(errs[i], awaken.ErrFenced); fenced != (i%4 == 1) || !fenced && errs[i] != nil {
				k.Errorf("%d: error is %v", i, errs[i])
			}
			k.status(want, s.ID)
		}
		if errs, err := k.Queue.Settle(k.Context()); err != nil || len(errs) != 0 {
			k.Errorf("of nothing: %v, %v", errs, err)
		}
	}},
	{"OfAnExpiredLeaseWorksUntilItIsReclaimed", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("u", "b"))
		ds := k.claimFor(2, time.Second)
		k.Advance(time.Minute)
		k.as(ds[0], mailbox.Acked)
		equal(k, "reclaimed", 1, k.reclaim(10))
		if err := k.trySettle(mailbox.Settlement{Claim: ds[1].Claim(), Status: mailbox.Acked}); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("error is %v, want ErrFenced", err)
		}
	}},
	{"KeepsTheCancelFlag", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimOne("a")
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Cancel = true
			t.Put = []*mailbox.Dispatch{&c}
		})
		k.as(d, mailbox.Queued)
		equal(k, "cancel", true, k.claimOne("a").Cancel)
	}},
}

var reclaimCases = []testCase{
	{"RequeuesExpiredClaims", func(k *kit) {
		k.enqueue(dispatch("t1", "a"), dispatch("t2", "b"))
		old := map[string]*mailbox.Dispatch{}
		for _, d := range k.claimFor(2, time.Minute) {
			old[d.ID] = d
		}
		k.enqueue(dispatch("t3", "c"))
		k.claimFor(1, time.Hour)
		equal(k, "reclaimed too early", 0, k.reclaim(10))
		k.Advance(2 * time.Minute)
		before := k.now()
		equal(k, "reclaimed", 2, k.reclaim(10))
		equal(k, "reclaimed again", 0, k.reclaim(10))
		k.status(mailbox.Claimed, "c")
		for id := range old {
			d := k.get(id)
			between(k, "available_at", d.AvailableAt, before-2*time.Hour.Milliseconds(), k.now())
			if d.Status != mailbox.Queued || d.Attempts != 0 || d.Crashes != 1 || d.ClaimToken != "" || d.ClaimedBy != "" || d.LeaseUntil != 0 {
				k.Errorf("got %+v", plain(d))
			}
			if err := k.trySettle(mailbox.Settlement{Claim: old[id].Claim(), Status: mailbox.Acked}); !errors.Is(err, awaken.ErrFenced) {
				k.Errorf("error is %v, want ErrFenced", err)
			}
		}
		for _, d := range k.claim(10) {
			if old[d.ID] == nil || d.ClaimToken == old[d.ID].ClaimToken {
				k.Errorf("got %+v", plain(d))
			}
		}
	}},
	{"StopsAtTheLimit", func(k *kit) {
		for i := range 10 {
			k.enqueue(dispatch(number("t", i), number("d", i)))
		}
		k.claimFor(10, time.Second)
		k.Advance(time.Minute)
		equal(k, "reclaimed", []int{4, 4, 2, 0}, []int{k.reclaim(4), k.reclaim(4), k.reclaim(4), k.reclaim(4)})
	}},
	{"CountsNoMoreThanTheLastAttempt", func(k *kit) {
		k.enqueue(dispatch("t", "a", func(d *mailbox.Dispatch) { d.MaxAttempts = 1 }))
		for i := range 5 {
			equal(k, "claimed", 1, len(k.claimSuspects("worker", 1, 1)))
			k.Advance(2 * lease)
			equal(k, "reclaimed", 1, k.reclaim(10))
			equal(k, "attempts", min(max(i-1, 0), 1), k.get("a").Attempts)
		}
		// Only a worker can end the run, so it has to get it once more.
		d := k.claimSuspects("worker", 1, 1)[0]
		if d.Attempts != 1 || !d.Exhausted() {
			k.Errorf("got %+v", plain(d))
		}
	}},
	{"KeepsTheCancelFlag", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		k.claimFor(1, time.Second)
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Cancel = true
			t.Put = []*mailbox.Dispatch{&c}
		})
		k.Advance(time.Minute)
		equal(k, "reclaimed", 1, k.reclaim(10))
		equal(k, "cancel", true, k.claimOne("a").Cancel)
	}},
	{"SeesLeasesThatAChangeTouched", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimFor(1, time.Minute)[0]
		k.renew(time.Hour, d.Claim())
		k.Advance(10 * time.Minute)
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Cancel = true
			t.Put = []*mailbox.Dispatch{&c}
		})
		equal(k, "reclaimed", 0, k.reclaim(10))
		equal(k, "renewal", []mailbox.Renewal{{Cancel: true}}, k.renew(time.Second, d.Claim()))
		k.Advance(time.Minute)
		equal(k, "reclaimed", 1, k.reclaim(10))
	}},
}
