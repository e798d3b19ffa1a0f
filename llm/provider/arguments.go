package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// arguments repairs the JSON of a call's arguments while it streams. The zero value is
// ready. Valid JSON passes through unchanged, and further pieces of it do not allocate. What
// is repaired is what can mean only one thing:
//
//   - control characters in strings are escaped, and so is a backslash that escapes nothing;
//   - commas before a closing bracket, and closing brackets after the end, are dropped;
//   - brackets that are missing at the end are added, unless the model was cut off;
//   - arguments that are a JSON string which holds an object become that object.
//
// Everything else is left as it is, so that the model can be told that it is wrong.
type arguments struct {
	stack   []byte // the brackets that are open
	inText  bool
	escaped bool
	begun   bool   // something other than space has come
	ended   bool   // the value is over
	last    byte   // the last byte that is not space
	held    []byte // a comma and the space after it
	out     []byte // what stands for the piece at hand; kept for the next
	quoted  []byte // all of arguments that are a string; nil when they are not
}

// add takes a piece and returns what of it can be sent on.
func (a *arguments) add(s string) string {
	if !a.begun {
		s = strings.TrimLeft(s, space)
		if s == "" {
			return ""
		}
		a.begun = true
		if s[0] == '"' {
			a.quoted = []byte{}
		}
	}
	if a.quoted != nil {
		a.quoted = append(a.quoted, s...)
		return ""
	}
	a.out = slices.Grow(a.out[:0], len(s))
	for i := range len(s) {
		a.take(s[i])
	}
	if last := strings.TrimRight(s, space); last != "" {
		a.last = last[len(last)-1]
	}
	if string(a.out) == s {
		return s
	}
	return string(a.out)
}

const space = " \t\r\n"

// take appends to out what stands for the next byte.
func (a *arguments) take(c byte) {
	switch {
	case a.ended:
		if strings.IndexByte(space+"}]", c) < 0 {
			a.out = append(a.out, c)
		}
		return
	case a.inText:
		a.takeText(c)
		return
	case len(a.held) > 0 && strings.IndexByte(space, c) >= 0:
		a.held = append(a.held, c)
		return
	}
	if c != '}' && c != ']' {
		a.out = append(a.out, a.held...)
	}
	a.held = a.held[:0]
	switch c {
	case ',':
		a.held = append(a.held, c)
		return
	case '"':
		a.inText = true
	case '{', '[':
		a.stack = append(a.stack, c)
	case '}', ']':
		if n := len(a.stack); n > 0 && a.stack[n-1] == c-2 { // '{' + 2 is '}', '[' + 2 is ']'
			a.stack = a.stack[:n-1]
			a.ended = n == 1
		}
	}
	a.out = append(a.out, c)
}

// takeText takes a byte of a JSON string.
func (a *arguments) takeText(c byte) {
	switch {
	case a.escaped:
		a.escaped = false
		if strings.IndexByte(`"\/bfnrtu`, c) < 0 {
			a.out = append(a.out, '\\') // the backslash before it stands for itself
		}
	case c == '\\':
		a.escaped = true
	case c == '"':
		a.inText = false
	case c == '\n', c == '\r', c == '\t':
		quoted := strconv.Quote(string(c)) // Go and JSON write these alike
		a.out = append(a.out, quoted[1:3]...)
		return
	}
	if c < 0x20 {
		a.out = fmt.Appendf(a.out, `\u%04x`, c)
		return
	}
	a.out = append(a.out, c)
}

// end returns what is missing. Truncated says that the model ran out of tokens: then
// nothing can be known to be missing but what was held back.
func (a *arguments) end(truncated bool) string {
	switch {
	case a.quoted != nil:
		var inner string
		if json.Unmarshal(a.quoted, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") && json.Valid([]byte(inner)) {
			return inner
		}
		return string(a.quoted)
	case truncated || a.inText || len(a.stack) == 0 || strings.IndexByte(`"}],el`, a.last) < 0:
		return string(a.held) // a number, for one, may lack digits
	}
	out := make([]byte, 0, len(a.stack)) // a held comma is before a bracket, and dropped
	for i := len(a.stack) - 1; i >= 0; i-- {
		out = append(out, a.stack[i]+2)
	}
	return string(out)
}
