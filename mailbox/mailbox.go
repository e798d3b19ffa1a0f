package mailbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/profile"
)

// Config is what a Mailbox is made of, beside a runtime. Queue is needed; everything else
// has a useful zero value.
type Config struct {
	Queue Queue
	// Profile returns the profile of a tenant; nil leaves every tenant that of the runtime.
	Profile func(tenant string) profile.Store
	// Log bounds what readers of events cost.
	Log eventlog.Options
	// Sink returns what gets the events of a tenant's run, beside its log.
	Sink     func(tenant string) awaken.Sink
	Observer Observer

	Consumer    string        // names this process; default host, process id and a random part
	Concurrency int           // runs at the same time; default 256
	Lease       time.Duration // default 30 seconds
	Renew       time.Duration // how often leases are renewed; default a third of Lease
	Poll        time.Duration // how often the queue is asked without a reason; default 1 second
	Sweep       time.Duration // how often expired leases are looked for, at most; a quarter of Lease if that is less; default 30 seconds
	GC          time.Duration // how often dispatches that are over are purged; default 1 minute
	TTL         time.Duration // how long they are kept; default 24 hours
	MaxAttempts int           // default 5
	// RetryDelay is how long after its first failure a dispatch is tried again; default 250
	// milliseconds. It doubles with every further failure, up to MaxRetryDelay; default 30 seconds.
	RetryDelay, MaxRetryDelay time.Duration
	Startup                   Startup
	Drain                     time.Duration // how long runs may go on to the end of their step when Work ends; default 30 seconds

	// Maintained, if not nil, is called after each round of maintenance, one at a time. The
	// next round waits until it returns.
	Maintained func(Maintenance)

	Logger *slog.Logger  // nil discards
	NewID  func() string // nil is UUIDv7
}

// Startup is how [Mailbox.Work] begins: it takes over what lost workers held, before it claims
// anything.
type Startup struct {
	Delay    time.Duration // before that; default none
	Attempts int           // how often it is tried before Work returns the error; default once
	Retry    time.Duration // between two attempts; default 250 milliseconds
}

// Maintenance is what a round of maintenance did.
type Maintenance struct {
	Reclaimed int   // dispatches whose lease had expired, and that are queued again
	Purged    int   // dispatches that were over for longer than TTL, and are removed
	Err       error // what went wrong, or nil
}

// Observer is told what a mailbox does, to count it. Its methods must return at once.
type Observer interface {
	// Claimed says that a worker took a dispatch that had been available for so long.
	Claimed(d *Dispatch, waited time.Duration)
	// Settled says that a worker is done with a dispatch.
	Settled(d *Dispatch, status Status, took time.Duration)
	// Operated says how an operation of the queue went.
	Operated(operation string, took time.Duration, err error)
}

// Mailbox accepts runs and works on them. It is safe for concurrent use.
type Mailbox struct {
	cfg   Config
	with  func(store awaken.Store, values profile.Store, queue awaken.Queue) Runtime
	poked chan struct{} // cap 1: something may be claimable
	check chan struct{} // cap 1: a claim may have been cancelled

	mu      sync.Mutex
	tenants map[string]*Tenant
	working map[string]*work // dispatch ID -> what this process does
}

// New returns a mailbox. It accepts runs at once, and works on them in [Mailbox.Work]. With
// makes the runtime of a tenant: its runs are kept in that store, those that nobody waits for
// go to that queue, and its values are in that profile, or where the runtime has them anyway
// if the profile is nil. It is called once for each tenant.
func New[R Runtime](cfg Config, with func(store awaken.Store, values profile.Store, queue awaken.Queue) R) (*Mailbox, error) {
	if cfg.Queue == nil || with == nil {
		return nil, errors.New("mailbox: Config.Queue and the function that makes runtimes are required")
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Mailbox{cfg: cfg, poked: make(chan struct{}, 1), check: make(chan struct{}, 1),
		with:    func(s awaken.Store, p profile.Store, q awaken.Queue) Runtime { return with(s, p, q) },
		tenants: map[string]*Tenant{}, working: map[string]*work{}}, nil
}

// complete fills in the defaults, and says what is wrong with the rest.
func (cfg *Config) complete() error {
	setDefault(&cfg.Concurrency, 256)
	setDefault(&cfg.Lease, 30*time.Second)
	setDefault(&cfg.Renew, cfg.Lease/3)
	setDefault(&cfg.Poll, time.Second)
	setDefault(&cfg.GC, time.Minute)
	setDefault(&cfg.TTL, 24*time.Hour)
	setDefault(&cfg.MaxAttempts, 5)
	setDefault(&cfg.Sweep, 30*time.Second)
	setDefault(&cfg.RetryDelay, 250*time.Millisecond)
	setDefault(&cfg.MaxRetryDelay, 30*time.Second)
	setDefault(&cfg.Startup.Attempts, 1)
	setDefault(&cfg.Startup.Retry, 250*time.Millisecond)
	setDefault(&cfg.Drain, 30*time.Second)
	cfg.Sweep = min(cfg.Sweep, max(cfg.Lease/4, time.Millisecond))
	if cfg.Renew >= cfg.Lease {
		return fmt.Errorf("mailbox: Renew is %s, want less than Lease, which is %s", cfg.Renew, cfg.Lease)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.NewID == nil {
		cfg.NewID = ids.New
	}
	if cfg.Observer == nil {
		cfg.Observer = unobserved{}
	}
	if cfg.Consumer == "" {
		host, _ := os.Hostname()
		cfg.Consumer = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), cfg.NewID())
	}
	return nil
}

func setDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

type unobserved struct{}

func (unobserved) Claimed(*Dispatch, time.Duration)         {}
func (unobserved) Settled(*Dispatch, Status, time.Duration) {}
func (unobserved) Operated(string, time.Duration, error)    {}

// Queue returns what the mailbox works on.
func (b *Mailbox) Queue() Queue { return b.cfg.Queue }

// Active returns how many dispatches this process works on.
func (b *Mailbox) Active() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.working)
}

// Tenant returns a tenant's part of the mailbox.
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
		t = &Tenant{box: b, name: name, Store: h, Log: eventlog.New(h, &b.cfg.Log)}
		t.Runtime = b.with(h, values, t)
		b.tenants[name] = t
	}
	return t
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait waits for d, or until poked. It reports false if ctx is done first.
func wait(ctx context.Context, d time.Duration, poked <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-poked:
	case <-ctx.Done():
		return false
	}
	return true
}
