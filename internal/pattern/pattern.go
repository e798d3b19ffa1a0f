// Package pattern implements the patterns by which rules match tool calls:
//
//	Bash                                    a tool
//	mcp__github__*                          tools, by a glob
//	/mcp__(gh|gl)__.*/                      tools, by a regular expression
//	Bash(npm *)                             the primary argument, by a glob
//	Edit(file_path ~ "src/**")              a field of the arguments
//	Deploy(env.name = 'prod', hosts[*] !~ "*.test")   nested fields; all conditions must hold
//
// The primary argument is the value of the only field, or the JSON text of all arguments if
// there are more; [Pattern.MatchAny] also takes every single value as the primary argument. The
// operators are ~ (glob), = (equal) and =~ (regular expression), and their
// negations !~, != and !=~. A missing field satisfies no condition. If a path leads to several
// values, one that satisfies the condition is enough. Values are written in double or single
// quotes.
//
// A [Pattern] is compiled once and safe for concurrent use. Matching takes time linear in the
// arguments.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/glob"
)

// maxLength is the maximum length of a pattern, in bytes.
const maxLength = 4096

// Error is a syntax error in a pattern.
type Error struct {
	Pattern string
	Offset  int // bytes from the start
	Message string
}

// Error returns the message with its offset.
func (e *Error) Error() string {
	return fmt.Sprintf("pattern %q: offset %d: %s", e.Pattern, e.Offset, e.Message)
}

// Pattern is a compiled pattern.
type Pattern struct {
	text    string
	tool    matcher
	primary *matcher    // condition on the primary argument, or nil
	fields  []Condition // all must hold
}

// comparison is a way to compare a value.
type comparison struct {
	name      string // in JSON
	operator  string // in patterns
	plain     string // the name without its negation
	precision int    // how specific it is
}

// comparisons lists all comparisons. An operator precedes its own prefixes.
var comparisons = []comparison{
	{"not_regex", "!=~", "regex", 1}, {"not_exact", "!=", "exact", 3}, {"not_glob", "!~", "glob", 2},
	{"regex", "=~", "regex", 1}, {"glob", "~", "glob", 2}, {"exact", "=", "exact", 3},
}

// matcher compares a value with a text.
type matcher struct {
	comparison
	want  string
	found func(value string) bool // ignores the negation
}

// newMatcher compiles a matcher. Name is the comparison's name in JSON.
func newMatcher(name, want string) (matcher, error) {
	i := slices.IndexFunc(comparisons, func(c comparison) bool { return c.name == name })
	if i < 0 {
		return matcher{}, errors.New("unknown comparison, want glob, exact, regex, not_glob, not_exact or not_regex")
	}
	m := matcher{comparison: comparisons[i], want: want}
	switch m.plain {
	case "glob":
		g, err := glob.CompileRule(want)
		if err != nil {
			return m, err
		}
		m.found = g.Match
	case "regex":
		re, err := regexp.Compile(want)
		if err != nil {
			return m, err
		}
		m.found = re.MatchString
	default:
		m.found = func(value string) bool { return value == want }
	}
	return m, nil
}

func (m *matcher) match(value string) bool { return m.found(value) == (m.name == m.plain) }

// Condition is a condition on the values at a path.
type Condition struct {
	path []step
	text string // the path
	matcher
}

// NewCondition returns a condition on the values at path, written as in a pattern. How is the
// comparison: glob, exact, regex, not_glob, not_exact or not_regex.
func NewCondition(path, how, value string) (*Condition, error) {
	p := parser{src: path}
	steps, ok := p.path()
	if !ok || p.pos != len(path) {
		return nil, fmt.Errorf("path is %q, want names separated by dots, each a word or *, with indexes such as [0] or [*]", path)
	}
	m, err := newMatcher(how, value)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", how, value, err)
	}
	return &Condition{path: steps, text: path, matcher: m}, nil
}

// step is one step of a path: a field or a list element, or any of them.
type step struct {
	name  string
	index int
	list  bool // an element, not a field
	any   bool
}

// String returns the pattern as written, without surrounding space.
func (p *Pattern) String() string { return p.text }

// Unconditional reports whether the pattern matches a tool regardless of its arguments.
func (p *Pattern) Unconditional() bool { return p.primary == nil && len(p.fields) == 0 }

// Tool returns the only tool that the pattern matches, or "" if there may be several.
func (p *Pattern) Tool() string {
	if p.tool.name == "exact" {
		return p.tool.want
	}
	return ""
}

// Compare orders patterns by specificity: it is positive if p is more specific than q. The
// tool counts first (a name, a glob, a regular expression), then whether there are arguments,
// the number of fields, and how specific each is.
func (p *Pattern) Compare(q *Pattern) int {
	a, b := p.specificity(), q.specificity()
	return slices.Compare(a[:], b[:])
}

func (p *Pattern) specificity() [4]int {
	arguments, precision := 0, 0
	if !p.Unconditional() {
		arguments = 1
	}
	if p.primary != nil {
		precision = p.primary.precision
	}
	for i := range p.fields {
		precision += p.fields[i].precision
	}
	return [4]int{p.tool.precision, arguments, len(p.fields), precision}
}

// Exactly returns a pattern that matches only the tool of this name.
func Exactly(tool string) string {
	if tool == "" || strings.ContainsAny(tool, "*?[( \t\r\n") || strings.HasPrefix(tool, "/") {
		return "/^" + strings.ReplaceAll(regexp.QuoteMeta(tool), "/", `\/`) + "$/"
	}
	return tool
}
