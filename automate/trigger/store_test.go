package trigger_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/trigger"
	"github.com/awaken-go/awaken/automate/trigger/triggertest"
)

func TestMemory(t *testing.T) {
	triggertest.Test(t, func(t *testing.T) (trigger.Store, func() trigger.Store) { return new(trigger.Memory), nil })
}
