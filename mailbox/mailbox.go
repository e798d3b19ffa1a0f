package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/state/profile"
)

// Config configures a Mailbox. Only Queue is required; every other field has a useful zero
// value.
type Config struct {
	Queue Queue // the stored queue, such as a *sqlite.DB
	// Profile returns the profile of a tenant. Nil leaves every tenant the runtime's own.
	Profile func(tenant string) profile.Store
	// Log bounds the cost of event readers. Its relay, if any, brings them what other processes
	// do, as it happens.
	Log eventlog.Options
	// Bus tells the processes that run threads of commands that other processes accept, such as
	// cancels and decisions. Without it they find most of them at the next commit, and the rest
	// within Renew.
	Bus *bus.Exchange
	// Sink returns a sink that receives the events of a tenant's runs, in addition to the log.
	// Nil, or a nil sink, adds none.
	Sink     func(tenant string) awaken.Sink
	Observer Observer // nil observes nothing
	// Restoration marks a database that was restored: its unfinished runs wait for [Tenant.Release].
	// The runtime must have the same. Nil: it was not restored.
	Restoration *awaken.Restoration

	Consumer    string        // the worker's name in the queue, to which each process adds a random part; default host and process id
	Concurrency int           // how many runs may be in flight, shared out among the tenants; default 256
	Lease       time.Duration // how long a claim is valid without renewal; default 30 seconds
	Renew       time.Duration // how often to renew leases; default a third of Lease
	// Liveness is how long this process may be silent before other workers take its runs over;
	// default 4 seconds. It sends four heartbeats in that time. A worker that cannot confirm a
	// heartbeat in time abandons its runs: no effect begins after another may own them.
	Liveness    time.Duration
	Poll        time.Duration // how often to poll the queue without a notification; default 1 second
	Sweep       time.Duration // how often to look for dead processes and expired leases; default 30 seconds, and never more than a quarter of Lease or a sixteenth of Liveness
	GC          time.Duration // how often to purge terminal dispatches; default 1 minute
	TTL         time.Duration // how long to keep terminal dispatches; default 24 hours
	Uploads     time.Duration // how long to keep uploaded files that no thread refers to; default 24 hours
	MaxAttempts int           // failures in a row before a dispatch becomes a dead letter; default 5
	// RetryDelay is the delay before the first retry of a dispatch; default 250 milliseconds.
	// It doubles with every further failure, up to MaxRetryDelay; default 30 seconds.
	RetryDelay, MaxRetryDelay time.Duration
	Startup                   Startup       // startup recovery
	Drain                     time.Duration // how long runs may take to finish their step when Work stops; default 30 seconds

	// Maintained, if not nil, is called after each round of maintenance. Calls do not overlap:
	// the next round waits until it returns.
	Maintained func(Maintenance)

	Logger *slog.Logger  // nil discards
	NewID  func() string // nil is UUIDv7
}

// defaultAttempts is how many failures in a row make a dispatch a dead letter by default.
const defaultAttempts = 5

// Startup configures startup recovery: before [Mailbox.Work] claims anything, it reclaims the
// dispatches of lost workers.
type Startup struct {
	Delay    time.Duration // before the first attempt; default none
	Attempts int           // how many attempts before Work returns the error; default 1
	Retry    time.Duration // between two attempts; default 250 milliseconds
}

// Maintenance is the result of a round of maintenance: [Mailbox.Work] regularly reclaims
// dispatches of dead processes and expired leases (Config.Sweep) and purges old ones (Config.GC).
type Maintenance struct {
	Reclaimed int   // dispatches returned to the queue because their process was dead or their lease had expired
	Purged    int   // terminal dispatches removed because they were older than Config.TTL
	Swept     int   // files removed because they were held no more
	Err       error // what failed, or nil
}

// Observer receives what a mailbox does, for metrics. Its methods must return quickly and be
// safe for concurrent use.
type Observer interface {
	// Claimed reports that this worker claimed a dispatch that had been available for waited.
	Claimed(d *Dispatch, waited time.Duration)
	// Settled reports the outcome of a dispatch and how long it was in flight. The status is
	// empty if the claim was lost.
	Settled(d *Dispatch, status Status, took time.Duration)
	// Operated reports a queue operation: submit, claim, suspects, extend_lease, settle, reclaim, purge,
	// sweep_blobs, join, heartbeat or leave.
	Operated(operation string, took time.Duration, err error)
}

// Mailbox accepts runs and processes them. It is safe for concurrent use.
type Mailbox struct {
	cfg    Config
	with   func(store awaken.Store, values profile.Store, queue awaken.Queue) Runtime
	wakeup chan struct{} // cap 1: a dispatch may be claimable
	doubts doubts        // claims to be looked at
	self   process       // this worker, as others know it
	away   atomic.Bool   // leases could not be renewed because of an outage of the store
	kept   atomic.Int64  // slots for what the worker is claiming

	mu        sync.Mutex
	tenants   map[string]*Tenant
	shared    bool                 // there are tenants other than the default one
	inFlight  map[string]*claim    // by dispatch ID
	latest    map[[2]string]*claim // the last one of each thread in flight, by tenant and thread
	crew      *crew                // nil unless this process works
	full      bool                 // the worker waits for room
	isolation isolation            // of suspects
}

