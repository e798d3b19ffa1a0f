package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// turn follows a run and shows it to the client, from a prompt to its answer, or from when a session is
// begun again while its run is not done.
type turn struct {
	*session
	ctx      context.Context
	stop     context.CancelCauseFunc
	done     chan struct{} // closed when nothing of the turn is in progress
	prompted bool          // the client waits for an answer
	chosen   options       // when the turn began
	enc      *Encoder      // used by one goroutine, as at
	at       awaken.Cursor // of what was shown
	ending   bool          // the run was ended: nothing is asked
	asks     sync.WaitGroup

	mu        sync.Mutex
	runID     string // "" until the prompt is accepted
	cancelled bool
	asking    map[string]context.CancelFunc // questions to the client, by ticket
	calls     map[string]string             // tickets, by the call that they are about
	wire      map[string]string             // ids of calls that the client knows, by ticket
	foreign   map[string]bool               // tickets of calls that no entry of the run is about
}

func (s *session) newTurn(prompted bool) *turn {
	t := &turn{session: s, done: make(chan struct{}), prompted: prompted, asking: map[string]context.CancelFunc{}, calls: map[string]string{}, wire: map[string]string{}, foreign: map[string]bool{}}
	t.ctx, t.stop = context.WithCancelCause(s.ctx)
	return t
}

// end ends the turn.
func (t *turn) end() {
	t.stop(errOver)
	t.asks.Wait()
	t.session.mu.Lock()
	if t.session.turn == t {
		t.session.turn = nil
	}
	t.session.mu.Unlock()
	close(t.done)
}

// errOver ends the questions of a turn that is over.
var errOver = errors.New("the turn is over")

// prompt submits a prompt and follows its run.
func (a *agent) prompt(ctx context.Context, m *message) (func() (any, error), error) {
	var p promptParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	s := a.session(p.SessionID)
	if s == nil {
		return nil, noSession(p.SessionID)
	}
	msg, err := messageOf(a.NewID(), p.Prompt)
	if err != nil {
		return nil, err
	}
	t := s.newTurn(true)
	s.mu.Lock()
	before := s.turn
	if before != nil && before.prompted {
		s.mu.Unlock()
		t.stop(nil)
		return nil, invalidRequest("the session has an unanswered prompt; cancel it, or wait")
	}
	s.turn, t.chosen = t, s.options
	s.mu.Unlock()
	return func() (any, error) {
		defer t.end()
		defer context.AfterFunc(ctx, func() {
			if errors.Is(context.Cause(ctx), errNotNeeded) { // not if the client is gone: its run continues
				t.cancel()
			}
		})()
		result, err := t.answer(msg, string(m.ID), before)
		if before != nil && t.runID == "" {
			before.stop(errOver)
		}
		return result, err
	}, nil
}

// submitTime is how long a prompt may take to be accepted.
const submitTime = 30 * time.Second

