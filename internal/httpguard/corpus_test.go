package httpguard_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/internal/httpguard/guardtest"
)

// The client itself, with and without redirects, reaches no address of the corpus.
func TestClient_Corpus(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]httpguard.Options{"redirects": {}, "none": {Redirects: -1}} {
		t.Run(name, func(t *testing.T) {
			guardtest.Test(t, o, func(t *testing.T, client *http.Client, address string) {
				req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address, nil)
				if err != nil {
					return
				}
				if resp, err := client.Do(req); err == nil {
					resp.Body.Close()
				}
			})
		})
	}
}
