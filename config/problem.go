package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
)

// Problem is one problem of a document, in a form that a program can show beside its field.
type Problem struct {
	// Path is the JSON Pointer of the field, or the nearest one above it that is known. "" is the document.
	Path string `json:"path"`
	// Code is the kind of mistake: unknown_field, missing_field, duplicate_field, wrong_type, invalid_value, invalid_json,
	// too_many_problems (only the first 100 are listed), or the code of a diagnostic.
	Code       string `json:"code"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"` // what was probably meant: a name or an id
	Severity   string `json:"severity"`             // error or warning
	// Resource is the document, unless it is the one that the request is about.
	Resource Key `json:"resource,omitzero"`
}

// InvalidError is the error of a refused write, with all problems that were found. Its text is the text of the error that it wraps.
type InvalidError struct {
	Err      error // an awaken.ErrInvalid
	Problems []Problem
}

// Error returns the text of Err.
func (e *InvalidError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *InvalidError) Unwrap() error { return e.Err }

// ProblemsOf returns the problems in an error of a [Manager]. There are none unless it is an awaken.ErrInvalid.
func ProblemsOf(err error) []Problem {
	if e, ok := errors.AsType[*InvalidError](err); ok {
		return e.Problems
	}
	return problemsOf(Key{}, nil, err)
}

// RequestProblem returns a problem of a request that concerns no document. It has only a code and a message.
func RequestProblem(code, message string) Problem {
	p := newProblem(Key{}, nil, "", message)
	if p.Code == "invalid_value" {
		p.Code = code
	}
	return p
}

// problemsOf returns the mistakes that an error names. Tree is the document of key that it is about, if any.
func problemsOf(key Key, tree map[string]any, err error) []Problem {
	if broken, ok := errors.AsType[*awaken.ConfigError](err); ok {
		return problemsIn(key, tree, broken.Problems)
	}
	if !errors.Is(err, awaken.ErrInvalid) {
		return nil
	}
	var out []Problem
	for _, e := range leaves(err) {
		if e == awaken.ErrInvalid {
			continue
		}
		text := strings.TrimPrefix(e.Error(), awaken.ErrInvalid.Error()+": ")
		out = append(out, newProblem(key, tree, "", strings.TrimPrefix(text, key.String()+": ")))
	}
	return out
}

// problemsIn returns diagnostics as mistakes. Those of key are about tree.
func problemsIn(key Key, tree map[string]any, list []awaken.Diagnostic) []Problem {
	var out []Problem
	for _, d := range list {
		about, doc := keyOf(d), map[string]any(nil)
		if about == key {
			doc = tree
		}
		first := ""
		for i, line := range strings.Split(d.Message, "\n") { // a section reports its mistakes one per line
			if section, _, ok := strings.Cut(line, ": "); ok && i == 0 && strings.HasPrefix(section, "section ") {
				first = section + ": "
			} else if i > 0 {
				line = first + line
			}
			p := newProblem(about, doc, d.Code, line)
			if p.Severity = d.Severity; about != key {
				p.Resource = about
			}
			if ns, id, ok := strings.Cut(d.DependsOn, "/"); ok && p.Path == "" {
				p.Path = pointer(mention(doc, Namespace(ns), id))
			}
			out = append(out, p)
		}
	}
	return out
}

// leaves returns the errors that an error joins, without the texts around them.
func leaves(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var out []error
		for _, e := range e.Unwrap() {
			out = append(out, leaves(e)...)
		}
		return out
	case interface{ Unwrap() error }:
		if _, ok := e.Unwrap().(interface{ Unwrap() []error }); ok {
			return leaves(e.Unwrap())
		}
	}
	return []error{err}
}

var (
	unknownField = regexp.MustCompile(`unknown field ("(?:[^"\\]|\\.)*")`)
	quotedField  = regexp.MustCompile(`^field ("(?:[^"\\]|\\.)*") `)
	quotedText   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	meant        = regexp.MustCompile(`did you mean "?([^"?,]+)`)
	listed       = regexp.MustCompile(`^ (?:lists|has) ("(?:[^"\\]|\\.)*")`)
)

// newProblem returns a mistake that a message describes. Messages begin with the field that they are about. An empty
// code is found out from the message.
func newProblem(key Key, tree map[string]any, code, message string) Problem {
	p := Problem{Code: code, Message: message, Severity: awaken.SeverityError}
	path, rest := fieldOf(key.Namespace, tree, message)
	unknown := unknownField.FindStringSubmatch(message)
	switch {
	case unknown != nil:
		p.Code = "unknown_field"
		name := unquote(unknown[1])
		if found := find(tree, nil, func(path []string, _ any) bool { return path[len(path)-1] == name }); len(path) == 0 && found != nil {
			path = found
		} else if tree != nil || len(path) > 0 { // otherwise the object that has it is unknown
			path = append(path, name)
		}
	case code != "":
	case strings.Contains(message, "appears twice"):
		p.Code = "duplicate_field"
	case strings.Contains(message, "not JSON") || strings.Contains(message, "nested deeper than"):
		p.Code = "invalid_json"
	case strings.Contains(message, " a JSON "):
		p.Code = "wrong_type"
	case strings.HasPrefix(message, "missing ") || strings.HasSuffix(message, " is missing") || strings.HasSuffix(message, " is empty"):
		p.Code = "missing_field"
	default:
		p.Code = "invalid_value"
	}
	if m := listed.FindStringSubmatch(rest); m != nil {
		if list, ok := lookup(tree, path).([]any); ok {
			if i := slices.Index(list, any(unquote(m[1]))); i >= 0 {
				path = append(path, strconv.Itoa(i))
			}
		}
	}
	p.Path, p.Suggestion = pointer(path), suggestion(message)
	return p
}

