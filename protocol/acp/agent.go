package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
)

// Config configures the agent's side of a connection.
type Config struct {
	Tenant *mailbox.Tenant // the threads that are sessions, and their queue
	// Catalogue returns the agents and models that a session can have now.
	Catalogue func() Catalogue
	Agent     string // the agent of new sessions; "" means default, or else the first
	// User is the user that sessions belong to. Threads of other users are not sessions. "" means
	// those that belong to no user.
	User string
	// Decided, if set, is told of the records of decisions that the user has made.
	Decided func(made []*awaken.Decided)
	// Connect connects an MCP server that the editor passes with a session. If it is nil, such servers
	// are not used. It must not wait for the server.
	Connect func(s ToolServer) (Toolbox, error)
	Version string        // of the program
	MaxLine int           // bytes of a message; 0 means DefaultMaxLine
	Logger  *slog.Logger  // nil discards
	NewID   func() string // of sessions and messages; nil is UUIDv7
}

// Catalogue lists the agents and models that a session can choose from. A registry.Registry is one.
type Catalogue interface {
	AgentIDs() []string
	Agent(id string) *awaken.AgentSpec // nil if there is none
	Models() []*awaken.ModelSpec
}

// Serve speaks the protocol with one client until the client closes its end or ctx is done. What was
// submitted continues: the process that calls Serve, or another, runs it.
func Serve(ctx context.Context, cfg Config, in io.Reader, out io.Writer) error {
	if _, ok := cfg.Tenant.Store.(awaken.ThreadEditor); !ok {
		return errors.New("acp: the store cannot create and delete threads")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.NewID == nil {
		cfg.NewID = ids.New
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &agent{Config: cfg, Conn: newConn(in, out, cmp.Or(cfg.MaxLine, DefaultMaxLine), cfg.Logger), ctx: ctx,
		sessions: map[string]*session{}, serving: map[*session]bool{}, open: map[string]context.CancelCauseFunc{}}
	read := make(chan error, 1)
	go func() { read <- a.serve() }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done(): // the reader is left behind: a read of a terminal or a pipe cannot be ended
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	cancel(errClosed)
	a.mu.Lock()
	a.gone = true
	a.mu.Unlock()
	a.close()
	a.work.Wait()
	a.mu.Lock()
	left := slices.Collect(maps.Keys(a.serving))
	a.mu.Unlock()
	var ends sync.WaitGroup
	for _, s := range left {
		ends.Go(s.disconnect)
	}
	ends.Wait()
	return err
}

// agent serves one client.
type agent struct {
	Config
	*Conn
	ctx  context.Context // until the client is gone
	work sync.WaitGroup  // requests and turns in progress

	mu          sync.Mutex
	gone        bool // the client is
	initialized bool
	client      clientCapabilities
	clientName  string
	sessions    map[string]*session
	serving     map[*session]bool                  // those with MCP servers, also if they are not in sessions any more
	open        map[string]context.CancelCauseFunc // requests that are not answered yet, by id
}

// maxOpen is how many requests a client may have open.
const maxOpen = 256

// serve answers requests until the client closes the connection.
func (a *agent) serve() error {
	for {
		m, err := a.read()
		if err != nil {
			return err
		}
		if !m.isRequest() {
			if m.Method == methodCancelCall {
				a.cancelRequest(m)
			} else if m.Method == methodCancel {
				a.cancel(m)
			} else if len(m.Method) > 0 && m.Method[0] != '_' && m.Method[0] != '$' {
				a.Logger.Warn("unknown notification", "method", fmt.Sprintf("%.80q", m.Method))
			}
			continue
		}
		a.accept(m)
	}
}

// accept answers a request: at once, or in a goroutine if it takes time.
func (a *agent) accept(m *message) {
	id := string(m.ID)
	ctx, cancel := context.WithCancelCause(a.ctx)
	a.mu.Lock()
	_, twice := a.open[id]
	full := len(a.open) >= maxOpen
	if !twice && !full {
		a.open[id] = cancel
	}
	a.mu.Unlock()
	switch {
	case twice: // with the id, the client would take it for the answer of the other
		cancel(nil)
		a.reply(nil, nil, invalidRequest("id is %s, the id of a pending request", id))
		return
	case full:
		cancel(nil)
		a.reply(m.ID, nil, &Failure{Code: codeInternal, Message: fmt.Sprintf("%d requests are pending, the limit", maxOpen)})
		return
	}
	result, rest, err := a.handle(ctx, m)
	if rest == nil {
		a.answer(m, result, err, cancel)
		return
	}
	a.spawn(func() {
		result, err := rest()
		a.answer(m, result, err, cancel)
	})
}

// spawn calls fn in a goroutine that Serve waits for, unless the client is gone.
func (a *agent) spawn(fn func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.gone {
		a.work.Go(fn)
	}
}

// answer answers a request.
func (a *agent) answer(m *message, result any, err error, cancel context.CancelCauseFunc) {
	cancel(nil)
	a.mu.Lock()
	delete(a.open, string(m.ID))
	a.mu.Unlock()
	var then func()
	if r, ok := result.(*followed); ok {
		result, then = r.result, r.then
	}
	switch {
	case err != nil:
		a.reply(m.ID, nil, failureOf(err, a.Logger))
	default:
		a.reply(m.ID, result, nil)
	}
	if then != nil && err == nil {
		then()
	}
}

// followed is a result after which something else is done.
type followed struct {
	result any
	then   func()
}

// handle handles a request. What it does itself, and its answer, come before the next message is read. The function
// that it returns, if any, does the rest.
func (a *agent) handle(ctx context.Context, m *message) (result any, rest func() (any, error), err error) {
	if m.Method != methodInitialize && !a.ready() {
		return nil, nil, invalidRequest("%.80q comes before initialize", m.Method)
	}
	switch m.Method {
	case methodInitialize:
		result, err = a.initialize(m)
	case methodAuthenticate, "logout":
		err = &Failure{Code: codeMethod, Message: m.Method + ": the agent needs no authentication and advertises no method"}
	case methodNew:
		result, err = a.newSession(ctx, m)
	case methodList:
		result, err = a.list(ctx, m)
	case methodSetMode:
		result, err = a.setMode(ctx, m)
	case methodSetOption:
		result, err = a.setOption(ctx, m)
	case methodLoad, methodResume:
		rest, err = a.openSession(ctx, m)
	case methodClose:
		rest, err = a.closeSession(ctx, m)
	case methodDelete:
		rest, err = a.deleteSession(ctx, m)
	case methodPrompt:
		rest, err = a.prompt(ctx, m)
	default:
		err = &Failure{Code: codeMethod, Message: fmt.Sprintf("method not found: %.80q", m.Method)}
	}
	return result, rest, err
}

func (a *agent) ready() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.initialized
}

// decode decodes the parameters of a request. Unknown fields are those of later versions, and ignored.
func decode(m *message, into any) error {
	if isNull(m.Params) {
		m.Params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(m.Params, into); err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return invalidParams("%s is a JSON %s, want %s", cmp.Or(t.Field, "params"), t.Value, wanted(t))
		}
		return invalidParams("params: %v", err)
	}
	return nil
}

