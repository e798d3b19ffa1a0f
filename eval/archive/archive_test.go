package archive_test

import (
	"testing"

	"github.com/awaken-go/awaken/eval/archive/archivetest"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

func TestMemory(t *testing.T) {
	archivetest.Test(t, func(*testing.T) profile.Store { return memory.NewProfile() })
}
