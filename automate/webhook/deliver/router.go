package deliver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/internal/due"
	"github.com/awaken-go/awaken/internal/ids"
)

// Sealer encrypts secrets. The name binds a secret to its place: a secret sealed under one name must not open under another.
type Sealer interface {
	Seal(name string, plain []byte) ([]byte, error)
	Open(name string, sealed []byte) ([]byte, error)
}

// ErrSeal reports that the secret of an endpoint or a hook could not be encrypted and was not stored.
var ErrSeal = errors.New("the secret of the endpoint cannot be encrypted")

// RouterConfig configures a Router.
type RouterConfig struct {
	Endpoints webhook.EndpointStore
	Hooks     webhook.Store
	Changes   changelog.Store
	Sealer    Sealer

	Poll  time.Duration // how often to look for endpoints without a lease; default 2 seconds
	Lease time.Duration // of a process on an endpoint; default 30 seconds

	Logger *slog.Logger // nil discards
}

// Router creates hooks for the runs that endpoints select. It is safe for concurrent use.
//
// One process at a time holds the lease on an endpoint. It follows the changelog of the tenant and stores its position. If the process
// dies, another one continues from that position. Creating a hook is idempotent, so each run has one hook for each endpoint that selects
// it.
type Router struct {
	cfg  RouterConfig
	feed *changelog.Feed
	name string
	loop *due.Loop

	mu     sync.Mutex
	sender *Sender
}

// NewRouter returns a router without a sender; see [Router.Use].
func NewRouter(cfg RouterConfig) (*Router, error) {
	if cfg.Endpoints == nil || cfg.Hooks == nil || cfg.Changes == nil || cfg.Sealer == nil {
		return nil, errors.New("deliver: Endpoints, Hooks, Changes or Sealer of RouterConfig is nil")
	}
	cfg.Poll, cfg.Lease, cfg.Logger = cmp.Or(cfg.Poll, 2*time.Second), cmp.Or(cfg.Lease, 30*time.Second), cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return &Router{cfg: cfg, name: ids.New(), loop: due.NewLoop(cfg.Poll), feed: changelog.NewFeed(changelog.FeedConfig{Store: cfg.Changes, Logger: cfg.Logger})}, nil
}

// Use sets the sender that delivers the hooks, whose [Config.Endpoints] is the router.
func (r *Router) Use(s *Sender) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sender = s
}

// Sender returns the sender.
func (r *Router) Sender() *Sender {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sender
}

// HookID returns the ID of the hooks that the router creates for an endpoint.
func HookID(e *webhook.Endpoint) string {
	if e.State.Seed == "" { // of the version before
		return "endpoint." + e.ID
	}
	return "endpoint." + e.ID + "." + e.State.Seed
}

// secretName returns the name that the secret of an endpoint is sealed under.
func secretName(e *webhook.Endpoint) string {
	return fmt.Sprintf("webhook endpoint %q %q", e.Tenant, e.ID)
}

// Add stores a new endpoint, which receives events from now on, and returns its signing secret. The error is awaken.ErrConflict if the ID
// is in use.
func (r *Router) Add(ctx context.Context, e *webhook.Endpoint) (awaken.Secret, error) {
	end, err := r.cfg.Changes.Horizon(ctx)
	if err != nil {
		return awaken.Secret{}, err
	}
	e.State = webhook.EndpointState{Seed: ids.New(), After: end, Edits: 1}
	secret, err := r.newSecret(e)
	if err != nil {
		return awaken.Secret{}, err
	}
	e.Revision = 0
	rouse(e)
	switch made, err := r.cfg.Endpoints.Swap(ctx, e); {
	case err != nil:
		return awaken.Secret{}, err
	case !made:
		return awaken.Secret{}, fmt.Errorf("%w: there is an endpoint with the id %q", awaken.ErrConflict, e.ID)
	}
	e.Revision++
	r.loop.Wake()
	return secret, nil
}

// newSecret gives an endpoint a new secret.
func (r *Router) newSecret(e *webhook.Endpoint) (awaken.Secret, error) {
	secret := webhook.NewSecret()
	sealed, err := r.cfg.Sealer.Seal(secretName(e), []byte(secret))
	if err != nil {
		return awaken.Secret{}, fmt.Errorf("%w: %w", ErrSeal, err)
	}
	e.State.Secret = sealed
	return awaken.NewSecret(secret), nil
}