// answer submits a message and returns the answer to the prompt.
func (t *turn) answer(msg *llm.Message, requestID string, before *turn) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), submitTime) // a prompt that was read is accepted, also if the client is gone
	defer cancel()
	if err := t.keep(ctx, titleOf(msg)); err != nil {
		return nil, err
	}
	opts := EncoderOptions{Cwd: t.cwd, Window: t.window(t.chosen)}
	if sums, ok := t.Tenant.Store.(awaken.UsageReader); ok {
		totals, err := sums.UsageTotals(ctx, awaken.UsageQuery{ThreadID: t.id})
		if err != nil {
			return nil, err
		}
		for _, total := range totals {
			opts.Cost += total.CostUSD
		}
	}
	t.enc = NewEncoder(opts)
	defer t.Tenant.Log.Watch(t.id)() // the run may be over before it is followed
	r, err := t.Tenant.Submit(ctx, mailbox.Submission{Mode: mailbox.ModeInterrupt, Anew: true, Confined: true, Request: awaken.RunRequest{
		ThreadID: t.id, AgentID: t.chosen.Agent, UserID: t.User, Messages: []*llm.Message{msg}, Overrides: t.overrides(t.chosen), FrontendTools: t.clientTools(t.ctx),
		Context: t.surroundings(), Adapter: "acp", TransportRequestID: fmt.Sprintf("acp:%.80s", requestID), Untrusted: true}})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, noSession(t.id)
	}
	if err != nil {
		return nil, err
	}
	t.accepted(r.RunID)
	t.seeOff(before)
	fin, err := t.follow(r.After, r.New)
	if err != nil {
		return nil, err
	}
	if fin.Termination.Type == awaken.Failed {
		return nil, &Failure{Code: codeInternal, Message: cmp.Or(fin.Termination.Message, "the run failed"), Data: promptMeta{r.RunID}}
	}
	out := promptResult{StopReason: stopReason(fin), Meta: &promptMeta{r.RunID}}
	if fin.Result != nil && fin.Result.Usage != (llm.Usage{}) {
		u := &fin.Result.Usage
		out.Usage = &usage{Total: u.PromptTokens + u.CompletionTokens, Input: u.PromptTokens, Output: u.CompletionTokens, Thought: u.ThinkingTokens, CachedRead: u.CacheReadTokens, CachedWrite: u.CacheCreationTokens}
	}
	return out, nil
}

// seeOff shows the end of the run before, which the prompt has ended.
func (t *turn) seeOff(before *turn) {
	if before == nil {
		t.session.mu.Lock()
		before, t.left = t.left, nil
		t.session.mu.Unlock()
		if before != nil {
			rest := t.newTurn(false)
			rest.enc, rest.runID, rest.at, rest.ending = before.enc, before.runID, before.at, true
			t.asks.Go(func() {
				defer rest.stop(nil)
				_, _ = rest.follow(rest.at, false) // its end is of no interest
			})
		}
		return
	}
	t.asks.Go(func() {
		select {
		case <-before.done: // its run was ended
		case <-t.ctx.Done():
			before.stop(errOver)
			<-before.done
		}
	})
}

// surroundings tells the model where the user works.
func (s *session) surroundings() []awaken.ContextMessage {
	return []awaken.ContextMessage{{Key: "acp.cwd", Role: llm.System, Persistent: true, Content: []llm.Block{llm.Text("The user works in the folder " + s.cwd)}}}
}

// accepted says which run the turn follows.
func (t *turn) accepted(runID string) {
	t.mu.Lock()
	t.runID = runID
	cancelled := t.cancelled
	t.mu.Unlock()
	if cancelled {
		t.cancelRun(runID)
	}
}

// cancel ends the run. It does so too if the run is only about to be accepted.
func (t *turn) cancel() {
	t.mu.Lock()
	again := t.cancelled
	t.cancelled = true
	runID := t.runID
	t.mu.Unlock()
	if runID != "" && !again {
		t.cancelRun(runID)
	}
}

func (t *turn) cancelRun(runID string) {
	t.spawn(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), 10*time.Second)
		defer cancel()
		if err := t.Tenant.Cancel(ctx, runID); err != nil && !errors.Is(err, mailbox.ErrIdle) && !errors.Is(err, awaken.ErrNotFound) {
			t.Logger.Error("cannot cancel a run", "run", runID, "error", err)
		}
	})
}

// How often the record of a run is looked at while nothing comes: it may end without an entry.
const (
	firstLook = 500 * time.Millisecond
	laterLook = 5 * time.Second
)

// follow shows the run after a cursor, until it has ended, or waits for what the client cannot be asked.
func (t *turn) follow(from awaken.Cursor, isNew bool) (*awaken.RunFinish, error) {
	t.at = from
	for e, err := range t.Tenant.Log.Tail(t.ctx, t.id, from, eventlog.Follow{RunID: t.runID, First: firstLook, Pause: laterLook, AtEnd: isNew}) {
		switch {
		case t.ctx.Err() != nil:
			return nil, context.Cause(t.ctx)
		case err != nil:
			return nil, err
		case e.Event == nil:
			if fin, err := t.ended(t.at); fin != nil || err != nil && fault.OutageOf(err) == nil {
				return fin, err
			}
			continue
		}
		t.at = e.Cursor
		fin, err := t.take(&e)
		if fin != nil || err != nil {
			return fin, err
		}
	}
	if t.ctx.Err() != nil {
		return nil, context.Cause(t.ctx)
	}
	return nil, errors.New("the log of the run has no end")
}