// suggestion returns what a message says was probably meant: it names it, or lists what there is.
func suggestion(message string) string {
	if m := meant.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	said, list, ok := strings.Cut(message, "available: [")
	if !ok {
		return ""
	}
	var known []string
	for _, text := range quotedText.FindAllString(list, -1) {
		known = append(known, unquote(text))
	}
	for _, text := range quotedText.FindAllString(said, -1) {
		if best := strict.Nearest(unquote(text), known); best != "" {
			return best
		}
	}
	return ""
}

func unquote(text string) string {
	if s, err := strconv.Unquote(text); err == nil {
		return s
	}
	return strings.Trim(text, `"`)
}

// fieldOf returns the path of the field that a message begins with, nil if it begins with none, and the rest of the message.
func fieldOf(ns Namespace, tree map[string]any, message string) (path []string, rest string) {
	if strings.Contains(message, "'id' field") || strings.HasPrefix(message, "id of ") || strings.HasPrefix(message, "id is ") {
		return []string{"id"}, ""
	}
	if m := quotedField.FindStringSubmatch(message); m != nil { // as package strict quotes it
		path, _ = dotted(unquote(m[1]))
		return path, message[len(m[0]):]
	}
	if section, ok := strings.CutPrefix(message, "section "); ok {
		if name, err := strconv.QuotedPrefix(section); err == nil {
			rest := strings.TrimPrefix(section[len(name):], ": ")
			inner, after := dotted(rest)
			if m := quotedField.FindStringSubmatch(rest); m != nil {
				inner, after = dotted(unquote(m[1]))
			} else if !strings.HasPrefix(after, " ") && !strings.HasPrefix(after, ":") || strings.HasPrefix(rest, "unknown field ") {
				inner = nil
			}
			return append([]string{"sections", unquote(name)}, inner...), after
		}
	}
	if quoted, ok := strings.CutPrefix(message, "pattern "); ok { // of a rule in a section
		if text, err := strconv.QuotedPrefix(quoted); err == nil {
			return find(tree, nil, func(_ []string, v any) bool { return v == unquote(text) }), quoted[len(text):]
		}
	}
	path, rest = dotted(message)
	if len(path) == 0 || kinds[ns] == nil {
		return nil, message
	}
	if _, ok := propertiesOf(ns)[path[0]]; ok {
		return path, rest
	}
	// The field of an object inside, such as that of a budget.
	return find(tree, nil, func(at []string, _ any) bool { return len(path) == 1 && at[len(at)-1] == path[0] }), rest
}

var firstName = regexp.MustCompile(`^[A-Za-z_$][\w-]*`)

// dotted parses a path at the beginning of a text: name.name[0]["name"]/name/0.
func dotted(text string) (path []string, rest string) {
	name := firstName.FindString(text)
	if name == "" {
		return nil, text
	}
	path, rest = []string{name}, text[len(name):]
	for {
		switch {
		case strings.HasPrefix(rest, `["`):
			quoted, err := strconv.QuotedPrefix(rest[1:])
			if err != nil || !strings.HasPrefix(rest[1+len(quoted):], "]") {
				return path, rest
			}
			path, rest = append(path, unquote(quoted)), rest[len(quoted)+2:]
		case strings.HasPrefix(rest, "["):
			number, after, ok := strings.Cut(rest[1:], "]")
			if _, err := strconv.Atoi(number); !ok || err != nil {
				return path, rest
			}
			path, rest = append(path, number), after
		case strings.HasPrefix(rest, ".") && firstName.FindString(rest[1:]) != "":
			name := firstName.FindString(rest[1:])
			path, rest = append(path, name), rest[1+len(name):]
		case strings.HasPrefix(rest, "/"):
			end := strings.IndexAny(rest[1:], "/: ")
			if end < 0 {
				end = len(rest) - 1
			}
			if name := rest[1 : 1+end]; name != "" {
				path = append(path, name)
			}
			rest = rest[1+end:]
		default:
			return path, rest
		}
	}
}

// find returns the path of the first value below v, in the order of names, that match accepts; nil if there is none.
func find(v any, path []string, match func(path []string, v any) bool) []string {
	if len(path) > 0 && match(path, v) {
		return path
	}
	path = slices.Clip(path)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found := find(v[name], append(path, name), match); found != nil {
				return found
			}
		}
	case []any:
		for i := range v {
			if found := find(v[i], append(path, strconv.Itoa(i)), match); found != nil {
				return found
			}
		}
	}
	return nil
}

// mention returns where a document names another one, nil if it does not.
func mention(tree map[string]any, ns Namespace, id string) []string {
	return find(tree, nil, func(path []string, v any) bool {
		text, ok := v.(string)
		return ok && path[0] != "id" && (text == id || ns == A2AServers && strings.HasPrefix(text, id+"/") || ns == MCPServers && strings.HasPrefix(text, "mcp__"+id+"__"))
	})
}

// propertiesOf returns the schemas of the fields of a namespace's documents.
func propertiesOf(ns Namespace) map[string]json.RawMessage {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(Schema(ns), &s); err != nil {
		panic(fmt.Sprintf("config: schema of %s: %v", ns, err))
	}
	return s.Properties
}
