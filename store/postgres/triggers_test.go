package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/trigger"
	"github.com/awaken-go/awaken/automate/trigger/triggertest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestTriggers(t *testing.T) {
	triggertest.Test(t, func(t *testing.T) (trigger.Store, func() trigger.Store) {
		prefix := tables(t)
		join := func() trigger.Store {
			return openTables(t, &postgres.Options{Prefix: prefix}).Triggers()
		}
		return join(), join
	})
}
