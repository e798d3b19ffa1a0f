package agui

import (
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// content is what the client has of a step's assistant message: text, reasoning and calls.
type content struct {
	id        string        // the message's id
	text      bool          // TEXT_MESSAGE_START was sent, and no end
	reasoning bool          // REASONING_START was sent, and no end
	reasoned  bool          // reasoning was shown
	calls     []string      // ids of open calls
	shown     awaken.Cursor // cursor of the latest part that was shown
}

func (c *content) reasoningID() string { return reasoningID(c.id) }

// reasoningID returns the id of the reasoning that led to a message.
func reasoningID(messageID string) string { return messageID + ":reasoning" }

func (c *content) reasoningDelta(w *protocol.Writer, delta string, at awaken.Cursor) {
	if delta == "" {
		return
	}
	c.openReasoning(w)
	w.Object("REASONING_MESSAGE_CONTENT").Text(`,"messageId":`, c.reasoningID()).Text(`,"delta":`, delta).Close()
	c.shown = at
}

func (c *content) encrypted(w *protocol.Writer, value string, at awaken.Cursor) {
	c.openReasoning(w)
	w.Object("REASONING_ENCRYPTED_VALUE").Text(`,"subtype":"message","entityId":`, c.reasoningID()).Text(`,"encryptedValue":`, value).Close()
	c.shown = at
}

func (c *content) textDelta(w *protocol.Writer, delta string, at awaken.Cursor) {
	if delta == "" {
		return
	}
	c.closeReasoning(w)
	if !c.text {
		w.Object("TEXT_MESSAGE_START").Text(`,"messageId":`, c.id).Add(`,"role":"assistant"`).Close()
		c.text = true
	}
	w.Object("TEXT_MESSAGE_CONTENT").Text(`,"messageId":`, c.id).Text(`,"delta":`, delta).Close()
	c.shown = at
}

func (c *content) callStart(w *protocol.Writer, ev *awaken.ToolCallStart, at awaken.Cursor) {
	w.Object("TOOL_CALL_START").Text(`,"toolCallId":`, ev.ID).Text(`,"toolCallName":`, ev.Name).TextIf(`,"parentMessageId":`, c.id).Close()
	c.calls = append(c.calls, ev.ID)
	c.shown = at
}

func (c *content) callDelta(w *protocol.Writer, ev *awaken.ToolCallDelta, at awaken.Cursor) {
	if ev.ArgsDelta == "" || !slices.Contains(c.calls, ev.ID) {
		return
	}
	w.Object("TOOL_CALL_ARGS").Text(`,"toolCallId":`, ev.ID).Text(`,"delta":`, ev.ArgsDelta).Close()
	c.shown = at
}

func (c *content) openReasoning(w *protocol.Writer) {
	if c.reasoning {
		return
	}
	c.closeMessage(w)
	w.Object("REASONING_START").Text(`,"messageId":`, c.reasoningID()).Close()
	w.Object("REASONING_MESSAGE_START").Text(`,"messageId":`, c.reasoningID()).Add(`,"role":"reasoning"`).Close()
	c.reasoning, c.reasoned = true, true
}

func (c *content) closeReasoning(w *protocol.Writer) {
	if !c.reasoning {
		return
	}
	w.Object("REASONING_MESSAGE_END").Text(`,"messageId":`, c.reasoningID()).Close()
	w.Object("REASONING_END").Text(`,"messageId":`, c.reasoningID()).Close()
	c.reasoning = false
}

// closeMessage closes the text and the reasoning of the step's message.
func (c *content) closeMessage(w *protocol.Writer) {
	c.closeReasoning(w)
	if c.text {
		w.Object("TEXT_MESSAGE_END").Text(`,"messageId":`, c.id).Close()
		c.text = false
	}
}

func (c *content) closeCall(w *protocol.Writer, id string) {
	i := slices.Index(c.calls, id)
	if i < 0 {
		return
	}
	c.calls = slices.Delete(c.calls, i, i+1)
	w.Object("TOOL_CALL_END").Text(`,"toolCallId":`, id).Close()
}

// close closes everything that is open.
func (c *content) close(w *protocol.Writer) {
	c.closeMessage(w)
	for len(c.calls) > 0 {
		c.closeCall(w, c.calls[0])
	}
}
