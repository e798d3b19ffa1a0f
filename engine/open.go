package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// begin claims and acquires the thread, and finds or creates the run of the request. For a request
// that was answered before it returns a result and no run.
func (rt *Runtime) begin(ctx context.Context, req *awaken.RunRequest, sink awaken.Sink) (*run, *awaken.RunResult, error) {
	if err := req.Validate(); err != nil {
		return nil, nil, err
	}
	threadID, parent, res, err := rt.locate(ctx, req)
	if err != nil || res != nil {
		return nil, res, err
	}
	runCtx, cancel := context.WithCancelCause(traced(ctx, req))
	r := newRun()
	r.rt, r.ctx, r.thread, r.active.cancel = rt, runCtx, threadID, cancel
	r.attended, r.endAtOnce = req.Attended, req.End
	r.narrator, _ = ownership.Of[narrator](ctx)
	if req.Attended {
		r.active.parent = parent
	}
	if r.active.runID = cmp.Or(req.RunID, req.Continue); r.active.runID == "" {
		r.active.runID = rt.cfg.NewID()
	}
	if err := rt.active.claim(threadID, &r.active); err != nil {
		cancel(nil)
		return nil, nil, err
	}
	ready := false
	defer func() {
		if !ready { // on an error or a panic
			r.followed().end(nil, nil)
			rt.release(r)
			r.giveBack()
		}
	}()
	acquire := rt.cfg.Store.Acquire
	if o, ok := ownership.Of[acquirer](ctx); ok {
		acquire = o.Acquire
	}
	cp, err := acquire(ctx, threadID)
	if err != nil {
		return nil, nil, fmt.Errorf("acquire thread %s: %w", threadID, err)
	}
	atAcquired.Hit()
	op := opening{run: r, cp: cp}
	if err := op.open(ctx, req, sink); err != nil {
		return nil, nil, err
	}
	atOpened.Hit()
	ready = true
	return r, nil, nil
}

// locate returns the thread of a request and its parent. For a request that was answered before it
// returns a result.
func (rt *Runtime) locate(ctx context.Context, req *awaken.RunRequest) (threadID, parent string, res *awaken.RunResult, err error) {
	threadID, parent = req.ThreadID, req.ParentThreadID
	if req.Continue != "" {
		old, err := rt.cfg.Store.LoadRun(ctx, req.Continue)
		if err != nil {
			return "", "", nil, fmt.Errorf("continue run %s: %w", req.Continue, err)
		}
		if threadID != "" && threadID != old.ThreadID {
			return "", "", nil, fmt.Errorf("%w: run %s is on thread %s, not %s", awaken.ErrInvalid, req.Continue, old.ThreadID, threadID)
		}
		if threadID, parent = old.ThreadID, old.ParentThreadID; old.Status == awaken.RunDone {
			res, err = rt.answerAgain(ctx, req, old)
			return "", "", res, err
		}
	}
	if threadID == "" {
		if len(req.Decisions) > 0 || req.Rewind != "" {
			return "", "", nil, fmt.Errorf("%w: decisions and rewind need a thread_id", awaken.ErrInvalid)
		}
		threadID = rt.cfg.NewID()
	}
	return threadID, parent, nil, nil
}

// acquirer acquires the threads of runs that it owns, and knows which of them have not started.
type acquirer interface {
	Acquire(ctx context.Context, threadID string) (*awaken.Checkpoint, error)
	Accepted(runID string) *awaken.Run
}

// answerAgain answers a request to continue a run that is done. Decisions that were accepted before
// count as a repetition of the same request.
func (rt *Runtime) answerAgain(ctx context.Context, req *awaken.RunRequest, old *awaken.Run) (*awaken.RunResult, error) {
	if len(req.Decisions) == 0 && req.End == nil {
		return nil, fmt.Errorf("continue run %s: %w: it is done", old.RunID, awaken.ErrConflict)
	}
	calls, err := rt.cfg.Store.Calls(ctx, old.RunID)
	if err != nil {
		return nil, err
	}
	for i := range req.Decisions {
		if _, dup, err := checkDecision(old.ThreadID, calls, &req.Decisions[i], rt.cfg.Now()); err != nil {
			return nil, err
		} else if !dup {
			return nil, fmt.Errorf("continue run %s: %w: it is done", old.RunID, awaken.ErrConflict)
		}
	}
	return newResult(old, old.FinalOutput, old.Termination), nil
}

