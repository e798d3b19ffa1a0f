package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/server/servertest"
)

// transports are the ways to reach a server.
var transports = []string{"HTTP/1.1", "HTTP/2 without TLS", "HTTP/2 with TLS"}

// listenBy serves until the test ends, and returns a client that uses one connection for everything.
func listenBy(t *testing.T, transport string, change ...func(*servertest.Config)) (*served, *http.Client, string) {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test's own certificate
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 1 << 20}}
	scheme := "http://"
	switch transport {
	case "HTTP/1.1":
		tr.Protocols.SetHTTP1(true)
	case "HTTP/2 without TLS":
		tr.Protocols.SetUnencryptedHTTP2(true)
	default:
		tr.Protocols.SetHTTP2(true)
		scheme = "https://"
		certFile, keyFile := server.WriteCertificate(t, t.TempDir(), "test")
		change = append(change, func(c *servertest.Config) { c.CertFile, c.KeyFile = certFile, keyFile })
	}
	g := listen(t, change...)
	t.Cleanup(tr.CloseIdleConnections)
	return g, &http.Client{Transport: tr}, scheme + g.addr
}

// call sends a request. The response's body is closed when the test ends.
func call(t *testing.T, client *http.Client, method, url, body string, headers ...string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err == nil {
		t.Cleanup(func() { resp.Body.Close() })
	}
	return resp, err
}

// Every transport speaks its protocol, streams events, and signs in with the cookie that fits it.
func TestTransport_Serves(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			_, client, url := listenBy(t, transport)
			resp, err := call(t, client, "POST", url+"/v1/runs", runBody("default", "t", "hello"))
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 1, false: 2}[transport == "HTTP/1.1"]; resp.ProtoMajor != want || resp.StatusCode != 200 {
				t.Errorf("the protocol is %s, status %s", resp.Proto, resp.Status)
			}
			if frames := readFrames(t, resp.Body, nil); len(frames) == 0 || !strings.Contains(frames[len(frames)-1].data, "run_finish") {
				t.Errorf("the stream is %v", frames)
			}
			resp, err = call(t, client, "POST", url+"/v1/session", "", admin...)
			if err != nil {
				t.Fatal(err)
			}
			if list := resp.Cookies(); len(list) != 1 || list[0].Secure != strings.HasPrefix(url, "https") {
				t.Errorf("cookies are %v", list)
			}
		})
	}
}

// Clients that know no HTTP/2 or no TLS 1.3 are served over TLS too, and those that want TLS 1.1 are not.
// Without HTTP/2, a server has HTTP/1.1.
func TestTLS_Versions(t *testing.T) {
	t.Parallel()
	certFile, keyFile := server.WriteCertificate(t, t.TempDir(), "test")
	both := listen(t, func(c *servertest.Config) { c.CertFile, c.KeyFile = certFile, keyFile })
	old := listen(t, func(c *servertest.Config) { c.CertFile, c.KeyFile, c.NoHTTP2 = certFile, keyFile, true })
	for _, tt := range []struct {
		g       *served
		version uint16
		offers  []string
		want    string // "" if the handshake fails
	}{
		{both, tls.VersionTLS13, []string{"h2", "http/1.1"}, "h2"},
		{both, tls.VersionTLS12, []string{"h2", "http/1.1"}, "h2"},
		{both, tls.VersionTLS12, []string{"http/1.1"}, "http/1.1"},
		{both, tls.VersionTLS11, []string{"http/1.1"}, ""},
		{old, tls.VersionTLS13, []string{"h2", "http/1.1"}, "http/1.1"},
	} {
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tt.version, NextProtos: tt.offers}} //nolint:gosec // see above
		conn, err := d.DialContext(t.Context(), "tcp", tt.g.addr)
		if (err == nil) != (tt.want != "") {
			t.Errorf("version %x: %v", tt.version, err)
		}
		if err != nil {
			continue
		}
		if got := conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != tt.want {
			t.Errorf("version %x with %v: the protocol is %q, want %q", tt.version, tt.offers, got, tt.want)
		}
		conn.Close()
	}
}

// A new certificate is used for new connections, and the old ones go on.
func TestTLS_NewCertificateKeepsConnections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := server.WriteCertificate(t, dir, "old")
	g := listen(t, func(c *servertest.Config) { c.CertFile, c.KeyFile = certFile, keyFile })
	dial := func() *tls.Conn {
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
		conn, err := d.DialContext(t.Context(), "tcp", g.addr)
		if err != nil {
			t.Fatal(err)
		}
		return conn.(*tls.Conn)
	}
	name := func(c *tls.Conn) string { return c.ConnectionState().PeerCertificates[0].Subject.CommonName }
	first := dial()
	defer first.Close()
	server.WriteCertificate(t, dir, "new")
	g.eventually("the new certificate", func() bool {
		c := dial()
		defer c.Close()
		return name(c) == "new"
	})
	if _, err := io.WriteString(first, "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(first), nil)
	if err != nil || resp.StatusCode != 200 || name(first) != "old" {
		t.Errorf("the old connection: %v, %v", resp, err)
	}
	resp.Body.Close()
}

