package mailboxtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// silence is how long the processes of these cases may be silent. The clock advances by itself,
// so it is longer than any case takes.
const silence = 10 * time.Minute

// join makes processes known.
func (k *kit) join(ids ...string) {
	k.Helper()
	for _, id := range ids {
		k.joined[process{k.Queue, id}] = true
		if err := k.Queue.Join(k.Context(), id, silence); err != nil {
			k.Fatalf("join %s: %v", id, err)
		}
	}
}

func (k *kit) beat(id string) {
	k.Helper()
	if err := k.Queue.Beat(k.Context(), id, silence); err != nil {
		k.Fatalf("beat %s: %v", id, err)
	}
}

// dead checks that a process cannot give a sign of life.
func (k *kit) dead(id string) {
	k.Helper()
	if err := k.Queue.Beat(k.Context(), id, silence); !errors.Is(err, awaken.ErrFenced) {
		k.Errorf("beat %s: %v, want ErrFenced", id, err)
	}
}

func (k *kit) leave(id string) {
	k.Helper()
	if err := k.Queue.Leave(k.Context(), id); err != nil {
		k.Fatalf("leave %s: %v", id, err)
	}
}

// claimAs claims for a process, up to ten, one suspect of them.
func (k *kit) claimAs(process string) []*mailbox.Dispatch {
	k.Helper()
	return k.claimSuspects(process, 10, 1)
}

func (k *kit) claimSuspects(process string, limit, suspects int) []*mailbox.Dispatch {
	k.Helper()
	ds, _, err := k.claimFrom(k.Queue, mailbox.ClaimRequest{Consumer: process, Lease: lease, Limit: limit, Suspects: suspects})
	if err != nil {
		k.Fatalf("claim: %v", err)
	}
	return ds
}

// kill lets a process die with its claims, and reclaims them.
func (k *kit) kill(process string, want int) {
	k.Helper()
	k.Advance(silence + time.Second)
	if n := k.reclaim(10); n != want {
		k.Fatalf("reclaimed %d of process %s, want %d", n, process, want)
	}
}

// counts checks how often a dispatch failed and its processes died.
func (k *kit) counts(id string, crashes, attempts int) {
	k.Helper()
	if d := k.get(id); d.Crashes != crashes || d.Attempts != attempts {
		k.Errorf("dispatch %s has %d crashes and %d attempts, want %d and %d", id, d.Crashes, d.Attempts, crashes, attempts)
	}
}

// suspects makes suspects of dispatches, each on its own thread.
func (k *kit) suspects(ds ...*mailbox.Dispatch) {
	k.Helper()
	k.enqueue(ds...)
	for i := range mailbox.SuspectCrashes {
		process := number("killed", i)
		k.join(process)
		if got := k.claimSuspects(process, len(ds), 0); len(got) != len(ds) {
			k.Fatalf("claimed %q", dispatchIDs(got))
		}
		k.kill(process, len(ds))
	}
}

