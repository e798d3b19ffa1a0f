package sqlstore

import (
	"errors"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/messagelog"
)

// Tail is a part of a log that was read, up to its end or to that of a page.
type Tail struct {
	messagelog.Decoder
	msgs     []*llm.Message
	created  []int64
	bytes    int
	segments int // that were read, from the first message on
	// damaged is the last message of a segment that could not be read, or 0. Then the segments after
	// it are not used.
	damaged int
	newer   bool // the segment is not damaged, but of a newer version
}

// NewTail returns a Tail for n messages.
func NewTail(n int) *Tail {
	n = max(n, 0)
	return &Tail{Decoder: messagelog.Decoder{Expect: n}, msgs: make([]*llm.Message, 0, n), created: make([]int64, 0, n)}
}

// Len returns how many messages there are.
func (p *Tail) Len() int { return len(p.msgs) }

// Add adds the next message.
func (p *Tail) Add(created int64, m *llm.Message) {
	p.msgs, p.created, p.bytes = append(p.msgs, m), append(p.created, created), p.bytes+size(m)
}

// Segment adds the messages of a segment of a log that is read from its beginning, if it is the next
// one. It reports false if it cannot be read: then the messages after the last that was added are to be read from the commits.
func (p *Tail) Segment(upTo int, data []byte) bool {
	if upTo != len(p.msgs)+messagelog.SegmentLength {
		return true
	}
	msgs, created, err := messagelog.ReadSegment(data)
	if err != nil || len(msgs) != messagelog.SegmentLength {
		p.damaged, p.newer = upTo, errors.Is(err, messagelog.ErrVersion)
		return false
	}
	for i, m := range msgs {
		p.Add(created[i], m)
	}
	p.segments++
	return true
}

// Damaged reports whether a segment could not be read.
func (p *Tail) Damaged() bool { return p.damaged > 0 }

// size estimates the memory that a message takes.
func size(m *llm.Message) int {
	n := 256 + len(m.ID) + len(m.ToolCallID) + blocks(m.Content) + opaque(m.Opaque)
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		n += 96 + len(call.ID) + len(call.Name) + len(call.Arguments) + opaque(call.Opaque)
	}
	if md := m.Metadata; md != nil {
		n += 192 + len(md.RunID) + len(md.SenderAgentID) + len(md.Client)
	}
	return n
}

func blocks(list []llm.Block) (n int) {
	for i := range list {
		b := &list[i]
		n += 96 + len(b.Text) + len(b.Title) + opaque(b.Opaque)
		if s := b.Source; s != nil {
			n += 64 + len(s.MediaType) + len(s.Data) + len(s.URL)
		}
		if t := b.Tool; t != nil {
			n += 80 + len(t.ID) + len(t.Name) + len(t.Input) + blocks(t.Content)
		}
	}
	return n
}

func opaque(o *llm.Opaque) int {
	if o == nil {
		return 0
	}
	return 64 + len(o.Provider) + len(o.Signature) + len(o.Data)
}
