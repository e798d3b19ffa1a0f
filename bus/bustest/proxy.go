package bustest

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Proxy stands between the processes and the server of a bus, and makes faults of networks.
type Proxy struct {
	network, server string
	listener        net.Listener

	mu     sync.Mutex
	silent bool
	delay  time.Duration
	conns  map[*proxied]bool
	done   sync.WaitGroup
}

// proxied is a connection and its other end.
type proxied struct {
	client, server net.Conn
	dead           bool // it stays open, and nothing passes; guarded by Proxy.mu
}

// NewProxy starts a proxy for a server, until the end of the test. The network is tcp or unix; the
// socket of a unix server has its name in a folder of the proxy.
func NewProxy(t testing.TB, network, server string) *Proxy {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("/tmp", "px") // the path of a socket must be short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		address = filepath.Join(dir, filepath.Base(server))
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{network: network, server: server, listener: l, conns: map[*proxied]bool{}}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Cut()
		p.done.Wait()
	})
	return p
}

// Address returns where the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Silence makes everything that is sent disappear, while connections stay open, or stops doing so for
// new connections: those that lost something stay dead, as when a machine has gone.
func (p *Proxy) Silence(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
	for c := range p.conns {
		c.dead = c.dead || silent
	}
}

// Delay makes everything take longer. It delays in both directions.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

func (c *proxied) close() {
	_ = c.client.Close()
	_ = c.server.Close()
}

// accept serves connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &proxied{client: client, server: server}
		p.mu.Lock()
		c.dead = p.silent
		p.conns[c] = true
		p.mu.Unlock()
		p.done.Go(func() {
			var both sync.WaitGroup
			both.Go(func() { p.pass(c, client, server) })
			both.Go(func() { p.pass(c, server, client) })
			both.Wait()
			p.mu.Lock()
			delete(p.conns, c)
			p.mu.Unlock()
		})
	}
}

// pass copies what arrives until one end is closed. Of a dead connection it takes it and drops it.
func (p *Proxy) pass(c *proxied, from io.Reader, to io.Writer) {
	defer c.close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		dead, delay := c.dead, p.delay
		p.mu.Unlock()
		if delay > 0 {
			time.Sleep(delay)
		}
		if !dead && n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
