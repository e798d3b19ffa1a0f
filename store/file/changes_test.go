package file_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog/changelogtest"
)

func TestChanges(t *testing.T) {
	changelogtest.Test(t, func(t *testing.T) changelogtest.Backend {
		s := open(t, t.TempDir(), nil)
		return changelogtest.Backend{Changes: s.Changes(), Store: func(string) awaken.Store { return s }}
	})
}