// take shows an entry. It returns a run_finish if the turn is over.
func (t *turn) take(e *awaken.Entry) (*awaken.RunFinish, error) {
	if reset, ok := e.Event.(*awaken.StreamReset); ok && reset.Cursor != "" {
		return nil, t.reset(e)
	}
	t.show(t.enc.Encode(e))
	switch ev := e.Event.(type) {
	case *awaken.ToolCallResumed:
		t.settled(ev.TargetID)
	case *awaken.Error:
		return nil, &Failure{Code: codeInternal, Message: ev.Message}
	case *awaken.RunFinish:
		if ev.Termination.Type != awaken.Suspended {
			return ev, nil
		}
		if t.ending || ev.Result != nil && t.ask(ev.Result.Waiting, false) {
			return nil, nil
		}
		t.session.mu.Lock()
		t.left = t
		t.session.mu.Unlock()
		return ev, nil
	}
	return nil, nil
}

func (t *turn) show(list []*Update) {
	for _, u := range list {
		t.update(u)
	}
}

// reset retracts what was lost with the owner of the run. The next encoder has seen what is left.
func (t *turn) reset(e *awaken.Entry) error {
	t.show(t.enc.Encode(e))
	next, err := protocol.Patiently(t.ctx, func() (*Encoder, error) {
		enc := NewEncoder(t.enc.opts)
		for left, err := range t.Tenant.Log.Tail(t.ctx, t.id, awaken.Cursor{}, eventlog.Follow{RunID: t.runID, Committed: true}) {
			if err != nil {
				return nil, err
			}
			if left.Seq > e.Seq {
				break
			}
			enc.Encode(&left)
		}
		return enc, nil
	})
	if err == nil {
		t.enc = next
	}
	return err
}

// ended returns the end of a run that is over although no entry has come, or nil. A run that is cancelled
// while it is queued has no entries.
func (t *turn) ended(at awaken.Cursor) (*awaken.RunFinish, error) {
	run, err := t.Tenant.Store.LoadRun(t.ctx, t.runID)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, noSession(t.id)
	}
	if err != nil || run.Status != awaken.RunDone {
		return nil, err
	}
	for e, err := range t.Tenant.Log.Tail(t.ctx, t.id, at, eventlog.Follow{RunID: t.runID, Committed: true}) {
		if err != nil {
			return nil, err
		}
		t.at = e.Cursor
		if fin, err := t.take(&e); fin != nil || err != nil {
			return fin, err
		}
	}
	return &awaken.RunFinish{ThreadID: t.id, RunID: run.RunID, Result: &awaken.RunOutput{Response: run.FinalOutput, Status: run.Status}, Termination: run.Termination}, nil
}

// attend follows the run of a session that is begun again, and asks what it waits for. If the run is done,
// it does nothing.
func (s *session) attend(h *history) {
	run := h.open
	if run == nil {
		return
	}
	t := s.newTurn(false)
	t.enc, t.runID = h.enc, run.RunID
	s.mu.Lock()
	if s.turn != nil || s.over { // a prompt was faster
		s.mu.Unlock()
		t.stop(nil)
		return
	}
	s.turn, t.chosen = t, s.options
	s.mu.Unlock()
	s.spawn(func() {
		defer t.end()
		if run.Status == awaken.RunWaiting && !t.ask(run.Waiting, true) {
			return
		}
		fin, err := t.follow(h.end, false)
		switch {
		case err == nil && fin.Termination.Type == awaken.Failed:
			s.notice("The run failed: " + fin.Termination.Message)
		case err != nil && !errors.Is(err, errOver) && !errors.Is(err, errClosed) && s.ctx.Err() == nil:
			s.notice(failureOf(err, s.Logger).Message)
		}
	})
}
