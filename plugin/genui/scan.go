package genui

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// tokenKind is the kind of a token of OpenUI Lang.
type tokenKind uint8

const (
	end      tokenKind = iota
	newline            // ends a statement outside brackets
	word               // a name, a type, true, false, null
	variable           // $name
	function           // @Name
	text               // in double or single quotes
	number
	symbol
)

// token is a token and where it begins.
type token struct {
	kind      tokenKind
	text      string // its value
	line, col int
}

func (t token) at() string { return fmt.Sprintf("%d:%d", t.line, t.col) }

// String describes the token in errors.
func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case newline:
		return "the end of the line"
	case text:
		return fmt.Sprintf("the text %.40q", t.text)
	case function:
		return "@" + t.text
	}
	return fmt.Sprintf("%.40s", t.text)
}

// scan splits a program into tokens. Comments begin with // or #.
func scan(src string, bad *problems) (out []token) {
	line, start := 1, 0 // of the line
	for i := 0; i < len(src); {
		c := src[i]
		t := token{line: line, col: utf8.RuneCountInString(src[start:i]) + 1}
		n := 1
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
			continue
		case c == '\n':
			t.kind = newline
			line, start = line+1, i+1
		case c == '#' || strings.HasPrefix(src[i:], "//"):
			if n = strings.IndexByte(src[i:], '\n'); n < 0 {
				n = len(src) - i
			}
			i += n
			continue
		case c == '"' || c == '\'':
			t.kind = text
			if n = t.quoted(src[i:], bad); strings.Contains(src[i:i+n], "\n") {
				line += strings.Count(src[i:i+n], "\n")
				start = i + strings.LastIndex(src[i:i+n], "\n") + 1
			}
		case isDigit(c):
			t.kind, n = number, numberLength(src[i:])
		case isLetter(c):
			t.kind, n = word, nameLength(src[i:])
		case (c == '$' || c == '@') && i+1 < len(src) && isLetter(src[i+1]):
			t.kind, n = variable, 1+nameLength(src[i+1:])
			if c == '@' {
				t.kind, t.text = function, src[i+1:i+n]
			}
		default:
			t.kind = symbol
			switch two := src[i:min(i+2, len(src))]; two {
			case "==", "!=", ">=", "<=", "&&", "||":
				n = 2
			}
			if n == 1 && !strings.ContainsRune("()[]{},:=!<>.?+-*/%", rune(c)) {
				r, size := utf8.DecodeRuneInString(src[i:])
				bad.add(t.at(), "a statement such as title = TextContent(\"Hello\")", "found %q", r)
				i += size
				continue
			}
		}
		if t.text == "" && t.kind != text {
			t.text = src[i : i+n]
		}
		out = append(out, t)
		i += n
	}
	return append(out, token{kind: end, line: line, col: utf8.RuneCountInString(src[start:]) + 1})
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func nameLength(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
		n++
	}
	return n
}

func numberLength(s string) int {
	n := 0
	digits := func() {
		for n < len(s) && isDigit(s[n]) {
			n++
		}
	}
	digits()
	if n+1 < len(s) && s[n] == '.' && isDigit(s[n+1]) {
		n++
		digits()
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		digits()
	}
	return n
}

// quoted reads a text in quotes, and returns its length in the source.
func (t *token) quoted(src string, bad *problems) int {
	quote := src[0]
	for i := 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case quote:
			t.text = src[1:i]
			if quote == '"' {
				var s string
				if json.Unmarshal([]byte(strings.ReplaceAll(src[:i+1], "\n", `\n`)), &s) == nil {
					t.text = s
				}
			}
			return i + 1
		}
	}
	bad.add(t.at(), fmt.Sprintf("%c at its end", quote), "the text is not closed")
	t.text = src[1:]
	return len(src)
}
