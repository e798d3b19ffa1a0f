package webhooktest

import (
	"testing"
	"time"

	"github.com/awaken-go/awaken/automate/automatetest"
	"github.com/awaken-go/awaken/automate/webhook"
)

// TestEndpoints tests the promises of a store of endpoints. Open returns an empty one; join returns the same store as another process has
// it, and may be nil if there is no other way to it.
func TestEndpoints(t *testing.T, open func(t *testing.T) (s webhook.EndpointStore, join func() webhook.EndpointStore)) {
	at := time.Date(2026, 11, 17, 12, 0, 0, 500_000_000, time.UTC)
	full := webhook.Endpoint{
		Spec: webhook.EndpointSpec{URL: "https://example.com/?a=\u2028", Description: "d", Events: []webhook.Event{webhook.RunFinished},
			Agents: []string{"a"}, Children: true, Paused: true},
		State: webhook.EndpointState{Secret: []byte{0, 1, 255}, Former: []byte("x"), FormerUntil: at, After: 7, Check: 8, Holder: "p", Paused: "why", Lost: "since"},
	}
	automatetest.Kind[webhook.Endpoint, *webhook.Endpoint, webhook.EndpointStore]{Full: full, Open: open}.Test(t)
}
