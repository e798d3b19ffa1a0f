package mailbox_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/eventlog"
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

// lossyHandle cannot commit the end of a run, as often as lossy says.
type lossyHandle struct {
	mailbox.Handle
	lossy *atomic.Int64
}

func (h lossyHandle) Commit(ctx context.Context, c *awaken.Commit) error {
	if c.Run.Status == awaken.RunDone && h.lossy.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return h.Handle.Commit(ctx, c)
}

type lossyQueue struct {
	mailbox.Queue
	lossy atomic.Int64
}

func (q *lossyQueue) Handle(tenant string) mailbox.Handle {
	return lossyHandle{q.Queue.Handle(tenant), &q.lossy}
}

func TestWork_AnEndThatIsNotStoredIsNotShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &lossyQueue{Queue: g.queue}
		q.lossy.Store(2) // the commit and its repetition
		g.queue = q
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		var ends []*awaken.RunFinish
		text := ""
		for e, err := range tn.Log.Tail(t.Context(), "t", r.After, eventlog.Follow{RunID: r.RunID}) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := e.Event.(type) {
			case *awaken.StreamReset:
				text = ""
			case *awaken.TextDelta:
				text += ev.Delta
			case *awaken.RunFinish:
				ends = append(ends, ev)
			}
		}
		if len(ends) != 1 || ends[0].Termination.Type != awaken.NaturalEnd || text != "you said hello" {
			t.Errorf("%d ends, %q", len(ends), text)
		}
		synctest.Wait()
		if d := g.wantDispatch(tn, r.DispatchID, mailbox.Acked); d.LastError == "" {
			t.Error("nothing went wrong on the way")
		}
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}
