package provider

import (
	"encoding/json"
	"fmt"
	"strings"
)

// arguments repairs the JSON of a call's arguments while it streams. The zero value is
// ready. Valid JSON passes through unchanged and without allocating. What is repaired is
// what can mean only one thing:
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
	quoted  []byte // all of arguments that are a string; nil when they are not
}

// add takes a piece and returns what of it can be sent on.
func (a *arguments) add(s string) string {
	if !a.begun {
		s = strings.TrimLeft(s, " \t\r\n")
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
	var out []byte // nil as long as s is fine up to i
	changed := false
	change := func(i int) {
		if !changed {
			out, changed = append(out, s[:i]...), true
		}
	}
	keep := func(c byte) {
		if changed {
			out = append(out, c)
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case a.ended:
			if strings.IndexByte(" \t\r\n}]", c) >= 0 {
				change(i)
			} else {
				keep(c)
			}
		case a.inText:
			a.character(c, i, change, keep, &out)
		case len(a.held) > 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			change(i)
			a.held = append(a.held, c)
		default:
			if len(a.held) > 0 {
				change(i)
				if c != '}' && c != ']' {
					out = append(out, a.held...)
				}
				a.held = a.held[:0]
			}
			switch c {
			case ',':
				// Most commas are followed by something in the same piece.
				if i+1 < len(s) && strings.IndexByte(" \t\r\n}]", s[i+1]) < 0 {
					keep(c)
				} else {
					change(i)
					a.held = append(a.held, c)
				}
			case '"':
				a.inText = true
				keep(c)
			case '{', '[':
				a.stack = append(a.stack, c)
				keep(c)
			case '}', ']':
				if n := len(a.stack); n > 0 && a.stack[n-1] == open(c) {
					a.stack = a.stack[:n-1]
					a.ended = n == 1
				}
				keep(c)
			default:
				keep(c)
			}
		}
	}
	for i := len(s) - 1; i >= 0; i-- {
		if strings.IndexByte(" \t\r\n", s[i]) < 0 {
			a.last = s[i]
			break
		}
	}
	if changed {
		return string(out)
	}
	return s
}

// character takes a byte of a JSON string.
func (a *arguments) character(c byte, i int, change func(int), keep func(byte), out *[]byte) {
	switch {
	case a.escaped:
		a.escaped = false
		if strings.IndexByte(`"\/bfnrtu`, c) < 0 {
			// The backslash has been sent: another makes it one that stands for itself.
			change(i)
			*out = append(*out, '\\')
			if c < 0x20 {
				*out = fmt.Appendf(*out, `\u%04x`, c)
				return
			}
			*out = append(*out, c)
			return
		}
		keep(c)
	case c == '\\':
		a.escaped = true
		keep(c)
	case c == '"':
		a.inText = false
		keep(c)
	case c < 0x20:
		change(i)
		switch c {
		case '\n':
			*out = append(*out, `\n`...)
		case '\r':
			*out = append(*out, `\r`...)
		case '\t':
			*out = append(*out, `\t`...)
		default:
			*out = fmt.Appendf(*out, `\u%04x`, c)
		}
	default:
		keep(c)
	}
}

func open(c byte) byte {
	if c == '}' {
		return '{'
	}
	return '['
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
		out = append(out, a.stack[i]+2) // '{' + 2 is '}', '[' + 2 is ']'
	}
	return string(out)
}
