package webhook_test

import (
	"testing"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/webhooktest"
)

func TestMemory(t *testing.T) {
	webhooktest.Test(t, func(t *testing.T) (webhook.Store, func() webhook.Store) { return new(webhook.Memory), nil })
}

func TestMemoryEndpoints(t *testing.T) {
	webhooktest.TestEndpoints(t, func(t *testing.T) (webhook.EndpointStore, func() webhook.EndpointStore) {
		return new(webhook.MemoryEndpoints), nil
	})
}
