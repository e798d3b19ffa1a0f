package mailbox_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

func TestCancel_DoesNotWaitForADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

type atSettle struct {
	*memory.DB
	once sync.Once
	fn   func()
}

func (q *atSettle) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	q.once.Do(q.fn)
	return q.DB.Settle(ctx, s...)
}

func TestCancel_IsNotLostWhenTheRunHasJustBegunToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &atSettle{DB: g.db}
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

func TestSubmit_RemembersTheKeyOfWhatARunTookIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		s := say("t", "steer")
		s.Mode, s.IdempotencyKey, s.Digest = mailbox.ModeSteer, "k", "d"
		r1 := g.submit(tn, s)
		s = say("t", "steer")
		s.Mode, s.IdempotencyKey, s.Digest = mailbox.ModeSteer, "k", "d"
		r2 := g.submit(tn, s)
		items, _ := tn.Store.Unread(t.Context(), "t")
		if !r2.Duplicate || len(items) > 1 {
			t.Errorf("%+v %+v, %d items", r1, r2, len(items))
		}
		_ = tn.Cancel(t.Context(), "t")
		time.Sleep(time.Minute)
	})
}

func TestSubmit_RemembersTheKeyOfWhatJoinsAnotherWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		stop := work(b)
		tn := b.Tenant("")
		g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Second)
		stop()
		var last *mailbox.Receipt
		for _, k := range []string{"k1", "k2", "k2"} {
			s := say("t", "hello")
			s.IdempotencyKey, s.Digest = k, "d"
			last = g.submit(tn, s)
		}
		items, _ := tn.Store.Unread(t.Context(), "t")
		if !last.Duplicate || len(items) != 2 {
			t.Errorf("%+v, %d items", last, len(items))
		}
	})
}

func TestWork_ACutOffRunComesBeforeAnUrgentOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) { c.Drain = time.Second })
		stop := work(b)
		tn := b.Tenant("")
		r1 := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		stop()
		s := say("t", "urgent")
		p := 0
		s.Priority = &p
		r2 := g.submit(tn, s)
		b2 := g.box()
		defer work(b2)()
		time.Sleep(2 * time.Hour)
		tn = b2.Tenant("")
		g.wantRun(tn, r1.RunID, awaken.RunDone, awaken.NaturalEnd, "got waited")
		g.wantRun(tn, r2.RunID, awaken.RunDone, awaken.NaturalEnd, "you said urgent")
	})
}
