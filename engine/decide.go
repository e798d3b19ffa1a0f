package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/llm"
)

// Decide delivers decisions to a run. A run that is active in this process acts on them at once,
// as its agent's execution mode says; a waiting run acts on them when it is resumed. Delivering a
// decision again, or an equal one ([awaken.Decision.Digest]), has no effect. If one decision is
// refused, none is delivered: the error is ErrInvalid if it is malformed or does not fit the
// question, ErrNotFound if it names no call of the run, ErrDecided if the call does not wait for a
// decision, and ErrExpired if the decision comes too late. Of different decisions the first one
// counts, from the moment that Decide accepts it; the error of the others is an *[awaken.Decided].
func (rt *Runtime) Decide(ctx context.Context, runID string, decisions ...awaken.Decision) error {
	run, items, err := rt.CheckDecisions(ctx, runID, decisions...)
	if err != nil {
		return err
	}
	if err := rt.post(ctx, run.ThreadID, items); err != nil {
		return fmt.Errorf("decide run %s: %w", runID, err)
	}
	return nil
}

// CheckDecisions checks decisions and returns the run and the inbox items that Decide would post:
// one for each decision that no commit has taken in. It posts nothing. Its errors are those of
// Decide, except that it does not know the decisions that wait in the inbox.
func (rt *Runtime) CheckDecisions(ctx context.Context, runID string, decisions ...awaken.Decision) (*awaken.Run, []awaken.InboxItem, error) {
	return rt.checkDecisions(ctx, runID, rt.cfg.Now(), false, decisions...)
}

// checkDecisions is CheckDecisions for decisions that are made at a time. If they were accepted,
// their arguments are left to the run that asks: it asks anew if they do not fit.
func (rt *Runtime) checkDecisions(ctx context.Context, runID string, at time.Time, accepted bool, decisions ...awaken.Decision) (*awaken.Run, []awaken.InboxItem, error) {
	run, err := rt.cfg.Store.LoadRun(ctx, runID)
	if err != nil {
		return nil, nil, fmt.Errorf("decide run %s: %w", runID, err)
	}
	calls, err := rt.cfg.Store.Calls(ctx, runID)
	if err != nil {
		return nil, nil, fmt.Errorf("decide run %s: %w", runID, err)
	}
	var items []awaken.InboxItem
	for i := range decisions {
		d := decisions[i]
		d.Complete()
		if err := d.Validate(); err != nil {
			return nil, nil, err
		}
		d.UpdatedAt, d.Unapplied = at.UnixMilli(), ""
		if !accepted {
			d.Trace = madeAt(tracecontext.Of(ctx))
		}
		s, dup, err := checkDecision(run.ThreadID, calls, &d, at)
		var item *awaken.InboxItem
		if s := findCall(calls, d.Target); s != nil && !dup { // the decision may be for a child
			if target, ok := s.ChildTarget(d.Target); ok {
				inner := d
				inner.Target = target
				var left []awaken.InboxItem
				if _, left, err = rt.checkDecisions(ctx, s.Child, at, accepted, inner); err == nil && len(left) == 0 {
					continue
				}
				if len(left) > 0 { // the question is the child's, on whichever thread it is decided
					item = &left[0]
					item.RunID, item.Decision = runID, &d
				}
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("decide run %s: %w", runID, err)
		}
		if dup {
			continue
		}
		if !accepted {
			if err := rt.checkArguments(ctx, run, s, &d); err != nil {
				return nil, nil, err
			}
		}
		if item == nil {
			item = decisionItem(run, s, d)
		}
		items = append(items, *item)
	}
	return run, items, nil
}

// decisionItem returns the inbox item of a decision on a call. All decisions on a question have
// the same id.
func decisionItem(run *awaken.Run, s *awaken.CallState, d awaken.Decision) *awaken.InboxItem {
	if s.Status.Terminal() {
		return settlementItem(run, s, d)
	}
	d.Target = s.SuspensionID()
	rec := s.Decided(run.ThreadID, &d)
	rec.RunID = run.RunID
	return &awaken.InboxItem{ID: "decision:" + run.RunID + ":" + d.Target, RunID: run.RunID, Decision: &d, Decided: rec}
}

// madeAt returns the position of a request that decides, if its trace is recorded.
func madeAt(at tracecontext.Context) string {
	if !at.Sampled() {
		return ""
	}
	at, _ = at.Begun()
	return at.String()
}

// checkArguments checks arguments edited by a person, if the tool is known in this process.
func (rt *Runtime) checkArguments(ctx context.Context, run *awaken.Run, s *awaken.CallState, d *awaken.Decision) error {
	if _, ok := s.ChildTarget(d.Target); ok || len(d.Arguments) == 0 {
		return nil
	}
	reg, err := rt.pinnedRegistry(ctx, run.ResolutionID)
	if err != nil {
		return nil // checked when the run is resumed
	}
	agent, err := reg.Runnable(run.AgentID)
	if err != nil {
		return nil // reported when the run is resumed
	}
	entry := agent.Tools[s.ToolName]
	if entry == nil {
		return nil
	}
	if err := entry.Schema.Check(d.Arguments); err != nil {
		return fmt.Errorf("decide run %s: decision on %q: %w: arguments do not fit the schema of the tool: %w", run.RunID, d.Target, awaken.ErrInvalid, err)
	}
	return nil
}

// findCall returns the call that a decision is about, by call id or suspension id.
func findCall(calls []*awaken.CallState, target string) *awaken.CallState {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].CallID == target || calls[i].SuspensionID() == target && target != "" || awaken.SettlementID(calls[i].CallID) == target {
			return calls[i]
		}
	}
	for _, s := range slices.Backward(calls) { // an earlier question of the call
		if slices.ContainsFunc(s.Earlier, func(e awaken.Decision) bool { return e.Target == target }) {
			return s
		}
	}
	var found *awaken.CallState // the call whose child it is about
	for _, s := range calls {
		if _, ok := s.ChildTarget(target); ok {
			if found != nil {
				return nil // ambiguous: two children have calls with that id
			}
			found = s
		}
	}
	return found
}

