package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/mailbox/mailboxtest"
	"github.com/awaken-go/awaken/store/memory"
)

func TestMailbox(t *testing.T) {
	t.Parallel()
	mailboxtest.Test(t, func(*testing.T) mailboxtest.Backend {
		db := memory.NewDB()
		var ahead atomic.Int64
		db.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		return mailboxtest.Backend{Queue: db, Advance: func(d time.Duration) { ahead.Add(int64(d)) }}
	})
}
