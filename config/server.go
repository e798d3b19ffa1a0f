package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
)

// server is the connection of one document of an MCP server. Versions that have the
// document, with the same secrets, share it.
type server struct {
	doc     *document
	stamp   string
	conn    MCPConnection
	err     error // why there is no connection
	holders int
}

// servers are the connections that versions hold.
type servers struct {
	mu    sync.Mutex
	open  map[string]*server // by id, hash and stamp
	other map[string]bool    // ids of servers whose tools are others
	woken chan struct{}      // holds one when there are some
}

func (ss *servers) changed(id string) {
	ss.mu.Lock()
	ss.other[id] = true
	ss.mu.Unlock()
	select {
	case ss.woken <- struct{}{}:
	default:
	}
}

// take returns the servers whose tools are others, once.
func (ss *servers) take() []string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ids := slices.Sorted(maps.Keys(ss.other))
	clear(ss.other)
	return ids
}

// connect returns the connection of a document. Fresh means that it was made now.
func (m *Manager) connect(ctx context.Context, doc *document, sec *secrets) (s *server, fresh bool) {
	ss := &m.servers
	stamp := sec.stamp(doc)
	name := doc.ID + "\x00" + doc.Hash + "\x00" + stamp
	ss.mu.Lock()
	s = ss.open[name]
	ss.mu.Unlock()
	if s != nil && s.err == nil {
		return s, false
	}
	s = &server{doc: doc, stamp: stamp}
	spec, err := sec.decode(doc)
	switch {
	case err != nil:
		s.err = err
	case m.o.MCP == nil:
		s.err = ErrNoConnector
	default:
		s.conn, s.err = m.o.MCP.Connect(context.WithoutCancel(ctx), spec.(*MCPServerSpec), func() { ss.changed(doc.ID) })
		s.err = sec.scrub(doc, s.err)
	}
	if s.err == nil {
		ss.mu.Lock()
		ss.open[name] = s
		ss.mu.Unlock()
	}
	return s, true
}

// hold keeps the connections of a version open, until it is dropped.
func (ss *servers) hold(v *compiled) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, s := range v.servers {
		s.holders++
	}
}

// drop closes the connections of a version that no other holds.
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

// close ends connections that nobody holds.
func (ss *servers) close(over []*server) {
	for _, s := range over {
		ss.mu.Lock()
		held := s.holders > 0
		if !held {
			maps.DeleteFunc(ss.open, func(_ string, o *server) bool { return o == s })
		}
		ss.mu.Unlock()
		if !held && s.conn != nil {
			_ = s.conn.Close() // it is not needed any more
		}
	}
}

// addServer connects to a server. One that does not answer has no tools until it does.
func (b *builder) addServer(ctx context.Context, doc *document) {
	s, fresh := b.m.connect(ctx, doc, b.c.secrets)
	if fresh {
		b.opened = append(b.opened, s)
	}
	b.copyServers()
	b.next.servers[doc.ID] = s
	b.addTools(doc.ID)
}

func (b *builder) removeServer(id string) {
	b.copyServers()
	delete(b.next.servers, id)
	b.addTools(id)
}

func (b *builder) copyServers() {
	if !b.reserved {
		b.reserved = true
		b.next.servers, b.next.tools = maps.Clone(b.next.servers), maps.Clone(b.next.tools)
		if b.next.servers == nil {
			b.next.servers, b.next.tools = map[string]*server{}, map[string][]string{}
		}
	}
}

// addTools takes the tools that a server has now into the edit, in place of those that the
// base has of it.
func (b *builder) addTools(id string) {
	b.copyServers()
	var ids []string
	if s := b.next.servers[id]; s != nil && s.err == nil {
		for _, t := range s.conn.Tools() {
			tool := t.Spec().ID
			if b.m.code[Key{Tools, tool}] {
				b.degraded = append(b.degraded, problem(s.doc.Key, "tool_conflict", "its tool %q is a tool of the program, too", tool))
				continue
			}
			if err := b.usable(id, t, ids); err != nil {
				b.degraded = append(b.degraded, warning(s.doc.Key, "tool_invalid", "its tool %q is left out: %v", tool, err))
				continue
			}
			ids = append(ids, tool)
			b.edit.Tools = append(b.edit.Tools, t)
		}
	} else if s != nil {
		b.degraded = append(b.degraded, warning(s.doc.Key, "mcp_unavailable", "%v", s.err))
	}
	for _, old := range b.next.tools[id] {
		if !slices.Contains(ids, old) {
			b.edit.Gone.Tools = append(b.edit.Gone.Tools, old)
		}
	}
	b.next.tools[id] = ids
}