// opening finds or creates the run of a request, and sets it up from the thread's checkpoint. The
// request is a parameter of its methods and not a field, which would move it to the heap.
type opening struct {
	*run
	cp            *awaken.Checkpoint
	restoredFirst bool // it is opened for the first time since its database was restored
}

// open sets the run up from the checkpoint. Its steps follow each other instead of nesting, to
// keep the stack of a waiting run small.
func (op *opening) open(ctx context.Context, req *awaken.RunRequest, sink awaken.Sink) error {
	if err := op.choose(ctx, req); err != nil {
		return err
	}
	op.findRestored(req)
	if err := op.pin(ctx, req); err != nil {
		return err
	}
	if err := op.bind(ctx, req, sink); err != nil {
		return err
	}
	if op.hold != nil {
		op.prepareToWait(req)
		op.noteRestored()
		return nil
	}
	op.out.deferEvent(&awaken.RunStart{ThreadID: op.info.ThreadID, RunID: op.info.RunID, ParentRunID: op.info.ParentRunID, Identity: op.info, Request: given(req), End: op.endAtOnce})
	if op.resumed {
		if err := op.resumeCalls(req); err != nil {
			return err
		}
	}
	op.noteRestored()
	return op.takeInput(ctx, req)
}

// choose finds the run to continue, or creates the record of a new one.
func (op *opening) choose(ctx context.Context, req *awaken.RunRequest) error {
	old := op.cp.Run
	unfinished := old != nil && old.Status != awaken.RunDone
	op.fence, op.generation, op.journal.count = op.cp.Fence, op.cp.Generation, op.cp.Thread.MessageCount
	switch {
	case req.Continue != "":
		if !unfinished || old.RunID != req.Continue {
			return fmt.Errorf("continue run %s: %w: it is not the thread's open run", req.Continue, awaken.ErrConflict)
		}
	case len(req.Decisions) > 0:
		if !unfinished {
			return fmt.Errorf("thread %s has no waiting run: %w", op.thread, awaken.ErrNotFound)
		}
	case unfinished && req.RunID != "" && req.RunID != old.RunID:
		return fmt.Errorf("%w: thread %s has an open run %s: continue or cancel it first", awaken.ErrConflict, op.thread, old.RunID)
	case !unfinished:
		return op.newRecord(ctx, req)
	}
	if req.AgentID != "" && req.AgentID != old.AgentID && !awaken.IsVariant(old.AgentID, req.AgentID) {
		return fmt.Errorf("%w: run %s belongs to agent %q, not %q", awaken.ErrInvalid, old.RunID, old.AgentID, req.AgentID)
	}
	op.resumed = true // a decision or new input for a run that waits or was cut off
	*op.rec = *old
	op.rec.Taint = cmp.Or(old.Taint, req.Taint)
	op.step.index = max(0, old.Steps-1)
	op.step.response = lastText(op.cp.View, old.RunID)
	return nil
}

// newRecord creates the record of a new run.
func (op *opening) newRecord(ctx context.Context, req *awaken.RunRequest) error {
	rec := op.rec
	if req.RunID != "" {
		if err := op.adoptRecord(ctx, req.RunID); err != nil {
			return err
		}
	}
	rec.AgentID, rec.Origin = req.AgentID, cmp.Or(req.Origin, "user")
	if rec.AgentID == "" {
		rec.AgentID = op.inferAgent()
	} else if active := activeAgent(op.cp); awaken.IsVariant(active, rec.AgentID) {
		rec.AgentID = active // the thread was handed to a variant of the agent
	}
	if req.Mode != "foreground" {
		rec.Mode = req.Mode
	}
	rec.RunID, rec.ThreadID, rec.Adapter, rec.Depth, rec.Call = op.active.runID, op.thread, req.Adapter, req.Depth, req.Call
	rec.ParentRunID, rec.ParentThreadID, rec.ParentToolCallID = req.ParentRunID, req.ParentThreadID, req.ParentToolCallID
	rec.DispatchID, rec.SessionID, rec.UserID, rec.TransportRequestID = req.DispatchID, req.SessionID, req.UserID, req.TransportRequestID
	now := op.rt.cfg.Now().UnixMilli()
	rec.Status, rec.StartedAt, rec.CreatedAt = awaken.RunCreated, cmp.Or(rec.StartedAt, now), cmp.Or(rec.CreatedAt, now)
	return op.inheritTaint(ctx, req)
}

