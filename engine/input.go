package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// takeInput adds the request's messages. A visible user message supersedes everything that was
// waiting.
func (op *opening) takeInput(ctx context.Context, req *awaken.RunRequest) error {
	if op.resumed && op.endAtOnce != nil {
		return nil // the run has started meanwhile, with its input
	}
	if req.Rewind != "" {
		err := op.rewind(ctx, req.Rewind)
		if errors.Is(err, awaken.ErrNotFound) && slices.ContainsFunc(req.Messages, func(m *llm.Message) bool { return m.ID == req.Rewind }) {
			err = nil // an edit of a message that no run has taken in
		}
		if err != nil {
			return err
		}
	}
	if !op.resumed {
		op.dropUnanswered(ctx)
	}
	first := len(op.conv.added)             // index of the first input message
	if !op.resumed && op.endAtOnce == nil { // messages posted to the thread are input, too
		if err := op.compactor.hear(builtin.AtOpen); err != nil {
			return err
		}
		if err := op.takeWaiting(); err != nil {
			return err
		}
		for first < len(op.conv.added) && op.conv.added[first].Metadata != nil && op.conv.added[first].Metadata.Compaction != nil {
			first++ // a summary
		}
	}
	spoken := func(m *llm.Message) bool { return m.Role == llm.User && !m.IsInternal() }
	if len(req.Decisions) == 0 && slices.ContainsFunc(req.Messages, spoken) {
		op.decider.supersede("[tool call superseded]")
	}
	if op.resumed {
		first = len(op.conv.added)
	}
	if op.provisional() && (len(op.agent.Guards[awaken.InputPoint]) > 0 || slices.ContainsFunc(req.Messages, hasMedia)) {
		return errProvisional
	}
	input, err := op.detachInput(ctx, req.Messages)
	if err != nil {
		return err
	}
	for _, m := range input {
		m = op.admit(m, req.Untrusted)
		if said := op.unanswered(m.ID); said != nil && reflect.DeepEqual(said.Content, m.Content) {
			continue // the input of a run that ended before it started
		} else if said != nil {
			if err := op.rewind(ctx, m.ID); err != nil {
				return err
			}
		}
		op.guards.addInput(placed(m, nil))
	}
	if !op.resumed && req.Call == nil && len(req.Messages) == 0 && op.inbox.received == 0 && !op.conv.endsOpen() {
		return fmt.Errorf("%w: messages is empty, and thread %s has nothing to answer: a new run needs a message, a call, or a thread whose last message is not an answer",
			awaken.ErrInvalid, op.thread)
	}
	if op.rec.Input.FromSeq == 0 && len(op.conv.added) > first {
		op.rec.Input = llm.Interval{FromSeq: op.journal.count + first + 1, ToSeq: op.journal.count + len(op.conv.added)}
	}
	return nil
}

// takeWaiting takes in the messages that were posted to the thread before the run.
func (op *opening) takeWaiting() error {
	if len(op.cp.Inbox) == 0 {
		return nil // the frames of the rest are large
	}
	return op.inbox.takeItems(op.cp.Inbox, llm.AtOpening)
}

// provisional is implemented by an owner that opens a run before it is accepted.
type provisional interface{ Provisional() bool }

// errProvisional ends the opening of a run that is not accepted yet and would ask guards or store files, which is done once it is.
var errProvisional = errors.New("engine: the input is taken in when the run is accepted")

// provisional reports whether the run is not accepted yet.
func (op *opening) provisional() bool {
	o, ok := ownership.Of[provisional](op.ctx)
	return ok && o.Provisional()
}

func hasMedia(m *llm.Message) bool {
	return slices.ContainsFunc(m.Content, func(b llm.Block) bool { return b.Type != llm.TextBlock })
}

// unanswered returns the user message with that id after the last answer, or nil.
func (op *opening) unanswered(messageID string) *llm.Message {
	for _, m := range slices.Backward(op.cp.View) {
		if m.Role != llm.User {
			break
		}
		if m.ID == messageID && messageID != "" {
			return m
		}
	}
	return nil
}
