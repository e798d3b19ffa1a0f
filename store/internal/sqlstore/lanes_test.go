package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
			if len(g) > maxGroup {
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

// While a group is in flight, calls wait for it, and for another lane if it is held up.
func TestLanes_OpenIfAGroupIsHeldUp(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		const patience = 25 * time.Millisecond
		held := make(chan struct{})
		var sizes []int
		var mu sync.Mutex
		l := Lanes[*named]{Max: 2, Patience: patience, Make: func(_ context.Context, calls []*named) {
			mu.Lock()
			sizes = append(sizes, len(calls))
			mu.Unlock()
			if calls[0].name == "held up" {
				<-held
			}
		}}
		var all sync.WaitGroup
		all.Go(func() { l.Do(t.Context(), &named{name: "held up"}) })
		synctest.Wait()
		begin := time.Now()
		var others sync.WaitGroup
		for i := range 3 {
			others.Go(func() { l.Do(t.Context(), &named{name: fmt.Sprint(i)}) })
		}
		others.Wait()
		if d := time.Since(begin); d != patience {
			t.Errorf("other calls took %v, want %v", d, patience)
		}
		close(held)
		all.Wait()
		if want := []int{1, 3}; !slices.Equal(sizes, want) {
			t.Errorf("groups of %v calls, want %v", sizes, want)
		}
		l.Do(t.Context(), &named{name: "later"}) // the lanes are free
		if l.taken != 0 {
			t.Errorf("%d lanes are taken", l.taken)
		}
	})
}

// Groups that follow each other are not held up, however long calls keep waiting.
func TestLanes_StayOneWhileGroupsAreMade(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		var inFlight, most int
		l := Lanes[*named]{Max: 2, Patience: 25 * time.Millisecond}
		l.Make = func(context.Context, []*named) {
			l.mu.Lock()
			inFlight++
			most = max(most, inFlight)
			l.mu.Unlock()
			time.Sleep(4 * time.Millisecond)
			l.mu.Lock()
			inFlight--
			l.mu.Unlock()
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 50 {
					l.Do(t.Context(), &named{name: fmt.Sprint(i)})
				}
			})
		}
		all.Wait()
		if most != 1 || l.taken != 0 {
			t.Errorf("%d groups were in flight at once, and %d lanes are taken; want 1 and 0", most, l.taken)
		}
	})
}

// A group that panics takes its members along, and leaves its lane.
func TestLanes_Panic(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		l := Lanes[*named]{Max: 1, Make: func(_ context.Context, calls []*named) {
			<-first
			if len(calls) > 1 {
				panic("of the group")
			}
		}}
		var mu sync.Mutex
		var panics int
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				defer func() {
					if recover() != nil {
						mu.Lock()
						panics++
						mu.Unlock()
					}
				}()
				l.Do(t.Context(), &named{name: fmt.Sprint(i)})
			})
			synctest.Wait()
		}
		close(first)
		all.Wait()
		if panics != 3 {
			t.Errorf("%d calls panicked, want the 3 of the second group", panics)
		}
		l.Do(t.Context(), &named{name: "later"})
	})
}
