package a2a_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// watched is a call of which a test sees what the handler does.
type watched struct {
	protocol.Call
	submit func(s *mailbox.Submission) // before it submits
	stream func(s *protocol.Stream)    // before it streams
}

func (w watched) Submit(s *mailbox.Submission) (*mailbox.Receipt, error) {
	if w.submit != nil {
		w.submit(s)
	}
	return w.Call.Submit(s)
}

func (w watched) Stream(s *protocol.Stream) error {
	if w.stream != nil {
		w.stream(s)
	}
	return w.Call.Stream(s)
}

// newWatchedRig returns a rig whose handlers get watched calls.
func newWatchedRig(tb testing.TB, w *watched, slow <-chan struct{}) *rig {
	tb.Helper()
	all := routes(tb, a2a.Config{})
	for i := range all {
		handle := all[i].Handle
		all[i].Handle = func(c protocol.Call) error { return handle(watched{c, w.submit, w.stream}) }
	}
	g := protocoltest.Idle(tb, all)
	g.Slow = slow
	g.Box, g.URL = g.Start(true)
	return &rig{Rig: g}
}

// A message to a task that ends after the handler has looked at it is refused, and starts no other task: neither in an idle
// context nor in one whose next task runs.
func TestSend_ToATaskThatEnds(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	var w watched
	g := newWatchedRig(t, &w, release)
	both(t, g, func(t *testing.T, g *rig) {
		for _, next := range []bool{false, true} {
			task := g.say("RUN_TOOL ask", nil)
			box, tasks := g.Box.Tenant(""), 1
			w.submit = func(s *mailbox.Submission) {
				w.submit = nil
				if err := box.Cancel(t.Context(), task.ID); err != nil {
					t.Error(err)
				}
				for run := (*awaken.Run)(nil); run == nil || run.Status != awaken.RunDone; {
					var err error
					if run, err = box.Store.LoadRun(t.Context(), task.ID); err != nil {
						t.Fatal(err)
					}
				}
				if next {
					tasks++
					m := message("go")
					m.ContextID = task.ContextID
					g.task("SendMessage", body(m, config{"returnImmediately": true}, "slow"))
				}
			}
			m := message("and this")
			m.TaskID = task.ID
			if r := g.ask("SendMessage", body(m, config{"returnImmediately": true}, "")); r.reason != "UNSUPPORTED_OPERATION" {
				t.Errorf("%+v", r)
			}
			var list struct{ TotalSize int }
			g.decode(g.ask("ListTasks", map[string]any{"contextId": task.ContextID}).result, &list)
			if list.TotalSize != tasks {
				t.Errorf("the context has %d tasks, want %d", list.TotalSize, tasks)
			}
			items, err := box.Store.Unread(t.Context(), task.ContextID)
			if err != nil || len(items) > 0 {
				t.Errorf("another task gets %v, %v", items, err)
			}
		}
	})
}

// All streams of a task in one binding share an encoding, whether they have sent its message or subscribe.
func TestStream_WatchersShareAnEncoding(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	var formats []string
	began := make(chan struct{}, 8)
	w := watched{stream: func(s *protocol.Stream) {
		mu.Lock()
		defer mu.Unlock()
		formats = append(formats, s.Format)
		began <- struct{}{}
	}}
	g := newWatchedRig(t, &w, release)
	var wg sync.WaitGroup
	task := g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow"))
	for range 3 {
		wg.Go(func() { g.stream("SubscribeToTask", map[string]any{"id": task.ID}) })
	}
	for range 3 {
		<-began
	}
	close(release)
	wg.Wait()
	for _, f := range formats {
		if f == "" || f != formats[0] {
			t.Errorf("the formats are %q", formats)
		}
	}
}

// Requests that only read or change a task take no place of a stream.
func TestRoutes_ReadersAreNoStreams(t *testing.T) {
	mux := http.NewServeMux()
	var hit *protocol.Route
	for _, r := range routes(t, a2a.Config{}) {
		mux.HandleFunc(r.Method+" "+r.Path, func(http.ResponseWriter, *http.Request) { hit = &r })
	}
	for path, want := range map[string]bool{
		"GET /v1/a2a/tasks/t": false, "GET /v1/a2a/tasks/t:subscribe": true, "GET /v1/a2a/default/tasks": false, "GET /v1/a2a/default/tasks/t": false,
		"GET /v1/a2a/default/tasks/t:subscribe": true, "GET /v1/a2a/tasks/t/pushNotificationConfigs": false,
		"POST /v1/a2a/tasks/t:cancel": false, "POST /v1/a2a/tasks/t:subscribe": true, "POST /v1/a2a/default/tasks/t:cancel": false,
		"POST /v1/a2a/message:send": true, "POST /v1/a2a/message:stream": true, "POST /v1/a2a": true, "POST /v1/a2a/default/message:send": true,
		"POST /v1/a2a/tasks/t/pushNotificationConfigs": false, "DELETE /v1/a2a/tasks/t/pushNotificationConfigs/c": false,
	} {
		method, target, _ := strings.Cut(path, " ")
		req := httptest.NewRequest(method, target, nil)
		hit = nil
		mux.ServeHTTP(httptest.NewRecorder(), req)
		if hit == nil || hit.Streams(req) != want {
			t.Errorf("%s: the route is %+v, a stream should be %t", path, hit, want)
		}
	}
}
