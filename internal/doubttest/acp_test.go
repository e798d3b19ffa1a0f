//go:build unix

package doubttest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
)

// editor is a client of the Agent Client Protocol. It connects again, and loads its session, after a lost connection.
type editor struct {
	address string
	session string // that it began
	conn    *editorConn
	lines   []string // of connections before
}

// editorConn is a connection of an editor.
type editorConn struct {
	net.Conn
	sent int // requests
	open map[string]bool

	mu      sync.Mutex
	changed chan struct{} // closed with the next line
	lines   []string
	asked   map[string]json.RawMessage // requests for a permission, by session
	replies map[int]json.RawMessage    // whole messages
	err     error                      // the connection is lost
}

// connectEditor connects an editor and initializes the connection.
func connectEditor(ctx context.Context, address string) (*editorConn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &editorConn{Conn: conn, open: map[string]bool{}, changed: make(chan struct{}), asked: map[string]json.RawMessage{},
		replies: map[int]json.RawMessage{}}
	go c.hear()
	hello := object{"protocolVersion": 1, "clientInfo": object{"name": "test", "version": "1"}, "clientCapabilities": object{}}
	if _, err := c.call(ctx, "initialize", hello); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// hear takes what the agent writes.
func (c *editorConn) hear() {
	in := bufio.NewReader(c.Conn)
	for {
		line, err := in.ReadString('\n')
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Session string `json:"sessionId"`
			} `json:"params"`
		}
		c.mu.Lock()
		if c.err = err; err == nil {
			c.lines = append(c.lines, line)
			c.err = json.Unmarshal([]byte(line), &m)
		}
		var id int
		switch {
		case c.err != nil:
		case m.Method == "session/request_permission":
			c.asked[m.Params.Session] = m.ID
		case m.Method == "" && json.Unmarshal(m.ID, &id) == nil:
			c.replies[id] = json.RawMessage(line)
		}
		close(c.changed)
		c.changed = make(chan struct{})
		lost := c.err != nil
		c.mu.Unlock()
		if lost {
			return
		}
	}
}

// await waits until ready, which is called with mu held, returns true.
func (c *editorConn) await(ctx context.Context, ready func() bool) error {
	for {
		c.mu.Lock()
		done, err, changed := ready(), c.err, c.changed
		c.mu.Unlock()
		if done || err != nil {
			if done {
				err = nil
			}
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the agent says nothing more after %q: %w", c.said(), ctx.Err())
		}
	}
}

func (c *editorConn) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...)
}

func (c *editorConn) write(message object) error {
	message["jsonrpc"] = "2.0"
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.Write(append(data, '\n'))
	return err
}

// call sends a request and returns its result.
func (c *editorConn) call(ctx context.Context, method string, params object) (json.RawMessage, error) {
	c.sent++
	id := c.sent
	if err := c.write(object{"id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	if err := c.await(ctx, func() bool { return c.replies[id] != nil }); err != nil {
		return nil, err
	}
	c.mu.Lock()
	reply := c.replies[id]
	c.mu.Unlock()
	var m struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(reply, &m); err != nil || m.Error != nil {
		return nil, fmt.Errorf("%s: %s: %w", method, reply, err)
	}
	return m.Result, nil
}

// load begins a session that exists, if the connection has not begun it. The agent shows what the session has.
func (c *editorConn) load(ctx context.Context, session string) error {
	if c.open[session] {
		return nil
	}
	_, err := c.call(ctx, "session/load", object{"sessionId": session, "cwd": "/", "mcpServers": list{}})
	c.open[session] = err == nil
	return err
}

// question waits until the agent asks for a permission.
func (c *editorConn) question(ctx context.Context, session string) error {
	return c.await(ctx, func() bool { return c.asked[session] != nil })
}

// connected connects the editor, if its connection is lost.
func (e *editor) connected(ctx context.Context) (err error) {
	if e.conn != nil {
		e.conn.mu.Lock()
		err = e.conn.err
		e.conn.mu.Unlock()
		if err == nil {
			return nil
		}
		e.lines = append(e.lines, e.conn.said()...)
		_ = e.conn.Close()
	}
	e.conn, err = connectEditor(ctx, e.address)
	return err
}

func (e *editor) say(ctx context.Context, thread, _, text string) (string, error) {
	if err := e.connected(ctx); err != nil {
		return "", err
	}
	if e.session == "" {
		result, err := e.conn.call(ctx, "session/new", object{"cwd": "/", "mcpServers": list{}})
		if err != nil {
			return "", err
		}
		var made struct {
			ID string `json:"sessionId"`
		}
		if err := json.Unmarshal(result, &made); err != nil {
			return "", err
		}
		e.session = made.ID
		e.conn.open[made.ID] = true
		thread = made.ID
	}
	if err := e.conn.load(ctx, thread); err != nil {
		return "", err
	}
	result, err := e.conn.call(ctx, "session/prompt", object{"sessionId": thread, "prompt": list{object{"type": "text", "text": text}}})
	return string(result), err
}

func (e *editor) thread(context.Context) (string, error) { return e.session, nil }

func (e *editor) answer(ctx context.Context, k *ticket, yes bool) (string, error) {
	if err := e.shown(ctx, k.Thread); err != nil {
		return "", err
	}
	if err := e.conn.question(ctx, k.Thread); err != nil {
		return "", err
	}
	option := "reject_once"
	if yes {
		option = "allow_once"
	}
	e.conn.mu.Lock()
	id := e.conn.asked[k.Thread]
	e.conn.mu.Unlock()
	return "", e.conn.write(object{"id": id, "result": object{"outcome": object{"outcome": "selected", "optionId": option}}})
}

func (e *editor) cancel(ctx context.Context, thread, _ string) (string, error) {
	if err := e.shown(ctx, thread); err != nil {
		return "", err
	}
	if err := e.conn.question(ctx, thread); err != nil {
		return "", err
	}
	return "", e.conn.write(object{"method": "session/cancel", "params": object{"sessionId": thread}})
}

// shown connects the editor and loads a session.
func (e *editor) shown(ctx context.Context, thread string) error {
	if err := e.connected(ctx); err != nil {
		return err
	}
	return e.conn.load(ctx, thread)
}

func (e *editor) heard() []string {
	if e.conn == nil {
		return e.lines
	}
	return append(e.lines, e.conn.said()...)
}

// loaded returns what an editor is shown that loads a session. Asks says that the agent asks something then.
func loaded(ctx context.Context, address, session string, asks bool) ([]string, error) {
	c, err := connectEditor(ctx, address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.load(ctx, session); err != nil {
		return nil, err
	}
	if asks {
		if err := c.question(ctx, session); err != nil {
			return nil, err
		}
	}
	return c.said(), nil
}
