package provider

import (
	"fmt"
	"math"

	"github.com/awaken-go/awaken/llm"
)

// The bounds of a response follow from [llm.ReplyLimits]: an event is at most half as long as a reply, because it is decoded as a whole,
// and a stream streamFactor times as long, because what is around a token is longer than the token. Both count bytes that are
// decompressed.
const streamFactor = 16

// maxValues limits the JSON values of an event: an empty one takes much more memory than its three bytes.
const maxValues = 100_000

// eventBytes returns how long an event of a reply within l may be.
func eventBytes(l *llm.ReplyLimits) int {
	n := l.WithDefaults().Bytes
	if n < 0 {
		return math.MaxInt
	}
	return max(n/2, 64<<10)
}

// streamBytes returns how long the stream of a reply within l may be.
func streamBytes(l *llm.ReplyLimits) int64 {
	n := l.WithDefaults().Bytes
	if n < 0 {
		return math.MaxInt64
	}
	return max(streamFactor*int64(n), 1<<20)
}

func tooLarge(format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.ReplyTooLarge, Message: fmt.Sprintf(format, args...)}
}

func tooLong(most int) *llm.Error {
	return tooLarge("an event of the stream has more than %d bytes (half of limits.reply_bytes)", most)
}

// checkValues returns an error if an event has too many JSON values. It counts separators, of which there is one for each value or fewer.
func checkValues(data []byte) error {
	if len(data) <= maxValues {
		return nil
	}
	n, inText, escaped := 0, false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped, inText = c == '\\', c != '"'
		case c == '"':
			inText = true
		case c == ',' || c == '[' || c == '{':
			n++
		}
	}
	if n > maxValues {
		return tooLarge("an event of the stream has more than %d JSON values", maxValues)
	}
	return nil
}

// maxHeld limits what an adapter keeps of a reply before it emits it, in bytes.
const maxHeld = 4 << 20

// Held counts what an adapter keeps of a reply before it emits it, such as the pieces of a signature. The zero value is ready to use.
type Held struct{ bytes int }

// Add counts n bytes more. It returns an error if that is too much.
func (h *Held) Add(n int) error {
	if h.bytes += n; h.bytes > maxHeld {
		return tooLarge("the reply has more than %d bytes of signatures and other data for the provider", maxHeld)
	}
	return nil
}
