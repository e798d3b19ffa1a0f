package config

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// server is the connection of one MCP server document. Versions with the same document and
// secrets share it.
type server struct {
	doc     *document
	conn    MCPConnection
	err     error // why there is no connection
	holders int
}

// servers holds the connections of all versions.
type servers struct {
	connector MCPConnector // nil connects to none

	mu       sync.Mutex
	open     map[string]*server // by id, hash and stamp
	retooled map[string]bool    // ids of servers whose changed tools no version has yet
	wake     chan struct{}      // signals that retooled is not empty
}

func newServers(c MCPConnector) *servers {
	return &servers{connector: c, open: map[string]*server{}, retooled: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (ss *servers) changed(id string) {
	ss.keep(id)
	ss.remind()
}

// keep remembers servers whose tools changed.
func (ss *servers) keep(ids ...string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, id := range ids {
		ss.retooled[id] = true
	}
}

// remind wakes the manager if there are tools that no version has.
func (ss *servers) remind() {
	ss.mu.Lock()
	left := len(ss.retooled) > 0
	ss.mu.Unlock()
	if !left {
		return
	}
	select {
	case ss.wake <- struct{}{}:
	default:
	}
}

// take returns and resets the servers whose tools changed.
func (ss *servers) take() []string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ids := slices.Sorted(maps.Keys(ss.retooled))
	clear(ss.retooled)
	return ids
}

// connect returns the connection of a document. fresh means that it was just made.
func (ss *servers) connect(ctx context.Context, doc *document, sec *secrets) (s *server, fresh bool) {
	name := doc.ID + "\x00" + doc.Hash + "\x00" + sec.stamp(doc)
	ss.mu.Lock()
	s = ss.open[name]
	ss.mu.Unlock()
	if s != nil && s.err == nil {
		return s, false
	}
	s = &server{doc: doc}
	spec, err := sec.decode(doc)
	switch {
	case err != nil:
		s.err = err
	case ss.connector == nil:
		s.err = ErrNoConnector
	default:
		s.conn, s.err = ss.connector.Connect(context.WithoutCancel(ctx), spec.(*MCPServerSpec), func() { ss.changed(doc.ID) })
		s.err = sec.scrub(doc, s.err)
	}
	if s.err == nil {
		ss.mu.Lock()
		ss.open[name] = s
		ss.mu.Unlock()
	}
	return s, true
}

// hold keeps the connections of a version open until it is dropped.
func (ss *servers) hold(v *compiled) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, s := range v.servers {
		s.holders++
	}
}

// drop releases the connections of a version and closes those that no other version holds.
func (ss *servers) drop(v *compiled) {
	ss.mu.Lock()
	var over []*server
	for _, s := range v.servers {
		if s.holders--; s.holders == 0 {
			over = append(over, s)
		}
	}
	ss.mu.Unlock()
	ss.close(over)
}

// close closes connections that no version holds.
func (ss *servers) close(over []*server) {
	for _, s := range over {
		ss.mu.Lock()
		held := s.holders > 0
		if !held {
			maps.DeleteFunc(ss.open, func(_ string, o *server) bool { return o == s })
		}
		ss.mu.Unlock()
		if !held && s.conn != nil {
			_ = s.conn.Close() // unused; an error changes nothing
		}
	}
}

// end closes every connection.
func (ss *servers) end() {
	ss.mu.Lock()
	all := slices.Collect(maps.Values(ss.open))
	clear(ss.open)
	ss.mu.Unlock()
	for _, s := range all {
		_ = s.conn.Close() // shutting down; an error changes nothing
	}
}
