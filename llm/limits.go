package llm

import (
	"cmp"
	"fmt"
)

// ReplyLimits bounds the reply to one request, so that a model that never stops takes no more memory than a client may.
// A zero field has its default; a negative one means no limit. A reply beyond a limit is an error of kind [ReplyTooLarge].
//
// Adapters bound what they hold while a reply arrives, and a [Collector] what it assembles.
type ReplyLimits struct {
	Bytes          int // text, thinking, arguments and opaque data; every delta counts deltaCost more; default 16 MiB
	ArgumentsBytes int // arguments of all calls; default 4 MiB
	Calls          int // default 256
}

// The defaults of [ReplyLimits].
const (
	DefaultReplyBytes          = 16 << 20
	DefaultReplyArgumentsBytes = 4 << 20
	DefaultReplyCalls          = 256
)

// deltaCost is added to the size of each delta, because even a delta of one byte takes memory.
const deltaCost = 32

// A reply may have bytesPerToken for each token that its request allows, and textSlack more. Most tokens have about four bytes; some
// servers count others, or ignore a small limit.
const (
	bytesPerToken = 64
	textSlack     = 256 << 10
)

// WithDefaults returns l with the defaults of zero fields. If l is nil, all are defaults.
func (l *ReplyLimits) WithDefaults() ReplyLimits {
	var given ReplyLimits
	if l != nil {
		given = *l
	}
	return ReplyLimits{
		Bytes:          cmp.Or(given.Bytes, DefaultReplyBytes),
		ArgumentsBytes: cmp.Or(given.ArgumentsBytes, DefaultReplyArgumentsBytes),
		Calls:          cmp.Or(given.Calls, DefaultReplyCalls),
	}
}

// Meter counts what has arrived of a reply, within limits. The zero Meter has the default limits.
type Meter struct {
	limits    ReplyLimits // without zero fields, once something was counted
	maxTokens int         // of the request; 0 if it has none

	bytes, arguments, calls int
	text                    int // text and arguments of the current stream
}

// NewMeter returns a meter for the reply to req: within req.Limits, and not far beyond the tokens that req allows.
func NewMeter(req *Request) Meter {
	m := Meter{limits: req.Limits.WithDefaults()}
	if req.MaxTokens != nil {
		m.maxTokens = *req.MaxTokens
	}
	return m
}

// Add counts a delta. If the reply would exceed a limit, Add counts nothing and returns an error of kind [ReplyTooLarge] that names the
// limit.
func (m *Meter) Add(d *Delta) error {
	if m.limits == (ReplyLimits{}) {
		m.limits = m.limits.WithDefaults()
	}
	l, next := &m.limits, *m
	next.bytes += deltaCost + len(d.Text) + len(d.ID) + len(d.Name)
	if o := d.Opaque; o != nil {
		next.bytes += len(o.Data) + len(o.Signature)
	}
	switch d.Kind {
	case ToolCallStart:
		next.calls++
	case ToolCallDelta:
		next.arguments += len(d.Text)
		next.text += len(d.Text)
	case TextDelta:
		next.text += len(d.Text)
	}
	switch {
	case l.Calls >= 0 && next.calls > l.Calls:
		return tooLarge("the reply has more than %d calls (limits.reply_calls)", l.Calls)
	case l.ArgumentsBytes >= 0 && next.arguments > l.ArgumentsBytes:
		return tooLarge("the arguments of the reply have more than %d bytes (limits.reply_arguments_bytes)", l.ArgumentsBytes)
	case l.Bytes >= 0 && next.bytes > l.Bytes:
		return tooLarge("the reply has more than %d bytes (limits.reply_bytes)", l.Bytes)
	case m.maxTokens > 0 && next.text > bytesPerToken*m.maxTokens+textSlack:
		return tooLarge("the reply has %d bytes of text, far beyond max_tokens %d", next.text, m.maxTokens)
	}
	*m = next
	return nil
}

// again prepares m for another stream of the same reply, which may have as many tokens as the first.
func (m *Meter) again() { m.text = 0 }

// empty returns a meter with the limits of m that has counted nothing.
func (m *Meter) empty() Meter { return Meter{limits: m.limits, maxTokens: m.maxTokens} }

func tooLarge(format string, args ...any) *Error {
	return &Error{Kind: ReplyTooLarge, Message: fmt.Sprintf(format, args...)}
}