// made returns the decision that a call has on the question that d is about, or nil.
func made(s *awaken.CallState, d *awaken.Decision) *awaken.Decision {
	for i := range s.Earlier {
		e := &s.Earlier[i]
		if e.Target == d.Target && e.Target != s.CallID || e.ID == d.ID && d.ID != "" && (e.Target == d.Target || d.Target == s.CallID) {
			return e
		}
	}
	if s.Decision != nil && s.Decision.ID != expiredID {
		return s.Decision
	}
	return nil
}

// checkDecision finds the call that d is about. It reports whether d repeats an earlier decision,
// and returns an error if d cannot be accepted.
func checkDecision(threadID string, calls []*awaken.CallState, d *awaken.Decision, now time.Time) (s *awaken.CallState, dup bool, err error) {
	refuse := func(format string, args ...any) (*awaken.CallState, bool, error) {
		return nil, false, fmt.Errorf("decision on %q: "+format, append([]any{d.Target}, args...)...)
	}
	s = findCall(calls, d.Target)
	if s == nil {
		return refuse("tool call or suspension %w", awaken.ErrNotFound)
	}
	if _, ok := s.ChildTarget(d.Target); ok {
		if s.Status.Terminal() {
			return refuse("%w: its status is %s", awaken.ErrDecided, s.Status)
		}
		return s, false, nil // the child decides
	}
	if d.Outcome != "" && s.Status.Terminal() {
		dup, err := checkSettlement(threadID, s, d)
		if err != nil {
			return refuse("%w", err)
		}
		return s, dup, nil
	}
	if e := made(s, d); e != nil && e.Digest() == d.Digest() {
		return s, true, nil
	} else if e != nil {
		return refuse("%w", s.Decided(threadID, e))
	}
	switch {
	case s.Expired(now) && s.Ticket.OnExpiry != awaken.ExpireEscalate, s.Decision != nil && s.Decision.ID == expiredID:
		return refuse("%w", awaken.ErrExpired)
	case s.Status == awaken.CallNew, s.Status == awaken.CallRunning && s.Decision == nil:
		return refuse("%w: the call is %s and asks nothing", awaken.ErrInvalid, s.Status)
	case s.Status != awaken.CallSuspended:
		return refuse("%w: its status is %s", awaken.ErrDecided, s.Status)
	case d.Outcome != "" && (!s.Doubt.Open() || s.AwaitsChild()):
		return refuse("%w", notInDoubt(s, d))
	}
	if err := checkEdit(s, d.Arguments); err != nil {
		return refuse("%w", err)
	}
	if rs := s.Ticket.Suspension.ResponseSchema; len(rs) > 0 && d.Action == awaken.ActionResume && d.Outcome == "" {
		sch, err := schema.Compile(rs)
		if err != nil {
			return refuse("response schema: %w", err)
		}
		result := d.Result
		if len(result) == 0 {
			result = json.RawMessage("null")
		}
		if err := sch.Check(result); err != nil {
			return refuse("%w: result does not fit the response schema: %w", awaken.ErrInvalid, err)
		}
	}
	return s, false, nil
}

// decider applies decisions to calls.
type decider struct {
	*core
	guards   *guards
	children *children
	outcomes *outcomes

	rejected []string // decisions of the request that were rejected
}

