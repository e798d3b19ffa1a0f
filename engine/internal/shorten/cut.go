package shorten

import (
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/llm"
)

// Cut drops the beginning of a conversation, at a point where no call is separated from its
// answer. Leading system messages stay, and so do the user's latest message and the most recent
// messages, which are shortened if necessary.
type Cut struct {
	Messages  llm.Messages
	Recent    int // messages to keep at least
	Budget    int // tokens
	From      int // where the kept part began last time; then where it begins now
	Tokens    int // of the result
	Shortened int // messages of the result that are not whole
}

// ErrNoRoom means that not even the last messages fit.
var ErrNoRoom = errors.New("no room for the conversation")

// Lead is the number of system messages that the conversation begins with.
func (c *Cut) Lead() int {
	n := 0
	for n < c.Messages.Len() && c.Messages.At(n).Role == llm.System {
		n++
	}
	return n
}

// Do returns the conversation cut to the budget, and sets From, Tokens and Shortened.
func (c *Cut) Do() (llm.Messages, error) {
	lead := c.Lead()
	first := Tokens(c.Messages.Cut(lead))
	room := c.Budget - first
	if room <= 0 {
		return llm.Messages{}, ErrNoRoom
	}
	kept, rest, err := c.keep(lead, room)
	var asked []*llm.Message
	if i := c.asked(); err == nil && i >= lead && i < c.From {
		m := c.Messages.At(i)
		whole := m
		if m.Tokens() > room/2 {
			m = shorten(m, room/2)
		}
		asked, first = []*llm.Message{m}, first+m.Tokens()
		kept, rest, err = c.keep(lead, room-m.Tokens())
		if m != whole {
			c.Shortened++
		}
	}
	if err != nil {
		return llm.Messages{}, err
	}
	c.Tokens = first + rest
	if lead+len(asked) == 0 {
		return kept, nil
	}
	return llm.NewMessages(slices.Concat(c.Messages.Cut(lead).Slice(), asked, kept.Slice())...), nil
}

// asked is the index of the user's latest message, or -1.
func (c *Cut) asked() int {
	for i, m := range c.Messages.Backward() {
		if m.Role == llm.User && !m.IsInternal() {
			return i
		}
	}
	return -1
}

// keep returns the end of the conversation that is within room, and its tokens. It sets From.
func (c *Cut) keep(lead, room int) (kept llm.Messages, rest int, err error) {
	c.Shortened = 0
	rest = Tokens(c.Messages.From(c.From))
	if c.From <= lead || c.From >= c.Messages.Len() || rest > room || !c.splits(c.From) {
		// Drop more than needed, so that the next requests share a prefix and hit the prompt cache.
		c.From, rest = c.suffix(lead, room*3/4)
	}
	kept = c.Messages.From(c.From)
	if rest > room {
		list, err := c.shorten(room)
		if err != nil {
			return llm.Messages{}, 0, err
		}
		kept = llm.NewMessages(list...)
		rest = Tokens(kept)
	}
	return kept, rest, nil
}

// Tokens adds up the estimates of messages.
func Tokens(msgs llm.Messages) (n int) {
	for i := range msgs.Len() {
		n += msgs.At(i).Tokens()
	}
	return n
}

// splits reports whether the conversation can be cut at index i: no answer from i on is to an
// earlier call.
func (c *Cut) splits(i int) bool {
	var u unit
	for j := c.Messages.Len() - 1; j >= i; j-- {
		u.add(c.Messages.At(j))
	}
	return u.whole()
}

// suffix returns the index where the kept messages begin, and their tokens: the recent messages,
// and those before them as long as the sum is within limit.
func (c *Cut) suffix(lead, limit int) (from, tokens int) {
	from = c.Messages.Len()
	sum := 0
	var u unit
	for i := c.Messages.Len() - 1; i >= lead; i-- {
		m := c.Messages.At(i)
		sum += m.Tokens()
		if u.add(m); !u.whole() {
			continue
		}
		if n := c.Messages.Len() - from; n >= max(1, c.Recent) && sum > limit {
			break
		}
		from, tokens = i, sum
	}
	return from, tokens
}

// unit walks a conversation backwards and tracks calls whose message has not been reached.
type unit struct{ open map[string]bool }

