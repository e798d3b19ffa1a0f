package mailbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
)

func TestLease(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		var l lease
		ended := make(chan struct{})
		start := time.Now()
		l.begin(start.Add(time.Minute), func() { close(ended) })
		time.Sleep(50 * time.Second)
		l.extend(time.Now(), time.Minute)
		l.extend(start, time.Minute) // an answer that came late
		time.Sleep(50 * time.Second)
		if l.expired(time.Now()) {
			t.Error("a lease that was extended is over")
		}
		<-ended
		if took := time.Since(start); took != 110*time.Second || !l.expired(time.Now()) {
			t.Errorf("the lease ended after %s", took)
		}
	})
}

func TestLease_ReleasedDoesNotExpire(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		var l lease
		l.begin(time.Now().Add(time.Minute), func() { t.Error("a lease that was released has ended its run") })
		l.release()
		time.Sleep(time.Hour)
	})
}

// settleOnly is a queue that settles, but not at once.
type settleOnly struct {
	Queue
	fails int
	sizes []int
}

func (q *settleOnly) Settle(_ context.Context, ss ...Settlement) ([]error, error) {
	time.Sleep(time.Second)
	if q.fails > 0 {
		q.fails--
		return nil, errors.New("the database is away")
	}
	q.sizes = append(q.sizes, len(ss))
	return make([]error, len(ss)), nil
}

func TestSettler_BatchesPendingSettlements(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		q := &settleOnly{fails: 2}
		s := &settler{queue: q, patience: time.Minute, observer: unobserved{}, logger: slog.New(slog.DiscardHandler), in: make(chan settling)}
		go s.work()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { s.settle(Settlement{Status: Acked}) })
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		close(s.in)
		if len(q.sizes) != 2 || q.sizes[0] != 1 || q.sizes[1] != 9 {
			t.Errorf("ten claims were settled %v at a time, want the first, and then the rest", q.sizes)
		}
	})
}

func TestSettler_GivesUpAfterALease(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		s := &settler{queue: &settleOnly{fails: 1000}, patience: time.Minute, observer: unobserved{}, logger: slog.New(slog.DiscardHandler), in: make(chan settling)}
		go s.work()
		start := time.Now()
		s.settle(Settlement{Status: Acked})
		close(s.in)
		if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it was given up after %s", took)
		}
	})
}
