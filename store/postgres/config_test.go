package postgres_test

import (
	"context"
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
		opts := &postgres.Options{Prefix: tables(t), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
		db := openTables(t, opts)
		return configtest.Backend{
			Store: db.Config(), Other: openTables(t, opts).Config(),
			Advance: func(d time.Duration) { ahead.Add(int64(d)) },
			Runs:    func(tenant string) awaken.Store { return db.Store(tenant) },
			Reopen: func(t *testing.T) config.Store {
				db.Close()
				db = openTables(t, opts)
				return db.Config()
			},
			Crash: func(t *testing.T) config.Store { // the connections of the dead process are still open
				db = openTables(t, opts)
				return db.Config()
			},
		}
	})
}

// Turns of all processes are serialized. A caller that stops waiting gets no turn, and the
// end of a turn lets the next begin.
func TestConfig_Turns(t *testing.T) {
	opts := &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))}
	one := openAt(t, shared(), opts).Config().(config.Turner)
	two := openAt(t, shared(), opts).Config().(config.Turner)
	done, err := one.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := two.Turn(ctx); err == nil {
		t.Fatal("two have the turn")
	}
	next := make(chan error)
	go func() {
		done, err := two.Turn(t.Context())
		if err == nil {
			done()
		}
		next <- err
	}()
	done()
	if err := <-next; err != nil {
		t.Fatal(err)
	}
	if done, err = one.Turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	done()
}
