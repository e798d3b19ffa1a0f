package skills

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Parse reads the text of a SKILL.md: YAML between lines of ---, then the instructions. Folder is
// the name of the folder that it is in, or "". Skills that were written for other agents are read
// as far as they can be: the warnings say what was ignored or mended.
func Parse(folder string, text []byte) (s *Skill, warnings []string, err error) {
	if len(text) > maxText {
		return nil, nil, fmt.Errorf("SKILL.md has %d bytes, want at most %d", len(text), maxText)
	}
	if !utf8.Valid(text) {
		return nil, nil, errors.New("SKILL.md is not UTF-8")
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, nil, errors.New("SKILL.md has NUL characters")
	}
	head, body, err := split(string(text))
	if err != nil {
		return nil, nil, err
	}
	m := &matter{folder: folder, skill: &Skill{Body: strings.TrimSpace(body)}}
	if err := m.decode(head); err != nil {
		return nil, nil, err
	}
	m.complete()
	s, err = m.skill.Seal()
	return s, m.warnings, err
}

// split separates the frontmatter from the instructions.
func split(text string) (head, body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", errors.New("SKILL.md does not begin with a line of ---, want YAML frontmatter with name and description")
	}
	var b strings.Builder
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == "---" {
			return b.String(), rest[b.Len()+len(line):], nil
		}
		b.WriteString(line)
	}
	return "", "", errors.New("the frontmatter of SKILL.md does not end with a line of ---")
}

// matter is frontmatter being read.
type matter struct {
	folder   string
	skill    *Skill
	warnings []string
}

func (m *matter) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}

// decode reads the fields of the frontmatter.
func (m *matter) decode(head string) error {
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(head), &fields); err != nil {
		mended, ok := quoted(head)
		if !ok || yaml.Unmarshal([]byte(mended), &fields) != nil {
			return fmt.Errorf("the frontmatter of SKILL.md is not YAML: %w", err)
		}
		m.warn("the frontmatter is not YAML (%v): its values are read as text", firstLine(err.Error()))
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if fields[key] == nil {
			continue
		}
		read := readers[strings.ReplaceAll(key, "_", "-")]
		if read == nil {
			m.warn("unknown field %q is ignored", key)
			continue
		}
		if err := read(m, fields[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// quoted quotes the values of frontmatter that has one field per line. People write
// "description: Use it so: always", which is not YAML.
func quoted(head string) (string, bool) {
	var b strings.Builder
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, " \t\n")
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if ok && key != "" && !strings.ContainsAny(key, " \t\"'#") && value != "" && !strings.ContainsAny(value[:1], "\"'|>{") {
			line = key + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
		}
		b.WriteString(line + "\n")
	}
	return b.String(), b.Len() <= 2*maxText
}

// readers read the fields of frontmatter, by their names.
var readers = map[string]func(m *matter, v any) error{
	"name":          func(m *matter, v any) error { return text(&m.skill.Name, v) },
	"description":   func(m *matter, v any) error { return text(&m.skill.Description, v) },
	"when-to-use":   func(m *matter, v any) error { return text(&m.skill.WhenToUse, v) },
	"license":       func(m *matter, v any) error { return text(&m.skill.License, v) },
	"compatibility": func(m *matter, v any) error { return text(&m.skill.Compatibility, v) },
	"model":         func(m *matter, v any) error { return text(&m.skill.Model, v) },
	"argument-hint": func(m *matter, v any) error {
		if list, ok := v.([]any); ok { // [file], which YAML takes for a list
			names, err := tokens(list)
			if err != nil {
				return err
			}
			v = fmt.Sprintf("[%s]", strings.Join(names, ", "))
		}
		return text(&m.skill.ArgumentHint, v)
	},
	"metadata":                 (*matter).readMetadata,
	"arguments":                (*matter).readArguments,
	"allowed-tools":            func(m *matter, v any) (err error) { m.skill.AllowedTools, err = tokens(v); return err },
	"paths":                    func(m *matter, v any) (err error) { m.skill.Paths, err = tokens(v); return err },
	"disable-model-invocation": func(m *matter, v any) error { return boolean(&m.skill.UserOnly, v) },
	"user-invocable": func(m *matter, v any) error {
		yes := true
		err := boolean(&yes, v)
		m.skill.ModelOnly = !yes
		return err
	},
	"context": func(m *matter, v any) error {
		switch v {
		case "inline":
		case "fork":
			m.skill.Fork = true
		default:
			return fmt.Errorf("is %q, want inline or fork", fmt.Sprint(v))
		}
		return nil
	},
}

func (m *matter) readMetadata(v any) error {
	fields, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("is %T, want fields", v)
	}
	m.skill.Metadata = map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		var s string
		if text(&s, fields[k]) != nil {
			m.warn("metadata %q is no text and is ignored", k)
			continue
		}
		m.skill.Metadata[k] = s
	}
	return nil
}

