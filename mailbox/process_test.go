package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/mailbox"
)

// mute is a queue whose heartbeats do not arrive while muted is set.
type mute struct {
	mailbox.Queue
	muted  atomic.Bool
	joined atomic.Int64
}

func (q *mute) Beat(ctx context.Context, process string, limit time.Duration) error {
	if q.muted.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return q.Queue.Beat(ctx, process, limit)
}

func (q *mute) Join(ctx context.Context, process string, limit time.Duration) error {
	if q.muted.Load() {
		return errors.New("the network is down")
	}
	q.joined.Add(1)
	return q.Queue.Join(ctx, process, limit)
}

func (q *mute) Leave(ctx context.Context, process string) error {
	if q.muted.Load() {
		return errors.New("the network is down")
	}
	return q.Queue.Leave(ctx, process)
}

func (q *mute) Reclaim(ctx context.Context, limit int) (int, error) {
	if q.muted.Load() {
		return 0, errors.New("the network is down")
	}
	return q.Queue.Reclaim(ctx, limit)
}

func TestWork_ASilentProcessStopsBeforeAnotherTakesOver(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &mute{Queue: g.queue}
		a := g.box(func(c *mailbox.Config) { c.Queue = q })
		defer work(a)()
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(10*time.Second + time.Millisecond) // right after a heartbeat
		q.muted.Store(true)
		muted := time.Now()
		defer work(g.box())()
		stopped := time.Duration(0)
		for g.wantDispatch(tn, r.DispatchID, mailbox.Claimed).LostAt == 0 {
			if stopped == 0 && a.Active() == 0 {
				stopped = time.Since(muted)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait() // the worker that releases the dispatch claims it at once, in a second step
		}
		taken := time.Since(muted)
		if stopped == 0 || stopped > 4*time.Second || taken <= stopped || taken > 5*time.Second {
			t.Errorf("the silent process stopped after %s, and another took over after %s; want at most 4s, and later, but at most 5s", stopped, taken)
		}
		d := g.wantDispatch(tn, r.DispatchID, mailbox.Claimed)
		if d.Attempts != 0 || d.Crashes != 1 {
			t.Errorf("the dispatch has %d attempts and %d crashes, want 0 and 1", d.Attempts, d.Crashes)
		}
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got waited")
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}

func TestWork_AProcessThatWasSilentContinuesAsANewOne(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &mute{Queue: g.queue}
		b := g.box(func(c *mailbox.Config) { c.Queue, c.Consumer = q, "worker" })
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		first := g.wantDispatch(tn, r.DispatchID, mailbox.Claimed).ClaimedBy
		q.muted.Store(true)
		time.Sleep(10 * time.Second)
		if b.Active() != 0 {
			t.Error("the run continues without a heartbeat")
		}
		q.muted.Store(false)
		time.Sleep(2 * time.Second)
		d := g.wantDispatch(tn, r.DispatchID, mailbox.Claimed)
		if d.ClaimedBy == first || !strings.HasPrefix(d.ClaimedBy, "worker-") || q.joined.Load() != 2 {
			t.Errorf("claimed by %s and then by %s, after %d joins, want another process of the same worker", first, d.ClaimedBy, q.joined.Load())
		}
		if d.Attempts != 0 {
			t.Errorf("silence cost %d attempts", d.Attempts)
		}
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got waited")
	})
}

func TestWork_AProcessThatWasSilentDoesNotBlameOthers(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		a, b := &mute{Queue: g.queue}, &mute{Queue: g.queue}
		box := g.box(func(c *mailbox.Config) { c.Queue = a })
		defer work(box)()
		tn := box.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		defer work(g.box(func(c *mailbox.Config) { c.Queue = b }))()
		a.muted.Store(true) // the store is away
		b.muted.Store(true)
		time.Sleep(10 * time.Second)
		b.muted.Store(false) // and comes back for one a little earlier
		time.Sleep(2 * time.Second)
		a.muted.Store(false)
		time.Sleep(10 * time.Second)
		if d := g.wantDispatch(tn, r.DispatchID, mailbox.Claimed); d.Crashes != 0 || d.Attempts != 0 {
			t.Errorf("while the store was away, the dispatch got %d crashes and %d attempts", d.Crashes, d.Attempts)
		}
		time.Sleep(time.Hour)
	})
}

func TestWork_ProcessesWithTheSameNameAreNotTheSame(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &mute{Queue: g.queue}
		named := func(c *mailbox.Config) { c.Consumer = "same" }
		a := g.box(named, func(c *mailbox.Config) { c.Queue = q })
		defer work(a)()
		tn := a.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		defer work(g.box(named))()
		q.muted.Store(true)
		time.Sleep(6 * time.Second)
		if d := g.wantDispatch(tn, r.DispatchID, mailbox.Claimed); d.LostAt == 0 {
			t.Error("the heartbeat of another process of the same name kept the claim")
		}
		time.Sleep(time.Hour)
	})
}

