package mailbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/mailbox"
)

// awayQueue is a queue whose store can be away. Heartbeats arrive all the same, as they do with a
// file of SQLite on a full disk.
type awayQueue struct {
	mailbox.Queue
	away atomic.Bool
}

func (q *awayQueue) err() error {
	if q.away.Load() {
		return &fault.Outage{Reason: "the store is out of disk space", Err: errors.New("disk full")}
	}
	return nil
}

func (q *awayQueue) Claim(ctx context.Context, r mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	if err := q.err(); err != nil {
		return nil, 0, err
	}
	return q.Queue.Claim(ctx, r)
}

func (q *awayQueue) Renew(ctx context.Context, lease time.Duration, held ...mailbox.Claim) ([]mailbox.Renewal, error) {
	if err := q.err(); err != nil {
		return nil, err
	}
	return q.Queue.Renew(ctx, lease, held...)
}

func (q *awayQueue) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	if err := q.err(); err != nil {
		return nil, err
	}
	return q.Queue.Settle(ctx, s...)
}

func (q *awayQueue) Reclaim(ctx context.Context, limit int) (int, error) {
	if err := q.err(); err != nil {
		return 0, err
	}
	return q.Queue.Reclaim(ctx, limit)
}

func (q *awayQueue) Leave(ctx context.Context, process string) error {
	if err := q.err(); err != nil {
		return err
	}
	return q.Queue.Leave(ctx, process)
}

func (q *awayQueue) Handle(tenant string) mailbox.Handle {
	return awayHandle{q.Queue.Handle(tenant), q}
}

type awayHandle struct {
	mailbox.Handle
	queue *awayQueue
}

func (h awayHandle) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	if err := h.queue.err(); err != nil {
		return nil, err
	}
	return h.Handle.LoadRun(ctx, id)
}

func (h awayHandle) Unread(ctx context.Context, thread string) ([]awaken.InboxItem, error) {
	if err := h.queue.err(); err != nil {
		return nil, err
	}
	return h.Handle.Unread(ctx, thread)
}

func (h awayHandle) Commit(ctx context.Context, c *awaken.Commit) error {
	if err := h.queue.err(); err != nil {
		return err
	}
	return h.Handle.Commit(ctx, c)
}

func (h awayHandle) CommitAndSettle(ctx context.Context, c *awaken.Commit, s mailbox.Settlement, wake *mailbox.Dispatch) (mailbox.Settled, error) {
	if err := h.queue.err(); err != nil {
		return mailbox.Settled{}, err
	}
	return h.Handle.CommitAndSettle(ctx, c, s, wake)
}

func TestWork_AnOutageOfTheStoreEndsNoRun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		lasts  time.Duration
		claims int // that the run takes
	}{
		{"within the lease", 15 * time.Second, 1},
		{"longer than the lease", 10 * time.Minute, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				g := newRig(t)
				q := &awayQueue{Queue: g.queue}
				g.queue = q
				seen := &claimCounter{}
				b := g.box(func(c *mailbox.Config) { c.Observer = seen })
				defer work(b)()
				tn := b.Tenant("")
				slow := g.submit(tn, say("a", "slow"))
				time.Sleep(55 * time.Second)
				q.away.Store(true)
				time.Sleep(test.lasts)
				q.away.Store(false)
				time.Sleep(2 * time.Minute)
				if n := seen.n.Load(); n != int64(test.claims) {
					t.Errorf("the run took %d claims, want %d", n, test.claims)
				}
				for _, r := range []*mailbox.Receipt{slow, g.submit(tn, say("b", "use effect"))} {
					time.Sleep(time.Minute)
					run, d := g.run(tn, r.RunID), g.wantDispatch(tn, r.DispatchID, mailbox.Acked)
					if run.Status != awaken.RunDone || run.Termination.Type != awaken.NaturalEnd {
						t.Errorf("the run is %s: %+v", run.Status, run.Termination)
					}
					if d.Attempts != 0 || d.Crashes != 0 {
						t.Errorf("the outage cost %d attempts and %d crashes", d.Attempts, d.Crashes)
					}
				}
				awakentest.CheckEvents(t, g.log(tn, "a"))
			})
		})
	}
}

// unconfirmed is a queue whose answer to Enqueue is lost, and that cannot be reached for a while then.
type unconfirmed struct {
	awayQueue
	lose atomic.Bool
}

func (q *unconfirmed) Handle(tenant string) mailbox.Handle {
	return unconfirmedHandle{awayHandle{q.Queue.Handle(tenant), &q.awayQueue}, q}
}

type unconfirmedHandle struct {
	awayHandle
	unconfirmed *unconfirmed
}

