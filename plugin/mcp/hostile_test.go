package mcp_test

import (
	"bytes"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/mcp"
)

// misbehaviours are ways to answer a call. They write until the client has had enough.
var misbehaviours = map[string]func(w http.ResponseWriter){
	"a length that is not true": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0"`)
	},
	"an object without end": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		endless(w, `{"jsonrpc":"`)
	},
	"an event without end": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		endless(w, "data: ")
	},
	"no JSON": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "<html>")
	},
}

// endless writes at most 256 MiB.
func endless(w io.Writer, begin string) {
	chunk := bytes.Repeat([]byte("x"), 1<<16)
	_, err := io.WriteString(w, begin)
	for i := 0; i < 1<<12 && err == nil; i++ {
		_, err = w.Write(chunk)
	}
}

// A server that answers nonsense fails its call, once, and costs no more memory than a message may have.
// The next call reaches it again.
func TestCall_OfAHostileServerFailsAndTheNextOneWorks(t *testing.T) {
	for name, misbehave := range misbehaviours {
		t.Run(name, func(t *testing.T) {
			var hostile, calls atomic.Int32
			good := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte(`"tools/call"`)) {
					calls.Add(1)
					if hostile.Load() > 0 {
						misbehave(w)
						return
					}
				}
				good.ServeHTTP(w, r)
			}))
			c := connect(t, mcp.Server{ID: "s", URL: url, MaxMessage: 1 << 20, Timeout: 20 * time.Second, Restart: mcp.Restart{Delay: 10 * time.Millisecond}}, local)
			hostile.Store(1)
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			res := call(t, c, "mcp__s__put", `{"text":""}`)
			goruntime.ReadMemStats(&after)
			if res.Status != awaken.ToolError || calls.Load() != 1 {
				t.Errorf("%d calls: %+v", calls.Load(), res)
			}
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 64 {
				t.Errorf("the call took %d MiB", n)
			}
			hostile.Store(0)
			until(t, "the server can be called again", func() bool {
				res = call(t, c, "mcp__s__echo", `{"text":"again"}`)
				return res.Plain() == "again" || !strings.Contains(res.Message, "lost")
			})
			if res.Plain() != "again" {
				t.Errorf("%+v", res)
			}
		})
	}
}
