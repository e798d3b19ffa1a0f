package llm

import (
	"encoding/json"
	"slices"
	"sync"
)

// Collector puts the deltas of one stream together. The zero value is ready; it
// must not be copied after the first Add. Adding a chunk of text does not allocate
// beyond the growth of one buffer.
type Collector struct {
	buf    []byte    // all text and thinking, in order
	parts  []segment // how buf is cut into blocks
	calls  []openCall
	usage  Usage
	finish FinishReason
	opaque *Opaque
	pooled *buffers // what buf, parts and calls started as; nil until there is something
}

type segment struct {
	kind   BlockType
	end    int // in buf
	opaque *Opaque
	closed bool // the next chunk of this kind starts another block
}

type openCall struct {
	id, name string
	args     []byte
	opaque   *Opaque
}

// Add takes the next delta.
func (c *Collector) Add(d Delta) {
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
		c.opaque = d.Opaque
	}
}

// call finds the newest call with that id, or the newest of all when id is empty.
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
	c.buf = append(c.buf, s...)
	c.parts[n-1].end = len(c.buf)
}

func (c *Collector) open(kind BlockType) {
	c.borrow()
	c.parts = append(c.parts, segment{kind: kind, end: len(c.buf)})
}

// attach gives opaque material to the open thinking block, or to a new empty one:
// some providers send encrypted reasoning without any text.
func (c *Collector) attach(o *Opaque) {
	n := len(c.parts)
	if n == 0 || c.parts[n-1].kind != ThinkingBlock || c.parts[n-1].opaque != nil {
		c.open(ThinkingBlock)
		n = len(c.parts)
	}
	c.parts[n-1].opaque = o
	c.parts[n-1].closed = true
}

// Finished reports whether the finish has been seen.
func (c *Collector) Finished() bool { return c.finish != "" }

// Finish is the reason the model stopped, or "".
func (c *Collector) Finish() FinishReason { return c.finish }

// Usage is what has been reported so far.
func (c *Collector) Usage() Usage { return c.usage }

// HasText reports whether any text (not thinking) has arrived.
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

// Continue prepares c for the next stream of the same reply: text goes on in the
// same block, calls that broke off are dropped, usage is added up by the caller.
func (c *Collector) Continue() {
	c.finish, c.usage = "", Usage{}
	c.calls = slices.DeleteFunc(c.calls, func(oc openCall) bool { return !oc.complete() })
}

// BreakOff prepares c for going on after a stream that broke off. A call whose arguments
// may not be whole is dropped: none had come, or what came is not JSON. It returns the
// names of those.
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
	c.finish, c.usage = "", Usage{}
	return dropped
}

func (oc *openCall) complete() bool { return len(oc.args) == 0 || json.Valid(oc.args) }

// Calls appends to dst the complete calls so far, in the order they started.
func (c *Collector) Calls(dst []ToolCall) []ToolCall {
	for i := range c.calls {
		if oc := &c.calls[i]; oc.complete() {
			dst = append(dst, ToolCall{ID: oc.id, Name: oc.name, Arguments: oc.args, Opaque: oc.opaque})
		}
	}
	return dst
}

// Incomplete names the calls whose arguments are not whole JSON.
func (c *Collector) Incomplete() []string {
	var names []string
	for i := range c.calls {
		if oc := &c.calls[i]; !oc.complete() {
			names = append(names, oc.name)
		}
	}
	return names
}

// Message returns what has arrived as an assistant message.
func (c *Collector) Message() *Message {
	whole := &struct { // most messages have one block
		Message
		block [1]Block
	}{}
	m := &whole.Message
	m.Role, m.Opaque = Assistant, c.opaque
	if len(c.parts) > 0 {
		all := string(c.buf)
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

// buffers hold what has come of a stream that is going on. They are not part of the
// collector, because a stream that is waited for has none.
type buffers struct {
	text  []byte
	parts []segment
	calls []openCall
}

// freeBuffers are those that nobody uses. None is kept that grew large.
var freeBuffers = sync.Pool{New: func() any { return &buffers{text: make([]byte, 0, 2048)} }}

func (c *Collector) borrow() {
	if c.pooled == nil {
		c.pooled = freeBuffers.Get().(*buffers)
		c.buf, c.parts, c.calls = c.pooled.text, c.pooled.parts, c.pooled.calls
	}
}

// Release gives the collector's memory back for others to use. What Message and
// Reply returned stays valid; the collector is empty and can be used again.
func (c *Collector) Release() {
	if c.pooled != nil && cap(c.buf) <= 64<<10 && cap(c.parts)+cap(c.calls) <= 64 {
		clear(c.parts)
		clear(c.calls)
		*c.pooled = buffers{c.buf[:0], c.parts[:0], c.calls[:0]}
		freeBuffers.Put(c.pooled)
	}
	*c = Collector{}
}

// Reply returns the whole reply.
func (c *Collector) Reply() *Reply {
	return &Reply{Message: c.Message(), Usage: c.usage, Finish: c.finish, Incomplete: c.Incomplete()}
}
