package server

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Wing is a part of a server: the routes of a few nouns, with what they need. The packages below this one are wings; no wing
// knows another one.
type Wing interface {
	// Mount returns the routes of the wing. New calls it once. The wing may keep k for as long as the server exists.
	Mount(k *Kernel) ([]protocol.Route, error)
}

// Worker is a wing with work that no request asks for. Serve calls Work and waits for it to return after ctx is done. A wing
// whose work is runs leaves it alone if [Kernel.ManualMailbox] is set.
type Worker interface {
	Work(ctx context.Context)
}

// Featured is a wing that clients can ask for: GET /v1/session says which features a server has.
type Featured interface {
	// Features returns the names of the features that the wing has as it is configured.
	Features() []string
}

// Composed is a wing whose bodies have parts that the OpenAPI document refers to by name.
type Composed interface {
	// Parts returns a value of the type of each part that clients send, or a OneOf.
	Parts() []any
}

// OneOf is a part that is one of several types, with a value of each.
type OneOf struct {
	Name  string
	Types []any
}

// Assisting is a wing with an admin assistant, the server's own agent, if it has the feature "assistant".
type Assisting interface {
	// Assistant returns the agent of the assistant as it is configured now.
	Assistant(ctx context.Context) (*awaken.AgentSpec, error)
}

// Kernel has the parts of a server that its wings use.
type Kernel struct {
	Mailbox *mailbox.Mailbox
	// ManualMailbox says that another process, or the caller of Serve, works on the mailbox.
	ManualMailbox bool
	Keys          Keys            // nil if no client has one
	Control       *config.Manager // the control plane and its audit log; nil if there is none
	Streams       *Streams
	Serving       context.Context // until Stop
	Logger        *slog.Logger
	NewID         func() string
	// TrustClients and BasePath are as in [Config].
	TrustClients bool
	BasePath     string
	Files        FileLimits
	HideConfig   bool   // the server shows nothing of the control plane
	Version      string // of the program

	Open    bool // clients without a key may run agents
	NoAudit bool // the control plane keeps no audit log

	has     func(feature string) bool
	auth    *auth
	limiter *limiter
}

// Has reports whether a wing of the server has a feature.
func (k *Kernel) Has(feature string) bool { return k.has(feature) }

// Registry returns the registry that new runs use by default.
func (k *Kernel) Registry() *registry.Registry { return RuntimeOf(k.Mailbox.Tenant("")).Registry() }

// Enter makes a request to a route for everyone one of a tenant's, after its handler has found it authentic. Until leave is
// called, it counts among the concurrent requests of the tenant, which are limited.
func (k *Kernel) Enter(req *Request, tenant string) (leave func(), err error) {
	req.Acting, req.tenant = tenant, k.Mailbox.Tenant(tenant)
	if err := k.limiter.requests.take(req.Caller, 1); err != nil {
		return nil, err
	}
	return func() { k.limiter.requests.give(req.Caller, 1) }, nil
}

// CheckGuesses refuses a request whose address has sent too many wrong secrets and must wait.
func (k *Kernel) CheckGuesses(r *http.Request) error { return k.auth.guesses.check(r) }

// CountGuess counts a wrong secret.
func (k *Kernel) CountGuess(r *http.Request) { k.auth.guesses.wrong(r) }

// IsToken reports whether a secret is the token of a user, on a server that accepts such.
func (k *Kernel) IsToken(secret string) bool { return k.auth.users.Tokens != nil && isToken(secret) }

// Identify authenticates the caller of a request to a public route, as a route that needs this permission does.
func (k *Kernel) Identify(r *http.Request, need permit.Permission) (Caller, error) {
	return k.auth.identify(r, need)
}
