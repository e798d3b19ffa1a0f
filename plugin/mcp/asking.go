package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// Which call a question belongs to.
//
// A stream of its own says so (stream.go). Programs, the older transport and servers that ask elsewhere than on the call's
// stream do not. There the question belongs to the only call that the server works on, not counting calls that wait for
// a person: their server waits for the answer. While it works on several, the question waits until the others have ended, and
// further calls wait for it; so a question is never put to the user of another call. A tool that has asked is called one at
// a time, so that two questions do not wait for each other; its call gives way as soon as it waits for a person.

// admit begins a call, when it cannot be taken for another that may be asking.
func (s *session) admit(ctx context.Context, call *awaken.ToolCall, tool string) (*exchange, error) {
	if err := s.awaitTurn(ctx, tool); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.enter(ctx, call, tool), nil
}

// awaitTurn waits until a call of a tool may begin or continue. It returns with s.mu locked, unless it fails.
func (s *session) awaitTurn(ctx context.Context, tool string) error {
	for {
		s.mu.Lock()
		blocked := s.looking > 0
		if !blocked && s.conn.askers.has(tool) {
			for _, x := range s.calls {
				blocked = blocked || !x.waits && s.conn.askers.has(x.tool)
			}
		}
		if !blocked {
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.ctx.Done():
			return fmt.Errorf("MCP server %q: %w, so the call was not made", s.conn.server.ID, context.Cause(s.ctx))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// signal wakes what waits for calls to end. It requires s.mu.
func (s *session) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// callOf returns the call that a question belongs to. Token is that of the call whose stream has carried it, or "".
func (s *session) callOf(ctx context.Context, token string) (*exchange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token != "" {
		if x := s.calls[token]; x != nil {
			return x, nil
		}
		return nil, fmt.Errorf("the call that the question belongs to is over")
	}
	s.looking++
	defer func() {
		s.looking--
		s.signal()
	}()
	for {
		var found *exchange
		working := 0
		for _, x := range s.calls {
			if !x.waits {
				working++
				found = x
			}
		}
		switch {
		case working == 0:
			return nil, fmt.Errorf("there is no call that the question can belong to")
		case working == 1:
			s.conn.askers.add(found.tool)
			return found, nil
		case s.looking >= working: // all of them ask
			for _, x := range s.calls {
				if !x.waits {
					s.conn.askers.add(x.tool)
				}
			}
			return nil, fmt.Errorf("%d calls ask at the same time, and the server does not say which question belongs to which", working)
		}
		changed := s.changed
		s.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-s.ctx.Done():
			err = context.Cause(s.ctx)
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(s.conn.server.Timeout): // a call takes no longer
			err = fmt.Errorf("other calls did not end within %s", s.conn.server.Timeout)
		}
		s.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

// askers are the tools of a server that have asked in a way that does not say in which call. The zero value has none.
type askers struct {
	mu    sync.Mutex
	tools map[string]bool
}

func (a *askers) has(tool string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tools[tool]
}

func (a *askers) add(tool string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tools == nil {
		a.tools = map[string]bool{}
	}
	a.tools[tool] = true
}
