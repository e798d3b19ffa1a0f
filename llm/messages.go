package llm

import "iter"

// Messages is a sequence of messages in two parts: a shared head that existed before,
// and a tail that its owner appended. Appending never copies the head, so a new turn
// costs the same on a thread of ten thousand messages as on an empty one.
//
// The zero value is empty. A Messages value is a view: treat the messages it yields
// as read-only.
type Messages struct {
	head  []*Message
	tail  []*Message
	index *Index // of the head, or nil
}

// NewMessages returns the sequence of msgs. It neither copies the slice nor writes to it.
func NewMessages(msgs ...*Message) Messages { return Messages{head: msgs} }

// Indexed returns the sequence of msgs as NewMessages does, where index is of a conversation that
// begins with msgs, or with which msgs begin. A nil index is none.
func Indexed(index *Index, msgs ...*Message) Messages { return Messages{head: msgs, index: index} }

// Append returns m with msgs at its end. Like the built-in append it may reuse m's
// tail: of two sequences appended to the same m, keep only one. See [Messages.Clip].
func (m Messages) Append(msgs ...*Message) Messages {
	if m.tail == nil {
		m.tail = make([]*Message, 0, max(8, len(msgs)))
	}
	m.tail = append(m.tail, msgs...)
	return m
}

// Len returns the number of messages.
func (m Messages) Len() int { return len(m.head) + len(m.tail) }

// At returns message i, counting from 0.
func (m Messages) At(i int) *Message {
	if i < len(m.head) {
		return m.head[i]
	}
	return m.tail[i-len(m.head)]
}

// Last returns the last message, or nil if there is none.
func (m Messages) Last() *Message {
	if n := m.Len(); n > 0 {
		return m.At(n - 1)
	}
	return nil
}

// HasCall reports whether a message has a call with that id. With an index it takes the same time for
// a head of any length.
func (m Messages) HasCall(id string) bool {
	if hasCall(m.tail, id) {
		return true
	}
	if m.index != nil {
		if has, known := m.index.hasCall(m.head, id); known {
			return has
		}
	}
	return hasCall(m.head, id)
}

// hasCall looks at the latest first, where an id that a model uses again is found at once.
func hasCall(msgs []*Message, id string) bool {
	for i := len(msgs) - 1; i >= 0; i-- {
		for j := range msgs[i].ToolCalls {
			if msgs[i].ToolCalls[j].ID == id {
				return true
			}
		}
	}
	return false
}

// All yields the messages in order.
func (m Messages) All() iter.Seq2[int, *Message] {
	return func(yield func(int, *Message) bool) {
		for i, msg := range m.head {
			if !yield(i, msg) {
				return
			}
		}
		for i, msg := range m.tail {
			if !yield(len(m.head)+i, msg) {
				return
			}
		}
	}
}

// Backward yields the messages from the last to the first.
func (m Messages) Backward() iter.Seq2[int, *Message] {
	return func(yield func(int, *Message) bool) {
		for i := m.Len() - 1; i >= 0; i-- {
			if !yield(i, m.At(i)) {
				return
			}
		}
	}
}

// Slice returns the messages in a new slice.
func (m Messages) Slice() []*Message {
	out := make([]*Message, 0, m.Len())
	return append(append(out, m.head...), m.tail...)
}

// Clip returns m with no room to grow, so that appending to the result does not touch m.
func (m Messages) Clip() Messages { return m.Cut(m.Len()) }

// Cut returns the first i messages of m. Appending to the result does not touch m.
func (m Messages) Cut(i int) Messages {
	if i <= len(m.head) {
		return Messages{head: m.head[:i:i], index: m.index}
	}
	n := min(i-len(m.head), len(m.tail)) // beyond its length, the tail's array is not m's
	return Messages{head: m.head, tail: m.tail[:n:n], index: m.index}
}

// From returns m without its first i messages. Appending to the result does not touch m.
func (m Messages) From(i int) Messages {
	m = m.Clip()
	if i <= len(m.head) {
		return Messages{head: m.head[i:], tail: m.tail}
	}
	return Messages{head: m.tail[min(i-len(m.head), len(m.tail)):]}
}
