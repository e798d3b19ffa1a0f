package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/store/memory"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	configtest.Test(t, func(*testing.T) configtest.Backend {
		db := memory.NewDB()
		var ahead atomic.Int64
		db.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		return configtest.Backend{Store: db.Config(), Runs: func(tenant string) awaken.Store { return db.Store(tenant) },
			Advance: func(d time.Duration) { ahead.Add(int64(d)) }}
	})
}
