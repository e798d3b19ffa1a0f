package mailbox_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/mailbox"
)

// reclaims notes when it is asked to reclaim, and fails the first times.
type reclaims struct {
	mailbox.Queue
	start time.Time
	fail  int
	at    []time.Duration
	claim atomic.Int64 // when it was first asked for a claim, counted from start
}

var errUnreachable = errors.New("the store is unreachable")

func (q *reclaims) Reclaim(ctx context.Context, limit int) (int, error) {
	q.at = append(q.at, time.Since(q.start))
	if len(q.at) <= q.fail {
		return 0, errUnreachable
	}
	return q.Queue.Reclaim(ctx, limit)
}

func (q *reclaims) Claim(ctx context.Context, c mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	q.claim.CompareAndSwap(0, int64(max(time.Since(q.start), 1)))
	return q.Queue.Claim(ctx, c)
}

func (g *rig) reclaims(fail int) *reclaims {
	q := &reclaims{Queue: g.queue, start: time.Now(), fail: fail}
	g.queue = q
	return q
}

func TestWork_StartsAfterTheStartupDelayAndRetriesRecovery(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := g.reclaims(2)
		b := g.box(func(c *mailbox.Config) {
			c.Startup = mailbox.Startup{Delay: 5 * time.Second, Attempts: 3, Retry: time.Second}
		})
		stop := work(b)
		time.Sleep(8 * time.Second)
		stop()
		if want := []time.Duration{5 * time.Second, 6 * time.Second, 7 * time.Second}; !slices.Equal(q.at[:3], want) {
			t.Errorf("reclaimed at %v, want %v", q.at, want)
		}
		if at := time.Duration(q.claim.Load()); at != 7*time.Second {
			t.Errorf("claimed at %s, want 7s", at)
		}
	})
}

func TestWork_FailsWhenStartupRecoveryIsExhausted(t *testing.T) {
	for attempts, want := range map[int][]time.Duration{0: {0}, 1: {0}, 3: {0, 250 * time.Millisecond, 500 * time.Millisecond}} {
		bubbletest.Test(t, func(t *testing.T) {
			g := newRig(t)
			q := g.reclaims(10)
			b := g.box(func(c *mailbox.Config) { c.Startup.Attempts = attempts })
			if err := b.Work(t.Context()); !errors.Is(err, errUnreachable) {
				t.Errorf("with %d attempts: %v", attempts, err)
			}
			if !slices.Equal(q.at, want) || q.claim.Load() != 0 {
				t.Errorf("with %d attempts, reclaimed at %v, want %v; claimed at %d", attempts, q.at, want, q.claim.Load())
			}
		})
	}
}

func TestWork_ReturnsWhenCancelledDuringStartup(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := g.reclaims(10)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := g.box(func(c *mailbox.Config) { c.Startup.Delay = time.Minute }).Work(ctx); err != nil || len(q.at) != 0 {
			t.Errorf("while it waits: %v, reclaimed at %v", err, q.at)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := g.box(func(c *mailbox.Config) { c.Startup = mailbox.Startup{Attempts: 9, Retry: time.Minute} }).Work(ctx); err != nil || len(q.at) != 1 {
			t.Errorf("between attempts: %v, reclaimed at %v", err, q.at)
		}
		if took := time.Since(q.start); took != 6*time.Second {
			t.Errorf("took %s, want 6s", took)
		}
	})
}

// Lost owners are looked for every Sweep, and at least four times a lease, and sixteen times in the
// time that a process may be silent.
func TestWork_SweepsAtTheConfiguredInterval(t *testing.T) {
	for _, c := range []struct{ sweep, lease, liveness, want time.Duration }{
		{0, 0, 0, 250 * time.Millisecond}, {100 * time.Millisecond, 0, 0, 100 * time.Millisecond}, {30 * time.Second, 30 * time.Second, time.Hour, 7500 * time.Millisecond},
		{2 * time.Second, 0, time.Hour, 2 * time.Second}, {0, time.Hour, time.Hour, 30 * time.Second},
	} {
		bubbletest.Test(t, func(t *testing.T) {
			g := newRig(t)
			q := g.reclaims(0)
			b := g.box(func(cfg *mailbox.Config) { cfg.Sweep, cfg.Lease, cfg.Liveness = c.sweep, c.lease, c.liveness })
			stop := work(b)
			time.Sleep(2*c.want + time.Millisecond)
			stop()
			if want := []time.Duration{0, c.want, 2 * c.want}; !slices.Equal(q.at, want) {
				t.Errorf("%+v: reclaimed at %v, want %v", c, q.at, want)
			}
		})
	}
}

func TestWork_RetriesAfterTheConfiguredDelays(t *testing.T) {
	for _, c := range []struct {
		delay, most time.Duration
		want        []time.Duration
	}{
		{0, 0, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}},
		{3 * time.Second, 10 * time.Second, []time.Duration{3 * time.Second, 6 * time.Second, 10 * time.Second, 10 * time.Second}},
		{time.Minute, time.Second, []time.Duration{time.Second, time.Second, time.Second, time.Second}},
	} {
		bubbletest.Test(t, func(t *testing.T) {
			g := newRig(t)
			var at []time.Time
			b := g.box(func(cfg *mailbox.Config) {
				cfg.RetryDelay, cfg.MaxRetryDelay, cfg.Poll = c.delay, c.most, time.Hour
				cfg.Sink = func(string) awaken.Sink {
					at = append(at, time.Now())
					panic("each attempt fails")
				}
			})
			stop := work(b)
			g.submit(b.Tenant(""), say("t", "hello"))
			time.Sleep(time.Hour)
			stop()
			var waits []time.Duration
			for i := range at[1:] {
				waits = append(waits, at[i+1].Sub(at[i]).Round(50*time.Millisecond))
			}
			if !slices.Equal(waits, c.want) {
				t.Errorf("retried after %v, want %v", waits, c.want)
			}
		})
	}
}

func TestWork_ReportsMaintenance(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.submit(g.box().Tenant(""), say("t", "hello"))
		if err := g.db.Join(t.Context(), "lost", time.Hour); err != nil {
			t.Fatal(err)
		}
		if ds, _, err := g.db.Claim(t.Context(), mailbox.ClaimRequest{Consumer: "lost", Lease: time.Minute, Limit: 1}); len(ds) != 1 || err != nil {
			t.Fatal(ds, err)
		}
		time.Sleep(2 * time.Minute)
		var sum mailbox.Maintenance
		rounds := 0
		b := g.box(func(c *mailbox.Config) {
			c.TTL = time.Hour
			c.Maintained = func(m mailbox.Maintenance) {
				if m.Err != nil {
					t.Error(m.Err)
				}
				if rounds++; rounds == 1 && m.Reclaimed != 1 {
					t.Errorf("the first round: %+v", m)
				}
				sum.Reclaimed += m.Reclaimed
				sum.Purged += m.Purged
			}
		})
		stop := work(b)
		time.Sleep(2 * time.Hour)
		stop()
		if sum != (mailbox.Maintenance{Reclaimed: 1, Purged: 1}) || rounds < 120 {
			t.Errorf("%d rounds did %+v", rounds, sum)
		}
	})
}
