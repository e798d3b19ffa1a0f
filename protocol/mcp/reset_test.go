package mcp_test

import (
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A client whose position was lost with the owner of the run gets progress that increases, and the result.
func TestResume_PositionIsLost(t *testing.T) {
	slow := make(chan struct{})
	g := newRigWith(t, withTools, slow)
	g.connect()
	f := read(t, g.open(g.URL, "tools/call", object{"name": "slow", "arguments": object{"message": "go"}, "_meta": object{"progressToken": 1}}))
	last := 0.0
	for range protocoltest.FirstPieces {
		last, _ = at(f.until("notifications/progress"), "params", "progress").(float64)
	}
	thread := f.resp.Header.Get("X-Thread-Id")
	f.resp.Body.Close()
	if _, err := g.DB.Handle("").Acquire(t.Context(), thread); err != nil { // another owner takes over
		t.Fatal(err)
	}
	early := read(t, g.send(http.MethodGet, g.URL, "", "Last-Event-ID", f.id)) // before the next owner begins
	close(slow)
	late := func() *frames { return read(t, g.send(http.MethodGet, g.URL, "", "Last-Event-ID", f.id)) }
	for _, again := range []func() *frames{func() *frames { return early }, late} {
		f, has, n := again(), last, 0
		for {
			got := f.next()
			if got == nil {
				t.Fatal("the stream ended without a result")
			}
			if at(got, "method") == nil && at(got, "id") != nil {
				if text(got) != protocoltest.SlowText {
					t.Errorf("%v", got)
				}
				break
			}
			if p, ok := at(got, "params", "progress").(float64); ok {
				if n++; p <= has {
					t.Errorf("progress %v after %v", p, has)
				}
				has = p
			}
		}
		if n == 0 {
			t.Error("there was no progress")
		}
	}
}
