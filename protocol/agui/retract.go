package agui

import (
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// reset retracts deltas: those of the step, or all after a cursor.
func (e *Encoder) reset(ev *awaken.StreamReset) {
	e.raw(&awaken.StreamReset{Reason: ev.Reason})
	if ev.Cursor == "" {
		clear(e.asked)
		e.retract(false)
		return
	}
	at, err := awaken.ParseCursor(ev.Cursor)
	if err != nil {
		e.out.Fail(fmt.Errorf("stream_reset: %w", err))
		return
	}
	if e.content.shown != (awaken.Cursor{}) && !at.Before(e.content.shown) {
		e.has(e.content.id) // the part that was shown stays
	}
	e.retract(false)
	e.closeStep()
}

// retract shows the conversation without output that is not stored. If ended is true,
// everything that the run stored may be shown.
func (e *Encoder) retract(ended bool) {
	e.content.close(&e.out)
	if e.opts.Conversation == nil {
		return
	}
	all, err := e.opts.Conversation()
	if err != nil {
		e.out.Fail(err)
		return
	}
	emptied := ""
	if e.content.reasoned && !e.seen[e.content.id] {
		emptied = e.content.reasoningID()
	}
	showMessages(&e.out, e.until(all, ended), emptied)
}

// until cuts the conversation off at the client's position: the thread may be further along. Before the last message
// that the client has there may be others that it has not: results are in the order of their calls.
func (e *Encoder) until(all []*llm.Message, ended bool) []*llm.Message {
	last := -1
	for i, m := range all {
		if e.seen[m.ID] {
			last = i
		}
	}
	var out []*llm.Message
	inside := false
	for i, m := range all {
		of := protocol.RunOf(m)
		ahead := of == e.run && !ended && !e.seen[m.ID] && (m.Role == llm.Assistant || m.Role == llm.ToolRole) && !m.IsInternal()
		switch {
		case of != e.run && of != "" && inside, ahead && i > last:
			return out
		case ahead:
			continue
		case of == e.run:
			inside = true
		}
		out = append(out, m)
	}
	return out
}
