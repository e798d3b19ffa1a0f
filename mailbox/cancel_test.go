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

// atSettle does something before the first dispatch is settled.
type atSettle struct {
	*memory.DB
	once sync.Once
	fn   func()
}

func (q *atSettle) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	q.once.Do(q.fn)
	return q.DB.Settle(ctx, s...)
}

func TestCancel_EndsARunThatHasJustParked(t *testing.T) {
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
