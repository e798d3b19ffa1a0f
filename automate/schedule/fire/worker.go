package fire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/internal/due"
)

// Runs starts runs.
type Runs interface {
	// Start starts the run that a schedule describes, with the IDs of its State.Pending, and returns the ID of its thread: the thread named
	// by the description or, without one, by State.Pending. It has no effect if the run exists. If the error is [ErrRefused], trying again
	// is useless.
	Start(ctx context.Context, s *schedule.Schedule) (threadID string, err error)
	// Active reports whether a run exists and has not ended.
	Active(ctx context.Context, tenant, runID string) (bool, error)
	// Cancel cancels a run. Cancelling a run that has ended is not an error.
	Cancel(ctx context.Context, tenant, runID string) error
}

// ErrRefused reports that the server refuses a run.
var ErrRefused = errors.New("the run was refused")

// Config configures a Worker.
type Config struct {
	Store schedule.Store
	Runs  Runs

	Poll  time.Duration // how often to look for schedules that are due; default 1 second
	Lease time.Duration // how long a process may take to start a run before another one does; default 30 seconds
	Await time.Duration // how often to check the run that a pending start waits for; default 5 seconds
	// Parallel is the maximum number of schedules processed at once; default 8.
	Parallel int

	Logger *slog.Logger // nil discards
}

// Worker starts the runs of schedules. It is safe for concurrent use.
type Worker struct {
	cfg  Config
	loop *due.Loop
}

// New returns a worker.
func New(cfg Config) (*Worker, error) {
	if cfg.Store == nil || cfg.Runs == nil {
		return nil, errors.New("fire: Config.Store or Config.Runs is nil")
	}
	cfg.Poll, cfg.Lease, cfg.Await = cmp.Or(cfg.Poll, time.Second), cmp.Or(cfg.Lease, 30*time.Second), cmp.Or(cfg.Await, 5*time.Second)
	cfg.Parallel, cfg.Logger = cmp.Or(cfg.Parallel, 8), cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return &Worker{cfg, due.NewLoop(cfg.Poll)}, nil
}

// Work starts runs until ctx is done.
func (w *Worker) Work(ctx context.Context) { w.loop.Work(ctx, w.round) }

// atOnce is the number of schedules read per query.
const atOnce = 100

// round processes the due schedules and reports whether there may be more.
func (w *Worker) round(ctx context.Context) (more bool) {
	schedules, now, err := w.cfg.Store.Due(ctx, atOnce)
	w.warn(ctx, nil, "cannot look for schedules that are due", err)
	clock := due.ClockAt(now)
	var wg sync.WaitGroup
	slots := make(chan struct{}, w.cfg.Parallel)
	for _, s := range schedules {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			w.serve(ctx, s, clock)
		})
	}
	wg.Wait()
	return len(schedules) == atOnce
}

// warn logs an error, unless ctx is done.
func (w *Worker) warn(ctx context.Context, s *schedule.Schedule, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	log := w.cfg.Logger
	if s != nil {
		log = log.With("tenant", s.Tenant, "schedule", s.ID)
	}
	log.Warn(what, "error", err)
}

// serve decides the outcomes of a schedule's times up to now and carries them out in order.
func (w *Worker) serve(ctx context.Context, s *schedule.Schedule, c due.Clock) {
	for !s.Due.IsZero() && !s.Due.After(c.Now()) {
		log, err := s.Decide(c.Now(), func(runID string) (bool, error) { return w.cfg.Runs.Active(ctx, s.Tenant, runID) })
		if err != nil {
			w.warn(ctx, s, "cannot tell whether the run before has ended", err)
			return
		}
		if s.State.Pending != nil {
			s.Due = c.Now().Add(w.cfg.Lease)
		}
		if !w.swap(ctx, s, log...) {
			return
		}
		if s.State.Pending != nil && w.start(ctx, s, c) == nil {
			return
		}
	}
}

// start starts the pending run and records the outcome.
func (w *Worker) start(ctx context.Context, s *schedule.Schedule, c due.Clock) *schedule.Firing {
	p := s.State.Pending
	if p.Waiting != "" {
		busy, err := w.cfg.Runs.Active(ctx, s.Tenant, p.Waiting)
		if w.warn(ctx, s, "cannot tell whether the run before has ended", err); busy || err != nil {
			log := s.Wait(c.Now())
			s.Due = c.Now().Add(w.cfg.Await)
			w.swap(ctx, s, log...)
			return nil
		}
	}
	threadID, err := w.try(ctx, s)
	late := c.Now().Sub(p.At.Add(s.Delay(p.At)))
	var f schedule.Firing
	switch {
	case err == nil:
		p.ThreadID = threadID
		f = s.Finish(c.Now(), schedule.Started, "")
	case ctx.Err() != nil: // another process will
		return nil
	case errors.Is(err, ErrRefused):
		f = s.Finish(c.Now(), schedule.Refused, err.Error())
	case late > time.Duration(s.Spec.GraceSecs)*time.Second && p.Attempts > 0:
		f = s.Finish(c.Now(), schedule.Lapsed, fmt.Sprintf("the run could not be started in time: %v", err))
	default:
		w.warn(ctx, s, "cannot start the run of a schedule", err)
		p.Attempts++
		s.Due = c.Now().Add(due.Backoff(time.Second, time.Minute, p.Attempts))
		w.swap(ctx, s)
		return nil
	}
	if !w.swap(ctx, s, f) {
		return nil
	}
	w.cfg.Logger.Info("a schedule has fired", "tenant", s.Tenant, "schedule", s.ID, "at", f.At, "outcome", f.Outcome, "run", f.RunID, "reason", f.Reason)
	return &f
}

func (w *Worker) try(ctx context.Context, s *schedule.Schedule) (threadID string, err error) {
	if p := s.State.Pending; p.Cancel != "" {
		if err := w.cfg.Runs.Cancel(ctx, s.Tenant, p.Cancel); err != nil {
			return "", fmt.Errorf("cannot cancel run %s: %w", p.Cancel, err)
		}
	}
	return w.cfg.Runs.Start(ctx, s)
}

// swap stores a schedule. It reports false if another process has changed the schedule, or if storing failed: then the schedule is
// unchanged and stays due.
func (w *Worker) swap(ctx context.Context, s *schedule.Schedule, log ...schedule.Firing) bool {
	done, err := w.cfg.Store.Record(ctx, s, log...)
	w.warn(ctx, s, "cannot store a schedule", err)
	if done && err == nil {
		s.Revision++
	}
	return done && err == nil
}

// Now starts a run of a schedule immediately, even if the schedule is paused or the previous run has not ended, and returns its log entry.
// If a start is in progress, or the schedule is being changed, the error is awaken.ErrConflict.
func (w *Worker) Now(ctx context.Context, tenant, id string) (*schedule.Firing, error) {
	s, err := w.cfg.Store.Get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if p := s.State.Pending; p != nil {
		return nil, fmt.Errorf("%w: schedule %q is about to start run %s", awaken.ErrConflict, id, p.RunID)
	}
	c := due.ClockAt(time.Now())
	s.State.Pending = s.Start(c.Now())
	s.State.Pending.Manual = true
	s.Due = c.Now().Add(w.cfg.Lease)
	switch done, err := w.cfg.Store.Swap(ctx, s); {
	case err != nil:
		return nil, err
	case !done:
		return nil, fmt.Errorf("%w: schedule %q is being changed", awaken.ErrConflict, id)
	}
	s.Revision++
	if f := w.start(ctx, s, c); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("%w: the run of schedule %q could not be started yet; it will be", awaken.ErrConflict, id)
}
