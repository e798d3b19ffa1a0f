package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/due"
	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/mailbox"
)

// Kind defines the messages of one kind of hooks.
type Kind struct {
	ContentType string
	// Messages returns all messages about a run for the receiver of a hook, computed from the run's record and its committed entries. When
	// the log grows, messages are only appended: earlier ones do not change.
	Messages func(h *webhook.Hook, run *awaken.Run, entries []awaken.Entry) ([][]byte, error)
	// GiveUp overrides [Config.GiveUp] unless it is 0.
	GiveUp time.Duration
}

// Endpoints returns the targets of hooks that were created for endpoints. [Router] implements it.
type Endpoints interface {
	// Target returns the target of the endpoint that a hook was created for. The error is awaken.ErrNotFound if the endpoint was deleted,
	// and [ErrPaused] if it is paused.
	Target(ctx context.Context, h *webhook.Hook) (*webhook.Target, error)
	// Gone reports that the receiver at url wants no more messages.
	Gone(ctx context.Context, h *webhook.Hook, url string) error
}

// ErrPaused reports that an endpoint is paused and gets no messages.
var ErrPaused = errors.New("the endpoint is paused")

// Config configures a Sender.
type Config struct {
	Store   webhook.Store
	Mailbox *mailbox.Mailbox // the runs
	Kinds   map[string]Kind
	// Endpoints returns the targets of hooks that were created for endpoints. If nil, there are no such hooks.
	Endpoints Endpoints
	// Sealer encrypts the stored headers and secrets of hooks that were not created for endpoints. Hooks stored in plain text are encrypted
	// when a sender next takes them. If nil, hooks are stored in plain text.
	Sealer Sealer
	// Allow lists networks that receivers may be in although they are not public, also without TLS. Users choose the receivers, so do not
	// list a network that only the program itself may reach.
	Allow []netip.Prefix
	// Client overrides the default HTTP client, which connects only to public addresses and the networks of Allow.
	Client *http.Client

	Poll     time.Duration // how often to look for due hooks without a signal; default 2 seconds
	Lease    time.Duration // of a process on a hook; default 40 seconds, and always more than twice Timeout
	Timeout  time.Duration // for a receiver to answer; default 15 seconds
	Retry    time.Duration // before the second attempt; default 1 second. It doubles with every further failure, up to MaxRetry.
	MaxRetry time.Duration // default 5 minutes
	GiveUp   time.Duration // how long a receiver may refuse everything; default 24 hours
	Keep     time.Duration // how long to keep ended hooks and their attempts; default 7 days
	Hooks    int           // maximum number of hooks held at once; default 1,000
	Requests int           // maximum number of concurrent requests; default 64

	Logger *slog.Logger // nil discards
}

// Sender delivers messages. It is safe for concurrent use.
type Sender struct {
	cfg    Config
	client *http.Client
	name   string
	loop   *due.Loop
	posts  chan struct{} // has one for each request in flight
	hosts  hosts
	broken broken

	mu   sync.Mutex
	held int
}

