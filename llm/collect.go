package llm

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/internal/rope"
)

// Collector assembles the deltas of one stream into a reply. The zero value is ready
// to use and has the default [ReplyLimits]; do not copy it after the first Add. Adding text does
// not allocate, except when one buffer grows.
type Collector struct {
	meter  Meter
	buf    rope.Rope // all text and thinking, in order
	parts  []segment // how buf divides into blocks
	calls  []openCall
	usage  Usage
	finish FinishReason
	opaque *Opaque
	answer string   // the provider's id of the response
	pooled *buffers // where buf, parts and calls came from; nil before the first delta
}

type segment struct {
	kind   BlockType
	end    int // in buf
	opaque *Opaque
	closed bool // the next chunk of this kind starts a new block
}

type openCall struct {
	id, name string
	args     []byte
	opaque   *Opaque
}

// Bound sets the limits of the reply to req.
func (c *Collector) Bound(req *Request) { c.meter = NewMeter(req) }

// Add adds the next delta. If the reply would exceed its limits, Add returns an error of kind
// [ReplyTooLarge] and does not add the delta.
func (c *Collector) Add(d Delta) error {
	if err := c.meter.Add(&d); err != nil {
		return err
	}
	switch d.Kind {
	case TextDelta:
		c.text(TextBlock, d.Text)
	case ReasoningDelta:
		c.text(ThinkingBlock, d.Text)
	case OpaqueDelta:
		c.attach(d.Opaque)
	case ToolCallStart:
		c.borrow()
		c.calls = append(c.calls, openCall{id: d.ID, name: d.Name, opaque: d.Opaque})
	case ToolCallDelta:
		if i := c.call(d.ID); i >= 0 {
			c.calls[i].args = append(c.calls[i].args, d.Text...)
		}
	case UsageDelta:
		if d.Usage != nil {
			c.usage = *d.Usage
		}
	case FinishDelta:
		c.finish = d.Finish
	case ResponseDelta:
		c.opaque, c.answer = d.Opaque, d.ID
	}
	return nil
}

// call returns the index of the newest call with that id, of the newest call if id is
// empty, or -1.
func (c *Collector) call(id string) int {
	for i := len(c.calls) - 1; i >= 0; i-- {
		if id == "" || c.calls[i].id == id {
			return i
		}
	}
	return -1
}

func (c *Collector) text(kind BlockType, s string) {
	n := len(c.parts)
	if n == 0 || c.parts[n-1].kind != kind || c.parts[n-1].closed {
		c.open(kind)
		n = len(c.parts)
	}
	c.buf.Append(s)
	c.parts[n-1].end = c.buf.Len()
}

func (c *Collector) open(kind BlockType) {
	c.borrow()
	c.parts = append(c.parts, segment{kind: kind, end: c.buf.Len()})
}

// attach sets the opaque data of the current thinking block, or of a new empty one:
// some providers send encrypted reasoning without text.
func (c *Collector) attach(o *Opaque) {
	n := len(c.parts)
	if n == 0 || c.parts[n-1].kind != ThinkingBlock || c.parts[n-1].opaque != nil {
		c.open(ThinkingBlock)
		n = len(c.parts)
	}
	c.parts[n-1].opaque = o
	c.parts[n-1].closed = true
}

// Finished reports whether a FinishDelta was added.
func (c *Collector) Finished() bool { return c.finish != "" }

// Finish returns why the model stopped, or "" if it has not.
func (c *Collector) Finish() FinishReason { return c.finish }

// ResponseID returns the id that the provider has given the response, or "".
func (c *Collector) ResponseID() string { return c.answer }

// Usage returns the usage reported so far.
func (c *Collector) Usage() Usage { return c.usage }

// HasText reports whether any text, other than thinking, has arrived.
func (c *Collector) HasText() bool {
	start := 0
	for _, p := range c.parts {
		if p.kind == TextBlock && p.end > start {
			return true
		}
		start = p.end
	}
	return false
}

// Continue prepares c for another stream of the same reply. Further text extends the
// last block, and incomplete calls are dropped. The id, the finish and the usage are reset; the
// caller adds up the usage of several streams.
func (c *Collector) Continue() {
	c.answer, c.finish, c.usage = "", "", Usage{}
	c.meter.again()
	c.calls = slices.DeleteFunc(c.calls, func(oc openCall) bool { return !oc.complete() })
}

