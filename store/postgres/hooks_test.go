package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/webhook"
	"github.com/awaken-go/awaken/webhook/webhooktest"
)

func TestHooks(t *testing.T) {
	webhooktest.Test(t, func(t *testing.T) (webhook.Store, func() webhook.Store) {
		prefix := tables(t)
		join := func() webhook.Store {
			return openAt(t, shared(), &postgres.Options{Prefix: prefix}).Hooks()
		}
		return join(), join
	})
}