// New returns a sender.
func New(cfg Config) (*Sender, error) {
	if cfg.Store == nil || cfg.Mailbox == nil {
		return nil, errors.New("deliver: Config.Store or Config.Mailbox is nil")
	}
	for v, def := range map[*time.Duration]time.Duration{&cfg.Poll: 2 * time.Second, &cfg.Timeout: 15 * time.Second, &cfg.Retry: time.Second,
		&cfg.MaxRetry: 5 * time.Minute, &cfg.GiveUp: 24 * time.Hour, &cfg.Keep: 7 * 24 * time.Hour, &cfg.Lease: 40 * time.Second} {
		*v = cmp.Or(*v, def)
	}
	cfg.Hooks, cfg.Requests = cmp.Or(cfg.Hooks, 1000), cmp.Or(cfg.Requests, 64)
	if cfg.Lease <= 2*cfg.Timeout {
		return nil, fmt.Errorf("deliver: Lease is %s, want more than twice Timeout (%s)", cfg.Lease, cfg.Timeout)
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Client == nil {
		cfg.Client = httpguard.New(httpguard.Options{Allow: cfg.Allow, RequireTLS: true, Timeout: -1, MaxBytes: 1 << 20})
	}
	client := *cfg.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{cfg: cfg, client: &client, name: ids.New(), loop: due.NewLoop(cfg.Poll), posts: make(chan struct{}, cfg.Requests),
		hosts: hosts{few: max(1, cfg.Requests/16), known: map[string]*host{}}}, nil
}

// errBusy is returned if concurrent changes prevent a hook from being stored.
var errBusy = fmt.Errorf("%w: the hook is being changed", awaken.ErrConflict)

// Set stores a hook. A stored hook with the same ID gets the new target and, if it had ended, becomes active again; messages that its
// receiver has accepted are not sent again. A new hook skips the first h.Sent messages.
func (s *Sender) Set(ctx context.Context, h *webhook.Hook) error {
	for range 10 {
		next := *h
		old, err := s.cfg.Store.Hooks(ctx, webhook.Query{Tenant: h.Tenant, RunID: h.RunID, ID: h.ID})
		if err != nil {
			return err
		}
		if len(old) > 0 {
			next = *old[0]
			next.Kind, next.Target, next.Failures, next.Failing, next.Ended, next.Holder, next.Wait = h.Kind, h.Target, 0, time.Time{}, "", "", 0
		}
		if err := s.seal(&next); err != nil {
			return err
		}
		if done, err := s.cfg.Store.SwapHook(ctx, &next); err != nil {
			return err
		} else if done {
			s.loop.Wake()
			return nil
		}
	}
	return errBusy
}

// Of returns the hooks of a run with their credentials. If the credentials of a hook cannot be decrypted, it is returned without them.
func (s *Sender) Of(ctx context.Context, tenant, runID string) ([]*webhook.Hook, error) {
	hooks, err := s.stored(ctx, tenant, runID)
	for _, h := range hooks {
		target, openErr := s.open(h)
		s.warn(ctx, "cannot read a hook", openErr)
		h.Target = target
	}
	return hooks, err
}

// stored returns the hooks of a run with encrypted credentials.
func (s *Sender) stored(ctx context.Context, tenant, runID string) ([]*webhook.Hook, error) {
	return s.cfg.Store.Hooks(ctx, webhook.Query{Tenant: tenant, RunID: runID})
}

// Remove removes a hook.
func (s *Sender) Remove(ctx context.Context, tenant, runID, id string) error {
	return s.cfg.Store.DropHook(ctx, tenant, runID, id)
}

// Wake makes the idle hooks of a run due because the run is about to continue. Without it, senders notice only with the next poll of the
// run.
func (s *Sender) Wake(ctx context.Context, tenant, runID string) error {
	hooks, err := s.stored(ctx, tenant, runID)
	for _, h := range hooks {
		if h.Holder == "" && h.Ended == "" && h.Failures == 0 {
			h.Wait, h.Idle = 0, 0
			_, swapErr := s.cfg.Store.SwapHook(ctx, h)
			err = errors.Join(err, swapErr)
		}
	}
	s.loop.Wake()
	return err
}

// Work delivers until ctx is done.
func (s *Sender) Work(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var forget due.Chore
	s.loop.Work(ctx, func(ctx context.Context) bool {
		if forget.Due(time.Hour) {
			s.warn(ctx, "cannot remove old hooks", s.cfg.Store.ForgetHooks(ctx, s.cfg.Keep))
		}
		hooks, more, err := s.take(ctx)
		s.warn(ctx, "cannot look for hooks", err)
		for _, h := range hooks {
			wg.Go(func() {
				defer s.leave()
				s.serve(ctx, h)
			})
		}
		return more
	})
}

func (s *Sender) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn(what, "error", err)
	}
}

// takenAtOnce is the number of hooks read per query.
const takenAtOnce = 100

// take takes due hooks while there is room, and reports whether there may be more.
func (s *Sender) take(ctx context.Context) (out []*hold, more bool, err error) {
	s.mu.Lock()
	room := s.cfg.Hooks - s.held
	s.mu.Unlock()
	if room <= 0 {
		return nil, false, nil
	}
	hooks, err := s.cfg.Store.Hooks(ctx, webhook.Query{Due: true, Limit: min(room, takenAtOnce)})
	for _, hook := range hooks {
		h := &hold{Hook: hook}
		h.Holder = s.name
		s.warn(ctx, "cannot encrypt the credentials of a hook", s.seal(hook))
		if s.keep(ctx, h) {
			out = append(out, h)
		}
	}
	s.mu.Lock()
	s.held += len(out)
	s.mu.Unlock()
	return out, len(hooks) == takenAtOnce, err
}

func (s *Sender) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held--; s.held == s.cfg.Hooks-1 {
		s.loop.Wake()
	}
}

// keep stores a hook that this sender holds and renews its lease. It reports false if another process has changed the hook.
func (s *Sender) keep(ctx context.Context, h *hold) bool {
	h.Wait, h.kept = s.cfg.Lease, time.Now()
	return s.swap(ctx, h.Hook)
}

