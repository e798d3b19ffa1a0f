package memory_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/profile/profiletest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(*testing.T) awaken.Store { return memory.New() })
}

func TestProfile(t *testing.T) {
	t.Parallel()
	profiletest.Test(t, func(*testing.T) profile.Store { return memory.NewProfile() })
}

func TestTakeOver_TheFirstOwnerWritesNothingAndBeginsNothing(t *testing.T) {
	storetest.TakeOver(t, memory.New(), 1000)
}
