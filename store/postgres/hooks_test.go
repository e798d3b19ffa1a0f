package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/webhooktest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestHooks(t *testing.T) {
	webhooktest.Test(t, func(t *testing.T) (webhook.Store, func() webhook.Store) {
		prefix := tables(t)
		join := func() webhook.Store {
			return openTables(t, &postgres.Options{Prefix: prefix}).Hooks()
		}
		return join(), join
	})
}

func TestEndpoints(t *testing.T) {
	webhooktest.TestEndpoints(t, func(t *testing.T) (webhook.EndpointStore, func() webhook.EndpointStore) {
		prefix := tables(t)
		join := func() webhook.EndpointStore {
			return openTables(t, &postgres.Options{Prefix: prefix}).Endpoints()
		}
		return join(), join
	})
}