func TestTLS_RefusesFilesThatItCannotUse(t *testing.T) {
	t.Parallel()
	box := newRig(t).box
	certFile, keyFile := server.WriteCertificate(t, t.TempDir(), "test")
	_, otherKey := server.WriteCertificate(t, t.TempDir(), "other")
	for _, tt := range []struct{ cert, key, want string }{
		{certFile, "", "want both or none"}, {"", keyFile, "want both or none"},
		{certFile, otherKey, "does not match"}, {"missing.pem", keyFile, "missing.pem"}, {certFile, certFile, "certificate"},
	} {
		if _, err := server.New(server.Config{Mailbox: box, CertFile: tt.cert, KeyFile: tt.key}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: error is %v, want %s", tt.cert, tt.key, err, tt.want)
		}
	}
}

// A stream that is silent for longer than a client may take to read lives on, with heartbeats. In HTTP/2
// a deadline that passes ends a stream even if nothing is written.
func TestTransport_IdleStreamsLiveOn(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			g, client, url := listenBy(t, transport, func(c *servertest.Config) {
				c.Limits.StreamWrite, c.Limits.Heartbeat = 2*time.Second, 2500*time.Millisecond
			})
			thread, _ := g.done()
			resp, err := call(t, client, "GET", url+"/v1/threads/"+thread+"/events/stream", "")
			if err != nil {
				t.Fatal(err)
			}
			lines, beats := bufio.NewReader(resp.Body), 0
			for beats < 2 {
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatalf("the stream ended after %d heartbeats: %v", beats, err)
				}
				if strings.HasPrefix(line, ":") {
					beats++
				}
			}
		})
	}
}

// A client that does not read a stream loses that stream and nothing else: other requests on its
// connection are answered, meanwhile and afterwards.
func TestTransport_SlowReadersLoseTheStream(t *testing.T) {
	t.Parallel()
	for _, transport := range transports[1:] {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			g, client, url := listenBy(t, transport, func(c *servertest.Config) { c.Limits.StreamWrite, c.Limits.Streams = time.Second, 1 })
			thread := g.id()
			for range 40 {
				g.want(200, "POST", "/v1/runs", runBody("default", thread, "hello"), "Accept", "application/json")
			}
			if _, events := g.ask("GET", "/v1/threads/"+thread+"/events?limit=200", ""); len(events) < 128<<10 { // more than the client has room for
				t.Fatalf("the events have %d bytes", len(events))
			}
			resp, err := call(t, client, "GET", url+"/v1/threads/"+thread+"/events/stream?cursor=0-0", "")
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%v, %v", resp, err)
			}
			g.eventually("the end of the stream", func() bool {
				get, err := call(t, client, "GET", url+"/v1/threads/"+thread, "")
				if err != nil || get.StatusCode != 200 {
					t.Fatalf("another request: %v, %v", get, err)
				}
				get.Body.Close() // it would take some of the connection's window
				again, err := call(t, client, "GET", url+"/v1/threads/"+thread+"/events/stream", "")
				if err != nil {
					t.Fatal(err)
				}
				defer again.Body.Close()
				return again.StatusCode == 200 // the only place is free
			})
			if _, err := io.Copy(io.Discard, resp.Body); err == nil {
				t.Error("the stream of the slow reader did not end with an error")
			}
		})
	}
}

// A body that arrives too slowly is refused, and the other streams of its connection go on.
func TestTransport_SlowBodiesLoseTheRequest(t *testing.T) {
	t.Parallel()
	for _, transport := range transports[1:] {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			g, client, url := listenBy(t, transport, func(c *servertest.Config) {
				c.Limits.BodyRate, c.Limits.BodyGrace, c.Limits.Heartbeat = 1<<20, 200*time.Millisecond, 300*time.Millisecond
			})
			thread, _ := g.done()
			other, err := call(t, client, "GET", url+"/v1/threads/"+thread+"/events/stream", "")
			if err != nil {
				t.Fatal(err)
			}
			body, w := io.Pipe()
			defer w.Close()
			go func() { _, _ = io.WriteString(w, `{"agent_id":`) }()
			req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/runs", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusRequestTimeout {
				t.Errorf("status is %s, want 408", resp.Status)
			}
			lines := bufio.NewReader(other.Body)
			for range 3 { // heartbeats
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatalf("the other stream: %v", err)
				}
			}
		})
	}
}

// Headers are limited in HTTP/2 as they are in HTTP/1.1.
func TestTransport_LimitsHeaders(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			_, client, url := listenBy(t, transport, func(c *servertest.Config) { c.Limits.HeaderBytes = 8 << 10 })
			resp, err := call(t, client, "GET", url+"/health/live", "", "X-Large", strings.Repeat("x", 64<<10))
			if err == nil && resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("status is %s, want 431", resp.Status)
			}
			if resp, err := call(t, client, "GET", url+"/health/live", "", "X-Small", strings.Repeat("x", 4<<10)); err != nil || resp.StatusCode != 200 {
				t.Errorf("a small header: %v, %v", resp, err)
			}
		})
	}
}

