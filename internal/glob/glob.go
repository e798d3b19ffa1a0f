// Package glob matches globs: anchored patterns in which stars stand for any text.
//
// There are two grammars and one engine. [Compile] parses the patterns of tool catalogues,
// where only * and \ are special. [CompileRule] parses the globs of rules about tool calls,
// which also have ?, classes, braces and **. Matching takes time linear in the value, whatever
// the pattern.
package glob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Pattern is a compiled pattern.
type Pattern struct {
	parts []string       // literal text between the len(parts)-1 stars
	re    *regexp.Regexp // replaces parts for patterns with more than stars
}

// Compile parses a pattern of a catalogue: * stands for any run of characters, \ escapes the
// next character, nothing else is special. Syntax errors are of type *[Error].
func Compile(s string) (*Pattern, error) {
	if s == "" {
		return nil, errors.New("pattern is empty")
	}
	var l literals
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '*':
			l.star()
		case '\\':
			if i+1 == len(s) {
				return nil, errEscape(i)
			}
			i++
			l.text.WriteByte(s[i])
		default:
			l.text.WriteByte(c)
		}
	}
	return &Pattern{parts: l.done()}, nil
}

// Error is a syntax error in a pattern.
type Error struct {
	Offset  int // bytes from the start
	Message string
}

// Error returns the message with its offset.
func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Message) }

func errEscape(offset int) error { return &Error{offset, `\ escapes nothing`} }

// literals collects the text between stars.
type literals struct {
	parts []string
	text  strings.Builder
}

func (l *literals) star() {
	if n := len(l.parts); n == 0 || l.text.Len() > 0 { // consecutive stars are one
		l.parts = append(l.parts, l.text.String())
		l.text.Reset()
	}
}

func (l *literals) done() []string { return append(l.parts, l.text.String()) }

// Match reports whether the whole value matches.
func (p *Pattern) Match(value string) bool {
	if p.re != nil {
		return p.re.MatchString(value)
	}
	first, rest := p.parts[0], p.parts[1:]
	if len(rest) == 0 {
		return value == first
	}
	if !strings.HasPrefix(value, first) {
		return false
	}
	value = value[len(first):]
	last, middle := rest[len(rest)-1], rest[:len(rest)-1]
	for _, part := range middle {
		i := strings.Index(value, part)
		if i < 0 {
			return false
		}
		value = value[i+len(part):]
	}
	return strings.HasSuffix(value, last)
}

// HasStar reports whether s contains an unescaped *.
func HasStar(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*':
			return true
		}
	}
	return false
}
