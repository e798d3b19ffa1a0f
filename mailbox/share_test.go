package mailbox_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/mailbox"
)

// flood submits n runs that take ten minutes.
func (g *rig) flood(tn *mailbox.Tenant, n int) {
	g.t.Helper()
	for i := range n {
		g.submit(tn, say(fmt.Sprint("flood", i), "use wait"))
	}
}

func TestWork_ATenantWithManyRunsDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		g.flood(b.Tenant("a"), 500)
		time.Sleep(time.Second)
		if n := b.Active(); n != 205 {
			t.Errorf("one tenant has %d of 256 slots, want four fifths", n)
		}
		quick := g.submit(b.Tenant("b"), say("t", "hello"))
		time.Sleep(100 * time.Millisecond)
		g.wantRun(b.Tenant("b"), quick.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")

		g.flood(b.Tenant("b"), 500)
		time.Sleep(time.Second)
		if n := b.Active(); n != 205+41 {
			t.Errorf("two tenants have %d of 256 slots, want %d", n, 205+41)
		}
		quick = g.submit(b.Tenant(""), say("t", "hello"))
		time.Sleep(100 * time.Millisecond)
		g.wantRun(b.Tenant(""), quick.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")

		time.Sleep(time.Hour) // nothing is left behind
		if counts, err := g.db.Counts(t.Context()); err != nil || counts[mailbox.Acked] != 1002 {
			t.Errorf("counts are %v, %v, want 1002 that are acked", counts, err)
		}
	})
}

// slowClaims is a queue whose answers to Claim can take a second.
type slowClaims struct {
	mailbox.Queue
	late atomic.Bool
}

func (q *slowClaims) Claim(ctx context.Context, r mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	ds, next, err := q.Queue.Claim(ctx, r)
	if q.late.Load() {
		time.Sleep(time.Second)
	}
	return ds, next, err
}

// What a claim that is being made may bring has its slots, so no more runs are in flight than Concurrency says.
func TestWork_RunsThatBeginWhereTheyAreAcceptedLeaveRoomForThoseThatAreBeingClaimed(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &slowClaims{Queue: g.queue}
		q.late.Store(true)
		b := g.box(func(c *mailbox.Config) { c.Queue, c.Concurrency = q, 1 })
		tn := b.Tenant("")
		first := g.submit(tn, say("a", "use wait"))
		defer work(b)()
		time.Sleep(500 * time.Millisecond) // it is claimed, and the worker does not know yet
		second := g.submit(tn, say("b", "use wait"))
		time.Sleep(time.Minute)
		if n := b.Active(); n != 1 {
			t.Errorf("%d runs are in flight, want 1", n)
		}
		q.late.Store(false)
		time.Sleep(time.Hour)
		for _, r := range []*mailbox.Receipt{first, second} {
			g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got waited")
		}
		// While no claim is being made, a run begins where it is accepted.
		third := g.submit(tn, say("c", "use wait"))
		g.wantDispatch(tn, third.DispatchID, mailbox.Claimed)
	})
}

// requests is a queue that keeps what a worker asked for.
type requests struct {
	mailbox.Queue
	mu   sync.Mutex
	seen []mailbox.ClaimRequest
}

func (q *requests) Claim(ctx context.Context, r mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	q.mu.Lock()
	q.seen = append(q.seen, r)
	q.mu.Unlock()
	return q.Queue.Claim(ctx, r)
}

func TestWork_TheDefaultTenantAloneMayHaveEverySlot(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &requests{Queue: g.queue}
		b := g.box(func(c *mailbox.Config) { c.Queue = q })
		g.flood(b.Tenant(""), 300)
		defer work(b)()
		time.Sleep(time.Minute)
		if n := b.Active(); n != 256 {
			t.Errorf("%d runs are in flight, want 256", n)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if len(q.seen) != 5 { // for a suspect, then batches of 64, and no more while no slot is free
			t.Fatalf("the worker claimed %d times, want 5", len(q.seen))
		}
		if r := q.seen[0]; r.Limit != 1 || r.Suspects != 1 {
			t.Errorf("the idle worker asked for %+v, want a suspect", r)
		}
		for i, r := range q.seen[1:] {
			if r.Limit != min(64, 255-64*i) || r.Suspects != 0 || r.Except != nil {
				t.Errorf("the worker asked for %+v, want the usual request", r)
			}
		}
	})
}

// Runs that end make room for tenants that wait, and a worker with few slots shares them too.
func TestWork_TenantsTakeTurnsInFewSlots(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) { c.Concurrency = 5 })
		defer work(b)()
		for _, tenant := range []string{"a", "b", "c", "d"} {
			g.flood(b.Tenant(tenant), 50)
		}
		late := g.submit(b.Tenant("late"), say("t", "hello"))
		time.Sleep(21 * time.Minute) // two runs later
		g.wantRun(b.Tenant("late"), late.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
	})
}