// Change updates an endpoint. It calls change again if another process updates the endpoint concurrently. An endpoint that was paused
// receives the events of runs that change from now on.
func (r *Router) Change(ctx context.Context, tenant, id string, change func(e *webhook.Endpoint) error) (*webhook.Endpoint, error) {
	for range 20 {
		e, err := r.cfg.Endpoints.Get(ctx, tenant, id)
		if err != nil {
			return nil, err
		}
		paused := e.Spec.Paused
		if err := change(e); err != nil {
			return nil, err
		}
		if paused && !e.Spec.Paused {
			if e.State.After, err = r.cfg.Changes.Horizon(ctx); err != nil {
				return nil, err
			}
			e.State.Check = 0
		}
		e.State.Edits++
		e.State.Holder = "" // the selection may have changed
		rouse(e)
		if done, err := r.cfg.Endpoints.Swap(ctx, e); err != nil {
			return nil, err
		} else if done {
			e.Revision++
			r.loop.Wake()
			return e, nil
		}
	}
	return nil, fmt.Errorf("%w: endpoint %q is being changed", awaken.ErrConflict, id)
}

// rouse makes an endpoint free for any process, unless it is paused.
func rouse(e *webhook.Endpoint) {
	if e.Due = time.UnixMilli(1).UTC(); e.Spec.Paused {
		e.Due = time.Time{}
	}
}

// former is how long a replaced secret continues to sign messages.
const former = 24 * time.Hour

// Rotate replaces the secret of an endpoint and returns the new one. For 24 hours, both secrets sign messages.
func (r *Router) Rotate(ctx context.Context, tenant, id string) (secret awaken.Secret, e *webhook.Endpoint, err error) {
	e, err = r.Change(ctx, tenant, id, func(e *webhook.Endpoint) (err error) {
		e.State.Former, e.State.FormerUntil = e.State.Secret, time.Now().Add(former).UTC()
		secret, err = r.newSecret(e)
		return err
	})
	return secret, e, err
}

// Target implements [Endpoints].
func (r *Router) Target(ctx context.Context, h *webhook.Hook) (*webhook.Target, error) {
	e, err := r.cfg.Endpoints.Get(ctx, h.Tenant, h.Endpoint)
	switch {
	case err != nil:
		return nil, err
	case HookID(e) != h.ID:
		return nil, fmt.Errorf("endpoint %q is another one: %w", e.ID, awaken.ErrNotFound)
	case e.Spec.Paused:
		return nil, ErrPaused
	}
	return r.TargetOf(e)
}

// TargetOf returns the target of an endpoint with its secrets, even if the endpoint is paused.
func (r *Router) TargetOf(e *webhook.Endpoint) (*webhook.Target, error) {
	secret, err := r.cfg.Sealer.Open(secretName(e), e.State.Secret)
	if err != nil {
		return nil, err
	}
	to := &webhook.Target{URL: e.Spec.URL, Secret: string(secret)}
	if e.State.Former != nil && time.Now().Before(e.State.FormerUntil) {
		before, err := r.cfg.Sealer.Open(secretName(e), e.State.Former)
		if err != nil {
			return nil, err
		}
		to.Former = string(before)
	}
	return to, nil
}

// Gone implements [Endpoints]. It pauses the endpoint, unless its URL has changed.
func (r *Router) Gone(ctx context.Context, h *webhook.Hook, url string) error {
	_, err := r.Change(ctx, h.Tenant, h.Endpoint, func(e *webhook.Endpoint) error {
		if HookID(e) != h.ID || e.Spec.URL != url {
			return awaken.ErrNotFound
		}
		e.Spec.Paused, e.State.Paused = true, "the receiver answered 410: it wants no more messages"
		return nil
	})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil
	}
	return err
}

// Work creates hooks until ctx is done.
func (r *Router) Work(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	r.loop.Work(ctx, func(ctx context.Context) (more bool) {
		free, now, err := r.cfg.Endpoints.Due(ctx, freeAtOnce)
		r.warn(ctx, "cannot look for endpoints", err)
		clock := due.ClockAt(now)
		for _, e := range free {
			f := &follower{r: r, e: e, clock: clock}
			if e.State.Holder = r.name; f.keep(ctx) {
				wg.Go(func() { f.follow(ctx) })
			}
		}
		return false
	})
}

// freeAtOnce is the number of endpoints read per query.
const freeAtOnce = 100

func (r *Router) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		r.cfg.Logger.Warn(what, "error", err)
	}
}

// follower follows the changelog for an endpoint that this process holds.
type follower struct {
	r     *Router
	e     *webhook.Endpoint
	clock due.Clock // of the store
	kept  time.Time
}

// keep renews the lease and stores the position. It reports false if another process has changed the endpoint.
func (f *follower) keep(ctx context.Context) bool {
	f.kept = time.Now()
	f.e.Due = f.clock.Now().Add(f.r.cfg.Lease)
	done, err := f.r.cfg.Endpoints.Swap(ctx, f.e)
	f.r.warn(ctx, "cannot store an endpoint", err)
	if done && err == nil {
		f.e.Revision++
	}
	return done && err == nil
}