var processCases = []testCase{
	{"ClaimsOfADeadProcessAreReclaimedBeforeTheirLease", func(k *kit) {
		k.join("p", "q")
		k.enqueue(dispatch("t1", "a"))
		d := k.claimAs("p")[0]
		k.enqueue(dispatch("t2", "b"))
		k.claimAs("q")
		equal(k, "reclaimed too early", 0, k.reclaim(10))
		k.Advance(silence / 2)
		k.beat("q")
		k.Advance(silence/2 + time.Second)
		before := k.now()
		equal(k, "reclaimed", 1, k.reclaim(10))
		got := k.get("a")
		between(k, "lost_at", got.LostAt, before, k.now())
		if since, ok := got.Between(); got.Status != mailbox.Queued || got.ClaimToken != "" || got.ClaimedBy != "" || got.LeaseUntil != 0 || !ok || since != got.LostAt {
			k.Errorf("got %+v", plain(got))
		}
		k.counts("a", 1, 0)
		k.status(mailbox.Claimed, "b")
		equal(k, "renewed", []mailbox.Renewal{{Lost: true}}, k.renew(lease, d.Claim()))
		if err := k.trySettle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("error is %v, want ErrFenced", err)
		}
		next := k.claimAs("q")
		equal(k, "claimed", []string{"a"}, dispatchIDs(next))
		k.as(next[0], mailbox.Queued)
		equal(k, "lost_at after it was settled", int64(0), k.get("a").LostAt)
	}},
	{"ADeadProcessStaysDead", func(k *kit) {
		k.dead("never")
		k.join("p")
		k.beat("p")
		k.Advance(silence + time.Second)
		k.dead("p") // before anything is reclaimed
		k.reclaim(10)
		k.dead("p")
		k.join("p2")
		k.beat("p2")
	}},
	{"OtherProcessesSeeHeartbeats", func(k *kit) {
		if k.Other == nil {
			return
		}
		k.join("p")
		k.enqueue(dispatch("t", "a"))
		k.claimAs("p")
		for range 3 {
			k.Advance(silence * 2 / 3)
			k.beat("p")
			if n, err := k.Other.Reclaim(k.Context(), 10); n != 0 || err != nil {
				k.Fatalf("another process reclaimed %d, %v", n, err)
			}
		}
		k.Advance(silence + time.Second)
		if n, err := k.Other.Reclaim(k.Context(), 10); n != 1 || err != nil {
			k.Fatalf("another process reclaimed %d, %v, want 1", n, err)
		}
		k.dead("p")
	}},
	{"OnlyLivingProcessesClaim", func(k *kit) {
		k.join("left", "silent", "buried")
		k.Advance(silence / 2)
		k.beat("left")
		k.leave("left")
		k.Advance(silence/2 + time.Second)
		k.enqueue(dispatch("t", "a"))
		refused := func(id string) {
			k.Helper()
			ds, _, err := k.Queue.Claim(k.Context(), mailbox.ClaimRequest{Consumer: id, Lease: lease, Limit: 1})
			if !errors.Is(err, awaken.ErrFenced) || len(ds) > 0 {
				k.Errorf("process %s claimed %q, %v, want ErrFenced", id, dispatchIDs(ds), err)
			}
		}
		refused("never")
		refused("left")
		refused("silent") // before anything is reclaimed
		k.reclaim(10)
		refused("buried")
		k.status(mailbox.Queued, "a")
		k.counts("a", 0, 0)
		k.join("left") // again, as a new process
		equal(k, "claimed", []string{"a"}, dispatchIDs(k.claimAs("left")))
	}},
	{"NothingStaysClaimedByAProcessThatLeft", func(k *kit) {
		// Claims are on their way while their process leaves. Each is refused, or released.
		for round := range 30 {
			p := number("p", round)
			k.join(p)
			for i := range 4 {
				k.enqueue(dispatch(fmt.Sprintf("t%d-%d", round, i), fmt.Sprintf("d%d-%d", round, i)))
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for range 3 {
						_, _, err := k.Queue.Claim(k.Context(), mailbox.ClaimRequest{Consumer: p, Lease: lease, Limit: 1})
						if err != nil && !errors.Is(err, awaken.ErrFenced) {
							k.Error(err)
						}
					}
				})
			}
			k.leave(p)
			wg.Wait()
			counts, err := k.Queue.Counts(k.Context())
			if err != nil || counts[mailbox.Claimed] != 0 || counts[mailbox.Queued] != 4*(round+1) {
				k.Fatalf("counts are %v, %v, want %d that are queued", counts, err, 4*(round+1))
			}
		}
	}},
	{"ClaimsOfALivingProcessEndWithTheirLease", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		k.claimFor(1, 3*silence)
		k.Advance(2 * silence)
		equal(k, "reclaimed", 0, k.reclaim(10))
		k.Advance(2 * silence)
		equal(k, "reclaimed", 1, k.reclaim(10))
		k.counts("a", 1, 0)
		equal(k, "lost", true, k.get("a").LostAt > 0)
	}},
	{"LeavingReleasesClaimsAtNoCost", func(k *kit) {
		k.join("p")
		k.enqueue(dispatch("t1", "a"), dispatch("t2", "b"))
		ds := k.claimAs("p")
		k.leave("p")
		k.leave("p")
		k.leave("never")
		k.dead("p")
		for _, d := range ds {
			k.counts(d.ID, 0, 0)
			k.status(mailbox.Queued, d.ID)
			equal(k, "lost_at", int64(0), k.get(d.ID).LostAt)
			equal(k, "renewed", []mailbox.Renewal{{Lost: true}}, k.renew(lease, d.Claim()))
		}
		equal(k, "claimed", 2, len(k.claim(10)))
	}},
	{"LeavingKeepsTheClaimsOfOthers", func(k *kit) {
		k.join("p", "q")
		k.enqueue(dispatch("t1", "a"))
		k.claimAs("p")
		k.enqueue(dispatch("t2", "b"))
		k.claimAs("q")
		k.leave("p")
		k.status(mailbox.Queued, "a")
		k.status(mailbox.Claimed, "b")
		k.beat("q")
	}},
	{"ReclaimTakesAllClaimsOfAProcessAtOnce", func(k *kit) {
		k.join("p")
		for i := range 10 {
			k.enqueue(dispatch(number("t", i), number("d", i)))
		}
		equal(k, "claimed", 10, len(k.claimAs("p")))
		k.Advance(silence + time.Second)
		equal(k, "reclaimed", 10, k.reclaim(1))
		for i := range 10 {
			k.counts(number("d", i), 1, 0)
		}
	}},
}