// usable returns what is wrong with a tool of a server that has those already. It is not the
// fault of a document, and must not keep the others from running.
func (b *builder) usable(id string, t awaken.Tool, have []string) error {
	tool := t.Spec().ID
	if slices.Contains(have, tool) {
		return errors.New("the server has two of that name")
	}
	for other, tools := range b.next.tools {
		if other != id && slices.Contains(tools, tool) {
			return fmt.Errorf("server %q has one of that name", other)
		}
	}
	_, err := b.m.bare.reg.Derive(awaken.Edit{Tools: []awaken.Tool{t}, Lazy: true})
	return err
}

// abandon closes the connections that were made for a version that did not come to be.
func (b *builder) abandon() { b.m.servers.close(b.opened) }

// diagnose returns the servers that do not answer.
func (v *compiled) diagnose() (out []awaken.Diagnostic) {
	for _, id := range slices.Sorted(maps.Keys(v.servers)) {
		s := v.servers[id]
		if s.err != nil {
			continue // it is among the problems
		}
		if st := s.conn.Status(); !st.Connected {
			out = append(out, warning(s.doc.Key, "mcp_unavailable", "it is not connected: %s", st.LastError))
		}
	}
	return out
}

// retool takes in the tools that servers have now: in what is live, the canary and the
// versions that runs are pinned to.
func (m *Manager) retool(ctx context.Context) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer m.unlock()
	ids := m.servers.take()
	if len(ids) == 0 {
		return nil
	}
	now := m.now()
	with := func(v *compiled) (*compiled, error) {
		if v == nil || !slices.ContainsFunc(ids, func(id string) bool { return v.servers[id] != nil }) {
			return v, nil
		}
		next, err := m.compile(ctx, candidate{base: v, number: v.number, since: v.since, secrets: now.secrets, retool: ids, tolerant: true})
		if err != nil {
			return v, fmt.Errorf("tools of %q in version %d: %w", ids, v.number, err)
		}
		return next, nil
	}
	next := *now
	var errs [2]error
	next.live, errs[0] = with(now.live)
	next.canary, errs[1] = with(now.canary)
	m.swap(ctx, &next)
	return errors.Join(errs[0], errs[1], m.pins.change(with, &m.servers))
}

// MCP returns the connection of a live MCP server; A2A the status of a live A2A server.
// awaken.ErrNotFound means that there is no such document, ErrNoConnector that this
// program connects to none.
func (m *Manager) MCP(id string) (MCPConnection, error) {
	s := m.now().live.servers[id]
	switch {
	case s == nil:
		return nil, fmt.Errorf("MCP server %q: %w", id, awaken.ErrNotFound)
	case s.err != nil:
		return nil, fmt.Errorf("MCP server %q: %w", id, s.err)
	}
	return s.conn, nil
}

func (m *Manager) A2A(ctx context.Context, id string) (A2AStatus, error) {
	now := m.now()
	doc := now.live.docs[Key{A2AServers, id}]
	switch {
	case doc == nil:
		return A2AStatus{}, fmt.Errorf("A2A server %q: %w", id, awaken.ErrNotFound)
	case m.o.A2A == nil:
		return A2AStatus{}, fmt.Errorf("A2A server %q: %w", id, ErrNoConnector)
	}
	spec, err := now.secrets.decode(doc)
	if err != nil {
		return A2AStatus{}, err
	}
	return m.o.A2A.Status(ctx, spec.(*A2AServerSpec)), nil
}

// end closes every connection.
func (ss *servers) end() {
	ss.mu.Lock()
	all := slices.Collect(maps.Values(ss.open))
	clear(ss.open)
	ss.mu.Unlock()
	for _, s := range all {
		_ = s.conn.Close() // nobody is interested any more
	}
}
