package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// inbox reads what others have posted to the thread.
type inbox struct {
	*core
	guards    *guards
	decider   *decider
	children  *children
	compactor *compactor

	received int  // messages read so far
	withdraw bool // a client wrote instead of deciding: withdraw the suspended calls
}

// take reads the inbox at a point: messages join the conversation, decisions are applied to suspended calls.
func (in *inbox) take(ctx context.Context, at llm.ArrivalPoint) error {
	if err := in.journal.waitInFlight(); err != nil { // or the store would return items read before
		return err
	}
	in.active.posted.Store(false)
	items, err := in.unread(ctx)
	if err != nil {
		return err
	}
	in.journal.unread = false
	return in.takeItems(items, at)
}

// unread returns the items of the inbox that no run has read.
func (in *inbox) unread(ctx context.Context) (items []awaken.InboxItem, err error) {
	err = in.waitOut(ctx, func() (err error) {
		items, err = in.rt.cfg.Store.Unread(ctx, in.info.ThreadID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("inbox of thread %s: %w", in.info.ThreadID, storeError{err})
	}
	return items, nil
}

// takeUnread reads and commits the items because of which the store refused to park or end the
// run.
func (in *inbox) takeUnread(ctx context.Context) error {
	n := len(in.journal.read)
	items, err := in.unread(ctx)
	if err != nil {
		return err
	}
	if err := in.takeItems(items, llm.AtEnd); err != nil {
		return err
	}
	if len(in.journal.read) == n {
		return fmt.Errorf("inbox of thread %s: %w, but none was found", in.info.ThreadID, awaken.ErrUnread)
	}
	return in.journal.commit(ctx, commitOptions{})
}

// compactionPoints are the points of the inbox as summaries have them.
var compactionPoints = map[llm.ArrivalPoint]builtin.CompactionPoint{llm.DuringCalls: builtin.AtInbox, llm.BehindStep: builtin.AtInbox,
	llm.AtEnd: builtin.AtUnread, llm.AtOpening: builtin.AtOpen}

// takeItems applies the items that may be read at a point. It fails if the store does: a
// decision that was accepted must not be lost.
func (in *inbox) takeItems(items []awaken.InboxItem, at llm.ArrivalPoint) error {
	active := at == llm.DuringCalls || at == llm.BehindStep
	for _, it := range items {
		if slices.Contains(in.journal.read, it.ID) || it.Boundary == awaken.OnNaturalEnd && active {
			continue
		}
		in.journal.read = append(in.journal.read, it.ID)
		foreign := it.RunID != "" && it.RunID != in.info.RunID
		if foreign && !it.Report.Outlives() {
			continue
		}
		if it.Decided.Settles() {
			if in.decider.settled(it.Decided) { // the model reads it
				in.received++
			}
		} else if it.Decision != nil {
			err := in.decider.decide(*it.Decision, it.ID)
			if _, ok := errors.AsType[storeError](err); ok {
				return fmt.Errorf("inbox of thread %s: %w", in.info.ThreadID, err)
			}
			if err != nil {
				in.log().Warn("refused a decision", "target", it.Decision.Target, "error", err)
			}
		}
		if it.Report != nil {
			in.children.reported(it.Report, foreign)
		}
		if it.Supersede {
			in.guards.drop("superseded", "superseded")
		}
		in.taint(it.Taint)
		for _, m := range it.Messages {
			in.guards.addInput(in.arrived(in.admit(m, it.Untrusted), at))
			in.received++
		}
		if it.Compaction != nil {
			if err := in.compactor.accept(it.Compaction, compactionPoints[at]); err != nil {
				in.log().Error("cannot apply a summary", "error", err)
			}
		}
		in.withdraw = in.withdraw || it.Supersede && in.ledger.open()
	}
	return nil
}

// arrived returns a message with the place at which the run reads it. The input of a run that begins has none.
//
//go:noinline
func (in *inbox) arrived(m *llm.Message, at llm.ArrivalPoint) *llm.Message {
	if at == llm.AtOpening && !in.resumed {
		return placed(m, nil)
	}
	a := &llm.Arrival{Steps: in.rec.Steps, Point: at}
	if c := in.ledger.last; c != nil && (at == llm.DuringCalls || at == llm.AtOpening) {
		a.After, a.Resumed = c.state.CallID, c.state.Ticket != nil && c.state.Status != awaken.CallSuspended
	}
	return placed(m, a)
}

// placed returns a message with the place at which it is read, which is nil for a message of a request: that may be one which another run has read.
func placed(m *llm.Message, a *llm.Arrival) *llm.Message {
	if a == nil && (m.Metadata == nil || m.Metadata.Arrival == nil) {
		return m
	}
	return place(m, a)
}

// place is placed for a message that changes. It is no part of the frames of its callers, which are on the stack of a run that waits.
//
//go:noinline
func place(m *llm.Message, a *llm.Arrival) *llm.Message {
	out := *m
	if out.Metadata = new(llm.Metadata); m.Metadata != nil {
		*out.Metadata = *m.Metadata
	}
	out.Metadata.Arrival = a
	return &out
}
