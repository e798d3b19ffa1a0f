package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// slowCommitQueue lets the first commit be on its way for long.
type slowCommitQueue struct {
	mailbox.Queue
	delay time.Duration
	once  atomic.Bool
}

type slowCommitHandle struct {
	mailbox.Handle
	q *slowCommitQueue
}

func (q *slowCommitQueue) Handle(tn string) mailbox.Handle {
	return slowCommitHandle{q.Queue.Handle(tn), q}
}

func (h slowCommitHandle) Commit(ctx context.Context, c *awaken.Commit) error {
	if h.q.once.CompareAndSwap(false, true) {
		time.Sleep(h.q.delay)
	}
	return h.Handle.Commit(ctx, c)
}

// cutOffQueue cannot be reached while off is set.
type cutOffQueue struct {
	mailbox.Queue
	off atomic.Bool
}

func (q *cutOffQueue) Claim(ctx context.Context, c mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	if q.off.Load() {
		return nil, 0, errors.New("the network is down")
	}
	return q.Queue.Claim(ctx, c)
}

func (q *cutOffQueue) Renew(ctx context.Context, lease time.Duration, held ...mailbox.Claim) ([]mailbox.Renewal, error) {
	if q.off.Load() {
		return nil, errors.New("the network is down")
	}
	return q.Queue.Renew(ctx, lease, held...)
}

func (q *cutOffQueue) Reclaim(ctx context.Context, limit int) (int, error) {
	if q.off.Load() {
		return 0, errors.New("the network is down")
	}
	return q.Queue.Reclaim(ctx, limit)
}

func TestCancel_ACommitInFlightDoesNotReviveTheRun(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &slowCommitQueue{Queue: g.queue, delay: 60 * time.Second}
		cut := &cutOffQueue{Queue: q}
		a := g.box(func(c *mailbox.Config) { c.Queue = cut })
		stopA := work(a)
		defer stopA()
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Second)
		cut.off.Store(true) // and the commit is on its way
		time.Sleep(31 * time.Second)
		if n, err := g.db.Reclaim(t.Context(), 10); n != 1 || err != nil {
			t.Fatalf("%d dispatches reclaimed, want 1: %v", n, err)
		}
		if err := tn.Cancel(t.Context(), r.RunID); err != nil {
			t.Fatal(err)
		}
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
		cut.off.Store(false)
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
		th, _ := tn.Store.Thread(t.Context(), "t")
		if th.OpenRunID != "" {
			t.Errorf("the thread has an open run %s and no dispatch", th.OpenRunID)
		}
	})
}

func TestWork_ReadersSeeTheNewOwnerWhileTheOldIsStuck(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		unblock := make(chan struct{})
		stuck := streamFunc(func(_ context.Context, _ *llm.Request, yield func(llm.Delta, error) bool) {
			yield(llm.Delta{Kind: llm.TextDelta, Text: "lost"}, nil)
			<-unblock // a provider's library that does not heed the context
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
		})
		broken := &brokenQueue{Queue: g.queue}
		a := zbox(g, stuck, nil, nil, func(c *mailbox.Config) { c.Queue = broken })
		stopA := work(a)
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Second)
		var finished atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for e, err := range tn.Log.Tail(ctx, "t", r.After, eventlog.Follow{RunID: r.RunID, Pause: 15 * time.Second}) {
				if _, ok := e.Event.(*awaken.RunFinish); ok && err == nil {
					finished.Store(true)
				}
			}
		}()
		broken.broken.Store(true)
		b := g.box()
		stopB := work(b)
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		if !finished.Load() {
			t.Error("an hour after the end a reader of the first process has not seen it")
		}
		close(unblock)
		stopB()
		stopA()
		cancel()
		synctest.Wait()
	})
}

// handFunc does something before a thread is acquired.
type handFunc struct {
	mailbox.Queue
	acquire func()
}

type handFuncH struct {
	mailbox.Handle
	q *handFunc
}

func (q *handFunc) Handle(tn string) mailbox.Handle { return handFuncH{q.Queue.Handle(tn), q} }

func (h handFuncH) Own(ctx context.Context, id string, c mailbox.Claim) (*awaken.Checkpoint, bool, error) {
	if h.q.acquire != nil {
		h.q.acquire()
	}
	return h.Handle.Own(ctx, id, c)
}

