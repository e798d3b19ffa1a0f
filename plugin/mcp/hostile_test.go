package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// A program that stops reading what it is sent holds up neither its call nor the end of the connection.
func TestCall_OfAProgramThatDoesNotReadEnds(t *testing.T) {
	s, _ := program(t, "sealed")
	c := connect(t, s, local)
	eat := tool(t, c, "mcp__s__eat")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	soon := func(what string, fn func()) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			fn()
		}()
		select {
		case <-done:
		case <-time.After(25 * time.Second): // less than a write may take
			t.Fatalf("%s does not end", what)
		}
	}
	soon("the call", func() {
		args := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 1<<20))
		if _, err := eat.Call(ctx, &awaken.ToolCall{ID: "c", Tool: "mcp__s__eat", Key: "k", Args: json.RawMessage(args)}); err == nil {
			t.Error("the call succeeds")
		}
	})
	soon("the connection", func() { c.Close() })
}

// Keys in the address of a server are not in errors, which models and users read.
func TestOpen_AFailureHidesTheQueryOfTheAddress(t *testing.T) {
	c := dial(t, mcp.Server{ID: "s", URL: "http://joe:passw0rd@127.0.0.1:1/mcp?api_key=s3cr3t-key", Restart: mcp.Restart{Never: true}}, local)
	err := c.Ready(patience(t))
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1/mcp") {
		t.Fatalf("%v, want an error that names the address", err)
	}
	for _, secret := range []string{"s3cr3t", "passw0rd"} {
		if text := err.Error() + c.Status().Error; strings.Contains(text, secret) {
			t.Errorf("%q has %q", text, secret)
		}
	}
}

// Servers that accept a connection and say nothing are given up, by every transport.
func TestOpen_AnAddressThatIsSilentIsGivenUp(t *testing.T) {
	for name, headers := range map[string]bool{"before the headers": false, "after the headers": true} {
		for _, sse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, SSE %t", name, sse), func(t *testing.T) {
				url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // the end of the client is noticed after it
					if headers {
						w.Header().Set("Content-Type", "text/event-stream")
						_ = http.NewResponseController(w).Flush()
					}
					<-r.Context().Done()
				}))
				c := dial(t, mcp.Server{ID: "s", URL: url, SSE: sse, OpenTimeout: 50 * time.Millisecond, Restart: mcp.Restart{MaxAttempts: 5, Delay: time.Millisecond}}, local)
				until(t, "it is given up", func() bool { return c.Status().Failed })
			})
		}
	}
}
