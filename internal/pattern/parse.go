package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/awaken-go/awaken/internal/glob"
)

// Compile parses a pattern. Errors are of type *[Error].
func Compile(text string) (*Pattern, error) {
	p := parser{src: text}
	return p.pattern()
}

// blank separates the parts of a pattern.
const blank = " \t\r\n"

type parser struct {
	src string
	pos int
}

func (p *parser) fail(offset int, format string, args ...any) error {
	return &Error{Pattern: p.src, Offset: offset, Message: fmt.Sprintf(format, args...)}
}

// failAt converts the error of a part that starts at start to an error of the whole pattern.
func (p *parser) failAt(start int, err error) error {
	if e, ok := errors.AsType[*glob.Error](err); ok {
		return p.fail(start+e.Offset, "%s", e.Message)
	}
	return p.fail(start, "%v", err)
}

func (p *parser) rest() string { return p.src[p.pos:] }

// until reads up to the first character for which ends is true.
func (p *parser) until(ends func(rune) bool) string {
	text := p.rest()
	if end := strings.IndexFunc(text, ends); end >= 0 {
		text = text[:end]
	}
	p.pos += len(text)
	return text
}

func (p *parser) space() {
	p.until(func(c rune) bool { return !strings.ContainsRune(blank, c) })
}

func (p *parser) pattern() (*Pattern, error) {
	if len(p.src) > maxLength {
		return nil, &Error{p.src[:60] + "…", maxLength, fmt.Sprintf("is %d bytes long, want at most %d", len(p.src), maxLength)}
	}
	if i := glob.InvalidUTF8(p.src); i >= 0 {
		return nil, p.fail(i, "not UTF-8 text")
	}
	p.space()
	out := &Pattern{text: strings.Trim(p.src, blank)}
	var err error
	if p.pos == len(p.src) {
		return nil, p.fail(p.pos, "is empty, want a tool such as Bash or Bash(npm *)")
	}
	if out.tool, err = p.tool(); err != nil {
		return nil, err
	}
	p.space()
	if p.pos == len(p.src) {
		return out, nil
	}
	if p.src[p.pos] != '(' {
		return nil, p.fail(p.pos, "%q follows the tool, want ( or the end", p.rest())
	}
	if err := p.arguments(out); err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.src) {
		return nil, p.fail(p.pos, "%q follows the arguments, want the end", p.rest())
	}
	return out, nil
}

// tool reads the tool, which precedes the arguments.
func (p *parser) tool() (matcher, error) {
	start := p.pos
	if p.src[p.pos] == '/' {
		return p.regexTool()
	}
	name := p.until(func(c rune) bool { return strings.ContainsRune("("+blank, c) })
	if name == "" {
		return matcher{}, p.fail(start, "has no tool before (")
	}
	how := "exact"
	if strings.ContainsAny(name, "*?[") {
		how = "glob"
	}
	m, err := newMatcher(how, name)
	if err != nil {
		return m, p.failAt(start, err)
	}
	return m, nil
}

// regexTool reads /expr/. A / inside parentheses, or after a \, does not end it.
func (p *parser) regexTool() (matcher, error) {
	start := p.pos
	depth := 0
	for i := start + 1; i < len(p.src); i++ {
		switch p.src[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		case '/':
			if depth > 0 {
				continue
			}
			expr := p.src[start+1 : i]
			if expr == "" {
				return matcher{}, p.fail(start, "// is an empty regular expression")
			}
			m, err := newMatcher("regex", expr)
			if err != nil {
				return m, p.fail(start+1, "%v", err)
			}
			p.pos = i + 1
			return m, nil
		}
	}
	return matcher{}, p.fail(start, "the regular expression has no closing /")
}

// arguments reads the arguments in parentheses.
func (p *parser) arguments(out *Pattern) error {
	open := p.pos
	p.pos++
	p.space()
	if p.conditional() {
		return p.conditions(out, open)
	}
	start := p.pos
	end, ok := p.closing()
	if !ok {
		return p.fail(open, "( is not closed")
	}
	text := trimSpace(p.src[start:end])
	p.pos = end + 1
	switch text {
	case "*":
		return nil
	case "":
		return p.fail(start, "() is empty, want (*) for any arguments")
	}
	m, err := newMatcher("glob", text)
	if err != nil {
		return p.failAt(start, err)
	}
	out.primary = &m
	return nil
}

