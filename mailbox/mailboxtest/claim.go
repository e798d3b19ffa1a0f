package mailboxtest

import (
	"context"
	"testing"
	"time"

	"github.com/awaken-go/awaken/mailbox"
)

// next is how long a claim that finds nothing says it will take.
func (k *kit) next() time.Duration {
	k.Helper()
	ds, next, err := k.claimFrom(k.Queue, mailbox.ClaimRequest{Consumer: "worker", Lease: lease, Limit: 10})
	if err != nil || len(ds) > 0 {
		k.Fatalf("claimed %q, %v", dispatchIDs(ds), err)
	}
	return next
}

// claimExcept claims, with up to two suspects, of all tenants but some.
func (k *kit) claimExcept(limit int, tenants ...string) []*mailbox.Dispatch {
	k.Helper()
	ds, _, err := k.claimFrom(k.Queue, mailbox.ClaimRequest{Consumer: "worker", Lease: lease, Limit: limit, Suspects: 2, Except: tenants})
	if err != nil {
		k.Fatalf("claim: %v", err)
	}
	return ds
}

var claimCases = []testCase{
	{"ClaimsQueuedDispatches", func(k *kit) {
		k.enqueue(dispatch("t", "a", idempotent("key"), dedupe("dk"), priority(9)))
		before := k.now()
		d := k.claimOne("a")
		now := k.now()
		between(k, "lease_until", d.LeaseUntil, before+lease.Milliseconds(), now+lease.Milliseconds())
		between(k, "updated_at", d.UpdatedAt, before, now)
		if d.Status != mailbox.Claimed || d.ClaimToken == "" || d.ClaimedBy != "worker" || d.Attempts != 0 || d.Tenant != "" || d.CompletedAt != 0 {
			k.Errorf("got %+v", plain(d))
		}
		same(k, "stored", d, k.get("a"))
		if d.Request.Messages[0].Text() != "a" {
			k.Errorf("request is %+v", d.Request)
		}
		k.nothing()
	}},
	{"OfAnEmptyQueueIsEmpty", func(k *kit) { equal(k, "next", time.Duration(0), k.next()) }},
	{"WithLimitZeroClaimsNothing", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		if ds := k.claim(0); len(ds) > 0 {
			k.Errorf("claimed %q", dispatchIDs(ds))
		}
	}},
	{"WaitsUntilAvailable", func(k *kit) {
		k.enqueue(dispatch("t", "a", after(time.Minute)))
		k.nothing()
		k.Advance(30 * time.Second)
		k.nothing()
		k.Advance(31 * time.Second)
		k.claimOne("a")
	}},
	{"ClaimsAvailableDispatchesFirst", func(k *kit) {
		k.enqueue(dispatch("t", "later", priority(0), after(time.Hour)), dispatch("t", "now"))
		d := k.claimOne("now")
		k.Advance(2 * time.Hour)
		k.reclaim(10)
		k.as(k.claimOne("later"), mailbox.Acked)
		equal(k, "token of now", false, k.claimOne("now").ClaimToken == d.ClaimToken)
	}},
	{"OrdersByPriorityThenAge", func(k *kit) {
		k.enqueue(dispatch("t1", "old"), dispatch("t1", "urgent", priority(5)))
		k.Advance(time.Second)
		k.enqueue(dispatch("t2", "first", priority(0)), dispatch("t3", "last", priority(255)))
		k.Advance(time.Second)
		k.enqueue(dispatch("t4", "usual"))
		var got []string
		for {
			ds := k.claim(1)
			if len(ds) == 0 {
				break
			}
			got = append(got, ds[0].ID)
			k.as(ds[0], mailbox.Acked)
			k.Advance(time.Second)
		}
		// t1 became free after usual had become ready.
		equal(k, "order", []string{"first", "urgent", "usual", "old", "last"}, got)
	}},
	{"ClaimsAThreadsDispatchesInOrder", func(k *kit) {
		want := []string{}
		for i := range 10 {
			k.enqueue(dispatch("t", number("d", i)))
			want = append(want, number("d", i))
			k.Advance(time.Millisecond)
		}
		got := []string{}
		for range want {
			d := k.claim(10)
			if len(d) != 1 {
				k.Fatalf("claimed %q", dispatchIDs(d))
			}
			got = append(got, d[0].ID)
			k.as(d[0], mailbox.Acked)
		}
		equal(k, "order", want, got)
	}},
	{"KeepsTheOrderOfARetry", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		k.Advance(time.Second)
		k.enqueue(dispatch("t", "b"))
		k.settle(mailbox.Settlement{Claim: k.claimOne("a").Claim(), Status: mailbox.Queued, Failed: true})
		k.claimOne("a") // it is still the oldest
	}},
	{"ClaimsOnePerThread", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("t", "b"), dispatch("t", "c", priority(0)))
		k.claimOne("c")
		k.nothing()
		k.enqueue(dispatch("t", "d", priority(0)))
		k.nothing()
		k.Advance(2 * lease)
		k.nothing() // an expired lease is a claim until it is reclaimed
	}},
	{"ClaimsUpToTheLimit", func(k *kit) {
		for i := range 10 {
			k.enqueue(dispatch(number("t", i), number("a", i)), dispatch(number("t", i), number("b", i)))
			k.Advance(time.Second)
		}
		first, second, third := k.claim(3), k.claim(5), k.claim(5)
		equal(k, "first", []string{"a0000", "a0001", "a0002"}, dispatchIDs(first))
		equal(k, "second", []string{"a0003", "a0004", "a0005", "a0006", "a0007"}, dispatchIDs(second))
		equal(k, "third", []string{"a0008", "a0009"}, dispatchIDs(third))
		k.nothing()
	}},
	{"GivesFreshTokens", func(k *kit) {
		seen := map[string]bool{}
		for i := range 20 {
			k.enqueue(dispatch(number("t", i), number("d", i)))
		}
		for range 3 {
			for _, d := range k.claim(20) {
				if d.ClaimToken == "" || seen[d.ClaimToken] {
					k.Errorf("token is %q again", d.ClaimToken)
				}
				seen[d.ClaimToken] = true
				k.as(d, mailbox.Queued)
			}
		}
		equal(k, "tokens", 60, len(seen))
	}},
	{"IsFairToThreads", func(k *kit) {
		for i := range 20 {
			k.enqueue(dispatch("many", number("m", i)))
		}
		k.Advance(time.Second)
		k.enqueue(dispatch("one", "x1"), dispatch("one", "x2"))
		k.Advance(time.Second)
		k.enqueue(dispatch("two", "y1"))
		var got []string
		for range 6 {
			k.Advance(time.Second)
			d := k.claim(1)[0]
			got = append(got, d.ID)
			k.Advance(time.Second)
			k.as(d, mailbox.Acked)
		}
		equal(k, "order", []string{"m0000", "x1", "y1", "m0001", "x2", "m0002"}, got)
	}},
	{"OrdersByEndOfDelay", func(k *kit) {
		k.enqueue(dispatch("a", "delayed", after(time.Minute)))
		k.Advance(time.Second)
		k.enqueue(dispatch("b", "ready"))
		k.Advance(2 * time.Minute)
		equal(k, "order", []string{"ready", "delayed"}, dispatchIDs(k.claim(2)))
	}},
	{"ReturnsWhenMoreIsAvailable", func(k *kit) {
		check := func(want time.Duration) {
			k.Helper()
			if next := k.next(); next <= want-10*time.Second || next > want {
				k.Errorf("next is %v, want %v", next, want)
			}
		}
		k.enqueue(dispatch("a", "a", after(3*time.Minute)), dispatch("b", "b", after(2*time.Minute)), dispatch("b", "b0", after(time.Hour), priority(0)))
		check(2 * time.Minute)
		k.Advance(time.Minute)
		check(time.Minute)
		k.Advance(k.next())
		b := k.claimOne("b")
		check(time.Minute) // of a: b's thread is claimed
		k.Advance(k.next())
		a := k.claimOne("a")
		equal(k, "next", time.Duration(0), k.next())
		k.as(b, mailbox.Acked)
		check(time.Hour - 3*time.Minute)
		k.settle(mailbox.Settlement{Claim: a.Claim(), Status: mailbox.Queued, Delay: time.Second})
		if next := k.next(); next <= 0 || next > time.Second {
			k.Errorf("next is %v, want up to a second", next)
		}
	}},
	{"OfExceptedTenantsClaimsNothing", func(k *kit) {
		for i := range 3 { // each a second after the one before
			for _, tenant := range []string{"a", "b", "c", ""} {
				name := number(tenant, i)
				if left, err := k.Queue.Handle(tenant).Enqueue(k.Context(), mailbox.Terms{}, dispatch(name, name)); err != nil || len(left) > 0 {
					k.Fatalf("left %v, %v", left, err)
				}
				k.Advance(time.Second)
			}
		}
		if left, err := k.Queue.Handle("c").Enqueue(k.Context(), mailbox.Terms{}, dispatch("urgent", "urgent", priority(0))); err != nil || len(left) > 0 {
			k.Fatalf("left %v, %v", left, err)
		}
		equal(k, "the first two of two tenants", []string{"urgent", "c0000"}, dispatchIDs(k.claimExcept(2, "a", "b")))
		equal(k, "all of two tenants, in order", []string{"b0000", "0000", "b0001", "0001", "b0002", "0002"}, dispatchIDs(k.claimExcept(10, "c", "unknown", "a", "a")))
		equal(k, "those that are left", []string{}, dispatchIDs(k.claimExcept(10, "a", "c")))
		equal(k, "with none excepted", []string{"a0000", "a0001", "c0001", "a0002", "c0002"}, dispatchIDs(k.claimExcept(10)))
	}},
	{"OfExceptedTenantsClaimsNoSuspects", func(k *kit) {
		k.suspects(dispatch("t1", "s1"), dispatch("t2", "s2"), dispatch("t3", "s3"))
		k.enqueue(dispatch("t4", "a"))
		if left, err := k.Queue.Handle("other").Enqueue(k.Context(), mailbox.Terms{}, dispatch("t5", "b")); err != nil || len(left) > 0 {
			k.Fatalf("left %v, %v", left, err)
		}
		equal(k, "of another tenant", []string{"b"}, dispatchIDs(k.claimExcept(10, "")))
		got := k.claimExcept(3, "other")
		equal(k, "suspects first, and no more than allowed", []bool{true, true, false}, suspectOf(got))
	}},
	{"WithACancelledContextLosesNothing", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		ctx, cancel := context.WithCancel(k.Context())
		cancel()
		// Whether it took something or not, a reclaim gives it back.
		_, _, _ = k.Queue.Claim(ctx, mailbox.ClaimRequest{Consumer: "gone", Lease: time.Second, Limit: 1})
		k.Advance(time.Minute)
		k.reclaim(10)
		k.claimOne("a")
	}},
}

