package webhooktest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
)

// TestEndpoints tests the promises of a store of endpoints. Open returns an empty one; join returns the same store as another process has it, and may be nil if there is no
// other way to it.
func TestEndpoints(t *testing.T, open func(t *testing.T) (s webhook.EndpointStore, join func() webhook.EndpointStore)) {
	t.Run("AnEndpointIsWhatWasStored", func(t *testing.T) { s, _ := open(t); keepsEndpoint(t, s) })
	t.Run("PagesAreByIDAndTenant", func(t *testing.T) { s, _ := open(t); pagesEndpoints(t, s) })
	t.Run("FreeAreThoseWhoseTimeHasCome", func(t *testing.T) { s, _ := open(t); freesEndpoints(t, s) })
	t.Run("OfChangesOfOneRevisionOneIsMade", func(t *testing.T) { s, join := open(t); comparesEndpoints(t, s, join) })
}

func endpoint(tenant, id string) *webhook.Endpoint {
	return &webhook.Endpoint{Tenant: tenant, ID: id, Spec: webhook.EndpointSpec{URL: "https://example.com/" + id}}
}

func swapEndpoint(t *testing.T, s webhook.EndpointStore, e *webhook.Endpoint) {
	t.Helper()
	if ok, err := s.SwapEndpoint(t.Context(), e); !ok || err != nil {
		t.Fatalf("endpoint %s is stored: %t, %v", e.ID, ok, err)
	}
	e.Revision++
}

func keepsEndpoint(t *testing.T, s webhook.EndpointStore) {
	at := time.Date(2026, 11, 17, 12, 0, 0, 500_000_000, time.UTC)
	e := endpoint("t", "x \x00 ü")
	e.Due = at
	e.Spec = webhook.EndpointSpec{URL: "https://example.com/?a=\u2028", Description: "d", Events: []webhook.Event{webhook.RunFinished}, Agents: []string{"a"}, Children: true, Paused: true}
	e.State = webhook.EndpointState{Secret: []byte{0, 1, 255}, Former: []byte("x"), FormerUntil: at, After: 7, Check: 8, Holder: "p", Paused: "why", Lost: "since"}
	swapEndpoint(t, s, e)
	got, err := s.Endpoint(t.Context(), "t", e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Due.Equal(e.Due) {
		t.Errorf("due is %s, want %s", got.Due, e.Due)
	}
	got.Due = e.Due
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if _, err := s.Endpoint(t.Context(), "u", e.ID); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("another tenant's endpoint: %v", err)
	}
	for _, want := range []bool{true, false} {
		if ok, err := s.DropEndpoint(t.Context(), "t", e.ID); ok != want || err != nil {
			t.Errorf("drop: %t, %v; want %t", ok, err, want)
		}
	}
}

func pagesEndpoints(t *testing.T, s webhook.EndpointStore) {
	for _, id := range []string{"c", "a", "b"} {
		swapEndpoint(t, s, endpoint("t", id))
	}
	swapEndpoint(t, s, endpoint("u", "b"))
	got := ""
	for after := ""; ; {
		page, err := s.Endpoints(t.Context(), "t", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			after = e.ID
			got += e.ID
		}
	}
	if got != "abc" {
		t.Errorf("pages have %q, want abc", got)
	}
}

func freesEndpoints(t *testing.T, s webhook.EndpointStore) {
	now := time.Now().Truncate(time.Millisecond)
	for id, due := range map[string]time.Time{"held": now.Add(time.Hour), "free": now.Add(-time.Second), "paused": {}} {
		e := endpoint(id, id)
		e.Due = due
		swapEndpoint(t, s, e)
	}
	free, clock, err := s.Free(t.Context(), 10)
	if err != nil || len(free) != 1 || free[0].ID != "free" {
		t.Errorf("free are %v, %v", free, err)
	}
	if off := clock.Sub(now); off < -time.Minute || off > time.Minute {
		t.Errorf("the time of the store is %s, want about %s", clock, now)
	}
}

func comparesEndpoints(t *testing.T, s webhook.EndpointStore, join func() webhook.EndpointStore) {
	if join == nil {
		join = func() webhook.EndpointStore { return s }
	}
	swapEndpoint(t, s, endpoint("t", "x"))
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		other := join()
		wg.Go(func() {
			e := endpoint("t", "x")
			e.Revision, e.State.Holder = 1, fmt.Sprint(i)
			ok, err := other.SwapEndpoint(t.Context(), e)
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if got, err := s.Endpoint(t.Context(), "t", "x"); err != nil || won.Load() != 1 || got.Revision != 2 {
		t.Errorf("%d changes were made, %+v, %v", won.Load(), got, err)
	}
	if ok, err := s.SwapEndpoint(t.Context(), endpoint("t", "x")); ok || err != nil {
		t.Errorf("an endpoint was created twice: %t, %v", ok, err)
	}
}