// decide applies a decision to a call of the step. The call acts on it when its resume mode says
// so. A decision without an id is passed on to a child with the given one.
func (de *decider) decide(d awaken.Decision, id string) error {
	d.Complete()
	var calls []*call
	var states []*awaken.CallState
	for c := range de.ledger.every {
		calls, states = append(calls, c), append(states, c.state)
	}
	now := de.rt.cfg.Now()
	if d.UpdatedAt > 0 {
		now = time.UnixMilli(d.UpdatedAt) // the time it was accepted
	}
	s, dup, err := checkDecision(de.info.ThreadID, states, &d, now)
	if err != nil || dup {
		return err
	}
	c := calls[slices.Index(states, s)]
	if target, ok := s.ChildTarget(d.Target); ok {
		return de.children.forward(c, target, d, id)
	}
	if s.Status.Terminal() {
		return de.settleOver(s, d)
	}
	if len(d.Arguments) > 0 && c.entry != nil {
		err = c.entry.Schema.Check(d.Arguments)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("decision on %q: %w: arguments do not fit the schema of the tool: %w", d.Target, awaken.ErrInvalid, err)
		if id != "" { // it was accepted where the tool is not known
			de.askAgain(c, d, err)
		}
		return err
	case id == "":
		d.UpdatedAt, d.Unapplied, d.Trace = cmp.Or(d.UpdatedAt, de.rt.cfg.Now().UnixMilli()), "", "" // the activation is because of the request
		if err := de.record(s, d); err != nil {
			return err
		}
	}
	de.take(c, d)
	return nil
}

// record makes a decision of the request the one that counts: it posts it, as [Runtime.Decide] does,
// and reads it. The error is an ErrDecided if another was accepted meanwhile.
func (de *decider) record(s *awaken.CallState, d awaken.Decision) error {
	item := decisionItem(de.rec, s, d)
	if err := de.rt.cfg.Store.Post(de.ctx, de.info.ThreadID, *item); err != nil {
		return fmt.Errorf("decision on %q: %w", d.Target, stored(err))
	}
	de.journal.read = append(de.journal.read, item.ID)
	return nil
}

// askAgain asks the question of a call anew, after an accepted decision could not be used. The
// new question has an id of its own, because the old one is decided.
func (de *decider) askAgain(c *call, d awaken.Decision, why error) {
	s := de.ledger.edit(c)
	t := *s.Ticket
	de.followed().waited(de.core, s, &d, "")
	d.Target, d.Unapplied = s.SuspensionID(), why.Error()
	s.Decision = &d
	de.ledger.ticket(c, t)
}

// take applies an accepted decision to a call. A cancel answers the call at once.
func (de *decider) take(c *call, d awaken.Decision) {
	now := de.rt.cfg.Now().UnixMilli()
	d.UpdatedAt = cmp.Or(d.UpdatedAt, now)
	de.followed().waited(de.core, c.state, &d, "")
	s := de.ledger.edit(c)
	d.Target = s.SuspensionID()
	s.Decision, s.UpdatedAt, s.Status = &d, now, awaken.CallResuming
	atDecision.Hit()
	c.resume = nil
	if d.Action == awaken.ActionResume {
		s.Approved = append(slices.Clip(s.Approved), s.SuspensionID())
	}
	// An approval of before the copy of a restored database may have been acted on since.
	c.doubtful = d.Action == awaken.ActionResume && d.Outcome != awaken.OutcomeMade && isRestored(de.rec, s)
	if d.Action == awaken.ActionResume && d.Outcome == awaken.OutcomeNotMade && !c.doubtful && s.Doubt.Open() && s.Doubt.Step == "" { // it begins anew
		de.ledger.settle(c, d.Settlement())
		s.StartedAt, s.Attempts = 0, max(s.Attempts, 1)
	}
	if d.Action == awaken.ActionCancel && s.IsHeld() {
		de.guards.refuse(s)
		de.guards.release(c, awaken.CallCancelled, awaken.ErrorResult("", de.ending.Message))
	} else if d.Action == awaken.ActionCancel {
		de.children.cancelChild(s)
		res := s.RefusalResult(d.Reason)
		if d.Outcome == awaken.OutcomeNotMade {
			de.ledger.settle(c, d.Settlement())
			res = s.NotMadeResult(d.Reason)
		}
		de.outcomes.answer(c, awaken.CallCancelled, res)
		result := d.Result
		if len(result) == 0 || s.Doubt != nil { // what a client says about a call in doubt is not its result
			result = resumedValue(res)
		}
		de.out.deferEvent(&awaken.ToolCallResumed{TargetID: s.CallID, Result: result, MessageID: c.message.ID, Outcome: s.Status,
			Decision: de.decided(s), Doubt: s.Doubt})
	}
}