// wanted names the type of a field as JSON does.
func wanted(t *json.UnmarshalTypeError) string {
	switch t.Type.Kind().String() {
	case "string":
		return "a string"
	case "slice":
		return "a list"
	case "bool":
		return "true or false"
	case "int", "int64":
		return "a whole number"
	}
	return "an object"
}

func (a *agent) initialize(m *message) (*initializeResult, error) {
	var p initializeParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	if p.ProtocolVersion == nil {
		return nil, invalidParams("protocolVersion is missing, want a whole number")
	}
	if *p.ProtocolVersion < 0 || *p.ProtocolVersion > 1<<16-1 {
		return nil, invalidParams("protocolVersion is %d, want 0 to 65535", *p.ProtocolVersion)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.initialized, a.client, a.clientName = true, p.Capabilities, ""
	if p.Info != nil {
		a.clientName = fmt.Sprintf("%.80s", cmp.Or(p.Info.Title, p.Info.Name))
	}
	return &initializeResult{ProtocolVersion: Version, AuthMethods: []struct{}{},
		AgentCapabilities: agentCapabilities{LoadSession: true, Prompt: promptCapabilities{Image: true, Audio: true, EmbeddedContext: true}, MCP: mcpCapabilities{HTTP: a.Connect != nil, SSE: a.Connect != nil},
			Session: map[string]empty{"list": {}, "delete": {}, "resume": {}, "close": {}}},
		AgentInfo: implementation{Name: "awaken", Title: "Awaken", Version: cmp.Or(a.Version, "(devel)")}}, nil
}

// capabilities returns what the client can do, and its name.
func (a *agent) capabilities() (clientCapabilities, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client, a.clientName
}

// cancelRequest ends a request that the client does not need any more. A prompt is cancelled as by
// session/cancel.
func (a *agent) cancelRequest(m *message) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if decode(m, &p) != nil {
		return
	}
	a.mu.Lock()
	cancel := a.open[string(p.ID)]
	a.mu.Unlock()
	if cancel != nil {
		cancel(errNotNeeded)
	}
}

// errNotNeeded is the cause with which a client cancels a request.
var errNotNeeded = errors.New("the client cancelled the request")

// cancel ends the prompt of a session.
func (a *agent) cancel(m *message) {
	var p sessionParams
	if err := decode(m, &p); err != nil {
		a.Logger.Warn("session/cancel", "error", err)
		return
	}
	if s := a.session(p.SessionID); s != nil {
		s.cancel()
	}
}

// session returns a session that the connection has begun, or nil.
func (a *agent) session(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}