// readArguments reads a list of arguments, of their names, or the names in one text.
func (m *matter) readArguments(v any) error {
	if s, ok := v.(string); ok {
		for _, name := range strings.Fields(s) {
			m.skill.Arguments = append(m.skill.Arguments, Argument{Name: name})
		}
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("is %T, want a list", v)
	}
	for i, e := range list {
		a, err := m.argument(e)
		if err != nil {
			return fmt.Errorf("[%d] %w", i, err)
		}
		m.skill.Arguments = append(m.skill.Arguments, a)
	}
	return nil
}

func (m *matter) argument(v any) (a Argument, err error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return a, text(&a.Name, v)
	}
	for key, v := range fields {
		switch key {
		case "name":
			err = errors.Join(err, text(&a.Name, v))
		case "description":
			err = errors.Join(err, text(&a.Description, v))
		case "required":
			err = errors.Join(err, boolean(&a.Required, v))
		default:
			m.warn("unknown field %q of an argument is ignored", key)
		}
	}
	return a, err
}

// complete mends what skills for other agents leave out or write otherwise.
func (m *matter) complete() {
	s := m.skill
	name, ok := normalName(s.Name)
	folder, usable := normalName(m.folder)
	switch {
	case ok:
		if usable && name != folder {
			m.warn("name is %q, but the folder is %q", name, folder)
		}
		s.Name = name
	case usable:
		if s.Name != "" {
			m.warn("name is %q, which is no valid name: the folder's name is used", s.Name)
			s.Title = cut(s.Name, maxTitle)
		} else {
			m.warn("name is missing: the folder's name is used")
		}
		s.Name = folder
	}
	if strings.TrimSpace(s.Description) == "" {
		if s.Description = firstParagraph(s.Body); s.Description != "" {
			m.warn("description is missing: the first paragraph is used")
		}
	}
	if short := cut(s.Description, maxDescription); short != s.Description {
		m.warn("description is longer than %d characters and is cut", maxDescription)
		s.Description = short
	}
	if short := cut(s.Compatibility, maxCompatibility); short != s.Compatibility {
		m.warn("compatibility is longer than %d characters and is cut", maxCompatibility)
		s.Compatibility = short
	}
	if s.Model == "inherit" {
		s.Model = ""
	}
}

// cut returns at most n characters of s.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// firstParagraph returns the first paragraph of a Markdown text that is no heading.
func firstParagraph(body string) string {
	for p := range strings.SplitSeq(body, "\n\n") {
		if p = strings.TrimSpace(p); p != "" && p[0] != '#' {
			return strings.Join(strings.Fields(p), " ")
		}
	}
	return ""
}

func text(to *string, v any) error {
	switch v := v.(type) {
	case string:
		*to = strings.TrimSpace(v)
	case int, int64, uint64, float64, bool:
		*to = fmt.Sprint(v)
	default:
		return fmt.Errorf("is %T, want a text", v)
	}
	return nil
}

func boolean(to *bool, v any) error {
	switch v := v.(type) {
	case bool:
		*to = v
		return nil
	case string:
		b, err := strconv.ParseBool(v)
		switch strings.ToLower(v) {
		case "yes", "on":
			b, err = true, nil
		case "no", "off":
			b, err = false, nil
		}
		if err == nil {
			*to = b
			return nil
		}
	}
	return fmt.Errorf("is %q, want true or false", fmt.Sprint(v))
}

// tokens returns the entries of a list, or of a text that separates them by spaces or commas.
// Parentheses, braces and quotes hold an entry together.
func tokens(v any) ([]string, error) {
	if list, ok := v.([]any); ok {
		var out []string
		for i, e := range list {
			var s string
			if err := text(&s, e); err != nil {
				return nil, fmt.Errorf("[%d] %w", i, err)
			}
			if s != "" {
				out = append(out, s)
			}
		}
		return out, nil
	}
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("is %T, want a text or a list", v)
	}
	var out []string
	var b strings.Builder
	depth, quote := 0, rune(0)
	end := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	for _, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case depth > 0 && (r == '"' || r == '\''):
			quote = r
		case strings.ContainsRune("({", r):
			depth++
		case strings.ContainsRune(")}", r):
			depth = max(0, depth-1)
		case depth == 0 && (unicode.IsSpace(r) || r == ','):
			end()
			continue
		}
		b.WriteRune(r)
	}
	end()
	return out, nil
}
