package limit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/limit"
)

// The processes of a fleet have one quota together for each name, also if each event comes to another of them.
func TestQuota_HoldsForTheFleet(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &limit.Memory{}
		var fleet []*limit.Quota
		for range 3 {
			fleet = append(fleet, limit.NewQuota(store, 10, 20))
		}
		taken := func(name string, lasts time.Duration) (n int) {
			for end := time.Now().Add(lasts); ; time.Sleep(10 * time.Millisecond) {
				for _, q := range fleet {
					if wait, err := q.Take(t.Context(), name); err == nil && wait == 0 {
						n++
					}
				}
				if !time.Now().Before(end) {
					return n
				}
			}
		}
		if n := taken("a", 0); n != 3 {
			t.Errorf("%d of 3 events passed", n)
		}
		if n := taken("a", 10*time.Second); n < 110 || n > 118 { // what is left of 20, and 10 a second
			t.Errorf("%d events passed in 10s, want 117", n)
		}
		if n := taken("b", 0); n != 3 {
			t.Errorf("after the quota of another name, %d of 3 events passed", n)
		}
		for _, q := range fleet {
			if wait, err := q.Take(t.Context(), "a"); err != nil || wait > 200*time.Millisecond {
				t.Errorf("an event beyond the quota waits %s, %v", wait, err)
			}
		}
	})
}

// One connection, whose events all come to one process, has the whole quota.
func TestQuota_OneProcessHasAllOfIt(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &limit.Memory{}
		one, two := limit.NewQuota(store, 10, 20), limit.NewQuota(store, 10, 20)
		two.Take(t.Context(), "a")
		n := 0
		for range 100 {
			if wait, err := one.Take(t.Context(), "a"); err == nil && wait == 0 {
				n++
			}
		}
		if n < 18 || n > 19 {
			t.Errorf("%d events passed at once, want 18", n)
		}
	})
}

// A store that fails is told, and one that does not answer makes events of a name wait once in a second.
func TestQuota_TellsThatItsStoreFails(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		for _, how := range []string{"fails", "hangs"} {
			store := &stuck{Store: &limit.Memory{}}
			q := limit.NewQuota(store, 10, 5)
			store.set(how)
			began := time.Now()
			for range 100 {
				if wait, err := q.Take(t.Context(), "a"); err == nil {
					t.Errorf("a store that %s says %s", how, wait)
				}
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("a store that %s takes %s", how, took)
			}
			store.set("")
			time.Sleep(time.Second)
			if wait, err := q.Take(t.Context(), "a"); err != nil || wait != 0 {
				t.Errorf("a store that is back says %s, %v", wait, err)
			}
		}
	})
}

// A client that stays below its rate keeps half of its burst and more, also if its shares grow old before they are used up.
func TestQuota_SharesThatGrowOldAreNotLost(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &limit.Memory{}
		fleet := []*limit.Quota{limit.NewQuota(store, 1, 80), limit.NewQuota(store, 1, 80)}
		taken := func(i int) bool {
			wait, err := fleet[i%2].Take(t.Context(), "a")
			return err == nil && wait == 0
		}
		for i := range 100 {
			if !taken(i) {
				t.Fatalf("event %d at less than the rate did not pass", i)
			}
			time.Sleep(1100 * time.Millisecond)
		}
		n := 0
		for i := range 200 {
			if taken(i) {
				n++
			}
		}
		if n < 40 || n > 80 {
			t.Errorf("%d events passed at once, want 40 to 80", n)
		}
		time.Sleep(time.Hour) // what is given back after that is no more than the burst
		n = 0
		for i := range 200 {
			if taken(i) {
				n++
			}
		}
		if n < 70 || n > 80 {
			t.Errorf("%d events passed at once after an hour, want 80", n)
		}
	})
}

// While a store does not answer, the events of all names together wait for it now and then, and not each name's.
func TestQuota_AStoreThatHangsDelaysFewEvents(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &stuck{Store: &limit.Memory{}}
		q := limit.NewQuota(store, 10, 5)
		if _, err := q.Take(t.Context(), "known"); err != nil {
			t.Fatal(err)
		}
		store.set("hangs")
		began, slow := time.Now(), 0
		for i := 0; time.Since(began) < 30*time.Second; i++ {
			event := time.Now()
			for range 5 {
				if _, err := q.Take(t.Context(), fmt.Sprint("name", i)); err == nil {
					t.Error("a store that hangs gives shares")
				}
			}
			if time.Since(event) > 0 {
				slow++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if slow > 16 {
			t.Errorf("%d events waited for a store that hangs for 30s", slow)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		store.set("")
		time.Sleep(time.Second)
		q.Take(gone, "b") // its client has left: that says nothing about the store
		if wait, err := q.Take(t.Context(), "c"); err != nil || wait != 0 {
			t.Errorf("a store that is back says %s, %v", wait, err)
		}
	})
}

// Events that wait while another of their name asks a store that hangs do not ask it again, one after the other.
func TestQuota_EventsThatWaitTogetherWaitOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &stuck{Store: &limit.Memory{}}
		store.set("hangs")
		q := limit.NewQuota(store, 10, 5)
		began := time.Now()
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				if _, err := q.Take(t.Context(), fmt.Sprint("name", i%5)); err == nil {
					t.Error("a store that hangs gives shares")
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("50 events at once took %s", took)
		}
	})
}