// BreakOff prepares c for another stream of the same reply after one that was
// interrupted. It drops every call whose arguments may be truncated (not valid JSON, or
// empty in the last call) and returns the names of their tools.
func (c *Collector) BreakOff() (dropped []string) {
	i, last := -1, len(c.calls)-1
	c.calls = slices.DeleteFunc(c.calls, func(oc openCall) bool {
		i++
		if oc.complete() && (i < last || len(oc.args) > 0) {
			return false
		}
		dropped = append(dropped, oc.name)
		return true
	})
	c.answer, c.finish, c.usage = "", "", Usage{}
	c.meter.again()
	return dropped
}

func (oc *openCall) complete() bool { return len(oc.args) == 0 || json.Valid(oc.args) }

// Calls appends the complete calls so far to dst, in the order in which they started.
func (c *Collector) Calls(dst []ToolCall) []ToolCall {
	for i := range c.calls {
		if oc := &c.calls[i]; oc.complete() {
			dst = append(dst, ToolCall{ID: oc.id, Name: oc.name, Arguments: oc.args, Opaque: oc.opaque})
		}
	}
	return dst
}

// Incomplete returns the names of the tools whose call has truncated arguments.
func (c *Collector) Incomplete() []string {
	var names []string
	for i := range c.calls {
		if oc := &c.calls[i]; !oc.complete() {
			names = append(names, oc.name)
		}
	}
	return names
}

// Message returns the reply so far as an assistant message.
func (c *Collector) Message() *Message {
	whole := &struct { // most messages have one block
		Message
		block [1]Block
	}{}
	m := &whole.Message
	m.Role, m.Opaque = Assistant, c.opaque
	if len(c.parts) > 0 {
		all := c.buf.String()
		m.Content = whole.block[:0]
		if len(c.parts) > 1 {
			m.Content = make([]Block, 0, len(c.parts))
		}
		start := 0
		for _, p := range c.parts {
			if p.end > start || p.opaque != nil {
				m.Content = append(m.Content, Block{Type: p.kind, Text: all[start:p.end], Opaque: p.opaque})
			}
			start = p.end
		}
	}
	if len(c.calls) > 0 {
		if calls := c.Calls(make([]ToolCall, 0, len(c.calls))); len(calls) > 0 {
			m.ToolCalls = calls
		}
	}
	return m
}

// buffers hold a reply while it streams. They are not part of the collector, so that one
// that waits for its first delta needs none.
type buffers struct {
	text  []byte
	parts []segment
	calls []openCall
}

// freeBuffers holds unused buffers. Large ones are not kept.
var freeBuffers = sync.Pool{New: func() any { return &buffers{text: make([]byte, 0, 2048)} }}

func (c *Collector) borrow() {
	if c.pooled == nil {
		c.pooled = freeBuffers.Get().(*buffers)
		c.buf, c.parts, c.calls = rope.New(c.pooled.text), c.pooled.parts, c.pooled.calls
	}
}

// Release returns the collector's memory for reuse. The results of Message and Reply stay
// valid. The collector is empty afterwards and can be used again, within the same limits.
func (c *Collector) Release() {
	if text := c.buf.Buffer(); c.pooled != nil && cap(text) <= 64<<10 && cap(c.parts)+cap(c.calls) <= 64 {
		clear(c.parts)
		clear(c.calls)
		*c.pooled = buffers{text, c.parts[:0], c.calls[:0]}
		freeBuffers.Put(c.pooled)
	}
	*c = Collector{meter: c.meter.empty()}
}

// Discard drops what was assembled, except for the usage: the reply is refused.
func (c *Collector) Discard() {
	usage, meter := c.usage, c.meter
	c.Release()
	c.usage, c.meter = usage, meter
}

// Reply returns the reply. It is complete if Finished.
func (c *Collector) Reply() *Reply {
	return &Reply{Message: c.Message(), Usage: c.usage, Finish: c.finish, Incomplete: c.Incomplete()}
}
