package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestConfig(t *testing.T) {
	configtest.Test(t, func(t *testing.T) configtest.Backend {
		var ahead atomic.Int64
		opts := &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1)), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
		db := openAt(t, shared(), opts)
		return configtest.Backend{
			Store: db.Config(), Other: openAt(t, shared(), opts).Config(),
			Advance: func(d time.Duration) { ahead.Add(int64(d)) },
			Runs:    func(tenant string) awaken.Store { return db.Store(tenant) },
			Reopen: func(t *testing.T) config.Store {
				db.Close()
				db = openAt(t, shared(), opts)
				return db.Config()
			},
			Crash: func(t *testing.T) config.Store { // the connections of the one that died are still there
				db = openAt(t, shared(), opts)
				return db.Config()
			},
		}
	})
}