func (s *Sender) swap(ctx context.Context, h *webhook.Hook) bool {
	done, err := s.cfg.Store.SwapHook(ctx, h)
	s.warn(ctx, "cannot store a hook", err)
	if done && err == nil {
		h.Revision++
	}
	return done && err == nil
}

// rest releases a hook.
func (s *Sender) rest(ctx context.Context, h *hold, wait time.Duration) {
	h.Holder, h.Wait = "", wait
	if h.Ended != "" {
		h.Wait = -1
	}
	s.swap(ctx, h.Hook)
}

// holdTime is how long a sender holds a hook of a running run before it lets other hooks have a turn.
const holdTime = 10 * time.Second

// serve delivers the pending messages of a hook and, for at most holdTime, the messages that follow.
func (s *Sender) serve(ctx context.Context, h *hold) {
	kind, ok := s.cfg.Kinds[h.Kind]
	if !ok { // of another version
		s.rest(ctx, h, s.cfg.MaxRetry)
		return
	}
	t := s.cfg.Mailbox.Tenant(h.Tenant)
	for until := time.Now().Add(holdTime); ctx.Err() == nil; {
		run, err := t.Store.LoadRun(ctx, h.RunID)
		if errors.Is(err, awaken.ErrNotFound) {
			s.warn(ctx, "cannot remove a hook", s.Remove(ctx, h.Tenant, h.RunID, h.ID))
			return
		}
		var entries []awaken.Entry
		if err == nil {
			if entries, err = t.Store.Entries(ctx, run.ThreadID, awaken.EntryQuery{RunID: run.RunID}); errors.Is(err, awaken.ErrNotFound) {
				err = nil
			}
		}
		var messages [][]byte
		if err == nil {
			messages, err = kind.Messages(h.Hook, run, entries)
		}
		if err != nil {
			s.warn(ctx, "cannot read the run of a hook", err)
			s.rest(ctx, h, s.cfg.MaxRetry)
			return
		}
		if len(messages) > h.Sent {
			if h.Idle = 0; !s.deliver(tracecontext.With(ctx, tracecontext.ParseText(run.Trace)), h, messages, &kind) {
				return
			}
			if h.Sent < len(messages) { // ctx is done
				break
			}
		}
		switch {
		case run.Status == awaken.RunDone:
			end(h.Hook, webhook.Delivered)
			s.rest(ctx, h, 0)
			return
		case run.Status != awaken.RunRunning || time.Now().After(until):
			h.Idle++
			wait := s.cfg.Poll
			if run.Status == awaken.RunWaiting {
				wait = min(wait<<min(h.Idle-1, 10), idleTime)
			}
			s.rest(ctx, h, wait)
			return
		}
		s.await(ctx, t, run, entries, until)
	}
	s.rest(context.WithoutCancel(ctx), h, 0) // another process continues at once
}

// aim sets the target of a hook. If messages cannot be sent now, it releases the hook and reports false.
func (s *Sender) aim(ctx context.Context, h *hold) bool {
	if h.Endpoint == "" {
		var err error
		if h.target, err = s.open(h.Hook); err != nil {
			s.warn(ctx, "cannot read a hook", err)
			s.rest(ctx, h, s.cfg.MaxRetry)
		}
		return err == nil
	}
	target, err := (*webhook.Target)(nil), error(awaken.ErrNotFound)
	if s.cfg.Endpoints != nil {
		target, err = s.cfg.Endpoints.Target(ctx, h.Hook)
	}
	switch {
	case err == nil:
		h.target = *target
		return true
	case errors.Is(err, awaken.ErrNotFound):
		end(h.Hook, "the endpoint %q was deleted", h.Endpoint)
	case !errors.Is(err, ErrPaused):
		s.warn(ctx, "cannot read the endpoint of a hook", err)
	}
	s.rest(ctx, h, s.cfg.MaxRetry)
	return false
}

// Redeliver sends the messages of a hook again, starting with message number from, counted from 1. If the receiver refuses the next
// message, from may be one greater, which skips it.
func (s *Sender) Redeliver(ctx context.Context, tenant, runID, id string, from int) error {
	for range 10 {
		found, err := s.cfg.Store.Hooks(ctx, webhook.Query{Tenant: tenant, RunID: runID, ID: id})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("hook %s of run %s: %w", id, runID, awaken.ErrNotFound)
		}
		h := found[0]
		last, which := h.Sent+1, "the messages that were delivered and the next one"
		if h.Failures > 0 {
			last, which = h.Sent+2, "the messages that were delivered, the one that the receiver does not accept and the next one"
		}
		if from < 1 || from > last {
			return fmt.Errorf("%w: message is %d; want 1 to %d, %s", awaken.ErrInvalid, from, last, which)
		}
		h.Sent, h.Ended, h.Holder, h.Wait, h.Failures, h.Failing, h.Idle = from-1, "", "", 0, 0, time.Time{}, 0
		if done, err := s.cfg.Store.SwapHook(ctx, h); err != nil {
			return err
		} else if done {
			s.loop.Wake()
			return nil
		}
	}
	return errBusy
}

