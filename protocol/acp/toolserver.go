package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// ToolServer is an MCP server that the editor passes with a session: a program to start in the
// session's folder, or an address.
type ToolServer struct {
	ID      string // its name, with the letters, digits, - and _ that ids of tools have; unique in the session
	Command string
	Args    []string
	Dir     string
	Env     map[string]awaken.Secret
	URL     string
	SSE     bool // the address speaks the HTTP+SSE transport
	Headers map[string]awaken.Secret
}

// Toolbox is a connection to a [ToolServer].
type Toolbox interface {
	// Ready waits until the server is connected, or says why it is not.
	Ready(ctx context.Context) error
	// Tools returns the tools that the server has now. Their ids begin with mcp__<server>__.
	Tools() []awaken.Tool
	// Close ends the connection and what was started for it.
	Close() error
}

const (
	maxServers = 16               // of a session
	serverTime = 10 * time.Second // how long a prompt waits for servers that are being connected
	openTime   = 30 * time.Second // how long a server may take before the user is told
)

// toolServers are the connections to the MCP servers of a session.
type toolServers struct {
	ids   []string
	boxes []Toolbox
	ready chan struct{} // closed when each server is connected or has failed

	ctx  context.Context // done when they are closed
	stop context.CancelFunc
}

// close ends the connections.
func (t *toolServers) close(log *slog.Logger) {
	t.stop()
	var wait sync.WaitGroup
	for _, b := range t.boxes {
		wait.Go(func() {
			if err := b.Close(); err != nil {
				log.Warn("cannot close an MCP server of the editor", "error", err)
			}
		})
	}
	wait.Wait()
}

// list returns the servers that a client passes, with names that ids of tools can have.
func (s *session) list(wire []mcpServer) ([]ToolServer, error) {
	if len(wire) > maxServers {
		return nil, invalidParams("mcpServers has %d servers, want at most %d", len(wire), maxServers)
	}
	var out []ToolServer
	seen := map[string]bool{}
	for i, m := range wire {
		t := ToolServer{ID: serverID(m.Name, seen), Command: m.Command, Args: m.Args, URL: m.URL}
		switch {
		case m.Type == "" && m.Command == "":
			return nil, invalidParams("mcpServers[%d].command is missing, want the path of a program", i)
		case m.Type == "" || m.Type == "stdio":
			t.Dir, t.URL, t.Env = s.cwd, "", secrets(m.Env)
		case m.Type != "http" && m.Type != "sse":
			return nil, invalidParams("mcpServers[%d].type is %.40q, want stdio, http or sse", i, m.Type)
		case m.URL == "":
			return nil, invalidParams("mcpServers[%d].url is missing", i)
		default:
			t.Command, t.Args, t.SSE, t.Headers = "", nil, m.Type == "sse", secrets(m.Headers)
		}
		out = append(out, t)
	}
	return out, nil
}

// serverID returns a name as part of ids of tools, and one that the session has not used.
func serverID(name string, seen map[string]bool) string {
	id := strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '-'
	}, name)
	id = strings.Trim(id[:min(len(id), 40)], "-")
	if id == "" {
		id = "server"
	}
	for base, n := id, 2; seen[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	seen[id] = true
	return id
}

// secrets returns the values of variables or headers, of which the last counts.
func secrets(pairs []namedValue) map[string]awaken.Secret {
	out := map[string]awaken.Secret{}
	for _, p := range pairs {
		out[p.Name] = awaken.NewSecret(p.Value)
	}
	return out
}

// connect begins to connect the servers of the session. The user is told which ones cannot be used.
func (s *session) connect(servers []ToolServer) {
	if len(servers) == 0 {
		return
	}
	if s.Connect == nil {
		var names []string
		for _, m := range servers {
			names = append(names, m.ID)
		}
		s.notice("MCP servers of the editor are not used: " + strings.Join(names, ", "))
		return
	}
	t := &toolServers{ready: make(chan struct{})}
	t.ctx, t.stop = context.WithCancel(s.ctx)
	var refused []string
	for _, m := range servers {
		box, err := s.Connect(m)
		if err != nil {
			refused = append(refused, fmt.Sprintf("MCP server %s is not used: %v", m.ID, err))
			continue
		}
		t.ids, t.boxes = append(t.ids, m.ID), append(t.boxes, box)
	}
	if !s.hold(t) {
		t.close(s.Logger)
		return
	}
	for _, text := range refused {
		s.notice(text)
	}
	var wait sync.WaitGroup
	for i, box := range t.boxes {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.ctx, openTime)
			defer cancel()
			if err := box.Ready(ctx); err != nil && t.ctx.Err() == nil {
				s.notice(fmt.Sprintf("MCP server %s cannot be used now: %v", t.ids[i], err))
			}
		})
	}
	go func() { // ends with the client at the latest
		wait.Wait()
		close(t.ready)
	}()
}