var blameCases = []testCase{
	{"DeathsMakeSuspectsAndCostNoAttempt", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		for i := range mailbox.SuspectCrashes {
			equal(k, "suspect", false, k.get("a").Suspect())
			k.join(number("p", i))
			k.claimAs(number("p", i))
			k.kill(number("p", i), 1)
			k.counts("a", i+1, 0)
		}
		equal(k, "suspect", true, k.get("a").Suspect())
	}},
	{"ASuspectThatRanAloneIsToBlame", func(k *kit) {
		k.suspects(dispatch("t1", "suspect"))
		k.enqueue(dispatch("t2", "innocent"))
		for i := range 3 {
			k.join(number("q", i))
			equal(k, "claimed", []string{"suspect"}, dispatchIDs(k.claimSuspects(number("q", i), 1, 1)))
			k.kill(number("q", i), 1)
			k.counts("suspect", mailbox.SuspectCrashes+i+1, i+1)
			k.counts("innocent", 0, 0)
		}
	}},
	{"ASuspectInCompanyIsNotToBlame", func(k *kit) {
		k.suspects(dispatch("t1", "suspect"))
		k.enqueue(dispatch("t2", "unknown"))
		for i := range 3 {
			k.join(number("q", i))
			equal(k, "claimed", 2, len(k.claimSuspects(number("q", i), 2, 2)))
			k.kill(number("q", i), 2)
			k.counts("suspect", mailbox.SuspectCrashes+i+1, 0)
			k.counts("unknown", i+1, 0)
		}
	}},
	{"AttemptsStayWithinTheLimit", func(k *kit) {
		twice := func(d *mailbox.Dispatch) { d.MaxAttempts = 2 }
		k.suspects(dispatch("t1", "a", twice), dispatch("t2", "b", twice))
		for i := range 5 {
			k.join(number("q", i))
			ds := k.claimSuspects(number("q", i), 1, 1)
			k.kill(number("q", i), 1)
			equal(k, "attempts", true, k.get(ds[0].ID).Attempts <= 2)
		}
		for i := range 8 {
			for _, d := range k.claimSuspects("worker", 1, 1) {
				k.Advance(lease + time.Second)
				equal(k, "reclaimed", 1, k.reclaim(10))
				equal(k, "attempts after an expired lease", true, k.get(d.ID).Attempts <= 2)
			}
			if i == 7 {
				equal(k, "exhausted", true, k.get("a").Exhausted() && k.get("b").Exhausted())
			}
		}
	}},
	{"AnExpiredLeaseCostsOnlyASuspectThatRanAlone", func(k *kit) {
		expire := func(process string, suspects, want int) {
			k.Helper()
			k.join(process)
			equal(k, "claimed", want, len(k.claimSuspects(process, want, suspects)))
			for at := time.Duration(0); at <= lease; at += silence / 2 {
				k.Advance(silence / 2)
				k.beat(process)
			}
			equal(k, "reclaimed", want, k.reclaim(10))
		}
		k.enqueue(dispatch("t1", "a"), dispatch("t2", "b"))
		for i := range mailbox.SuspectCrashes {
			expire(number("p", i), 0, 2)
		}
		k.counts("a", 2, 0)
		k.counts("b", 2, 0)
		expire("both", 2, 2)
		k.counts("a", 3, 0)
		k.counts("b", 3, 0)
		k.as(k.claimSuspects("both", 1, 1)[0], mailbox.Acked)
		expire("alone", 1, 1)
		if a, b := k.get("a"), k.get("b"); a.Attempts+b.Attempts != 1 || a.Crashes+b.Crashes != 7 {
			k.Errorf("the dispatches have %d and %d attempts, %d and %d crashes", a.Attempts, b.Attempts, a.Crashes, b.Crashes)
		}
	}},
	{"SuspectsAreFound", func(k *kit) {
		found := func() bool {
			ok, err := k.Queue.Suspects(k.Context())
			if err != nil {
				k.Fatal(err)
			}
			return ok
		}
		k.suspects(dispatch("t1", "s"))
		k.enqueue(dispatch("t", "a"))
		equal(k, "with one", true, found())
		d := k.claimSuspects("worker", 1, 1)[0]
		equal(k, "with one that is claimed", false, found())
		equal(k, "claimed", []string{"a"}, dispatchIDs(k.claimSuspects("worker", 10, 10)))
		k.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Queued})
		equal(k, "with one that is queued again", true, found())
	}},
	{"ClaimTakesOnlyAsManySuspectsAsItMay", func(k *kit) {
		k.suspects(dispatch("t1", "s1"), dispatch("t2", "s2"), dispatch("t3", "s3"))
		k.enqueue(dispatch("t4", "a", priority(200)))
		equal(k, "claimed with none allowed", []string{"a"}, dispatchIDs(k.claimSuspects("p", 10, 0)))
		equal(k, "claimed again", 0, len(k.claimSuspects("p", 10, 0)))
		equal(k, "claimed with one allowed", 1, len(k.claimSuspects("p", 10, 1)))
		equal(k, "claimed with ten allowed", 2, len(k.claimSuspects("p", 10, 10)))
	}},
	{"SuspectsCountAgainstTheLimit", func(k *kit) {
		k.suspects(dispatch("t1", "s1"), dispatch("t2", "s2"))
		k.enqueue(dispatch("t3", "a"), dispatch("t4", "b"))
		ds := k.claimSuspects("p", 2, 1)
		equal(k, "claimed", 2, len(ds))
		equal(k, "suspects first", []bool{true, false}, []bool{ds[0].Suspect(), ds[1].Suspect()})
		equal(k, "claimed with a limit of one", []bool{true}, suspectOf(k.claimSuspects("p", 1, 5)))
	}},
	{"ASuspectThatWaitsStaysOne", func(k *kit) {
		k.suspects(dispatch("t", "s"))
		d := k.claimSuspects("p", 1, 1)[0]
		k.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Queued, Delay: time.Minute})
		k.Advance(2 * time.Minute)
		equal(k, "claimed as no suspect", 0, len(k.claimSuspects("p", 1, 0)))
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Revision++
			t.Put = []*mailbox.Dispatch{&c}
		})
		equal(k, "claimed as no suspect after a change", 0, len(k.claimSuspects("p", 1, 0)))
		equal(k, "claimed as a suspect", 1, len(k.claimSuspects("p", 1, 1)))
		k.counts("s", mailbox.SuspectCrashes, 0)
	}},
	{"ProgressClearsASuspect", func(k *kit) {
		k.suspects(dispatch("t1", "s1"), dispatch("t2", "s2"))
		for _, d := range k.claimSuspects("p", 2, 2) {
			c := d.Claim()
			c.Steps++
			if d.ID == "s1" {
				k.renew(lease, c)
				k.counts("s1", 0, 0)
				k.settle(mailbox.Settlement{Claim: c, Status: mailbox.Queued})
			} else {
				k.settle(mailbox.Settlement{Claim: c, Status: mailbox.Queued, Failed: true})
			}
		}
		k.counts("s1", 0, 0)
		k.counts("s2", 0, 1)
		got := dispatchIDs(k.claimSuspects("p", 2, 0))
		slices.Sort(got)
		equal(k, "claimed as no suspects", []string{"s1", "s2"}, got)
	}},
	{"AThreadWithASuspectIsOne", func(k *kit) {
		k.suspects(dispatch("t", "s"))
		k.enqueue(dispatch("t", "next"))
		equal(k, "claimed as no suspect", 0, len(k.claimSuspects("p", 2, 0)))
		d := k.claimSuspects("p", 2, 1)[0]
		equal(k, "claimed", "s", d.ID)
		k.as(d, mailbox.Acked)
		equal(k, "claimed once the suspect is done", []string{"next"}, dispatchIDs(k.claimSuspects("p", 2, 0)))
	}},
}

func suspectOf(ds []*mailbox.Dispatch) []bool {
	var out []bool
	for _, d := range ds {
		out = append(out, d.Suspect())
	}
	return out
}
