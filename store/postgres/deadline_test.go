package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/postgres"
)

// A call whose context ends at the moment of its response does not make the next call of its connection fail.
func TestDeadline_OfOneCallDoesNotFailTheNext(t *testing.T) {
	config, err := pgxpool.ParseConfig(shared())
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	var hook write
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &slowConn{Conn: c, hook: &hook}, err
	}
	db, err := postgres.OpenConfig(t.Context(), config, &postgres.Options{Prefix: fmt.Sprintf("test%d", sharedTest.Add(1))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store := db.Store("")
	seen := 0
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		hook.set(func(c *slowConn) { c.endWhileReadingAhead(cancel) })
		_, err := store.Thread(ctx, "none")
		cancel()
		if errors.Is(err, awaken.ErrNotFound) { // the response was there
			seen++
		}
		if _, err := store.Thread(t.Context(), "none"); !errors.Is(err, awaken.ErrNotFound) {
			t.Fatalf("the call after it: %v, want not found", err)
		}
	}
	if seen == 0 {
		t.Error("the context of no call ended after its response")
	}
}

// write is what the next write of a connection calls when it has sent its data.
type write struct {
	mu   sync.Mutex
	then func(c *slowConn)
}

func (w *write) set(then func(c *slowConn)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.then = then
}

func (w *write) take() func(c *slowConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	then := w.then
	w.then = nil
	return then
}

// slowConn is a connection whose writes last until something has happened.
type slowConn struct {
	net.Conn
	hook *write

	mu           sync.Mutex
	begun, ended int // reads
	late         bool
}

func (c *slowConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	c.begun++
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended++
	c.late = errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

func (c *slowConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if then := c.hook.take(); then != nil {
		then(c)
	}
	return n, err
}

// endWhileReadingAhead waits until pgx has read the response and reads ahead, calls end, and waits for the end of that read.
func (c *slowConn) endWhileReadingAhead(end func()) {
	c.mu.Lock()
	first := c.ended
	c.mu.Unlock()
	c.until(func() bool { return c.ended > first && c.begun > c.ended })
	end()
	c.until(func() bool { return c.late })
}

func (c *slowConn) until(ok func() bool) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		done := ok()
		c.mu.Unlock()
		if done {
			return
		}
	}
}
