package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/awaken-go/awaken/mailbox/mailboxtest"
)

func TestMailbox(t *testing.T) {
	mailboxtest.Test(t, func(t *testing.T) mailboxtest.Backend {
		path := filepath.Join(t.TempDir(), "awaken.db")
		db, other := openAt(t, path, nil), openAt(t, path, nil)
		return mailboxtest.Backend{Queue: db, Other: other, Advance: func(d time.Duration) {
			db.Advance(d)
			other.Advance(d)
		}}
	})
}
