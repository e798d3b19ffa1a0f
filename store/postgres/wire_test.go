package postgres_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/store/postgres"
)

// wire observes what the connections of a database send.
type wire struct {
	writes, bytes atomic.Int64

	mu         sync.Mutex
	recording  bool
	statements []string // in the order in which they were sent
	trips      int      // how often a connection waited for the server
}

// record begins a new list of statements.
func (w *wire) record() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recording, w.statements, w.trips = true, nil, 0
}

// recorded returns the statements since record, without those that only delimit
// transactions, and the number of round trips.
func (w *wire) recorded() ([]string, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.statements), func(text string) bool {
		verb, _, _ := strings.Cut(strings.ToLower(text), " ")
		return verb == "begin" || verb == "commit" || verb == "rollback"
	}), w.trips
}

// countingConn is a connection of it. It follows the frontend protocol: a message is a type,
// a length and a body; the first one has no type.
type countingConn struct {
	net.Conn
	wire *wire

	started  bool
	rest     []byte            // the beginning of a message
	prepared map[string]string // by name
	bound    string            // the text of the statement that Execute executes
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.wire.writes.Add(1)
	c.wire.bytes.Add(int64(len(p)))
	c.rest = append(c.rest, p...)
	for c.next() {
	}
	return c.Conn.Write(p)
}

// next takes one message from the rest.
func (c *countingConn) next() bool {
	head := 1
	if !c.started {
		head = 0
	}
	if len(c.rest) < head+4 {
		return false
	}
	end := head + int(binary.BigEndian.Uint32(c.rest[head:]))
	if len(c.rest) < end {
		return false
	}
	kind, body := c.rest[0], c.rest[head+4:end]
	if c.started {
		c.message(kind, body)
	}
	c.started, c.rest = true, c.rest[end:]
	return true
}

func (c *countingConn) message(kind byte, body []byte) {
	text := func() string {
		s, rest, _ := bytes.Cut(body, []byte{0})
		body = rest
		return string(s)
	}
	add := func(statement string) {
		c.wire.mu.Lock()
		defer c.wire.mu.Unlock()
		if c.wire.recording && statement != "" {
			c.wire.statements = append(c.wire.statements, strings.Join(strings.Fields(statement), " "))
		}
	}
	switch kind {
	case 'P': // parse
		name := text()
		c.prepared[name] = text()
	case 'B': // bind
		text() // the portal
		c.bound = c.prepared[text()]
	case 'E': // execute
		add(c.bound)
	case 'Q': // a query without parameters
		add(text())
	}
	if kind == 'Q' || kind == 'S' {
		c.wire.mu.Lock()
		c.wire.trips++
		c.wire.mu.Unlock()
	}
}

// openCounting opens a database and observes what its connections send.
func openCounting(t testing.TB, opts *postgres.Options) (*postgres.DB, *wire) {
	t.Helper()
	config, err := pgxpool.ParseConfig(shared())
	if err != nil {
		t.Fatal(err)
	}
	w := new(wire)
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &countingConn{Conn: c, wire: w, prepared: map[string]string{}}, err
	}
	if opts == nil {
		opts = new(postgres.Options)
	}
	opts.Prefix = fmt.Sprintf("test%d", sharedTest.Add(1))
	db, err := postgres.OpenConfig(t.Context(), config, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, w
}
