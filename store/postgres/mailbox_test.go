package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/mailbox/mailboxtest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestMailbox(t *testing.T) {
	mailboxtest.Test(t, func(t *testing.T) mailboxtest.Backend {
		opts := &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))}
		db := openAt(t, shared(), opts)
		var mu sync.Mutex
		var shift time.Duration
		return mailboxtest.Backend{Queue: db, Other: openAt(t, shared(), opts), Advance: func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			shift += d
			if err := db.ShiftClock(t.Context(), shift); err != nil {
				t.Error(err)
			}
		}}
	})
}
