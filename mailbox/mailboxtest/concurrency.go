package mailboxtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// together calls fn n times at once, with a queue for each, and waits.
func (k *kit) together(n int, fn func(i int, q mailbox.Queue)) {
	k.Helper()
	var wg sync.WaitGroup
	queues := k.queues()
	for i := range n {
		wg.Go(func() { fn(i, queues[i%len(queues)]) })
	}
	wg.Wait()
}

var concurrencyCases = []testCase{
	{"EachDispatchRunsOnceAndAloneOnItsThread", func(k *kit) {
		const threads, each = 7, 30
		for i := range threads * each {
			k.enqueue(dispatch(number("t", i%threads), number("d", i), priority(i%3)))
		}
		var busy [threads]atomic.Int32
		var left atomic.Int32
		left.Store(threads * each)
		k.together(8, func(i int, q mailbox.Queue) {
			for left.Load() > 0 && !k.Failed() {
				ds, _, err := k.claimFrom(q, mailbox.ClaimRequest{Consumer: number("w", i), Lease: lease, Limit: 1 + i%3})
				if err != nil {
					k.Error(err)
					return
				}
				var batch []mailbox.Settlement
				var held []mailbox.Claim
				for _, d := range ds {
					held = append(held, d.Claim())
					if n := busy[threadOf(d)].Add(1); n != 1 {
						k.Errorf("thread %s is claimed %d times", d.ThreadID, n)
					}
					batch = append(batch, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked})
				}
				if renewals, err := q.Renew(k.Context(), lease, held...); err != nil || slices.Contains(renewals, mailbox.Renewal{Lost: true}) {
					k.Errorf("renewals are %v, %v", renewals, err)
				}
				for _, d := range ds {
					busy[threadOf(d)].Add(-1)
				}
				errs, err := q.Settle(k.Context(), batch...)
				if err := errors.Join(append(errs, err)...); err != nil {
					k.Error(err)
				}
				left.Add(-int32(len(ds)))
			}
		})
		counts, err := k.Queue.Counts(k.Context())
		if err != nil || counts[mailbox.Acked] != threads*each {
			k.Errorf("counts are %v, %v", counts, err)
		}
	}},
	{"ARunIsAcceptedOnce", func(k *kit) {
		// A client names a run on several threads at once, by Enqueue and by Change.
		for i := range 20 {
			var accepted atomic.Int32
			k.together(6, func(n int, q mailbox.Queue) {
				id, thread, again := fmt.Sprintf("d%d-%d", i, n), fmt.Sprintf("t%d-%d", i, n), func(d *mailbox.Dispatch) { d.RunID = number("run", i) }
				var left []int
				var err error
				if n%3 < 2 {
					left, err = q.Handle("").Enqueue(k.Context(), mailbox.Terms{}, dispatch(thread, id, again))
				} else {
					err = q.Handle("").Change(k.Context(), thread, func(t *mailbox.Thread) error {
						d := queued(t, id, again)
						t.Create, t.Put, t.Runs = true, []*mailbox.Dispatch{d}, []*awaken.Run{created(d)}
						return nil
					})
				}
				switch {
				case err == nil && len(left) == 0:
					accepted.Add(1)
				case err != nil && !errors.Is(err, mailbox.ErrDuplicate):
					k.Error(err)
				}
			})
			if n := accepted.Load(); n != 1 {
				k.Errorf("run %d was accepted %d times", i, n)
			}
		}
	}},
	{"EachDispatchIsSettledOnce", func(k *kit) {
		// Workers claim, renew, settle, give back and lose their leases, while others
		// enqueue, cancel and interrupt. However that goes, each dispatch ends once.
		const threads, workers, turns = 4, 8, 60
		var settled sync.Map // dispatch id -> status
		end := func(id string, how mailbox.Status) {
			if was, twice := settled.LoadOrStore(id, how); twice {
				k.Errorf("dispatch %s ended as %s and as %s", id, was, how)
			}
		}
		cancelQueued := func(q mailbox.Queue, thread string) error {
			var ids []string
			err := q.Handle("").Change(k.Context(), thread, func(t *mailbox.Thread) error {
				ids = nil
				t.RaiseEpoch = true
				for _, d := range t.Live {
					c := *d
					if c.Cancel = true; c.Status == mailbox.Queued {
						c.Status, c.CompletedAt = mailbox.Superseded, t.Now
						ids = append(ids, c.ID)
					}
					t.Put = append(t.Put, &c)
				}
				return nil
			})
			if err == nil {
				for _, id := range ids {
					end(id, mailbox.Superseded)
				}
			}
			return err
		}
		var made atomic.Int32
		for i := range threads {
			k.enqueue(dispatch(number("t", i), number("first", i)))
			made.Add(1)
		}
		k.together(workers, func(i int, q mailbox.Queue) {
			rnd := rand.New(rand.NewPCG(uint64(i), 7))
			for turn := range turns {
				var err error
				switch rnd.IntN(10) {
				case 0, 1, 2:
					id := fmt.Sprintf("d%d-%d", i, turn)
					_, err = q.Handle("").Enqueue(k.Context(), mailbox.Terms{}, dispatch(number("t", rnd.IntN(threads)), id, priority(rnd.IntN(3))))
					made.Add(1)
				case 3:
					err = cancelQueued(q, number("t", rnd.IntN(threads)))
				case 4:
					k.Advance(time.Second)
					_, err = q.Reclaim(k.Context(), 10)
				default:
					var ds []*mailbox.Dispatch
					lease := time.Duration(rnd.IntN(3)) * time.Second
					ds, _, err = k.claimFrom(q, mailbox.ClaimRequest{Consumer: number("w", i), Lease: lease, Limit: 2, Suspects: 2})
					for _, d := range ds {
						s := mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}
						if rnd.IntN(2) == 0 {
							s.Status, s.Failed = mailbox.Queued, true
						}
						if rnd.IntN(3) == 0 {
							_, err = q.Renew(k.Context(), time.Second, d.Claim())
						}
						errs, e := q.Settle(k.Context(), s)
						switch {
						case e != nil:
							err = e
						case errs[0] == nil && s.Status == mailbox.Acked:
							end(d.ID, mailbox.Acked)
						case errs[0] != nil && !errors.Is(errs[0], awaken.ErrFenced):
							err = errs[0]
						}
					}
				}
				if err != nil {
					k.Error(err)
				}
			}
		})
		k.Advance(time.Hour)
		for i := 0; ; i++ {
			k.reclaim(1000)
			ds := k.claimAll()
			if len(ds) == 0 {
				break
			}
			for _, d := range ds {
				k.as(d, mailbox.Acked)
				end(d.ID, mailbox.Acked)
			}
		}
		counts, err := k.Queue.Counts(k.Context())
		if err != nil || counts[mailbox.Acked]+counts[mailbox.Superseded] != int(made.Load()) {
			k.Errorf("counts are %v, %v; %d were queued", counts, err, made.Load())
		}
		settled.Range(func(id, status any) bool {
			k.status(status.(mailbox.Status), id.(string))
			return true
		})
	}},
	{"ReclaimCountsEachOnce", func(k *kit) {
		const n = 40
		for i := range n {
			k.enqueue(dispatch(number("t", i), number("d", i)))
		}
		k.claimFor(n, time.Second)
		k.Advance(time.Minute)
		var sum atomic.Int32
		k.together(8, func(_ int, q mailbox.Queue) {
			for range 3 {
				got, err := q.Reclaim(k.Context(), n)
				if err != nil {
					k.Error(err)
				}
				sum.Add(int32(got))
			}
		})
		sum.Add(int32(k.reclaim(n)))
		equal(k, "reclaimed", int32(n), sum.Load())
		for i := range n {
			equal(k, "crashes", 1, k.get(number("d", i)).Crashes)
		}
	}},
	{"ChangesOfAThreadAreSerialised", func(k *kit) {
		const workers, turns = 8, 10
		k.enqueue(dispatch("t", "a"))
		k.together(workers, func(_ int, q mailbox.Queue) {
			for range turns {
				err := q.Handle("").Change(k.Context(), "t", func(t *mailbox.Thread) error {
					c := *t.Live[0]
					c.Revision++
					t.Put, t.RaiseEpoch = []*mailbox.Dispatch{&c}, true
					return nil
				})
				if err != nil {
					k.Error(err)
				}
			}
		})
		equal(k, "revision", workers*turns, k.get("a").Revision)
		equal(k, "epoch", uint64(workers*turns), k.look("t").Epoch)
	}},
	{"ManyCreateOneThread", func(k *kit) {
		k.together(8, func(i int, q mailbox.Queue) {
			var err error
			switch i % 3 {
			case 0:
				_, err = q.Handle("").Enqueue(k.Context(), mailbox.Terms{}, dispatch("t", number("d", i)))
			case 1:
				err = q.Handle("").Change(k.Context(), "t", func(t *mailbox.Thread) error {
					t.Create, t.Put = true, []*mailbox.Dispatch{queued(t, number("d", i))}
					return nil
				})
			case 2:
				_, err = q.Handle("").Acquire(k.Context(), "t")
				if err == nil {
					_, err = q.Handle("").Enqueue(k.Context(), mailbox.Terms{}, dispatch("t", number("d", i)))
				}
			}
			if err != nil {
				k.Error(err)
			}
		})
		equal(k, "live", 8, len(k.look("t").Live))
	}},
	{"AKeyIsUsedOnce", func(k *kit) {
		const workers = 8
		var won [3]atomic.Int32
		k.together(workers, func(i int, q mailbox.Queue) {
			for round := range 10 {
				key := number("key", round)
				left, err := q.Handle("").Enqueue(k.Context(), mailbox.Terms{}, dispatch(number("t", i), fmt.Sprintf("i%d-%d", round, i), idempotent(key)))
				if err != nil {
					k.Error(err)
				} else if len(left) == 0 {
					won[0].Add(1)
				}
				left, err = q.Handle("").Enqueue(k.Context(), mailbox.Terms{}, dispatch("one", fmt.Sprintf("d%d-%d", round, i), dedupe(key)))
				if err != nil {
					k.Error(err)
				} else if len(left) == 0 {
					won[1].Add(1)
				}
				err = q.Handle("").Change(k.Context(), number("u", i), func(t *mailbox.Thread) error {
					t.Create, t.Put = true, []*mailbox.Dispatch{queued(t, fmt.Sprintf("c%d-%d", round, i), idempotent("change "+key))}
					return nil
				})
				if err == nil {
					won[2].Add(1)
				} else if !errors.Is(err, mailbox.ErrDuplicate) {
					k.Error(err)
				}
			}
		})
		for i, what := range []string{"idempotency keys of Enqueue", "dedupe keys", "idempotency keys of Change"} {
			equal(k, what, int32(10), won[i].Load())
		}
	}},
	{"BatchesAreAtomic", func(k *kit) {
		// Batches name the same threads in different orders.
		const workers, turns, threads = 6, 8, 5
		k.together(workers, func(i int, q mailbox.Queue) {
			for turn := range turns {
				var ds []*mailbox.Dispatch
				for j := range threads {
					ds = append(ds, dispatch(number("t", (i+j)%threads), fmt.Sprintf("d%d-%d-%d", i, turn, j)))
				}
				if i%2 == 1 {
					slices.Reverse(ds)
				}
				left, err := q.Handle("").Enqueue(k.Context(), mailbox.Terms{}, ds...)
				if err != nil || len(left) > 0 {
					k.Errorf("left %v, %v", left, err)
				}
				claimed, _, err := k.claimFrom(q, mailbox.ClaimRequest{Consumer: "w", Lease: lease, Limit: threads})
				if err != nil {
					k.Error(err)
				}
				var batch []mailbox.Settlement
				for _, d := range claimed {
					batch = append(batch, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked})
				}
				errs, err := q.Settle(k.Context(), batch...)
				if err := errors.Join(append(errs, err)...); err != nil {
					k.Error(err)
				}
			}
		})
		counts, err := k.Queue.Counts(k.Context())
		if err != nil || counts[mailbox.Queued]+counts[mailbox.Acked] != workers*turns*threads || counts[mailbox.Claimed] != 0 {
			k.Errorf("counts are %v, %v", counts, err)
		}
	}},
	{"AChangeAndAParkSeeEachOther", func(k *kit) {
		// A client posts to a run that is about to park. Either the park is refused, or
		// the poster sees the run waiting and wakes it; nothing is lost in between.
		refused, woken := 0, 0
		for round := range 60 {
			thread := number("t", round)
			o := k.acquire(thread, "run-"+thread)
			o.commit()
			var parked error
			var waits bool
			k.together(2, func(i int, q mailbox.Queue) {
				if i == 0 {
					parked = o.try(parks)
					return
				}
				err := q.Handle("").Change(k.Context(), thread, func(t *mailbox.Thread) error {
					waits = t.Open.Status == awaken.RunWaiting
					t.Post = []awaken.InboxItem{{ID: "i"}}
					if waits {
						t.Put = []*mailbox.Dispatch{queued(t, "wake-"+thread)}
					}
					return nil
				})
				if err != nil {
					k.Error(err)
				}
			})
			switch {
			case parked == nil && waits:
				woken++
				k.status(mailbox.Queued, "wake-"+thread)
			case errors.Is(parked, awaken.ErrUnread) && !waits:
				refused++
			default:
				k.Errorf("park: %v; the poster saw it waiting: %v", parked, waits)
			}
		}
		k.Logf("%d parks refused, %d runs woken", refused, woken)
	}},
	{"AnInterruptAndABeginSeeEachOther", func(k *kit) {
		for round := range 40 {
			thread := number("t", round)
			o := k.acquire(thread, "run-"+thread)
			o.commit()
			var interrupted atomic.Bool
			k.together(2, func(i int, q mailbox.Queue) {
				if i == 1 {
					if err := q.Handle("").Change(k.Context(), thread, func(t *mailbox.Thread) error { t.Interrupt = true; return nil }); err != nil {
						k.Error(err)
					}
					interrupted.Store(true)
					return
				}
				for range 5 {
					after := interrupted.Load()
					err := o.try(begins)
					if err != nil && !errors.Is(err, awaken.ErrGeneration) || err == nil && after {
						k.Errorf("error is %v, interrupted before: %v", err, after)
					}
					if err != nil {
						return
					}
				}
			})
		}
	}},
}

// threadOf is the number in a dispatch's thread.
func threadOf(d *mailbox.Dispatch) int {
	var n int
	_, _ = fmt.Sscanf(d.ThreadID, "t%d", &n)
	return n
}
