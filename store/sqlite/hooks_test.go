package sqlite_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/webhooktest"
)

func TestHooks(t *testing.T) {
	webhooktest.Test(t, func(t *testing.T) (webhook.Store, func() webhook.Store) {
		path := newFile(t)
		return openAt(t, path, nil).Hooks(), func() webhook.Store { return openAt(t, path, nil).Hooks() }
	})
}

func TestEndpoints(t *testing.T) {
	webhooktest.TestEndpoints(t, func(t *testing.T) (webhook.EndpointStore, func() webhook.EndpointStore) {
		path := newFile(t)
		return openAt(t, path, nil).Endpoints(), func() webhook.EndpointStore { return openAt(t, path, nil).Endpoints() }
	})
}
