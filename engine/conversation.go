package engine

import "github.com/awaken-go/awaken/llm"

// conversation is what the model is shown, and what the next commit adds to the log.
type conversation struct {
	*activation

	msgs      llm.Messages
	added     []*llm.Message
	rewritten bool    // clients have to be shown all of it again
	window    *window // nil if the agent has no context policy
}

// add appends a message to the conversation; the next commit stores it.
func (cv *conversation) add(m *llm.Message) {
	cv.added = append(cv.added, m)
	cv.msgs = cv.msgs.Append(m)
}

// adopt gives a message that comes from outside an id.
func (cv *conversation) adopt(m *llm.Message) *llm.Message {
	if m.ID != "" {
		return m
	}
	c := *m
	c.ID = cv.rt.cfg.NewID()
	return &c
}

// rewriteFrom takes the messages from index at on out of the conversation, to be
// replaced.
func (cv *conversation) rewriteFrom(at int) {
	cv.msgs = cv.msgs.Cut(at)
	if w := cv.window; w != nil && at < w.Messages {
		w.forget()
	}
}

// visible returns the messages that API consumers may see.
func visible(msgs llm.Messages) []*llm.Message {
	out := make([]*llm.Message, 0, msgs.Len())
	for _, m := range msgs.All() {
		if !m.IsInternal() {
			out = append(out, m)
		}
	}
	return out
}
