// Package glob matches the patterns of tool catalogues: an anchored match in
// which * stands for any run of characters and \ takes the next character as it
// is. Nothing else is special.
package glob

import (
	"errors"
	"fmt"
	"strings"
)

// Pattern is a compiled pattern. Matching takes time linear in the value for each
// star and never backtracks further than the last one.
type Pattern struct {
	parts []string // literal text between stars; len(parts)-1 stars
}

// Compile parses a pattern. Errors give the byte offset.
func Compile(s string) (*Pattern, error) {
	if s == "" {
		return nil, errors.New("empty pattern")
	}
	p := &Pattern{}
	var lit strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '*':
			if n := len(p.parts); n == 0 || lit.Len() > 0 {
				p.parts = append(p.parts, lit.String())
				lit.Reset()
			} // consecutive stars are one
		case '\\':
			if i+1 == len(s) {
				return nil, fmt.Errorf(`offset %d: \ escapes nothing`, i)
			}
			i++
			lit.WriteByte(s[i])
		default:
			lit.WriteByte(c)
		}
	}
	p.parts = append(p.parts, lit.String())
	return p, nil
}

// Match reports whether the whole of value matches.
func (p *Pattern) Match(value string) bool {
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

// HasStar reports whether s contains a * that is not escaped.
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
