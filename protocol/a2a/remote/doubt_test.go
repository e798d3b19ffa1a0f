package remote_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
)

// A server that fails while it is asked for a message in doubt is asked again with pauses.
func TestDoubt_AServerThatIsDownIsNotFlooded(t *testing.T) {
	var lists atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/message:"):
			panic(http.ErrAbortHandler)
		case strings.HasSuffix(r.URL.Path, "/tasks"):
			lists.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	res, err := run(t, awaken.RemoteEndpoint{BaseURL: srv.URL, TimeoutMS: 2500})
	if err == nil {
		t.Fatalf("got %+v, want a timeout", res)
	}
	if n := lists.Load(); n == 0 || n > 5 {
		t.Errorf("the server was asked %d times within 2.5 seconds, want a few", n)
	}
}