func (g *rig) wantDispatchClaim(tn *mailbox.Tenant, r *mailbox.Receipt) {
	ds, err := tn.Store.Dispatches(context.Background(), mailbox.Query{ThreadID: "t", Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
	if err != nil || len(ds) != 1 || ds[0].Status != mailbox.Queued {
		g.t.Errorf("the claim is not void: %v, %v", ds, err)
	}
}

func TestWork_AStaleOwnerEndsNothing(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		// The run waits; a client cancels it; the worker that is to end it loses its claim
		// before it has acquired the thread.
		a := g.box()
		stop := work(a)
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Second)
		stop()
		if err := tn.Cancel(t.Context(), r.RunID); err != nil {
			t.Fatal(err)
		}
		hq := &handFunc{Queue: g.queue}
		var once atomic.Bool
		hq.acquire = func() {
			if once.CompareAndSwap(false, true) {
				time.Sleep(40 * time.Second) // longer than its lease: it is reclaimed
				g.wantDispatchClaim(tn, r)
			}
		}
		bq := &brokenQueue{Queue: hq}
		bq.broken.Store(true)
		b := g.box(func(c *mailbox.Config) { c.Queue = bq; c.Concurrency = 1 })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = b.Work(ctx) }()
		time.Sleep(39 * time.Second)
		bq.broken.Store(false)
		cancel() // claims no more
		<-done
		run := g.run(tn, r.RunID)
		if run.Status == awaken.RunDone {
			t.Errorf("a worker whose claim is void ended the run: %s", run.Termination)
		}
	})
}

// claimFunc does something after dispatches were claimed and before their worker has them.
type claimFunc struct {
	mailbox.Queue
	claimed func(ds []*mailbox.Dispatch)
}

func (q *claimFunc) Claim(ctx context.Context, r mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	ds, next, err := q.Queue.Claim(ctx, r)
	if len(ds) > 0 {
		q.claimed(ds)
	}
	return ds, next, err
}

// A claim acquires a new thread. A cancel that comes before its worker begins is found by the first commit
// then, and by Own otherwise: the run is cancelled, its input is kept, and nothing is tried again.
func TestWork_ACancelBetweenClaimAndRun(t *testing.T) {
	for _, early := range []bool{true, false} {
		t.Run(fmt.Sprint("early=", early), func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) { cancelBetween(t, early) })
		})
	}
}

func cancelBetween(t *testing.T, early bool) {
	g := newRig(t)
	client := g.box().Tenant("") // of a process that does not work
	r := g.submit(client, say("t", "hello"))
	claims := 0
	q := &claimFunc{Queue: g.queue, claimed: func(ds []*mailbox.Dispatch) {
		claims++
		if ds[0].Checkpoint == nil {
			t.Error("the claim has not acquired the thread")
		}
		if !early {
			ds[0].Checkpoint = nil
		}
		if err := client.Cancel(t.Context(), r.RunID); err != nil {
			t.Error(err)
		}
	}}
	defer work(g.box(func(c *mailbox.Config) { c.Queue = q }))()
	time.Sleep(time.Hour)
	g.wantRun(client, r.RunID, awaken.RunDone, awaken.Cancelled, "")
	th, err := client.Store.Thread(t.Context(), "t")
	if err != nil || th.MessageCount != 1 || th.OpenRunID != "" {
		t.Errorf("the thread has %d messages and the open run %q, want 1 and none: %v", th.MessageCount, th.OpenRunID, err)
	}
	ds, err := client.Store.Dispatches(t.Context(), mailbox.Query{RunID: r.RunID})
	if err != nil || len(ds) != 1 || !ds[0].Status.Terminal() || ds[0].Attempts != 0 || claims != 1 {
		t.Errorf("after %d claims, want 1, the dispatches are %+v: %v", claims, ds, err)
	}
}

// A worker that has lost its claim before it begins writes nothing, although the claim has acquired the thread.
func TestWork_AClaimOfANewThreadThatIsLost(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		client := g.box().Tenant("")
		r := g.submit(client, say("t", "hello"))
		slow := &claimFunc{Queue: g.queue, claimed: func([]*mailbox.Dispatch) { time.Sleep(time.Minute) }} // longer than its lease and its life
		defer work(g.box(func(c *mailbox.Config) { c.Queue = slow }))()
		time.Sleep(time.Second)
		defer work(g.box())()
		time.Sleep(time.Hour)
		g.wantRun(client, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		th, err := client.Store.Thread(t.Context(), "t")
		if err != nil || th.MessageCount != 2 {
			t.Errorf("the thread has %d messages, want 2: %v", th.MessageCount, err)
		}
	})
}
