package mcp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
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
	"a bomb": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		endless(z, `{"jsonrpc":"`)
		_ = z.Close()
	},
	"no JSON": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "<html>")
	},
}

// streams are ways to answer a call with a stream that has no answer. They last for 20 seconds.
var streams = map[string]func(w http.ResponseWriter){
	"events without end": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		event := []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"more\"}}\n\n")
		for end, err := time.Now().Add(20*time.Second), error(nil); err == nil && time.Now().Before(end); {
			_, err = w.Write(event)
		}
	},
	"a stream that says nothing": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		for end, err := time.Now().Add(20*time.Second), error(nil); err == nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
			_, err = io.WriteString(w, ": wait\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	},
}

// hostileHandler serves a server with the tool go, whose calls are answered badly.
func hostileHandler(misbehave func(http.ResponseWriter), called func()) http.Handler {
	srv := sdk.NewServer(&sdk.Implementation{Name: "hostile", Version: "1"}, nil)
	srv.AddTool(&sdk.Tool{Name: "go", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New("it is never called")
	})
	good := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			called()
			misbehave(w)
			return
		}
		good.ServeHTTP(w, r)
	})
}

// told has the hostile servers, and what the model is told about the call of each.
var told = map[string]string{
	"hostile crash":                     "exit status 7: out of cheese; whether it took effect is not known, and it was not repeated",
	"hostile hang at open":              "not found",
	"hostile hang":                      "timed out",
	"hostile lines without end":         "not known",
	"hostile long line":                 "a line exceeds 8388608 bytes",
	"hostile nesting":                   "whether it took effect is not known",
	"hostile notifications":             "I went.",
	"hostile notifications without end": "timed out",
	"hostile sampling":                  "I went.",
	"hostile answers":                   "I went.",
	"hostile errors":                    "I went.",
	"hostile change":                    "I went.",
	"hostile giant list":                "not found",
	"hostile giant description":         "not found",
	"hostile endless list":              "not found",
	"a length that is not true":         "not known",
	"an object without end":             "not known",
	"an event without end":              "not known",
	"events without end":                "timed out",
	"a stream that says nothing":        "timed out",
	"a bomb":                            "not known",
	"no JSON":                           "not known",
}

// Whatever a server does, an agent that calls its tool continues, is told why the call failed, and makes it once. When
// the server is gone, nothing of it is left in the process.
func TestHostile_ServersHarmNeitherAgentsNorTheProcess(t *testing.T) {
	for name, want := range told {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, file, calls := attack{Name: name, Rounds: 1, Timeout: time.Minute, OpenTimeout: time.Minute}, t.TempDir()+"/notes", 0
			switch {
			case want == "timed out":
				a.Timeout = time.Second
			case strings.HasSuffix(name, "hang at open"):
				a.OpenTimeout = time.Second
			}
			if testenv.Long() {
				a.Rounds = 10
			}
			var mu sync.Mutex
			misbehave := misbehaviours[name]
			if misbehave == nil {
				misbehave = streams[name]
			}
			if misbehave != nil {
				a.URL = serve(t, hostileHandler(misbehave, func() { mu.Lock(); calls++; mu.Unlock() }))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			d, err := attacked(ctx, a, file)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("heap %d to %d KiB, goroutines %d to %d, files %d to %d, RSS %d, up to %d, then %d MiB; told: %.200s", d.Before.Heap, d.After.Heap, d.Before.Goroutines, d.After.Goroutines,
				d.Before.Files, d.After.Files, d.Before.RSS>>10, d.Peak>>10, d.After.RSS>>10, d.Told)
			if !strings.Contains(d.Told, want) {
				t.Errorf("the model is told %q, want %q", d.Told, want)
			}
			for _, answer := range d.Answers {
				if answer != "I am well. done" {
					t.Errorf("the run ends with %q", answer)
				}
			}
			mu.Lock()
			made := calls + strings.Count(strings.Join(notes(t, file), " "), "call")
			mu.Unlock()
			if want := map[bool]int{false: a.Rounds}[want == "not found"]; made != want {
				t.Errorf("the server was called %d times in %d runs, want %d", made, a.Rounds, want)
			}
			if d.After.exceeds(d.Before) {
				t.Errorf("before %+v, after %+v", d.Before, d.After)
			}
			if !d.Race && d.Peak > d.Before.RSS+maxDamage {
				t.Errorf("the process takes up to %d MiB, %d MiB before", d.Peak>>10, d.Before.RSS>>10)
			}
		})
	}
}

// maxDamage is how much memory an attack may take while it lasts, in KiB: some times a message of 8 MiB.
const maxDamage = 128 << 10

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

// A call without an answer is in doubt: the server may have got it. One that the server refuses is not.
func TestCall_WithoutAnAnswerIsInDoubt(t *testing.T) {
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter)
		want   bool
	}{
		{"the connection is cut", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true},
		{"a gateway has no answer", status(http.StatusBadGateway), true},
		{"a gateway has none in time", status(http.StatusGatewayTimeout), true},
		{"too many requests", status(http.StatusTooManyRequests), false},
		{"not available", status(http.StatusServiceUnavailable), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls atomic.Int32
			c := connect(t, mcp.Server{ID: "s", URL: serve(t, hostileHandler(tt.answer, func() { calls.Add(1) }))}, local)
			res := call(t, c, "mcp__s__go", `{}`)
			if res.Status != awaken.ToolError || res.InDoubt() != tt.want || calls.Load() != 1 {
				t.Errorf("after %d calls, in doubt is %v: %+v", calls.Load(), res.InDoubt(), res)
			}
		})
	}
}

// A call that cannot be sent is not in doubt.
func TestCall_ThatCannotBeSentIsNotInDoubt(t *testing.T) {
	srv := httptest.NewUnstartedServer(hostileHandler(func(http.ResponseWriter) {}, func() { t.Error("the server was called") }))
	srv.Config.SetKeepAlivesEnabled(false) // or the call might take a connection whose end its client has not seen
	srv.Start()
	defer srv.Close()
	c := connect(t, mcp.Server{ID: "s", URL: srv.URL, Restart: mcp.Restart{Delay: time.Hour}}, local)
	_ = srv.Listener.Close()
	srv.CloseClientConnections()
	if res := call(t, c, "mcp__s__go", `{}`); res.Status != awaken.ToolError || res.InDoubt() {
		t.Errorf("in doubt is %v: %+v", res.InDoubt(), res)
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
