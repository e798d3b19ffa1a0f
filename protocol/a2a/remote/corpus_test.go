package remote

import (
	"net/http"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/internal/httpguard/guardtest"
)

// Neither the address of a server nor what its card says makes a client reach anything but the public internet.
func TestClient_Corpus(t *testing.T) {
	t.Parallel()
	o := httpguard.Options{Redirects: -1, MaxBytes: maxStream}
	t.Run("card", func(t *testing.T) {
		guardtest.Test(t, o, func(t *testing.T, client *http.Client, address string) {
			if c, err := newClient(Server{BaseURL: address}, client, time.Now); err == nil {
				c.cards.get(t.Context(), time.Now())
			}
		})
	})
	t.Run("endpoint", func(t *testing.T) { // of a card
		guardtest.Test(t, o, func(t *testing.T, client *http.Client, address string) {
			c, err := newClient(Server{BaseURL: "https://public.example"}, client, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := c.wire.do(t.Context(), http.MethodPost, address, []byte("{}"), http.Header{}); err == nil {
				resp.Body.Close()
			}
		})
	})
}
