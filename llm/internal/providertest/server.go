package providertest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// script is what the server does on a request.
type script struct {
	status  int // 0 means 200
	header  map[string]string
	frames  [][]byte                         // each is written and flushed at once
	end     func(s *server, r *http.Request) // how the response ends; nil means normally
	refuse  bool                             // the connection is reset without a response
	silence bool                             // there is no response
}

// server is a provider that follows its script and records requests.
type server struct {
	*httptest.Server
	script

	mu    sync.Mutex
	asked []seen
	// patience is how long it waits for a client to disconnect.
	patience time.Duration
	gone     chan time.Time // when clients disconnected before the response was over
	frames   chan int       // the frames written
}

type seen struct {
	request *http.Request
	body    []byte
}

func newServer(t testing.TB, sc script) *server {
	s := &server{script: sc, gone: make(chan time.Time, 64), frames: make(chan int, 4096), patience: 30 * time.Second}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = nil
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	s.asked = append(s.asked, seen{r, body})
	s.mu.Unlock()
	s.follow(w, r)
}

// follow follows the script.
func (s *server) follow(w http.ResponseWriter, r *http.Request) {
	if s.refuse {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			conn.Close()
		}
		return
	}
	if s.silence {
		s.wait(r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for k, v := range s.header {
		w.Header().Set(k, v)
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	rc := http.NewResponseController(w)
	for i, f := range s.script.frames {
		_, err := w.Write(f)
		if err == nil {
			err = rc.Flush()
		}
		if err != nil {
			s.left()
			return
		}
		select {
		case s.frames <- i:
		default:
		}
	}
	if s.end != nil {
		s.end(s, r)
	}
}

// wait blocks until the client disconnects.
func (s *server) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
		s.left()
	case <-time.After(s.patience):
	}
}

// left notes that a client has disconnected, also while the server writes.
func (s *server) left() {
	select {
	case s.gone <- time.Now():
	default: // no test looks at so many
	}
}

// The ways in which a response ends.

func stall(s *server, r *http.Request) { s.wait(r) }
func reset(*server, *http.Request)     { panic(http.ErrAbortHandler) }

func (s *server) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// cut returns the bytes of frames in pieces of n bytes, which split characters, JSON and line
// ends.
func cut(frames [][]byte, n int) [][]byte {
	return slices.Collect(slices.Chunk(slices.Concat(frames...), n))
}