// lingering is a queue whose Claim takes a second to answer after it has claimed.
type lingering struct{ mailbox.Queue }

func (q lingering) Claim(ctx context.Context, c mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	ds, next, err := q.Queue.Claim(ctx, c)
	select {
	case <-time.After(time.Second):
		return ds, next, err
	case <-ctx.Done():
		return nil, 0, ctx.Err() // what it has claimed is lost with the connection
	}
}

func TestWork_ReleasesAClaimThatIsUnderWayWhenItStops(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) { c.Queue = lingering{g.queue} })
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		stop := work(b)
		time.Sleep(500 * time.Millisecond)
		g.wantDispatch(tn, r.DispatchID, mailbox.Claimed)
		stop()
		if d := g.wantDispatch(tn, r.DispatchID, mailbox.Queued); d.Attempts != 0 || d.Crashes != 0 || d.LostAt != 0 {
			t.Errorf("stopping cost something: %+v", d)
		}
	})
}

// suspects submits runs and lets two processes die that have claimed them.
func (g *rig) suspects(tn *mailbox.Tenant, n int, text string) (out []*mailbox.Receipt) {
	g.t.Helper()
	for i := range n {
		out = append(out, g.submit(tn, say(fmt.Sprint("suspect", i), text)))
	}
	for i := range mailbox.SuspectCrashes {
		g.crash(fmt.Sprint("killed", i), n)
	}
	return out
}

// crash lets a process die that has claimed n dispatches.
func (g *rig) crash(process string, n int) {
	g.t.Helper()
	ctx := g.t.Context()
	if err := g.db.Join(ctx, process, time.Second); err != nil {
		g.t.Fatal(err)
	}
	if ds, _, err := g.db.Claim(ctx, mailbox.ClaimRequest{Consumer: process, Lease: time.Hour, Limit: n, Suspects: n}); err != nil || len(ds) != n {
		g.t.Fatalf("claimed %d, %v, want %d", len(ds), err, n)
	}
	time.Sleep(2 * time.Second)
	if got, err := g.db.Reclaim(ctx, 100); err != nil || got != n {
		g.t.Fatalf("reclaimed %d, %v, want %d", got, err, n)
	}
}

// claimed returns how many of the dispatches are claimed.
func (g *rig) claimed(tn *mailbox.Tenant, rs ...*mailbox.Receipt) (n int) {
	g.t.Helper()
	for _, r := range rs {
		if d, err := tn.Store.Dispatch(g.t.Context(), r.DispatchID); err != nil {
			g.t.Fatal(err)
		} else if d.Status == mailbox.Claimed {
			n++
		}
	}
	return n
}

func TestWork_RunsASuspectAlone(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		rs := g.suspects(tn, 3, "use wait")
		innocent := g.submit(tn, say("innocent", "use wait"))
		defer work(b)()
		time.Sleep(time.Second)
		late := g.submit(tn, say("late", "hello"))
		time.Sleep(20 * time.Second)
		if n := g.claimed(tn, append(rs, innocent, late)...); n != 1 || b.Active() != 1 {
			t.Errorf("%d of the runs are claimed and %d in flight, want a suspect alone", n, b.Active())
		}
		time.Sleep(time.Minute) // its step takes longer than others may have to wait
		g.wantDispatch(tn, innocent.DispatchID, mailbox.Claimed)
		g.wantRun(tn, late.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		if n := g.claimed(tn, rs...); n != 1 {
			t.Errorf("%d suspects are claimed, want 1", n)
		}
		time.Sleep(3 * time.Hour)
		for _, r := range append(rs, innocent) {
			g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got waited")
			if d := g.wantDispatch(tn, r.DispatchID, mailbox.Acked); d.Attempts != 0 {
				t.Errorf("dispatch %s has %d attempts", d.ID, d.Attempts)
			}
		}
	})
}

