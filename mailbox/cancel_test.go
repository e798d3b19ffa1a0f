package mailbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

func TestCancel_DoesNotWaitForADelay(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use expire"))
		time.Sleep(time.Minute)
		if err := tn.Cancel(t.Context(), r.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
	})
}

// afterSettling does something right after a commit has settled its dispatch, before the worker
// learns of it.
type afterSettling struct {
	*memory.DB
	once sync.Once
	fn   func()
}

func (q *afterSettling) Handle(tenant string) mailbox.Handle {
	return afterSettlingHandle{q.DB.Handle(tenant), q}
}

type afterSettlingHandle struct {
	mailbox.Handle
	q *afterSettling
}

func (h afterSettlingHandle) CommitAndSettle(ctx context.Context, c *awaken.Commit, s mailbox.Settlement, wake *mailbox.Dispatch) (mailbox.Settled, error) {
	settled, err := h.Handle.CommitAndSettle(ctx, c, s, wake)
	if settled.Settled {
		h.q.once.Do(h.q.fn)
	}
	return settled, err
}

func TestCancel_EndsARunThatHasJustParked(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &afterSettling{DB: g.db}
		g.queue = q
		b := g.box()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use ask"))
		q.fn = func() {
			if err := tn.Cancel(context.Background(), r.RunID); err != nil {
				t.Error(err)
			}
		}
		defer work(b)()
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Cancelled, "")
	})
}

func TestDelete_OfAThreadWhoseRunHasJustEndedOrParked(t *testing.T) {
	for _, text := range []string{"hello", "use ask"} {
		bubbletest.Test(t, func(t *testing.T) {
			g := newRig(t)
			q := &afterSettling{DB: g.db}
			g.queue = q
			b := g.box()
			tn := b.Tenant("")
			r := g.submit(tn, say("t", text))
			q.fn = func() {
				g.wantDispatch(tn, r.DispatchID, mailbox.Acked)
				if err := g.db.Store("").DeleteThread(context.Background(), "t", awaken.RejectChildren); err != nil {
					t.Error(err)
				}
			}
			defer work(b)()
			time.Sleep(time.Hour)
		})
	}
}

// The worker dies with the commit that ends the run: its response never arrives.
func TestWork_ACrashAfterTheLastCommitLeavesNothingToReclaim(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &afterSettling{DB: g.db}
		g.queue = q
		b := g.box()
		tn := b.Tenant("")
		first, second := g.submit(tn, say("t", "hello")), g.submit(tn, say("t", "and again"))
		q.fn = func() {
			time.Sleep(time.Hour)
			if n, err := g.db.Reclaim(context.Background(), 10); n != 0 || err != nil {
				t.Errorf("reclaimed %d dispatches, want none (%v)", n, err)
			}
			g.wantDispatch(tn, first.DispatchID, mailbox.Acked)
			if d := g.wantDispatch(tn, second.DispatchID, mailbox.Claimed); d.Attempts != 0 {
				t.Errorf("the next dispatch has %d failed attempts", d.Attempts)
			}
		}
		defer work(b)()
		time.Sleep(2 * time.Hour)
		g.wantRun(tn, second.RunID, awaken.RunDone, awaken.NaturalEnd, "you said and again")
	})
}