// decided returns the record of the decision on a call, or nil.
func (c *core) decided(s *awaken.CallState) *awaken.Decided {
	if s.Decision == nil {
		return nil
	}
	rec := s.Decided(c.info.ThreadID, s.Decision)
	rec.RunID = c.info.RunID
	return rec
}

// unmade notes why an approval had no effect, if the call is closed before it was made.
func unmade(s *awaken.CallState, why string) {
	if s.Decision != nil && s.Decision.Action == awaken.ActionResume && (s.Status == awaken.CallResuming || s.Status == awaken.CallNew) {
		d := *s.Decision
		d.Unapplied = why
		s.Decision = &d
	}
}

// expiredID is the id of the decision made when a ticket expires.
const expiredID = "expired"

// expire handles expired tickets.
func (de *decider) expire() {
	for c := range de.ledger.every {
		if !c.state.Expired(de.rt.cfg.Now()) {
			continue
		}
		if c.state.AwaitsChild() {
			de.children.recheck(c) // a ticket of the child has expired
			continue
		}
		switch c.state.Ticket.OnExpiry {
		case awaken.ExpireApprove:
			de.take(c, awaken.Decision{Target: c.state.CallID, ID: expiredID, Action: awaken.ActionResume, Reason: "no decision in time"})
		case awaken.ExpireEscalate:
			t := *c.state.Ticket
			t.ExpiresAt = 0
			s := de.ledger.edit(c)
			s.Ticket, s.Escalated = &t, true
		default:
			de.take(c, awaken.Decision{Target: c.state.CallID, ID: expiredID, Action: awaken.ActionCancel, Reason: "no decision in time"})
		}
	}
}

// supersede retracts the open calls: the model will not see that it asked for them.
func (de *decider) supersede(text string) {
	de.guards.drop("superseded", "superseded")
	if len(de.ledger.calls) > 0 {
		de.retract(text)
	}
}

// retract is supersede for the calls of a step.
func (de *decider) retract(text string) {
	for _, c := range de.ledger.calls {
		if c.state.Doubt.Open() && !c.state.Status.Terminal() { // it may have taken effect, and must not be hidden
			c.doubtful = false
			de.followed().withdrawn(de.core, c.state, "superseded")
			unmade(de.ledger.edit(c), "a message superseded the call")
			de.children.cancelChild(c.state)
			de.outcomes.doubt(c)
		} else if c.state.HeldResult != nil && !c.state.Status.Terminal() { // it has taken effect
			de.take(c, awaken.Decision{Target: c.state.CallID, Action: awaken.ActionCancel, Reason: "no decision"})
		}
	}
	at := de.conv.msgs.Len() - 1
	for at >= 0 && len(de.conv.msgs.At(at).ToolCalls) == 0 {
		at--
	}
	retracted := map[string]bool{}
	now := de.rt.cfg.Now().UnixMilli()
	for _, c := range de.ledger.calls {
		if c.message != nil && !c.appended {
			de.conv.added = append(de.conv.added, c.message)
			c.appended = true
		}
		if c.state.Status.Terminal() {
			continue
		}
		de.followed().withdrawn(de.core, c.state, "superseded")
		s := de.ledger.edit(c)
		unmade(s, "a message superseded the call")
		s.Status, s.UpdatedAt = awaken.CallCancelled, now
		de.children.cancelChild(s)
		retracted[s.CallID] = true
		de.conv.added = append(de.conv.added, &llm.Message{ID: de.rt.cfg.NewID(), Role: llm.ToolRole, ToolCallID: s.CallID, Visibility: llm.Internal,
			Content: []llm.Block{llm.Text(text)}, Metadata: de.metadata()})
	}
	if at >= 0 {
		m := de.conv.msgs.At(at)
		var keep []llm.ToolCall
		var answers []*llm.Message
		for _, tc := range m.ToolCalls {
			for _, c := range de.ledger.calls {
				if c.state.CallID == tc.ID && !retracted[tc.ID] && c.message != nil {
					keep, answers = append(keep, tc), append(answers, c.message)
				}
			}
		}
		others := slices.DeleteFunc(de.conv.msgs.From(at+1).Slice(), func(m *llm.Message) bool { return m.Role == llm.ToolRole }) // arrived while the calls were open
		de.conv.rewriteFrom(at)
		if m = m.WithCalls(keep); !m.Empty() {
			de.conv.msgs = de.conv.msgs.Append(m).Append(answers...)
		}
		de.conv.msgs = de.conv.msgs.Append(others...)
	}
	de.ledger.drop()
	de.conv.rewritten = true
}
