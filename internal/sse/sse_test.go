package sse_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

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
	synctest.Test(t, func(t *testing.T) {
		const timeout, flushes, every = 10 * time.Second, 1000, 100 * time.Millisecond
		c, want := &client{}, ""
		w := sse.Start(c, timeout, 0)
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
	synctest.Test(t, func(t *testing.T) {
		c := &client{}
		w := sse.Start(c, time.Second, 0)
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
