package awaken

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// begin takes a thread, and finds or makes the run that the request is about.
func (rt *Runtime) begin(ctx context.Context, req *RunRequest, sink Sink) (*run, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	threadID, parent := req.ThreadID, req.ParentThreadID
	if req.Continue != "" {
		old, err := rt.cfg.Store.LoadRun(ctx, req.Continue)
		if err != nil {
			return nil, fmt.Errorf("continue run %s: %w", req.Continue, err)
		}
		if threadID != "" && threadID != old.ThreadID {
			return nil, fmt.Errorf("%w: run %s is on thread %s, not %s", ErrInvalid, req.Continue, old.ThreadID, threadID)
		}
		if threadID, parent = old.ThreadID, old.ParentThreadID; old.Status == RunDone {
			return rt.replay(ctx, req, old)
		}
	}
	if threadID == "" {
		if len(req.Decisions) > 0 || req.Rewind != "" {
			return nil, fmt.Errorf("%w: decisions and rewind need a thread_id", ErrInvalid)
		}
		threadID = rt.cfg.NewID()
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	r := &run{rt: rt, attended: req.Attended, ctx: runCtx, thread: threadID, active: activeRun{cancel: cancel}, endAtOnce: req.End}
	if req.Attended {
		r.active.parent = parent
	}
	if r.active.runID = req.RunID; r.active.runID == "" {
		if r.active.runID = req.Continue; r.active.runID == "" {
			r.active.runID = rt.cfg.NewID()
		}
	}
	if err := rt.register(threadID, &r.active); err != nil {
		cancel(nil)
		return nil, err
	}
	ready := false
	defer func() {
		if !ready { // or something panicked
			rt.release(r)
		}
	}()
	cp, err := rt.cfg.Store.Acquire(ctx, threadID)
	if err != nil {
		return nil, fmt.Errorf("acquire thread %s: %w", threadID, err)
	}
	atAcquired.Hit()
	if req.Confirm != nil {
		if err := req.Confirm(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.open(ctx, req, cp, sink); err != nil {
		return nil, err
	}
	atOpened.Hit()
	ready = true
	return r, nil
}

// replay answers a request to continue a run that is done. Decisions that were
// taken before are taken to be the same request again.
func (rt *Runtime) replay(ctx context.Context, req *RunRequest, old *Run) (*run, error) {
	if len(req.Decisions) == 0 && req.End == nil {
		return nil, fmt.Errorf("continue run %s: %w: it is done", old.RunID, ErrConflict)
	}
	calls, err := rt.cfg.Store.Calls(ctx, old.RunID)
	if err != nil {
		return nil, err
	}
	for i := range req.Decisions {
		if _, dup, err := checkDecision(calls, &req.Decisions[i], rt.cfg.Now()); err != nil {
			return nil, err
		} else if !dup {
			return nil, fmt.Errorf("continue run %s: %w: it is done", old.RunID, ErrConflict)
		}
	}
	return &run{replayed: &RunResult{RunID: old.RunID, ThreadID: old.ThreadID, AgentID: old.AgentID, Response: old.FinalOutput,
		StructuredOutput: old.StructuredOutput, Status: old.Status, Termination: old.Termination, Steps: old.Steps, Usage: old.Usage, CostUSD: old.CostUSD,
		ChildUsage: old.ChildUsage, ChildCostUSD: old.ChildCostUSD}}, nil
}

// open sets the run up from what its thread holds. It is cut into steps that follow
// each other, not nested ones, to keep the stack of a waiting run small.
func (r *run) open(ctx context.Context, req *RunRequest, cp *Checkpoint, sink Sink) error {
	if err := r.choose(ctx, req, cp); err != nil {
		return err
	}
	if err := r.pin(ctx, req, cp); err != nil {
		return err
	}
	if err := r.bind(ctx, req, cp, sink); err != nil {
		return err
	}
	if r.unpinned != nil {
		r.leaveAsIs(req, cp)
		return nil
	}
	r.out.hold(&RunStart{ThreadID: r.info.ThreadID, RunID: r.info.RunID, ParentRunID: r.info.ParentRunID, Identity: r.info})
	if r.resumed {
		if err := r.takeUp(req, cp); err != nil {
			return err
		}
	}
	return r.takeInput(ctx, req, cp)
}

// choose finds the run to go on with, or makes the record of a new one.
func (r *run) choose(ctx context.Context, req *RunRequest, cp *Checkpoint) error {
	old := cp.Run
	unfinished := old != nil && old.Status != RunDone
	r.fence, r.generation, r.count = cp.Fence, cp.Generation, cp.Thread.MessageCount
	switch {
	case req.Continue != "":
		if !unfinished || old.RunID != req.Continue {
			return fmt.Errorf("continue run %s: %w: it is not the thread's open run", req.Continue, ErrConflict)
		}
	case len(req.Decisions) > 0:
		if !unfinished {
			return fmt.Errorf("thread %s has no waiting run: %w", r.thread, ErrNotFound)
		}
	case unfinished && req.RunID != "" && req.RunID != old.RunID:
		return fmt.Errorf("%w: thread %s has an open run %s: continue or cancel it first", ErrConflict, r.thread, old.RunID)
	case !unfinished:
		return r.newRecord(ctx, req, cp)
	}
	if req.AgentID != "" && req.AgentID != old.AgentID && !IsVariant(old.AgentID, req.AgentID) {
		return fmt.Errorf("%w: run %s belongs to agent %q, not %q", ErrInvalid, old.RunID, old.AgentID, req.AgentID)
	}
	r.resumed = true // a decision, or new input, for the run that waits or was cut off
	r.rec = *old
	r.index = max(0, old.Steps-1)
	r.response = lastText(cp.View, old.RunID)
	return nil
}

// newRecord makes the record of a new run.
func (r *run) newRecord(ctx context.Context, req *RunRequest, cp *Checkpoint) error {
	rec := &r.rec
	if req.RunID != "" {
		if err := r.adoptRecord(ctx, req.RunID); err != nil {
			return err
		}
	}
	rec.AgentID, rec.Origin = req.AgentID, req.Origin
	if rec.AgentID == "" {
		rec.AgentID = r.inferAgent(cp)
	} else if active := activeAgent(cp); IsVariant(active, rec.AgentID) {
		rec.AgentID = active // the thread has been handed to a variant of the agent
	}
	if rec.Origin == "" {
		rec.Origin = "user"
	}
	if req.Mode != "foreground" {
		rec.Mode = req.Mode
	}
	rec.RunID, rec.ThreadID, rec.Adapter, rec.Depth, rec.Call = r.active.runID, r.thread, req.Adapter, req.Depth, req.Call
	rec.ParentRunID, rec.ParentThreadID, rec.ParentToolCallID = req.ParentRunID, req.ParentThreadID, req.ParentToolCallID
	rec.DispatchID, rec.SessionID, rec.UserID, rec.TransportRequestID = req.DispatchID, req.SessionID, req.UserID, req.TransportRequestID
	now := r.rt.cfg.Now().Unix()
	rec.Status, rec.StartedAt = RunCreated, now
	if rec.CreatedAt == 0 {
		rec.CreatedAt = now
	}
	return nil
}

// adoptRecord makes sure that a run of that id has not started, and goes on with its
// record if it was accepted.
func (r *run) adoptRecord(ctx context.Context, runID string) error {
	old, err := r.rt.cfg.Store.LoadRun(ctx, runID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if old.Status != RunCreated || old.ThreadID != r.thread {
		return fmt.Errorf("%w: run %s exists already", ErrConflict, runID)
	}
	r.rec.CreatedAt = old.CreatedAt
	return nil
}

// bind gives the run its agent, its state, its tools and its recorder.
func (r *run) bind(ctx context.Context, req *RunRequest, cp *Checkpoint, sink Sink) error {
	cfg := &r.rt.cfg
	if r.unpinned == nil {
		r.amend(req)
	}
	r.info = r.rec.Info()
	if req.Mode != "" {
		r.info.Mode = req.Mode
	}
	r.rt.rename(&r.active, r.info.RunID)
	var err error
	if r.agent, err = r.reg.agent(r.info.AgentID); err != nil {
		if r.endAtOnce == nil && r.unpinned == nil {
			return err
		}
		r.agent = bare(r.info.AgentID) // to end the run, or leave it, no more is needed
	}
	r.rec.ResolutionID = r.reg.ID()
	if err := r.restore(req, cp); err != nil {
		return err
	}
	if to := ActiveAgent.Get(r.st); to != "" && to != req.AgentID && req.AgentID != "" && !r.resumed && !IsVariant(to, req.AgentID) {
		r.forgetHandoff() // the request wants another agent, and no variant of it has the thread
	}
	for i := range r.rec.FrontendTools {
		if err := r.addFrontendTool(r.rec.FrontendTools[i]); err != nil {
			return err
		}
	}
	r.offerTools()
	if r.endAtOnce == nil && r.unpinned == nil {
		if err := r.planOutput(); err != nil {
			return err
		}
	}
	if r.unpinned == nil {
		if err := r.bindSpending(ctx); err != nil {
			return err
		}
	}
	_, none := cfg.Store.(nothing)
	_, here := sink.(loopBody)
	slow, ok := cfg.Store.(Pipelined)
	r.pipelined = ok && slow.Pipelined() && !here
	o := &r.out
	o.sink, o.runID, o.now, o.keep, o.epoch, o.seq = sink, r.info.RunID, cfg.Now, !none, cp.Fence, cp.Seq
	r.borrow()
	r.msgs = llm.NewMessages(cp.View...)
	r.openWindow()
	r.found = r.count
	return nil
}

// amend takes over what the request asks for beyond messages.
func (r *run) amend(req *RunRequest) {
	if req.Overrides != nil {
		r.rec.Overrides = req.Overrides
	}
	if len(req.FrontendTools) > 0 {
		r.rec.FrontendTools = req.FrontendTools
	}
	if len(req.OutputSchema) > 0 {
		r.rec.OutputSchema = req.OutputSchema
	}
	if req.Budget != nil {
		r.rec.Budget = req.Budget
	}
}

func (r *run) addFrontendTool(spec ToolSpec) error {
	e, err := newToolEntry(FrontendTool(spec))
	if err != nil {
		return fmt.Errorf("%w: frontend tool %q: %w", ErrInvalid, spec.ID, err)
	}
	if r.frontend == nil {
		r.frontend = map[string]*toolEntry{}
	}
	r.frontend[spec.ID] = e
	return nil
}

// inferAgent chooses the agent of a request that names none: the one the thread
// was handed to, the one that ran last, the default.
func (r *run) inferAgent(cp *Checkpoint) string {
	if active := activeAgent(cp); active != "" {
		return active
	}
	if cp.Run != nil && cp.Run.AgentID != "" {
		return cp.Run.AgentID
	}
	return DefaultAgentID
}

// activeAgent is the agent that the thread was handed to, or "".
func activeAgent(cp *Checkpoint) string {
	raw := cp.ThreadState[ActiveAgent.Name()]
	if raw == nil {
		return ""
	}
	var active string
	if json.Unmarshal(raw, &active) != nil {
		return ""
	}
	return active
}

// restore fills the state: the thread's, and the run's when it is continued.
func (r *run) restore(req *RunRequest, cp *Checkpoint) error {
	r.st = state.NewStore(r.agent.schema)
	if err := r.st.Restore(cp.ThreadState, state.Skip); err != nil {
		return err
	}
	if r.resumed {
		if err := r.st.Restore(cp.RunState, state.Skip); err != nil {
			return err
		}
	}
	if r.unpinned != nil {
		return nil
	}
	if err := r.st.Seed(req.Seed); err != nil {
		return fmt.Errorf("%w: seed: %w", ErrInvalid, err)
	}
	r.unsent = len(outbox.Get(r.st))
	if len(req.Context) == 0 {
		return nil
	}
	var b state.Batch
	for i := range req.Context {
		contextMessages.Update(&b, contextUpdate{put: &req.Context[i]})
	}
	return r.st.Apply(&b)
}

// takeUp finds the calls that were open when the run stopped, and applies the
// decisions on them.
func (r *run) takeUp(req *RunRequest, cp *Checkpoint) error {
	r.stepClosed = true
	for _, s := range cp.Calls {
		if s.RunID != r.info.RunID {
			continue
		}
		if s.isHeld() {
			r.takeUpHeld(s)
			continue
		}
		if s.Step >= r.rec.Steps { // the step was cut off
			r.stepClosed, r.index, r.rec.Steps = false, s.Step, s.Step
		}
		c := &call{state: s, shared: true, entry: r.tool(s.ToolName)}
		m, asked := answerIn(cp.View, s.CallID)
		if c.message, c.appended = m, m != nil; m == nil && s.Status.Terminal() {
			if !asked || s.Result == nil {
				continue // retracted
			}
			c.message = r.answerTo(s, s.Result)
		}
		r.calls = append(r.calls, c)
		c.doubtful = s.Status == CallRunning && s.Effect == Effectful
	}
	// A step whose answers are all in is over.
	if !r.openCalls() {
		done := true
		for _, c := range r.calls {
			done = done && c.appended
		}
		if done && r.stepClosed {
			r.dropCalls()
		}
	}
	atTakenUp.Hit()
	accepted := 0
	var refused []error
	for _, d := range req.Decisions {
		if err := r.decide(d, ""); err != nil {
			refused = append(refused, err)
			r.rejected = append(r.rejected, err.Error())
		} else {
			accepted++
		}
	}
	if r.endAtOnce == nil { // else it is for whoever comes next
		r.takeItems(cp.Inbox, OnNaturalEnd)
	}
	r.expire() // what was decided in time counts, however late it is taken in
	r.lookAtChildren(r.ctx)
	if len(refused) > 0 && accepted == 0 && len(req.Messages) == 0 && len(r.changed) == 0 {
		return errors.Join(refused...)
	}
	return nil
}

// answerIn finds the answer to a call behind the message that asked for it, and
// whether that message is there.
func answerIn(view []*llm.Message, callID string) (answer *llm.Message, asked bool) {
	for i := len(view) - 1; i >= 0; i-- {
		switch m := view[i]; {
		case m.Role == llm.ToolRole && m.ToolCallID == callID:
			return m, true
		case m.HasCall(callID):
			return nil, true
		}
	}
	return nil, false
}

// doubtMargin is how long after its time limit a call may still take effect.
const doubtMargin = 10 * time.Second

// resolveDoubts deals with the effectful calls that had begun when their owner was
// lost. They may have taken effect, so none is simply made again: the tool is asked
// what became of it, and if it does not know, a person or the model decides.
func (r *run) resolveDoubts(ctx context.Context) *end {
	for _, c := range r.calls {
		if !c.doubtful {
			continue
		}
		c.doubtful = false
		atDoubt.Hit()
		switch p := r.probe(ctx, c); {
		case p.Outcome == ProbeDone:
			c.tc = r.toolCall(c)
			res, err := resultOf(c.state.ToolName, p.Result, nil)
			if err != nil {
				return r.fail(err)
			}
			if e := r.complete(ctx, &r.crew, c, res, nil); e != nil {
				return e
			}
		case p.Outcome == ProbeNotDone:
			s := r.edit(c)
			s.Status, s.StartedAt = CallNew, 0
		case c.entry != nil && c.entry.spec.InDoubt == DoubtSuspend:
			if e := r.suspend(c, &ToolResult{Suspension: &Ticket{Suspension: Suspension{ID: "in_doubt_" + c.state.CallID, Action: "tool:in_doubt",
				Message: fmt.Sprintf("Tool '%s' was cut off after it had begun. It may have taken effect. Make the call again?", c.state.ToolName), Parameters: c.state.Arguments}}}, nil, &r.crew); e != nil {
				return e
			}
		default:
			r.doubt(c)
		}
	}
	return nil
}

// probe asks the tool what became of a call.
func (r *run) probe(ctx context.Context, c *call) (p Probe) {
	if c.entry == nil {
		return Probe{}
	}
	prober, ok := c.entry.tool.(Prober)
	if !ok {
		return Probe{}
	}
	defer func() {
		if v := recover(); v != nil {
			r.rt.cfg.Logger.Error("probe panicked", "run", r.info.RunID, "call", c.state.CallID, "tool", c.state.ToolName, "panic", v)
			p = Probe{}
		}
	}()
	p, err := prober.Probe(ctx, r.toolCall(c))
	if err != nil {
		r.rt.cfg.Logger.Warn("probe failed", "run", r.info.RunID, "call", c.state.CallID, "tool", c.state.ToolName, "error", err)
		return Probe{}
	}
	limit := r.rt.callLimit(c.entry)
	if p.Outcome == ProbeNotDone && (limit <= 0 || r.rt.cfg.Now().UnixMilli() < c.state.StartedAt+(limit+doubtMargin).Milliseconds()) {
		return Probe{} // the owner that was lost may still be about to make the call
	}
	return p
}

// doubt tells the model that a call may have taken effect.
func (r *run) doubt(c *call) {
	s := r.edit(c)
	res := ErrorResult("in_doubt", fmt.Sprintf("the call of tool %q was cut off after it had begun; whether it took effect is not known, and it was not repeated", s.ToolName))
	res.ToolName, res.Metadata = s.ToolName, map[string]any{"in_doubt": true}
	s.Status, s.Result, s.UpdatedAt = CallFailed, res, r.rt.cfg.Now().UnixMilli()
	c.message = r.answerTo(s, res)
	r.holdOutcome(c, CallFailed)
}

// takeInput adds the request's messages. A visible message of the user takes the
// place of everything that was waiting.
func (r *run) takeInput(ctx context.Context, req *RunRequest, cp *Checkpoint) error {
	if req.Rewind != "" {
		if err := r.rewind(ctx, req.Rewind, cp); err != nil {
			return err
		}
	}
	if !r.resumed {
		r.dropUnanswered()
	}
	first := len(r.added) // of the input
	if !r.resumed {       // what others have said to the thread is what the run is about, too
		r.takeItems(cp.Inbox, OnNaturalEnd)
		for first < len(r.added) && r.added[first].Metadata != nil && r.added[first].Metadata.Compaction != nil {
			first++ // a summary
		}
	}
	for _, m := range req.Messages {
		if m.Role == llm.User && !m.IsInternal() && len(req.Decisions) == 0 {
			r.supersede("[tool call superseded]")
			break
		}
	}
	if r.resumed {
		first = len(r.added)
	}
	for _, m := range req.Messages {
		r.addInput(m)
	}
	if r.rec.Input.FromSeq == 0 && len(r.added) > first {
		r.rec.Input = llm.Interval{FromSeq: r.count + first + 1, ToSeq: r.count + len(r.added)}
	}
	return nil
}

// rewind hides a message and everything after it.
func (r *run) rewind(ctx context.Context, messageID string, cp *Checkpoint) error {
	at := -1
	for i, m := range cp.View {
		if m.ID == messageID {
			at = i
		}
	}
	log, err := r.rt.cfg.Store.Messages(ctx, r.info.ThreadID, MessageQuery{})
	if err != nil {
		return fmt.Errorf("rewind: %w", err)
	}
	var seqs []int // of the records of that id that are not hidden
	for _, rec := range log {
		if md := rec.Message.Metadata; md != nil && md.Rewind != nil {
			seqs = slices.DeleteFunc(seqs, func(seq int) bool { return seq >= md.Rewind.FromSeq })
		} else if rec.Message.ID == messageID {
			seqs = append(seqs, rec.Seq)
		}
	}
	if len(seqs) == 0 {
		return fmt.Errorf("rewind: message %q: %w on thread %s", messageID, ErrNotFound, r.info.ThreadID)
	}
	r.dropHeld("superseded")
	for _, c := range r.calls {
		if !c.state.Status.Terminal() {
			s := r.edit(c)
			s.Status, s.UpdatedAt = CallCancelled, r.rt.cfg.Now().UnixMilli()
			r.leaveChild(s)
		}
	}
	r.dropCalls()
	mark := &llm.Message{ID: r.rt.cfg.NewID(), Role: llm.System, Visibility: llm.Internal,
		Metadata: &llm.Metadata{Rewind: &llm.Rewind{FromSeq: seqs[len(seqs)-1]}, RunID: r.info.RunID}}
	r.added = append(r.added, mark)
	if at >= 0 {
		r.rewriteFrom(at)
	} else { // it was summarised, and with it something that is shown again now
		whole := make([]*llm.Message, 0, len(log)+1)
		for _, rec := range log {
			whole = append(whole, rec.Message)
		}
		r.rewriteFrom(0)
		r.msgs = llm.NewMessages(viewOf(append(whole, mark))...)
	}
	r.rewritten = true
	return nil
}

// supersede retracts the calls that are open: the model will not see that it asked.
func (r *run) supersede(text string) {
	r.dropHeld("superseded")
	if len(r.calls) == 0 {
		return
	}
	for _, c := range r.calls {
		if c.doubtful { // it may have happened, and must not be hidden
			c.doubtful = false
			r.doubt(c)
		} else if c.state.Held != nil && !c.state.Status.Terminal() { // it has happened
			r.takeDecision(c, Decision{Target: c.state.CallID, Action: ActionCancel, Reason: "nobody decided"})
		}
	}
	at := r.msgs.Len() - 1
	for at >= 0 && len(r.msgs.At(at).ToolCalls) == 0 {
		at--
	}
	retracted := map[string]bool{}
	now := r.rt.cfg.Now().UnixMilli()
	for _, c := range r.calls {
		if c.message != nil && !c.appended {
			r.added = append(r.added, c.message)
			c.appended = true
		}
		if c.state.Status.Terminal() {
			continue
		}
		s := r.edit(c)
		s.Status, s.UpdatedAt = CallCancelled, now
		r.leaveChild(s)
		retracted[s.CallID] = true
		r.added = append(r.added, &llm.Message{ID: r.rt.cfg.NewID(), Role: llm.ToolRole, ToolCallID: s.CallID, Visibility: llm.Internal,
			Content: []llm.Block{llm.Text(text)}, Metadata: r.metadata()})
	}
	if at >= 0 {
		m := r.msgs.At(at)
		var keep []llm.ToolCall
		var answers []*llm.Message
		for _, tc := range m.ToolCalls {
			for _, c := range r.calls {
				if c.state.CallID == tc.ID && !retracted[tc.ID] && c.message != nil {
					keep, answers = append(keep, tc), append(answers, c.message)
				}
			}
		}
		var others []*llm.Message // that came while the calls were open
		for i := at + 1; i < r.msgs.Len(); i++ {
			if o := r.msgs.At(i); o.Role != llm.ToolRole {
				others = append(others, o)
			}
		}
		r.rewriteFrom(at)
		if m = m.WithCalls(keep); !m.Empty() {
			r.msgs = r.msgs.Append(m).Append(answers...)
		}
		r.msgs = r.msgs.Append(others...)
	}
	r.dropCalls()
	r.rewritten = true
}

// dropCalls forgets the calls of the last step. If the step was cut off it is over
// now: its number, and with it the keys of its calls, must not be used again.
func (r *run) dropCalls() {
	r.calls = nil
	if r.resumed && !r.stepClosed {
		r.stepClosed = true
		r.rec.Steps = r.index + 1
	}
}

// dropUnanswered leaves calls that never got an answer out of what a new run's
// model is shown: a rewind may have cut them off from it.
func (r *run) dropUnanswered() {
	at := r.msgs.Len() - 1
	for at >= 0 && r.msgs.At(at).Role != llm.Assistant {
		at--
	}
	if at < 0 || len(r.msgs.At(at).ToolCalls) == 0 {
		return
	}
	var step []*llm.Message
	for i := at; i < r.msgs.Len(); i++ {
		step = append(step, r.msgs.At(i))
	}
	open := llm.Unanswered(step)
	if len(open) == 0 {
		return
	}
	for _, c := range open {
		m := &llm.Message{ID: r.rt.cfg.NewID(), Role: llm.ToolRole, ToolCallID: c.ID, Visibility: llm.Internal,
			Content: []llm.Block{llm.Text("[tool call was never answered]")}, Metadata: r.metadata()}
		r.added, step = append(r.added, m), append(step, m)
	}
	r.rewriteFrom(at)
	r.msgs = r.msgs.Append(viewOf(step)...)
}

// findCall returns the call a decision is about, by its id or its suspension's.
func findCall(calls []*CallState, target string) *CallState {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].CallID == target || calls[i].SuspensionID() == target && target != "" {
			return calls[i]
		}
	}
	var found *CallState // whose child it is for
	for _, s := range calls {
		if _, ok := s.inner(target); ok {
			if found != nil {
				return nil // two children have calls of that id
			}
			found = s
		}
	}
	return found
}

// checkDecision finds the call that d is about. It reports whether d repeats a
// decision that was taken, and otherwise whether it can be taken.
func checkDecision(calls []*CallState, d *Decision, now time.Time) (s *CallState, dup bool, err error) {
	refuse := func(format string, args ...any) (*CallState, bool, error) {
		return nil, false, fmt.Errorf("decision on %q: "+format, append([]any{d.Target}, args...)...)
	}
	s = findCall(calls, d.Target)
	switch {
	case s == nil:
		return refuse("%w: no such tool call or suspension", ErrNotFound)
	case s.Decision != nil && d.ID != "" && s.Decision.ID == d.ID:
		return s, true, nil
	}
	if _, ok := s.inner(d.Target); ok && !s.Status.Terminal() {
		return s, false, nil // its child has to say
	}
	switch {
	case s.expired(now), s.Decision != nil && s.Decision.ID == expiredID:
		return refuse("%w", ErrExpired)
	case s.Status != CallSuspended:
		return refuse("%w: it is %s", ErrDecided, s.Status)
	}
	if err := s.checkEdit(d.Arguments); err != nil {
		return refuse("%w", err)
	}
	if rs := s.Ticket.Suspension.ResponseSchema; len(rs) > 0 && d.Action == ActionResume {
		sch, err := schema.Compile(rs)
		if err != nil {
			return refuse("response schema: %w", err)
		}
		result := d.Result
		if len(result) == 0 {
			result = json.RawMessage("null")
		}
		if err := sch.Check(result); err != nil {
			return refuse("%w: result does not fit: %w", ErrInvalid, err)
		}
	}
	return s, false, nil
}

// decide applies a decision to a call of the step. What the decision asks for
// happens when the call's mode says so. A decision that has no id is passed on to a child
// with this one.
func (r *run) decide(d Decision, id string) error {
	var calls []*call
	var states []*CallState
	for c := range r.everyCall {
		calls, states = append(calls, c), append(states, c.state)
	}
	now := r.rt.cfg.Now()
	if d.UpdatedAt > 0 {
		now = time.UnixMilli(d.UpdatedAt) // when it was accepted
	}
	s, dup, err := checkDecision(states, &d, now)
	if err != nil || dup {
		return err
	}
	c := calls[slices.Index(states, s)]
	if target, ok := s.inner(d.Target); ok {
		return r.forward(c, target, d, id)
	}
	if len(d.Arguments) > 0 && c.entry != nil {
		if err := c.entry.schema.Check(d.Arguments); err != nil {
			return fmt.Errorf("decision on %q: %w: arguments do not fit: %w", d.Target, ErrInvalid, err)
		}
	}
	r.takeDecision(c, d)
	return nil
}

func (r *run) takeDecision(c *call, d Decision) {
	now := r.rt.cfg.Now().UnixMilli()
	if d.UpdatedAt == 0 {
		d.UpdatedAt = now
	}
	s := r.edit(c)
	s.Decision, s.UpdatedAt, s.Status = &d, now, CallResuming
	atDecision.Hit()
	c.resume = nil
	if d.Action == ActionResume {
		s.Approved = append(slices.Clip(s.Approved), s.SuspensionID())
	}
	if d.Action == ActionCancel && s.isHeld() {
		r.refuseHeld(s)
		r.release(c, CallCancelled, ErrorResult("", r.ending.Message))
	} else if d.Action == ActionCancel {
		s.Status = CallCancelled
		r.leaveChild(s)
		res := ErrorResult("", refusal(s, &d))
		res.ToolName = s.ToolName
		res.Metadata = map[string]any{"rejected": true}
		s.Result = res
		c.message = r.answerTo(s, res)
		result := d.Result
		if len(result) == 0 {
			result = res.resumed()
		}
		r.out.hold(&ToolCallResumed{TargetID: s.CallID, Result: result, MessageID: c.message.ID, Outcome: s.Status})
	}
}

// refusal is what the model is told about a call that people did not allow.
func refusal(s *CallState, d *Decision) string {
	var sb strings.Builder
	if s.Held != nil {
		fmt.Fprintf(&sb, "The call of tool %q was made, but its result was withheld", s.ToolName)
		if d.Reason != "" {
			fmt.Fprintf(&sb, ": %s", d.Reason)
		}
		return sb.String() + "."
	}
	fmt.Fprintf(&sb, "The call of tool %q was refused", s.ToolName)
	if d.Reason != "" {
		fmt.Fprintf(&sb, ": %s", d.Reason)
	}
	sb.WriteString(". It was not made.")
	return sb.String()
}

// expiredID is the id of the decision that is taken when nobody decides in time.
const expiredID = "expired"

// expire deals with the suspensions whose time is over.
func (r *run) expire() {
	for c := range r.everyCall {
		if !c.state.expired(r.rt.cfg.Now()) {
			continue
		}
		if c.state.awaits() {
			r.lookAgain(c) // it is a ticket of the child that has expired
			continue
		}
		switch c.state.Ticket.OnExpiry {
		case ExpireApprove:
			r.takeDecision(c, Decision{Target: c.state.CallID, ID: expiredID, Action: ActionResume, Reason: "nobody decided in time"})
		case ExpireEscalate:
			t := *c.state.Ticket
			t.ExpiresAt = 0
			s := r.edit(c)
			s.Ticket, s.Escalated = &t, true
		default:
			r.takeDecision(c, Decision{Target: c.state.CallID, ID: expiredID, Action: ActionCancel, Reason: "nobody decided in time"})
		}
	}
}

// lastText is the last answer of a run.
func lastText(view []*llm.Message, runID string) string {
	for i := len(view) - 1; i >= 0; i-- {
		m := view[i]
		if m.Role == llm.Assistant && m.Metadata != nil && m.Metadata.RunID == runID {
			if t := m.Text(); t != "" {
				return t
			}
		}
	}
	return ""
}

func isRuntimeKey(name string) bool { return strings.HasPrefix(name, "__runtime.") }

// escapePointer escapes a key for a JSON Pointer.
func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
