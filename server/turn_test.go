package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/awaken-go/awaken/internal/bubbletest"
)

// However many requests one tenant sends, another's is next. One that leaves, or that the server's stop
// refuses, keeps no turn.
func TestTurns_GoToTenantsInTurn(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		serving, stop := context.WithCancel(t.Context())
		turns := newTurns(serving, 1)
		of := func(tenant string) Caller { return Caller{Key: &Key{ID: "k", Tenant: tenant}} }
		if err := turns.take(t.Context(), of("greedy")); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		wait := func(ctx context.Context, tenant, name string) {
			all.Go(func() {
				if err := turns.take(ctx, of(tenant)); err != nil {
					name = err.Error()
				} else {
					defer turns.give()
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			})
			synctest.Wait()
		}
		for i := range 3 {
			wait(t.Context(), "greedy", fmt.Sprint("g", i))
		}
		leaving, leave := context.WithCancelCause(t.Context())
		wait(leaving, "modest", "left")
		leave(errors.New("left"))
		synctest.Wait()
		wait(t.Context(), "modest", "m0")
		wait(t.Context(), "modest", "m1")
		turns.give()
		all.Wait()
		if got := fmt.Sprint(order); got != "[left g0 m0 g1 m1 g2]" {
			t.Errorf("the order is %s", got)
		}
		if turns.free != 1 || len(turns.waiting)+len(turns.order) != 0 {
			t.Errorf("afterwards %d are free, and %v and %v wait", turns.free, turns.waiting, turns.order)
		}
		if err := turns.take(t.Context(), of("greedy")); err != nil {
			t.Fatal(err)
		}
		order = nil
		wait(t.Context(), "greedy", "late")
		stop()
		all.Wait()
		if len(order) != 1 || order[0] != ErrStopping.Error() {
			t.Errorf("one that waits when the server stops got %v", order)
		}
	})
}