// h2 is a client of HTTP/2 without TLS that does what it wants.
type h2 struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

// Types and flags of frames.
const (
	frameHeaders, frameReset, frameSettings, frameGoAway, frameContinuation = 1, 3, 4, 7, 9

	endStream, endHeaders = 1, 4
)

func (g *served) http2() *h2 {
	g.t.Helper()
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	c := &h2{conn, g.t.(*testing.T), bufio.NewReader(conn)}
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		g.t.Fatal(err)
	}
	c.send(frameSettings, 0, 0, nil)
	return c
}

// send sends a frame, unless the server has closed the connection.
func (c *h2) send(kind, flags byte, stream uint32, payload []byte) bool {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	_, err := c.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
	return err == nil
}

// next reads a frame.
func (c *h2) next() (kind byte, stream uint32, err error) {
	var head [9]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, 0, err
	}
	n := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
	_, err = io.CopyN(io.Discard, c.r, n)
	return head[3], binary.BigEndian.Uint32(head[5:]), err
}

// block returns the headers of a GET request in HPACK, without compression.
func block(path string) []byte {
	var b bytes.Buffer
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":path", path}, {":authority", "localhost"}} {
		fmt.Fprintf(&b, "\x00%c%s%c%s", len(h[0]), h[0], len(h[1]), h[1])
	}
	return b.Bytes()
}

// A client that opens thousands of streams has as many as the limit says, and the rest is refused. When it
// goes, so do its streams.
func TestHTTP2_StreamsOfAConnectionAreLimited(t *testing.T) {
	t.Parallel()
	const limit, tries = 20, 3000
	metrics := server.NewMetrics()
	g := listen(t, func(c *servertest.Config) { c.Limits.HTTP2Streams, c.Metrics = limit, metrics })
	thread, _ := g.done()
	c := g.http2()
	go func() {
		for i := range uint32(tries) {
			if !c.send(frameHeaders, endStream|endHeaders, 2*i+1, block("/v1/threads/"+thread+"/events/stream")) {
				return
			}
		}
	}()
	answered, refused := map[uint32]bool{}, 0
	for len(answered) < limit || refused < tries-limit {
		kind, stream, err := c.next()
		if err != nil || kind == frameGoAway {
			break // the server may have enough of such a client
		}
		switch kind {
		case frameHeaders:
			answered[stream] = true
		case frameReset:
			refused++
		}
	}
	if len(answered) > limit || refused == 0 {
		t.Errorf("%d streams are answered and %d refused, want %d at most", len(answered), refused, limit)
	}
	c.Close()
	g.eventually("the end of the streams", func() bool {
		_, text := (&served{rig: g.rig, addr: g.addr}).raw(get("/metrics", "Authorization: Bearer "+adminKey))
		return strings.Contains(text, "\nawaken_http_requests_in_flight 1\n") // this one
	})
}

// A client that begins and never ends a request's headers, or does nothing at all, loses its connection.
func TestHTTP2_SlowClientsLoseTheConnection(t *testing.T) {
	t.Parallel()
	g := listen(t, func(c *servertest.Config) {
		c.Limits.HeaderTime, c.Limits.IdleTime = 150*time.Millisecond, 150*time.Millisecond
	})
	for name, start := range map[string]func(c *h2){
		"nothing":       func(*h2) {},
		"half headers":  func(c *h2) { c.send(frameHeaders, endStream, 1, block("/v1/threads")) },
		"slow headers":  func(c *h2) { c.send(frameHeaders, endStream, 1, block("/v1/threads")); c.drip() },
		"half a frame":  func(c *h2) { _, _ = c.Write([]byte{0, 1, 0, frameHeaders}) },
		"an idle while": func(c *h2) { c.send(frameHeaders, endStream|endHeaders, 1, block("/health/live")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := g.http2()
			start(c)
			_, err := io.Copy(io.Discard, c.r)
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				t.Error("the connection is still open after a minute")
			}
		})
	}
}

// drip sends a byte of a header now and then, until the connection is closed.
func (c *h2) drip() {
	go func() {
		for c.send(frameContinuation, 0, 1, []byte{0}) && c.t.Context().Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}()
}

// A server that stops lets the streams of its connections end, as it does in HTTP/1.1.
func TestHTTP2_StopEndsStreams(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: g.box, Wings: []server.Wing{runs.New(runs.Config{})}, ManualMailbox: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	thread, _ := g.done()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	resp, err := call(t, &http.Client{Transport: tr}, "GET", "http://"+l.Addr().String()+"/v1/threads/"+thread+"/events/stream?cursor=0-0", "")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if frames := readFrames(t, resp.Body, nil); len(frames) == 0 {
		t.Error("the stream had nothing")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
