package config_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/store/memory"
)

// shared runs a test with two managers on one store and one bus, both at work. Stop ends the work of
// the second. Killed leaves a third process known that has followed so far and does nothing any more.
func shared(t *testing.T, f func(t *testing.T, one, two *rig, stop, killed func())) {
	bubbletest.Test(t, func(t *testing.T) {
		store, m := memory.NewDB().Config(), bustest.NewMemory(7999, bustest.Faults{})
		join := func(r *rig) (leave func()) {
			x := bus.NewExchange(m.Join())
			r.Share(x)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				x.Run(ctx, func(ctx context.Context) { _ = r.Work(ctx) })
			}()
			return func() { cancel(); <-done }
		}
		one := newRig(t, store, nil)
		one.basics()
		two := newRig(t, store, nil)
		defer join(one)()
		leave := join(two)
		defer func() { leave() }()
		synctest.Wait()
		f(t, one, two, func() { leave(); leave = func() {} }, func() {
			if err := bus.NewExchange(m.Join()).Send(t.Context(), "config", bus.Message{Text: "1"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		})
	})
}

// A client whose next request is served by another process finds what it has published.
func TestShare_AWriteReturnsWhenOtherProcessesHaveFollowed(t *testing.T) {
	shared(t, func(t *testing.T, one, two *rig, _, _ func()) {
		for i := range 3 {
			one.put("agents/a", `"model_id":"m","system_prompt":"from one"`)
			two.wantAnswer("[sk-first-secret]from one up 2 tools", []string{"4", "6", "8"}[i])
			two.put("agents/a", `"model_id":"m","system_prompt":"from two"`)
			one.wantAnswer("[sk-first-secret]from two up 2 tools", []string{"5", "7", "9"}[i])
		}
	})
}

// wantWrites checks how long writes take, one after the other.
func (r *rig) wantWrites(t *testing.T, want ...time.Duration) {
	t.Helper()
	for i, want := range want {
		began := time.Now()
		r.put("agents/a", fmt.Sprintf(`"model_id":"m","system_prompt":"%d at %s"`, i, began))
		if took := time.Since(began); took != want {
			t.Errorf("write %d took %s, want %s", i, took, want)
		}
	}
}

func TestShare_AProcessThatWasKilledDelaysOneWrite(t *testing.T) {
	shared(t, func(t *testing.T, one, _ *rig, _, killed func()) {
		killed()
		one.wantWrites(t, time.Second, 0, 0)
	})
}

// A rollout, which stops every process once, delays no write.
func TestShare_AProcessThatStopsDelaysNoWrite(t *testing.T) {
	shared(t, func(t *testing.T, one, _ *rig, stop, _ func()) {
		stop()
		one.wantWrites(t, 0, 0)
	})
}