// follow creates hooks until the endpoint is changed or ctx is done. If ctx is done, it releases the endpoint.
func (f *follower) follow(ctx context.Context) {
	defer func() {
		if ctx.Err() != nil {
			last := context.WithoutCancel(ctx)
			f.e.State.Holder = ""
			rouse(f.e)
			_, _ = f.r.cfg.Endpoints.Swap(last, f.e) // otherwise the lease ends
		}
	}()
	reader, err := f.open(ctx)
	if err != nil {
		f.r.warn(ctx, "cannot read the log of changes for an endpoint", err)
		return
	}
	defer reader.Close()
	for ctx.Err() == nil {
		wait, cancel := context.WithDeadline(ctx, f.kept.Add(f.r.cfg.Lease/3))
		items, err := reader.Next(wait)
		due := wait.Err() != nil // to keep the endpoint
		cancel()
		if err != nil && !due {
			f.r.warn(ctx, "cannot read the log of changes for an endpoint", err)
			return // the lease ends, and it is opened again
		}
		for _, it := range items {
			if err := f.tell(ctx, &it.Change); errors.Is(err, errChanged) {
				return
			} else if err != nil {
				f.r.warn(ctx, "cannot make a hook", err)
				return
			}
		}
		p := reader.Position()
		f.e.State.After, f.e.State.Check = p.Pos, p.Check
		if time.Since(f.kept) >= f.r.cfg.Lease/3 && ctx.Err() == nil && !f.keep(ctx) {
			return
		}
	}
}

// open opens the changelog at the endpoint's position. If the changelog no longer has the position, open starts at its end and records the
// loss in the endpoint.
func (f *follower) open(ctx context.Context) (*changelog.Reader, error) {
	s := &f.e.State
	reader, err := f.r.feed.Follow(ctx, f.e.Tenant, changelog.Position{Pos: s.After, Check: s.Check})
	if !errors.Is(err, changelog.ErrGone) {
		return reader, err
	}
	s.Lost = fmt.Sprintf("what happened before %s may not have been told: the log of changes did not have it any more", time.Now().UTC().Format(time.RFC3339))
	f.r.cfg.Logger.Warn("an endpoint was behind the log of changes", "tenant", f.e.Tenant, "endpoint", f.e.ID)
	return f.r.feed.Follow(ctx, f.e.Tenant, changelog.Now)
}

// errChanged reports that the endpoint was changed; another follower continues with its new state.
var errChanged = errors.New("the endpoint was changed")

// tell creates the hook for a run that has changed, or wakes the existing one.
func (f *follower) tell(ctx context.Context, c *changelog.Change) error {
	if c.Kind != changelog.Run || c.Run == nil || !f.e.Spec.Selects(c.Run) {
		return nil
	}
	wanted := map[awaken.RunStatus][]webhook.Event{awaken.RunRunning: {webhook.RunStarted, webhook.RunResumed}, awaken.RunWaiting: {webhook.RunWaiting}, awaken.RunDone: {webhook.RunFinished}}
	any := false
	for _, e := range wanted[awaken.RunStatus(c.Status)] {
		any = any || f.e.Spec.Wants(e)
	}
	if !any && c.Status != string(awaken.RunDone) {
		return nil
	}
	h := &webhook.Hook{Tenant: f.e.Tenant, RunID: c.RunID, ID: HookID(f.e), State: webhook.State{Kind: RunKind, Endpoint: f.e.ID, Events: f.e.Spec.Events}}
	if any {
		if now, err := f.r.cfg.Endpoints.Get(ctx, f.e.Tenant, f.e.ID); errors.Is(err, awaken.ErrNotFound) || err == nil && now.Revision != f.e.Revision {
			return errChanged
		} else if err != nil {
			return err
		}
		made, err := f.r.cfg.Hooks.SwapHook(ctx, h)
		if err != nil {
			return err
		}
		if made {
			f.r.Sender().loop.Wake()
			return nil
		}
	}
	return f.r.Sender().Wake(ctx, f.e.Tenant, c.RunID)
}

// TestEvent is the message of a test.
type TestEvent struct {
	Type      string            `json:"type"` // webhook.test
	Timestamp time.Time         `json:"timestamp"`
	Data      map[string]string `json:"data"`
}

// Test sends a test message to an endpoint, without retries, and returns the attempt.
func (r *Router) Test(ctx context.Context, tenant, id string) (*webhook.Attempt, error) {
	e, err := r.cfg.Endpoints.Get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	to, err := r.TargetOf(e)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(TestEvent{"webhook.test", time.Now().UTC(), map[string]string{"endpoint_id": id}})
	if err != nil {
		return nil, err
	}
	a := r.Sender().Ping(ctx, to, body, "application/json")
	return &a, nil
}
