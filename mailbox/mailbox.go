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
	"github.com/awaken-go/awaken/llm"
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
	GC          time.Duration // how often dispatches that are over are purged; default 1 minute
	TTL         time.Duration // how long they are kept; default 24 hours
	MaxAttempts int           // default 5
	Drain       time.Duration // how long runs may go on to the end of their step when Work ends; default 30 seconds

	Logger *slog.Logger  // nil discards
	NewID  func() string // nil is UUIDv7
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
		return nil, errors.New("mailbox: Queue and Runtime are needed")
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
	setDefault(&cfg.Drain, 30*time.Second)
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

// Tenant is what one tenant sees of a mailbox: threads, runs and their queue.
type Tenant struct {
	box  *Mailbox
	name string

	Store   Handle
	Runtime Runtime       // runs agents on Store
	Log     *eventlog.Log // what they say
}

// Mode is what new input does to a thread that is not idle.
type Mode string

const (
	// ModeQueue waits until the thread is free. A run that waits for people goes on with it.
	ModeQueue Mode = "queue"
	// ModeSteer gives the input to the run that is going on, or else does as ModeQueue.
	ModeSteer Mode = "live_then_queue"
	// ModeInterrupt ends the run that is going on and everything that is queued.
	ModeInterrupt Mode = "interrupt_then_queue"
	// ModeResume gives the input to the thread's open run, running or waiting, or else
	// does as ModeQueue.
	ModeResume Mode = "resume_open_run"
)

// ParseMode reads a mode. "" is ModeQueue and "steer" is ModeSteer.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return ModeQueue, nil
	case "steer":
		return ModeSteer, nil
	case ModeQueue, ModeSteer, ModeInterrupt, ModeResume:
		return m, nil
	}
	return "", fmt.Errorf("%w: mode is %q, want queue, live_then_queue (or steer), interrupt_then_queue or resume_open_run", awaken.ErrInvalid, s)
}

// Submission is input for a thread.
type Submission struct {
	// Request is what to run. Its ids may be empty. Its decisions go to the thread's
	// open run, and its messages with them.
	Request awaken.RunRequest
	Mode    Mode // "" is ModeQueue
	// Boundary is when a run that is going on takes the messages in.
	Boundary awaken.Boundary

	// Anew ends the run that waits, too, if the mode is ModeInterrupt. Otherwise that run
	// goes on with the input.
	Anew bool

	Priority *int          // nil is DefaultPriority
	Delay    time.Duration // do not start before
	// DedupeKey makes submitting again do nothing while the thread has a live dispatch with
	// this key, unless that one is being cancelled: it returns that dispatch's receipt.
	DedupeKey string
	// IdempotencyKey makes submitting again do nothing: it returns what the first did.
	// Digest stands for what was submitted; with another digest the key is refused.
	IdempotencyKey string
	Digest         string
}

// Receipt says what becomes of a submission.
type Receipt struct {
	ThreadID   string
	RunID      string
	DispatchID string        // "" if a run that is going on takes it
	After      awaken.Cursor // where the thread's log ended: what comes of it comes after
	Busy       bool          // something else has to end first
	Duplicate  bool          // it was submitted before
}

// Submit accepts input. When it returns, the input is stored, and will be worked on.
func (t *Tenant) Submit(ctx context.Context, s Submission) (*Receipt, error) {
	start := time.Now()
	r, err := t.submit(ctx, &s)
	t.box.cfg.Observer.Operated("submit", time.Since(start), err)
	return r, err
}

