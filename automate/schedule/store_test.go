package schedule_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/schedule/scheduletest"
)

func TestMemory(t *testing.T) {
	scheduletest.Test(t, func(t *testing.T) (schedule.Store, func() schedule.Store) { return new(schedule.Memory), nil })
}
