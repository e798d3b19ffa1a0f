package agui

import (
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// reset takes back deltas: those of the step, or all after a cursor.
func (e *Encoder) reset(f *protocol.Frames, ev *awaken.StreamReset) error {
	if err := e.raw(f, &awaken.StreamReset{Reason: ev.Reason}); err != nil {
		return err
	}
	if ev.Cursor == "" {
		clear(e.asked)
		return e.takeBack(f, false)
	}
	at, err := awaken.ParseCursor(ev.Cursor)
	if err != nil {
		return fmt.Errorf("stream_reset: %w", err)
	}
	if e.content.shown != (awaken.Cursor{}) && !at.Before(e.content.shown) {
		e.has(e.content.id) // what was shown of it stays
	}
	err = e.takeBack(f, false)
	e.closeStep(f)
	return err
}

// takeBack shows the conversation without what is not stored of it. Ended means that all
// the run has stored may be shown.
func (e *Encoder) takeBack(f *protocol.Frames, ended bool) error {
	e.content.close(f)
	if e.opts.Conversation == nil {
		return nil
	}
	all, err := e.opts.Conversation()
	if err != nil {
		return err
	}
	emptied := ""
	if e.content.reasoned && !e.seen[e.content.id] {
		emptied = e.content.reasoningID()
	}
	return closeMessages(f, e.until(all, ended), emptied)
}

// until cuts a conversation off where the client is: it may have gone on since.
func (e *Encoder) until(all []*llm.Message, ended bool) []*llm.Message {
	inside := false
	for i, m := range all {
		of := ""
		if m.Metadata != nil {
			of = m.Metadata.RunID
		}
		switch {
		case of == e.run && !ended && !e.seen[m.ID], of != e.run && of != "" && inside:
			return all[:i]
		case of == e.run:
			inside = true
		}
	}
	return all
}
