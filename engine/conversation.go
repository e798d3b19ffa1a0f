package engine

import (
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
)

// conversation is the messages the model sees, and the messages the next commit appends to the
// log.
type conversation struct {
	*activation

	msgs      llm.Messages
	added     []*llm.Message
	rewritten bool    // clients need a messages_snapshot
	blobs     bool    // some message may refer to a stored file
	window    *window // nil if the agent has no context policy
}

// add appends a message to the conversation. The next commit stores it.
func (cv *conversation) add(m *llm.Message) {
	cv.added = append(cv.added, m)
	cv.msgs = cv.msgs.Append(m)
	cv.blobs = cv.blobs || m.HasBlobs()
}

// stepMessage returns the id of the message of a step. It follows from the run and the step, so
// that a step which another owner began has the same id when it is begun again: a client that has
// seen part of the message replaces it. Only a step that was stored, and is counted again, gets
// another.
func (cv *conversation) stepMessage(index int) string {
	id := ids.Of(cv.info.RunID, index)
	last := cv.msgs.Len() - 1
	for last >= 0 && cv.msgs.At(last).Role != llm.Assistant {
		last--
	}
	if last >= 0 && cv.msgs.At(last).ID == id {
		return cv.rt.cfg.NewID()
	}
	return id
}

// endsOpen reports whether the conversation ends with something to answer.
func (cv *conversation) endsOpen() bool {
	n := cv.msgs.Len()
	return n > 0 && cv.msgs.At(n-1).Role != llm.Assistant
}

// adopt gives a message from outside an id, if it has none.
func (cv *conversation) adopt(m *llm.Message) *llm.Message {
	if m.ID != "" {
		return m
	}
	c := *m
	c.ID = cv.rt.cfg.NewID()
	return &c
}

// rewriteFrom removes the messages from index at on, for the caller to replace.
func (cv *conversation) rewriteFrom(at int) {
	cv.msgs = cv.msgs.Cut(at)
	if w := cv.window; w != nil && at < w.Messages {
		w.forget()
	}
}

// visible returns the messages that API clients may see.
func visible(msgs llm.Messages) []*llm.Message {
	out := make([]*llm.Message, 0, msgs.Len())
	for _, m := range msgs.All() {
		if !m.IsInternal() {
			out = append(out, m)
		}
	}
	return out
}
