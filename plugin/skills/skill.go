package skills

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/glob"
	"github.com/awaken-go/awaken/internal/pattern"
)

// Skill is a set of instructions that an agent loads when it needs them, with the files that
// belong to it. A skill does not change: another text is another skill of the same name.
type Skill struct {
	Name        string // what models and people call it: lower-case letters, digits and -
	Title       string // shown to people; "" means Name
	Description string // what it does; models choose a skill by it
	WhenToUse   string // more about when to choose it
	Body        string // the instructions, in Markdown

	License       string
	Compatibility string // what the skill needs of its environment
	Metadata      map[string]string

	// AllowedTools are patterns of the tools that a run may use while the skill is active;
	// calls of them need no approval. Empty leaves the run its tools.
	AllowedTools []string
	Arguments    []Argument
	ArgumentHint string // shows people how to write the arguments
	// UserOnly skills are for people: models can neither see nor load them. ModelOnly skills
	// cannot be called by people.
	UserOnly, ModelOnly bool
	// Model is the model to use while the skill is active; "" keeps the agent's.
	Model string
	// Fork runs the skill in a run of its own, which sees nothing of the conversation.
	Fork bool
	// Paths are globs. The skill is offered once the run works with a file that matches one.
	Paths []string
	// Files are the skill's other files, by path below its folder.
	Files map[string]File

	seal *seal
}

// Argument is an argument of a skill.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// File is a file of a skill.
type File struct {
	Data []byte
	Exec bool // may be executed
}

// seal is what follows from the fields of a skill.
type seal struct {
	digest string
	tools  []*pattern.Pattern
	paths  []*glob.Pattern
}

// The limits of skills.
const (
	maxName          = 64
	maxTitle         = 128
	maxDescription   = 1024
	maxCompatibility = 500
	maxArguments     = 64
	maxPatterns      = 256       // of tools and of paths
	maxText          = 256 << 10 // bytes of a SKILL.md
	maxFiles         = 512       // of a skill
	maxFileBytes     = 4 << 20
	maxSkillBytes    = 16 << 20
	maxPathBytes     = 512
	maxDepth         = 8   // folders below a skill's
	maxSkills        = 256 // of a source
)

// normalName returns the normal form of a skill's name, and whether it is valid.
func normalName(s string) (string, bool) {
	s = norm.NFKC.String(strings.TrimSpace(s))
	if s == "" || utf8.RuneCountInString(s) > maxName || s[0] == '-' || s[len(s)-1] == '-' || strings.Contains(s, "--") {
		return s, false
	}
	for _, r := range s {
		if r != '-' && !unicode.IsDigit(r) && (!unicode.IsLetter(r) || unicode.ToLower(r) != r) {
			return s, false
		}
	}
	return s, true
}

// Seal checks the skill, and returns it ready for use: it must not be changed afterwards. The
// error reports every mistake.
func (s *Skill) Seal() (*Skill, error) {
	var bad check.Problems
	name, ok := normalName(s.Name)
	bad.When(!ok, "name is %q, want at most %d lower-case letters, digits and single hyphens", s.Name, maxName)
	bad.NotBlank("description", s.Description)
	atMost := func(field, value string, most int) {
		n := utf8.RuneCountInString(value)
		bad.When(n > most, "%s is %d characters long, want at most %d", field, n, most)
	}
	atMost("title", s.Title, maxTitle)
	atMost("description", s.Description, maxDescription)
	atMost("compatibility", s.Compatibility, maxCompatibility)
	bad.When(len(s.Body) > maxText, "the instructions have %d bytes, want at most %d", len(s.Body), maxText)
	bad.When(len(s.Arguments) > maxArguments, "arguments has %d entries, want at most %d", len(s.Arguments), maxArguments)
	bad.When(len(s.AllowedTools) > maxPatterns || len(s.Paths) > maxPatterns, "allowed-tools has %d entries and paths %d, want at most %d", len(s.AllowedTools), len(s.Paths), maxPatterns)
	var names []string
	for i, a := range s.Arguments {
		bad.NotBlank(fmt.Sprintf("arguments[%d].name", i), a.Name)
		bad.When(slices.Contains(names, a.Name), "arguments lists %q twice", a.Name)
		names = append(names, a.Name)
	}
	made := &seal{}
	for i, t := range s.AllowedTools {
		p, err := pattern.Compile(ourPattern(t))
		if err != nil {
			bad.Add("allowed-tools[%d] is %q: %w", i, t, err)
		}
		made.tools = append(made.tools, p)
	}
	for i, t := range s.Paths {
		p, err := glob.CompileRule(t)
		if err != nil {
			bad.Add("paths[%d] is %q: %w", i, t, err)
		}
		made.paths = append(made.paths, p)
	}
	for path := range s.Files {
		if _, err := cleanPath(path); err != nil {
			bad.Add("file %q: %w", path, err)
		}
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	out := *s
	out.Name, out.Files = name, maps.Clone(s.Files)
	made.digest = out.sum()
	out.seal = made
	return &out, nil
}

// Digest identifies the skill with its text, its settings and its files.
func (s *Skill) Digest() string { return s.seal.digest }

// sum hashes the skill. Each part is preceded by its length, so that no two skills have the
// same parts.
func (s *Skill) sum() string {
	h := sha256.New()
	part := func(parts ...string) {
		for _, p := range parts {
			_ = binary.Write(h, binary.BigEndian, uint64(len(p)))
			h.Write([]byte(p))
		}
	}
	list := func(l []string) { part(fmt.Sprint(len(l))); part(l...) }
	part("awaken skill 1", s.Name, s.Title, s.Description, s.WhenToUse, s.Body, s.License, s.Compatibility, s.ArgumentHint, s.Model, fmt.Sprint(s.UserOnly, s.ModelOnly, s.Fork))
	list(s.AllowedTools)
	list(s.Paths)
	part(fmt.Sprint(len(s.Arguments), len(s.Metadata), len(s.Files)))
	for _, a := range s.Arguments {
		part(a.Name, a.Description, fmt.Sprint(a.Required))
	}
	for _, k := range slices.Sorted(maps.Keys(s.Metadata)) {
		part(k, s.Metadata[k])
	}
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		f := s.Files[path]
		part(path, fmt.Sprint(f.Exec), string(f.Data))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// concerns reports whether path matches one of the skill's Paths.
func (s *Skill) concerns(path string) bool {
	return slices.ContainsFunc(s.seal.paths, func(p *glob.Pattern) bool { return p.Match(path) })
}

// ourPattern translates a tool pattern of other agents: Bash(git:*) allows the commands that
// begin with git.
func ourPattern(token string) string {
	head, arg, ok := strings.Cut(token, "(")
	arg, closed := strings.CutSuffix(arg, ":*)")
	if !ok || !closed || strings.ContainsAny(arg, `"'=~(){}[]\*?:`) {
		return token
	}
	return head + "({" + arg + "," + arg + " *})"
}
