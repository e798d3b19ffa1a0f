package sqlite_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/schedule/scheduletest"
)

func TestSchedules(t *testing.T) {
	scheduletest.Test(t, func(t *testing.T) (schedule.Store, func() schedule.Store) {
		path := newFile(t)
		return openAt(t, path, nil).Schedules(), func() schedule.Store { return openAt(t, path, nil).Schedules() }
	})
}