func (t *Tenant) submit(ctx context.Context, s *Submission) (*Receipt, error) {
	if len(s.Request.Messages) > 0 {
		if err := awaken.CheckInput(s.Request.Messages); err != nil {
			return nil, err
		}
	}
	d, err := t.dispatch(s)
	if err != nil {
		return nil, err
	}
	if s.IdempotencyKey != "" {
		if r, err := t.submitted(ctx, s); r != nil || err != nil {
			return r, err
		}
	}
	if id := s.Request.RunID; id != "" {
		switch old, err := t.Store.LoadRun(ctx, id); {
		case err == nil && old.ThreadID != d.ThreadID:
			return nil, fmt.Errorf("run %s: %w: another thread has it", id, awaken.ErrConflict)
		case err != nil && !errors.Is(err, awaken.ErrNotFound):
			return nil, err
		}
	}
	isNew := s.Request.ThreadID == ""
	if len(s.Request.Decisions) == 0 && (isNew || s.Mode == ModeQueue || s.Mode == "") {
		left, err := t.Store.Enqueue(ctx, d)
		if err != nil {
			return nil, err
		}
		if len(left) == 0 {
			poke(t.box.poked)
			return &Receipt{ThreadID: d.ThreadID, RunID: d.RunID, DispatchID: d.ID, Busy: !isNew}, nil
		}
		if d, err = t.dispatch(s); err != nil { // Enqueue may have filled it in
			return nil, err
		}
	}
	r, err := t.change(ctx, s, d)
	if errors.Is(err, ErrDuplicate) && s.IdempotencyKey != "" {
		if r, err := t.submitted(ctx, s); r != nil || err != nil {
			return r, err
		}
	}
	return r, err
}

// dispatch makes the dispatch of a submission. The ids that it chooses are the
// submission's from then on.
func (t *Tenant) dispatch(s *Submission) (*Dispatch, error) {
	q := &s.Request
	newID := t.box.cfg.NewID
	if q.Continue != "" || q.End != nil || q.Confirm != nil {
		return nil, fmt.Errorf("%w: a submission starts a run or goes to the open one", awaken.ErrInvalid)
	}
	for i, m := range q.Messages {
		if m.ID == "" {
			c := *m
			c.ID = newID()
			q.Messages[i] = &c
		}
	}
	d := &Dispatch{ID: newID(), Tenant: t.name, ThreadID: q.ThreadID, RunID: q.RunID, Priority: DefaultPriority, MaxAttempts: t.box.cfg.MaxAttempts,
		AvailableAt: s.Delay.Milliseconds(), DedupeKey: s.DedupeKey, IdempotencyKey: s.IdempotencyKey, Digest: s.Digest}
	if d.ThreadID == "" {
		d.ThreadID = newID()
	}
	if d.RunID == "" {
		d.RunID = newID()
	}
	if s.Priority != nil {
		if d.Priority = *s.Priority; d.Priority < 0 || d.Priority > 255 {
			return nil, fmt.Errorf("%w: priority is %d, want 0 to 255", awaken.ErrInvalid, d.Priority)
		}
	}
	req := *q
	req.ThreadID, req.RunID, req.DispatchID, req.Decisions = d.ThreadID, d.RunID, d.ID, nil
	d.Request = &req
	return d, nil
}

// submitted returns the receipt of what was submitted with the same key.
func (t *Tenant) submitted(ctx context.Context, s *Submission) (*Receipt, error) {
	old, err := t.Store.Submitted(ctx, s.IdempotencyKey)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if old.Digest != s.Digest {
		return nil, fmt.Errorf("idempotency key %q: %w: it was used for another request", s.IdempotencyKey, awaken.ErrConflict)
	}
	return &Receipt{ThreadID: old.ThreadID, RunID: old.RunID, DispatchID: old.ID, Duplicate: true}, nil
}

