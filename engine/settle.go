package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// A call that is over may still be in doubt: the model was told so, a person refused to make it again, or
// its run has ended. Its settlement is a decision on a question of its own ([awaken.SettlementID]). The store
// shows it in the ledger from the moment that it is accepted; the thread's next reader of the inbox tells the
// model. Nothing is woken.

// settlementItem returns the inbox item of a settlement of a call that is over. Any run of the thread reads it.
func settlementItem(run *awaken.Run, s *awaken.CallState, d awaken.Decision) *awaken.InboxItem {
	d.Target = awaken.SettlementID(s.CallID)
	rec := s.Decided(run.ThreadID, &d)
	rec.RunID = run.RunID
	return &awaken.InboxItem{ID: "settlement:" + run.RunID + ":" + s.CallID, Decision: &d, Decided: rec}
}

// checkSettlement checks a decision with an outcome on a call that is over. It reports whether it repeats the
// settlement that the call has; the error of a different one is the record of that, an ErrDecided.
func checkSettlement(threadID string, s *awaken.CallState, d *awaken.Decision) (dup bool, err error) {
	switch doubt := s.Doubt; {
	case doubt.Open() && d.Outcome == awaken.OutcomeNotMade && d.Action == awaken.ActionResume:
		return false, fmt.Errorf("%w: action is resume, but the call is %s and cannot be made again; want cancel or none",
			awaken.ErrInvalid, s.Status)
	case doubt.Open():
		return false, nil
	case doubt == nil || doubt.Settled.By != "person":
		return false, notInDoubt(s, d)
	default:
		as := doubt.Settled
		has := awaken.Decision{Target: awaken.SettlementID(s.CallID), Action: d.Action, Outcome: as.Outcome, Result: as.Result, Reason: as.Reason,
			Actor: as.Actor, UpdatedAt: as.At}
		if has.Digest() == d.Digest() {
			return true, nil
		}
		return false, s.Decided(threadID, &has)
	}
}

// notInDoubt is the error of a decision with an outcome on a call that it cannot settle.
func notInDoubt(s *awaken.CallState, d *awaken.Decision) error {
	switch {
	case s.AwaitsChild():
		return fmt.Errorf("%w: outcome is %s, but the call waits for run %s; want the outcome of a call of that run",
			awaken.ErrInvalid, d.Outcome, s.Child)
	case s.Doubt != nil && !s.Doubt.Open():
		as := s.Doubt.Settled
		return fmt.Errorf("%w: outcome is %s, but the call is not in doubt any more: its outcome is %s, by its %s",
			awaken.ErrInvalid, d.Outcome, as.Outcome, as.By)
	}
	return fmt.Errorf("%w: outcome is %s, but the call is not in doubt; want a decision without outcome", awaken.ErrInvalid, d.Outcome)
}

// settleOver applies a settlement of the request to a call of the step that is over.
func (de *decider) settleOver(s *awaken.CallState, d awaken.Decision) error {
	if d.UpdatedAt == 0 {
		d.UpdatedAt = de.rt.cfg.Now().UnixMilli()
	}
	if err := de.record(s, d); err != nil {
		return err
	}
	de.settled(settlementItem(de.rec, s, d).Decided)
	return nil
}

// settled tells the model that a call was settled after it was over, and reports whether it is one of this run.
// The ledger has the settlement from the store.
func (de *decider) settled(rec *awaken.Decided) (own bool) {
	if own = rec.RunID == de.info.RunID; own {
		found := false
		for _, c := range de.ledger.calls {
			if c.state.CallID == rec.ToolCallID && c.state.Doubt.Open() {
				found = true
				de.ledger.settle(c, awaken.Settlement{
					Outcome: rec.Outcome,
					By:      "person",
					At:      rec.At,
					Actor:   rec.Actor,
					Reason:  rec.Reason,
					Result:  rec.Result,
				})
			}
		}
		if !found {
			de.rec.InDoubt = max(0, de.rec.InDoubt-1)
		}
	}
	de.conv.add(de.note(rec.SettlementNote()))
	return own
}

// note returns a message to the model that clients do not see.
func (c *core) note(text string) *llm.Message {
	return &llm.Message{ID: c.rt.cfg.NewID(), Role: llm.User, Visibility: llm.Internal, Content: []llm.Block{llm.Text(text)}}
}

// dropUnanswered hides calls that were never answered from the model of a new run: a rewind may have removed
// their answers, and a fork has none of a call that waits. A call that may have taken effect is not hidden.
func (op *opening) dropUnanswered(ctx context.Context) {
	at := op.conv.msgs.Len() - 1
	for at >= 0 && op.conv.msgs.At(at).Role != llm.Assistant {
		at--
	}
	if at < 0 || len(op.conv.msgs.At(at).ToolCalls) == 0 {
		return
	}
	step := op.conv.msgs.From(at).Slice()
	open := llm.Unanswered(step)
	if len(open) == 0 {
		return
	}
	var calls []*awaken.CallState
	if md := step[0].Metadata; md != nil && md.RunID != "" {
		var err error
		if calls, err = op.rt.cfg.Store.Calls(ctx, md.RunID); err != nil && !errors.Is(err, awaken.ErrNotFound) {
			op.log().Warn("cannot read the ledger of the run whose calls have no answers", "run", md.RunID, "error", err)
		}
	}
	for _, c := range open {
		m := &llm.Message{ID: op.rt.cfg.NewID(), Role: llm.ToolRole, ToolCallID: c.ID, Visibility: llm.Internal,
			Content: []llm.Block{llm.Text("[tool call was never answered]")}, Metadata: op.metadata()}
		if i := slices.IndexFunc(calls, func(s *awaken.CallState) bool { return s.CallID == c.ID }); i >= 0 && mayHaveEffect(calls[i]) {
			m.Visibility, m.Content = llm.VisibleAll, []llm.Block{llm.Text(calls[i].DoubtResult().Plain())}
		}
		op.conv.added, step = append(op.conv.added, m), append(step, m)
	}
	op.conv.rewriteFrom(at)
	op.conv.msgs = op.conv.msgs.Append(viewOf(step)...)
}

// mayHaveEffect reports whether a call without an answer may have taken effect: it is in doubt, or runs now.
func mayHaveEffect(s *awaken.CallState) bool {
	return s.Doubt.Open() || s.Status == awaken.CallRunning && s.StartedAt != 0 && s.Effect != awaken.ReadOnly
}

// noteDoubts tells the model about the calls in doubt that a rewind has hidden: open are the calls of the last
// step as they were, and hidden the messages.
func (op *opening) noteDoubts(ctx context.Context, open []*call, hidden []*llm.Message) error {
	var calls []*awaken.CallState
	for _, c := range open {
		calls = append(calls, c.state)
	}
	runs, err := op.rt.cfg.Store.ListRuns(ctx, awaken.RunQuery{ThreadID: op.info.ThreadID, InDoubt: true, Limit: 100})
	if err != nil {
		return fmt.Errorf("rewind: %w", err)
	}
	for _, r := range runs {
		more, err := op.rt.cfg.Store.Calls(ctx, r.RunID)
		if err != nil {
			return fmt.Errorf("rewind: %w", err)
		}
		calls = append(calls, more...)
	}
	noted := map[string]bool{}
	for _, s := range calls {
		asked := slices.ContainsFunc(hidden, func(m *llm.Message) bool { return m.HasCall(s.CallID) })
		if key := s.RunID + "/" + s.CallID; s.Doubt.Open() && asked && !noted[key] {
			noted[key] = true
			op.conv.add(op.note(s.DoubtNote()))
		}
	}
	return nil
}