// adoptRecord checks that no run with that id has started, and continues its record if it was
// accepted.
func (op *opening) adoptRecord(ctx context.Context, runID string) error {
	if o, ok := ownership.Of[acquirer](ctx); ok && op.endAtOnce == nil {
		if accepted := o.Accepted(runID); accepted != nil {
			op.rec.CreatedAt = accepted.CreatedAt
			return nil
		}
	}
	old, err := op.rt.cfg.Store.LoadRun(ctx, runID)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	ended := op.endAtOnce != nil && old.Status == awaken.RunDone && old.StartedAt == 0 // only its input is left
	if old.Status != awaken.RunCreated && !ended || old.ThreadID != op.thread {
		return fmt.Errorf("%w: run %s already exists", awaken.ErrConflict, runID)
	}
	op.rec.CreatedAt = old.CreatedAt
	if ended {
		op.rec.StatusReason, op.rec.StartedAt, op.rec.FinishedAt = old.StatusReason, old.FinishedAt, old.FinishedAt
	}
	return nil
}

// bind sets up the run's agent, state, tools, budget and recorder.
func (op *opening) bind(ctx context.Context, req *awaken.RunRequest, sink awaken.Sink) error {
	cfg := &op.rt.cfg
	if op.hold == nil {
		op.amend(req)
	}
	op.info = op.rec.Info()
	if req.Mode != "" {
		op.info.Mode = req.Mode
	}
	op.rt.active.rename(&op.active, op.info.RunID)
	var err error
	if op.agent, err = op.reg.Runnable(op.info.AgentID); err != nil {
		if op.endAtOnce == nil && op.hold == nil {
			return err
		}
		op.agent = registry.Bare(op.info.AgentID, builtin.For) // enough to end the run, or to park it
	}
	op.rec.ResolutionID = op.reg.ID()
	if err := op.restore(req); err != nil {
		return err
	}
	if to := builtin.ActiveAgent.Get(op.st); to != "" && to != req.AgentID && req.AgentID != "" && !op.resumed && op.endAtOnce == nil && !awaken.IsVariant(to, req.AgentID) {
		op.forgetHandoff() // the request names another agent, of which the thread's is no variant
	}
	for i := range op.rec.FrontendTools {
		if err := op.tools.addFrontend(&op.rec.FrontendTools[i]); err != nil {
			return err
		}
	}
	if err := op.tools.offer(); err != nil {
		return err
	}
	if op.endAtOnce == nil && op.hold == nil {
		if err := op.tools.planOutput(); err != nil {
			return err
		}
		if !op.resumed {
			if err := op.tools.checkChoice(); err != nil {
				return err
			}
		}
	}
	if op.hold == nil {
		if err := op.wallet.bind(ctx); err != nil {
			return err
		}
	}
	_, none := cfg.Store.(discardStore)
	_, here := sink.(loopBody)
	slow, ok := cfg.Store.(awaken.Pipelined)
	op.journal.pipelined = ok && slow.Pipelined() && !here
	o := &op.out
	o.sink, o.runID, o.now, o.keep, o.epoch, o.seq = sink, op.info.RunID, cfg.Now, !none, op.cp.Fence, op.cp.Thread.End.Seq
	op.conv.msgs, op.conv.blobs = llm.Indexed(op.cp.Index, op.cp.View...), op.cp.HasBlobs
	op.conv.openWindow()
	op.journal.found = op.journal.count
	if op.hold == nil {
		op.follow()
	}
	return nil
}

