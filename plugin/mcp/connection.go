package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
)

// Options configures connections.
type Options struct {
	// Client makes HTTP requests to servers. If nil, only public addresses can be reached.
	Client *http.Client
	// Pins stores the approvals of tools. If nil, approvals last as long as the connection.
	Pins Pins
	// OAuth provides the tokens for servers that require authorization. It is required if there is such a server.
	OAuth *oauth.Broker
	// Changed is called when the tools of a connection have changed. It must not block.
	Changed func()
	Logger  *slog.Logger // nil discards
}

// Connection maintains a connection to a server. It is safe for concurrent use. Only Restart and Inventory wait for the server.
type Connection struct {
	server Server
	opts   Options
	log    *slog.Logger
	auth   *authorization // nil if the server needs none

	ctx      context.Context // done when the connection is closed
	cancel   context.CancelFunc
	begin    sync.Once
	done     chan struct{}
	attempts attempts
	modern   bool // the next attempt begins with the newest revision; only the goroutine of run uses it

	lists sync.Mutex // is held while a list of tools is taken in

	askers askers

	mu      sync.Mutex
	state   connState
	moved   chan struct{} // closed when the state changes
	session *session      // if the state is up
	tools   []awaken.Tool // sorted by id
	listed  map[string]*listing
	caps    *sdk.ServerCapabilities // of the last session
	health  health
}

// connState is what a connection does.
type connState uint8

const (
	idle    connState = iota // not started
	opening                  // connecting
	up                       // connected
	waiting                  // to connect again
	failed                   // for good, unless it is restarted
	closed
)

// health counts the attempts to connect.
type health struct {
	err         error // of the last attempt or connection
	failures    int   // in a row
	attempted   time.Time
	next        time.Time // when the next attempt is made, if the state is waiting
	succeeded   time.Time // the last time that the server answered
	initialized time.Time
	sessions    int // that were opened
}

