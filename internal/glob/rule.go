package glob

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// CompileRule parses the glob of a rule:
//
//	?        one character other than /
//	*        any text
//	**       any text
//	**/      any number of directories, including none; at the start or after a /
//	[a-z]    one of these characters; [!a-z] and [^a-z] any other character
//	{a,b}    one of these globs; braces without a comma are literal
//	\        escapes the next character
//
// A single * directly after **/ or before /** does not cross a /. Errors are
// of type *[Error]. The empty glob matches the empty text.
func CompileRule(s string) (*Pattern, error) { return compileRule(s, true) }

// compileRule parses a glob. If fast is true, one that has only text and stars is matched
// without a regular expression.
func compileRule(s string, fast bool) (*Pattern, error) {
	if i := InvalidUTF8(s); i >= 0 {
		return nil, &Error{i, "not UTF-8 text"}
	}
	r := rule{src: s, plain: true}
	if err := r.sequence(0, false); err != nil {
		return nil, err
	}
	if r.plain && fast {
		return &Pattern{parts: r.lits.done()}, nil
	}
	re, err := regexp.Compile(`(?s)\A(?:` + r.out.String() + `)\z`)
	if err != nil { // too large
		return nil, &Error{0, err.Error()}
	}
	return &Pattern{re: re}, nil
}

// InvalidUTF8 returns the offset of the first byte of s that is not UTF-8, or -1.
func InvalidUTF8(s string) int {
	for i, c := range s {
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}

// rule translates a glob into a regular expression and, as long as it has only text and stars,
// into literals.
type rule struct {
	src   string
	pos   int
	plain bool
	lits  literals
	out   strings.Builder
}

// maxBraces limits how deep braces nest.
const maxBraces = 16

// sequence reads a glob up to its end or, inside braces, up to a comma or the closing brace.
func (r *rule) sequence(depth int, inside bool) error {
	for r.pos < len(r.src) {
		c, size := utf8.DecodeRuneInString(r.src[r.pos:])
		switch {
		case inside && (c == ',' || c == '}'):
			return nil
		case c == '*':
			r.stars()
			continue
		case c == '?':
			r.special(`[^/]`)
		case c == '[':
			if err := r.class(); err != nil {
				return err
			}
			continue
		case c == '{':
			switch end, comma := r.closing(); {
			case end < 0 && comma:
				return &Error{r.pos, "{ is not closed"}
			case end < 0 || !comma:
				r.literal(c)
			default:
				if err := r.braces(depth + 1); err != nil {
					return err
				}
				continue
			}
		case c == '\\':
			if r.pos+1 == len(r.src) {
				return errEscape(r.pos)
			}
			r.pos++
			c, size = utf8.DecodeRuneInString(r.src[r.pos:])
			r.literal(c)
		default:
			r.literal(c)
		}
		r.pos += size
	}
	return nil
}

func (r *rule) literal(c rune) {
	r.lits.text.WriteRune(c)
	r.out.WriteString(regexp.QuoteMeta(string(c)))
}

func (r *rule) special(expr string) {
	r.plain = false
	r.out.WriteString(expr)
}

// stars reads a run of stars.
func (r *rule) stars() {
	start := r.pos
	for r.pos < len(r.src) && r.src[r.pos] == '*' {
		r.pos++
	}
	before, after := r.src[:start], r.src[r.pos:]
	switch {
	case r.pos-start == 1 && (strings.HasSuffix(before, "**/") || strings.HasPrefix(after, "/**")):
		r.special(`[^/]*`)
	case r.pos-start > 1 && (before == "" || strings.HasSuffix(before, "/")) && strings.HasPrefix(after, "/"):
		r.pos++
		r.special(`(?:.*/)?`)
	default:
		r.lits.star()
		r.out.WriteString(`.*`)
	}
}

// closing returns the end of the braces that open at pos, and whether they contain a comma of
// their own.
func (r *rule) closing() (end int, comma bool) {
	depth := 0
	for i := r.pos; i < len(r.src); i++ {
		switch r.src[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			comma = comma || depth == 1
		case '}':
			if depth--; depth == 0 {
				return i, comma
			}
		}
	}
	return -1, comma
}

func (r *rule) braces(depth int) error {
	if depth > maxBraces {
		return &Error{r.pos, fmt.Sprintf("braces are nested deeper than %d", maxBraces)}
	}
	open := r.pos
	r.special(`(?:`)
	for {
		r.pos++ // over { or ,
		if err := r.sequence(depth, true); err != nil {
			return err
		}
		if r.pos == len(r.src) {
			return &Error{open, "{ is not closed"}
		}
		if r.src[r.pos] == '}' {
			r.pos++
			r.out.WriteByte(')')
			return nil
		}
		r.out.WriteByte('|')
	}
}

// class reads a character class.
func (r *rule) class() error {
	open := r.pos
	r.pos++
	var sb strings.Builder
	sb.WriteByte('[')
	if rest := r.src[r.pos:]; strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "^") {
		sb.WriteByte('^')
		r.pos++
	}
	for first := true; ; first = false {
		if r.pos < len(r.src) && r.src[r.pos] == ']' && !first {
			r.pos++
			sb.WriteByte(']')
			r.special(sb.String())
			return nil
		}
		at := r.pos
		from, ok := r.member()
		if !ok {
			return &Error{open, "[ is not closed"}
		}
		to := from
		if rest := r.src[r.pos:]; strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") {
			r.pos++
			if to, ok = r.member(); !ok {
				return &Error{open, "[ is not closed"}
			}
		}
		if to < from {
			return &Error{at, fmt.Sprintf("range %q-%q is reversed", from, to)}
		}
		fmt.Fprintf(&sb, `\x{%x}-\x{%x}`, from, to)
	}
}

// member reads one character of a class.
func (r *rule) member() (rune, bool) {
	if r.pos < len(r.src) && r.src[r.pos] == '\\' {
		r.pos++
	}
	if r.pos >= len(r.src) {
		return 0, false
	}
	c, size := utf8.DecodeRuneInString(r.src[r.pos:])
	r.pos += size
	return c, true
}
