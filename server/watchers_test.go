package server_test

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

// countingEncoder counts how often each entry is encoded.
type countingEncoder struct {
	mu sync.Mutex
	n  map[awaken.Cursor]int
}

// Encode implements protocol.Encoder.
func (c *countingEncoder) Encode(f *protocol.Frames, e *awaken.Entry) error {
	c.mu.Lock()
	c.n[e.Cursor]++
	c.mu.Unlock()
	f.Data([]byte(e.Event.Type()))
	return nil
}

// End implements protocol.Encoder.
func (c *countingEncoder) End(f *protocol.Frames, _ *protocol.Failure) { f.Data([]byte("end")) }

// Fifty streams of a run get all of it, and every event is encoded once for all of them.
func TestStream_EncodesAnEventOnceForAllWatchers(t *testing.T) {
	t.Parallel()
	const watchers = 50
	count := &countingEncoder{n: map[awaken.Cursor]int{}}
	watch := protocol.Route{Method: "GET", Path: "/v1/watch/{run_id}", Needs: permit.ReadThreads, Scope: protocol.ByPath, Stream: true, Replies: map[int]any{200: nil}, Events: "counted",
		Handle: func(c protocol.Call) error {
			run, err := c.Tenant().Store.LoadRun(c.Context(), c.Request().PathValue("run_id"))
			if err != nil {
				return err
			}
			return c.Stream(&protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, Encoder: func() protocol.Encoder { return count }, Format: "counted"})
		}}
	g := &rig{t: t, db: memory.NewDB(), keys: access.NewKeys(memory.NewProfile()), idle: true}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.start(func(c *servertest.Config) { c.Routes = []protocol.Route{watch} })
	run := g.want(201, "POST", "/v1/threads/t/mailbox", `{"payload":{"text":"hello"}}`)["run_id"].(string)
	bodies := make(chan string, watchers)
	var open sync.WaitGroup
	for range watchers {
		open.Add(1)
		go func() {
			resp := g.do("GET", "/v1/watch/"+run, "") // returns once the stream waits for the run
			open.Done()
			data, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			bodies <- string(data)
		}()
	}
	open.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		_ = g.box.Work(ctx)
	}()
	want := ""
	for range watchers {
		got := <-bodies
		if want == "" {
			want = got
		}
		if got != want || !strings.Contains(got, "data: run_start\n\n") || !strings.HasSuffix(got, "data: run_finish\n\ndata: end\n\n") {
			t.Fatalf("a watcher gets\n%s\nanother one\n%s", got, want)
		}
	}
	cancel()
	<-worked
	if most := slices.Max(slices.Collect(maps.Values(count.n))); len(count.n) < 5 || most != 1 {
		t.Errorf("%d events are encoded up to %d times for %d watchers", len(count.n), most, watchers)
	}
}