// hold makes servers those of the session, unless it has ended, or the client is gone.
func (s *session) hold(t *toolServers) bool {
	a := s.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.gone || s.over {
		return false
	}
	s.servers, a.serving[s] = t, true
	return true
}

// disconnect ends the connections to the session's servers. It gets no others.
func (s *session) disconnect() {
	a := s.agent
	a.mu.Lock()
	s.mu.Lock()
	t := s.servers
	s.servers, s.over = nil, true
	delete(a.serving, s)
	s.mu.Unlock()
	a.mu.Unlock()
	if t != nil {
		t.close(s.Logger)
	}
}

// serverTools returns the tools of the session's servers. It waits a moment for servers that are being
// connected.
func (s *session) serverTools(ctx context.Context) []awaken.Tool {
	s.mu.Lock()
	t := s.servers
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	late := time.NewTimer(serverTime)
	defer late.Stop()
	select {
	case <-t.ready:
	case <-late.C:
	case <-ctx.Done():
	}
	var out []awaken.Tool
	for _, b := range t.boxes {
		out = append(out, b.Tools()...)
	}
	return out
}

// hasServer reports whether a tool is one of a server of the session.
func (s *session) hasServer(tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers != nil && slices.ContainsFunc(s.servers.ids, func(id string) bool { return strings.HasPrefix(tool, "mcp__"+id+"__") })
}

// serverTool returns a tool of the session's servers, or nil.
func (s *session) serverTool(ctx context.Context, id string) awaken.Tool {
	for _, t := range s.serverTools(ctx) {
		if t.Spec().ID == id {
			return t
		}
	}
	return nil
}

// callServer makes a call of a tool of a server, once, and returns its result for the model.
func (t *turn) callServer(ctx context.Context, tool awaken.Tool, ticket *awaken.WaitingTicket) (any, error) {
	spec := tool.Spec()
	if spec.Timeout > 0 {
		late := fmt.Errorf("the server did not answer within %v", spec.Timeout)
		if spec.Effect == awaken.Effectful {
			late = fmt.Errorf("%w: %w, and it was not repeated", late, awaken.ErrInDoubt)
		}
		limited, cancel := context.WithTimeoutCause(ctx, spec.Timeout, late)
		defer cancel()
		ctx = limited
	}
	call := &awaken.ToolCall{ID: ticket.ToolCallID, Tool: ticket.ToolName, Args: ticket.Arguments, Key: t.runID + "/" + ticket.ToolCallID,
		Run: &awaken.RunInfo{ThreadID: t.id, RunID: t.runID, UserID: t.User}}
	res, err := tool.Call(ctx, call)
	if res, err = awaken.ResultOf(spec.ID, res, err); err != nil {
		return nil, err
	}
	switch res.Status {
	case awaken.ToolError:
		return nil, errors.New(res.Message)
	case awaken.ToolPending:
		return nil, fmt.Errorf("the server asks the user a question, which the editor cannot show: %w", awaken.ErrInDoubt)
	}
	return answerOf(res), nil
}

// answerOf returns what a model is told about a result: its text and data, as in other results. Files are
// only mentioned.
func answerOf(res *awaken.ToolResult) any {
	if len(res.Content) == 0 {
		if res.Message == "" {
			return res.Data
		}
		return res.Plain()
	}
	var text []string
	for i := range res.Content {
		b := &res.Content[i]
		switch {
		case b.Type == llm.TextBlock:
			text = append(text, b.Text)
		default:
			text = append(text, fmt.Sprintf("[%s]", b.Type))
		}
	}
	return strings.Join(text, "\n")
}