// amend copies the options of the request, beyond messages, into the record.
func (op *opening) amend(req *awaken.RunRequest) {
	op.rec.Overrides = cmp.Or(req.Overrides, op.rec.Overrides)
	op.rec.Budget = cmp.Or(req.Budget, op.rec.Budget)
	if len(req.FrontendTools) > 0 {
		op.rec.FrontendTools, op.rec.Untrusted = req.FrontendTools, req.Untrusted
	}
	if len(req.OutputSchema) > 0 {
		op.rec.OutputSchema = req.OutputSchema
	}
}

// inferAgent chooses the agent of a request that names none: the one the thread was handed to,
// else the last one, else the default.
func (op *opening) inferAgent() string {
	last := ""
	if op.cp.Run != nil {
		last = op.cp.Run.AgentID
	}
	return cmp.Or(activeAgent(op.cp), last, DefaultAgentID)
}

// activeAgent is the agent the thread was handed to, or "".
func activeAgent(cp *awaken.Checkpoint) string {
	raw := cp.ThreadState[builtin.ActiveAgent.Name()]
	if raw == nil {
		return ""
	}
	var active string
	_ = json.Unmarshal(raw, &active) // a malformed value names no agent
	return active
}

// restore fills the state: the thread's and, if the run is resumed, the run's.
func (op *opening) restore(req *awaken.RunRequest) error {
	op.st = state.NewStore(op.agent.Schema)
	if err := op.st.Restore(op.cp.ThreadState, state.Skip); err != nil {
		return err
	}
	if op.resumed {
		if err := op.st.Restore(op.cp.RunState, state.Skip); err != nil {
			return err
		}
	}
	if op.hold != nil {
		return nil
	}
	if err := op.st.Seed(req.Seed); err != nil {
		return fmt.Errorf("%w: seed: %w", awaken.ErrInvalid, err)
	}
	op.sender.unsent = len(builtin.Outbox.Get(op.st))
	if len(req.Context) == 0 {
		return nil
	}
	var b state.Batch
	for _, m := range req.Context {
		if m.Role == llm.System && !op.trusts(req.Untrusted) {
			m.Role, m.Content = llm.User, asData("context", m.Content)
		}
		m.Source = "client"
		builtin.ContextMessages.Update(&b, builtin.ContextUpdate{Put: &m})
	}
	return op.st.Apply(&b)
}

// resumeCalls restores the calls that were open, and applies the request's decisions and the
// inbox.
func (op *opening) resumeCalls(req *awaken.RunRequest) error {
	op.step.closed = true
	for _, s := range op.cp.Calls {
		if s.RunID != op.info.RunID {
			continue
		}
		if s.IsHeld() {
			op.guards.restore(s)
			continue
		}
		if s.Step >= op.rec.Steps { // the step was cut off
			op.step.closed, op.step.index, op.rec.Steps = false, s.Step, s.Step
		}
		c := &call{state: s, shared: true, entry: op.tools.find(s.ToolName), steps: newCallSteps(s)}
		m, asked := answerIn(op.cp.View, s.CallID)
		if c.message, c.appended = m, m != nil; m == nil && s.Status.Terminal() {
			if !asked || s.Result == nil {
				continue // retracted
			}
			c.message = op.outcomes.answerTo(s, s.Result)
		}
		op.ledger.calls = append(op.ledger.calls, c)
		op.doubtRestored(c)
		op.ledger.cutOff(c)
		c.doubtful = s.Status == awaken.CallRunning && s.Effect == awaken.Effectful || isRestored(op.rec, c.state)
	}
	// A step with all answers stored is over.
	unanswered := func(c *call) bool { return !c.appended }
	if op.step.closed && !op.ledger.open() && !slices.ContainsFunc(op.ledger.calls, unanswered) {
		op.ledger.drop()
	}
	op.ledger.last = op.ledger.latest()
	atTakenUp.Hit()
	var refused []error
	if len(req.Decisions) > 0 && op.endAtOnce == nil { // those that were accepted before count
		waiting := slices.DeleteFunc(slices.Clone(op.cp.Inbox), func(it awaken.InboxItem) bool { return it.Decision == nil })
		if err := op.inbox.takeItems(waiting, llm.AtOpening); err != nil {
			return err
		}
	}
	for _, d := range req.Decisions {
		err := op.decider.decide(d, "")
		if _, ok := errors.AsType[storeError](err); ok {
			return err
		}
		if err != nil {
			refused = append(refused, err)
			op.decider.rejected = append(op.decider.rejected, err.Error())
		}
	}
	items := op.cp.Inbox
	if op.endAtOnce != nil { // the next owner reads the rest
		items = slices.DeleteFunc(slices.Clone(items), func(it awaken.InboxItem) bool { return it.RunID != op.info.RunID || len(it.Messages) == 0 })
	}
	if err := op.inbox.takeItems(items, llm.AtOpening); err != nil {
		return err
	}
	if err := op.compactor.hear(builtin.AtOpen); err != nil {
		return err
	}
	op.decider.expire() // a decision accepted in time counts, however late it is read
	op.children.recheckAll(op.ctx)
	if len(refused) > 0 && len(refused) == len(req.Decisions) && len(req.Messages) == 0 && len(op.ledger.changed) == 0 {
		return errors.Join(refused...)
	}
	return nil
}

