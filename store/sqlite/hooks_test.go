package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken/webhook"
	"github.com/awaken-go/awaken/webhook/webhooktest"
)

func TestHooks(t *testing.T) {
	webhooktest.Test(t, func(t *testing.T) (webhook.Store, func() webhook.Store) {
		path := filepath.Join(t.TempDir(), "awaken.db")
		return openAt(t, path, nil).Hooks(), func() webhook.Store { return openAt(t, path, nil).Hooks() }
	})
}
