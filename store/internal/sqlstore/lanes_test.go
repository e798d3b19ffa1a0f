package sqlstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/awaken-go/awaken/internal/bubbletest"
)

type named struct {
	Turn[*named]
	name string
}

// However many calls one owner makes, a call of another waits for one group only, and no owner's calls
// overtake each other.
func TestLanes_OwnersTakeTurns(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		var groups [][]string
		next := make(chan struct{})
		l := Lanes[*named]{Max: 1, Make: func(_ context.Context, calls []*named) {
			var names []string
			for _, c := range calls {
				names = append(names, c.name)
			}
			groups = append(groups, names)
			<-next
		}}
		var all sync.WaitGroup
		call := func(owner string, n int) {
			c := &named{name: fmt.Sprint(owner, n)}
			c.Owner = owner
			all.Go(func() { l.Do(t.Context(), c) })
			synctest.Wait()
		}
		for i := range 201 {
			call("greedy", i)
		}
		for i := range 3 {
			call("modest", i)
		}
		close(next)
		all.Wait()
		seen := map[string]int{}
		for i, g := range groups {
			if len(g) > maxGroup+1 {
				t.Errorf("group %d has %d calls", i, len(g))
			}
			for _, name := range g {
				seen[name] = i
			}
		}
		for i := range 3 {
			if at := seen[fmt.Sprint("modest", i)]; at != 1 {
				t.Errorf("call %d of the modest owner was in group %d, want 1", i, at)
			}
		}
		var greedy []string
		for _, g := range groups {
			for _, name := range g {
				if name[0] == 'g' {
					greedy = append(greedy, name)
				}
			}
		}
		for i, name := range greedy {
			if want := fmt.Sprint("greedy", i); name != want {
				t.Fatalf("call %d of the greedy owner is %s", i, name)
			}
		}
		if len(greedy) != 201 || len(groups) != 5 {
			t.Errorf("%d calls of the greedy owner were made, in %d groups", len(greedy), len(groups))
		}
	})
}
