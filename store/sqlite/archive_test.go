package sqlite_test

import (
	"testing"

	"github.com/awaken-go/awaken/eval/archive/archivetest"
	"github.com/awaken-go/awaken/state/profile"
)

func TestArchive(t *testing.T) {
	archivetest.Test(t, func(t *testing.T) profile.Store { return openAt(t, newFile(t), nil).Profile("t") })
}