var listenCases = []testCase{
	{"SignalsChangesOfItsOwnAtOnce", func(k *kit) {
		l, ok := k.Queue.(mailbox.Listener)
		if !ok {
			k.Skip("the queue is no Listener")
		}
		ctx, stop := context.WithCancel(k.Context())
		heard, stopped := make(chan mailbox.Signal, 100), make(chan struct{})
		go func() {
			defer close(stopped)
			_ = l.Listen(ctx, func(s mailbox.Signal) { heard <- s })
		}()
		<-heard
		k.enqueue(dispatch("t", "a"))
		select {
		case s := <-heard:
			equal(k, "signal", mailbox.Signal{Ready: true}, s)
		default:
			k.Error("nothing was heard")
		}
		time.Sleep(100 * time.Millisecond)
		if len(heard) > 0 {
			k.Errorf("it was heard again: %+v", <-heard)
		}
		k.join("p")
		d := dispatch("u", "b", priority(1))
		if !k.start(d) {
			k.Error("not claimed")
		}
		o := k.owns(d)
		o.commit()
		if settled, err := o.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}, nil, done); !settled || err != nil {
			k.Errorf("settled is %t, %v", settled, err)
		}
		time.Sleep(100 * time.Millisecond)
		if len(heard) > 0 {
			k.Errorf("a run that begins at once and ends was heard: %+v", <-heard)
		}
		stop()
		<-stopped
	}},
	{"SignalsChangesByOthers", func(k *kit) {
		l, ok := k.Queue.(mailbox.Listener)
		if !ok {
			k.Skip("the queue is no Listener")
		}
		other := k.Queue
		if k.Other != nil {
			other = k.Other
		}
		ctx, stop := context.WithCancel(k.Context())
		heard, stopped := make(chan mailbox.Signal, 100), make(chan struct{})
		go func() {
			defer close(stopped)
			_ = l.Listen(ctx, func(s mailbox.Signal) {
				select {
				case heard <- s:
				default:
				}
			})
		}()
		wait := func(what string, want mailbox.Signal) {
			k.Helper()
			select {
			case s := <-heard:
				equal(k, "signal when "+what, want, s)
			case <-time.After(30 * time.Second):
				k.Fatalf("%s: nothing was heard", what)
			}
		}
		// quiet waits until what was announced so far has been heard.
		quiet := func() {
			for {
				select {
				case <-heard:
				case <-time.After(100 * time.Millisecond):
					return
				}
			}
		}
		wait("the beginning", mailbox.Signal{Ready: true, Cancelled: true})
		quiet()
		if left, err := other.Handle("").Enqueue(ctx, mailbox.Terms{}, dispatch("t", "a")); err != nil || len(left) > 0 {
			k.Fatal(left, err)
		}
		wait("a dispatch was queued", mailbox.Signal{Ready: true})
		d := k.claimOne("a")
		quiet()
		err := other.Handle("").Change(ctx, "t", func(t *mailbox.Thread) error {
			c := *t.Live[0]
			c.Cancel = true
			t.Put = []*mailbox.Dispatch{&c}
			return nil
		})
		if err != nil {
			k.Fatal(err)
		}
		wait("a claim was cancelled", mailbox.Signal{Cancelled: true})
		quiet()
		err = other.Handle("x").Change(ctx, "u", func(t *mailbox.Thread) error {
			t.Create, t.Put = true, []*mailbox.Dispatch{queued(t, "b")}
			return nil
		})
		if err != nil {
			k.Fatal(err)
		}
		wait("a dispatch was put", mailbox.Signal{Ready: true})
		quiet()
		if errs, err := other.Settle(ctx, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Queued}); err != nil || errs[0] != nil {
			k.Fatal(errs, err)
		}
		wait("a claim was given back", mailbox.Signal{Ready: true})
		stop()
		select {
		case <-stopped:
		case <-time.After(30 * time.Second):
			k.Fatal("Listen did not return when its context was done")
		}
	}},
}

var _ testing.TB = (*kit)(nil)