// Ping sends a message that belongs to no run to a target, without retries.
func (s *Sender) Ping(ctx context.Context, target *webhook.Target, body []byte, contentType string) webhook.Attempt {
	return s.post(ctx, target, "msg_"+ids.New(), body, contentType).Attempt
}

// idleTime is the longest pause between two looks at a waiting run.
const idleTime = 30 * time.Second

// deliver sends the messages that the receiver has not accepted. It reports false if this sender no longer holds the hook. Requests end
// well before the lease does, however long the hook waited for its turn.
func (s *Sender) deliver(ctx context.Context, h *hold, messages [][]byte, kind *Kind) bool {
	for h.Sent < len(messages) {
		if !s.aim(ctx, h) {
			return false
		}
		done := s.turn(ctx, h)
		if done == nil {
			return ctx.Err() != nil
		}
		a := outcome{Attempt: webhook.Attempt{Status: http.StatusOK}}
		held := time.Since(h.kept) <= s.cfg.Lease-2*s.cfg.Timeout || s.keep(ctx, h)
		if held {
			a = s.post(ctx, &h.target, h.MessageID(h.Sent+1), messages[h.Sent], kind.ContentType)
			a.Message = h.Sent + 1
		}
		done(&a.Attempt)
		if !held {
			return false
		}
		if a.Error != "" && ctx.Err() != nil {
			return true // not the receiver's failure
		}
		h.Record(a.Attempt)
		log := s.cfg.Logger.With("tenant", h.Tenant, "run", h.RunID, "hook", h.ID, "message", a.Message, "status", a.Status)
		switch {
		case a.Error == "":
			log.Debug("delivered")
			if n := s.broken.mend(&h.target); n > 0 {
				s.cfg.Logger.Info("a receiver accepts messages again", "tenant", h.Tenant, "receiver", h.target.Shown(), "failures", n)
			}
			if !s.keep(ctx, h) {
				return false
			}
			continue
		case a.Status == http.StatusGone:
			end(h.Hook, "the receiver answered 410: it wants no more messages")
			if h.Endpoint != "" {
				s.warn(ctx, "cannot pause an endpoint whose receiver wants no more messages", s.cfg.Endpoints.Gone(ctx, h.Hook, h.target.URL))
			}
		case a.At.Sub(h.Failing) >= cmp.Or(kind.GiveUp, s.cfg.GiveUp):
			end(h.Hook, "the receiver has accepted nothing since %s: %s", h.Failing.Format(time.RFC3339), a.Error)
		}
		level := slog.LevelDebug // the receiver is known to fail
		if s.broken.fail(&h.target) {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "cannot deliver", "receiver", h.target.Shown(), "error", a.Error, "ended", h.Ended)
		s.rest(ctx, h, max(s.backoff(h.Failures), min(a.pause, maxPause)))
		return false
	}
	return true
}

// maxPause is the longest pause that a receiver may ask for.
const maxPause = time.Hour

// end ends a hook for a reason.
func end(h *webhook.Hook, format string, args ...any) { h.Ended = fmt.Sprintf(format, args...) }

// backoff returns how long to wait after a number of consecutive failures, with jitter so that a recovered receiver is not flooded.
func (s *Sender) backoff(failures int) time.Duration {
	return due.Spread(due.Backoff(s.cfg.Retry, s.cfg.MaxRetry, failures))
}

// await waits until the run has ended or waits, or until the given time.
func (s *Sender) await(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, entries []awaken.Entry, until time.Time) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var after awaken.Cursor
	if n := len(entries); n > 0 {
		after = awaken.Cursor{Epoch: entries[n-1].Epoch, Seq: entries[n-1].Last()}
	}
	for e, err := range t.Log.Tail(ctx, run.ThreadID, after, eventlog.Follow{RunID: run.RunID, Pause: time.Second}) {
		if err != nil {
			select {
			case <-time.After(s.cfg.Poll): // the store may be back by then
			case <-ctx.Done():
			}
			return
		}
		switch e.Event.(type) {
		case *awaken.RunFinish, *awaken.Error:
			return
		case nil:
			if now, err := t.Store.LoadRun(ctx, run.RunID); err != nil || now.Status != awaken.RunRunning {
				return
			}
		}
	}
}
