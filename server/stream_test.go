package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/server/servertest"
)

// spaces is an endless reader of spaces.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{' '}, len(p))), nil }

// A stream that waits for its run does not keep the body of its request in memory.
func TestStream_ReleasesItsRequestBody(t *testing.T) {
	const streams, size = 3, 1 << 20
	g := newRig(t)
	heap := func() uint64 {
		var m goruntime.MemStats
		for range 3 { // pools are emptied by the second
			goruntime.GC()
		}
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range streams {
		// The client makes up what it sends, so as to have nothing of it itself.
		body := io.MultiReader(io.LimitReader(spaces{}, size), strings.NewReader(runBody("default", fmt.Sprint("t", i), "RUN_TOOL wait {}")))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.http.URL+"/v1/runs", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
	}
	if after := heap(); after > before+size {
		t.Errorf("%d streams keep %d bytes of requests of %d", streams, after-before, size)
	}
}

// slowClient takes a write only when the test receives it.
type slowClient struct {
	header http.Header
	writes chan string
}

func (c *slowClient) Header() http.Header              { return c.header }
func (c *slowClient) WriteHeader(int)                  {}
func (c *slowClient) Flush()                           {}
func (c *slowClient) SetReadDeadline(time.Time) error  { return nil }
func (c *slowClient) SetWriteDeadline(time.Time) error { return nil }
func (c *slowClient) Write(data []byte) (n int, _ error) {
	c.writes <- string(data)
	return len(data), nil
}

// The server buffers at most the configured number of frames for a slow client before it waits, and
// the client gets every frame.
func TestStream_BoundsFramesForASlowClient(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 4, 64} {
		g := newRig(t, func(c *servertest.Config) { c.Limits.StreamFrames = limit })
		for range 12 {
			resp := g.do("POST", "/v1/runs", runBody("default", "t", "hello"))
			readFrames(t, resp.Body, nil)
			resp.Body.Close()
		}
		all := len(g.want(200, "GET", "/v1/threads/t/events?limit=200", "")["items"].([]any))
		if all < 70 {
			t.Fatalf("the thread has %d events, want more than any limit", all)
		}
		ctx, cancel := context.WithCancel(t.Context())
		client := &slowClient{http.Header{}, make(chan string)}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/v1/threads/t/events/stream?cursor=0-0", nil)
			g.srv.Handler().ServeHTTP(client, r)
		}()
		<-time.After(20 * time.Millisecond) // for a server that would collect more
		var got strings.Builder
		for n := 0; n < all; {
			data := <-client.writes
			frames := strings.Count(data, "\n\n")
			if frames > limit {
				t.Errorf("%d frames were collected, want %d at most", frames, limit)
			}
			n += frames
			got.WriteString(data)
		}
		cancel()
		<-done
		var last int
		for i, f := range readFrames(t, strings.NewReader(got.String()), nil) {
			var epoch, seq int
			if _, err := fmt.Sscanf(f.id, "%d-%d", &epoch, &seq); err != nil || seq <= last {
				t.Errorf("frame %d has id %s after %d: %v", i, f.id, last, err)
			}
			last = seq
		}
	}
}