// change submits by the rules of the thread.
func (t *Tenant) change(ctx context.Context, s *Submission, d *Dispatch) (*Receipt, error) {
	decided, err := t.decisions(ctx, d.ThreadID, s.Request.Decisions)
	if err != nil {
		return nil, err
	}
	if len(s.Request.Decisions) > 0 && len(decided) == 0 && len(s.Request.Messages) == 0 {
		return t.alreadyDecided(ctx, d.ThreadID)
	}
	var r *Receipt
	err = t.changed(ctx, d.ThreadID, func(q *Thread) error {
		if o := q.keyed(s.DedupeKey); o != nil {
			r = &Receipt{ThreadID: q.ID, RunID: o.RunID, DispatchID: o.ID, Duplicate: true}
			return nil
		}
		sub := submission{dispatch: edit(d), interrupt: s.Mode == ModeInterrupt && len(decided) == 0, live: s.Mode == ModeSteer || s.Mode == ModeResume || len(decided) > 0}
		if s.Anew && sub.interrupt {
			sub.spare = t.spare()
		}
		agent, user := s.Request.AgentID, s.Request.UserID
		if q.Open != nil && sub.spare == nil && s.Request.Rewind == "" && (agent == "" || agent == q.Open.AgentID || awaken.IsVariant(q.Open.AgentID, agent)) &&
			(user == "" || user == q.Open.UserID || len(decided) > 0) { // what one user says is not taken for another's
			sub.items = decided
			if len(s.Request.Messages) > 0 {
				sub.items = append(sub.items[:len(sub.items):len(sub.items)], awaken.InboxItem{ID: "input:" + d.ID, Messages: s.Request.Messages, Boundary: s.Boundary,
					Supersede: len(decided) == 0 && hasUser(s.Request.Messages)})
			}
		}
		if len(decided) > 0 {
			if q.Open == nil {
				return ErrNothing
			}
			sub.runID, sub.dispatch.Request = decided[0].RunID, nil
		}
		busy := len(q.Live) > 0
		got, err := q.submit(&sub)
		if err != nil {
			return err
		}
		r = &Receipt{ThreadID: q.ID, After: q.End, Busy: busy}
		if got != nil {
			r.RunID, r.DispatchID = got.RunID, got.ID
		} else {
			r.RunID = q.Open.RunID
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("submit to thread %s: %w", d.ThreadID, err)
	}
	return r, nil
}

// alreadyDecided is the receipt of decisions that were all taken before.
func (t *Tenant) alreadyDecided(ctx context.Context, threadID string) (*Receipt, error) {
	th, err := t.Store.Thread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	r := &Receipt{ThreadID: threadID, RunID: th.OpenRunID, After: th.End, Duplicate: true}
	if r.RunID == "" {
		r.RunID = th.LatestRunID
	}
	return r, nil
}

func hasUser(msgs []*llm.Message) bool {
	for _, m := range msgs {
		if m.Role == llm.User && !m.IsInternal() {
			return true
		}
	}
	return false
}

// decisions checks decisions on the thread's open run, and returns what is to be posted.
func (t *Tenant) decisions(ctx context.Context, threadID string, ds []awaken.Decision) ([]awaken.InboxItem, error) {
	if len(ds) == 0 {
		return nil, nil
	}
	th, err := t.Store.Thread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	id := th.OpenRunID
	if id == "" {
		id = th.LatestRunID // to say that it is decided
	}
	if id == "" {
		return nil, ErrNothing
	}
	_, items, err := t.Runtime.CheckDecisions(ctx, id, ds...)
	return items, err
}

// changed makes a change, and tells whoever in this process has to know.
func (t *Tenant) changed(ctx context.Context, threadID string, fn func(q *Thread) error) error {
	var done Changes
	err := t.Store.Change(ctx, threadID, func(q *Thread) error {
		err := fn(q)
		done = q.Changes
		return err
	})
	if err != nil {
		return err
	}
	if len(done.Post) > 0 {
		t.Runtime.Notify(threadID)
	}
	for _, d := range done.Put {
		if d.Status == Queued {
			poke(t.box.poked)
		}
		if d.Status == Claimed && d.Cancel {
			t.box.cancelHere(d.ID)
		}
	}
	return nil
}

// Decide delivers decisions to the open run of a thread, or to a run: the id is a
// thread's, a run's or a dispatch's. A run that waits goes on. Decisions that were
// delivered before are not delivered again.
func (t *Tenant) Decide(ctx context.Context, id string, ds ...awaken.Decision) (*Receipt, error) {
	threadID, runID, err := t.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if runID == "" {
		th, err := t.Store.Thread(ctx, threadID)
		if err != nil {
			return nil, err
		}
		if runID = th.OpenRunID; runID == "" {
			runID = th.LatestRunID // to say that it is decided
		}
		if runID == "" {
			return nil, fmt.Errorf("thread %s: %w", threadID, ErrNothing)
		}
	}
	run, items, err := t.Runtime.CheckDecisions(ctx, runID, ds...)
	if err != nil {
		return nil, err
	}
	r := &Receipt{ThreadID: run.ThreadID, RunID: runID, Duplicate: len(items) == 0}
	if r.Duplicate {
		return r, nil
	}
	err = t.changed(ctx, run.ThreadID, func(q *Thread) error {
		r.After = q.End
		got, err := q.submit(&submission{dispatch: t.spare(), items: items, live: true, runID: runID})
		if got != nil {
			r.DispatchID = got.ID
		}
		return err
	})
	if errors.Is(err, ErrNothing) { // the run has ended meanwhile, perhaps because of the same decisions
		if _, items, again := t.Runtime.CheckDecisions(ctx, runID, ds...); again == nil && len(items) == 0 {
			return &Receipt{ThreadID: run.ThreadID, RunID: runID, Duplicate: true}, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("decide run %s: %w", runID, err)
	}
	return r, nil
}

// Continue goes on with a run that waits for money, after its budget was raised, or for its
// version. A run that does not is an ErrConflict.
func (t *Tenant) Continue(ctx context.Context, runID string) (*Receipt, error) {
	run, err := t.Store.LoadRun(ctx, runID)
	if err != nil {
		return nil, fmt.Errorf("continue run %s: %w", runID, err)
	}
	r := &Receipt{ThreadID: run.ThreadID, RunID: runID}
	err = t.changed(ctx, run.ThreadID, func(q *Thread) error {
		r.After = q.End
		if !q.waitsForContinue(runID) {
			return fmt.Errorf("%w: it waits neither for money nor for its version", awaken.ErrConflict)
		}
		d, err := q.wake(t.spare())
		if d != nil {
			r.DispatchID = d.ID
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("continue run %s: %w", runID, err)
	}
	return r, nil
}

// spare is a dispatch without a purpose yet.
func (t *Tenant) spare() *Dispatch {
	return &Dispatch{ID: t.box.cfg.NewID(), Tenant: t.name, Priority: DefaultPriority, MaxAttempts: t.box.cfg.MaxAttempts}
}

// find returns the thread that an id is about, and the run unless the id is the thread's.
func (t *Tenant) find(ctx context.Context, id string) (threadID, runID string, err error) {
	if run, err := t.Store.LoadRun(ctx, id); err == nil {
		return run.ThreadID, id, nil
	} else if !errors.Is(err, awaken.ErrNotFound) {
		return "", "", err
	}
	if d, err := t.Store.Dispatch(ctx, id); err == nil {
		return d.ThreadID, d.RunID, nil
	} else if !errors.Is(err, awaken.ErrNotFound) {
		return "", "", err
	}
	if _, err := t.Store.Thread(ctx, id); err != nil {
		return "", "", err
	}
	return id, "", nil
}

// Cancel ends a run, by its id, its dispatch's or its thread's, whether it is queued,
// going on or waiting. When it returns, nothing new will begin. ErrNothing means that
// there is nothing to end.
func (t *Tenant) Cancel(ctx context.Context, id string) error {
	threadID, runID, err := t.find(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	if runID == "" {
		runID = threadID
	}
	found := false
	err = t.changed(ctx, threadID, func(q *Thread) error {
		if found = q.cancel(runID, t.spare()); !found {
			return ErrNothing
		}
		return nil
	})
	if err == nil || errors.Is(err, ErrNothing) {
		// One that had not started is over, and has nobody else to tell its parent.
		if run, loadErr := t.Store.LoadRun(ctx, runID); loadErr == nil && run.Status == awaken.RunDone {
			err = errors.Join(err, t.Runtime.Report(ctx, run))
		}
	}
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	return nil
}

// Interrupt ends everything on a thread: what runs, what waits and what is queued. It
// returns how many queued dispatches were superseded.
func (t *Tenant) Interrupt(ctx context.Context, threadID string) (superseded int, err error) {
	err = t.changed(ctx, threadID, func(q *Thread) error {
		n, found := q.interrupt(t.spare())
		if superseded = n; !found {
			return ErrNothing
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("interrupt thread %s: %w", threadID, err)
	}
	return superseded, nil
}
