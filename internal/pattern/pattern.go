// Package pattern has the language in which rules name tool calls:
//
//	Bash                                    a tool
//	mcp__github__*                          tools, by a glob
//	/mcp__(gh|gl)__.*/                      tools, by a regular expression
//	Bash(npm *)                             the primary argument, by a glob
//	Edit(file_path ~ "src/**")              a field of the arguments
//	Deploy(env.name = 'prod', hosts[*] !~ "*.test")   fields inside fields; all must hold
//
// The primary argument is the value of the only field, or the JSON text of all
// arguments when there are more. The operators are ~ (glob), = (equal) and =~ (regular
// expression), and !~, != and !=~ for their contrary; a field that is not there fulfils
// none of them. Where a path leads to several values, one that fulfils the condition is
// enough. Values stand in double or single quotes.
//
// A [Pattern] is compiled once and safe for concurrent use. Matching takes time linear
// in the arguments.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/glob"
)

// maxLength is how many bytes a pattern may have.
const maxLength = 4096

// Error is a mistake in a pattern, and where it is.
type Error struct {
	Pattern string
	Offset  int // in bytes
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("pattern %q: offset %d: %s", e.Pattern, e.Offset, e.Message)
}

// Pattern is a compiled pattern.
type Pattern struct {
	text    string
	tool    matcher
	primary *matcher    // nil unless the primary argument matters
	fields  []Condition // all must hold
}

// comparison is a way to compare texts.
type comparison struct {
	name      string // in JSON
	operator  string // in patterns
	plain     string // the name without its negation
	precision int    // how exactly it says what it means
}

// comparisons are all there are. Operators come before those they begin with.
var comparisons = []comparison{
	{"not_regex", "!=~", "regex", 1}, {"not_exact", "!=", "exact", 3}, {"not_glob", "!~", "glob", 2},
	{"regex", "=~", "regex", 1}, {"glob", "~", "glob", 2}, {"exact", "=", "exact", 3},
}

// matcher compares a text.
type matcher struct {
	comparison
	want  string
	found func(value string) bool // whatever the negation
}

// newMatcher compiles a matcher for the comparison of that name.
func newMatcher(name, want string) (matcher, error) {
	i := slices.IndexFunc(comparisons, func(c comparison) bool { return c.name == name })
	if i < 0 {
		return matcher{}, errors.New("no such comparison, want glob, exact, regex, not_glob, not_exact or not_regex")
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

// Condition is a condition on the values that a path leads to.
type Condition struct {
	path []step
	text string // the path
	matcher
}

// NewCondition returns a condition on the values at path, which is written as in a
// pattern. How they are compared is glob, exact, regex, not_glob, not_exact or not_regex.
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

// step is one step of a path: to a field or an element of a list, or to any of them.
type step struct {
	name  string
	index int
	list  bool // to an element
	any   bool
}

// String is the pattern as it was written, without surrounding space.
func (p *Pattern) String() string { return p.text }

// Unconditional reports whether the pattern takes a tool whatever its arguments are.
func (p *Pattern) Unconditional() bool { return p.primary == nil && len(p.fields) == 0 }

// Tool returns the only tool that the pattern takes, or "" when it may take several.
func (p *Pattern) Tool() string {
	if p.tool.name == "exact" {
		return p.tool.want
	}
	return ""
}

// Compare orders patterns by how specific they are: it is positive when p says more
// exactly what it means than q. The tool counts first (a name, a glob, a regular
// expression), then whether there are arguments, how many fields, and how exact each
// is.
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

// Exactly returns the pattern that takes only the tool of this name.
func Exactly(tool string) string {
	if tool == "" || strings.ContainsAny(tool, "*?[( \t\r\n") || strings.HasPrefix(tool, "/") {
		return "/^" + strings.ReplaceAll(regexp.QuoteMeta(tool), "/", `\/`) + "$/"
	}
	return tool
}
