package remote_test

import (
	"os"
	"testing"

	"github.com/awaken-go/awaken"
)

// TestForeign talks to the server at AWAKEN_A2A_SERVER, such as one that another SDK made: it must answer two messages of one
// context, in both bindings if its card lists them.
func TestForeign_ServersAnswer(t *testing.T) {
	base := os.Getenv("AWAKEN_A2A_SERVER")
	if base == "" {
		t.Skip("AWAKEN_A2A_SERVER is not set")
	}
	both(t, func(t *testing.T, options string) {
		s := newSide(t)
		s.far("far", base, os.Getenv("AWAKEN_A2A_TARGET"), options)
		for _, text := range []string{"hello", "hello again"} {
			h := &heard{}
			res, err := s.runtime().Run(t.Context(), say("far", "t", text), h)
			if err != nil || res.Status == awaken.RunDone && res.Response == "" || res.Status == awaken.RunDone && h.text != res.Response {
				t.Fatalf("got %+v, %v, heard %q", res, err, h.text)
			}
		}
	})
}