// Connect returns a connection to a server. Start opens it.
func Connect(s Server, o Options) (*Connection, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if o.Client == nil {
		o.Client = guarded()
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Pins == nil {
		o.Pins = &memoryPins{}
	}
	if s.OAuth != nil && o.OAuth == nil {
		return nil, fmt.Errorf("MCP server %q: OAuth is set, but Options.OAuth is nil", s.ID)
	}
	c := newConnection(s.withDefaults(), o)
	c.auth = newAuthorization(c)
	return c, nil
}

// newConnection returns a connection to a server with all its defaults.
func newConnection(s Server, o Options) *Connection {
	c := &Connection{server: s, opts: o, log: o.Logger.With("mcp_server", s.ID),
		done: make(chan struct{}), attempts: newAttempts(), moved: make(chan struct{}), modern: true}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Start begins to connect, in the background. Calling it again does nothing.
func (c *Connection) Start() {
	c.begin.Do(func() {
		c.enter(opening)
		if c.hub() {
			go c.serveUsers()
		} else {
			go c.run()
		}
	})
}

// Drain refuses further calls and waits for calls in flight, at most for the timeout of a call. It is meant for a connection that is being
// replaced.
func (c *Connection) Drain() {
	c.mu.Lock()
	s := c.session
	c.move(closed)
	c.mu.Unlock()
	for end := time.Now().Add(c.server.Timeout); c.hub() && c.auth.anyBusy() && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	for end := time.Now().Add(c.server.Timeout); s != nil && s.busy() && time.Now().Before(end); {
		select {
		case <-s.lost:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Close closes the connection and ends its program, if any.
func (c *Connection) Close() error {
	c.cancel()
	c.begin.Do(func() { close(c.done) }) // it was never started
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(closed)
	c.tools, c.listed = nil, nil
	return nil
}

// enter changes the state.
func (c *Connection) enter(s connState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(s)
}

// move changes the state. It requires c.mu.
func (c *Connection) move(s connState) {
	if c.state != closed {
		c.state = s
		close(c.moved)
		c.moved = make(chan struct{})
	}
}

// run opens sessions, one after the other, until the connection is closed or fails for good.
func (c *Connection) run() {
	defer close(c.done)
	failures := 0
	var asked chan error // by a restart that waits for the attempt
	for {
		s, err := c.open()
		if asked != nil {
			asked <- err
			asked = nil
		}
		if err == nil {
			opened := time.Now()
			asked, err = c.attend(s)
			c.mu.Lock()
			c.session = nil
			c.mu.Unlock()
			s.close(err)
			if time.Since(opened) >= c.server.stable() {
				failures = 0
			}
		}
		if c.ctx.Err() != nil {
			return
		}
		if asked != nil {
			failures = 0
			continue
		}
		failures++
		delay, again := c.server.Restart.after(failures)
		if e := c.auth.needed(); e != nil { // the shared authorization may come from any process; a user's makes another connection
			err, delay, again = e, c.server.Restart.MaxDelay, c.auth.home == nil
		}
		c.fail(err, failures, delay, again)
		if asked = c.attempts.pause(c.ctx, delay, again); asked != nil {
			failures = 0
		}
		if c.ctx.Err() != nil {
			return
		}
	}
}

// open makes an attempt to connect.
func (c *Connection) open() (*session, error) {
	c.mu.Lock()
	c.health.attempted = time.Now()
	c.move(opening)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, c.server.OpenTimeout)
	defer cancel()
	revision := newest
	if !c.modern {
		revision = legacy
	}
	s, err := c.connect(ctx, revision)
	if err != nil {
		if errors.Is(err, errSilent) { // perhaps it ignores what it does not know
			c.modern = !c.modern
		}
		return nil, err
	}
	c.mu.Lock()
	c.caps = s.InitializeResult().Capabilities
	c.mu.Unlock()
	go s.askForLogs()
	if err := c.refresh(ctx, s); err != nil {
		s.close(errClosed)
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	c.health.err, c.health.failures = nil, 0
	c.health.initialized = time.Now()
	c.health.sessions++
	c.move(up)
	c.log.Info("connected to an MCP server", "tools", len(c.tools))
	return s, nil
}

const (
	// relistEvery is the least time between two lists that the server asks for.
	relistEvery = 100 * time.Millisecond
	// maxMisses is how many refreshes in a row may fail before the session is given up.
	maxMisses = 3
)

// attend keeps the list of tools up to date, until the session ends. It returns why it ended, and the
// restart if one was asked for.
func (c *Connection) attend(s *session) (asked chan error, err error) {
	var ticks <-chan time.Time
	if c.server.Refresh > 0 {
		t := time.NewTicker(c.server.Refresh)
		defer t.Stop()
		ticks = t.C
	}
	relist := s.relist
	var rest <-chan time.Time
	for misses := 0; ; {
		select {
		case <-c.ctx.Done():
			return nil, errClosed
		case asked := <-c.attempts.restarts:
			return asked, errRestart
		case <-s.lost:
			return nil, s.cause
		case <-rest:
			relist, rest = s.relist, nil
			continue
		case <-relist:
			relist, rest = nil, time.After(relistEvery)
		case <-ticks:
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.server.OpenTimeout)
		err := c.refresh(ctx, s)
		cancel()
		if err == nil {
			misses = 0
			continue
		}
		c.log.Warn("cannot refresh the tools of an MCP server", "error", c.server.hide(err.Error()))
		if misses++; misses == maxMisses {
			return nil, err
		}
	}
}

// refresh lists the tools of the server and takes in what has changed.
func (c *Connection) refresh(ctx context.Context, s *session) error {
	list, err := s.list(ctx)
	if err != nil {
		return err
	}
	return c.take(ctx, list)
}

// take makes a list of tools the connection's.
func (c *Connection) take(ctx context.Context, list []*sdk.Tool) error {
	if c.auth != nil && c.auth.home != nil {
		c.mu.Lock()
		caps := c.caps
		c.mu.Unlock()
		return c.auth.home.learn(ctx, caps, list)
	}
	c.lists.Lock()
	defer c.lists.Unlock()
	return c.adopt(ctx, list)
}

// adopt is take for a caller that holds c.lists.
func (c *Connection) adopt(ctx context.Context, list []*sdk.Tool) error {
	listed, tools, err := c.examine(ctx, list)
	if err != nil {
		return err
	}
	c.mu.Lock()
	same := slices.EqualFunc(c.tools, tools, sameTool)
	if !same {
		c.tools = tools
	}
	c.listed = listed
	c.health.succeeded = time.Now()
	c.mu.Unlock()
	if !same {
		c.opts.Changed()
	}
	return nil
}

// fail records that an attempt or a session has failed.
func (c *Connection) fail(err error, failures int, delay time.Duration, again bool) {
	text := c.server.hide(err.Error())
	c.mu.Lock()
	c.health.err, c.health.failures, c.health.next = errors.New(text), failures, time.Now().Add(delay)
	if needed, ok := errors.AsType[*oauth.Needed](err); ok {
		c.health.err = needed
	}
	c.move(waiting)
	lost := false
	if !again {
		c.move(failed)
		lost = len(c.tools) > 0
		c.tools, c.listed = nil, nil
	}
	c.mu.Unlock()
	c.log.Warn("the connection to an MCP server failed", "error", text, "failures", failures, "again", again)
	if lost {
		c.opts.Changed()
	}
}

// Restart reconnects, with a new program if the server is one, and returns when that has succeeded or failed.
func (c *Connection) Restart(ctx context.Context) error {
	c.Start()
	asked := make(chan error, 1)
	select {
	case c.attempts.restarts <- asked:
	case <-c.done:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-asked:
		if err != nil {
			return errors.New(c.server.hide(err.Error()))
		}
		return nil
	case <-c.done:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ready waits for a connection attempt that is in progress or due within seconds. It returns nil if the connection is open.
func (c *Connection) Ready(ctx context.Context) error {
	_, err := c.acquire(ctx)
	if errors.Is(err, errPerUser) {
		return nil
	}
	return err
}

// maxWait is how long a call waits for a server that is about to be connected again.
const maxWait = 5 * time.Second

// acquire returns the open session. It waits while one is being opened or soon will be, and fails if the
// connection is down. If the next attempt is far off, it is made now.
func (c *Connection) acquire(ctx context.Context) (*session, error) {
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	deadline := time.Now().Add(maxWait)
	for hurried := false; ; {
		c.mu.Lock()
		state, s, moved, h := c.state, c.session, c.moved, c.health
		far := state == waiting && h.next.After(deadline)
		if far && !hurried {
			if hurried = time.Since(h.attempted) >= c.server.Restart.Delay; hurried {
				c.attempts.hurry()
			}
			far = !hurried
		}
		c.mu.Unlock()
		switch {
		case state == up && s != nil && !s.over():
			return s, nil
		case state == up && c.hub():
			return nil, fmt.Errorf("MCP server %q: %w", c.server.ID, errPerUser)
		case far:
			return nil, c.downError(h.err, "the next attempt to connect is made in "+time.Until(h.next).Round(time.Second).String())
		case state == failed:
			return nil, c.downError(h.err, "it is not tried again before a restart")
		case state == closed:
			return nil, c.downError(errClosed, "its configuration has changed")
		case state == idle:
			return nil, c.downError(errClosed, "it was not started")
		}
		over := timer.C
		if h.err == nil { // the first attempt may take as long as a server takes to start
			over = nil
		}
		select {
		case <-moved:
		case <-over:
			return nil, c.downError(h.err, "an attempt to connect is being made")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// downError says why a server cannot be called, and that nothing was.
func (c *Connection) downError(err error, then string) error {
	return fmt.Errorf("MCP server %q is down, so the call was not made: %w (%s)", c.server.ID, err, then)
}

// Known reports whether the tools of the server are known: the server has listed them, and the connection has not failed permanently.
func (c *Connection) Known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.listed) > 0 && len(c.tools) > 0 || c.state == up && !c.hub()
}

// Tools returns the tools that the server listed last, without held tools. They remain while a lost connection is re-established, but their
// calls fail. There are no tools before the first connection, and after the connection has failed permanently.
func (c *Connection) Tools() []awaken.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.tools)
}
