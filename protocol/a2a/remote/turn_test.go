package remote_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
)

// A run that waits for the card or the token that another run asks for ends when its own time is over.
func TestTimeout_EndsRunsThatWaitForAnother(t *testing.T) {
	for _, hangs := range []string{"card", "token"} {
		t.Run(hangs, func(t *testing.T) {
			asked, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			hang := func() {
				once.Do(func() { close(asked) })
				<-release
			}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/token" && hangs == "token", r.URL.Path != "/token" && hangs == "card":
					hang()
				case r.URL.Path == "/token":
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"access_token":"t","token_type":"Bearer"}`)
					return
				}
				http.NotFound(w, r)
			}))
			s := newSide(t)
			for _, id := range []string{"patient", "hasty"} {
				a := s.far(id, srv.URL, "", `{"card_timeout_ms":30000}`)
				a.Endpoint.Auth = &awaken.RemoteAuth{Type: "oauth2_client_credentials", TokenURL: srv.URL + "/token", ClientID: "me", ClientSecret: awaken.NewSecret("shh")}
				if id == "hasty" {
					a.Endpoint.TimeoutMS = 100
				}
			}
			rt := s.runtime()
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = rt.Run(ctx, say("patient", "a", "hi"), nil) })
			select {
			case <-asked:
			case <-time.After(30 * time.Second):
				t.Fatal("the server was not asked")
			}
			began := time.Now()
			if res, err := rt.Run(t.Context(), say("hasty", "b", "hi"), nil); err == nil || !strings.Contains(err.Error(), "no answer within 100ms") {
				t.Errorf("got %+v, %v", res, err)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			close(release)
			cancel()
			wg.Wait()
			srv.Close()
		})
	}
}
