package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/schedule/scheduletest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestSchedules(t *testing.T) {
	scheduletest.Test(t, func(t *testing.T) (schedule.Store, func() schedule.Store) {
		prefix := tables(t)
		join := func() schedule.Store {
			return openTables(t, &postgres.Options{Prefix: prefix}).Schedules()
		}
		return join(), join
	})
}
