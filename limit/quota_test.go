package limit_test

import (
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
