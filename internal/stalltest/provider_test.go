//go:build unix

package stalltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

// latency is how long a model thinks.
const latency = 200 * time.Millisecond

// pause returns what a provider asks for that says 429. It is long enough to be seen if another prompt waits for it. In the long run it is
// short enough to be over several times in a window, so that the program learns a limit from the refusals, which it knows for a minute.
func pause() time.Duration {
	if testenv.Long() {
		return time.Second
	}
	return 5 * time.Second
}

// weather says whether failures happen now.
type weather struct {
	mu  sync.Mutex
	bad chan struct{}  // closed when the failures end; nil while there are none
	hit map[string]int // failures, by what failed
	at  map[int]visit  // when a model was asked and had answered, by number of the prompt
}

func newWeather() *weather { return &weather{hit: map[string]int{}, at: map[int]visit{}} }

// visit is when a model got a prompt, and when it had answered.
type visit struct{ asked, answered time.Time }

// visited notes that a model has answered a numbered prompt.
func (w *weather) visited(content string, asked time.Time) {
	var n int
	_, after, found := strings.Cut(content, good+" ")
	if _, err := fmt.Sscanf(after, "%d", &n); !found || err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at[n] = visit{asked, time.Now()}
}

// visit returns when a model answered a numbered prompt, and forgets it.
func (w *weather) visit(n int) visit {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.at[n]
	delete(w.at, n)
	return v
}

func (w *weather) set(bad bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad != nil {
		close(w.bad)
		w.bad = nil
	}
	if bad {
		w.bad = make(chan struct{})
	}
}

// failing notes that something fails, and returns a channel that is closed when the failures end. It returns nil if there are none.
func (w *weather) failing(name string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad != nil {
		w.hit[name]++
	}
	return w.bad
}

const (
	good = "prompt"       // which is answered; its number follows
	ill  = "an ill omen"  // which fails, if failures happen, in the way of its provider
	call = "use the tool" // which makes the model call the tool of the MCP server
)

// failure fails a request. End is closed when the failures end.
type failure func(w http.ResponseWriter, r *http.Request, end <-chan struct{})

// provider answers as the compatible adapter expects. How says how it fails prompts that are ill.
type provider struct {
	*weather
	name string
	how  failure
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
		return
	}
	chat, err := rigtest.ReadChat(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if strings.Contains(chat.Said, ill) {
		if end := p.failing(p.name); end != nil {
			p.how(w, r, end)
			return
		}
	}
	asked := time.Now()
	think(r)
	p.visited(chat.Said, asked)
	reply := rigtest.NewReply(w)
	if strings.Contains(chat.Said, call) && !chat.Called {
		reply.Call("mcp__shop__look", "{}")
		return
	}
	reply.Text("hello there")
	reply.End()
}

func think(r *http.Request) {
	select {
	case <-time.After(latency):
	case <-r.Context().Done():
	}
}

// refuse replies with a status.
func refuse(status int, header ...string) failure {
	return func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		think(r)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":{"message":"no"}}`)
	}
}

// hang says nothing until the failures end, and then cuts the connection.
func hang(_ http.ResponseWriter, r *http.Request, end <-chan struct{}) {
	select {
	case <-end:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// shop starts an MCP server with a tool, which hangs while failures happen, and returns its URL.
func shop(tb testing.TB, w *weather) string {
	srv := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	look := func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "nothing there"}}}, nil, nil
	}
	sdk.AddTool(srv, &sdk.Tool{Name: "look", Description: "Looks."}, look)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if end := w.failing("shop"); end != nil {
			hang(rw, r, end)
		}
		handler.ServeHTTP(rw, r)
	}))
	tb.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}
