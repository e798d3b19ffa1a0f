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
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/awaken-go/awaken/internal/glob"
)

// MaxLength is how many bytes a pattern may have.
const MaxLength = 4096

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
	args    argsKind
	primary matcher
	fields  []Condition
	bad     error
}

type argsKind uint8

const (
	anyArgs argsKind = iota
	primaryArg
	namedArgs
)

// Kind is how a text is compared.
type Kind string

// The kinds, and their contraries, by their names in JSON.
const (
	Glob     Kind = "glob"
	Exact    Kind = "exact"
	Regex    Kind = "regex"
	NotGlob  Kind = "not_glob"
	NotExact Kind = "not_exact"
	NotRegex Kind = "not_regex"
)

// Kinds are all of them.
var Kinds = []Kind{Glob, Exact, Regex, NotGlob, NotExact, NotRegex}

// operators, the longer before those they begin with.
var operators = []struct {
	text string
	kind Kind
}{{"!=~", NotRegex}, {"!=", NotExact}, {"!~", NotGlob}, {"=~", Regex}, {"~", Glob}, {"=", Exact}}

func (k Kind) operator() string {
	for _, op := range operators {
		if op.kind == k {
			return op.text
		}
	}
	return string(k)
}

// plain is the kind without its negation, and whether it had one.
func (k Kind) plain() (Kind, bool) {
	switch k {
	case NotGlob:
		return Glob, true
	case NotExact:
		return Exact, true
	case NotRegex:
		return Regex, true
	}
	return k, false
}

// precision orders kinds by how exactly they say what they mean.
func (k Kind) precision() int {
	switch k, _ := k.plain(); k {
	case Exact:
		return 3
	case Glob:
		return 2
	}
	return 1
}

// matcher compares a text. A regular expression that does not compile matches nothing.
type matcher struct {
	kind Kind
	want string
	glob *glob.Pattern
	re   *regexp.Regexp
}

// newMatcher compiles a matcher. Errors of globs begin with "offset n: ".
func newMatcher(kind Kind, want string) (matcher, error) {
	m := matcher{kind: kind, want: want}
	var err error
	switch plain, _ := kind.plain(); plain {
	case Glob:
		m.glob, err = glob.CompileRule(want)
	case Regex:
		m.re, err = regexp.Compile(want)
	}
	return m, err
}

func (m *matcher) match(value string) bool {
	kind, negated := m.kind.plain()
	found := false
	switch kind {
	case Exact:
		found = value == m.want
	case Glob:
		found = m.glob != nil && m.glob.Match(value)
	case Regex:
		found = m.re != nil && m.re.MatchString(value)
	}
	return found != negated
}

// Condition is a condition on the values that a path leads to.
type Condition struct {
	path []step
	text string // the path
	matcher
}

// NewCondition returns a condition on the values at path, which is written as in a
// pattern.
func NewCondition(path string, kind Kind, value string) (*Condition, error) {
	p := parser{src: path}
	steps, ok := p.path()
	if !ok || p.pos != len(path) {
		return nil, fmt.Errorf("path is %q, want names separated by dots, each a word or *, with indexes such as [0] or [*]", path)
	}
	m, err := newMatcher(kind, value)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", kind, value, err)
	}
	return &Condition{path: steps, text: path, matcher: m}, nil
}

// step is one step of a path: a field, or an index.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	field stepKind = iota
	anyField
	element
	anyElement
)

// Compile parses a pattern for use in a rule. Unlike [Parse] it refuses regular
// expressions that do not compile: a rule that can never match, or always does, is a
// mistake.
func Compile(text string) (*Pattern, error) {
	p, err := Parse(text)
	if err == nil {
		err = p.bad
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// String is the pattern as it was written, without surrounding space.
func (p *Pattern) String() string { return p.text }

// Unconditional reports whether the pattern takes a tool whatever its arguments are.
func (p *Pattern) Unconditional() bool { return p.args == anyArgs }

// Tool returns the only tool that the pattern takes, or "" when it may take several.
func (p *Pattern) Tool() string {
	if p.tool.kind == Exact {
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
	for i := range a {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func (p *Pattern) specificity() (s [4]int) {
	s[0] = p.tool.kind.precision()
	if p.args != anyArgs {
		s[1] = 1
	}
	if p.args == primaryArg {
		s[3] = p.primary.kind.precision()
	}
	s[2] = len(p.fields)
	for i := range p.fields {
		s[3] += p.fields[i].kind.precision()
	}
	return s
}

// Exactly returns the pattern that takes only the tool of this name.
func Exactly(tool string) string {
	if tool == "" || strings.ContainsAny(tool, "*?[( \t\r\n") || strings.HasPrefix(tool, "/") {
		return "/^" + strings.ReplaceAll(regexp.QuoteMeta(tool), "/", `\/`) + "$/"
	}
	return tool
}
