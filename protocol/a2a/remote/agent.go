package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// Backend reaches agents on A2A servers. It is safe for concurrent use.
type Backend struct {
	http *http.Client
	now  func() time.Time

	mu      sync.Mutex
	clients map[[32]byte]*client // by the server, so that agents that are resolved again keep its card
}

// maxClients limits how many servers are remembered.
const maxClients = 1024

// New returns a backend. Pass it to a runtime as the backend "a2a".
func New(o Options) *Backend {
	b := &Backend{http: guarded(o), now: o.Now, clients: map[[32]byte]*client{}}
	if b.now == nil {
		b.now = time.Now
	}
	return b
}

// client returns the client of a server.
func (b *Backend) client(s Server) (*client, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(data)
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.clients[key]; c != nil {
		return c, nil
	}
	c, err := newClient(s, b.http, b.now)
	if err != nil {
		return nil, err
	}
	if len(b.clients) >= maxClients {
		clear(b.clients)
	}
	b.clients[key] = c
	return c, nil
}

// Agent implements [registry.RemoteBackend].
func (b *Backend) Agent(spec *awaken.AgentSpec) (registry.RemoteAgent, error) {
	e := spec.Endpoint
	if e == nil && spec.Backend != nil {
		data, err := json.Marshal(spec.Backend.Config)
		if err != nil {
			return nil, err
		}
		e = new(awaken.RemoteEndpoint)
		if err := strict.Unmarshal(data, e); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
	}
	if e == nil {
		return nil, errNoEndpoint
	}
	s, err := readSettings(e.Options)
	if err != nil {
		return nil, err
	}
	if e.TimeoutMS < 0 {
		return nil, errors.New("timeout_ms is negative")
	}
	c, err := b.client(newServer(e, s))
	if err != nil {
		return nil, err
	}
	return &agent{id: spec.ID, client: c, settings: s, timeout: time.Duration(cmp.Or(e.TimeoutMS, 300_000)) * time.Millisecond}, nil
}

// agent is an agent on an A2A server.
type agent struct {
	id       string
	client   *client
	settings *settings
	timeout  time.Duration // of an exchange
}

// Name implements [awaken.Plugin].
func (a *agent) Name() string { return "a2a" }

// Register implements [awaken.Plugin].
func (a *agent) Register(r *awaken.Registrar) error {
	r.Tool(question{})
	r.On(awaken.PhaseRunEnd, a.runEnd)
	return nil
}

// Exchange implements [registry.RemoteAgent].
func (a *agent) Exchange(ctx context.Context, x *registry.Exchange) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		e := &exchange{agent: a, x: x, yield: yield}
		err := e.run(ctx)
		if err != nil && !e.stopped {
			yield(llm.Delta{}, a.failed(ctx, err))
		}
	}
}

// failed returns the error that ends a run. The runtime must not repeat an exchange, so no error says that it may.
func (a *agent) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f, ok := errors.AsType[*Failure](err)
	if _, own := errors.AsType[*taskError](err); !ok && !own {
		return err // of the runtime
	}
	out := &llm.Error{Kind: llm.InvalidRequest, Provider: "agent " + a.id, Message: a.client.hide(err.Error())}
	if ok && (f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden) {
		out.Kind = llm.Unauthorized
	}
	return out
}

// taskError is the error of a task that did not end with an answer, or that this side gave up.
type taskError struct{ text string }

func (e *taskError) Error() string { return e.text }

// runEnd cancels the task of a run that ends before its task does, even if the server has not confirmed the task's message. That
// can be repeated, unlike an effect after the last commit, which a crash would lose.
func (a *agent) runEnd(ctx context.Context, h *awaken.HookCall) error {
	n := readNotes(builtin.RemoteNotes.Get(h)[a.id])
	if n.TaskID == "" && n.Sending == "" || n.State.terminal() || n.Run != h.Run.RunID {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, cancelTime)
	defer stop()
	if at, err := a.client.find(ctx, a.settings); err == nil {
		if n.TaskID == "" {
			n.TaskID = a.taskOf(ctx, at, &n)
		}
		if n.TaskID != "" {
			_ = a.client.cancel(ctx, at, n.TaskID) // the server may be gone; the run ends anyway
		}
	}
	if n.TaskID == "" {
		return nil
	}
	n.State, n.Sending = canceled, "" // a message never continues it
	builtin.WriteRemoteNotes(h, a.id, n.encode())
	return nil
}

// taskOf returns the task of the message that is being sent, or "" if the server does not say.
func (a *agent) taskOf(ctx context.Context, at *place, n *notes) string {
	tasks, err := a.client.list(ctx, at, n.ContextID)
	if err != nil {
		return ""
	}
	for _, t := range tasks {
		if has(t, n.Sending) {
			return t.ID
		}
	}
	return ""
}

var (
	_ registry.RemoteBackend = (*Backend)(nil)
	_ registry.RemoteAgent   = (*agent)(nil)
)
