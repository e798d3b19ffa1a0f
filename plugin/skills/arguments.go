package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// arguments are the arguments of one activation.
type arguments struct {
	text   string            // as written
	words  []string          // of text
	named  map[string]string // of the skill's declared arguments
	spaced bool              // text is what was given
}

// parseArguments interprets the arguments that a model or a person gives to a skill: a text, or an
// object with the skill's arguments.
func parseArguments(s *Skill, args, object json.RawMessage) (*arguments, error) {
	if isNull(args) {
		args = object
	} else if !isNull(object) {
		return nil, errors.New("args and arguments are both given, want one of them")
	}
	if isNull(args) {
		return withText(s, "")
	}
	var line string
	if json.Unmarshal(args, &line) == nil {
		return withText(s, line)
	}
	var fields map[string]any
	if err := json.Unmarshal(args, &fields); err != nil {
		return nil, errors.New("args is neither a text nor an object")
	}
	a := &arguments{named: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if len(s.Arguments) > 0 && !slices.ContainsFunc(s.Arguments, func(d Argument) bool { return d.Name == name }) {
			return nil, fmt.Errorf("the skill has no argument %q, want %s", name, s.usage())
		}
		switch v := fields[name].(type) {
		case nil:
		case string:
			a.named[name] = v
		default:
			data, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			a.named[name] = string(data)
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if a.text = string(data); len(fields) == 0 {
		a.text = ""
	}
	return a, a.complete(s)
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// withText assigns the words of a text to the declared arguments, in order; the last one gets the
// rest of the text.
func withText(s *Skill, text string) (*arguments, error) {
	a := &arguments{text: strings.TrimSpace(text), named: map[string]string{}, spaced: true}
	a.words = splitWords(a.text)
	for i, d := range s.Arguments {
		switch {
		case i >= len(a.words):
		case i == len(s.Arguments)-1:
			a.named[d.Name] = strings.Join(a.words[i:], " ")
		default:
			a.named[d.Name] = a.words[i]
		}
	}
	return a, a.complete(s)
}

// complete reports declared arguments that are required and missing.
func (a *arguments) complete(s *Skill) error {
	for _, d := range s.Arguments {
		if _, ok := a.named[d.Name]; d.Required && !ok {
			return fmt.Errorf("argument %q is missing, want %s", d.Name, s.usage())
		}
	}
	return nil
}

// usage describes the arguments of the skill.
func (s *Skill) usage() string {
	if s.ArgumentHint != "" {
		return s.ArgumentHint
	}
	var names []string
	for _, a := range s.Arguments {
		if a.Required {
			names = append(names, a.Name)
		} else {
			names = append(names, "["+a.Name+"]")
		}
	}
	return strings.Join(names, " ")
}

// splitWords splits a text at spaces. Quotes hold words together.
func splitWords(s string) (out []string) {
	var b strings.Builder
	quote, open := rune(0), false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if b.Len() > 0 || open {
				out = append(out, b.String())
			}
			b.Reset()
			open = false
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() > 0 || open {
		out = append(out, b.String())
	}
	return out
}

// maxRendered limits the instructions of an activation, with its arguments.
const maxRendered = 2 * maxText

// render returns the skill's instructions with its arguments. What replaces a variable is not
// searched for variables again. If the instructions name no variable, the arguments follow them.
func (s *Skill) render(a *arguments) (string, error) {
	var b strings.Builder
	used := false
	rest := s.Body
	for b.Len() <= maxRendered {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			break
		}
		b.WriteString(rest[:i])
		rest = rest[i:]
		value, n, ok := a.variable(s, rest)
		if !ok {
			b.WriteByte('$')
			rest = rest[1:]
			continue
		}
		used = used || !strings.HasPrefix(rest, skillDir)
		b.WriteString(value)
		rest = rest[n:]
	}
	b.WriteString(rest)
	if !used && a.text != "" {
		b.WriteString("\n\nARGUMENTS: " + a.text)
	}
	if b.Len() > maxRendered {
		return "", fmt.Errorf("the instructions with the arguments have more than %d bytes", maxRendered)
	}
	return b.String(), nil
}

// skillDir is the folder of the skill in skills that were written for Claude. The tools take paths
// below it.
const skillDir = "${CLAUDE_SKILL_DIR}"

// variable returns the value of the variable that text begins with, and the length of its name:
// ${name} or $name of a declared argument, $ARGUMENTS, $ARGUMENTS[0], $0.
func (a *arguments) variable(s *Skill, text string) (value string, n int, ok bool) {
	if strings.HasPrefix(text, skillDir) {
		return ".", len(skillDir), true
	}
	if inner, found := strings.CutPrefix(text, "${"); found {
		name, _, closed := strings.Cut(inner, "}")
		if closed && (name == "ARGUMENTS" || s.declares(name)) {
			value = a.named[name]
			if name == "ARGUMENTS" {
				value = a.text
			}
			return value, len(name) + 3, true
		}
		return "", 0, false
	}
	if rest, found := strings.CutPrefix(text, "$ARGUMENTS"); found {
		if index, _, closed := strings.Cut(strings.TrimPrefix(rest, "["), "]"); closed && strings.HasPrefix(rest, "[") {
			if i, err := strconv.Atoi(index); err == nil && i >= 0 && len(index) < 4 {
				return a.word(i), len("$ARGUMENTS") + len(index) + 2, true
			}
		}
		return a.text, len("$ARGUMENTS"), true
	}
	end := 1
	for end < len(text) && (text[end] == '_' || text[end] == '-' && end > 1 || isAlnum(text[end])) {
		end++
	}
	for ; end > 1; end-- {
		if name := text[1:end]; s.declares(name) && (end == len(text) || !isAlnum(text[end])) {
			return a.named[name], end, true
		}
	}
	if len(text) > 1 && text[1] >= '0' && text[1] <= '9' && (len(text) == 2 || !isAlnum(text[2])) && a.spaced {
		if i := int(text[1] - '0'); i < len(a.words) {
			return a.words[i], 2, true
		}
	}
	return "", 0, false
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (s *Skill) declares(name string) bool {
	return slices.ContainsFunc(s.Arguments, func(d Argument) bool { return d.Name == name })
}

// word returns the word with that index, or "".
func (a *arguments) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	return ""
}

// ArgumentsName is the argument of [Skill.Prompt] that holds the whole text of the arguments.
const ArgumentsName = "arguments"

// Prompt returns the instructions of the skill with its arguments by name, or with the text of all of
// them, under [ArgumentsName].
func (s *Skill) Prompt(args map[string]string) (string, error) {
	if text, ok := args[ArgumentsName]; ok && len(s.Arguments) == 0 && len(args) == 1 {
		a, err := withText(s, text)
		if err != nil {
			return "", err
		}
		return s.render(a)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	a, err := parseArguments(s, raw, nil)
	if err != nil {
		return "", err
	}
	return s.render(a)
}
