package memory_test

import (
	"runtime"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/state/profile/profiletest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(*testing.T) awaken.Store { return memory.New() })
}

func TestSpending_ConcurrentRunsNeverExceedTheBudgetOfTheirTenant(t *testing.T) {
	s := memory.New()
	storetest.SpendTogether(t, 200, s, s, s)
}

func TestProfile(t *testing.T) {
	t.Parallel()
	profiletest.Test(t, func(*testing.T) profile.Store { return memory.NewProfile() })
}

func TestTakeOver_TheFirstOwnerWritesNothingAndBeginsNothing(t *testing.T) {
	storetest.TakeOver(t, memory.New(), 1000)
}

// What a commit allocates does not depend on how long the thread is.
func TestCommit_CostsTheSameOnALongThread(t *testing.T) {
	storetest.LongThread(t, memory.New(), 0.05, nil, func() storetest.Usage {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return storetest.Usage{Bytes: int64(m.TotalAlloc)}
	})
}
