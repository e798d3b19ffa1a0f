//lint:file-ignore SA1019 servers of the older revisions log, sample and ask for roots; the SDK keeps these deprecated features for them

package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one time that a connection is open.
type session struct {
	conn *Connection
	*sdk.ClientSession
	proc *process // nil for an address

	ctx    context.Context // done when the session is closed
	cancel context.CancelCauseFunc
	lost   chan struct{} // closed when the server has ended the session
	cause  error         // why; set before lost is closed
	relist chan struct{} // signals that the list of tools has changed
	mark   string        // name of the token that questions are marked with

	mu      sync.Mutex
	wire    sdk.Connection       // below the ClientSession
	calls   map[string]*exchange // by progress token
	held    map[string]*exchange // whose question waits for a person, by the key of the call
	looking int                  // questions whose call is not found yet
	changed chan struct{}        // closed when calls or looking change
}

// Revisions of the protocol. The newer one begins without a handshake; a server that does not know it
// is asked for the older one.
const (
	newest = "" // of the SDK
	legacy = "2025-11-25"
)

var (
	errClosed  = errors.New("the connection was closed")
	errRestart = errors.New("the connection was restarted")
)

// newSession returns a session that is not open.
func newSession(c *Connection) *session {
	s := &session{conn: c, lost: make(chan struct{}), relist: make(chan struct{}, 1), calls: map[string]*exchange{},
		changed: make(chan struct{}), mark: "awaken/" + rand.Text()}
	s.ctx, s.cancel = context.WithCancelCause(c.ctx)
	return s
}

// over reports that the server has ended the session, which the connection may not have noticed yet.
func (s *session) over() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

// connect opens a session. If ctx is done before that, it ends what it has begun.
func (c *Connection) connect(ctx context.Context, revision string) (_ *session, err error) {
	s := newSession(c)
	transport, err := s.transport()
	if err != nil {
		s.cancel(err)
		return nil, err
	}
	giveUp := context.AfterFunc(ctx, s.abandon)
	s.ClientSession, err = s.client().Connect(ctx, lasting{transport, s}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if !giveUp() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if ctx.Err() != nil && c.ctx.Err() == nil {
			err = fmt.Errorf("%w within %s", errSilent, c.server.OpenTimeout)
		} else if s.proc != nil {
			if why := s.proc.why(); why != nil {
				err = why
			}
		}
		s.abandon()
		return nil, err
	}
	go func() {
		s.cause = s.ClientSession.Wait()
		if s.proc != nil {
			if why := s.proc.why(); why != nil {
				s.cause = why
			}
		}
		if s.cause == nil {
			s.cause = errors.New("the server closed the connection")
		}
		close(s.lost)
	}()
	return s, nil
}

// modern reports whether the session is one of the newer revision.
func (s *session) modern() bool { return s.InitializeResult().ProtocolVersion > legacy }

var errSilent = errors.New("the server did not answer")

// client returns the client of the SDK, with what it does for the server.
func (s *session) client() *sdk.Client {
	server := &s.conn.server
	caps := &sdk.ClientCapabilities{}
	if !server.Unattended {
		caps.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
	}
	if len(server.Roots) > 0 {
		caps.RootsV2 = &sdk.RootCapabilities{}
	}
	var sample func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error)
	if server.Sampling != nil {
		sample = func(ctx context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			if r.Params == nil {
				return nil, errors.New("the question has no params")
			}
			a, err := s.put(ctx, s.unmark(r.Params.Meta), newQuestion(nil, r.Params))
			return a.sample, err
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "awaken", Version: moduleVersion()}, &sdk.ClientOptions{
		Logger:       s.conn.log,
		Capabilities: caps,
		// Handlers must not wait: messages of the server are handled one after the other.
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case s.relist <- struct{}{}:
			default: // it will be listed again anyway
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progress(r.Params) },
		// Questions of the newer revision are answered by the tool, which can suspend its call.
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if r.Params == nil {
				return nil, errors.New("the question has no params")
			}
			a, err := s.put(ctx, s.unmark(r.Params.Meta), newQuestion(r.Params, nil))
			return a.elicit, err
		},
		CreateMessageHandler:  sample,
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) { s.logged(r.Params) },
	})
	client.AddRoots(s.conn.roots()...)
	return client
}

// moduleVersion returns the version of this module in the program.
func moduleVersion() string {
	const module = "github.com/awaken-go/awaken"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Path == module {
			return info.Main.Version
		}
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "unknown"
}

// maxTools and maxPages limit the list of tools.
const (
	maxTools = 1000
	maxPages = 100
)

// list returns the tools of the server.
func (s *session) list(ctx context.Context) ([]*sdk.Tool, error) {
	if init := s.InitializeResult(); init == nil || init.Capabilities == nil || init.Capabilities.Tools == nil {
		return nil, nil
	}
	var all []*sdk.Tool
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := s.ListTools(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("cannot list its tools: %w", err)
		}
		if all = append(all, page.Tools...); len(all) > maxTools {
			return nil, fmt.Errorf("it lists more than %d tools", maxTools)
		}
		if page.NextCursor == "" || page.NextCursor == params.Cursor {
			return all, nil
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// abandon ends a session that was not opened.
func (s *session) abandon() {
	s.cancel(errClosed)
	if s.proc != nil {
		s.proc.kill()
	}
	s.mu.Lock()
	wire := s.wire
	s.mu.Unlock()
	if wire != nil {
		_ = wire.Close() // it was not opened
	}
}

// closeGrace is how long the server may take to end a session.
const closeGrace = 2 * time.Second

// close ends a session, and the calls that it has.
func (s *session) close(cause error) {
	s.dismiss()
	s.cancel(cause)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = s.ClientSession.Close() // it is over, whatever the server says
	}()
	select {
	case <-closed:
	case <-time.After(closeGrace):
	}
	if s.proc != nil {
		s.proc.stop()
	}
}
