package agui

import (
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/protocol"
)

// content is the assistant message of a step, as far as it is shown: its text, its reasoning
// and the calls that it makes.
type content struct {
	id        string        // of the message
	text      bool          // its text is open
	reasoning bool          // its reasoning is open
	reasoned  bool          // its reasoning was shown
	calls     []string      // that are open
	shown     awaken.Cursor // of the latest part that was shown
}

func (c *content) reasoningID() string { return reasoningID(c.id) }

// reasoningID is the id of the reasoning that led to a message.
func reasoningID(messageID string) string { return messageID + ":reasoning" }

func (c *content) reasoningDelta(f *protocol.Frames, delta string, at awaken.Cursor) {
	if delta == "" {
		return
	}
	c.openReasoning(f)
	f.Close(append(appendjson.Text(with(f, "REASONING_MESSAGE_CONTENT", "messageId", c.reasoningID()), `,"delta":`, delta), '}'))
	c.shown = at
}

func (c *content) encrypted(f *protocol.Frames, value string, at awaken.Cursor) {
	c.openReasoning(f)
	buf := appendjson.Text(open(f, "REASONING_ENCRYPTED_VALUE"), `,"subtype":"message","entityId":`, c.reasoningID())
	f.Close(append(appendjson.Text(buf, `,"encryptedValue":`, value), '}'))
	c.shown = at
}

func (c *content) textDelta(f *protocol.Frames, delta string, at awaken.Cursor) {
	if delta == "" {
		return
	}
	c.closeReasoning(f)
	if !c.text {
		f.Close(append(with(f, "TEXT_MESSAGE_START", "messageId", c.id), `,"role":"assistant"}`...))
		c.text = true
	}
	f.Close(append(appendjson.Text(with(f, "TEXT_MESSAGE_CONTENT", "messageId", c.id), `,"delta":`, delta), '}'))
	c.shown = at
}

func (c *content) callStart(f *protocol.Frames, ev *awaken.ToolCallStart, at awaken.Cursor) {
	buf := appendjson.Text(with(f, "TOOL_CALL_START", "toolCallId", ev.ID), `,"toolCallName":`, ev.Name)
	f.Close(append(appendjson.TextIf(buf, `,"parentMessageId":`, c.id), '}'))
	c.calls = append(c.calls, ev.ID)
	c.shown = at
}

func (c *content) callDelta(f *protocol.Frames, ev *awaken.ToolCallDelta, at awaken.Cursor) {
	if ev.ArgsDelta == "" || !slices.Contains(c.calls, ev.ID) {
		return
	}
	f.Close(append(appendjson.Text(with(f, "TOOL_CALL_ARGS", "toolCallId", ev.ID), `,"delta":`, ev.ArgsDelta), '}'))
	c.shown = at
}

func (c *content) openReasoning(f *protocol.Frames) {
	if c.reasoning {
		return
	}
	c.closeMessage(f)
	f.Close(append(with(f, "REASONING_START", "messageId", c.reasoningID()), '}'))
	f.Close(append(with(f, "REASONING_MESSAGE_START", "messageId", c.reasoningID()), `,"role":"reasoning"}`...))
	c.reasoning, c.reasoned = true, true
}

func (c *content) closeReasoning(f *protocol.Frames) {
	if !c.reasoning {
		return
	}
	f.Close(append(with(f, "REASONING_MESSAGE_END", "messageId", c.reasoningID()), '}'))
	f.Close(append(with(f, "REASONING_END", "messageId", c.reasoningID()), '}'))
	c.reasoning = false
}

// closeMessage closes the text and the reasoning of the step's message.
func (c *content) closeMessage(f *protocol.Frames) {
	c.closeReasoning(f)
	if c.text {
		f.Close(append(with(f, "TEXT_MESSAGE_END", "messageId", c.id), '}'))
		c.text = false
	}
}

func (c *content) closeCall(f *protocol.Frames, id string) {
	i := slices.Index(c.calls, id)
	if i < 0 {
		return
	}
	c.calls = slices.Delete(c.calls, i, i+1)
	f.Close(append(with(f, "TOOL_CALL_END", "toolCallId", id), '}'))
}

// close closes everything that is open.
func (c *content) close(f *protocol.Frames) {
	c.closeMessage(f)
	for len(c.calls) > 0 {
		c.closeCall(f, c.calls[0])
	}
}
