package sqlite_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/trigger"
	"github.com/awaken-go/awaken/automate/trigger/triggertest"
)

func TestTriggers(t *testing.T) {
	triggertest.Test(t, func(t *testing.T) (trigger.Store, func() trigger.Store) {
		path := newFile(t)
		return openAt(t, path, nil).Triggers(), func() trigger.Store { return openAt(t, path, nil).Triggers() }
	})
}