// New returns a mailbox. It accepts runs at once and processes them in [Mailbox.Work].
//
// With returns the runtime of a tenant: one that keeps its runs in store, submits background
// runs to queue, and keeps profile values in values, or in its own profile if values is nil. The
// mailbox calls it once per tenant, when the tenant is first used. Most programs pass the method
// With of an engine.Runtime.
func New[R Runtime](cfg Config, with func(store awaken.Store, values profile.Store, queue awaken.Queue) R) (*Mailbox, error) {
	switch {
	case cfg.Queue == nil:
		return nil, errors.New("mailbox: Config.Queue is nil")
	case with == nil:
		return nil, errors.New("mailbox: the function that returns runtimes is nil")
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	b := &Mailbox{cfg: cfg, wakeup: make(chan struct{}, 1), doubts: doubts{news: make(chan struct{}, 1)},
		with:    func(s awaken.Store, p profile.Store, q awaken.Queue) Runtime { return with(s, p, q) },
		tenants: map[string]*Tenant{}, inFlight: map[string]*claim{}, latest: map[[2]string]*claim{}}
	b.self.cfg, b.self.claims, b.self.joined = &b.cfg, b.claims, func() { poke(b.wakeup) }
	b.self.died = make(chan struct{}, 1)
	b.isolation.box = b
	if cfg.Bus != nil {
		cfg.Bus.Listen(commandsPart, commands{b}.heed)
	}
	return b, nil
}

// complete sets the defaults and validates the rest.
func (cfg *Config) complete() error {
	setDefault(&cfg.Concurrency, 256)
	setDefault(&cfg.Lease, 30*time.Second)
	setDefault(&cfg.Renew, cfg.Lease/3)
	setDefault(&cfg.Liveness, 4*time.Second)
	setDefault(&cfg.Poll, time.Second)
	setDefault(&cfg.GC, time.Minute)
	setDefault(&cfg.TTL, 24*time.Hour)
	setDefault(&cfg.Uploads, 24*time.Hour)
	setDefault(&cfg.MaxAttempts, defaultAttempts)
	setDefault(&cfg.Sweep, 30*time.Second)
	setDefault(&cfg.RetryDelay, 250*time.Millisecond)
	setDefault(&cfg.MaxRetryDelay, 30*time.Second)
	setDefault(&cfg.Startup.Attempts, 1)
	setDefault(&cfg.Startup.Retry, 250*time.Millisecond)
	setDefault(&cfg.Drain, 30*time.Second)
	cfg.Sweep = min(cfg.Sweep, max(min(cfg.Lease/4, cfg.Liveness/16), time.Millisecond))
	if cfg.Renew >= cfg.Lease {
		return fmt.Errorf("mailbox: Renew is %s, want less than Lease (%s)", cfg.Renew, cfg.Lease)
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.NewID == nil {
		cfg.NewID = ids.New
	}
	if cfg.Observer == nil {
		cfg.Observer = unobserved{}
	}
	if cfg.Consumer == "" {
		host, _ := os.Hostname()
		cfg.Consumer = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	return nil
}

func setDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// unobserved is the default Observer.
type unobserved struct{}

func (unobserved) Claimed(*Dispatch, time.Duration)         {}
func (unobserved) Settled(*Dispatch, Status, time.Duration) {}
func (unobserved) Operated(string, time.Duration, error)    {}

// Queue returns Config.Queue.
func (b *Mailbox) Queue() Queue { return b.cfg.Queue }

// Probe checks that the store can serve: by a write if the queue is a [Prober], otherwise by a
// read.
func (b *Mailbox) Probe(ctx context.Context) error {
	if p, ok := b.cfg.Queue.(Prober); ok {
		return p.Probe(ctx)
	}
	_, err := b.Tenant("").Store.ListThreads(ctx, awaken.ThreadQuery{Limit: 1})
	return err
}

// Active returns how many dispatches are in flight in this process.
func (b *Mailbox) Active() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.inFlight)
}

// Tenant returns a tenant's view of the mailbox. A tenant exists as soon as it is named; a
// program that serves only one uses "". The same name always returns the same Tenant.
func (b *Mailbox) Tenant(name string) *Tenant {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tenants[name]
	if t == nil {
		h := b.cfg.Queue.Handle(name)
		var values profile.Store
		if b.cfg.Profile != nil {
			values = b.cfg.Profile(name)
		}
		opts := b.cfg.Log
		opts.Tenant = name
		t = &Tenant{box: b, name: name, Store: h, Log: eventlog.New(h, &opts)}
		t.Runtime = b.with(h, values, t)
		b.tenants[name] = t
		b.shared = b.shared || name != ""
	}
	return t
}

// poke signals c, unless a signal is pending.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait waits for d or for a signal on wakeup. It reports false if ctx is done first.
func wait(ctx context.Context, d time.Duration, wakeup <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wakeup:
	case <-ctx.Done():
		return false
	}
	return true
}
