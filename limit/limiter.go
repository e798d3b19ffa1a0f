package limit

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
)

// Config configures a [Limiter]. The zero Config is ready for use.
type Config struct {
	// Store holds the buckets that processes share. If nil, limits apply to this process alone.
	Store Store
	// Waited, if set, is called when a request has waited. It must not block.
	Waited func(w Waited)
	Logger *slog.Logger // nil discards
}

// Waited describes the wait of a request.
type Waited struct {
	Provider, Model, Tenant string
	Background              bool
	For                     time.Duration
	Sent                    bool // otherwise its context ended, or the provider's pause was too long
}

// Limiter keeps the requests of a fleet within the limits of its providers. It is safe for concurrent use. Close it to return its claims.
type Limiter struct {
	cfg  Config
	self string // identifies the process

	mu       sync.Mutex
	accounts map[string]*account
	closed   bool
	worked   time.Time       // when the store last answered
	failing  time.Time       // since when it fails or does not answer; zero if it works
	ctx      context.Context // of the rounds
	stop     context.CancelFunc
	rounds   sync.WaitGroup
}

// New returns a limiter without limits.
func New(c Config) *Limiter {
	c.Store = cmp.Or[Store](c.Store, &Memory{})
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	l := &Limiter{cfg: c, self: ids.New(), accounts: map[string]*account{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Set sets the limits of a provider immediately, also for requests that already wait. Nil removes the configured limits.
func (l *Limiter) Set(provider string, r *llm.RateLimits) {
	if r == nil {
		r = &llm.RateLimits{}
	}
	l.account(provider).set(r)
}

// Model wraps m, the model client of a provider, with the provider's limits.
func (l *Limiter) Model(provider string, m llm.Model) llm.Model {
	own := &model{m, l.account(provider)}
	if list, ok := m.(llm.Lister); ok {
		return struct {
			*model
			llm.Lister
		}{own, list}
	}
	return own
}

// Close returns the claims of this process. Waiting requests are not sent; they wait until their context ends.
func (l *Limiter) Close() {
	l.mu.Lock()
	l.closed = true
	accounts := slices.Collect(maps.Values(l.accounts))
	l.mu.Unlock()
	l.stop()
	l.rounds.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), roundTime)
	defer cancel()
	for _, a := range accounts {
		a.giveBack(ctx)
	}
}

func (l *Limiter) account(provider string) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[provider]
	if a == nil {
		a = &account{limiter: l, provider: provider, limits: &llm.RateLimits{}, scopes: map[string]*scope{}, kick: make(chan struct{}, 1)}
		l.accounts[provider] = a
	}
	return a
}

// begin starts the rounds of an account, unless the limiter is closed.
func (l *Limiter) begin(rounds func(ctx context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.rounds.Go(func() { rounds(l.ctx) })
	return true
}

// visited notes whether the store answered a visit that began at a time, and logs when that changes: once
// for an outage, however many requests it delays and however long it lasts.
func (l *Limiter) visited(began time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if err == nil {
		l.worked = now
	}
	switch {
	case err != nil && l.failing.IsZero() && began.After(l.worked): // otherwise it has answered another since
		l.failing = now
		l.cfg.Logger.Warn("cannot share the rate limits of providers; requests beyond the share of this process wait for the store", "error", err)
	case err == nil && !l.failing.IsZero():
		l.cfg.Logger.Info("the rate limits of providers are shared again", "after", now.Sub(l.failing))
		l.failing = time.Time{}
	}
}

// away reports whether the store fails or does not answer.
func (l *Limiter) away() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.failing.IsZero()
}

// bucketName returns the name of a bucket of a provider: of the whole account, of a model or of a
// tenant.
func bucketName(provider string, k kind, of string) string {
	return url.PathEscape(provider) + "/" + string(k) + "/" + url.PathEscape(of)
}

// Known is a limit that applies to requests of this process.
type Known struct {
	Provider          string
	Model             string  // "" if it is one of all models
	Tenant            *string // nil if it is one of all tenants
	RequestsPerMinute float64 // 0 means none
	TokensPerMinute   float64
	Learned           bool          // the provider's, and not only configured
	Paused            time.Duration // what is left of a pause that the provider asked for
	Waiting           int           // requests of this process
}

// Known returns the limits that this process knows from its last exchanges with the store.
func (l *Limiter) Known() (out []Known) {
	l.mu.Lock()
	accounts := slices.Collect(maps.Values(l.accounts))
	l.mu.Unlock()
	for _, a := range accounts {
		out = append(out, a.known()...)
	}
	return out
}
