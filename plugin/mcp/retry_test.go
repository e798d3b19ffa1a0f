package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
)

// far is a server behind an address that can be away, without a network.
type far struct {
	mu    sync.Mutex
	away  bool
	tries []time.Time // when connections were tried while it was away
}

func (f *far) set(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away, f.tries = away, nil
}

// tried returns how long after a time the connections were tried.
func (f *far) tried(since time.Time) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []time.Duration
	for _, at := range f.tries {
		out = append(out, at.Sub(since))
	}
	return out
}

func (f *far) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		f.tries = append(f.tries, time.Now())
		return nil, errors.New("connection refused")
	}
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Body != nil {
		_ = json.NewDecoder(r.Body).Decode(&message) // a request without one is a GET
	}
	status, body := http.StatusOK, ""
	switch {
	case r.Method != http.MethodPost:
		status = http.StatusMethodNotAllowed
	case message.ID == nil:
		status = http.StatusAccepted
	case message.Method == "initialize":
		body = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}`
	case message.Method == "tools/list":
		body = `"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}`
	default:
		body = `"error":{"code":-32601,"message":"method not found"}`
	}
	if body != "" {
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, message.ID, body)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (f *far) connect(t *testing.T, s Server) *Connection {
	t.Helper()
	s.ID, s.URL = "far", "http://far.example/mcp"
	c, err := Connect(s, Options{Client: &http.Client{Transport: f}})
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	return c
}

// A server with an address that is away is tried again for ever, ever more slowly up to a limit, and is back when it answers.
func TestRetry_AServerThatIsAwayComesBack(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		f := new(far)
		f.set(true)
		began := time.Now()
		c := f.connect(t, Server{})
		defer c.Close()
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		tries := f.tried(began)
		st := c.Status()
		if st.Failed || !st.Reconnecting || st.Next.IsZero() || st.Failures < 500 || !strings.Contains(st.Error, "connection refused") {
			t.Fatalf("the status is %+v", st)
		}
		want := time.Second
		varied := false
		for i := 1; i < len(tries); i++ {
			if d := tries[i] - tries[i-1]; d > 0 { // an attempt may have several requests
				if d > want || d < want*8/10 {
					t.Fatalf("attempt %d came after %s, want %s to %s", i, d, want*8/10, want)
				}
				varied = varied || d != want
				want = min(2*want, 30*time.Second)
			}
		}
		if !varied {
			t.Error("the delays are all the same")
		}
		f.set(false)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if st := c.Status(); !st.Connected || st.Failures != 0 || st.Error != "" || !st.Next.IsZero() || len(c.Tools()) != 1 {
			t.Errorf("the status is %+v", st)
		}
	})
}

// A call does not wait for the next attempt: it makes it, at most one a second.
func TestRetry_ACallTriesAtOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		f := new(far)
		f.set(true)
		c := f.connect(t, Server{})
		defer c.Close()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		next := time.Until(c.Status().Next)
		for next < 10*time.Second { // the call must come long before the next attempt
			time.Sleep(next + time.Millisecond)
			synctest.Wait()
			next = time.Until(c.Status().Next)
		}
		time.Sleep(2 * time.Second)
		f.set(true)
		began := time.Now()
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if _, err := c.acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
					t.Errorf("the call ends with %v", err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the calls took %s", took)
		}
		if tries := f.tried(began); len(tries) == 0 || len(tries) > 4 {
			t.Errorf("20 calls made %d requests, want as many as one or two attempts make", len(tries))
		}
		f.set(false)
		time.Sleep(1100 * time.Millisecond)
		if _, err := c.acquire(t.Context()); err != nil {
			t.Errorf("the server is back, but the call ends with %v", err)
		}
	})
}

// Connections that lasted are forgotten: failures count in a row, not over hours.
func TestRetry_FailuresCountInARow(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		f := new(far)
		c := f.connect(t, Server{Refresh: time.Second, Restart: Restart{MaxAttempts: 5}})
		defer c.Close()
		for range 20 {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if st := c.Status(); !st.Connected {
				t.Fatalf("the status is %+v", st)
			}
			f.set(true) // for long enough to lose the session
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if st := c.Status(); st.Connected || st.Failures > 4 {
				t.Fatalf("the status is %+v", st)
			}
			f.set(false)
		}
	})
}
