package sse_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/sse"
)

// client counts what a stream does to its connection.
type client struct {
	writes, flushes, deadlines int
	deadline                   time.Time
	sent                       []byte
}

func (c *client) Header() http.Header { return http.Header{} }
func (c *client) WriteHeader(int)     {}
func (c *client) Flush()              { c.flushes++ }
func (c *client) Write(p []byte) (int, error) {
	c.writes++
	c.sent = append(c.sent, p...)
	return len(p), nil
}

func (c *client) SetWriteDeadline(at time.Time) error {
	c.deadlines++
	c.deadline = at
	return nil
}

// However many frames were added, a flush is one write and one flush of the connection, and its deadline
// moves only when a quarter of the timeout has passed. At every flush the client has the whole timeout.
func TestWriter_PaysForFlushesNotForFrames(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		const timeout, flushes, every = 10 * time.Second, 1000, 100 * time.Millisecond
		c, want := &client{}, ""
		w := sse.Start(c, false, timeout, 0)
		for i := range flushes {
			for j := range 3 {
				if err := w.Frame(fmt.Sprint(i, j), "", []byte("piece")); err != nil {
					t.Fatal(err)
				}
				want += fmt.Sprintf("id: %s\ndata: piece\n\n", fmt.Sprint(i, j))
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if left := time.Until(c.deadline); left < timeout || left > timeout*5/4 {
				t.Fatalf("at flush %d the client has %s, want %s and at most a quarter more", i, left, timeout)
			}
			time.Sleep(every)
		}
		if string(c.sent) != want {
			t.Error("frames are lost or out of order")
		}
		if c.writes != flushes || c.flushes != flushes {
			t.Errorf("%d flushes of 3 frames are %d writes and %d flushes of the connection", flushes, c.writes, c.flushes)
		}
		if most := int(flushes*every/(timeout/4)) + 1; c.deadlines > most {
			t.Errorf("the deadline was moved %d times in %s, want %d at most", c.deadlines, flushes*every, most)
		}
	})
}

// A stream that was silent for longer than its timeout gives its client the whole timeout again.
func TestWriter_ExtendsAnExpiredDeadline(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		c := &client{}
		w := sse.Start(c, false, time.Second, 0)
		for range 3 {
			if err := w.Comment("heartbeat"); err != nil {
				t.Fatal(err)
			}
			if left := time.Until(c.deadline); left < time.Second {
				t.Errorf("the client has %s", left)
			}
			time.Sleep(time.Hour)
		}
	})
}

// counted counts the writes of the connections that it accepts.
type counted struct {
	net.Listener
	writes atomic.Int64
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l}, err
}

type countedConn struct {
	net.Conn
	l *counted
}

func (c countedConn) Write(p []byte) (int, error) {
	c.l.writes.Add(1)
	return c.Conn.Write(p)
}

// The frames of a short answer, which are there at once, are two writes of the connection: what fits into
// the buffer of net/http with the headers, and the rest with the end of the response. A long one takes fewer writes than one per 4 KiB.
func TestWriter_WritesWhatFitsTheConnection(t *testing.T) {
	for _, c := range []struct{ frames, writes int }{{0, 1}, {1, 1}, {40, 1}, {70, 2}, {400, 6}} {
		t.Run(fmt.Sprint(c.frames), func(t *testing.T) {
			var l *counted
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				for _, name := range []string{"Vary", "X-Content-Type-Options", "X-Request-Id", "X-Run-Id", "X-Thread-Id"} {
					rw.Header().Set(name, "01234567-0123-0123-0123-0123456789ab")
				}
				w := sse.Start(rw, false, time.Minute, 0)
				for i := range c.frames {
					if err := w.Frame(fmt.Sprintf("1-%03d", i), "", []byte(`{"event_type":"text_delta","delta":"00000000|x"}`)); err != nil {
						t.Error(err)
					}
				}
				if err := w.End(); err != nil {
					t.Error(err)
				}
			}))
			l = &counted{Listener: srv.Listener}
			srv.Listener = l
			srv.Start()
			defer srv.Close()
			resp, err := srv.Client().Get(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if got := bytes.Count(body, []byte("\n\n")); err != nil || got != c.frames {
				t.Errorf("%d frames arrive, want %d: %v", got, c.frames, err)
			}
			if got := l.writes.Load(); got != int64(c.writes) {
				t.Errorf("%d frames of %d bytes are %d writes of the connection, want %d", c.frames, len(body), got, c.writes)
			}
		})
	}
}