// answerIn finds the answer to a call after the message that asked for it, and reports whether
// that message is in view.
func answerIn(view []*llm.Message, callID string) (answer *llm.Message, asked bool) {
	for _, m := range slices.Backward(view) {
		switch {
		case m.Role == llm.ToolRole && m.ToolCallID == callID:
			return m, true
		case m.HasCall(callID):
			return nil, true
		}
	}
	return nil, false
}

// rewind hides a message and everything after it.
func (op *opening) rewind(ctx context.Context, messageID string) error {
	at := -1
	for i, m := range op.cp.View {
		if m.ID == messageID {
			at = i
		}
	}
	view, err := op.rt.cfg.Store.View(ctx, op.info.ThreadID)
	if err != nil {
		return fmt.Errorf("rewind: %w", err)
	}
	log := view.Log()
	var seqs []int // visible records with that id
	for i, m := range log {
		if md := m.Metadata; md != nil && md.Rewind != nil {
			seqs = slices.DeleteFunc(seqs, func(seq int) bool { return seq >= md.Rewind.FromSeq })
		} else if m.ID == messageID {
			seqs = append(seqs, i+1)
		}
	}
	if len(seqs) == 0 {
		return fmt.Errorf("rewind: message %q: %w on thread %s", messageID, awaken.ErrNotFound, op.info.ThreadID)
	}
	op.guards.drop("rewound", "the conversation was rewound")
	open := op.ledger.calls
	for _, c := range open {
		if !c.state.Status.Terminal() {
			op.followed().withdrawn(&op.core, c.state, "rewound")
			s := op.ledger.edit(c)
			unmade(s, "the conversation was rewound")
			s.Status, s.UpdatedAt = awaken.CallCancelled, op.rt.cfg.Now().UnixMilli()
			op.children.cancelChild(s)
		}
	}
	op.ledger.drop()
	mark := &llm.Message{ID: op.rt.cfg.NewID(), Role: llm.System, Visibility: llm.Internal,
		Metadata: &llm.Metadata{Rewind: &llm.Rewind{FromSeq: seqs[len(seqs)-1]}, RunID: op.info.RunID}}
	op.conv.added = append(op.conv.added, mark)
	if at >= 0 {
		op.conv.rewriteFrom(at)
		op.cp.View = op.cp.View[:at] // what is hidden can be sent again
	} else { // it was summarised; messages hidden by the summary are visible again
		op.conv.rewriteFrom(0)
		op.cp.View = viewOf(append(log, mark))
		op.conv.msgs = llm.NewMessages(op.cp.View...)
	}
	op.conv.rewritten = true
	return op.noteDoubts(ctx, open, log[mark.Metadata.Rewind.FromSeq-1:])
}

// lastText is the text of the run's last answer.
func lastText(view []*llm.Message, runID string) string {
	for _, m := range slices.Backward(view) {
		if m.Role == llm.Assistant && m.Metadata != nil && m.Metadata.RunID == runID {
			if t := m.Text(); t != "" {
				return t
			}
		}
	}
	return ""
}

// viewOf returns the messages of a log that a model sees.
func viewOf(log []*llm.Message) []*llm.Message {
	var v awaken.View
	v.Append(log...)
	return v.Messages()
}
