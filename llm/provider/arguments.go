package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// arguments repairs the JSON of a tool call's arguments while it streams. The zero value is
// ready to use. Valid JSON passes through unchanged, and pieces after the first do not
// allocate. It repairs only what has one possible meaning:
//
//   - control characters in strings, and backslashes that escape nothing, are escaped;
//   - commas before a closing bracket, and closing brackets after the end, are dropped;
//   - brackets missing at the end are added, unless the reply was truncated;
//   - a JSON string that contains an object becomes that object.
//
// Everything else stays unchanged, so that the model can be shown its mistake.
type arguments struct {
	stack   []byte // the open brackets
	inText  bool
	escaped bool
	begun   bool   // something other than space has arrived
	ended   bool   // the value is complete
	last    byte   // the last byte that is not space
	held    []byte // a comma and the space after it, until the next byte decides
	out     []byte // the repaired piece; its memory is reused for the next
	quoted  []byte // the arguments so far if they are a string, else nil
}

// add takes the next piece and returns what to emit for it.
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

// take appends the repaired form of the next byte to out.
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

// takeText is take inside a JSON string.
func (a *arguments) takeText(c byte) {
	switch {
	case a.escaped:
		a.escaped = false
		if strings.IndexByte(`"\/bfnrtu`, c) < 0 {
			a.out = append(a.out, '\\') // the backslash before it was literal
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

// end returns what is missing at the end. Truncated means that the model ran out of tokens:
// then only what was held back is added.
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