// trimSpace removes trailing space, except for an escaped one.
func trimSpace(s string) string {
	t := strings.TrimRight(s, blank)
	if slashes := len(t) - len(strings.TrimRight(t, `\`)); slashes%2 == 1 && len(t) < len(s) {
		t = s[:len(t)+1]
	}
	return t
}

// closing returns the offset of the parenthesis that closes the arguments.
func (p *parser) closing() (int, bool) {
	depth := 1
	for i := p.pos; i < len(p.src); i++ {
		switch p.src[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i, true
			}
		}
	}
	return 0, false
}

// conditional reports whether a condition follows: a path and an operator.
func (p *parser) conditional() bool {
	probe := *p
	if _, ok := probe.path(); !ok {
		return false
	}
	probe.space()
	_, ok := probe.operator()
	return ok
}

func (p *parser) conditions(out *Pattern, open int) error {
	for {
		p.space()
		start := p.pos
		path, ok := p.path()
		if !ok {
			return p.fail(p.pos, "want a field, such as command or items[0].name")
		}
		c := Condition{path: path, text: p.src[start:p.pos]}
		p.space()
		at := p.pos
		how, ok := p.operator()
		if !ok {
			return p.fail(at, "want an operator: ~ = =~ !~ != or !=~")
		}
		p.space()
		at = p.pos
		value, err := p.quoted()
		if err != nil {
			return err
		}
		if c.matcher, err = newMatcher(how, value); err != nil {
			return p.failAt(at+1, err)
		}
		out.fields = append(out.fields, c)
		p.space()
		switch {
		case p.pos == len(p.src):
			return p.fail(open, "( is not closed")
		case p.src[p.pos] == ')':
			p.pos++
			return nil
		case p.src[p.pos] != ',':
			return p.fail(p.pos, "want , or ) after the condition")
		}
		p.pos++
	}
}

// path reads a path.
func (p *parser) path() ([]step, bool) {
	var out []step
	for {
		switch name := p.name(); {
		case name != "":
			out = append(out, step{name: name})
		case strings.HasPrefix(p.rest(), "*"):
			p.pos++
			out = append(out, step{any: true})
		default:
			return nil, false
		}
		for strings.HasPrefix(p.rest(), "[") {
			inside, _, closed := strings.Cut(p.rest()[1:], "]")
			if !closed {
				return nil, false
			}
			n, err := strconv.ParseUint(inside, 10, 31)
			if inside != "*" && (err != nil || !digits.MatchString(inside)) {
				return nil, false
			}
			out = append(out, step{list: true, index: int(n), any: inside == "*"})
			p.pos += len(inside) + 2
		}
		if !strings.HasPrefix(p.rest(), ".") {
			return out, true
		}
		p.pos++
	}
}

var digits = regexp.MustCompile(`^[0-9]+$`)

func (p *parser) name() string {
	return p.until(func(c rune) bool {
		return c != '_' && c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c)
	})
}

// operator reads an operator, and returns the name of its comparison.
func (p *parser) operator() (name string, ok bool) {
	for _, c := range comparisons {
		if strings.HasPrefix(p.rest(), c.operator) {
			p.pos += len(c.operator)
			return c.name, true
		}
	}
	return "", false
}

// quoted reads a quoted value. \ escapes the quote and itself; before any other character it
// is literal.
func (p *parser) quoted() (string, error) {
	start := p.pos
	if p.pos == len(p.src) || p.src[p.pos] != '"' && p.src[p.pos] != '\'' {
		return "", p.fail(p.pos, `want a quoted value; if this is not a condition, put a \ before the operator`)
	}
	quote := p.src[p.pos]
	var sb strings.Builder
	for p.pos++; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == quote:
			p.pos++
			return sb.String(), nil
		case c == '\\' && p.pos+1 == len(p.src):
			return "", p.fail(p.pos, `\ escapes nothing`)
		case c == '\\' && (p.src[p.pos+1] == quote || p.src[p.pos+1] == '\\'):
			p.pos++
			sb.WriteByte(p.src[p.pos])
		default:
			sb.WriteByte(c)
		}
	}
	return "", p.fail(start, "the value has no closing %c", quote)
}