// Runs in flight make room for suspects, and suspects leave room for others.
func TestWork_SuspectsAndOthersTakeTurns(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		rs := g.suspects(tn, 30, "slow") // a minute each
		var slow, quick []*mailbox.Receipt
		for i := range 20 {
			slow = append(slow, g.submit(tn, say(fmt.Sprint("slow", i), "slow")))
		}
		defer work(b)()
		for i := range 40 { // one every 15 seconds
			quick = append(quick, g.submit(tn, say(fmt.Sprint("quick", i), "hello")))
			time.Sleep(15 * time.Second)
		}
		time.Sleep(2 * time.Minute)
		var longest time.Duration
		for _, r := range quick {
			d := g.wantDispatch(tn, r.DispatchID, mailbox.Acked)
			longest = max(longest, time.Duration(d.CompletedAt-d.CreatedAt)*time.Millisecond)
		}
		if longest > 2*time.Minute {
			t.Errorf("a run waited for %s behind suspects", longest)
		}
		time.Sleep(2 * time.Hour)
		for _, r := range append(rs, slow...) {
			g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, g.run(tn, r.RunID).FinalOutput)
		}
		t.Logf("the longest wait of a run was %s", longest)
	})
}

func TestWork_GivesUpASuspectThatKeepsKillingItsProcess(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{false, true} {
		bubbletest.Test(t, func(t *testing.T) {
			g := newRig(t)
			b := g.box(func(c *mailbox.Config) { c.MaxAttempts, c.Drain = 3, time.Second })
			tn := b.Tenant("")
			r := g.submit(tn, say("t", "use wait"))
			if started {
				stop := work(b)
				time.Sleep(time.Second)
				stop()
				g.wantRun(tn, r.RunID, awaken.RunRunning, "", "")
			}
			for i := range mailbox.SuspectCrashes {
				g.crash(fmt.Sprint("killed", i), 1)
			}
			innocent := g.submit(tn, say("innocent", "hello"))
			for i := range 3 {
				g.crash(fmt.Sprint("again", i), 1)
			}
			defer work(b)()
			time.Sleep(time.Second)
			d := g.wantDispatch(tn, r.DispatchID, mailbox.DeadLetter)
			if want := "its process died 5 times while it ran this dispatch, without completing a step in between"; d.LastError != want || d.Crashes != 5 || d.Attempts != 3 {
				t.Errorf("error is %q after %d crashes and %d attempts, want %q after 5 and 3", d.LastError, d.Crashes, d.Attempts, want)
			}
			g.wantRun(tn, r.RunID, awaken.RunDone, awaken.Failed, "")
			if d := g.wantDispatch(tn, innocent.DispatchID, mailbox.Acked); d.Crashes != 0 || d.Attempts != 0 {
				t.Errorf("the innocent run has %d crashes and %d attempts", d.Crashes, d.Attempts)
			}
			if again, err := tn.RetryDeadLetter(t.Context(), r.DispatchID); err != nil {
				t.Error(err)
			} else if time.Sleep(time.Hour); g.wantDispatch(tn, again.DispatchID, mailbox.Acked).Crashes != 0 {
				t.Error("a dead letter that is retried is still a suspect")
			}
		})
	}
}

// A runtime derives from it how long a lost owner may still make a call.
func TestTenant_SilenceFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, c := range []struct{ liveness, lease, want time.Duration }{
		{0, 0, 4 * time.Second}, {time.Minute, 2 * time.Minute, time.Minute}, {time.Minute, 20 * time.Second, 20 * time.Second},
	} {
		box := g.box(func(cfg *mailbox.Config) { cfg.Liveness, cfg.Lease = c.liveness, c.lease })
		if got := box.Tenant("").Silence(); got != c.want {
			t.Errorf("with a liveness of %v and a lease of %v it is %v, want %v", c.liveness, c.lease, got, c.want)
		}
	}
}

// lateClaims is a queue to which claims are on their way until they are let through.
type lateClaims struct {
	mailbox.Queue
	late    atomic.Bool
	through chan struct{}
}

func (q *lateClaims) Claim(ctx context.Context, r mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	if q.late.Load() {
		<-q.through
	}
	return q.Queue.Claim(ctx, r)
}

func TestWork_AClaimThatArrivesAfterItsProcessDiedCostsNothing(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		m := &mute{Queue: g.queue}
		q := &lateClaims{Queue: m, through: make(chan struct{})}
		b := g.box(func(c *mailbox.Config) { c.Queue = q })
		defer work(b)()
		tn := b.Tenant("")
		time.Sleep(time.Second)
		q.late.Store(true)
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Second) // the worker has asked for it
		m.muted.Store(true)
		time.Sleep(10 * time.Second)
		m.muted.Store(false)
		time.Sleep(5 * time.Second) // the worker has joined as a new process
		q.late.Store(false)
		close(q.through)
		time.Sleep(2 * time.Second)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		if d := g.wantDispatch(tn, r.DispatchID, mailbox.Acked); d.Attempts != 0 || d.Crashes != 0 {
			t.Errorf("the dispatch has %d attempts and %d crashes, want none", d.Attempts, d.Crashes)
		}
		if m.joined.Load() != 2 {
			t.Errorf("the worker joined %d times, want 2", m.joined.Load())
		}
	})
}