func (u *unit) add(m *llm.Message) {
	if m.Role == llm.ToolRole {
		if u.open == nil {
			u.open = map[string]bool{}
		}
		u.open[m.ToolCallID] = true
	}
	for i := range m.ToolCalls {
		delete(u.open, m.ToolCalls[i].ID)
	}
}

func (u *unit) whole() bool { return len(u.open) == 0 }

// shorten returns the messages from c.From on, with the largest shortened so that all are within
// room. If hardly anything would be left of them, it drops the oldest instead.
func (c *Cut) shorten(room int) ([]*llm.Message, error) {
	for {
		list := c.Messages.From(c.From).Slice()
		sizes := make([]int, len(list))
		for i, m := range list {
			sizes[i] = m.Tokens()
		}
		share, all := level(sizes, room)
		if all {
			return list, nil
		}
		next := c.next()
		if share >= minShare || next == c.Messages.Len() {
			c.Shortened = 0
			for i, m := range list {
				if m.Tokens() > share {
					list[i] = shorten(m, share)
					c.Shortened++
				}
			}
			if Tokens(llm.NewMessages(list...)) <= room {
				return list, nil
			}
		}
		if next == c.Messages.Len() {
			return nil, ErrNoRoom
		}
		c.From = next
	}
}

// minShare is the number of tokens below which shortening a message is worse than dropping older
// messages.
const minShare = 64

// next is the first index after c.From where the conversation can be cut.
func (c *Cut) next() int {
	var u unit
	next := c.Messages.Len()
	for i := c.Messages.Len() - 1; i > c.From; i-- {
		if u.add(c.Messages.At(i)); u.whole() {
			next = i
		}
	}
	return next
}

// level returns the largest n for which the sizes, each capped at n, are within room, and reports
// whether they fit uncapped. It sorts sizes.
func level(sizes []int, room int) (n int, all bool) {
	slices.Sort(sizes)
	for i, size := range sizes {
		n = room / (len(sizes) - i)
		if size > n {
			return max(0, n), false
		}
		room -= size
	}
	return n, true
}

// shorten returns m shortened to so many tokens.
func shorten(m *llm.Message, tokens int) *llm.Message {
	out := *m
	room := 4*tokens - 4*(&llm.Message{}).Tokens()
	// Calls stay because they have answers, but large arguments do not.
	if bare := shortCalls(m.ToolCalls, 0); len(m.ToolCalls) > 0 {
		least := 4 * (&llm.Message{ToolCalls: bare}).Tokens()
		out.ToolCalls = shortCalls(m.ToolCalls, max(0, room-least)/2/len(m.ToolCalls))
		room -= 4 * ((&llm.Message{ToolCalls: out.ToolCalls}).Tokens() - (&llm.Message{}).Tokens())
	}
	out.Content = shortBlocks(m.Content, room)
	return &out
}

// shortCalls returns a copy of calls without arguments longer than each bytes.
func shortCalls(calls []llm.ToolCall, each int) []llm.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		if len(calls[i].Arguments) > max(each, 2) {
			calls[i].Arguments = []byte("{}")
		}
	}
	return calls
}

// shortBlocks shortens blocks to so many bytes of text. Other blocks are kept if there is room,
// and otherwise replaced by a note.
func shortBlocks(blocks []llm.Block, room int) []llm.Block {
	out := make([]llm.Block, 0, len(blocks))
	var sizes []int
	for i := range blocks {
		b := blocks[i]
		if b.Type == llm.TextBlock {
			out, sizes = append(out, b), append(sizes, len(b.Text))
			continue
		}
		size := 4 * ((&llm.Message{Content: blocks[i : i+1]}).Tokens() - (&llm.Message{}).Tokens())
		if size > room/2 {
			if b.Type == llm.ThinkingBlock {
				continue
			}
			b = llm.Text(fmt.Sprintf("[%s left out to fit the context window]", b.Type))
			size = len(b.Text)
		}
		room -= size
		out = append(out, b)
	}
	share, all := level(sizes, room)
	if all {
		return out
	}
	for i := range out {
		if b := &out[i]; b.Type == llm.TextBlock && len(b.Text) > share {
			out[i] = llm.Text(MiddleOut(b.Text, share))
		}
	}
	return out
}
