package due_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/due"
)

func TestLoop(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l, began := due.NewLoop(10*time.Second), time.Now()
		var at []time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Work(ctx, func(context.Context) bool {
				at = append(at, time.Since(began))
				return len(at) == 2 // the second look finds more than it can take
			})
		}()
		time.Sleep(13 * time.Second)
		l.Wake()
		time.Sleep(11 * time.Second)
		cancel()
		<-done
		l.Wake() // has no effect, and does not block
		if want := []time.Duration{0, 10 * time.Second, 10 * time.Second, 13 * time.Second, 23 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("looked at %v, want %v", at, want)
		}
	})
}

func TestLoop_DoesNotLookAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := due.NewLoop(time.Second)
	l.Wake()
	l.Work(ctx, func(context.Context) bool {
		t.Error("looked although the context is done")
		return false
	})
}

func TestClock(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := time.Date(2030, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("there", 3600))
		c := due.ClockAt(store)
		time.Sleep(time.Hour)
		if got, want := c.Now(), time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, time.UTC); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	})
}

func TestChore(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		var c due.Chore
		var got []bool
		for range 4 {
			got = append(got, c.Due(time.Minute))
			time.Sleep(40 * time.Second)
		}
		if want := []bool{true, false, true, false}; !slices.Equal(got, want) {
			t.Errorf("due: %v, want %v", got, want)
		}
	})
}

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1 << 40: 10 * time.Second} {
		if got := due.Backoff(time.Second, 10*time.Second, failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
	for range 1000 {
		if got := due.Spread(10 * time.Second); got < 8*time.Second || got > 10*time.Second {
			t.Fatalf("spread to %s", got)
		}
	}
}
