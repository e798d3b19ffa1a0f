package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
)

// inProcess is the queue of a runtime that has none: it runs what is started in goroutines of this
// process. They end with the process.
type inProcess struct{ rt *Runtime }

func (q inProcess) Start(ctx context.Context, req awaken.RunRequest) error {
	if _, err := q.rt.cfg.Store.LoadRun(ctx, req.RunID); err == nil {
		return nil // started before
	} else if !errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	q.run(ctx, req.ThreadID, req)
	return nil
}

func (q inProcess) run(ctx context.Context, threadID string, req awaken.RunRequest) {
	ctx = context.WithoutCancel(ctx)
	q.rt.detached.Go(func() {
		var sink awaken.Sink
		if f := q.rt.cfg.Detached; f != nil {
			sink = f(threadID)
		}
		_, err := q.rt.Run(ctx, req, sink)
		if err != nil && !isAny(err, awaken.ErrBusy, awaken.ErrFenced, awaken.ErrConflict) {
			q.rt.cfg.Logger.Warn("run failed", "run", req.RunID+req.Continue, "thread", threadID, "trace", tracecontext.ParseText(req.Trace).TraceID(), "error", err)
		}
	})
}

func (q inProcess) Deliver(ctx context.Context, threadID string, item awaken.InboxItem, agentID string) error {
	th, err := q.rt.cfg.Store.Thread(ctx, threadID)
	if err != nil {
		return err
	}
	if item.RunID != "" && item.RunID != th.OpenRunID {
		if item.Report.Outlives() { // the run that is open or the next one reads it
			return q.rt.post(ctx, threadID, []awaken.InboxItem{item})
		}
		return nil
	}
	if err := q.rt.post(ctx, threadID, []awaken.InboxItem{item}); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	q.rt.detached.Go(func() {
		if err := q.wake(ctx, threadID, agentID); err != nil {
			q.rt.cfg.Logger.Warn("cannot wake a thread", "thread", threadID, "error", err)
		}
	})
	return nil
}

// wake makes a run read what was posted to a thread. It waits for an active run first: that one
// reads its inbox before it parks or ends, but may have been past that point.
func (q inProcess) wake(ctx context.Context, threadID, agentID string) error {
	if err := q.rt.Wait(ctx, threadID); err != nil {
		return err
	}
	items, err := q.rt.cfg.Store.Unread(ctx, threadID)
	if err != nil || len(items) == 0 {
		return err
	}
	th, err := q.rt.cfg.Store.Thread(ctx, threadID)
	if err != nil {
		return err
	}
	req := awaken.RunRequest{Continue: th.OpenRunID, Mode: "internal_wake"}
	if th.OpenRunID == "" {
		if !slices.ContainsFunc(items, func(it awaken.InboxItem) bool { return len(it.Messages) > 0 && it.RunID == "" }) {
			return nil
		}
		req = awaken.RunRequest{ThreadID: threadID, AgentID: agentID, Origin: "internal"}
	} else if run, err := q.rt.cfg.Store.LoadRun(ctx, th.OpenRunID); err != nil || run.Status != awaken.RunWaiting {
		return err // a run that was cut off is continued only on request
	}
	q.run(ctx, threadID, req)
	return nil
}

func (q inProcess) Cancel(ctx context.Context, runID string) error { return q.rt.Cancel(ctx, runID) }

// Settle waits until the runs that the runtime started by itself have ended or wait: background
// tasks and runs woken by a message, of a runtime without a queue. Call it before the process
// exits. It returns the error of ctx if ctx is done first.
func (rt *Runtime) Settle(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		rt.detached.Wait()
		close(done)
	}()
	return waitFor(ctx, done)
}