func (h unconfirmedHandle) Enqueue(ctx context.Context, terms mailbox.Terms, ds ...*mailbox.Dispatch) ([]int, error) {
	left, err := h.Handle.Enqueue(ctx, terms, ds...)
	if h.unconfirmed.lose.CompareAndSwap(true, false) {
		h.unconfirmed.away.Store(true)
		return nil, &fault.Outage{Reason: "the store cannot be reached", Err: errors.New("the connection was lost")}
	}
	return left, err
}

func (h unconfirmedHandle) Dispatch(ctx context.Context, id string) (*mailbox.Dispatch, error) {
	if err := h.queue.err(); err != nil {
		return nil, err
	}
	return h.Handle.Dispatch(ctx, id)
}

func TestSubmit_ARunWhoseAcceptanceWasNotConfirmedBeginsOnceTheStoreIsBack(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &unconfirmed{awayQueue: awayQueue{Queue: g.queue}}
		g.queue = q
		b := g.box()
		stop := work(b)
		tn := b.Tenant("")
		time.Sleep(time.Second)
		q.lose.Store(true)
		s := say("a", "hello")
		s.Request.RunID = "r"
		if _, err := tn.Submit(t.Context(), s); fault.OutageOf(err) == nil {
			t.Fatalf("Submit returned %v, want an outage", err)
		}
		time.Sleep(5 * time.Second)
		q.away.Store(false)
		time.Sleep(2 * time.Second) // the lease lasts for longer
		if run := g.run(tn, "r"); run.Status != awaken.RunDone {
			t.Errorf("the run is %s, want done", run.Status)
		}

		// A worker that stops does not wait for a store that is away.
		q.lose.Store(true)
		if _, err := tn.Submit(t.Context(), say("b", "hello")); fault.OutageOf(err) == nil {
			t.Fatalf("Submit returned %v, want an outage", err)
		}
		from := time.Now()
		stop()
		if took := time.Since(from); took > 10*time.Second {
			t.Errorf("the worker stopped after %s", took)
		}
	})
}

// unanswered is a queue that queues a dispatch and begins none at once. Its answer to Enqueue is lost, and it
// does not answer questions about dispatches until it speaks again.
type unanswered struct {
	mailbox.Queue
	silent atomic.Bool
}

func (q *unanswered) err() error {
	if q.silent.Load() {
		return &fault.Outage{Reason: "the store cannot be reached", Err: errors.New("the connection was lost")}
	}
	return nil
}

func (q *unanswered) Handle(tenant string) mailbox.Handle {
	return unansweredHandle{q.Queue.Handle(tenant), q}
}

type unansweredHandle struct {
	mailbox.Handle
	queue *unanswered
}

func (h unansweredHandle) Enqueue(ctx context.Context, terms mailbox.Terms, ds ...*mailbox.Dispatch) ([]int, error) {
	terms.Start = nil
	left, err := h.Handle.Enqueue(ctx, terms, ds...)
	return left, errors.Join(err, h.queue.err())
}

func (h unansweredHandle) Dispatch(ctx context.Context, id string) (*mailbox.Dispatch, error) {
	if err := h.queue.err(); err != nil {
		return nil, err
	}
	return h.Handle.Dispatch(ctx, id)
}

// A run whose acceptance was not confirmed may have been queued. The worker that looks for it then finds what it
// has claimed itself meanwhile, and must not begin that again: the second claim would end the first.
func TestSubmit_ARunWhoseAcceptanceWasNotConfirmedBeginsOnce(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &unanswered{Queue: g.queue}
		g.queue = q
		seen := &claimCounter{}
		b := g.box(func(c *mailbox.Config) { c.Observer = seen })
		defer work(b)()
		tn := b.Tenant("")
		time.Sleep(time.Second)
		q.silent.Store(true)
		s := say("a", "slow")
		s.Request.RunID = "r"
		if _, err := tn.Submit(t.Context(), s); fault.OutageOf(err) == nil {
			t.Fatalf("Submit returned %v, want an outage", err)
		}
		time.Sleep(5 * time.Second) // the worker has claimed it
		q.silent.Store(false)
		time.Sleep(2 * time.Minute)
		if n := seen.n.Load(); n != 1 {
			t.Errorf("the run took %d claims, want 1", n)
		}
		if run := g.run(tn, "r"); run.Status != awaken.RunDone || run.Termination.Type != awaken.NaturalEnd {
			t.Errorf("the run is %s: %+v", run.Status, run.Termination)
		}
		awakentest.CheckEvents(t, g.log(tn, "a"))
	})
}

// claimCounter counts claims.
type claimCounter struct {
	mailbox.Observer
	n atomic.Int64
}

func (c *claimCounter) Claimed(*mailbox.Dispatch, time.Duration)               { c.n.Add(1) }
func (*claimCounter) Settled(*mailbox.Dispatch, mailbox.Status, time.Duration) {}
func (*claimCounter) Operated(string, time.Duration, error)                    {}
